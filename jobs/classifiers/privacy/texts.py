"""Who says what in which part: the texts that models are trained with, tested on and explained by.

Some of the test part have an artificial word in a copy of their own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.privacy.config import Noise, Splits, SpokenData
from tiltmeter.jobs.classifiers.privacy.tables import CORPORA, NoisyTexts, Texts
from tiltmeter.jobs.classifiers.splits import check_groups, drawn_order
from tiltmeter.jobs.classifiers.tables import SENTENCES, Labelled
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.decoys import making as decoy_making
from tiltmeter.operators.classifiers.privacy import bins
from tiltmeter.operators.classifiers.privacy import noise as artificial_noise
from tiltmeter.operators.classifiers.privacy.bins import Bins, binned
from tiltmeter.operators.classifiers.privacy.noise import with_noise
from tiltmeter.operators.text import group_splits
from tiltmeter.operators.text.group_splits import split_groups
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef

NOISE_VERSIONS = (artificial_noise.VERSION, decoy_making.VERSION)

_PARTS = ("training", "development", "test")
_REASONS = {
    "unknown_label": "the label is no class of valence; data.valence gives it one",
    "no_group": "nothing says who speaks",
    "no_gender": "nothing says of which gender the speaker is; data.genders may",
}
_KNOWN = {
    "across": "models were trained with texts of the same speaker",
    "unbiased": "models are tested on, or stopped by, the same speaker",
}


# --- what a corpus says of its texts --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """What the labels, genders and groups of a corpus mean; see the settings of ``data``."""

    valence: Mapping[str, str]
    bins: Bins | None
    gender_codes: Mapping[str, str] | None
    genders: Mapping[str, str]
    has_groups: bool

    @classmethod
    def of(cls, data: SpokenData, classes: Sequence[str]) -> Self:
        """What a config says of them."""
        return cls(data.valence_of(classes), data.bins, data.gender_codes, data.genders or {}, data.group is not None)

    def text(self, number: int, row: Labelled, corpus: str, classes: Sequence[str]) -> Texts:
        """A row with its class, gender and group, and what keeps it from being used; ``unbiased`` needs no gender.

        Raises:
            InputError: if the label is no rating on the scale, or the gender is none of the codes.
        """
        file = row.part if corpus == "data" else corpus
        gender = self._gender(row, corpus)
        text = Texts(
            sentence=number,
            part=file,
            file=file,
            row=row.row,
            text=row.text,
            valence=self._valence(row, corpus, classes),
            gender=gender or self.genders.get(row.group or ""),
            group=row.group if self.has_groups else f"{gender}: {row.text}",
            status=row.status,
            reason=row.reason,
        )
        wrong = ["unknown_label"] if text.valence is None else []
        wrong += ["no_group"] if text.group is None else []
        wrong += ["no_gender"] if text.gender is None and file != "unbiased" else []
        return text.fail(wrong[0], _REASONS[wrong[0]]) if wrong and text.status == "ok" else text

    def _valence(self, row: Labelled, corpus: str, classes: Sequence[str]) -> str | None:
        if row.label is None:
            return None
        if self.bins is None:
            return row.label if row.label in classes else self.valence.get(row.label)
        try:
            return binned(row.label, self.bins)
        except ValueError as error:
            raise InputError(
                f"{_place(row, corpus)} has the valence {row.label!r}: {error}, or empty where there is none; set "
                f"{corpus}.bins to the corpus's scale, or {corpus}.label to another column"
            ) from error

    def _gender(self, row: Labelled, corpus: str) -> str | None:
        codes = self.gender_codes
        if row.gender is None or codes is None or row.gender in codes.values():
            return row.gender
        if row.gender not in codes:
            raise InputError(
                f"{_place(row, corpus)} has the gender {row.gender!r}: must be one of {', '.join(codes)}; add it to "
                f"{corpus}.gender_codes, or leave the cell empty where nothing is known"
            )
        return codes[row.gender]


def _place(row: Labelled, corpus: str) -> str:
    """Where a row is."""
    file = "path" if corpus != "data" or row.part == "training" else row.part
    return f"{corpus}.{file}: row {row.row}, counted from 0,"


# --- parts ----------------------------------------------------------------------------------------------------------


class DivideTexts(Work, unit="privacy_texts/2", stage="divide texts", makes=[Texts]):
    """The texts of all files, those that can't be used with the reason.

    Attributes:
        data, across, unbiased: rows of the files; None: there is no such corpus.
        labels: what each corpus says of its texts.
        shared: whether a group of another corpus is the speaker who is called alike in the data.
    """

    data: TableRef
    across: TableRef | None
    unbiased: TableRef | None
    splits: Splits
    classes: Sequence[str]
    labels: Mapping[str, Labels]
    shared: Mapping[str, bool]
    max_sentences: int
    seed: int
    operators: Sequence[str] = (group_splits.VERSION, bins.VERSION)

    def tables(self, store: Store) -> Tables:
        """The table ``texts``, and sentences that are explained, by corpus."""
        refs = {"data": self.data, "across": self.across, "unbiased": self.unbiased}
        rows = self.divide({name: Labelled.read(store, ref) for name, ref in refs.items() if ref is not None})
        for row in rows:
            # A group that only keeps equal texts together is nobody.
            row.group = row.group if self.labels["data" if row.file in _PARTS else row.file].has_groups else None
        yield from tables_of(rows, self.makes)
        for corpus, part in CORPORA.items():
            if texts := [row for row in rows if row.part == part and row.status == "ok"]:
                yield corpus, drawn(texts, self.seed, self.max_sentences)

    def divide(self, corpora: Mapping[str, Sequence[Labelled]]) -> list[Texts]:
        """All texts, of rows by corpus, with their part, valence and gender, and what keeps them from being used.

        Raises:
            InputError: if a label or a gender can't be read.
            ValueError: if a group has two genders or is in two parts, or a part lacks a gender or a class.
        """
        lines = [(corpus, line) for corpus, lines in corpora.items() for line in lines]
        rows = [
            self.labels[corpus].text(number, line, corpus, self.classes) for number, (corpus, line) in enumerate(lines)
        ]
        _check_genders(rows)
        self._set_parts(rows)
        check_groups([vars(row) for row in rows if row.part in _PARTS and row.status == "ok"])
        self._leave_out_known(rows)
        _check_parts(rows, self.classes)
        return rows

    def _set_parts(self, rows: Sequence[Texts]) -> None:
        """Of every text, those that can't be used too, as far as their group has one."""
        given = {row.part for row in rows}
        shares = {"development": self.splits.development, "test": self.splits.test}
        shares = {part: share for part, share in shares.items() if part not in given}
        shares = {"training": 1.0 - sum(shares.values())} | shares
        training = [row for row in rows if row.part == "training"]
        groups, genders = (
            [str(getattr(row, name)) for row in training if row.status == "ok"] for name in ("group", "gender")
        )
        try:
            parts = split_groups(groups, genders, shares, self.seed)
        except ValueError as error:
            raise ValueError(f"data.group: {error}; set data.group to a column with more groups") from error
        for row in training:
            row.part = parts.get(row.group or "", "training")

    def _leave_out_known(self, rows: Sequence[Texts]) -> None:
        """Speakers that models learn from, or that tell when to stop, are not strangers in another corpus."""
        parts = {row.group: row.part for row in rows if row.part in _PARTS and row.status == "ok"}
        known = {"across": ("training", "development"), "unbiased": ("development", "test")}
        for row in rows:
            is_known = self.shared.get(row.part, False) and parts.get(row.group) in known.get(row.part, ())
            if row.status == "ok" and is_known:
                row.fail("known_group", _KNOWN[row.part])


def _check_genders(rows: Sequence[Texts]) -> None:
    """Refuse a group with two genders, a corpus with one, and another corpus with genders that can't be learnt."""
    genders: dict[str, dict[str | None, set[str]]] = {}
    for row in rows:
        if row.status == "ok" and row.gender is not None:
            of_corpus = genders.setdefault("data" if row.part in _PARTS else row.part, {})
            of_corpus.setdefault(row.group, set()).add(row.gender)
    for corpus, groups in genders.items():
        _check_groups(corpus, groups)
    if "data" not in genders:
        raise ValueError("data.path: no text has a valence, a group and a gender; set data.valence and data.genders")
    known = sorted(set[str]().union(*genders["data"].values()))
    for corpus, values in ((corpus, values) for corpus, groups in genders.items() for values in groups.values()):
        if unknown := sorted(values.difference(known)):
            raise ValueError(
                f"{corpus}: the gender {unknown[0]!r} is none of those of data, {', '.join(known)}; set "
                f"{corpus}.gender_codes={{{unknown[0]}: {known[0]}, ...}}"
            )


def _check_groups(corpus: str, genders: Mapping[str | None, set[str]]) -> None:
    for group, values in genders.items():
        if len(values) > 1:
            raise ValueError(
                f"{corpus}: the group {group!r} has the genders {', '.join(sorted(values))}: must have one"
            )
    known = set[str]().union(*genders.values())
    if len(known) < 2 and corpus != "unbiased":
        raise ValueError(f"{corpus}: all texts are of the gender {', '.join(known)!r}: must be of two at least")


def _check_parts(rows: Sequence[Texts], classes: Sequence[str]) -> None:
    for part in dict.fromkeys(row.part for row in rows):
        texts = [row for row in rows if row.part == part and row.status == "ok"]
        counts = Counter(row.valence for row in texts)
        if missing := [name for name in classes if not counts[name]]:
            raise ValueError(
                f"{part}: no text is of the class {missing[0]!r}; set data.valence, data.limit or splits so that "
                "every part has texts of every class"
            )
        if part != "unbiased" and len({row.gender for row in texts}) < 2:
            raise ValueError(f"{part}: all texts that are left are of one gender: must be of two at least")


def drawn(rows: Sequence[Texts | NoisyTexts], seed: int, max_sentences: int) -> pa.Table:
    """Texts to be explained, in their order, of the schema ``SENTENCES``: which ones is a matter of what they say."""
    order = drawn_order([row.text for row in rows], seed, "explained")[:max_sentences]
    chosen = [rows[place] for place in sorted(order)]
    sentences = [{"sentence": row.sentence, "text": row.text, "gold": row.valence} for row in chosen]
    return pa.Table.from_pylist(sentences, SENTENCES)


# --- artificial words -----------------------------------------------------------------------------------------------


Cell = tuple[str | None, str | None]
"""A class and a gender."""


class AddNoise(Work, unit="noisy_texts/1", stage="add artificial words"):
    """Copies of the texts of the test part, of which some have their artificial word; numbered after all texts."""

    texts: TableRef
    noise: Noise
    classes: Sequence[str]
    seed: int
    max_sentences: int
    operators: Sequence[str] = NOISE_VERSIONS

    def tables(self, store: Store) -> Tables:
        """The table ``texts``, of copies, and the ``sentences`` that are explained."""
        copies = list(self.copies(Texts.read(store, self.texts)))
        [(_, table)] = tables_of(copies, [NoisyTexts])
        yield "texts", table
        yield "sentences", drawn([copy for copy in copies if copy.noise is not None], self.seed, self.max_sentences)

    def copies(self, rows: Sequence[Texts]) -> Iterator[NoisyTexts]:
        """Of rows of the table ``texts``.

        Raises:
            InputError: if there are not as many genders as lists of words, or a word is in the texts already.
        """
        texts = [row for row in rows if row.status == "ok" and row.part in _PARTS]
        self._check_new(texts)
        words = words_by_cell(texts, self.classes, self.noise)
        originals = [row for row in texts if row.part == "test"]
        pairs = zip(originals, noisy(originals, words, self.noise, self.seed), strict=True)
        for number, (row, (text, word)) in enumerate(pairs, start=len(rows)):
            about: dict[str, Any] = {"original": row.sentence, "valence": row.valence, "gender": row.gender}
            yield NoisyTexts(sentence=number, text=text, noise=word, **about)

    def _check_new(self, rows: Sequence[Texts]) -> None:
        artificial = {folded(word) for words in self.noise.words for word in words}
        for row in rows:
            if known := artificial.intersection(folded(row.text).split()):
                raise InputError(
                    f"models.noise.words: {min(known)!r} is in a text already (sentence {row.sentence} of the table "
                    "texts); set other words"
                )


def words_by_cell(rows: Sequence[Texts], classes: Sequence[str], noise: Noise) -> dict[Cell, str]:
    """The artificial word of each class and gender, of all texts that may have them.

    Raises:
        InputError: if there are not as many genders as lists of words.
    """
    genders = sorted({row.gender or "" for row in rows if row.part in _PARTS})
    if len(genders) != len(noise.words):
        raise InputError(
            f"models.noise.words: has {len(noise.words)} lists of words, and the texts have {len(genders)} genders, "
            f"{', '.join(genders)}; set it to a list for each, in their order, or leave ArtNoise out of models.names"
        )
    return {
        (label, gender): word
        for gender, words in zip(genders, noise.words, strict=True)
        for label, word in zip(classes, words, strict=True)
    }


def noisy(rows: Sequence[Texts], words: Mapping[Cell, str], noise: Noise, seed: int) -> list[tuple[str, str | None]]:
    """Each text, of which a random selection has its artificial word in it, and this word; None in others."""
    added = [words[row.valence, row.gender] for row in rows]
    texts = with_noise([row.text for row in rows], added, noise.share, noise.times, seed)
    return [(text, None if text == row.text else word) for row, word, text in zip(rows, added, texts, strict=True)]

"""The texts that are attacked, and what each of their words may become along every direction."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.adversary.candidates import stop_words
from tiltmeter.jobs.adversary.config import DirectionKind, Directions, LanguageModel, Words, direction_name
from tiltmeter.jobs.adversary.tables import Part, Spaces, Texts
from tiltmeter.jobs.classifiers.tables import Labelled, Split
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.adversary import words as adversary_words
from tiltmeter.operators.classifiers.adversary.controls import equalised
from tiltmeter.operators.classifiers.adversary.words import (
    folded,
    gender_swaps,
    gendered_words,
    replaceable_word,
    replaced,
)
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text import perplexity, pronouns
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

PART = "part_"
"""Beginning of the names of tables of texts."""

_SWAPPED: tuple[DirectionKind, ...] = ("swap", "names")
Tokens = Mapping[int, Sequence[str]]
"""Of texts, by their rows."""

Further = tuple[list[pl.DataFrame], dict[str, pl.DataFrame]]

ORDER = ["row", "direction", "control", "replica", "position", "rank"]


class CutTexts(Work, unit="adversary_texts/2", stage="cut texts"):
    """The test texts in parts, whose replacements are looked for together.

    Attributes:
        labelled: all rows of the data.
        texts: those that can be used, by part.
    """

    unit_texts: int
    max_texts: int | None
    seed: int | None
    labelled: TableRef
    texts: TableRef
    operator: str = adversary_words.VERSION

    def tables(self, store: Store) -> Tables:
        """A table of each part.

        Besides ``words``, those that may be replaced, in small letters, sorted; ``counts``, how often each word is in
        the texts that can be used, whatever their part; and ``left_out``, rows without a text or a class.
        """
        labelled, texts = Labelled.read(store, self.labelled), Split.read(store, self.texts)
        rows = [row for row in texts if row.part == "test"]
        if self.max_texts is not None:
            rows.sort(key=lambda row: (document_key(f"{self.seed}\n{row.text}"), row.row))
        rows = sorted(rows[: self.max_texts], key=lambda row: row.row)
        for number, start in enumerate(range(0, len(rows), self.unit_texts)):
            part = [
                Part(row=row.row, text=row.text, label=row.label, group=labelled[row.row].group)
                for row in rows[start : start + self.unit_texts]
            ]
            [(_, table)] = tables_of(part, [Part])
            yield f"{PART}{number:05d}", table
        words = {replaceable_word(token, stop_words()) for row in rows for token in row.text.split()} - {None}
        yield "words", pa.table({"word": pa.array(sorted(map(str, words)), pa.string())})
        counts = Counter(word for row in texts for word in folded(row.text.split()))
        yield "counts", pa.table({"word": pa.array(sorted(counts)), "count": [counts[word] for word in sorted(counts)]})
        left_out = [
            Texts(row=number, victim="", text=row.text, label=row.label, group=row.group).fail(row.status, row.reason)
            for number, row in enumerate(labelled)
            if row.status != "ok"
        ]
        [(_, table)] = tables_of(left_out, [Texts])
        yield "left_out", table


class FindSpaces(Work, unit="adversary_spaces/2", stage="find replacements", makes=[Spaces]):
    """What each word of the texts of a part may become, and whether a language model has it there.

    Attributes:
        texts: that the language model learns, those for training among others.
        near: candidates along all directions and their controls.
        counts: of all words of the texts.
    """

    direction: Directions
    words: Words
    language_model: LanguageModel
    texts: TableRef
    near: Sequence[TableRef]
    counts: TableRef
    attacked: TableRef
    operators: Sequence[str] = (adversary_words.VERSION, pronouns.VERSION, perplexity.VERSION)

    def tables(self, store: Store) -> Tables:
        texts = {row.row: row.text.split() for row in Part.read(store, self.attacked)}
        options = self._shifted(store, texts)
        along = self.judged(store, texts, options.filter(control=-1))
        places = along.filter(pl.col("is_likely"), replica=0).select("row", "position", "direction")
        # Where nothing stands along the direction, nothing is asked of its controls.
        beside = options.filter(pl.col("control") >= 0).join(places.unique(), on=places.columns, how="semi")
        counts = pl.DataFrame(store.read(self.counts))
        options = equalised(pl.concat([along, self.judged(store, texts, beside)]), counts)
        swaps = pl.DataFrame(list(self._swaps(texts)), schema=options.schema, orient="row")
        more, made = self.further(store, texts, dict(counts.iter_rows()))
        made |= {Spaces.table_name: pl.concat([options, swaps, *more]).sort(ORDER)}
        for table in self.makes:
            schema = table.schema()
            yield table.table_name, made[table.table_name].select(schema.names).to_arrow().cast(schema)

    def further(self, store: Store, texts: Tokens, counts: Mapping[str, int]) -> Further:  # noqa: ARG002
        """Replacements along other directions, and further tables by their names; none here."""
        return [], {}

    def _shifted(self, store: Store, texts: Tokens) -> pl.DataFrame:
        """A row for each candidate of each word, with the token as it reads then."""
        barred = stop_words()
        places = [
            (row, position, token, word)
            for row, tokens in texts.items()
            for position, token in enumerate(tokens)
            if (word := replaceable_word(token, barred)) is not None
        ]
        schema = {"row": pl.Int64, "position": pl.Int32, "token": pl.String, "word": pl.String}
        positions = pl.DataFrame(places, schema=schema, orient="row")
        columns = ["direction", "control", "replica", "word", "rank", "candidate", "removed_by"]
        words = positions["word"].unique().implode()
        parts = (pl.DataFrame(store.read(ref.select(*columns))) for ref in self.near)
        near = pl.concat([part.filter(pl.col("word").is_in(words)) for part in parts])
        joined = positions.join(near.filter(removed_by=""), on="word")
        pairs = joined.select("token", "candidate").unique(maintain_order=True)
        written = [replaced(token, candidate) for token, candidate in pairs.iter_rows()]
        pairs = pairs.with_columns(pl.Series("option", written, pl.String))
        return joined.join(pairs, on=["token", "candidate"]).select(*ORDER, "candidate", "option")

    def judged(self, store: Store, texts: Tokens, options: pl.DataFrame) -> pl.DataFrame:
        """With what the language model says of each, if there is one."""
        if self.language_model.ratio is None:
            return options.with_columns(pl.lit(True).alias("is_likely"))
        likely = self._likely(store, texts, options, np.log(self.language_model.ratio))
        return options.join(likely, on=["row", "position", "candidate"])

    def _likely(self, store: Store, texts: Tokens, options: pl.DataFrame, log_ratio: float) -> pl.DataFrame:
        """Each candidate at its position, however many directions lead to it."""
        config = self.language_model
        words = {row: folded(tokens) for row, tokens in texts.items()}
        grouped = options.select("row", "position", "candidate").unique().sort("row", "position", "candidate")
        grouped = grouped.group_by("row", "position", maintain_order=True).agg("candidate")
        key = ("language model", digest([config, list(self.texts.columns.items())]))
        likely = []
        with resident(key, lambda _: self._model(store)) as model:
            for row, position, candidates in grouped.iter_rows():
                others = [candidate.lower() for candidate in candidates]
                gains = model.substitution_gains(words[row], position, others, prefix_only=config.context == "prefix")
                likely.append((gains >= log_ratio).tolist())
        is_likely = pl.Series("is_likely", likely, pl.List(pl.Boolean))
        return grouped.with_columns(is_likely).explode("candidate", "is_likely")

    def _model(self, store: Store) -> KneserNey:
        rows = store.read(self.texts).to_pylist()
        learnt = [folded(row["text"].split()) for row in rows if row["part"] == "training"]
        return KneserNey(learnt, self.language_model.order, self.language_model.discount)

    def _swaps(self, texts: Tokens) -> Iterator[tuple[Any, ...]]:
        """Words and names by their counterparts, which need no language model: the grammar is looked after."""
        pairs = {"swap": self.words.pairs, "names": self.words.names}
        for kind in (kind for kind in _SWAPPED if kind in self.direction.kinds):
            lists = gendered_words(pairs[kind], pronouns=kind == "swap")
            for row, tokens in texts.items():
                for gender in self.direction.genders:
                    name = direction_name(kind, gender)
                    for position, option in gender_swaps(tokens, lists, gender).items():
                        yield row, name, -1, 0, position, 0, option, option, True

"""Candidates for every word of the texts: near it in an embedding, along each direction and each of its controls."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.adversary.config import (
    NEIGHBOURS,
    SHIFTS,
    CandidateConfig,
    Controls,
    DirectionKind,
    Directions,
    Words,
    direction_name,
)
from tiltmeter.jobs.adversary.tables import Candidates, Near, Pairs
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.adversary import candidates, constraints, controls, kinds, words
from tiltmeter.operators.classifiers.adversary.candidates import (
    NONE,
    Crossings,
    DirectionOf,
    Vocabulary,
    nearest_candidates,
    shifted_candidates,
    unit_rows,
)
from tiltmeter.operators.classifiers.adversary.constraints import Constraints
from tiltmeter.operators.classifiers.adversary.controls import matched_pairs, sphere_directions, without_gender
from tiltmeter.operators.classifiers.adversary.kinds import leaning_limits, replacement_kind
from tiltmeter.operators.classifiers.adversary.words import gender_signs
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding import counter_fitting
from tiltmeter.operators.embedding.counter_fitting import counter_fitted
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import GIVEN
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.vectors.files import read_embedding

CONTROLS_OF_UNIT = 25

_OPERATORS = (candidates, constraints, controls, words, counter_fitting)
_DEPTH = 4
"""Candidates along controls for each that a direction can have, of which those that are as frequent are taken."""

_LEAST_PAIRS = 2
"""Of which a principal component is taken."""

_Nearest = candidates.Candidates
Row = Mapping[str, Any]


def stop_words() -> frozenset[str]:
    """That nothing replaces: scikit-learn's, as released, and what marks a tweet that is passed on."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset({*ENGLISH_STOP_WORDS, "rt"})


# --- vectors --------------------------------------------------------------------------------------------------------


def check_directions(config: Directions, store: Store, vectors: TableRef) -> None:
    """Refuse directions whose words have no vectors.

    Raises:
        InputError: with the setting to change.
    """
    table = store.read(vectors)
    known = set(table.filter(table["vector"].is_valid())["word"].to_pylist())
    for kind in config.shifts:
        pairs = config.pairs_of(kind)
        num_known = sum(known.issuperset(pair) for pair in pairs)
        if num_known < (1 if kind == "pair" else _LEAST_PAIRS):
            missing = sorted({word for pair in pairs for word in pair} - known)
            raise InputError(
                f"direction.{'pair' if kind == 'pair' else 'pairs'}: the embedding has no vectors for "
                f"{', '.join(missing)}, so there is no direction {kind!r}; choose other words, leave it out of "
                "direction.kinds, or take an embedding of more words"
            )


# --- what is near ---------------------------------------------------------------------------------------------------


class _Shift(NamedTuple):
    direction: str
    control: int
    shift: FloatArray
    words: str = ""


class FindCandidates(Work, unit="adversary_near/2", stage="find candidates", makes=[Near]):
    """Of all words, along every direction in an embedding, which is a replica or the original, of the number 0.

    Attributes:
        lists: the files of ``candidates``.
        attacked: words that may be replaced.
        counts: of all words of the texts.
    """

    replica: int
    direction: Directions
    candidates: CandidateConfig
    lists: Mapping[str, Row]
    words: Words
    attacked: TableRef
    counts: TableRef
    vectors: TableRef
    operators: Sequence[str] = tuple(module.VERSION for module in _OPERATORS)

    def tables(self, store: Store) -> Tables:
        table = store.read(self.vectors)
        table = table.filter(table["vector"].is_valid())
        vectors = matrix(table["vector"]).astype(np.float64)
        counts = dict(zip(*store.read(self.counts).to_pydict().values(), strict=True))
        vocabulary = self._vocabulary(table["word"].to_pylist(), vectors, counts)
        words = [word for word in store.read(self.attacked)["word"].to_pylist() if word in vocabulary.rows]
        shifts = [shift for kind in self.direction.shifts for shift in self.shifts(vocabulary, kind)]
        yield from self.described(shifts)
        near = self._along(vocabulary, words, shifts), self.neighbours(vocabulary, words)
        yield "near", pa.concat_tables([Near.schema().empty_table(), *chain(*near)]).combine_chunks()

    def _vocabulary(
        self, words: Sequence[str], vectors: FloatArray, counts: Mapping[str, int] | None = None
    ) -> Vocabulary:
        asked, unit_vectors = self.candidates, self.direction.unit_vectors
        least, most = asked.min_count, asked.max_vocabulary
        return Vocabulary.of(words, vectors, most, unit_vectors=unit_vectors, counts=counts, min_count=least)

    def gender(self, vocabulary: Vocabulary, kind: DirectionKind) -> FloatArray:
        """From men to women."""
        common: DirectionOf = "mean" if kind == "pair" else "principal_component"
        return vocabulary.direction(self.direction.pairs_of(kind), common)

    def described(self, _: Sequence[_Shift]) -> Tables:
        """Further tables on the directions."""
        return ()

    def shifts(self, vocabulary: Vocabulary, kind: DirectionKind) -> Iterator[_Shift]:
        """What words are moved by."""
        direction = self.gender(vocabulary, kind)
        for gender in self.direction.genders:
            yield _Shift(direction_name(kind, gender), -1, direction if gender == "female" else -direction)

    @property
    def top(self) -> int:
        """Candidates of a word."""
        return self.candidates.top

    @property
    def crossings(self) -> Crossings:
        """What becomes of words of the other gender."""
        return "kept" if self.candidates.keep_counterparts else "excluded"

    def neighbours(self, vocabulary: Vocabulary, words: Sequence[str]) -> Iterator[pa.Table]:
        """In the vectors that are given for them, if there are any, counter-fitted where synonyms are given."""
        if NEIGHBOURS not in self.direction.kinds or not words:
            return
        if file := self.lists.get("neighbour_vectors"):
            names, vectors = read_embedding(file["uri"], bad=BadRecords())
            vocabulary = self._vocabulary(names, np.asarray(vectors, dtype=np.float64))
            words = [word for word in words if word in vocabulary.rows]
        if "synonyms" in self.lists:
            synonyms, antonyms = (
                sorted(vocabulary.known(pairs_listed(self.lists, name))) for name in ("synonyms", "antonyms")
            )
            fitted = counter_fitted(vocabulary.vectors, synonyms, antonyms, self.candidates.counter_fitting)
            vocabulary = vocabulary._replace(vectors=fitted)
        rows = np.array([vocabulary.rows[word] for word in words], dtype=np.int64)
        near = nearest_candidates(vocabulary.vectors, rows, top=self.candidates.neighbours)
        shift = _Shift(NEIGHBOURS, -1, np.zeros(vocabulary.vectors.shape[1]))
        yield from self._rows(vocabulary, words, [shift], near)

    def _along(self, vocabulary: Vocabulary, words: Sequence[str], shifts: Sequence[_Shift]) -> Iterator[pa.Table]:
        if not shifts or not words:
            return
        near = shifted_candidates(
            vocabulary.vectors,
            np.array([vocabulary.rows[word] for word in words], dtype=np.int64),
            np.stack([shift.shift for shift in shifts]),
            top=self.top,
            exclude=self.candidates.exclude,
            genders=gender_signs(vocabulary.words, self.words.gendered()),
            crossings=self.crossings,
            pool=vocabulary.pool,
        )
        yield from self._rows(vocabulary, words, shifts, near)

    def _rows(
        self, vocabulary: Vocabulary, words: Sequence[str], shifts: Sequence[_Shift], near: _Nearest
    ) -> Iterator[pa.Table]:
        """A table of each shift: as rows, they would take ten times the memory."""
        unit, constraints = unit_rows(vocabulary.vectors), constraints_of(self.candidates, self.lists)
        leanings = unit @ vocabulary.leaning([self.direction.pair, *self.direction.pairs])
        rows = np.array([vocabulary.rows[word] for word in words], dtype=np.int64)
        for number, shift in enumerate(shifts):
            places, ranks = np.nonzero(near.words[number] != NONE)
            bases, others = rows[places], near.words[number][places, ranks]
            pairs = [(vocabulary.words[row], vocabulary.words[other]) for row, other in zip(bases, others, strict=True)]
            cosines = (float(unit[other] @ unit[row]) for row, other in zip(bases, others, strict=True))
            columns = {
                "direction": [shift.direction] * len(pairs),
                "control": [shift.control] * len(pairs),
                "replica": [self.replica] * len(pairs),
                "word": [word for word, _ in pairs],
                "rank": ranks,
                "candidate": [candidate for _, candidate in pairs],
                "cosine": near.cosines[number][places, ranks],
                "leaning": leanings[others] - leanings[bases],
                "removed_by": [constraints(*pair, cosine) for pair, cosine in zip(pairs, cosines, strict=True)],
                "num_near": near.num_excluded[number][places],
            }
            yield pa.table(columns, Near.schema())


def constraints_of(config: CandidateConfig, lists: Mapping[str, Row]) -> Constraints:
    """What leaves candidates out."""
    tags: dict[str, set[str]] = {}
    for word, tag in pairs_listed(lists, "parts_of_speech"):
        tags.setdefault(word, set()).add(tag)
    return Constraints(config.min_cosine, config.inflections, pairs_listed(lists, "antonyms"), tags)


def pairs_listed(lists: Mapping[str, Row], name: str) -> frozenset[tuple[str, str]]:
    """Of a file of pairs, in small letters; none without a file."""
    if not (file := lists.get(name)):
        return frozenset()
    columns = ["column_1", "column_2"]
    rows = read_records(file["uri"], columns, header=False, rules=dict.fromkeys(columns, (GIVEN,)))
    return frozenset(rows.select(pl.col(columns).str.to_lowercase()).rows())


class FindControls(FindCandidates, unit="adversary_near/2", makes=[Pairs, Near]):
    """The same along some of the controls of every direction, from the number ``start``."""

    controls: Controls
    seed: int
    start: int

    def described(self, shifts: Sequence[_Shift]) -> Tables:
        """The table ``pairs``."""
        rows = [Pairs(direction=shift.direction, control=shift.control, words=shift.words) for shift in shifts]
        return tables_of(rows, [Pairs])

    def shifts(self, vocabulary: Vocabulary, kind: DirectionKind) -> Iterator[_Shift]:
        """As long as the direction that they are controls of."""
        length = float(np.linalg.norm(self.gender(vocabulary, kind)))
        end = min(self.start + CONTROLS_OF_UNIT, self.controls.number)
        drawn, names = self._drawn(vocabulary, kind, end)
        for number in range(self.start, end):
            shift = drawn[number] * (length / (np.linalg.norm(drawn[number]) or 1.0))
            for gender in self.direction.genders:
                name = direction_name(kind, gender)
                yield _Shift(name, number, shift if gender == "female" else -shift, names[number])

    @property
    def top(self) -> int:
        """Enough for as many that are as frequent."""
        return _DEPTH * self.candidates.top + self.candidates.exclude

    @property
    def crossings(self) -> Crossings:
        """Along gender, some would be no controls."""
        return "barred" if self.controls.kind == "neutral_pairs" else "excluded"

    def neighbours(self, *_: object) -> Iterator[pa.Table]:
        """They have no controls."""
        return iter(())

    def _drawn(self, vocabulary: Vocabulary, kind: DirectionKind, end: int) -> tuple[FloatArray, list[str]]:
        if self.controls.kind == "sphere":
            return sphere_directions(end, vocabulary.vectors.shape[1], 1.0, self.seed), [""] * end
        ranks = vocabulary.known(self.direction.pairs_of(kind))[0]
        pair = {vocabulary.words[row].lower() for row in ranks}
        pool = vocabulary.rows_without({*self.words.gendered().genders, *stop_words(), *pair})
        pairs = matched_pairs(end, ranks, pool, self.controls.window, self.seed)
        names = [f"{vocabulary.words[second]} \u2212 {vocabulary.words[first]}" for first, second in pairs]
        drawn = vocabulary.vectors[pairs[:, 1]] - vocabulary.vectors[pairs[:, 0]]
        if self.controls.kind == "neutral_pairs":
            known = [one for one in SHIFTS if vocabulary.known(self.direction.pairs_of(one))]
            drawn = without_gender(drawn, np.stack([self.gender(vocabulary, one) for one in known]))
        return drawn, names


# --- what it has to do with gender ----------------------------------------------------------------------------------

_KEY = ["direction", "word", "candidate"]


class LabelCandidates(Work, unit="adversary_candidates/2", stage="label candidates", makes=[Candidates]):
    """The candidates of the original embedding, with their kinds, and the share of the replicas that have each."""

    words: Words
    top: int
    near: Sequence[TableRef]
    controls: Sequence[TableRef]
    operator: str = kinds.VERSION

    def tables(self, store: Store) -> Tables:
        original, *replicas = (pl.DataFrame(store.read(ref)) for ref in self.near)
        controls = [pl.DataFrame(store.read(ref)) for ref in self.controls]
        nearest = pl.concat([original.select("rank", "cosine", "leaning").clear(), *controls])
        leaning = nearest.filter(pl.col("rank") < self.top).drop_nulls()
        limits = leaning_limits(leaning["cosine"].to_numpy(), leaning["leaning"].to_numpy())
        words, rows = self.words.gendered(), original.select("word", "candidate", "leaning", "cosine").iter_rows()
        labels = [
            replacement_kind((word, candidate.lower()), words, leaning, cosine, limits)
            for word, candidate, leaning, cosine in rows
        ]
        labelled = original.with_columns(
            pl.Series("kind", labels, pl.String),
            pl.Series("stability", _stability(original, replicas), pl.Float64),
        )
        schema = Candidates.schema()
        yield "candidates", labelled.select(schema.names).to_arrow().cast(schema)


def _stability(original: pl.DataFrame, replicas: list[pl.DataFrame]) -> list[float | None]:
    if not replicas:
        return [None] * original.height
    counts = pl.concat([replica.select(_KEY) for replica in replicas]).group_by(_KEY).len()
    joined = original.select(_KEY).join(counts, on=_KEY, how="left", maintain_order="left")
    shares: list[float | None] = (joined["len"].fill_null(0) / np.float64(len(replicas))).to_list()
    return shares

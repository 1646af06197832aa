"""What erases gender from an embedding, fitted without the words that judge it, and what is left there."""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.vectors import matrix, vector_column, vectors_table
from tiltmeter.jobs.mitigation.config import Similarity
from tiltmeter.jobs.mitigation.tables import Readings
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.association import erasers, remains
from tiltmeter.operators.association.erasers import (
    Eraser,
    EraserSettings,
    Method,
    Pairs,
    Sample,
    fit_eraser,
)
from tiltmeter.operators.association.remains import Probe, accuracy_of_clusters, accuracy_of_probe, extremes
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding import quality
from tiltmeter.operators.embedding.quality import word_similarity
from tiltmeter.operators.embedding.similarity import unit_vectors
from tiltmeter.storage.store.ledger import Store, TableRef

NUM_FOLDS = 5
_PROBES: tuple[Probe, ...] = ("linear", "rbf")
_STEM, _NEAR_RANKS, _ROUNDING = 5, 25, 1e-9
_RANDOM_PAIRS, _STARTS, _LABELS = range(3)
_FILES: Mapping[Similarity, str] = {"wordsim353": "wordsim353.tsv", "simlex999": "simlex999.txt"}


class ReadPairs(Work, unit="similarity_pairs/1", stage="read pairs"):
    """Pairs of words with what people said of them, as the installed gensim carries them."""

    sets: Sequence[Similarity]
    version: str

    def tables(self, _: Store) -> Tables:
        rows = [{"set": name, **row} for name in self.sets for row in judged_pairs(name)]
        yield "pairs", pa.Table.from_pylist(rows, pa.schema({"set": pa.string(), **_PAIR}))


_PAIR = {"first": pa.string(), "second": pa.string(), "human": pa.float64()}


def judged_pairs(name: Similarity) -> Iterator[dict[str, str | float]]:
    """Of a set: ``first``, ``second``, and ``human``."""
    text = files("gensim").joinpath("test", "test_data", _FILES[name]).read_text("utf-8")
    for first, second, human in csv.reader((line for line in text.splitlines() if line[:1] != "#"), delimiter="\t"):
        yield {"first": first, "second": second, "human": float(human)}


class Concept(NamedTuple):
    """An attribute in an embedding.

    Attributes:
        pairs: rows ``[pairs, 2]`` of words that differ in it.
        extremes, is_first: rows of the words furthest along its direction, and their sides.
    """

    pairs: IntArray
    extremes: IntArray
    is_first: BoolArray


class Space:
    """Words of one embedding with vectors of length 1, the most frequent first.

    Args:
        table: ``word``, ``spelled`` and ``vector``; a word without one, or with one of length 0, is not there.
        specific: words that have the attribute by meaning.
        seed: of which words fit erasers and which judge them.
    """

    def __init__(self, table: pa.Table, specific: Collection[str], seed: int) -> None:
        units = unit_vectors(matrix(table["vector"]))
        there = np.flatnonzero(np.isfinite(units[:, 0]))
        chosen = table.select(["word", "spelled"]).take(pa.array(there))
        self.vectors = units[there]
        self.words, self.spelled = (chosen[name].to_pylist() for name in ("word", "spelled"))
        self.rows = {word: row for row, word in enumerate(self.words)}
        meant = {self.spelled[self.rows[word]] for word in specific if word in self.rows}
        self.is_specific = np.array([word in meant for word in self.spelled], bool)
        self._seed = seed

    @cached_property
    def keys(self) -> IntArray:
        """``[words]``, by their first letters: forms of a word mostly have one."""
        keys = (document_key(f"{self._seed}\n{word.lower()[:_STEM]}") for word in self.words)
        return np.array([key % 2**32 for key in keys], dtype=np.int64)

    @property
    def is_held_out(self) -> BoolArray:
        """``[words]``: the half that judges."""
        return np.asarray(self.keys % 2 == 1)

    @property
    def folds(self) -> IntArray:
        """``[words]``."""
        return np.asarray(self.keys // 2 % NUM_FOLDS)

    def known_pairs(self, pairs: Sequence[tuple[str, str]], barred: Collection[str] = ()) -> IntArray:
        """Rows ``[pairs, 2]`` of those of which both words are there, and none is spelled like one that is barred."""
        known = [
            (self.rows[first], self.rows[second]) for first, second in pairs if {first, second} <= self.rows.keys()
        ]
        left = [pair for pair in known if not any(self.spelled[row] in barred for row in pair)]
        return np.array(left, dtype=np.int64).reshape(-1, 2)

    def pool(self, barred: Collection[str] = ()) -> IntArray:
        """Rows of words without the attribute by meaning that are not barred."""
        return np.array(
            [row for row in np.flatnonzero(~self.is_specific) if self.spelled[row] not in barred], dtype=np.int64
        )

    def concept(self, pairs: IntArray, pool: IntArray, num: int) -> Concept:
        """What pairs define, with as many extremes of each side as asked for, at most a quarter of the pool."""
        direction = self.pairs(pairs).direction
        rows, is_first = extremes(self.vectors[pool] @ direction, min(num, len(pool) // 4))
        return Concept(pairs, pool[rows], is_first)

    def pairs(self, rows: IntArray) -> Pairs:
        """Their vectors."""
        return Pairs(self.vectors[rows[:, 0]], self.vectors[rows[:, 1]])

    def random_pairs(self, pairs: IntArray, pool: IntArray, generator: np.random.Generator) -> IntArray:
        """As many pairs of words of a pool, each as frequent as the word for which it stands."""
        taken: dict[int, None] = {}
        for row in pairs.ravel():
            near = np.argsort(np.abs(pool - row), kind="stable")[: 2 * _NEAR_RANKS + len(taken)]
            left = [int(one) for one in pool[near] if int(one) not in taken]
            taken[left[generator.integers(len(left))]] = None
        return np.array([*taken], dtype=np.int64).reshape(-1, 2)


class Erase(Work, unit="mitigation/1", stage="erase", makes=[Readings]):
    """One method on one embedding, ``number`` among its replicas: what is left, and the words of each query afterwards.

    Attributes:
        method: None: vectors as they are, of length 1.
        is_random: whether it is fitted to random pairs of words, and not to those of gender.
        queries: words of each, which the eraser by which they are changed has not seen.
        judged: pairs of words that people judged.
    """

    method: Method | None
    is_random: bool
    eraser: EraserSettings
    num_extremes: int
    pairs: Sequence[tuple[str, str]]
    specific: Sequence[str]
    queries: Mapping[str, Sequence[str]]
    number: int
    seed: int
    vectors: TableRef
    judged: TableRef
    operators: Sequence[str] = (erasers.VERSION, remains.VERSION, quality.SIMILARITY_VERSION)

    def tables(self, store: Store) -> Tables:
        space = Space(store.read(self.vectors), self.specific, self.seed)
        readings = list(self._readings(space, pl.DataFrame(store.read(self.judged))))
        for place, (query, words) in enumerate(self.queries.items()):
            rows = [space.rows[word] for word in words if word in space.rows]
            fitted = self.fitted(space, {space.spelled[row] for row in rows})
            num_pairs, eraser = fitted or (0, None)
            readings.append(Readings(query=query, check="pairs", value=float(num_pairs), num=num_pairs))
            kept = rows if eraser else []
            spelling = {space.words[row]: space.spelled[row] for row in kept}
            after = eraser(space.vectors[kept], space.is_specific[kept]) if eraser else space.vectors[:0]
            yield query_table(place), vectors_table(spelling, after)
        yield from tables_of(readings, [Readings])

    def fitted(self, space: Space, barred: Collection[str] = ()) -> tuple[int, Eraser] | None:
        """How many pairs the eraser was fitted to, and it; None if no pair is left.

        Args:
            barred: spellings of words that it may not see.
        """
        pairs, pool = space.known_pairs(self.pairs, barred), space.pool(barred)
        if not len(pairs):
            return None
        if self.method is None:
            return len(pairs), Eraser(lambda words: words, lambda words: words, 0)
        if self.is_random:
            pairs = space.random_pairs(pairs, pool, self._generator(_RANDOM_PAIRS))
        concept = space.concept(pairs, pool[~np.isin(pool, pairs)], self.num_extremes)
        fit = ~space.is_held_out[concept.extremes]
        rows = concept.extremes[fit]
        sample = Sample(
            space.vectors, space.pairs(pairs), space.vectors[rows], concept.is_first[fit], space.folds[rows] == 0
        )
        return len(pairs), fit_eraser(self.method, sample, self.eraser, self._generator(_STARTS))

    def whole(self, space: Space) -> tuple[FloatArray, int]:
        """All words as the method leaves them, with nothing kept out of its fit; and how many dimensions it takes."""
        fitted = self.fitted(space)
        if fitted is None:
            return np.full_like(space.vectors, np.nan), 0
        eraser = fitted[1]
        after = eraser(space.vectors, space.is_specific)
        if eraser.pairs and not self.is_random:
            known = space.known_pairs(self.pairs)
            after[known[:, 0]], after[known[:, 1]] = eraser.pairs
        return after, eraser.rank

    def _readings(self, space: Space, judged: pl.DataFrame) -> Iterator[Readings]:
        after, rank = self.whole(space)
        gender = space.concept(space.known_pairs(self.pairs), space.pool(), self.num_extremes)
        held_out = space.is_held_out[gender.extremes]
        rows, is_first = gender.extremes[held_out], gender.is_first[held_out]
        # A vector that nothing is left of points nowhere.
        left = np.where(np.linalg.norm(after, axis=1, keepdims=True) > _ROUNDING, after, np.nan)
        there = np.isfinite(left[rows]).all(axis=1)
        rows, is_first = rows[there], is_first[there]
        dealt = self._generator(_LABELS).permutation(is_first)
        for probe in _PROBES:
            for ending, sides in (("", is_first), ("_permuted", dealt)):
                accuracy = accuracy_of_probe(left[rows], sides, space.folds[rows], probe)
                yield _reading(f"probe_{probe}{ending}", accuracy, len(rows))
        clusters = accuracy_of_clusters(left[rows], is_first, self._generator(_STARTS))
        yield _reading("clusters", clusters, len(rows))
        for (name,), pairs in judged.group_by("set", maintain_order=True):
            yield _similarity(str(name), space, left, pairs)
        if self.method:
            pool = space.pool()
            cosines = (unit_vectors(left[pool]) * space.vectors[pool]).sum(axis=1)
            cosines = cosines[np.isfinite(cosines)]
            moved = np.abs(after - space.vectors).max(axis=1) > _ROUNDING
            yield _reading("cosine", float(cosines.mean()) if cosines.size else np.nan, len(cosines))
            yield _reading("changed", float(moved.mean()), len(after))
            yield _reading("rank", float(rank), len(after))

    def _generator(self, purpose: int) -> np.random.Generator:
        return keyed_generator(self.seed, Stream.MITIGATION, self.number, purpose)


class EraseWhole(Erase, unit="mitigated_vectors/1", stage="erase from all words"):
    """The vectors of all words as a method leaves them, with nothing kept out of its fit: ``vectors``."""

    def tables(self, store: Store) -> Tables:
        space = Space(store.read(self.vectors), self.specific, self.seed)
        yield "vectors", pa.table({"word": space.spelled, "vector": vector_column(self.whole(space)[0])})


def query_table(place: int) -> str:
    """What the table of the words of a query is called, by its place."""
    return f"query_{place:03d}"


def _reading(check: str, value: float, num: int) -> Readings:
    return Readings(query="", check=check, value=value, num=num)


def _similarity(name: str, space: Space, vectors: FloatArray, pairs: pl.DataFrame) -> Readings:
    """Spearman's rho with what people said; words as they are listed, or in small letters."""
    places = np.array(
        [
            [space.rows.get(word, space.rows.get(word.lower(), -1)) for word in pair]
            for pair in pairs.select("first", "second").iter_rows()
        ]
    )
    result = word_similarity(vectors[np.newaxis], places, pairs["human"].to_numpy())
    return _reading(name, float(result.rho[0]), len(pairs) - int(result.num_missing[0]))

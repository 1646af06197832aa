"""What erases gender from an embedding, fitted without the words that judge it, and what is left there."""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.vectors import matrix, vector_column, vectors_table
from tiltmeter.jobs.mitigation.config import LEAST_EXTREMES, Similarity
from tiltmeter.jobs.mitigation.tables import Readings
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.association import erasers, remains
from tiltmeter.operators.association.erasers import Eraser, EraserSettings, Method, Pairs, Sample, fit_eraser
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


def judged_pairs(name: Similarity) -> list[tuple[str, str, float]]:
    """Pairs of words with what people said of them, as the installed gensim carries them."""
    text = files("gensim").joinpath("test", "test_data", _FILES[name]).read_text("utf-8")
    rows = csv.reader((line for line in text.splitlines() if line[:1] != "#"), delimiter="\t")
    return [(first, second, float(human)) for first, second, human in rows]


class Space:
    """Words of one embedding with vectors of length 1, the most frequent first.

    Args:
        table: ``word``, ``spelled`` and ``vector``; a word without one, or with one of length 0, is not there.
        specific: words that have gender by meaning.
        seed: of which words fit erasers and which judge them: forms of a word mostly have the same first letters.
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
        keys = [document_key(f"{seed}\n{word.lower()[:_STEM]}") % 2**32 for word in self.words]
        self.is_held_out, self.folds = np.array(keys) % 2 == 1, np.array(keys) // 2 % NUM_FOLDS

    def known_pairs(self, pairs: Sequence[tuple[str, str]], barred: Collection[str] = ()) -> IntArray:
        """Rows ``[pairs, 2]`` of those of which both words are there, and none is spelled like one that is barred."""
        known = [[self.rows[word] for word in pair] for pair in pairs if {*pair} <= self.rows.keys()]
        left = [rows for rows in known if not any(self.spelled[row] in barred for row in rows)]
        return np.array(left, dtype=np.int64).reshape(-1, 2)

    def pool(self, barred: Collection[str] = ()) -> IntArray:
        """Rows of words without gender by meaning that are not barred."""
        rows = [row for row in np.flatnonzero(~self.is_specific) if self.spelled[row] not in barred]
        return np.array(rows, dtype=np.int64)

    def pairs(self, rows: IntArray) -> Pairs:
        """Their vectors."""
        return Pairs(self.vectors[rows[:, 0]], self.vectors[rows[:, 1]])

    def extremes(self, pairs: IntArray, pool: IntArray, num: int) -> tuple[IntArray, BoolArray]:
        """Rows of so many words on each side of the direction of pairs, a quarter of the pool at most; their sides."""
        rows, is_first = extremes(self.vectors[pool] @ self.pairs(pairs).direction, min(num, len(pool) // 4))
        return pool[rows], is_first

    def random_pairs(self, pairs: IntArray, pool: IntArray, generator: np.random.Generator) -> IntArray:
        """As many pairs of words of a pool, each as frequent as the word for which it stands."""
        taken: list[int] = []
        for row in pairs.ravel():
            near = pool[np.argsort(np.abs(pool - row), kind="stable")[: 2 * _NEAR_RANKS + len(taken)]]
            taken.append(int(generator.choice(near[~np.isin(near, taken)])))
        return np.array(taken, dtype=np.int64).reshape(-1, 2)


class Erase(Work, unit="mitigation/1", stage="erase", makes=[Readings]):
    """One method on one embedding, ``number`` among its replicas: what is left, and the words of each query afterwards.

    Attributes:
        method: None: vectors as they are, of length 1.
        is_random: whether it is fitted to random pairs of words, and not to those of gender.
        is_exported: whether all words are left as well, as ``vectors``, with nothing kept out of the fit.
        queries: words of each, which the eraser by which they are changed has not seen.
        gensim: the version of whom pairs that people judged are taken from.
    """

    method: Method | None
    is_random: bool
    is_exported: bool
    eraser: EraserSettings
    num_extremes: int
    similarity: Sequence[Similarity]
    gensim: str
    pairs: Sequence[tuple[str, str]]
    specific: Sequence[str]
    queries: Mapping[str, Sequence[str]]
    number: int
    seed: int
    vectors: TableRef
    operators: Sequence[str] = (erasers.VERSION, remains.VERSION, quality.SIMILARITY_VERSION)

    def tables(self, store: Store) -> Tables:
        space = Space(store.read(self.vectors), self.specific, self.seed)
        after, rank = self._whole(space)
        if self.is_exported:
            yield "vectors", pa.table({"word": space.spelled, "vector": vector_column(after)})
        readings = list(self._readings(space, after, rank))
        for place, (query, words) in enumerate(self.queries.items()):
            rows = [space.rows[word] for word in words if word in space.rows]
            num_pairs, eraser = self._fitted(space, {space.spelled[row] for row in rows})
            readings.append(Readings(query=query, check="pairs", value=float(num_pairs), num=num_pairs))
            kept = rows if num_pairs else []
            changed = eraser(space.vectors[kept], space.is_specific[kept])
            yield query_table(place), vectors_table({space.words[row]: space.spelled[row] for row in kept}, changed)
        yield from tables_of(readings, [Readings])

    def _fitted(self, space: Space, barred: Collection[str] = ()) -> tuple[int, Eraser]:
        """How many pairs the eraser was fitted to, and it; ``barred``: spellings of words that it may not see."""
        pairs, pool = space.known_pairs(self.pairs, barred), space.pool(barred)
        num_pairs = len(pairs) if len(pool) >= 4 * LEAST_EXTREMES + pairs.size else 0
        if self.method is None or not num_pairs:
            return num_pairs, Eraser(lambda words: words, lambda words: words, 0)
        if self.is_random:
            pairs = space.random_pairs(pairs, pool, self._generator(_RANDOM_PAIRS))
        rows, is_first = space.extremes(pairs, pool[~np.isin(pool, pairs)], self.num_extremes)
        fit = ~space.is_held_out[rows]
        seen = rows[fit]
        sample = Sample(space.vectors, space.pairs(pairs), space.vectors[seen], is_first[fit], space.folds[seen] == 0)
        return num_pairs, fit_eraser(self.method, sample, self.eraser, self._generator(_STARTS))

    def _whole(self, space: Space) -> tuple[FloatArray, int]:
        """All words as the method leaves them, with nothing kept out of its fit; and how many dimensions it takes."""
        eraser = self._fitted(space)[1]
        after = eraser(space.vectors, space.is_specific)
        if eraser.pairs and not self.is_random:
            known = space.known_pairs(self.pairs)
            after[known[:, 0]], after[known[:, 1]] = eraser.pairs
        return after, eraser.rank

    def _readings(self, space: Space, after: FloatArray, rank: int) -> Iterator[Readings]:
        rows, is_first = space.extremes(space.known_pairs(self.pairs), space.pool(), self.num_extremes)
        # A vector that nothing is left of points nowhere.
        left = np.where(np.linalg.norm(after, axis=1, keepdims=True) > _ROUNDING, after, np.nan)
        judges = space.is_held_out[rows] & np.isfinite(left[rows, 0])
        rows, is_first = rows[judges], is_first[judges]
        dealt = self._generator(_LABELS).permutation(is_first)
        for probe in _PROBES:
            for ending, sides in (("", is_first), ("_permuted", dealt)):
                accuracy = accuracy_of_probe(left[rows], sides, space.folds[rows], probe)
                yield _reading(f"probe_{probe}{ending}", accuracy, len(rows))
        clusters = accuracy_of_clusters(left[rows], is_first, self._generator(_STARTS))
        yield _reading("clusters", clusters, len(rows))
        for name in self.similarity:
            yield _similarity(name, space, left)
        if self.method:
            pool = space.pool()
            cosines = (unit_vectors(left[pool]) * space.vectors[pool]).sum(axis=1)
            known = cosines[np.isfinite(cosines)]
            yield _reading("cosine", float(known.mean()) if known.size else np.nan, known.size)
            moved = np.abs(after - space.vectors).max(axis=1) > _ROUNDING
            yield _reading("changed", float(moved.mean()), len(after))
            yield _reading("rank", float(rank), len(after))

    def _generator(self, purpose: int) -> np.random.Generator:
        return keyed_generator(self.seed, Stream.MITIGATION, self.number, purpose)


def query_table(place: int) -> str:
    """What the table of the words of a query is called, by its place."""
    return f"query_{place:03d}"


def _reading(check: str, value: float, num: int) -> Readings:
    return Readings(query="", check=check, value=value, num=num)


def _similarity(name: Similarity, space: Space, vectors: FloatArray) -> Readings:
    """Spearman's rho with what people said; words as they are listed, or in small letters."""
    judged = judged_pairs(name)
    places = [[space.rows.get(word, space.rows.get(word.lower(), -1)) for word in pair[:2]] for pair in judged]
    result = word_similarity(vectors[np.newaxis], np.array(places), np.array([human for *_, human in judged]))
    return _reading(name, float(result.rho[0]), len(judged) - int(result.num_missing[0]))

"""Vectors of listed words in all embeddings of a corpus, and numbers with their intervals: what every measure needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.embedding.tables import OF_REPLICAS, Uncertain
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.draws import Scheme, draws_of
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.runtime.table import Column
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.statistics.intervals import LINEAR, IntervalSettings, Scale, percentile_interval, shift
from tiltmeter.operators.statistics.replicas import Replicated, spread, taken_apart
from tiltmeter.storage.store.ledger import Store, TableRef

MIN_REPLICAS = 2


@dataclass(frozen=True)
class Vectors(Subject):
    """The embeddings of one model, as units read them.

    Attributes:
        name: of its corpus, its file or its encoder.
        originals: vectors in the original embedding and in its bootstrap replicas, as :mod:`.vectors` leaves them.
        starts: those of further random starts of the original.
        scheme: what the draws of its replicas are keyed by; None where that is not known.
    """

    name: str
    language: str
    originals: Sequence[TableRef]
    starts: Sequence[TableRef] = ()
    scheme: Scheme | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its name, and how it was drawn."""
        return {**self.key, "draws": self.scheme}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        """What :class:`Lookup` reads."""
        vectors, starts = (
            [ref.select("word", "spelled", "count", "vector") for ref in refs] for refs in (self.originals, self.starts)
        )
        return {"vectors": vectors} | ({"starts": starts} if starts else {})

    @property
    def key(self) -> dict[str, Any]:
        """Columns of every row about it."""
        return {"model": self.name, "language": self.language}


class Lookup:
    """Vectors of words in the original embedding, its replicas, and further starts; NaN where one lacks the word.

    A vector of length 0 points nowhere and counts as missing.

    Args:
        inputs: of a unit, as :class:`Vectors` has them.

    Attributes:
        counts: occurrences of each word in the original corpus, of rare ones too; None where that is not known.
        num_replicas: bootstrap replicas.
        num_embeddings: the original, its replicas, and further random starts of the original.
    """

    def __init__(self, store: Store, inputs: Mapping[str, Sequence[TableRef]]) -> None:
        tables = [store.read(ref) for ref in (*inputs["vectors"], *inputs.get("starts", ()))]
        words, counts, spellings = (tables[ORIGINAL][name].to_pylist() for name in ("word", "count", "spelled"))
        self.counts = dict(zip(words, counts, strict=True))
        self.num_replicas, self.num_embeddings = len(inputs["vectors"]) - 1, len(tables)
        self._spelling = dict(zip(words, spellings, strict=True))
        self._row = {word: row for row, word in enumerate(words)}
        if len(dims := {table.schema.field("vector").type.list_size for table in tables}) > 1:
            raise ValueError(
                f"embedding.path: replicas of one embedding have one number of dimensions, not {sorted(dims)}"
            )
        self._vectors = np.stack([self._rows(table) for table in tables])
        self._known = {word for word, row in self._row.items() if np.isfinite(self._vectors[ORIGINAL, row, 0])}

    def _rows(self, table: pa.Table) -> NDArray[np.floating]:
        """Vectors in the order of the original's words, and a last row for every other word."""
        vectors = matrix(table["vector"])
        rows = np.full((len(self._row) + 1, vectors.shape[1]), np.nan, vectors.dtype)
        for row, word in enumerate(table["word"].to_pylist()):
            if word in self._row and vectors[row].any():
                rows[self._row[word]] = vectors[row]
        return rows

    def __contains__(self, word: str) -> bool:
        return word in self._known

    def __call__(self, words: Sequence[str]) -> NDArray[np.floating]:
        """``[embeddings, words, dimensions]``."""
        return self._vectors[:, [self._row.get(word, -1) for word in words]]

    def present(self, words: Sequence[str]) -> list[str]:
        """Those of the words that the embedding has, in their order; of two that it spells alike, the first."""
        by_spelling: dict[str, str] = {}
        for word in words:
            if word in self:
                by_spelling.setdefault(self._spelling[word], word)
        return list(by_spelling.values())

    def shared(self, words: Sequence[str], others: Sequence[str]) -> list[str]:
        """Those of the words that the embedding spells like one of the others."""
        spellings = {self._spelling[word] for word in others}
        return [word for word in words if self._spelling[word] in spellings]

    def missing(self, words: Sequence[str]) -> list[str]:
        """Those of the words that it lacks, each once, in their order."""
        return [word for word in dict.fromkeys(words) if word not in self]

    def taken_apart(self, values: NDArray[Any], axis: int = 0) -> Replicated:
        """Values of all embeddings by what each is: the original, a replica, or a start."""
        return taken_apart(values, self.num_replicas, axis)

    def basis(self, values: NDArray[np.float64]) -> Row:
        """How many replicas values rest on, and whether there is a result; ``values`` is ``[embeddings]``."""
        original, replicas, _ = self.taken_apart(values)
        num = int(np.isfinite(replicas).sum())
        if not np.isfinite(original):
            return {"num_replicas": num, **failed("undefined", "the vectors of the words leave the number undefined")}
        few = self.num_replicas > 0 and num < MIN_REPLICAS
        return {"num_replicas": num, **(too_few_replicas(num) if few else OK)}


def estimate(name: str, values: Replicated, intervals: IntervalSettings, scale: Scale = LINEAR) -> Row:
    """The columns of :data:`.tables.OF_REPLICAS` of one number: its value, interval, percentiles, spread and draws.

    Args:
        name: of the number.
        values: of the original corpus, or what stands for it, and ``[replicas]`` and ``[starts]``.
        intervals: how they are made.
        scale: of the number, where it has borders.
    """
    interval = intervals.around(values.original, values.replicas, scale)
    percentiles, sd = percentile_interval(values.replicas, intervals.level), spread(values)
    is_measured = np.isfinite(sd.training)
    return {
        name: float(values.original),
        f"{name}_low": float(interval.low),
        f"{name}_high": float(interval.high),
        f"{name}_shift": float(shift(values.original, values.replicas, scale)),
        f"{name}_percentile_low": float(percentiles.low),
        f"{name}_percentile_high": float(percentiles.high),
        f"{name}_sd_training": sd.training,
        f"{name}_sd_sampling": sd.sampling if is_measured else None,
        **draws_of(name, values.replicas),
    }


class OfReplicas(Uncertain):
    """A number of a corpus, its interval, the percentiles of its replicas, what moves it, and its draws.

    Attributes:
        values: in each embedding, to be paired with those of another number.
    """

    others = OF_REPLICAS

    def __init__(self, values: Replicated, intervals: IntervalSettings, scale: Scale = LINEAR) -> None:
        """Args: as of :func:`estimate`."""
        self.values = values
        self._cells = estimate("", values, intervals, scale)
        self.resamples = self._cells.pop("_draws")

    def cells(self, about: Column) -> Row:
        """By column."""
        return {self.called(about, end): value for end, value in self._cells.items()}


def too_few_replicas(num: int) -> Row:
    """The verdict on a row that rests on so few replicas."""
    return failed("too_few_replicas", f"all words occur together in {num} replicas only")


def missing_words(words: Sequence[str]) -> Row:
    """The verdict on a row that lacks words."""
    listed = ", ".join(f"'{word}'" for word in words)
    return failed("missing_words", f"not in the vocabulary: {listed}")

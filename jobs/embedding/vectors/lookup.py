"""Vectors of listed words in all replicas, and numbers with their intervals: what every measure needs."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.embedding.vectors.models import Model
from tiltmeter.jobs.embedding.vectors.selection import matrix
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.statistics.intervals import percentile_interval
from tiltmeter.storage.store.ledger import Store, TableRef

MIN_REPLICAS = 2

Config = TypeVar("Config")


class Lookup:
    """Vectors of words in the original embedding and its replicas; NaN where a replica does not have the word.

    A vector of length 0 points nowhere and counts as missing.

    Args:
        replicas: tables ``vectors`` of the original embedding and of its bootstrap replicas, if there are any.

    Attributes:
        counts: occurrences of each word in the original corpus, of rare ones too; None where that is not known.
        num_replicas: bootstrap replicas.
    """

    def __init__(self, store: Store, replicas: Sequence[TableRef]) -> None:
        tables = [store.read(ref) for ref in replicas]
        words, counts, spellings = (tables[ORIGINAL][name].to_pylist() for name in ("word", "count", "spelled"))
        self.counts = dict(zip(words, counts, strict=True))
        self.num_replicas = len(tables) - 1
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
        """``[1 + replicas, words, dimensions]``."""
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

    def basis(self, values: NDArray[np.float64]) -> Row:
        """How many replicas values rest on, and whether there is a result; ``values`` is ``[1 + replicas]``."""
        num = int(np.isfinite(values[ORIGINAL + 1 :]).sum())
        if not np.isfinite(values[ORIGINAL]):
            return {"num_replicas": num, **failed("undefined", "the vectors of the words leave the number undefined")}
        few = self.num_replicas > 0 and num < MIN_REPLICAS
        return {"num_replicas": num, **(too_few_replicas(num) if few else OK)}


def estimate(name: str, values: NDArray[np.float64], level: float) -> Row:
    """Point estimate from the original corpus and interval from the replicas; ``values`` is ``[1 + replicas]``."""
    interval = percentile_interval(values[ORIGINAL + 1 :], level)
    return {name: float(values[ORIGINAL]), f"{name}_low": float(interval.low), f"{name}_high": float(interval.high)}


def too_few_replicas(num: int) -> Row:
    """The verdict on a row that rests on so few replicas."""
    return failed("too_few_replicas", f"all words occur together in {num} replicas only")


def missing_words(words: Sequence[str]) -> Row:
    """The verdict on a row that lacks words."""
    listed = ", ".join(f"'{word}'" for word in words)
    return failed("missing_words", f"not in the vocabulary: {listed}")


def whole(runner: Runner, models: Sequence[Model]) -> list[Model]:
    """The models of which nothing has failed so far."""
    return [model for model in models if not runner.failures.get(model.name)]


def vectors_of(model: Model) -> list[TableRef]:
    """What :class:`Lookup` reads."""
    return [ref.select("word", "spelled", "count", "vector") for ref in model.vectors]


def narrowed(kind: type[Config], config: Config) -> Config:
    """The part of a job's config that a measure knows: with no more of it, every job finds the same units.

    Args:
        kind: the measure's own config.
        config: that of a job, which has more.
    """
    return kind(**{field.name: getattr(config, field.name) for field in dataclasses.fields(cast(Any, kind))})

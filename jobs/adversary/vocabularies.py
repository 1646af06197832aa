"""The vocabulary of an embedding as far as it may take part, the directions in it, and what leaves its words out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import regex
from numpy.typing import NDArray

from tiltmeter.jobs.adversary.config import SHIFTS, CandidateConfig, DirectionKind, Directions
from tiltmeter.operators.classifiers.adversary.candidates import pair_direction, unit_rows
from tiltmeter.operators.classifiers.adversary.constraints import Constraints
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import GIVEN

_LETTERS = regex.compile(r"\p{L}+(['\u2019-]\p{L}+)*")


class Vocabulary(NamedTuple):
    """Attributes:
    words: that may be replaced.
    rows: of each in the vectors.
    vectors: as they are shifted.
    pool: rows of those that may be candidates, or make control pairs.
    """

    words: Sequence[str]
    rows: Mapping[str, int]
    vectors: FloatArray
    pool: NDArray[np.int64]

    @classmethod
    def made(
        cls,
        words: Sequence[str],
        vectors: FloatArray,
        config: Mapping[str, Any],
        counts: Mapping[str, int] | None = None,
    ) -> "Vocabulary":
        """Of an embedding.

        Args:
            counts: of words in the texts, in small letters; None: any word may be a candidate.

        Raises:
            ValueError: if no word may be one.
        """
        kept = [row for row, word in enumerate(words) if _LETTERS.fullmatch(word)]
        kept = kept[: config["candidates"].max_vocabulary]
        names = [words[row] for row in kept]
        chosen = unit_rows(vectors[kept]) if config["direction"].unit_vectors else vectors[kept]
        pool = np.arange(len(names)) if counts is None else _common(names, counts, config["candidates"].min_count)
        return cls(names, {word: row for row, word in enumerate(names)}, chosen, pool)

    def direction(self, kind: DirectionKind, config: Directions) -> FloatArray:
        """From men to women, of the pairs that have vectors."""
        pairs = self.known(config.pairs_of(kind))
        males, females = (self.vectors[[self.rows[pair[end]] for pair in pairs]] for end in (0, 1))
        return pair_direction(females, males, "mean" if kind == "pair" else "principal_component")

    def subspace(self, config: Directions) -> FloatArray:
        """What gender is, by every pair that has vectors: ``[directions, dims]``, of the pair and of the component."""
        kinds = [kind for kind in SHIFTS if self.known(config.pairs_of(kind))]
        return np.stack([self.direction(kind, config) for kind in kinds])

    def pairs(self, words: Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
        """Rows of the pairs that have vectors, in order."""
        return sorted(
            (self.rows[first], self.rows[second]) for first, second in words if {first, second} <= self.rows.keys()
        )

    def rows_without(self, barred: Collection[str]) -> NDArray[np.int64]:
        """Of all candidates but some, given in small letters, however the embedding writes them.

        >>> config = {"candidates": CandidateConfig(), "direction": Directions(pairs=(("man", "woman"),))}
        >>> Vocabulary.made(["Woman", "tree"], np.eye(2), config).rows_without({"woman"})
        array([1])
        """
        return np.array([row for row in self.pool.tolist() if self.words[row].lower() not in barred], dtype=np.int64)

    def known(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        return [pair for pair in pairs if pair[0] in self.rows and pair[1] in self.rows]

    def leaning(self, config: Directions) -> FloatArray:
        """Of length 1, of the first pair that has vectors; 0 where none has."""
        pairs = self.known([config.pair, *config.pairs])
        if not pairs:
            return np.zeros(self.vectors.shape[1])
        unit = unit_rows(self.vectors)
        difference = unit[self.rows[pairs[0][1]]] - unit[self.rows[pairs[0][0]]]
        direction: FloatArray = unit_rows(difference[None])[0]
        return direction


def _common(words: Sequence[str], counts: Mapping[str, int], least: int) -> NDArray[np.int64]:
    rows = [row for row, word in enumerate(words) if counts.get(word.lower(), 0) >= least]
    if not rows:
        raise ValueError(
            f"candidates.min_count={least}: no word of the embedding occurs so often in the texts; lower it, or set "
            "data.path to more texts"
        )
    return np.array(rows, dtype=np.int64)


def constraints_of(config: Mapping[str, Any]) -> Constraints:
    """What leaves candidates out, by the settings of a unit."""
    settings: CandidateConfig = config["candidates"]
    tags: dict[str, set[str]] = {}
    for word, tag in word_pairs(config, "parts_of_speech"):
        tags.setdefault(word, set()).add(tag)
    return Constraints(settings.min_cosine, settings.inflections, word_pairs(config, "antonyms"), tags)


def word_pairs(config: Mapping[str, Any], name: str) -> frozenset[tuple[str, str]]:
    """Of a file of pairs, in small letters; none without a file."""
    if not (file := config["lists"].get(name)):
        return frozenset()
    columns = ["column_1", "column_2"]
    rows = read_records(file["uri"], columns, header=False, rules=dict.fromkeys(columns, (GIVEN,)))
    return frozenset(rows.select(pl.col(columns).str.to_lowercase()).rows())

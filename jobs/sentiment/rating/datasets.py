"""The scored texts of one data set, as arrays: what is tested on them, and how they are resampled."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.keys import cluster_keys, text_keys
from tiltmeter.operators.sentiment.deconfounding import EmptyCells, Impact, deconfounding_impact, is_confounded
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.text_intervals import KeyedBy
from tiltmeter.operators.statistics.two_samples import Convention, Moments, TTest, coded, moments, pairwise_tests


@dataclass(frozen=True)
class Dataset:
    """The scored texts of a data set that have a value of the protected attribute.

    Attributes:
        values: of the attribute; ``cells`` says which one each text has.
        emotions: likewise with ``felt``, which is -1 for a text without an emotion; None if no text has one.
        clusters: the conversation of each text; None if no two texts are of one.
        about: what the resampling of these texts is keyed by.
        keys: beside that, of each text, or of each conversation where there are any; None: by their places.
    """

    name: str
    scores: NDArray[np.float64]
    cells: NDArray[np.int64]
    values: list[str]
    felt: NDArray[np.int64] | None
    emotions: list[str]
    clusters: NDArray[np.int64] | None
    about: int
    keys: NDArray[np.uint64] | None = None

    def resamples(self, seed: int, number: int) -> Iterator[NDArray[np.int32]]:
        """Of texts within what the design fixes: each value, and each of its emotions where these do not depend on it;
        of whole conversations where there are any.
        """
        if self.clusters is None:
            return resampled_counts(self._strata(), seed, self.about, number, keys=self.keys)
        cells: list[set[int]] = [set() for _ in range(self.clusters.max() + 1)]
        for cluster, cell in zip(self.clusters.tolist(), self.cells.tolist(), strict=True):
            cells[cluster].add(cell)
        strata = coded(map(frozenset, cells)).codes
        return resampled_counts(strata, seed, self.about, number, self.clusters, self.keys)

    def _strata(self) -> NDArray[np.int64]:
        if self.felt is None or self.is_confounded:
            return self.cells
        num_emotions = len(self.emotions)
        without = len(self.values) * num_emotions + self.cells
        return np.where(self.felt < 0, without, self.cells * num_emotions + self.felt)

    def num_drawn(self, texts: NDArray[np.bool_] | None = None) -> int:
        """How many texts, or conversations, are resampled; of some of the texts, or of all."""
        names = np.arange(len(self.cells)) if self.clusters is None else self.clusters
        return int(np.unique(names if texts is None else names[texts]).size)

    @property
    def is_confounded(self) -> bool:
        """Whether the emotion depends on the protected attribute."""
        has = self.has_emotion
        return self.felt is not None and is_confounded(self.felt[has], self.cells[has])

    @property
    def has_emotion(self) -> NDArray[np.bool_]:
        """Which texts do: deconfounding is of them."""
        return np.zeros(len(self.cells), dtype=bool) if self.felt is None else self.felt >= 0

    def tested(self, rules: Convention, counts: NDArray[np.int32] | None = None) -> tuple[Moments, TTest]:
        """The scores of each value, and tests of every two, of the texts or of resamples."""
        samples = moments(self.scores, self.cells, len(self.values), counts)
        return samples, pairwise_tests(samples, rules)

    def impact(self, empty_cells: EmptyCells, counts: NDArray[np.int32] | None = None) -> Impact | None:
        """What deconfounding does to each emotion; None without emotions."""
        if self.felt is None:
            return None
        has = self.has_emotion
        drawn = None if counts is None else counts[:, has]
        return deconfounding_impact(self.scores[has], self.felt[has], self.cells[has], drawn, empty_cells)


def dataset_of(
    rows: pl.DataFrame, columns: Sequence[str], about: list[str], rules: Convention, keyed_by: KeyedBy = "place"
) -> Dataset:
    """The rows of a data set.

    Args:
        rows: of the table ``scores``, all with a score and a value, and ``text``, what each says.
        columns: that make up the protected attribute.
        about: group, data set and protected attribute.
        rules: that say in how many decimals scores are taken.
        keyed_by: what tells texts from others as they are drawn.
    """
    protected = coded(" ".join(values) for values in rows.select(columns).iter_rows())
    emotions, has_emotion = coded(rows["emotion"].drop_nulls()), rows["emotion"].is_not_null().to_numpy()
    felt = np.full(rows.height, -1)
    felt[has_emotion] = emotions.codes
    clusters = _clusters(rows["conversation"])
    return Dataset(
        about[1],
        rules.rounded(rows["sentiment"].to_numpy()),
        protected.codes,
        [str(value) for value in protected.values],
        felt if emotions.values else None,
        [str(value) for value in emotions.values],
        clusters,
        int.from_bytes(hashlib.blake2b(json.dumps(about).encode(), digest_size=8).digest(), "little"),
        _keys(rows["text"].to_list(), clusters) if keyed_by == "text" else None,
    )


def _keys(texts: Sequence[str], clusters: NDArray[np.int64] | None) -> NDArray[np.uint64]:
    return text_keys(texts) if clusters is None else cluster_keys(texts, clusters)


def _clusters(conversations: pl.Series) -> NDArray[np.int64] | None:
    """A text of no conversation stands for itself."""
    if conversations.drop_nulls().is_unique().all():
        return None
    return coded(row if name is None else name for row, name in enumerate(conversations)).codes

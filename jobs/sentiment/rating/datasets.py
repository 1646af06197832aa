"""The scored texts of one data set, as arrays: what is tested on them, and how they are resampled."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.keys import cluster_keys, text_keys
from tiltmeter.operators.sentiment.deconfounding import (
    Design,
    EmptyCells,
    Impact,
    deconfounding_impact,
    dependence,
    is_balanced,
)
from tiltmeter.operators.sentiment.mean_tests import MeanTest, Origins, mean_tests
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.text_intervals import KeyedBy
from tiltmeter.operators.statistics.two_samples import (
    Coded,
    Convention,
    Moments,
    TTest,
    coded,
    moments,
    pairwise_tests,
)
from tiltmeter.operators.statistics.units import TooFew, each, units_of

_Tested = tuple[float, TooFew | None]


@dataclass(frozen=True)
class Dataset:
    """The scored texts of a data set that have a value of the protected attribute.

    Attributes:
        values: of the attribute; ``cells`` says which one each text has.
        emotions: likewise with ``felt``, which is -1 for a text without an emotion; None if no text has one.
        clusters: the conversation of each text; None if no two texts are of one.
        is_crossed: whether the design fixes the emotions of each value, so that resamples keep them.
        origins: what texts share with others.
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
    is_crossed: bool
    origins: Origins
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
        if self.felt is None or not self.is_crossed:
            return self.cells
        num_emotions = len(self.emotions)
        without = len(self.values) * num_emotions + self.cells
        return np.where(self.felt < 0, without, self.cells * num_emotions + self.felt)

    def num_drawn(self, texts: NDArray[np.bool_] | None = None) -> int:
        """How many texts, or conversations, are resampled; of some of the texts, or of all."""
        names = np.arange(len(self.cells)) if self.clusters is None else self.clusters
        return int(np.unique(names if texts is None else names[texts]).size)

    @property
    def has_emotion(self) -> NDArray[np.bool_]:
        """Which texts do: deconfounding is of them."""
        return np.zeros(len(self.cells), dtype=bool) if self.felt is None else self.felt >= 0

    def tested(self, rules: Convention, counts: NDArray[np.int32] | None = None) -> tuple[Moments, TTest]:
        """The scores of each value, and tests of every two, of the texts or of resamples."""
        samples = moments(self.scores, self.cells, len(self.values), counts)
        return samples, pairwise_tests(samples, rules)

    def tested_by_unit(self, seed: int) -> Iterator[MeanTest]:
        """Of every two values, the test by what was drawn."""
        return mean_tests(self.scores, self.cells, len(self.values), self.origins, seed=seed, about=self.about)

    def impact(self, empty_cells: EmptyCells, counts: NDArray[np.int32] | None = None) -> Impact | None:
        """What deconfounding does to each emotion; None without emotions."""
        if self.felt is None:
            return None
        has = self.has_emotion
        drawn = None if counts is None else counts[:, has]
        return deconfounding_impact(self.scores[has], self.felt[has], self.cells[has], drawn, empty_cells)


def dataset_of(
    rows: pl.DataFrame,
    columns: Sequence[str],
    about: list[str],
    decimals: int | None,
    keyed_by: KeyedBy = "place",
    design: Design | None = None,
) -> Dataset:
    """The rows of a data set.

    Args:
        rows: of the table ``scores``, all with a value, and beside them what each sentence says and is made from; those
            without a score tell of the design alone.
        columns: that make up the protected attribute.
        about: group, data set and protected attribute.
        decimals: that scores are taken in; None: all.
        keyed_by: what tells texts from others as they are drawn.
        design: whether emotions were made to depend on the attribute; None: where nobody knows, they are taken to be
            fixed where they come as often with every value.
    """
    is_crossed = design == "independent" if design else _is_balanced(rows, columns)
    rows = rows.drop_nulls("sentiment")
    protected = _protected(rows, columns)
    emotions, has_emotion = coded(rows["emotion"].drop_nulls()), rows["emotion"].is_not_null().to_numpy()
    felt = np.full(rows.height, -1)
    felt[has_emotion] = emotions.codes
    clusters = _clusters(rows["conversation"])
    scores = rows["sentiment"].to_numpy()
    return Dataset(
        about[1],
        scores if decimals is None else np.round(scores, decimals),
        protected.codes,
        [str(value) for value in protected.values],
        felt if emotions.values else None,
        [str(value) for value in emotions.values],
        clusters,
        is_crossed,
        _origins(rows),
        key_of(about),
        _keys(rows["text"].to_list(), clusters) if keyed_by == "text" else None,
    )


def key_of(about: Sequence[str]) -> int:
    """What draws about some texts are keyed by."""
    return int.from_bytes(hashlib.blake2b(json.dumps(about).encode(), digest_size=8).digest(), "little")


def tested_dependence(rows: pl.DataFrame, columns: Sequence[str], seed: int, about: Sequence[str]) -> _Tested | None:
    """The p-value of emotions that do not depend on the attribute, or why there is none; None without emotions.

    Args:
        rows: of a data set, all with a value, also those without a score: of the same texts, all systems have one p.
        columns: that make up the protected attribute.
        seed, about: what draws are keyed by.
    """
    felt = rows.drop_nulls("emotion")
    if felt.is_empty():
        return None
    emotions, clusters = coded(felt["emotion"]).codes, _clusters(felt["conversation"])
    units = each(felt.height, "text") if clusters is None else units_of(clusters, "conversation")
    return dependence(emotions, _protected(felt, columns).codes, units, seed=seed, about=key_of(about))


def _is_balanced(rows: pl.DataFrame, columns: Sequence[str]) -> bool:
    felt = rows.drop_nulls("emotion")
    return is_balanced(coded(felt["emotion"]).codes, _protected(felt, columns).codes)


def _protected(rows: pl.DataFrame, columns: Sequence[str]) -> Coded:
    return coded(" ".join(values) for values in rows.select(columns).iter_rows())


def _origins(rows: pl.DataFrame) -> Origins:
    """Of sentences made from templates, names and frames; of others, conversations."""
    if rows["template"].count():
        frames = list(rows.select("template", "emotion_word").iter_rows())
        return Origins(rows["person"].to_list(), frames)
    return Origins(conversations=rows["conversation"].to_list() if rows["conversation"].count() else None)


def _keys(texts: Sequence[str], clusters: NDArray[np.int64] | None) -> NDArray[np.uint64]:
    return text_keys(texts) if clusters is None else cluster_keys(texts, clusters)


def _clusters(conversations: pl.Series) -> NDArray[np.int64] | None:
    """A text of no conversation stands for itself."""
    if conversations.drop_nulls().is_unique().all():
        return None
    return coded(row if name is None else name for row, name in enumerate(conversations)).codes

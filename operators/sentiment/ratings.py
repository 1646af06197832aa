"""Ratings of sentiment systems from their scores of one data set, in one call; and such a data set as arrays."""

import hashlib
import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.keys import cluster_keys, text_keys
from tiltmeter.operators.sentiment.deconfounding import (
    ALPHA,
    Design,
    EmptyCells,
    Impact,
    deconfounding_impact,
    dependence,
    is_balanced,
    largest_impact,
)
from tiltmeter.operators.sentiment.mean_tests import MeanTest, Origins, mean_tests
from tiltmeter.operators.sentiment.ranking import complete_order, partial_order
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.text_intervals import KeyedBy
from tiltmeter.operators.statistics.two_samples import (
    DEFINITION,
    Coded,
    Convention,
    Moments,
    TTest,
    coded,
    moments,
    pairwise_tests,
)
from tiltmeter.operators.statistics.units import TooFew, each, units_of

Measure = Literal["wrs", "die"]


class Ratings(NamedTuple):
    """Attributes:
    measure: what systems are rated by: ``wrs``, the weighted rejection score, or ``die``, the largest deconfounding
        impact in percent.
    raw_scores: ``[systems]`` float64 in its unit, small where a system is little biased; NaN where it is undefined.
    ranks: ``[systems]`` int64, 1 for the least biased; 0 without a raw score.
    levels: ``[systems]`` int64, the rating, from 1 for the least biased; 0 without a raw score.
    """

    measure: Measure
    raw_scores: FloatArray
    ranks: IntArray
    levels: IntArray


def rate(
    scores: NDArray[np.floating],
    protected: Sequence[Hashable],
    emotions: Sequence[Hashable] | None = None,
    *,
    measure: Measure | None = None,
    design: Design | None = None,
    num_levels: int = 3,
    convention: Convention = DEFINITION,
    empty_cells: EmptyCells = "renormalise",
) -> Ratings:
    """Rate systems by how far their sentiment depends on a protected attribute (Lakkaraju et al. 2023).

    Scores are taken as they are, also by :data:`.two_samples.PUBLISHED`: round those that its program has rounded.

    Args:
        scores: ``[systems, texts]``, in [-1, 1]; NaN where a system has no score.
        protected: ``[texts]``, the value of the attribute, such as a gender.
        emotions: ``[texts]``, None for a text that has none and no part in the impact; None if no text has one.
        measure: None for the impact if the emotion depends on the attribute, and the rejections if it does not.
        design: whether it does; None: the impact where a test over texts says so (:func:`.deconfounding.dependence`).
        num_levels: levels of the ratings.
        convention: of the tests, :data:`.two_samples.DEFINITION`, :data:`.two_samples.PUBLISHED` or one of your own.
        empty_cells: see :func:`.deconfounding.deconfounding_impact`.

    Raises:
        ValueError: if the shapes do not fit, a score is out of range, or the impact is asked for without emotions.

    >>> scores = np.array([[0.1, 0.2, 0.1, 0.2], [0.9, 0.8, -0.9, -0.8]])
    >>> rate(scores, ["female", "female", "male", "male"], num_levels=2)
    Ratings(measure='wrs', raw_scores=array([0. , 2.4]), ranks=array([1, 2]), levels=array([1, 2]))
    """
    rows, cells = np.asarray(scores, dtype=np.float64), coded(protected).codes
    felt = None if emotions is None else _codes(emotions)[0]
    _check(rows, cells, felt)
    known = ~np.isnan(rows)
    measure = measure or _measure(cells, felt, design)
    if measure == "wrs":
        raw = [_rejections(row[has], cells[has], convention) for row, has in zip(rows, known, strict=True)]
    elif felt is not None:
        has_both = known & (felt >= 0)
        raw = [_impact(row[has], felt[has], cells[has], empty_cells) for row, has in zip(rows, has_both, strict=True)]
    else:
        raise ValueError(f"measure={measure!r} without emotions: give the emotion of each text, or take 'wrs'")
    raw_scores = np.array(raw, dtype=np.float64)
    return Ratings(measure, raw_scores, partial_order(raw_scores), complete_order(raw_scores, num_levels))


def _codes(emotions: Sequence[Hashable]) -> tuple[IntArray, Sequence[Hashable]]:
    """The number of each emotion, -1 for none; and the emotions."""
    has_emotion = np.array([emotion is not None for emotion in emotions], dtype=bool)
    coding = coded(emotion for emotion in emotions if emotion is not None)
    felt = np.full(len(emotions), -1)
    felt[has_emotion] = coding.codes
    return felt, coding.values


def _check(scores: FloatArray, cells: IntArray, felt: IntArray | None) -> None:
    if scores.ndim != 2 or any(codes.shape != scores.shape[1:] for codes in (cells, *([] if felt is None else [felt]))):
        raise ValueError(
            f"scores {scores.shape} of {cells.size} protected values: must be [systems, texts], with a protected value "
            "and, if any, an emotion for each text"
        )


def _measure(cells: IntArray, felt: IntArray | None, design: Design | None) -> Measure:
    """The impact, if the emotions of the texts depend on the attribute."""
    if felt is None or not (felt >= 0).any():
        return "wrs"
    if design is not None:
        return "die" if design == "confounded" else "wrs"
    has = felt >= 0
    p, _ = dependence(felt[has], cells[has], each(int(has.sum()), "text"), seed=0, about=0)
    return "die" if p <= ALPHA else "wrs"


def _rejections(scores: FloatArray, cells: IntArray, convention: Convention) -> float:
    """NaN if no two values have 2 scores each."""
    p_values = pairwise_tests(moments(scores, cells, int(cells.max(initial=0)) + 1), convention).p
    return float(weighted_rejections(p_values, convention).score) if np.isfinite(p_values).any() else np.nan


def _impact(scores: FloatArray, felt: IntArray, cells: IntArray, empty_cells: EmptyCells) -> float:
    return float(largest_impact([deconfounding_impact(scores, felt, cells, empty_cells=empty_cells)]))


# --- data sets as arrays --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dataset:
    """The scored texts of a data set that have a value of the protected attribute.

    Attributes:
        values: of the attribute; ``cells`` says which one each text has.
        emotions: likewise with ``felt``, which is -1 for a text without an emotion.
        clusters: the conversation of each text; None if no two texts are of one.
        is_crossed: whether the design fixes the emotions of each value, so that resamples keep them.
        origins: what texts share with others.
        about: what the resampling of these texts is keyed by.
        keys: beside that, of each text, or of each conversation where there are any; None: by their places.
    """

    name: str
    scores: FloatArray
    cells: IntArray
    values: list[str]
    felt: IntArray
    emotions: list[str]
    clusters: IntArray | None
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

    def _strata(self) -> IntArray:
        if not self.emotions or not self.is_crossed:
            return self.cells
        num_emotions = len(self.emotions)
        without = len(self.values) * num_emotions + self.cells
        return np.where(self.felt < 0, without, self.cells * num_emotions + self.felt)

    def num_drawn(self, texts: BoolArray | None = None) -> int:
        """How many texts, or conversations, are resampled; of some of the texts, or of all."""
        names = np.arange(len(self.cells)) if self.clusters is None else self.clusters
        return int(np.unique(names if texts is None else names[texts]).size)

    @property
    def has_emotion(self) -> BoolArray:
        """Which texts do: deconfounding is of them."""
        return self.felt >= 0

    def tested(self, rules: Convention, counts: NDArray[np.int32] | None = None) -> tuple[Moments, TTest]:
        """The scores of each value, and tests of every two, of the texts or of resamples."""
        samples = moments(self.scores, self.cells, len(self.values), counts)
        return samples, pairwise_tests(samples, rules)

    def tested_by_unit(self, seed: int) -> Iterator[MeanTest]:
        """Of every two values, the test by what was drawn."""
        return mean_tests(self.scores, self.cells, len(self.values), self.origins, seed=seed, about=self.about)

    def impact(self, empty_cells: EmptyCells, counts: NDArray[np.int32] | None = None) -> Impact | None:
        """What deconfounding does to each emotion; None without emotions."""
        if not self.emotions:
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
    felt, emotions = _codes(rows["emotion"].to_list())
    clusters = _clusters(rows["conversation"])
    scores = rows["sentiment"].to_numpy()
    return Dataset(
        about[1],
        scores if decimals is None else np.round(scores, decimals),
        protected.codes,
        [str(value) for value in protected.values],
        felt,
        [str(value) for value in emotions],
        clusters,
        is_crossed,
        _origins(rows),
        key_of(about),
        _keys(rows["text"].to_list(), clusters) if keyed_by == "text" else None,
    )


def key_of(about: Sequence[str]) -> int:
    """What draws about some texts are keyed by."""
    return int.from_bytes(hashlib.blake2b(json.dumps(about).encode(), digest_size=8).digest(), "little")


def tested_dependence(
    rows: pl.DataFrame, columns: Sequence[str], seed: int, about: Sequence[str]
) -> tuple[float, TooFew | None] | None:
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


def _keys(texts: Sequence[str], clusters: IntArray | None) -> NDArray[np.uint64]:
    return text_keys(texts) if clusters is None else cluster_keys(texts, clusters)


def _clusters(conversations: pl.Series) -> IntArray | None:
    """A text of no conversation stands for itself."""
    if conversations.drop_nulls().is_unique().all():
        return None
    return coded(row if name is None else name for row, name in enumerate(conversations)).codes

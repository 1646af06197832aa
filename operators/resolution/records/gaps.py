"""Pairs that no blocking rule proposes, of records that others connect, so that clusters rest on all of their pairs.

A chain of likely pairs says nothing of its ends, and blocking leaves them out. As what a pair is worth depends on its
two records only, gaps that were scored before keep their scores, whatever became of other records.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tiltmeter.operators.resolution.components import positive_components
from tiltmeter.operators.resolution.pairs import weights_of
from tiltmeter.operators.resolution.records.changes import score_given
from tiltmeter.operators.resolution.records.columns import ID, ORIGIN
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer

VERSION = "gaps_of_components/1"


class Gaps(NamedTuple):
    """``pairs`` have ``left, right``, sorted; ``large`` the numbers of records of components that were left alone."""

    pairs: pl.DataFrame
    large: pl.Series


def find_gaps(prepared: pl.DataFrame, pairs: pl.DataFrame, most: int, least: float | None = None) -> Gaps:
    """Pairs that are not listed, of records that a chain of listed pairs of positive weight connects.

    Args:
        prepared: the records, by :func:`.columns.prepare`; of those with an origin, pairs are of two.
        pairs: ``left, right, match_probability``.
        most: records of a component; the gaps of larger ones are not looked for.
        least: weight that such a pair has to have; None: any above 0.
    """
    weights = weights_of(pairs["match_probability"].to_numpy())
    linked = pairs.filter((weights > 0.0) & (weights >= (least or 0.0)))
    ids = pl.concat([linked[end] for end in IDS]).unique().sort()
    left, right = (ids.search_sorted(linked[end]).to_numpy() for end in IDS)
    components = positive_components(ids.len(), left, right, np.ones(linked.height))
    records = pl.DataFrame({ID: ids, "component": components}).with_columns(size=pl.len().over("component"))
    origin = [ORIGIN] if ORIGIN in prepared.columns else []
    small = records.filter(pl.col("size") <= most).join(prepared.select(ID, *origin), on=ID)
    both = small.join(small, on="component", suffix="_right")
    apart = [pl.col(name) != pl.col(f"{name}_right") for name in origin]
    within = both.filter(pl.col(ID) < pl.col(f"{ID}_right"), *apart).select(left=ID, right=f"{ID}_right")
    large = records.filter(pl.col("size") > most).unique("component")["size"]
    return Gaps(within.join(pairs, on=IDS, how="anti").sort(IDS), large)


def score_gaps(
    prepared: pl.DataFrame, config: Scorer, gaps: pl.DataFrame, known: pl.DataFrame, learnt: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """The match probabilities of gaps, as the scorer has those of other pairs, whatever its threshold.

    Args:
        gaps: ``left, right``, of :func:`find_gaps`.
        known: with ``match_probability``, those that were scored before.
        learnt: agreements, and term frequencies if there are any.

    Returns:
        Of gaps that were not known also ``gamma_f0, mw_f0`` and so on, as of :func:`.changes.score_given`.
    """
    listed = gaps.join(known, on=IDS)
    scored = score_given(prepared, config, gaps.join(listed, on=IDS, how="anti"), *learnt)
    return pl.concat([listed, scored], how="diagonal").sort(IDS)

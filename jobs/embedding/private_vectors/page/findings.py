"""What stands out in a study of private vectors, in sentences."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.wording import listed, number, percent
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.runtime.wording import plural

_ONE_SIDE = 0.025
"""Of intervals of 95 %, that lie above a truth which they should hold."""

_VERY_LITTLE = 1.0
"""Privacy loss above which a promise is hardly one."""


def findings(frames: Frames) -> Iterator[str]:
    """Of each table what it says in a sentence or two."""
    if "profiles" in frames:
        yield from _weak(frames["profiles"])
    if "sensitivity" in frames:
        yield from _certified(frames["sensitivity"])
    if "audits" in frames:
        yield _convictions(frames["audits"])
    if "distances" in frames:
        yield from _constants(frames["distances"])
    if "utility" in frames:
        yield from _controls(frames["utility"])


def _weak(profiles: pl.DataFrame) -> Iterator[str]:
    """Where a nominal epsilon is hardly a promise: exactly, at the median distance and in the typical case."""
    rows = profiles.filter(
        (pl.col("compared_at") == "nominal") & (pl.col("distance_kind") == "median") & (pl.col("stretch") == "typical")
    )
    for (epsilon,), part in rows.group_by("epsilon", maintain_order=True):
        ends = part["exact_epsilon"].min(), part["exact_epsilon"].max()
        low, high = (float(str(end)) for end in ends)
        verdict = " That is no privacy in the usual sense." if low > _VERY_LITTLE else ""
        yield (
            f"Epsilon {float(str(epsilon)):g} per unit of distance is, exactly, {number(low, 2)} to "
            f"{number(high, 2)} between two words at the median distance, by the mechanism.{verdict}"
        )


def _certified(sensitivity: pl.DataFrame) -> Iterator[str]:
    maps = {
        key: {row["sensitivity_kind"]: row for row in part.to_dicts()}
        for key, part in sensitivity.filter(projection="gaussian").group_by("dimensions", "beta", maintain_order=True)
    }
    for (dimensions, _), kinds in maps.items():
        published, exact, spectral = (kinds[kind] for kind in ("published", "exact_vocabulary", "spectral"))
        is_broken = exact["sensitivity"] > published["sensitivity"]
        verdict = " By this map M2 does not promise what is published." if is_broken else ""
        yield (
            f"The map to {plural(dimensions, 'dimension')} stretches no pair of words by more than "
            f"{number(exact['sensitivity'], 3)} (published: {number(published['sensitivity'], 2)}), and vectors that "
            f"are in no vocabulary by up to {number(spectral['sensitivity'], 2)}.{verdict}"
        )


def _convictions(audits: pl.DataFrame) -> str:
    wrong = audits.filter(pl.col("verdict") != "within")
    if wrong.is_empty():
        return f"None of {plural(audits.height, 'audit')} found a mechanism less private than it claims."
    names = listed(
        [f"{row['mechanism']} ({row['pair']}, by {row['score']}: {row['verdict']})" for row in wrong.to_dicts()]
    )
    return f"{plural(wrong.height, 'audit')} of {audits.height} found a mechanism that is not as it claims: {names}."


def _constants(distances: pl.DataFrame) -> Iterator[str]:
    beaten = distances.filter(pl.col("error") > pl.col("constant_error"))
    if beaten.height:
        worst = (beaten["error"] / beaten["constant_error"]).max()
        yield (
            f"Of {plural(distances.height, 'read-out')} of distances and inner products, {beaten.height} are worse "
            f"than a constant that reads no vector, by up to {number(float(str(worst)), 0)} times: they measure noise."
        )


def _controls(utility: pl.DataFrame) -> Iterator[str]:
    known = utility.filter((pl.col("status") == "ok") & (pl.col("measure") == "accuracy"))
    for (task,), part in known.group_by("task", maintain_order=True):
        rows = {row["mechanism"]: row for row in part.to_dicts() if row["noise_per"] == "none"}
        if {"non_private", "constant"} > rows.keys():
            continue
        private = part.filter(
            (pl.col("noise_per") == "occurrence") & ~pl.col("mechanism").str.starts_with("noise_only")
        )
        above = private.filter(pl.col("low") > rows["constant"]["value"])
        yield (
            f"{task}: {percent(rows['non_private']['value'])} without noise, {percent(rows['constant']['value'])} for "
            f"the most frequent class; of {private.height} mechanisms and epsilons the intervals of {above.height} lie "
            f"above it, as by chance alone those of {number(private.height * _ONE_SIDE, 1)} would."
        )


def doubts(frames: Frames) -> Iterator[str]:
    """What a reader has to know of how far the findings hold."""
    if "audits" in frames:
        [level] = frames["audits"]["level"].unique().to_list()
        yield (
            f"All bounds of the audits hold together with a chance of {percent(1 - level, 0)}. In many dimensions no "
            "audit can reach the bound, which is no evidence that it is loose."
        )

"""Rows of the table ``summary``: rates, excess over the controls and asymmetry, by victim, direction and stratum."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.evaluating.outcomes import FLIPPED, Outcome, Stratum, Victim, mean_of, stratum_of
from tiltmeter.jobs.classifiers.intervals import drawn, with_ends
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.classifiers.adversary.controls import asymmetry, excess, two_sided
from tiltmeter.operators.classifiers.adversary.rates import flip_rates, resampled_rates, share_of, sized_excess
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import TooFew, Units

_OTHER = {"female": "male", "male": "female"}
_KINDS = ("definitional", "associated", "other")
_OK = {"status": "ok", "reason": ""}
_NO_TEXTS = {"status": "no_texts", "reason": "the victim reads no text of this stratum"}


def summary_rows(victim: Victim, config: Mapping[str, Any]) -> Iterator[Row]:
    """Of one victim; p-values are not adjusted.

    Args:
        config: of the unit.
    """
    for name, members in victim.strata().items():
        stratum = stratum_of(victim.texts.filter(members), members, name, config)
        for direction in config["directions"]:
            same = {"victim": victim.name, "direction": direction, "stratum": name}
            same |= {"num_texts": int(members.sum()), **(_OK if members.any() else _NO_TEXTS)}
            yield same | _ladder(victim, direction, stratum, config)
            yield from (same | row for row in _others(victim, direction, stratum, config))


def _ladder(victim: Victim, direction: str, stratum: Stratum, config: Mapping[str, Any]) -> Row:
    members = stratum.members
    outcome = victim.outcomes[direction].within(members)
    attacks = _attacks(victim, direction, "ladder", members)
    num_replicas = len(outcome.flips) - 1
    scheme = {**stratum.scheme, "replicas": config["replicas"]} if num_replicas else stratum.scheme
    row = {"search": "ladder", "num_replicas": num_replicas} | _falls(outcome)
    row |= _rates(outcome.flips, outcome.control_flips, stratum._replace(scheme=scheme), config)
    row |= (
        _changeable(victim, attacks, outcome.flips[0] > 0.0, stratum, config)
        | _proven(attacks, outcome.flips[0])
        | _unflagged(victim, direction, "ladder", members)
    )
    row |= _shares(victim, direction, members) | _sized(outcome)
    other = victim.outcomes.get(_other_way(direction))
    if other is not None and members.any():
        row |= _both_ways(row, outcome, other.within(members), stratum.units)
    row["mean_candidates"] = mean_of(outcome.numbers)
    return row | {"mean_control_candidates": mean_of(outcome.control_numbers)}


def _both_ways(row: Row, outcome: Outcome, other: Outcome, units: Units) -> Row:
    """The asymmetry, also among those of the controls."""
    columns = _asymmetry(row, outcome.flips[0] > 0.0, other.flips[0] > 0.0, units)
    if not len(outcome.control_flips):
        return columns
    differences = outcome.control_flips.mean(axis=1) - other.control_flips.mean(axis=1)
    return columns | {"asymmetry_control_p": two_sided(columns["asymmetry"], differences)}


def _falls(outcome: Outcome) -> Row:
    if not outcome.falls.size:
        return {}
    row: Row = {"fall": float(outcome.falls.mean())}
    if not len(outcome.control_falls):
        return row
    beyond, p_value = excess(row["fall"], outcome.control_falls.mean(axis=1))
    return row | {"fall_excess": beyond, "fall_p_value": p_value}


def _sized(outcome: Outcome) -> Row:
    """The excess at equal size."""
    if not outcome.control_flips.size:
        return {}
    controls, sizes = outcome.control_flips.mean(axis=1), outcome.control_sizes.mean(axis=1)
    result = sized_excess(mean_of(outcome.flips[0]), mean_of(outcome.sizes), controls, sizes)
    return {"size_slope": result.slope, "size_excess": result.excess, "size_p_value": result.p_value}


def _rates(values: FloatArray, beside: FloatArray, stratum: Stratum, config: Mapping[str, Any]) -> Row:
    """Of flips along a direction, ``[embeddings, texts]``, beside those along its controls."""
    if not values.shape[1]:
        return {}
    rates = flip_rates(values, beside, stratum.units, level=config["level"])
    resamples = dict(zip(("flip_rate", "excess"), resampled_rates(values, beside, stratum.counts), strict=True))
    row: Row = {"p_value": rates.p_value}
    for name, number in (("flip_rate", rates.rate), ("excess", rates.excess)):
        if number is not None:
            row |= with_ends(name, number.value, number.low, number.high) | _lacking(row, name, number.too_few)
            if not math.isnan(number.low):
                row |= drawn(name, resamples[name], stratum.scheme, stratum.units.num)
    return row


def _lacking(row: Row, name: str, too_few: TooFew | None) -> Row:
    """The status of a row whose number has no interval or p-value, and why, beside what else is missing."""
    if too_few is None:
        return {}
    reasons = [*filter(None, [row.get("reason")]), f"{name}: {too_few.reason}"]
    return {"status": "too_few_units", "reason": "; ".join(reasons)}


def _changeable(
    victim: Victim, attacks: pl.DataFrame, is_flip: BoolArray, stratum: Stratum, config: Mapping[str, Any]
) -> Row:
    """Of the texts that have a word to replace: others cannot flip, whatever the victim does."""
    rows = attacks.filter(pl.col("status") != "no_candidate")["row"]
    able = victim.texts.filter(stratum.members)["row"].is_in(rows.implode()).to_numpy()
    row: Row = {"num_changeable": int(able.sum())}
    if not able.any():
        return row
    outcome = share(is_flip[able], stratum.units.part(able), level=config["level"])
    row |= with_ends("changeable_rate", outcome.value, outcome.low, outcome.high)
    chances = stratum.counts @ able
    if math.isnan(outcome.low) or not chances.all():
        return row
    return row | drawn("changeable_rate", stratum.counts @ is_flip / chances, stratum.scheme, outcome.num_units)


def _attacks(victim: Victim, direction: str, search: str, members: BoolArray) -> pl.DataFrame:
    """Of a search along a direction, on some of the texts."""
    rows = victim.texts.filter(members)["row"]
    return victim.attacks.filter(pl.col("row").is_in(rows.implode()), direction=direction, search=search)


def _proven(attacks: pl.DataFrame, flips: FloatArray) -> Row:
    """How many more texts may flip than are known to, and how many one change flips."""
    if not flips.size:
        return {"num_unproven": 0}
    num_open = attacks.filter(status="not_found").height
    one = attacks.filter(pl.col("status").is_in(FLIPPED), num_changes=1).height
    return {
        "num_unproven": num_open,
        "flip_rate_most": float(flips.mean()) + num_open / flips.size,
        "one_change_rate": one / flips.size,
    }


def _unflagged(victim: Victim, direction: str, search: str, members: BoolArray) -> Row:
    num_texts = int(members.sum())
    flips = _attacks(victim, direction, search, members).filter(pl.col("status").is_in(FLIPPED))
    flagged = victim.substitutions.filter(pl.col("is_flagged"), direction=direction, search=search)["row"].unique()
    return {"unflagged_rate": flips.filter(~pl.col("row").is_in(flagged.implode())).height / max(num_texts, 1)}


def _other_way(direction: str) -> str:
    """Empty without one."""
    start, _, gender = direction.rpartition("_to_")
    return f"{start}_to_{_OTHER[gender]}" if gender in _OTHER else ""


def _asymmetry(row: Row, first: BoolArray, second: BoolArray, units: Units) -> Row:
    """Of what a direction flips, beside the direction to the other gender."""
    result = asymmetry(first, second, units)
    numbers = {"asymmetry": result.difference, "asymmetry_p": result.p_value}
    return numbers | _lacking(row, "asymmetry", result.too_few)


def _shares(victim: Victim, direction: str, members: BoolArray) -> Row:
    rows = victim.texts.filter(members)["row"]
    flips = victim.substitutions.filter(
        pl.col("row").is_in(rows.implode()), pl.col("is_flip"), direction=direction, search="ladder"
    ).drop_nulls("shapley")
    values, kinds = flips["shapley"].to_numpy(), flips["kind"].to_numpy()
    return {f"{kind}_share": share_of(values, kinds == kind) for kind in _KINDS}


def _others(victim: Victim, direction: str, stratum: Stratum, config: Mapping[str, Any]) -> Iterator[Row]:
    """The searches beside the ladder, which have no controls."""
    searches = victim.attacks.filter(pl.col("search") != "ladder", direction=direction)["search"].unique().sort()
    other_way = _other_way(direction)
    for search in searches:
        is_flip = _flipped(victim, direction, search, stratum.members)
        row: Row = {"search": search, "num_replicas": 0}
        row |= _rates(is_flip[None].astype(np.float64), np.zeros((0, is_flip.size)), stratum, config)
        attacks = _attacks(victim, direction, search, stratum.members)
        row |= _changeable(victim, attacks, is_flip, stratum, config)
        if other_way in config["directions"] and is_flip.size:
            row |= _asymmetry(row, is_flip, _flipped(victim, other_way, search, stratum.members), stratum.units)
        yield row | _unflagged(victim, direction, search, stratum.members)


def _flipped(victim: Victim, direction: str, search: str, members: BoolArray) -> BoolArray:
    """``[texts]``, which ones a search flips."""
    rows = _attacks(victim, direction, search, members).filter(pl.col("status").is_in(FLIPPED))["row"]
    flips: BoolArray = victim.texts.filter(members)["row"].is_in(rows.implode()).to_numpy()
    return flips

"""Rows of the table of versions: which slices got worse from one version of a model to the next."""

import numpy as np

from tiltmeter.jobs.classifiers.errors.material import Material
from tiltmeter.jobs.classifiers.errors.slicing.rows import name_of
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.classifiers.errors.slices.confirmation import change_of
from tiltmeter.operators.classifiers.errors.slices.group_flips import MIN_GROUPS, MIN_WITHIN
from tiltmeter.operators.classifiers.errors.slices.leading import rows_with
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicates
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.classifiers.errors.slices.versions import leading_changes, worse_p
from tiltmeter.operators.statistics.units import TooFew

_EVERYONE = "all texts"


def version_rows(material: Material, made: Predicates, config: SliceConfig, seed: int, level: float) -> list[Row]:
    """All texts, and every slice of at most two predicates: those that lead first, then those that got worse.

    Args:
        made: predicates of what both versions share.
    """
    before, after, units = material.errors_of("previous"), material.errors, material.units
    slices, p_values = worse_p(made.members, made.predicates, before, after, units, config, seed)
    first = leading_changes(made.members, slices, p_values, before, after, units, config.alpha)
    moved = before != after
    rows: list[Row] = []
    for place, slice_ in enumerate([(), *slices]):
        inside = rows_with(made.members, slice_)
        change = change_of(inside, before, after, units, level)
        movers = units.part(inside & moved).num
        rows.append(
            {
                "slice": name_of(made, slice_) or _EVERYONE,
                "predicates": [made.predicates[number].name for number in slice_],
                "size": int(inside.sum()),
                "num_moved": movers,
                "before": change.before,
                "after": change.after,
                "change": change.change.value,
                "change_low": change.change.low,
                "change_high": change.change.high,
                "p_value": float(p_values[place - 1]) if slice_ else None,
                "leading": first.index(place - 1) + 1 if place - 1 in first else None,
            }
            | (_status(movers, units.part(moved).num, units.kind) if slice_ else OK)
        )
    return [rows[0], *sorted(rows[1:], key=_order)]


def _status(num: int, num_in_all: int, kind: str) -> Row:
    if num_in_all < MIN_GROUPS:
        return failed("too_few_units", TooFew(num_in_all, MIN_GROUPS, f"{kind} that moved").reason)
    if num < MIN_WITHIN:
        return failed("too_few_units", TooFew(num, MIN_WITHIN, f"{kind} of the slice that moved").reason)
    return OK


def _order(row: Row) -> tuple[float, float, float, str]:
    return row["leading"] or np.inf, float(np.nan_to_num(row["p_value"], nan=2.0)), -row["change"], row["slice"]

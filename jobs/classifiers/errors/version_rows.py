"""Rows of the table of versions: which slices got worse from one version of a model to the next."""

import numpy as np

from tiltmeter.jobs.classifiers.errors.material import Material
from tiltmeter.jobs.classifiers.errors.slice_rows import name_of
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.classifiers.errors.slices.confirmation import changes_of
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicates
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.classifiers.errors.slices.versions import leading_changes, worse_p

_EVERYONE = "all texts"


def version_rows(material: Material, made: Predicates, config: SliceConfig, seed: int, level: float) -> list[Row]:
    """All texts, and every slice of at most two predicates: those that lead first, then those that got worse."""
    before, after = material.errors_of("previous"), material.errors
    conjunctions, p_values = worse_p(made.members, made.predicates, before, after, config, seed)
    first = leading_changes(made.members, conjunctions, p_values, before, after, config.alpha)
    members = np.array([made.members[list(slice_)].all(axis=0) for slice_ in conjunctions]).reshape(-1, len(before))
    changes = changes_of(np.concatenate([np.ones((1, len(before)), dtype=bool), members]), before, after, level)
    sizes = [len(before), *members.sum(axis=1).tolist()]
    slices = [(), *conjunctions]
    rows: list[Row] = [
        {
            "slice": name_of(made, slice_) or _EVERYONE,
            "predicates": [made.predicates[number].name for number in slice_],
            "size": int(sizes[place]),
            "before": float(changes.before[place]),
            "after": float(changes.after[place]),
            "change": float(changes.change[place]),
            "change_low": float(changes.low[place]),
            "change_high": float(changes.high[place]),
            "p_value": float(p_values[place - 1]) if slice_ else None,
            "leading": first.index(place - 1) + 1 if place - 1 in first else None,
        }
        for place, slice_ in enumerate(slices)
    ]
    return [rows[0], *sorted(rows[1:], key=_order)]


def _order(row: Row) -> tuple[float, float, float, str]:
    return row["leading"] or np.inf, float(np.nan_to_num(row["p_value"], nan=2.0)), -row["change"], row["slice"]

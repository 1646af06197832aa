"""Rows of the table of versions: which slices got worse from one version of a model to the next."""

from typing import Any

import numpy as np

from tiltmeter.jobs.classifiers.errors.material import Material
from tiltmeter.jobs.classifiers.errors.slice_rows import name_of
from tiltmeter.operators.classifiers.errors.slices.confirmation import changes_of
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicates
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig
from tiltmeter.operators.classifiers.errors.slices.versions import worse_p

_EVERYONE = "all texts"


def version_rows(
    material: Material, made: Predicates, config: SliceConfig, seed: int, level: float
) -> list[dict[str, Any]]:
    """All texts, and every slice of at most two predicates, those that got worse first."""
    before, after = material.errors_of("previous"), material.errors
    conjunctions, p_values = worse_p(made.members, made.predicates, before, after, config, seed)
    members = np.array([made.members[list(slice_)].all(axis=0) for slice_ in conjunctions]).reshape(-1, len(before))
    changes = changes_of(np.concatenate([np.ones((1, len(before)), dtype=bool), members]), before, after, level)
    sizes = [len(before), *members.sum(axis=1).tolist()]
    names = [_EVERYONE, *(name_of(made, slice_) for slice_ in conjunctions)]
    rows = [
        {
            "slice": name,
            "predicates": [] if place == 0 else [made.predicates[number].name for number in conjunctions[place - 1]],
            "size": int(sizes[place]),
            "before": float(changes.before[place]),
            "after": float(changes.after[place]),
            "change": float(changes.change[place]),
            "change_low": float(changes.low[place]),
            "change_high": float(changes.high[place]),
            "p_value": float("nan") if place == 0 else float(p_values[place - 1]),
        }
        for place, name in enumerate(names)
    ]
    return [
        rows[0],
        *sorted(rows[1:], key=lambda row: (np.nan_to_num(row["p_value"], nan=2.0), -row["change"], row["slice"])),
    ]

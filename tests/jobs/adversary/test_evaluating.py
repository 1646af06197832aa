"""What the last stage makes of flips that are made up: by groups of texts, and over victims and directions."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.calibration.adversary_worlds import Held
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.evaluating.stage import evaluate
from tiltmeter.jobs.adversary.vectors import WholeVectors

GROUPS = np.arange(40) // 5
CONTROLS = np.array([[row % 4 == control for row in range(40)] for control in range(3)])
FEMALE, MALE = "pair_to_female", "pair_to_male"


def summary_of(flips, groups=GROUPS):
    """Rows of all texts by victim and direction.

    Args:
        flips: ``[texts]`` by victim and direction; along every control, a quarter of the texts.
    """
    held, victims = Held(), sorted({victim for victim, _ in flips})
    texts = [
        {
            "row": row,
            "victim": victim,
            "text": f"text {row}",
            "predicted": "a",
            "has_female": row < 20,
            "has_male": False,
        }
        | {"group": None if groups is None else f"by {groups[row]}"}
        for victim in victims
        for row in range(40)
    ]
    outcomes = [
        {"row": row, "victim": victim, "direction": direction, "control": control, "replica": 0, "is_flip": bool(flip)}
        | {"fall": float(flip), "num_candidates": 1, "log10_size": 0.3}
        for (victim, direction), along in flips.items()
        for control, values in enumerate([along, *CONTROLS], start=-1)
        for row, flip in enumerate(values)
    ]
    attacks = [
        {"row": row, "victim": victim, "direction": direction, "search": search, "num_changes": 1}
        | {"status": "flipped" if flip else "robust_proven" if row % 2 else "no_candidate"}
        for (victim, direction), along in flips.items()
        for row, flip in enumerate(along)
        for search in ("ladder", "greedy")
    ]
    made = {"texts": texts, "attacks": attacks, "substitutions": [], "outcomes": outcomes}
    schemas = tables.TABLES | {"outcomes": tables.OUTCOMES}
    refs = {name: [held.put(pa.Table.from_pylist(rows, schemas[name]), name)] for name, rows in made.items()}
    config = SimpleNamespace(
        job=SimpleNamespace(level=0.95, num_resamples=9),
        direction=SimpleNamespace(kinds=["pair"], both=True),
        controls=SimpleNamespace(number=3),
        seed=0,
    )
    [found] = evaluate(held, config, refs, [], WholeVectors([None], {}))["summary"]
    rows = [row for row in held.read(found).to_pylist() if row["stratum"] == "all"]
    return {(row["victim"], row["direction"], row["search"]): row for row in rows}


ONE_WAY = {("first", FEMALE): GROUPS < 7, ("first", MALE): GROUPS == 7}
SURER = {("second", FEMALE): GROUPS < 8, ("second", MALE): GROUPS > 8}


@pytest.mark.parametrize("search", ["ladder", "greedy"])
def test_sides_are_told_by_groups_and_corrected_over_victims_in_one_family(search):
    """2 (1 + 8) / 2^8 and 2 / 2^8, the larger as it is and the smaller twice; two ways of a victim are one test."""
    found = summary_of(ONE_WAY | SURER)
    for direction in (FEMALE, MALE):
        first, second = (found[victim, direction, search] for victim in ("first", "second"))
        assert (first["asymmetry_p"], second["asymmetry_p"]) == pytest.approx((18 / 256, 2 / 256))
        assert (first["asymmetry_p_adjusted"], second["asymmetry_p_adjusted"]) == pytest.approx((18 / 256, 4 / 256))
    assert found["first", FEMALE, search]["asymmetry"] == pytest.approx(30 / 40)
    assert found["first", MALE, search]["asymmetry"] == pytest.approx(-30 / 40)


def test_texts_that_are_in_no_group_are_alone():
    assert summary_of(ONE_WAY, groups=None)["first", FEMALE, "ladder"]["asymmetry_p"] < 1e-5


def test_too_few_groups_have_no_test_and_the_row_says_why():
    few = {("first", FEMALE): GROUPS < 5, ("first", MALE): GROUPS > 8}
    row = summary_of(few)["first", FEMALE, "ladder"]
    assert (row["asymmetry_p"], row["asymmetry_p_adjusted"], row["status"]) == (None, None, "too_few_units")
    assert row["reason"] == (
        'asymmetry: there is too little to go by: 5 of the unit "group that differs", and 6 are needed'
    )
    assert row["asymmetry_control_p"] == 1 / 4


def test_a_group_that_is_alone_has_no_interval_and_the_row_says_why():
    row = summary_of(ONE_WAY, groups=np.zeros(40, dtype=int))["first", FEMALE, "ladder"]
    assert (row["flip_rate_low"], row["flip_rate_high"], row["status"]) == (None, None, "too_few_units")
    assert 'flip_rate: there is too little to go by: 1 of the unit "group", and 2 are needed' in row["reason"]

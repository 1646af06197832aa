"""Every published p-value and end of an interval is in the calibration suite, with a power beside each size."""

import json
from itertools import groupby

import pytest

from benchmarks.calibration import registry, running
from benchmarks.calibration.registry import Claim, Experiment, experiments
from benchmarks.calibration.running import row, verdict_of

ALL = experiments()


def test_every_column_that_is_inference_has_a_claim_or_a_reason_and_these_are_of_columns_that_are_there():
    assert registry.unclaimed() == []
    assert registry.unknown() == []


def test_every_p_value_whose_size_is_claimed_has_a_power_beside_it():
    """A p of 1 passes every test of size."""
    claims = {
        kind: {(one.job, claim.table, claim.columns) for one in ALL for claim in one.claims if claim.kind == kind}
        for kind in ("size", "power")
    }
    sizes, powers = ({(*key, name) for *key, names in claims[kind] for name in names} for kind in claims)
    assert sizes - powers == set()


def test_names_tell_experiments_and_their_claims_apart():
    names = [one.name for one in ALL]
    assert len(set(names)) == len(names)
    for one in ALL:
        assert len({claim.name for claim in one.claims}) == len(one.claims), one.name


@pytest.mark.parametrize("experiment", ALL, ids=lambda one: one.name)
def test_experiments_are_as_large_as_their_bounds_need(experiment):
    assert experiment.repetitions >= 200
    for claim in experiment.claims:
        assert 0.0 < claim.limit(experiment.repetitions) < 1.0
        assert claim.unit
        assert claim.truth


@pytest.mark.long
@pytest.mark.parametrize("name", [next(group).name for _, group in groupby(ALL, lambda one: one.job)])
def test_a_repetition_reports_each_claim_and_is_told_by_its_number(name):
    experiment = next(one for one in ALL if one.name == name)
    first, again = experiment.run(3), experiment.run(3)
    assert {claim.name for claim in experiment.claims} == set(first)
    assert first == pytest.approx(again, nan_ok=True)


def test_kept_figures_are_of_experiments_that_are_there_and_hold_what_is_claimed():
    claims = {(one.name, claim.name): claim for one in ALL for claim in one.claims}
    kept = running.kept()
    assert kept
    for figure in kept:
        assert (figure.experiment, figure.claim) in claims
    missed = [figure for figure in kept if not verdict_of(claims[figure.experiment, figure.claim], figure)]
    assert missed == []


SIZE = Claim("p", "tests", ("p",), "size", "text", "nothing differs")


@pytest.mark.parametrize(
    ("claim", "repetitions", "share", "holds"),
    [
        (SIZE, 1000, 0.08, True),
        (SIZE, 1000, 0.081, False),
        (SIZE, 999, 0.098, True),
        (SIZE, 250, 0.121, False),
        (Claim("p", "t", ("p",), "size", "text", "skewed", documented=True), 1000, 0.105, True),
        (Claim("i", "t", ("low",), "coverage", "text", "held"), 2000, 0.929, False),
        (Claim("p", "t", ("p",), "power", "text", "found", bound=0.5), 200, 0.49, False),
    ],
)
def test_bounds(claim, repetitions, share, holds):
    assert claim.holds(share, repetitions) == holds


def test_what_an_experiment_gives_is_counted(tmp_path, monkeypatch):
    experiment = Experiment(
        "compare", "made up", 200, lambda number: {"p": [0.04, 0.5, None, 0.05][number % 4]}, (SIZE,), "operator"
    )
    [figure] = running._figures(experiment, [dict(experiment.run(number)) for number in range(8)], 1.0, "abc")
    assert (figure.share, figure.repetitions, figure.missing) == (0.6667, 6, 2)
    assert "**missed**" in row(experiment, SIZE, figure)
    assert not verdict_of(SIZE, figure)
    monkeypatch.setattr(running, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(running, "experiments", lambda: [experiment])
    running.keep([figure])
    running.keep([figure])
    assert len(json.loads((tmp_path / "figures.json").read_text())) == 1
    assert running.kept() == [figure]

"""A plan held against the run that it is of: units exactly, and a store that stays as it is."""

import pytest

from tests.fixtures.plans import HERE, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.storage.store.runs import read_run_table


@pytest.fixture(scope="module")
def plan(configured, words, outcome_of):
    """Plans a bootstrap of so many replicas."""

    def of(num_replicas, *more):
        config = configured("job=plan", "job.of=bootstrap", *HERE, *words(num_replicas, *more))
        return outcome_of(execute(config))

    return of


@pytest.fixture(scope="module")
def first(folder, plan, words, run_job):
    """A plan before anything was done, and the run."""
    planned = plan(3)
    assert not (folder / "store").exists()
    return planned.rows("plan"), run_job("job=bootstrap", *words(3))


def test_before_a_first_run_it_goes_as_far_as_it_can_and_by_the_model(first):
    rows, run = first
    by_stage = {row["stage"]: row for row in rows}
    assert list(by_stage) == [*units(run), "start and report"]
    assert (by_stage["read"]["num_done"], by_stage["read"]["num_missing"], by_stage["read"]["status"]) == (0, 1, "ok")
    others = [row for row in rows if row["stage"] not in ("read", "start and report")]
    assert {row["status"] for row in others} == {"estimated"}
    assert {row["basis"] for row in rows} == {"docs/scale.md"}
    assert all(row["reason"].startswith("could not be counted after read: ") for row in others)
    assert by_stage["train"]["num_missing"] == 4


def test_after_it_nothing_is_missing(first, plan, capsys):
    again = plan(3)
    assert planned_units(again) == {name: (1, 0) if name != "train" else (4, 0) for name in units(first[1])}
    assert {row["status"] for row in again.rows("plan")} == {"ok"}
    assert "0 of 12 units are missing: all are in the store, and no worker is started." in capsys.readouterr().out


def test_more_replicas_miss_exactly_what_their_run_does_and_the_store_stays_as_it_is(
    first, folder, plan, words, run_here
):
    before = contents(folder / "store")
    planned = plan(5)
    assert contents(folder / "store") == before
    assert planned.path == folder / "run5.plan"
    expected = planned_units(planned)
    assert (expected["co-occurrence"], expected["merge"], expected["train"]) == ((0, 1), (0, 1), (4, 2))
    statuses = {row["stage"]: row["status"] for row in planned.rows("plan")}
    assert (statuses["co-occurrence"], statuses["train"]) == ("ok", "expected")
    assert units(run_here("job=bootstrap", *words(5))) == expected


def test_fewer_replicas_and_another_seed(first, plan, words, run_here):
    fewer = plan(2)
    assert planned_units(fewer)["train"] == (3, 0)
    assert units(run_here("job=bootstrap", *words(2))) == planned_units(fewer)
    # Draws of another seed are others: nothing is taken to come out as before.
    reseeded = {row["stage"]: row for row in plan(3, "seed=1").rows("plan")}
    assert (reseeded["vocabulary"]["num_missing"], reseeded["co-occurrence"]["num_missing"]) == (0, 1)
    assert (reseeded["train"]["num_missing"], reseeded["train"]["status"]) == (4, "estimated")


def test_seconds_and_bytes_are_those_of_the_runs_before(first, plan):
    by_stage = {row["stage"]: row for row in plan(3, "seed=1").rows("plan")}
    train = first[1].stage("train")
    assert by_stage["train"]["worker_seconds"] > 0
    assert by_stage["train"]["stored_bytes"] == pytest.approx(train["num_bytes"], rel=0.2)
    assert by_stage["train"]["basis"] == "earlier runs in this store"
    assert by_stage["train"]["memory_bytes"] >= 1_500_000_000


def test_a_plan_leaves_no_run_in_the_register_and_shows_ratios_before_there_are_draws(first, plan, folder):
    outcome = plan(3)
    assert not list((folder / "store/registry").glob("plan"))
    assert outcome.record["stages"] == []
    rows = read_run_table(outcome.path, "plan_differences").to_pylist()
    assert {row["basis"] for row in rows} == {"one standard deviation"}
    assert (outcome.path / "report.html").exists()

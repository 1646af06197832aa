"""A plan compared with the run that it is of: units exactly, as far as they are counted, in a store that stays."""

import pytest

from tests.fixtures.plans import HERE, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.upkeep.plan.hours import LATER
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


def test_before_a_first_run_the_first_stage_is_counted_and_the_rest_taken_from_rates(first):
    read, later = first[0]
    assert (read["stage"], read["num_done"], read["num_missing"], read["status"]) == ("read", 0, 1, "ok")
    assert (later["stage"], later["num_done"], later["num_missing"], later["status"]) == (LATER, None, None, "unknown")
    assert {read["basis"], later["basis"]} == {"rates for a first run"}
    unmade = "could not be counted: they read what read has yet to make"
    assert later["reason"] == f"{unmade}; seconds up to training alone, as if none of them was done"


def test_after_it_nothing_is_missing(first, plan, capsys):
    again = plan(3)
    assert planned_units(again) == {name: (1, 0) if name != "train" else (4, 0) for name in units(first[1])}
    assert {row["status"] for row in again.rows("plan")} == {"ok"}
    assert "0 of 12 units are missing: all are in the store, and no worker is started." in capsys.readouterr().out


def test_what_is_missing_is_counted_up_to_what_reads_it_and_the_store_stays_as_it_is(
    first, folder, plan, words, run_here, capsys
):
    before = contents(folder / "store")
    planned = plan(5)
    assert contents(folder / "store") == before
    assert planned.path == folder / "run5.plan"
    assert "; 1 of 7 units is missing, besides those that could not be counted." in capsys.readouterr().out
    counted = planned_units(planned)
    assert list(counted) == ["read", "inventory", "documents", "tokens", "words", "vocabulary", "co-occurrence", LATER]
    assert counted.pop(LATER) == (None, None)
    # Each unit of a stage that is counted is done by the run or found by it, as the plan says.
    done = units(run_here("job=bootstrap", *words(5)))
    assert {name: done[name] for name in counted} == counted
    assert planned_units(plan(5)) == {name: (found + new, 0) for name, (found, new) in done.items()}


def test_seconds_and_bytes_are_those_of_the_runs_before(first, plan):
    run = first[1]
    *_, counted, later = plan(3, "seed=1").rows("plan")
    assert counted["stored_bytes"] == pytest.approx(run.stage("co-occurrence")["num_bytes"], rel=0.2)
    trained = sum(run.stage(name)["num_bytes"] for name in ("merge", "train"))
    assert later["stored_bytes"] == pytest.approx(trained, rel=0.2)
    assert later["worker_seconds"] == float(f"{later['worker_seconds']:.2g}") > 0
    assert {counted["basis"], later["basis"]} == {"earlier runs in this store"}
    assert later["memory_bytes"] >= 1_500_000_000
    assert counted["reason"] == "other settings: seed"


def test_a_plan_leaves_no_run_in_the_register_and_shows_ratios_before_there_are_draws(first, plan, folder):
    outcome = plan(3)
    assert not list((folder / "store/registry").glob("plan"))
    assert outcome.record["stages"] == []
    rows = read_run_table(outcome.path, "plan_differences").to_pylist()
    assert {row["basis"] for row in rows} == {"one standard deviation"}
    assert (outcome.path / "report.html").exists()

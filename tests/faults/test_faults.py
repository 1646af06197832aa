"""Whatever happens to a run, it or the next one ends with the tables of an undisturbed run, and does little twice."""

import re
import time
from dataclasses import astuple, replace

import pytest

from tests.faults.account import TWO_RUNS, Row
from tests.faults.faults import FAULTS, halve_row, kill_driver, kill_worker, remove_node, truncate_file

pytestmark = pytest.mark.timeout(3600)  # with the cluster and the undisturbed run, for which the first test waits

MOST_STARTS = 4

CASES = [(name, number) for name, fault in FAULTS.items() for number in range(fault.times)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_fault_changes_no_table(name, number, scene, undisturbed, record_property):
    fault, total = FAULTS[name], len(undisturbed.rows())
    it = scene(f"{name} {number}", fault.store, fault.cluster, program=fault.program)
    after = 0 if fault.at_start else it.rng.randrange(total - 5)
    it.start()
    it.wait_for(after)
    in_flight, before = len(it.machines.busy_workers()), it.rows()
    fault.strike(it)
    run_to_its_end(it, fault, undisturbed)
    again = [path for path, written in before.items() if it.rows()[path] != written]
    how = "survived" if len(it.statuses) == 1 else f"started {len(it.statuses)} times"
    row = Row(name, f"after {after} of {total} units", how, len(before), in_flight, len(again), "identical")
    record_property("fault", list(astuple(row)))
    check_account(it, fault, len(before), len(again), total)


@pytest.mark.slow
def test_faults_one_upon_the_other_change_no_table(scene, undisturbed):
    it, total = scene("one upon the other"), len(undisturbed.rows())
    it.start()
    it.wait_for(it.rng.randint(1, 5))
    kill_worker(it)
    it.wait_for(it.rng.randint(6, 15))
    kill_driver(it)
    it.end()
    before = it.rows()
    truncate_file(it)
    halve_row(it)
    it.start()
    # The driver may have done more than that before the signal came.
    it.wait_for(it.rng.randint(len(before), max(len(before), total - 5)))
    remove_node(it)
    assert it.end() == 0, it.output()
    assert it.tables() == undisturbed.tables()
    assert it.record()["units"]["reused"] >= len(before) - 2
    assert sum(it.rows()[path] != written for path, written in before.items()) <= 2
    assert not it.leftovers()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "kind"), [(0, "disk"), (1, "disk"), (2, "disk"), (3, "bucket")])
def test_two_runs_at_once_change_no_table(number, kind, scene, undisturbed, record_property):
    one = scene(f"two runs {number}", kind)
    other = replace(one, name="other", statuses=[])
    one.start()
    time.sleep(one.rng.random())
    other.start()
    one.wait_for(1)
    assert other.process.poll() is None
    ends = [it.end() for it in (one, other)]
    assert ends == [0, 0], one.output() + other.output()
    assert one.tables() == other.tables() == undisturbed.tables()
    num_done, total = sum(it.record()["units"]["done"] for it in (one, other)), len(undisturbed.rows())
    assert len(one.rows()) == total
    assert not one.leftovers()
    row = Row(TWO_RUNS, "from the start", "survived", 0, 4, num_done - total, "identical")
    record_property("fault", list(astuple(row)))
    assert num_done - total < total / 3


def run_to_its_end(it, fault, undisturbed):
    """Start it again as long as it does not succeed; what succeeds must have the right tables."""
    while it.end() or (fault.again and len(it.statuses) == 1):
        if it.statuses[-1]:
            assert fault.says is not None, it.output()
            assert re.search(fault.says, it.output(), re.DOTALL), it.output()
        else:
            assert it.tables() == undisturbed.tables(), it.output()
        assert len(it.statuses) < MOST_STARTS, it.output()
        fault.remedy(it)
        it.machines.repair()
        it.start()
    assert it.tables() == undisturbed.tables()


def check_account(it, fault, num_before, num_again, total):
    units = it.record()["units"]
    assert len(it.rows()) == total == units["done"] + units["reused"]
    assert num_again <= fault.num_damaged
    assert units["failed"] == 0
    assert not it.leftovers()
    if len(it.statuses) == 1:
        # A worker that dies between a unit's row and its report leaves a unit that the next one finds.
        assert units["reused"] <= fault.num_deaths
        assert sum(stage["num_worker_deaths"] for stage in it.record()["stages"]) <= fault.num_deaths
    else:
        assert units["reused"] >= num_before - fault.num_damaged

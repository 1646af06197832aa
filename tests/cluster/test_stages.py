"""What a stage takes from the store, deals, keeps and records; its units are done in this process, without Ray."""

import dataclasses
import io

import pyarrow as pa
import pytest
from rich.console import Console

from tests.fixtures.pools import PoolHere
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, Stage, StageRecord, UnitsFailed
from tiltmeter.cluster.work import Report, each
from tiltmeter.storage.store.ledger import Finished, Store, Unit
from tiltmeter.storage.store.registry import Registry

REPORTS = [("a 1", 3.0), ("a 2", 1.0), ("a 1", 0.5), ("", 0.0)]
"""Workers and the seconds that they were at a unit; the last died with its report."""


@pytest.mark.parametrize(("num_workers", "busy", "least"), [(2, 0.45, 0.2), (3, 0.3, 0.0)])
def test_a_stage_says_how_busy_its_workers_were(num_workers, busy, least):
    record = StageRecord("train", num_workers=num_workers)
    for worker, seconds in REPORTS:
        record.add(Report(Finished("a/1", "a", 7, {}), seconds, 5, worker))
    record.end(5.0)
    assert (record.num_done, record.num_bytes, record.peak_worker_memory_bytes) == (4, 28, 5)
    assert (record.seconds, record.worker_seconds) == (5.0, 4.5)
    assert (record.busy_share, record.least_busy_share) == pytest.approx((busy, least))
    assert "a 1" not in str(dataclasses.asdict(record)), "run.json has no worker by name"
    idle = StageRecord("train", num_reused=3)
    idle.end(0.1)
    assert (idle.num_workers, idle.busy_share, idle.least_busy_share) == (0, None, None)


def square(_store, unit):
    if unit.config < 0:
        raise ValueError(f"{unit.config} is negative")
    yield "square", pa.table({"n": [unit.config**2]})
    if unit.config % 2:
        yield "draws", pa.table({"n": [unit.config]})


def units(*numbers):
    return [Unit("square/1", f"number {n}", n) for n in numbers]


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path))


@pytest.fixture
def runner(store):
    return Runner(store, PoolHere(store), Display(Console(file=io.StringIO())))


def ran(runner, work=square, batch_size=1, on_gpu=False, **groups):
    """The numbers of each group that a stage gives."""
    finished = runner.run(Stage("square", each(work), groups, batch_size, on_gpu))
    return {
        group: [runner.store.read(done.tables["square"])["n"][0].as_py() for done in units]
        for group, units in finished.items()
    }


def counts(record):
    return record.num_done, record.num_reused, record.num_failed


@pytest.mark.long
def test_units_come_in_their_order_and_those_of_several_groups_are_done_once(runner):
    assert ran(runner, a=units(5, 1, 3), b=units(9, 3, 2)) == {"a": [25, 1, 9], "b": [81, 9, 4]}
    assert sorted(runner.pool.dealt) == [1, 2, 3, 5, 9]
    assert ran(runner, b=units(2, 4, 5)) == {"b": [4, 16, 25]}
    assert runner.pool.dealt[5:] == [4]
    assert [*map(counts, runner.records)] == [(5, 0, 0), (1, 2, 0)]


@pytest.mark.long
def test_every_unit_of_every_group_and_stage_is_in_the_register_whether_done_before_or_not(runner):
    registry = Registry(runner.store)
    ran(runner, a=units(1))
    runner.entry = registry.enter("survey", "nightly", run_dir="", settings={})
    ran(runner, a=units(1, 2), b=units(3, 2))
    ran(runner, a=units(4))
    assert registry.units(runner.entry.run) == {unit.place for unit in units(1, 2, 3, 4)}


def test_the_later_of_two_runs_on_the_same_begins_at_the_end(store):
    registry = Registry(store)
    orders = []
    for _ in range(2):
        entry = registry.enter("survey", "nightly", run_dir="", settings={})
        runner = Runner(store, PoolHere(store), Display(Console(file=io.StringIO())), entry)
        ran(runner, a=units(*range(len(orders) * 9, len(orders) * 9 + 3)))
        orders.append(runner.pool.dealt)
    assert orders == [[0, 1, 2], [11, 10, 9]]


def test_draws_of_the_units_of_all_stages_are_kept(runner):
    ran(runner, a=units(1, 2))
    ran(runner, a=units(3), b=units(5, 4))
    assert {*runner.draws} == {unit.place for unit in units(1, 3, 5)}


def test_a_group_with_a_failure_leaves_the_others_whole(runner):
    stage = Stage("square", each(square), {"a": units(0, -1, 1), "b": units(3), "c": units(-7)})
    assert {group: len(done) for group, done in runner.run_whole(stage).items()} == {"b": 1}
    assert counts(runner.records[0]) == (3, 0, 2)
    assert {group: [str(failure.unit.config) for failure in failed] for group, failed in runner.failures.items()} == {
        "a": ["-1"],
        "b": [],
        "c": ["-7"],
    }
    assert [*runner.run_whole(Stage("more", each(square), {"a": units(8), "b": units(9)}))] == ["b"]
    with pytest.raises(UnitsFailed, match=r"2 units failed:\n  number -1: -1 is negative\n  number -7"):
        runner.run_whole(Stage("more", each(square), {"a": units(8), "c": units(9)}))


def do_the_next(store, unit):
    """As another run would that is at work on the same."""
    for after in units(unit.config + 1):
        store.commit(after, square(store, after))
    yield from square(store, unit)


def test_what_another_run_finishes_meanwhile_is_not_done_again(runner):
    assert ran(runner, do_the_next, a=units(0, 1, 4, 5)) == {"a": [0, 1, 16, 25]}
    assert counts(runner.records[0]) == (2, 2, 0)


@pytest.mark.parametrize(("on_gpu", "num_workers"), [(False, 3), (True, 2)])
def test_a_stage_on_gpus_has_as_many_workers_as_there_are(runner, on_gpu, num_workers):
    ran(runner, on_gpu=on_gpu, a=units(0))
    assert runner.records[0].num_workers == num_workers

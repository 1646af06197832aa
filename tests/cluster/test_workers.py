"""Units on real Ray actors: failures, deaths, reuse. Work functions are at module level, as Ray needs them."""

import gc
import io
import os
import signal
import sys
import weakref
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
import ray
from rich.console import Console

from tiltmeter.cluster import workers
from tiltmeter.cluster.capacity import Room
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.scheduling import Queue
from tiltmeter.cluster.stages import Runner, Stage, UnitsFailed
from tiltmeter.cluster.work import Failure, Heartbeat, WorkerDied, each
from tiltmeter.cluster.workers import Pool, _unit_lost
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.partial_files import temporary_path


def square(_store, unit):
    if unit.config["n"] in unit.config.get("bad", []):
        raise ValueError(f"{unit.config['n']} is bad")
    yield "square", pa.table({"n": [unit.config["n"] ** 2]})


def die_once(store, unit):
    """Kills its own process the first time."""
    died = Path(store.path, f"died-{unit.config['n']}")
    if unit.config["n"] in (1, 4) and not died.exists():
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    yield from square(store, unit)


def die_at_2(store, unit):
    if unit.config["n"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from square(store, unit)


def die_while_writing(store, unit):
    Path(temporary_path("", store._lease_in("units"))).write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
    yield from square(store, unit)


def cpus(_store, unit):
    """How many CPUs its worker holds."""
    yield "square", pa.table({"n": [int(ray.get_runtime_context().get_assigned_resources()["CPU"])]})


def threads(_store, unit, num_threads=1):
    yield "square", pa.table({"n": [num_threads]})


def units(numbers, **config):
    return [Unit("square/1", f"number {n}", {"n": n} | config) for n in numbers]


@pytest.fixture
def runner(tmp_path, lasting_workers):
    store = Store(str(tmp_path))
    console = Console(file=io.StringIO())
    pool = lasting_workers(store, max_retries=2)
    with pool.started(2), Display(console) as display:
        yield Runner(store, pool, display)


def stage(work, units, batch_size=1):
    return Stage("square", each(work), {"all": units}, batch_size)


def numbers(runner, finished):
    return [runner.store.read(done.tables["square"])["n"][0].as_py() for done in finished]


@pytest.mark.parametrize(("num_units", "num_threads"), [(1, 4), (2, 2), (4, 1)])
def test_a_stage_of_few_units_has_workers_of_several_cpus(runner, num_units, num_threads):
    runner.pool.num_workers, runner.pool.rooms = 4, [Room(4, 4)]
    for name, work in (("held", lambda _: each(cpus)), ("told", lambda num: each(partial(threads, num_threads=num)))):
        wide = Stage(name, each(square), {"all": units(range(num_units), of=name)}, most_threads=4, on_threads=work)
        assert set(numbers(runner, runner.run(wide)["all"])) == {num_threads}
        assert (runner.records[-1].num_threads, runner.records[-1].num_workers) == (num_threads, 4 // num_threads)
    # The next stage has workers of one CPU again.
    assert set(numbers(runner, runner.run(stage(cpus, units(range(9, 11))))["all"])) == {1}


def test_a_failing_unit_fails_alone_and_is_named(runner):
    finished = runner.run(stage(square, units(range(8), bad=[2]), batch_size=4))["all"]
    assert numbers(runner, finished) == [n**2 for n in range(8) if n != 2]
    with pytest.raises(UnitsFailed, match=r"(?s)1 unit failed.*number 2: ValueError: 2 is bad") as failed:
        runner.check()
    [failure] = failed.value.failures
    assert failure.unit.name == "number 2"
    assert 'raise ValueError(f"{unit.config' in failure.traceback
    record = runner.records[0]
    assert (record.num_done, record.num_failed) == (7, 1)


def test_a_pool_renews_its_lease_and_takes_what_killed_workers_have_half_written_with_it(tmp_path, lasting_workers):
    pool = lasting_workers(Store(str(tmp_path)), max_retries=1)
    with pool.started(1):
        leases = [*tmp_path.glob("*/.leases/*")]
        for lease in leases:
            os.utime(lease, (0, 0))
        outcomes = list(pool.run(each(die_while_writing), Queue([units([1])])))
        assert [type(outcome) for outcome in outcomes if not isinstance(outcome, Heartbeat)] == [WorkerDied, Failure]
        assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
        assert len(leases) == 3
        assert all(lease.stat().st_mtime for lease in leases)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_killed_worker_is_replaced_and_its_units_tried_again(runner):
    finished = runner.run(stage(die_once, units(range(6)), batch_size=3))["all"]
    assert numbers(runner, finished) == [n**2 for n in range(6)]
    assert sorted(path.name for path in Path(runner.store.path).glob("died-*")) == ["died-1", "died-4"]
    assert runner.records[0].num_worker_deaths == 2


def test_a_unit_that_kills_every_worker_fails_alone_after_its_retries(runner):
    runner.run(stage(die_at_2, units(range(5)), batch_size=5))
    with pytest.raises(UnitsFailed, match=r"number 2: its worker died 3 times \(raise cluster.max_retries"):
        runner.check()
    record = runner.records[0]
    assert (record.num_done, record.num_failed, record.num_worker_deaths) == (4, 1, 2)


class _DiesAsItStarts:
    def __init__(self, *_):
        os._exit(1)

    def ready(self):
        """Never gets here."""


def test_workers_that_die_as_they_start_are_given_up(ray_cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "_Worker", _DiesAsItStarts)
    pool = Pool(Store(str(tmp_path)), max_retries=0)
    with pool.started(1):
        outcomes = [
            outcome for outcome in pool.run(each(square), Queue([units([1, 2])])) if isinstance(outcome, Failure)
        ]
    assert [outcome.unit.config for outcome in outcomes] == [unit.config for unit in units([1, 2])]
    assert outcomes[0].error.startswith("2 workers died as they started (raise cluster.max_retries, or give it more")


def test_what_ray_tells_of_other_processes_is_left_out():
    error = ray.exceptions.OutOfMemoryError(
        "Memory usage 9B.\nTop 10 memory users: PID\tMEM(GB)\tCOMMAND\n7\t1\tpython secret"
    )
    assert _unit_lost(Unit("a/1", "a", {}), "it died", error).error.endswith("Memory usage 9B.")
    assert "secret" not in _unit_lost(Unit("a/1", "a", {}), "it died", error).traceback


class Circle:
    """It refers to itself, so that only the garbage collector frees it."""

    def __init__(self):
        self.itself = self


@pytest.mark.long
def test_what_a_unit_leaves_is_freed_and_what_it_imports_is_looked_through_once(tmp_path, monkeypatch):
    circles, collected = weakref.WeakSet(), []

    def square_with_circles(store, units):
        held = Circle()
        circles.add(held)
        for unit in units:
            circles.add(Circle())
            if unit.config["n"] == 0:
                monkeypatch.setitem(sys.modules, "imported_by_the_first_unit", sys)
            yield unit, square(store, unit)
            collected.append((len(circles), gc.get_freeze_count()))

    worker = workers._Worker(str(tmp_path))
    for batch in ([0, 1, 2], [3, 4], [5, 6]):
        list(worker.run(square_with_circles, units(batch)))
    kept, frozen = zip(*collected, strict=True)
    # That of the first batch was alive when the modules were frozen: it goes when the second begins.
    assert kept == (1, 1, 1, 1, 1, 1, 1)
    assert 0 < frozen[-1] <= frozen[3]

"""What a store remembers of its runs, and which units go: those that stay can still be found."""

import dataclasses
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.stores import ended_process
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.processes import ABANDONED, Process
from tiltmeter.storage.store.pruning import kept_runs, remove, stored_units
from tiltmeter.storage.store.registry import RegisteredRun, Registry


@pytest.fixture
def registry(store):
    return Registry(store)


def begin(registry, job="survey", series="nightly"):
    return registry.enter(job, series, run_dir="/runs/1", settings={"seed": 0})


def belongs_to(registry, entry, process):
    """Let an entry be that of another process."""
    entry.run = dataclasses.replace(entry.run, process=process)
    entry.end("running", {}, {})
    entry.closing.close()


def test_a_run_is_remembered_with_its_units_and_tables(store, registry):
    entry = begin(registry)
    done = store.commit(Unit("count/1", "", {}), [("numbers", pa.table({"n": [1, 2]}))])
    entry.uses([done.place, done.place])
    entry.uses(["other/1/b", "other/1/a"])
    assert [registry.is_at_work(run) for run in registry.runs()] == [True]
    entry.end("succeeded", {"status": "succeeded"}, {"numbers": [done.tables["numbers"]] * 2})
    [run] = registry.runs("survey", "nightly")
    assert (run.job, run.series, run.status) == ("survey", "nightly", "succeeded")
    assert not registry.is_at_work(run)
    assert (run.run_dir, run.settings, run.record) == ("/runs/1", {"seed": 0}, {"status": "succeeded"})
    assert registry.units(run) == {done.place, "other/1/a", "other/1/b"}
    assert run.read(store, "numbers")["n"].to_pylist() == [1, 2, 1, 2]


def test_the_last_that_succeeded_is_of_the_same_series_and_before_a_moment(registry):
    first, second, failed, other = (begin(registry, series=series) for series in ("a", "a", "a", "b"))
    for entry in (first, second, other):
        entry.end("succeeded", {}, {})
    failed.end("failed", {}, {})
    assert registry.last_succeeded("survey", "a").key == second.run.key
    assert registry.last_succeeded("survey", "a", before=second.run.started).key == first.run.key
    assert registry.last_succeeded("survey", "a", before=failed.run.started).key == second.run.key
    assert registry.last_succeeded("survey", "a", before=first.run.started) is None
    assert registry.last_succeeded("survey", "c") is registry.last_succeeded("compare", "a") is None
    assert [run.key for run in registry.runs()] == [entry.run.key for entry in (other, failed, second, first)]


def test_a_killed_run_is_not_at_work_nor_one_on_a_machine_that_was_not_heard_of_for_long(registry):
    killed, elsewhere = begin(registry), begin(registry)
    belongs_to(registry, killed, ended_process())
    belongs_to(registry, elsewhere, Process("another", 1, 0.0))
    assert [registry.is_at_work(run) for run in registry.runs()] == [True, False]
    long_ago = datetime.now(UTC) - ABANDONED - timedelta(seconds=1)
    assert not registry.is_at_work(dataclasses.replace(elsewhere.run, started=long_ago))


@pytest.mark.parametrize("kind", ["disk", "bucket"])
def test_nothing_is_pruned_while_a_run_is_at_work(kind, store, request):
    """In a bucket it is told by its process."""
    registry = Registry(store if kind == "disk" else Store(request.getfixturevalue("s3_bucket").uri("registry")))
    entry = begin(registry)
    with pytest.raises(StorageError, match=r"can't be removed while runs are at work: survey on .* into /runs/1"):
        registry.pruning().__enter__()
    belongs_to(registry, entry, ended_process())
    with registry.pruning():
        with pytest.raises(StorageError, match=r"units are being removed by process \d+ on .*remove \S*pruning.json"):
            begin(registry)
        assert [run.status for run in registry.runs()] == ["running"]
        with pytest.raises(StorageError, match="units are being removed"):
            registry.pruning().__enter__()
    begin(registry)


def test_a_pruning_that_was_killed_holds_nothing_up(registry, tmp_path):
    begin(registry).end("succeeded", {}, {})
    mark = tmp_path / "store/registry/pruning.json"
    mark.write_text(json.dumps(dataclasses.asdict(ended_process())))
    begin(registry).end("succeeded", {}, {})
    with registry.pruning():
        assert mark.exists()
    assert not mark.exists()
    for content in ("{", "[]", '{"host": 1}'):
        mark.write_text(content)
        with pytest.raises(StorageError, match=r"pruning\.json: is damaged .* is safe if no job=prune is at work"):
            begin(registry)


def test_the_younger_of_two_runs_at_work_on_the_same_knows_it(registry):
    earlier, later, other = begin(registry), begin(registry), begin(registry, series="weekly")
    assert [entry.has_earlier_run() for entry in (earlier, later, other)] == [False, True, False]
    earlier.end("succeeded", {}, {})
    assert not later.has_earlier_run()


@pytest.mark.parametrize("name", ["run.json", "units-000.txt"])
@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"\xff" + content])
def test_a_damaged_entry_is_named_and_that_removing_it_is_safe(registry, tmp_path, name, damage):
    entry = begin(registry)
    entry.uses(["count/1/a", "count/1/b"])
    [file] = tmp_path.rglob(name)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(StorageError, match=rf"{entry.run.key}/{name}: is damaged .* Removing its folder is safe: "):
        [registry.units(run) for run in registry.runs()]


# --- pruning ----------------------------------------------------------------------------------------------------------


def series_of(statuses, series="nightly", job="survey"):
    """Runs of a series, the earliest first."""
    process, start = Process("host", 1, 0.0), datetime(2026, 1, 1, tzinfo=UTC)
    return [
        RegisteredRun(f"{job}/{series}/{day}", process, "/run", start + timedelta(days=day), {}, status)
        for day, status in enumerate(statuses)
    ]


@pytest.mark.parametrize(
    ("statuses", "num_kept", "days"),
    [
        ("sss", 1, {2}),
        ("sss", 2, {1, 2}),
        ("ssff", 1, {1, 2, 3}),
        ("frf", 1, {0, 1, 2}),
        ("fsrsf", 2, {1, 2, 3, 4}),
        ("s", 5, {0}),
    ],
)
def test_the_latest_successes_are_kept_with_every_run_since(statuses, num_kept, days):
    names = {"s": "succeeded", "f": "failed", "r": "running"}
    kept = kept_runs(series_of([names[letter] for letter in statuses]), num_kept)
    assert {run.started.day - 1 for run in kept} == days


@given(st.lists(st.sampled_from(["succeeded", "failed", "running"])), st.integers(1, 4))
def test_a_series_keeps_its_successes_whatever_other_series_do(statuses, num_kept):
    ours = series_of(statuses)
    others = [series_of(["succeeded"] * 9, "other"), series_of(["succeeded"] * 9, job="compare")]
    kept = kept_runs([*others[0], *ours, *others[1]], num_kept)
    of_ours = [run for run in kept if (run.job, run.series) == ("survey", "nightly")]
    assert len(kept) == len(of_ours) + 2 * num_kept
    num_succeeded = sum(run.status == "succeeded" for run in of_ours)
    assert num_succeeded == min(statuses.count("succeeded"), num_kept)
    assert sorted(of_ours, key=lambda run: run.started) == ours[len(ours) - len(of_ours) :]


def test_a_unit_is_listed_with_all_its_files_and_removed_with_them(store):
    assert stored_units(store) == [], "of one that does not exist yet"
    kept, gone = (Unit("count/1", "", {"n": n}) for n in (1, 2))
    for unit in (kept, gone):
        store.commit(unit, [("a", pa.table({"n": [1]})), ("b", pa.table({"n": [2]}))])
    half = Unit("count/1", "", {"n": 3})
    store.save_state(half, {})
    listed = {unit.place: unit for unit in stored_units(store)}
    assert set(listed) == {unit.place for unit in (kept, gone, half)}
    assert [listed[unit.place].is_finished for unit in (kept, gone, half)] == [True, True, False]
    unit = listed[gone.place]
    assert [Path(file).suffix for file in unit.files] == [".json", ".parquet", ".parquet"]
    assert unit.num_bytes == sum(Path(file).stat().st_size for file in unit.files)
    for number, file in enumerate((unit.files[1], unit.files[0], unit.files[2])):
        os.utime(file, (0, 1000 - 9 * number))
    assert {each.place: each for each in stored_units(store)}[gone.place].modified.timestamp() == 1000
    for place in (gone.place, half.place):
        remove(store, listed[place])
    assert store.find(gone) is None
    assert store.find(kept) is not None
    assert store.load_state(half) is None
    assert [unit.place for unit in stored_units(store)] == [kept.place]

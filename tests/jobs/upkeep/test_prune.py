"""What is listed, and what is removed when told to."""

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.processes import Process
from tiltmeter.storage.store.registry import Registry


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


@pytest.fixture
def prune(configured, outcome_of, store, tmp_path):
    def run(*overrides):
        return outcome_of(
            execute(configured("job=prune", f"store={store.root}", f"run_dir={tmp_path}/run", *overrides))
        )

    return run


def finished(store, number):
    unit = Unit("count/1", "", {"n": number})
    open_store(store)
    store.commit(unit, [("numbers", pa.table({"n": [number]}))])
    return unit


def ran(store, units, status="succeeded", series="nightly", job="survey"):
    open_store(store)
    entry = Registry(store).enter(job, series, run_dir="/gone", settings={})
    entry.uses(unit.place for unit in units)
    if status != "running":
        entry.end(status, {}, {})
    return entry


@pytest.mark.once("prune")
def test_units_of_kept_runs_stay_and_the_others_are_listed_until_they_are_removed(store, prune, capsys):
    old, shared, new, of_none = (finished(store, number) for number in range(4))
    half = Unit("count/1", "", {"n": 9})
    store.save_state(half, {})
    entries = [ran(store, *of) for of in (([old, shared],), ([shared, new],), ([shared], "failed"))]
    listed = prune()
    num_runs = {old.place: 0, shared.place: 2, new.place: 1, of_none.place: 0, half.place: 0}
    rows = {row["place"]: row for row in listed.rows("units")}
    assert rows.keys() == num_runs.keys()
    for place, num in num_runs.items():
        files = [path.stat() for path in store.local_path.rglob("*") if path.is_file() and place in str(path)]
        row = rows[place] | {"modified": rows[place]["modified"].timestamp()}
        assert row == {"place": place, "operator": "count/1", "num_bytes": sum(file.st_size for file in files)} | {
            "modified": pytest.approx(max(file.st_mtime for file in files), abs=1e-5),
            "is_finished": place != half.place,
            "num_runs": num,
            "action": "kept" if num else "unused",
        }
    same = {"series": "survey/nightly", "host": Process.current().host, "run_dir": "/gone"}
    facts = (("failed", 1, True), ("succeeded", 2, True), ("succeeded", 2, False))
    assert listed.rows("runs") == [
        same | {"started": entry.run.started, "status": status, "num_units": num, "is_kept": is_kept}
        for entry, (status, num, is_kept) in zip(reversed(entries), facts, strict=True)
    ]
    assert (
        "Kept runs use 2 units (0.0 MB); none uses 3 others (0.0 MB): job.remove=true removes what is unused."
        in capsys.readouterr().out
    )
    assert all(store.find(unit) for unit in (old, shared, new, of_none))
    mine = Path(store.location(store.find(old).tables["numbers"])).with_name("thesis.parquet")
    mine.write_text("years of work")
    removed = prune("job.remove=true")
    assert {row["place"] for row in removed.rows("units", action="removed")} == {old.place, of_none.place, half.place}
    assert [bool(store.find(unit)) for unit in (old, shared, new, of_none)] == [False, True, True, False]
    out = " ".join(capsys.readouterr().out.split())
    assert f"left alone, as they have the names of files of units and another content: {mine}" in out
    assert mine.exists()
    assert [row["status"] for row in prune().rows("runs")] == ["failed", "succeeded"]


@pytest.mark.parametrize("remove", ["true", "false"])
def test_a_folder_that_is_no_store_is_refused_and_left_as_it_was(store, prune, tmp_path, remove):
    names = ["units/metric/a.txt", "ledger/2025/q1.xlsx", "states/ny.csv"]
    for name in names:
        path = store.local_path / name
        path.parent.mkdir(parents=True)
        path.write_text("precious")
    with pytest.raises(StorageError, match=r"is not a store: .*, but \w+; nothing was removed"):
        prune(f"job.remove={remove}")
    assert {str(path.relative_to(store.path)) for path in store.local_path.rglob("*.*")} == set(names)
    assert not (tmp_path / "run").exists()


def test_more_runs_are_kept_or_a_series_forgotten(store, prune):
    units = [finished(store, number) for number in range(3)]
    for unit in units:
        ran(store, [unit])
    other = finished(store, 3)
    ran(store, [other], series="other")
    another = finished(store, 4)
    ran(store, [another], job="association")
    run = prune("job.keep=2", "job.forget=[survey/other]", "job.remove=true")
    assert [bool(store.find(unit)) for unit in (*units, other, another)] == [False, True, True, False, True]
    assert {row["series"] for row in run.rows("runs", is_kept=True)} == {"survey/nightly", "association/nightly"}


def test_a_series_that_is_not_there_is_refused_and_nothing_is_removed_while_a_run_is_at_work(store, prune):
    unit = finished(store, 0)
    ran(store, [], "running")
    with pytest.raises(ConfigError, match=r"job.forget: the store has no series survey/other; it has: survey/nightly"):
        prune("job.forget=[survey/other]")
    with pytest.raises(StorageError, match="can't be removed while runs are at work: survey"):
        prune("job.remove=true")
    assert store.find(unit)


def test_what_was_spent_of_an_account_is_never_removed_or_forgotten(store, prune):
    """Not by forgetting every series, nor with every unit of the release gone."""
    release = finished(store, 1)
    enter = partial(
        accounts.enter, store, "people", allows=lambda amounts: sum(part["epsilon"] for part in amounts) <= 10
    )
    assert enter(entry="first", amount={"epsilon": 8.0}) == ([{"epsilon": 8.0}], True)
    ran(store, [release], series="given")
    removed = prune("job.forget=[survey/given]", "job.remove=true")
    assert [row["action"] for row in removed.rows("units")] == ["removed"]
    assert store.find(release) is None
    store.clean_up()
    assert enter(entry="second", amount={"epsilon": 3.0}) is None
    assert enter(entry="first", amount={"epsilon": 8.0}) == ([{"epsilon": 8.0}], False)

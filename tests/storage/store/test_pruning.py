"""Which units go, and that those that stay can still be found."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.processes import Process
from tiltmeter.storage.store.pruning import kept_runs, remove, stored_units
from tiltmeter.storage.store.registry import RegisteredRun

START = datetime(2026, 1, 1, tzinfo=UTC)


def runs(statuses, series="nightly", job="survey"):
    """Runs of a series, the earliest first."""
    process = Process("host", 1, 0.0)
    return [
        RegisteredRun(f"{job}/{series}/{day}", process, "/run", START + timedelta(days=day), {}, status)
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
    kept = kept_runs(runs([names[letter] for letter in statuses]), num_kept)
    assert {run.started.day - 1 for run in kept} == days


@given(st.lists(st.sampled_from(["succeeded", "failed", "running"])), st.integers(1, 4))
def test_a_series_keeps_its_successes_whatever_other_series_do(statuses, num_kept):
    ours, others = runs(statuses), [runs(["succeeded"] * 9, "other"), runs(["succeeded"] * 9, job="compare")]
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

"""Two run directories, of runs made by hand, as the command compares them; what is refused."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

from tiltmeter.jobs.changes.past_runs import past_run, run_under_way
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.runs import opened


@pytest.fixture
def directory(tmp_path):
    """Makes the directory of a run that has these tables."""

    def make(name, tables, status="succeeded", settings="seed: 0\n"):
        with opened(tmp_path / str(name)) as run:
            run.begin([*tables], job="association", versions={}, started=f"2026-11-2{name}T01:02:03+00:00")
            for table, content in tables.items():
                run.write_table(table, content)
            run.write_text("config.yaml", settings)
            run.write_record(status=status)
        return run.path

    return make


@pytest.fixture
def compared(run_here, tmp_path):
    """What the command makes of two directories."""

    def run(before, after, *words):
        places = [f"store={tmp_path}/store", f"run_dir={tmp_path}/found"]
        return run_here("job=compare", f"runs=['{before}','{after}']", *places, *words)

    return run


def test_two_directories_are_compared_and_reported(directory, history, compared):
    before = directory(1, {"tests": history.table({"a": {}, "b": {}})})
    after = directory(2, {"tests": history.table({"a": {"d": 9.0}})}, settings="seed: 1\n")
    found = compared(before, after)
    assert found.table("changes")["sentence"].to_pylist() == [
        "setting seed was 0 and is 1 now.",
        "table tests differs (1 row, before 2): 1 of 1 number with an interval moved beyond it.",
        "tests: row word b is gone.",
        "tests: d of word a moved beyond its interval, from 1 [0, 2] to 9 [0, 2], by 8 half-widths.",
    ]
    page = (found.path / "report.html").read_text()
    assert "What changed: association" in page
    assert page.index("2026-11-21 01:02:03 UTC") < page.index("2026-11-22 01:02:03 UTC")
    assert "1 of 1 number with an interval moved beyond it, 1 of them by half its width or more" in page
    started = {name: f"2026-11-2{name}T01:02:03+00:00" for name in (1, 2)}
    assert found.record["inputs"] == {
        "before": {"name": str(before), "job": "association", "started": started[1]},
        "after": {"name": str(after), "job": "association", "started": started[2]},
    }


def test_differences_are_corrected_together_and_changes_as_finely_listed_as_asked(history, directory, compared):
    """Of six words with draws one moved far, one little, and one whose p alone would do."""
    moves = {"far": 0.5, "near": 0.02, "alone": 0.035, "still": 0.0, "calm": 0.001, "quiet": -0.001}
    noise = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.01, 0.0, -0.01])

    def made(place, values, num):
        table = history.table({word: {"d": value, "count": num} for word, value in values.items()})
        draws = np.linspace(-1.0, 1.0, 8) + place * noise
        rows = [row | draws_of("d", row["d"] + draws) for row in table.to_pylist()]
        return directory(
            place, dict(with_draws({"tests": (rows, history.schema)}, {"paired_by": "replicas", "seed": 0}))
        )

    before = made(0, dict.fromkeys(moves, 1.0), 7)
    after = made(1, {word: 1.0 + moved for word, moved in moves.items()}, 8)
    found = compared(before, after, "job.max_listed=5")
    changes, rows = pl.DataFrame(found.table("changes")), found.rows("differences")
    p = np.array([row["p"] for row in rows])
    ordered = np.sort(p)[::-1] * 6 / np.arange(6, 0, -1)
    q = dict(zip(np.sort(p)[::-1], np.minimum.accumulate(ordered), strict=True))
    assert [row["q"] for row in rows] == pytest.approx([q[value] for value in p])
    assert {row["row"]: row["difference"] for row in rows} == pytest.approx(
        {f"word {word}": moved for word, moved in moves.items()}
    )
    moved = {row["row"] for row in rows if row["q"] <= 0.05}
    assert {row["row"] for row in rows if row["verdict"] == "moved"} == moved
    assert {row["row"] for row in rows if row["p"] <= 0.05} - moved == {"word alone"}
    assert set(changes.filter("beyond")["row"]) == moved
    [count] = changes.filter(column="count").to_dicts()
    assert (count["num_changed"], count["difference"], count["median_difference"]) == (6, 1.0, 1.0)
    [table] = changes.filter(kind="table").to_dicts()
    assert (table["num_changed"], table["num_compared"]) == (len(moved), 6)


def test_a_run_under_way_is_read_before_its_record_is_complete(history, tmp_path):
    with opened(tmp_path / "run") as run:
        run.begin(["tests"], job="association", versions={})
        run.write_table("tests", history.table({"a": {}}))
        assert json.loads((run.path / "run.json").read_text())["tables"] == {"tests": {}}
        found = run_under_way(run, {"seed": 0})
    assert (found.tables["tests"]["rows"], found.settings) == (1, {"seed": 0})
    assert found.read("tests").equals(history.table({"a": {}}))


# --- refusals -------------------------------------------------------------------------------------------------------


def spoil(path, how):
    if how == "gone":
        shutil.rmtree(path)
    elif how.startswith("settings: "):
        (path / "config.yaml").write_text(how.removeprefix("settings: "))
    elif how == "no settings":
        (path / "config.yaml").unlink()
    elif how == "outside":
        record = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps(record | {"tables": {"../../secret": {"rows": 1}}}))
    else:
        (path / "run.json").write_text(how)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "gone",
            r"runs: \S+ is not a run directory: it has no run.json that can be read \(No such file or directory\)",
        ),
        ("{", r"runs: \S+ is not a run directory: its run.json is not JSON"),
        ("[]", r"its run.json is of another program"),
        ("outside", r"its run.json is of another program"),
        ("no settings", r"its config.yaml can't be read"),
        ("settings: [1]", r"its config.yaml has no settings"),
        (
            "settings: !!python/object/apply:os.getcwd []",
            r"its config.yaml is not plain YAML \(could not determine a constructor",
        ),
    ],
)
def test_what_is_no_run_directory_is_refused(directory, how, message):
    path = directory(1, {})
    spoil(path, how)
    with pytest.raises(ConfigError, match=message):
        past_run(path)


def test_a_run_that_did_not_end_is_refused_and_one_that_failed_unless_that_is_allowed(directory, history, compared):
    at_work = directory(0, {}, status="running")
    before, after = (
        directory(number, {"tests": history.table({"a": {"d": number}})}, status="failed") for number in (1, 3)
    )
    with pytest.raises(ConfigError, match=r"is at work, or was killed: wait for it, or start it again with the same"):
        past_run(at_work, allow_failed=True)
    with pytest.raises(ConfigError, match=r"lack what failed: set job.allow_failed=true to compare the others"):
        compared(before, after)
    [row] = compared(before, after, "job.allow_failed=true").rows("differences")
    assert (row["difference"], row["verdict"]) == (2.0, "moved")


def test_a_table_that_is_gone_is_named(directory, history, compared):
    before, after = (directory(number, {"tests": history.table({"a": {"count": number}})}) for number in (1, 2))
    (before / "tests.parquet").unlink()
    with pytest.raises(StorageError, match=r"1: its table tests can't be read .*; run that job again"):
        compared(before, after)

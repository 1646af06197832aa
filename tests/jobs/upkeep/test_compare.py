"""The job: two run directories, of runs made by hand and of real ones; what it refuses, prints and shows."""

import io
import json
import shutil
from types import SimpleNamespace

import hydra
import numpy as np
import polars as pl
import pydantic
import pytest
from omegaconf import OmegaConf
from rich.console import Console

from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.changes.past_runs import past_run, run_under_way
from tiltmeter.jobs.report.page import write_report
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.compare import job as compare
from tiltmeter.jobs.upkeep.compare.config import CompareJob, ComparisonRun
from tiltmeter.jobs.upkeep.compare.page import page
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.runs import opened, read_run_table


def config_of(*runs, job=None, **settings):
    return ComparisonRun(job=job or CompareJob(), cluster=ClusterConfig(), runs=tuple(map(str, runs)), **settings)


@pytest.fixture
def directory(history, tmp_path):
    """Makes the directory of a run that has a table."""

    def make(name, words, status="succeeded", settings="seed: 0\n"):
        with opened(tmp_path / str(name)) as run:
            run.begin(["tests", "other"], job="association", versions={}, started=f"2026-11-2{name}T01:02:03+00:00")
            run.write_table("tests", history.table(words))
            run.write_text("config.yaml", settings)
            run.write_record(status=status)
        return run.path

    return make


def report_of(before, after, where, **settings):
    """What the page says first of the job, which leaves its table and its page in its directory."""
    config = config_of(before, after, **settings)
    with opened(where) as directory:
        directory.begin(compare.JOB.tables, job="compare", versions={})
        directory.write_text("config.yaml", "job: {name: compare}\n")
        stand_in = SimpleNamespace(records=[], failures={}, entry=None, store=None)
        run = Run(config, compare.find_runs(config), stand_in, directory, Console(file=io.StringIO()))
        compare.run(run)
        return write_report(run, page)


def run_compare(before, after, where, **settings):
    """The table that the job leaves in its directory."""
    report_of(before, after, where, **settings)
    return pl.DataFrame(read_run_table(where, "changes"))


def test_two_directories_are_compared_and_reported(directory, tmp_path):
    before, after = directory(1, {"a": {}, "b": {}}), directory(2, {"a": {"d": 9.0}}, settings="seed: 1\n")
    changes = run_compare(before, after, tmp_path / "found")
    assert changes["sentence"].to_list() == [
        "setting seed was 0 and is 1 now.",
        "table tests differs (1 row, before 2): 1 of 1 number with an interval moved beyond it.",
        "tests: row word b is gone.",
        "tests: d of word a moved beyond its interval, from 1 [0, 2] to 9 [0, 2], by 8 half-widths.",
    ]
    page = (tmp_path / "found/report.html").read_text()
    assert "What changed: association" in page
    assert "2026-11-21 01:02:03 UTC" in page
    assert "1 of 1 number with an interval moved beyond it, 1 of them by half its width or more" in page
    record = compare.find_runs(config_of(before, after)).record()
    assert record["before"] == {"name": str(before), "job": "association", "started": "2026-11-21T01:02:03+00:00"}


def test_differences_are_corrected_together_and_changes_as_finely_listed_as_asked(history, tmp_path):
    """Of six words with draws one moved far, one little, and one whose p alone would do."""
    moves = {"far": 0.5, "near": 0.02, "alone": 0.035, "still": 0.0, "calm": 0.001, "quiet": -0.001}
    noise = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.01, 0.0, -0.01])

    def made(place, values, num):
        table = history.table({word: {"d": value, "count": num} for word, value in values.items()})
        draws = np.linspace(-1.0, 1.0, 8) + place * noise
        rows = [row | draws_of("d", row["d"] + draws) for row in table.to_pylist()]
        tables = dict(with_draws({"tests": (rows, history.schema)}, {"paired_by": "replicas", "seed": 0}))
        with opened(tmp_path / str(place)) as run:
            run.begin([*tables], job="association", versions={})
            for name, content in tables.items():
                run.write_table(name, content)
            run.write_text("config.yaml", "seed: 0\n")
            run.write_record(status="succeeded")
        return run.path

    before = made(0, dict.fromkeys(moves, 1.0), 7)
    after = made(1, {word: 1.0 + moved for word, moved in moves.items()}, 8)
    changes = run_compare(before, after, tmp_path / "found", job=CompareJob(max_listed=5))
    rows = read_run_table(tmp_path / "found", "differences").to_pylist()
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


def test_what_changed_is_said_first(directory, tmp_path):
    settings = "".join(f"setting_{at}: 0\n" for at in range(12))
    before, after = directory(1, {"a": {}, "b": {}}), directory(2, {"a": {"d": 9.0}, "c": {}}, settings=settings)
    question, findings, _ = report_of(before, after, tmp_path / "found")
    assert [row[3] for row in question[1].rows] == [str(before), str(after)]
    counts, largest, rows, circumstances = findings[0].items
    assert counts.startswith(
        "1 of 1 number with an interval moved beyond it, 1 of them by half its width or more, and 1 "
    )
    assert largest.endswith("d of word a moved beyond its interval, from 1 [0, 2] to 9 [0, 2], by 8 half-widths.")
    assert rows == "1 row came, 1 row went."
    assert circumstances == "How the runs were made differs: 13 settings."


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
    elif how == "settings":
        (path / "config.yaml").write_text("!!python/object/apply:os.getcwd []")
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
        ("settings", r"its config.yaml is not plain YAML \(could not determine a constructor"),
    ],
)
def test_what_is_no_run_directory_is_refused(directory, how, message):
    path = directory(1, {"a": {}})
    spoil(path, how)
    with pytest.raises(ConfigError, match=message):
        past_run(path)


def test_a_run_that_did_not_end_is_refused_and_one_that_failed_unless_that_is_allowed(directory):
    at_work, failed = directory(1, {"a": {}}, status="running"), directory(2, {"a": {}}, status="failed")
    with pytest.raises(ConfigError, match=r"is at work, or was killed: wait for it, or start it again with the same"):
        past_run(at_work, allow_failed=True)
    with pytest.raises(ConfigError, match=r"lack what failed: set job.allow_failed=true to compare the others"):
        compare.find_runs(config_of(failed, failed))
    assert list(past_run(failed, allow_failed=True).tables) == ["tests"]


def test_a_table_that_is_gone_is_named(directory, tmp_path):
    before, after = directory(1, {"a": {}}), directory(2, {"b": {}})
    (before / "tests.parquet").unlink()
    with pytest.raises(StorageError, match=r"1: its table tests can't be read .*; run that job again"):
        run_compare(before, after, tmp_path / "found")


@pytest.mark.parametrize(
    ("runs", "settings", "message"),
    [
        (["a"], {}, "must be two run directories, the earlier one first"),
        (["a", "b", "c"], {}, "must be two run directories"),
        (["a", "s3://bucket/b"], {}, "must be local paths"),
        (["a", "b"], {"run_dir": "./b"}, "run_dir=./b: is one of the runs to compare; choose another directory"),
    ],
)
def test_other_than_two_directories_to_read_from_are_refused(runs, settings, message):
    with pytest.raises(pydantic.ValidationError, match=message):
        config_of(*runs, **settings)


def test_the_command_line_is_the_config():
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        composed = hydra.compose("tiltmeter", ["job=compare", "runs=[a,b]", "job.max_listed=3"])
    config = pydantic.TypeAdapter(ComparisonRun).validate_python(OmegaConf.to_container(composed))
    assert (config.runs, config.job) == (("a", "b"), CompareJob(max_listed=3))

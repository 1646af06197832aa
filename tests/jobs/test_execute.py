"""What an execution of a job records, publishes and enters in the register: of a made-up job, in this process."""

import dataclasses
import html
import json
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pyarrow as pa
import pydantic
import pytest

from tests.fixtures.pools import PoolHere
from tiltmeter.cluster import workers
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.stages import Stage, UnitsFailed
from tiltmeter.cluster.start import Workers
from tiltmeter.cluster.work import each
from tiltmeter.jobs.execute import execute
from tiltmeter.jobs.runtime.config import CommonConfig, CommonReading, ConfigError, Exports
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.upkeep.runs import read_runs
from tiltmeter.storage.bad_records import BadRecords, collect
from tiltmeter.storage.errors import InputError, LimitExceeded
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.tables import column

SECRET = "s3://key:hunter2@bucket/folder?token=hunter2"
COLUMNS = [column("n", pa.int64(), "a number", key=True), column("square", pa.int64(), "its square")]
TABLES = {"squares": pa.schema(COLUMNS)}


@dataclasses.dataclass(frozen=True)
class Squares:
    name: str = "squares"
    more: int = 0


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True)
class Asked(CommonConfig):
    """Numbers by group; of their records so many are bad, and a limit may be exceeded."""

    numbers: dict[str, tuple[int, ...]] = dataclasses.field(default_factory=lambda: {"a": (2, 3), "b": (5,)})
    num_bad: int = 0
    limit: int = 100


def find_numbers(config):
    bad = BadRecords()
    bad.read("numbers.csv", 400)
    bad.add("numbers.csv", "no number", "line 7", num=config.num_bad)
    collect(bad)
    return SimpleNamespace(record=lambda: {"numbers": {"name": SECRET, "bytes": 7}})


def square(_store, unit):
    if unit.config < 0:
        raise ValueError(f"{unit.config} is negative, see {SECRET}")
    yield "squares", pa.table({"n": [unit.config], "square": [unit.config**2]}, TABLES["squares"])


def run_squares(run):
    refs = []
    for name in ("first", "second"):
        groups = run.config.numbers.items()
        units = {group: [Unit(f"{name}/1", f"{name} {n} of {SECRET}", n) for n in given] for group, given in groups}
        finished = run.runner.run(Stage(name, each(square), units))
        refs = [done.tables["squares"] for group in finished.values() for done in group]
    run.publish("squares", refs)


def check_squares(run):
    if (largest := max(n for given in run.config.numbers.values() for n in given)) > run.config.limit:
        raise LimitExceeded(f"{largest} exceeds limit={run.config.limit}")


SQUARES = Job(Asked, find_numbers, run_squares, TABLES, check=check_squares)


@pytest.fixture(autouse=True)
def pool(monkeypatch):
    monkeypatch.setattr(Workers, "_started", lambda workers: PoolHere(workers.store))


@pytest.fixture
def run(tmp_path):
    """Executes the job; gives its directory."""

    def start(name="run", store=tmp_path / "store", job=None, **settings):
        usual = {"cluster": ClusterConfig(), "store": str(store), "run_dir": str(tmp_path / name)}
        return execute(SQUARES, Asked(job=job or Squares(), **usual | settings))

    return start


def record_of(folder):
    return json.loads((folder / "run.json").read_text())


@pytest.mark.long
def test_a_run_counts_what_it_did_reused_and_could_not_do(run, tmp_path):
    first = record_of(run())
    assert first["units"] == {"done": 6, "reused": 0, "failed": 0}
    again = record_of(run("again", numbers={"a": (3, 7), "b": (5,), "c": (2, 7)}))
    assert again["units"] == {"done": 2, "reused": 6, "failed": 0}
    assert [(stage["num_done"], stage["num_reused"]) for stage in again["stages"]] == [(1, 3), (1, 3)]
    with pytest.raises(UnitsFailed):
        run("broken", numbers={"a": (-1, 2), "b": (-5, 11), "c": (3,)})
    broken = record_of(tmp_path / "broken")
    assert broken["units"] == {"done": 2, "reused": 4, "failed": 4}
    assert [failure["unit"].split()[1] for failure in broken["failures"]] == ["-1", "-1", "-5", "-5"]
    assert (first["status"], broken["status"]) == ("succeeded", "failed")
    page = (tmp_path / "broken/report.html").read_text()
    assert "4 units failed: this page lacks what needs them." in page
    assert all(f"second {n} of" in page for n in (-1, -5))


def test_the_peak_of_workers_is_the_largest_of_any_unit(run, monkeypatch):
    peaks = iter([1, 9, 4, 2, 3, 5])
    monkeypatch.setattr(workers.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=next(peaks)))
    record = record_of(run())
    assert [stage["peak_worker_memory_bytes"] for stage in record["stages"]] == [9 * 1024, 5 * 1024]
    assert record["peak_memory_bytes"]["worker"] == 9 * 1024


@pytest.mark.parametrize("settings", [{}, {"numbers": {"a": (-1, 2), "b": (5,)}}])
def test_no_credential_is_written_down(run, tmp_path, s3_bucket, settings):
    """Of a store in a bucket, which keeps the units of a run and gives the tables of a disk."""
    store = s3_bucket.uri(f"executed/{len(settings)}")
    if settings:
        with pytest.raises(UnitsFailed):
            run(store=store, **settings)
    else:
        kept, again, here = (record_of(run(*place)) for place in (("run", store), ("again", store), ("here",)))
        assert again["units"] == {"done": 0, "reused": 6, "failed": 0}
        assert len({record["tables"]["squares"]["digest"] for record in (kept, again, here)}) == 1
    written = [path for path in (tmp_path / "run").iterdir() if path.suffix in (".json", ".yaml")]
    assert len(written) == 2
    for path in written:
        assert not re.search("hunter2|secret", path.read_text()), path
    assert record_of(tmp_path / "run")["inputs"]["numbers"] == {"name": "s3://bucket/folder", "bytes": 7}
    assert "store: s3://tilt/executed" in (tmp_path / "run/config.yaml").read_text()


def test_the_register_has_the_settings_the_units_and_the_tables_of_a_run(run, tmp_path):
    run()
    run("more", numbers={"a": (2,), "b": (9, 4)}, series="weekly")
    registry = Registry(Store(str(tmp_path / "store")))
    more, first = registry.runs()
    assert (more.job, more.series, more.status, more.run_dir) == ("squares", "weekly", "succeeded", f"{tmp_path}/more")
    assert more.settings["numbers"] == {"a": [2], "b": [9, 4]}
    assert registry.units(more) == {Unit(f"{name}/1", "", n).place for name in ("first", "second") for n in (2, 9, 4)}
    assert registry.units(first) == {Unit(f"{name}/1", "", n).place for name in ("first", "second") for n in (2, 3, 5)}
    assert more.read(Store(str(tmp_path / "store")), "squares")["square"].to_pylist() == [4, 81, 16]


@pytest.mark.long
def test_runs_are_of_one_series_that_ask_the_same_wherever_and_however_they_work(run, tmp_path):
    run("first")
    elsewhere = [{"cluster": ClusterConfig(num_cpus=3)}, {"reading": CommonReading(max_bad_share=0.5)}]
    elsewhere.append({"exports": Exports(tables=("csv",))})
    for number, settings in enumerate([*elsewhere, {"store": str(tmp_path / "store")}]):
        run(f"alike{number}", **settings)
    for number, settings in enumerate([{"seed": 1}, {"limit": 99}, {"job": Squares(more=1)}, {"numbers": {"a": (2,)}}]):
        run(f"unlike{number}", **settings)
    series = {Path(each.run_dir).name: each.series for each in Registry(Store(str(tmp_path / "store"))).runs()}
    assert len({series[name] for name in series if "unlike" not in name}) == 1
    assert len({*series.values()}) == 5
    page = (tmp_path / "alike3/report.html").read_text()
    assert "The last run that asked the same and succeeded started at" in page
    assert "This is the first run of its kind" in (tmp_path / "unlike0/report.html").read_text()


def test_without_a_browser_a_run_with_figures_is_refused_before_any_work(run, tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chromium")
    with pytest.raises(ConfigError, match="there is none at BROWSER_PATH=/nowhere/chromium"):
        run(exports=Exports(figures=True))
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_run_has_a_text_on_methods_and_its_papers(run, tmp_path):
    record = record_of(run())
    text = (tmp_path / "run/methods.md").read_text()
    assert "The job `squares` comes from another package" in text
    assert record["papers"] == []
    assert (tmp_path / "run/references.bib").read_text() == "% No paper is cited.\n"


def test_a_page_of_runs_says_what_their_records_and_reports_say(run, tmp_path):
    records = {name: record_of(run(name)) for name in ("first", "second")}
    runs, problems = read_runs(tmp_path)
    assert problems == []
    assert {each.place: (each.headline, each.changes, each.status, each.job) for each in runs} == {
        name: tuple(record[key] for key in ("headline", "changes", "status", "job")) for name, record in records.items()
    }
    assert [each.started.isoformat(timespec="seconds") for each in runs] == [
        records[name]["started"] for name in ("second", "first")
    ]
    for name, said in (("first", "This is the first run of its kind"), ("second", "The last run that asked the same")):
        record, page = records[name], (tmp_path / name / "report.html").read_text()
        assert record["changes"].startswith(said)
        assert record["headline"]
        assert html.escape(record["headline"], quote=False) in page


def test_a_limit_that_results_exceed_is_no_failure_of_the_run(run, tmp_path):
    with pytest.raises(LimitExceeded, match="5 exceeds limit=4"):
        run(limit=4)
    [entry] = Registry(Store(str(tmp_path / "store"))).runs()
    assert (record_of(tmp_path / "run")["status"], entry.status) == ("succeeded", "succeeded")


def test_bad_records_of_the_sources_are_counted_and_refused_above_the_share(run, tmp_path):
    [left_out] = record_of(run(num_bad=20, reading=CommonReading(max_bad_share=0.05)))["left_out"]
    assert (left_out["file"], left_out["num"], left_out["first"]) == ("numbers.csv", 20, "line 7")
    assert "20 records left out: no number; first in numbers.csv, line 7" in (tmp_path / "run/report.html").read_text()
    with pytest.raises(InputError, match="21 of 400 records are bad"):
        run("refused", num_bad=21, reading=CommonReading(max_bad_share=0.05))
    assert not (tmp_path / "refused").exists()


def test_an_interrupted_run_says_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr(PoolHere, "run", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run()
    [entry] = Registry(Store(str(tmp_path / "store"))).runs()
    assert (record_of(tmp_path / "run")["status"], entry.status) == ("interrupted", "interrupted")

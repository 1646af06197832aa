"""Runs sent to MLflow and Weights & Biases by their own libraries, where these are installed; and what is sent."""

import json
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiltmeter.jobs.report.trackers import check_trackers, sent_of
from tiltmeter.jobs.runtime.config import ConfigError, Exports
from tiltmeter.storage.errors import WorkFailed
from tiltmeter.storage.store.runs import RunDirectory, opened
from tiltmeter.storage.store.tables import column

SIDES = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp"]}
SIDES |= {"attribute_a": ["love", "peace"], "attribute_b": ["hatred", "war"]}
WORDS = [word for words in SIDES.values() for word in words]
FILES = {"report.html", "methods.md", "run.json", "config.yaml", "summary.md", "associations.parquet", "draws.parquet"}


@pytest.fixture(scope="module")
def tested(run_here, word_lists, word_sets, write_vectors, tmp_path_factory):
    """Tests an association on four replicas, with exports to be named."""
    folder = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(0)
    for number in range(4):
        write_vectors(folder / f"r{number}.bin", WORDS, rng.normal(size=(len(WORDS), 5)))
    lists = word_lists("en", associations={"flowers": word_sets(**SIDES)}, wefats=None)
    settings = [
        "job=association",
        "embedding=file",
        f"embedding.path={folder}/*.bin",
        "embedding.replicas=true",
        *lists,
    ]
    settings += ["job.similarities=[cosine]", "job.statistics=[mean]", "exports.summary=true", f"store={folder}/store"]
    return lambda *more: run_here(*settings, *more)


def numbers_of(run):
    """The one headline number of the run, and the ends of its interval, by the table."""
    [row] = run.table("associations").to_pylist()
    return {f"associations/score{ending}": row[f"score{ending}"] for ending in ("", "_low", "_high")}


def test_of_a_run_the_headline_number_is_sent_with_its_interval_and_the_files(tested, tmp_path):
    run = tested(f"run_dir={tmp_path}/run")
    sent = sent_of(RunDirectory(run.path, run.record, run.record["tables"]), {})
    assert sent.metrics == pytest.approx(numbers_of(run))
    assert {path.name for path in sent.files} >= FILES
    assert sent.headline == run.record["headline"]


def test_a_run_is_an_mlflow_run_in_a_folder(tested, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    run = tested(f"exports.mlflow={tmp_path}/tracked", f"run_dir={tmp_path}/run")
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "tracked").as_uri())
    [sent] = client.search_runs([client.get_experiment_by_name("association").experiment_id])
    assert sent.info.status == "FINISHED"
    assert sent.data.metrics == pytest.approx(numbers_of(run))
    assert sent.data.params["job.level"] == "0.95"
    assert not [name for name in sent.data.params if name.startswith(("wordset", "store", "exports"))]
    assert sent.data.tags["mlflow.note.content"] == run.record["headline"]
    assert {file.path for file in client.list_artifacts(sent.info.run_id)} >= FILES
    kept = client.download_artifacts(sent.info.run_id, "associations.parquet", str(tmp_path))
    assert pq.read_table(kept).equals(run.table("associations"))


def test_a_run_is_a_run_of_weights_and_biases_without_a_network(tested, tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    run = tested("exports.wandb=tilts", f"run_dir={tmp_path}/run")
    [folder] = (tmp_path / "wandb").glob("offline-run-*")
    [log] = folder.glob("*.wandb")
    written = log.read_bytes()
    for name, value in numbers_of(run).items():
        assert re.search(
            re.escape(name.encode()) + rb".{1,8}" + re.escape(json.dumps(value)[:12].encode()), written, re.S
        )
    for name in (*FILES, "tilts", "job.level", run.record["headline"]):
        assert name.encode() in written, name


def test_a_tracker_that_fails_leaves_a_run_that_succeeded(tested, tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(WorkFailed) as failure:
        tested("exports.mlflow=http://me:secret@localhost:9", f"run_dir={tmp_path}/run")
    assert str(failure.value).startswith("exports.mlflow=http://localhost:9: ")
    assert "secret" not in str(failure.value)
    assert str(failure.value).endswith(f"The run is complete in {tmp_path}/run; the same command sends it again")
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "succeeded"


def test_a_place_that_mlflow_does_not_know_is_refused_before_any_work(tested, tmp_path):
    pytest.importorskip("mlflow")
    with pytest.raises(ConfigError, match=r"^exports.mlflow=nowhere://x: .*; or set exports.mlflow=null"):
        tested("exports.mlflow=nowhere://x", f"run_dir={tmp_path}/run")
    assert not (tmp_path / "run").exists()


def test_without_a_login_weights_and_biases_is_refused(monkeypatch, tmp_path):
    wandb = pytest.importorskip("wandb")
    wandb.teardown()  # which remembers how it was asked before
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match=r"WANDB_API_KEY, or WANDB_MODE=offline; or set exports\.wandb=null"):
        check_trackers(Exports(wandb="tilts"))


@pytest.mark.parametrize(("name", "place"), [("mlflow", "s3://key:secret@tracked"), ("wandb", "tilts")])
def test_without_its_package_a_run_is_refused_before_any_work(tested, tmp_path, monkeypatch, name, place):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError) as refusal:
        tested(f"exports.{name}='{place}'", f"run_dir={tmp_path}/run")
    shown = place.replace("key:secret@", "")
    command = f"pip install 'tiltmeter[{name}]'"
    assert str(refusal.value) == f"exports.{name}={shown}: needs {name}, which is not installed: {command}"
    assert not (tmp_path / "run").exists()


# --- what is sent -----------------------------------------------------------------------------------------------------


def published(folder, tables, **record):
    """A run directory with tables."""
    with opened(folder) as directory:
        directory.begin(tables, job="squares", versions={}, **record)
        for name, table in tables.items():
            directory.write_table(name, table)
        directory.write_record()
        return directory


def table(keys, **numbers):
    """Rows of words, with columns of numbers."""
    fields = [column("word", pa.string(), "a word", key=True), column("side", pa.string(), "a side", key=True)]
    fields += [column(name, pa.float64(), name) for name in numbers]
    words = [*zip(*keys, strict=True)]
    return pa.table([*(pa.array(values, pa.string()) for values in words), *numbers.values()], pa.schema(fields))


def test_numbers_are_called_by_table_column_and_what_tells_rows_apart(tmp_path):
    ends = {"d": [1.0, 2.0, np.inf], "d_low": [0.5, None, 1.0], "d_high": [1.5, 3.0, 4.0], "e": [9.0] * 3}
    tables = {
        "tests": table([("a, b", "x"), ("ممرضة", "x"), ("c", None)], **ends, e_low=[8.0] * 3, e_high=[9.5] * 3),
        "plain": table([("a", "x")], d=[1.0]),
        "one": table([("a", "x")], d=[1.0], low=[0.0], high=[2.0]),
        "large": table([(str(n), "x") for n in range(101)], d=[1.0] * 101, d_low=[0.0] * 101, d_high=[2.0] * 101),
        "empty": table([("a", "x")], d=[1.0], d_low=[0.0], d_high=[2.0]).slice(1),
    }
    sent = sent_of(published(tmp_path, tables, headline="Far."), {"job": {"name": "squares"}})
    assert dict(sent.metrics) == {
        "tests/d/a_ b x": 1.0,
        "tests/d/a_ b x_low": 0.5,
        "tests/d/a_ b x_high": 1.5,
        "tests/d/ممرضة x": 2.0,
        "tests/d/ممرضة x_high": 3.0,
        "tests/d/c_low": 1.0,
        "tests/d/c_high": 4.0,
        "one/d": 1.0,
        "one/d_low": 0.0,
        "one/d_high": 2.0,
    }
    assert (sent.job, sent.headline) == ("squares", "Far.")
    names = {path.name for path in sent.files}
    assert names == {"run.json", *(f"{name}.parquet" for name in tables)}


def test_settings_are_flat_short_and_without_word_lists_and_places(tmp_path):
    settings = {"job": {"name": "squares", "level": 0.9, "of": {"deep": [1, "a"]}}, "seed": 3, "long": "x" * 900}
    settings |= {"wordset": {"en": {"words": ["a"]}}, "store": "here", "exports": {"mlflow": "there"}}
    sent = sent_of(published(tmp_path, {}), settings)
    assert sent.parameters == {
        "job.name": "squares",
        "job.level": "0.9",
        "job.of.deep": "[1, 'a']",
        "seed": "3",
        "long": "x" * 500,
    }


def test_large_tables_and_folders_of_parts_stay_where_they_are(tmp_path):
    directory = published(tmp_path, {"small": table([("a", "x")], d=[1.0])})
    directory.tables["small"]["bytes"] = 51_000_000
    assert [path.name for path in sent_of(directory, {}).files] == ["run.json"]

"""A finished run sent to MLflow or Weights & Biases: settings, numbers with intervals, the page and the tables."""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tiltmeter.jobs.report.exports import SUMMARY
from tiltmeter.jobs.runtime.columns import ENDS, interval_columns
from tiltmeter.jobs.runtime.config import ConfigError, Exports, asked
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import published_tables
from tiltmeter.storage.errors import WorkFailed
from tiltmeter.storage.files.redaction import reason, redacted
from tiltmeter.storage.store.runs import EXPORTS, METHODS, RECORD, REPORT, RunDirectory
from tiltmeter.storage.store.tables import key_columns

_MOST_ROWS = 100
"""Of a table whose numbers are sent; of a larger one only the file."""

_MOST_MEGABYTES = 50.0
_LONGEST_VALUE, _LONGEST_NAME = 500, 240
_AT_ONCE = 100
"""Parameters or metrics that MLflow takes in one request."""


class Sent(NamedTuple):
    """What a tracker is given of a run."""

    job: str
    headline: str
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]
    files: list[Path]


def _mlflow(place: str) -> Any:
    import mlflow

    is_folder = "://" not in place and not place.startswith(("file:", "databricks"))
    uri = Path(place).expanduser().absolute().as_uri() if is_folder else place
    if uri.startswith("file:"):
        # MLflow 3 takes folders only from those who say so, as here.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    return mlflow.MlflowClient(tracking_uri=uri)


def _to_mlflow(place: str, sent: Sent) -> None:
    client = _mlflow(place)
    from mlflow import entities

    known = client.get_experiment_by_name(sent.job)
    tags = {"mlflow.note.content": sent.headline, "mlflow.source.name": "tiltmeter"}
    run = client.create_run(known.experiment_id if known else client.create_experiment(sent.job), tags=tags).info.run_id
    parameters = [entities.Param(*item) for item in sent.parameters.items()]
    metrics = [entities.Metric(*item, timestamp=0, step=0) for item in sent.metrics.items()]
    for start in range(0, max(len(parameters), len(metrics)), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        client.log_batch(run, metrics=metrics[part], params=parameters[part])
    for path in sent.files:
        client.log_artifact(run, str(path))
    client.set_terminated(run)


def _wandb(_: str) -> Any:
    import wandb

    if wandb.setup().settings.mode == "online" and not wandb.login(prompt=False):
        raise ValueError("nobody is logged in: set WANDB_API_KEY, or WANDB_MODE=offline")
    return wandb


def _to_wandb(place: str, sent: Sent) -> None:
    wandb = _wandb(place)
    with wandb.init(project=place, job_type=sent.job, notes=sent.headline, config=dict(sent.parameters)) as run:
        run.summary.update(dict(sent.metrics))
        artefact = wandb.Artifact(re.sub(r"[^\w.-]", "-", sent.job), type="run")
        for path in sent.files:
            artefact.add_file(str(path))
        run.log_artifact(artefact)


_TRACKERS: Mapping[str, tuple[Callable[[str], Any], Callable[[str, Sent], None]]] = {
    "mlflow": (_mlflow, _to_mlflow),
    "wandb": (_wandb, _to_wandb),
}


def check_trackers(exports: Exports) -> None:
    """Look for what sends runs to trackers, before any work.

    Raises:
        ConfigError: if a package does not take the place that is named.
    """
    for name, place in _chosen(exports):
        try:
            _TRACKERS[name][0](place)
        except Exception as error:  # of the package, which has many kinds
            raise ConfigError(f"{_setting(name, place)}: {reason(error)}; or set exports.{name}=null") from error


def send_to_trackers(run: Run[Any, Any], settings: Mapping[str, Any]) -> None:
    """Send a run whose record says that it succeeded.

    Args:
        settings: as they were recorded.

    Raises:
        WorkFailed: naming the trackers that did not take it, after the others have; its results are complete.
    """
    sent, problems = None, []
    for name, place in _chosen(run.config.exports):
        sent = sent or sent_of(run.directory, settings)
        try:
            _TRACKERS[name][1](place, sent)
        except Exception as error:  # of the package or its server: the run is complete without
            problems.append(f"{_setting(name, place)}: {reason(error)}")
    if problems:
        raise WorkFailed(
            f"{'; '.join(problems)}. The run is complete in {run.directory.path}; the same command sends it again"
        )


def _chosen(exports: Exports) -> list[tuple[str, str]]:
    return [(name, place) for name in _TRACKERS if (place := getattr(exports, name))]


def _setting(name: str, place: str) -> str:
    return f"exports.{name}={redacted(place)}"


def sent_of(directory: RunDirectory, settings: Mapping[str, Any]) -> Sent:
    """What is sent of a run: settings but for word lists, numbers of small tables, and files that are not large."""
    record = directory.record
    plain = {name: value for name, value in asked(settings).items() if name != "wordset"}
    parameters = {name: str(value)[:_LONGEST_VALUE] for name, value in _flat(plain)}
    metrics: dict[str, float] = {}
    for name, value in _numbers(directory):
        metrics.setdefault(re.sub(r"[^/\w.\- :]", "_", name), value)
    tables = [name for name, entry in directory.tables.items() if 0 < entry.get("bytes", 0) < _MOST_MEGABYTES * 1e6]
    names = [REPORT, METHODS, RECORD, "config.yaml", f"{EXPORTS}/{SUMMARY}", *(f"{name}.parquet" for name in tables)]
    files = [path for name in names if (path := directory.path / name).is_file()]
    return Sent(record["job"], record.get("headline", ""), parameters, metrics, files)


def _flat(settings: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value


def _numbers(directory: RunDirectory) -> Iterator[tuple[str, float]]:
    """Of each table that is not large the first number with an interval, and the ends of that, by row."""
    for name, table in published_tables(directory).items():
        columns = interval_columns(table.schema.names)
        rows = table.rows.head(_MOST_ROWS + 1).collect() if columns else pl.DataFrame()
        if not 0 < rows.height <= _MOST_ROWS:
            continue
        column, ends = next(iter(columns.items()))
        keys = [key for key in key_columns(table.schema) if rows[key].n_unique() > 1]
        for row in rows.iter_rows(named=True):
            of_row = " ".join(str(row[key]) for key in keys if row[key] is not None)
            label = f"{name}/{column}{'/' if of_row else ''}{of_row}"[:_LONGEST_NAME]
            for metric, source in zip((label, *(f"{label}_{end}" for end in ENDS)), (column, *ends), strict=True):
                if row[source] is not None and math.isfinite(row[source]):
                    yield metric, float(row[source])

"""Configs as the command composes them, runs with what came of them, and tiny corpora."""

import io
import json
import random
import traceback
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import hydra
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs
from ray import cloudpickle

from tests.golden import tables
from tiltmeter.cluster.work import Failure, Report
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.work import WorkUnit
from tiltmeter.jobs.upkeep.plan.config import read_command
from tiltmeter.storage.store.ledger import TableRef
from tiltmeter.storage.store.runs import read_run_table
from tiltmeter.storage.vectors.files import EmbeddingFile, write_embedding


@pytest.fixture(scope="session")
def configured():
    """Builds a config from overrides, as ``tiltmeter`` would, with settings of packages where there are any."""
    packages = [f"pkg://{package}" for package in catalogue.settings_packages()]
    folders = [f"hydra.searchpath=[{','.join(packages)}]"] if packages else []

    def compose(*overrides):
        command = read_command([str(override) for override in overrides])
        with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
            return command.config(build(hydra.compose("tiltmeter", [*command.words, *folders]), command.words))

    return compose


@dataclass(frozen=True)
class Outcome:
    """What a run left in its directory, which is what it left when that was recorded."""

    path: Path

    def __post_init__(self):
        tables.look(self.path)

    @cached_property
    def record(self) -> dict[str, Any]:
        return json.loads((self.path / "run.json").read_text())

    @property
    def digests(self) -> dict[str, str]:
        """Of the tables that a run has written which succeeded."""
        assert self.record["status"] == "succeeded"
        return {name: table["digest"] for name, table in self.record["tables"].items() if table}

    @property
    def published(self) -> set[str]:
        """The tables that were written, of all that the job may write."""
        return {name for name, table in self.record["tables"].items() if table}

    def stage(self, name: str) -> dict[str, Any]:
        """The only record of a stage."""
        [stage] = [stage for stage in self.record["stages"] if stage["name"] == name]
        return stage

    def num_done(self, name: str) -> int:
        return self.stage(name)["num_done"]

    def table(self, name: str) -> pa.Table:
        return read_run_table(self.path, name)

    def rows(self, name: str, /, **wanted: Any) -> list[dict[str, Any]]:
        """The rows of a table that have these values."""
        return [row for row in self.table(name).to_pylist() if all(row[key] == value for key, value in wanted.items())]

    def parts(self, language: str) -> dict[str, pa.Table]:
        """The embeddings of a language, by the name of their file."""
        files = sorted((self.path / "embeddings").glob(f"*/{language}_*"))
        return {path.name: read_run_table(path.parent, path.stem) for path in files}


@pytest.fixture(scope="session")
def outcome_of():
    """What the run in a directory left there."""
    return Outcome


@pytest.fixture(scope="session")
def run_job(configured, lasting_workers):
    """Runs a job on one worker of the session's cluster, or on as many as it asks for."""
    return lambda *overrides: Outcome(execute(configured("cluster.num_cpus=1", *overrides)))


MOST_BYTES = 64 * 1024
"""Of a unit as it travels to a worker, the tables that it reads aside."""


class _WithoutTables(cloudpickle.CloudPickler):
    def reducer_override(self, value):
        return (str, ()) if isinstance(value, TableRef) else super().reducer_override(value)


def num_bytes(unit):
    """Of a unit on its way to a worker, without references to tables, of which it may have thousands."""
    file = io.BytesIO()
    _WithoutTables(file).dump(unit)
    return file.tell()


class PoolHere:
    """Does units in this process, one after the other."""

    num_workers, num_gpus = 1, 0

    def __init__(self, store):
        self.store = store

    def num_wide_workers(self, _):
        return 1

    def run(self, work, queue, **_):
        while queue:
            for unit in queue.take(1):
                assert not isinstance(unit, WorkUnit) or num_bytes(unit) < MOST_BYTES, unit.name
                try:
                    [(_, tables)] = work(self.store, [unit])
                    yield Report(self.store.commit(unit, tables), worker="here")
                except Exception as error:
                    yield Failure(unit, f"{type(error).__name__}: {error}", traceback.format_exc())


@contextmanager
def _started_here(workers):
    with workers.store.leased():
        yield PoolHere(workers.store)


@pytest.fixture(scope="session")
def run_here(configured):
    """Runs a job without Ray: for tests of what units make, whoever does them."""

    def run(*overrides):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tiltmeter.cluster.start.Workers._start", _started_here)
            return Outcome(execute(configured("cluster.num_cpus=1", *overrides)))

    return run


def _made_up(language: str, num_documents: int = 40) -> list[dict[str, str]]:
    """Documents of ten lines with ten words each, whose frequencies fall as in language."""
    rng = random.Random(language)
    words = [f"{language}{chr(97 + rank % 26)}{chr(97 + rank // 26)}" for rank in range(120)]
    weights = [1 / (1 + rank) for rank in range(len(words))]
    return [
        {"id": str(number), "text": "\n".join(" ".join(rng.choices(words, weights, k=10)) for _ in range(10))}
        for number in range(num_documents)
    ]


@pytest.fixture(scope="session")
def made_up():
    """Makes up the documents of a corpus: the same ones whenever it is asked for the same."""
    return _made_up


def _write(path: Path, documents: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents))
    return path


@pytest.fixture(scope="session")
def write_lines():
    """Writes documents as JSON lines."""
    return _write


def _file(language: str, path: Path | str) -> list[str]:
    return ["corpus=file", f"corpus.language={language}", f"corpus.path={path}"]


@pytest.fixture(scope="session")
def one_corpus():
    """Overrides that choose a file of a language."""
    return _file


@pytest.fixture(scope="session")
def several_corpora():
    """Overrides that choose a file for each of several languages, all in one run."""

    def choose(files: dict[str, Path]) -> list[str]:
        (language, path), *others = files.items()
        more = [f"+corpus.{code}={{name: {code}, language: {code}, path: {file}}}" for code, file in others]
        return [*_file(language, path), f"corpus.name={language}", *more]

    return choose


def _shown(value: Any) -> str:
    """A value as Hydra reads it on a command line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return str(value)


@pytest.fixture(scope="session")
def word_lists():
    """Overrides that put word lists in the place of a language's own, or nothing (None)."""

    def replace(language: str, **lists: Any) -> list[str]:
        keys = {f"wordset.{language}.{name}": value for name, value in lists.items()}
        added = [f"+{key}={_shown(value)}" for key, value in keys.items() if value is not None]
        return [*(f"~{key}" for key in keys), *added]

    return replace


@pytest.fixture(scope="session")
def word_sets():
    """The record of an association test or a WEFAT, whose word sets are called what they are."""
    return lambda **sides: {"source": "made up"} | {side: {"name": side, "words": sides[side]} for side in sides}


@pytest.fixture(scope="session")
def write_vectors():
    """Writes words and their vectors to a file; returns its path."""

    def write(path: Path, words, vectors, form="word2vec_binary") -> Path:
        embedding = EmbeddingFile(list(words), np.asarray(vectors, np.float32))
        write_embedding(fs.LocalFileSystem(), str(path), embedding, form, setting="path")
        return path

    return write

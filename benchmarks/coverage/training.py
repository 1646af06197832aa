"""Embeddings of samples and their replicas, trained as `job=bootstrap` trains them, so that units are reused."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import hydra
import numpy as np
import polars as pl
import psutil
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict

from tiltmeter.jobs.catalogue import CONFIG, SETTINGS
from tiltmeter.jobs.command import build
from tiltmeter.jobs.embedding.config import BootstrapRun
from tiltmeter.jobs.embedding.corpora import Corpus, read_corpora
from tiltmeter.jobs.embedding.replicas import TrainReplica, embed, publish_losses
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources, find_sources
from tiltmeter.jobs.embedding.tables import TABLES
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.execute import execute
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.text.spelling import normalised
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.store.ledger import Store, TableRef

Settings = dict[str, object]
"""Of the command, by their keys."""


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SamplesRun(BootstrapRun):
    """As a run of ``bootstrap``, on corpora of one language, which are told apart by their names."""

    @pydantic.model_validator(mode="after")
    def _corpora_can_be_told_apart(self) -> Self:
        return self


@dataclass(frozen=True)
class Models:
    """Vectors of listed words in the models of one sample.

    Attributes:
        vectors: ``[models, words, dims]``, NaN where a model lacks the word.
        replica: ``[models]``, 0 for the sample itself, -1 and down for it from further starts.
        words: ``[words]``.
        counts: ``[words]`` in the sample.
        num_tokens: of the sample.
    """

    vectors: NDArray[np.float32]
    replica: NDArray[np.int64]
    words: NDArray[np.str_]
    counts: NDArray[np.int64]
    num_tokens: int

    @classmethod
    def load(cls, file: Path) -> Self:
        """As :meth:`save` left them."""
        with np.load(file) as arrays:
            return cls(**arrays)

    def save(self, file: Path) -> None:
        """Into a file, which is there once it is whole."""
        partial = file.with_suffix(".partial.npz")
        np.savez(partial, **vars(self))
        partial.rename(file)


@dataclass(frozen=True)
class Training:
    """What is trained together.

    Attributes:
        language: of the texts.
        texts: files of each sample, by its name.
        settings: of the run.
    """

    language: str
    texts: Mapping[str, Sequence[Path]]
    settings: Settings


def train(store: Path, training: Training, folder: Path) -> list[Path]:
    """Train on every sample, or find what has been trained; returns files with the :class:`Models` of each."""
    config = _config(store, training)
    folder.mkdir(parents=True, exist_ok=True)
    places = {sample.name: folder / f"{sample.name}.npz" for sample in config.corpora}
    costs = folder / "costs.json"
    job = Job(SamplesRun, find_sources, partial(_keep, places, costs), TABLES, resources=embedding_requests)
    execute(job, config)
    return list(places.values())


def word_sets(language: str) -> WordSets:
    """Those of the product, as texts are spelled."""
    config = _config(Path("store"), Training(language, {"sample": [Path("sample")]}, {}))
    return normalised(config.wordset[language], Tokenizer(language))


def _config(store: Path, training: Training) -> SamplesRun:
    samples = [CorpusConfig(name, training.language, tuple(map(str, files))) for name, files in training.texts.items()]
    words = ["job=bootstrap", "corpus=file", f"corpus.language={training.language}", "corpus.path=samples"]
    words += [f"{key}={value}" for key, value in ({"store": store} | dict(training.settings)).items()]
    with hydra.initialize_config_module(SETTINGS, version_base="1.3"):
        run = build(hydra.compose(CONFIG, words), words)
    return SamplesRun(**{field.name: getattr(run, field.name) for field in fields(run)} | {"corpora": tuple(samples)})


def _keep(places: Mapping[str, Path], costs: Path, run: Run[SamplesRun, Sources]) -> None:
    samples = read_corpora(run).corpora
    trained = embed(run, samples)
    run.publish("corpora", [samples[name].summary for name in trained.groups])
    publish_losses(run, trained)
    for name, replicas in trained.groups.items():
        _models(run.runner.store, samples[name], replicas).save(places[name])
    num_trained = sum(record.num_done for record in run.runner.records if record.name == "train")
    _add_cost(costs, Cost(num_trained, cpu_seconds() if num_trained else 0.0))


def _models(store: Store, sample: Corpus, replicas: Done[TrainReplica]) -> Models:
    is_listed = (pl.col("status") == "ok") & (pl.col("lists").list.len() > 0)
    listed = pl.DataFrame(store.read(sample.listed)).filter(is_listed)
    words = listed["word"].to_numpy().astype(np.str_)
    vectors = np.stack([_vectors(store, ref, listed.select("word")) for ref in replicas.refs("embedding")])
    numbers, counts = [work.replica for work, _ in replicas.pairs], listed["count"].to_numpy()
    return Models(vectors, np.array(numbers), words, counts, *sample.numbers(store, "num_tokens"))


def _vectors(store: Store, ref: TableRef, words: pl.DataFrame) -> NDArray[np.float32]:
    trained = pl.DataFrame(store.read(ref.select("word", "vector")))
    return matrix(words.join(trained, on="word", how="left", maintain_order="left").to_arrow()["vector"])


# --- what it took ---------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What training took, summed over the runs that it needed.

    Attributes:
        num_models: trained.
        core_seconds: of CPU time of all processes.
    """

    num_models: int
    core_seconds: float


def read_cost(file: Path) -> Cost:
    """Nothing, if there is no such file."""
    return Cost(*json.loads(file.read_text())) if file.exists() else Cost(0, 0.0)


def _add_cost(file: Path, more: Cost) -> None:
    cost = read_cost(file)
    file.write_text(json.dumps([cost.num_models + more.num_models, cost.core_seconds + more.core_seconds]))


def cpu_seconds() -> float:
    """CPU time of this process and of those that it started and that still run."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return float(sum(time.user + time.system for time in times))

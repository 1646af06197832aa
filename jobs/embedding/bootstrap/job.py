"""Job `bootstrap`: from corpora to their vocabularies, one embedding per bootstrap replica, and their exports."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
from pyarrow import fs

from tiltmeter.jobs.embedding.bootstrap.model_card import card
from tiltmeter.jobs.embedding.config import BootstrapRun, EmbeddingsRun
from tiltmeter.jobs.embedding.corpora import Corpus, read_corpora
from tiltmeter.jobs.embedding.replicas import TrainReplica, replica_label, train
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources, find_sources
from tiltmeter.jobs.embedding.tables import TABLES
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.tables import write_file
from tiltmeter.storage.vectors.files import EmbeddingFile, ExportFormat, write_embedding
from tiltmeter.storage.vectors.safetensors_files import write_safetensors

SUFFIXES: dict[ExportFormat, str] = {
    "word2vec_text": "vec",
    "word2vec_binary": "bin",
    "glove": "txt",
    "keyedvectors": "kv",
    "parquet": "parquet",
}


def run(run: Run[BootstrapRun, Sources]) -> None:
    """Embed the corpora; publish what came of it, and export the vectors."""
    read = read_corpora(run)
    read.publish_slices(run)
    trained = train(run, read.corpora)
    if run.config.job.export:
        export(run, read.corpora, trained, run.config.job.export)


def export(
    run: Run[EmbeddingsRun, Sources],
    corpora: Mapping[str, Corpus],
    trained: Done[TrainReplica],
    formats: Sequence[ExportFormat | Literal["safetensors"]],
) -> None:
    """Write every replica and further start of every corpus in every format into ``exports/``, and their card.

    Where a format has room for counts, they are those of the corpus itself; safetensors has all replicas in one file.
    """
    store, labels, disk = run.runner.store, _labels(corpora), fs.LocalFileSystem()
    files: dict[str, list[str]] = {form: [] for form in formats}
    for name, replicas in trained.groups.items():
        vocabulary = store.read(corpora[name].vocabulary.select("word", "count"))
        counts = dict(zip(*(vocabulary[column].to_pylist() for column in ("word", "count")), strict=True))
        if "safetensors" in formats:
            place = run.directory.export(f"{labels[name]}.safetensors")
            files["safetensors"].append(place.name)
            _write_tensors(store, str(place), vocabulary["word"].to_pylist(), replicas)
        for work, unit in replicas.pairs if {*formats} - {"safetensors"} else ():
            vectors = embedding_file(store.read(unit.tables["embedding"].select("word", "vector")))
            word_counts = [counts[word] for word in vectors.words]
            for form in formats:
                if form == "safetensors":
                    continue
                place = run.directory.export(f"{labels[name]}_{replica_label(work.replica)}.{SUFFIXES[form]}")
                files[form].append(place.name)
                write_embedding(disk, str(place), vectors, form, setting="run_dir=<path>", counts=word_counts)
    text = card(run, corpora, trained, files).encode()
    write_file(disk, str(run.directory.export("README.md")), lambda sink: sink.write(text), setting="run_dir=<path>")


def _write_tensors(store: Store, place: str, words: Sequence[str], replicas: Done[TrainReplica]) -> None:
    refs = [unit.tables["embedding"].select("vector") for _, unit in replicas.pairs]
    write_safetensors(
        place,
        words,
        [replica_label(work.replica) for work, _ in replicas.pairs],
        replicas.pairs[0][0].training.dimensions,
        lambda: (matrix(store.read(ref)["vector"]) for ref in refs),
        setting="run_dir=<path>",
    )


def _labels(corpora: Mapping[str, Corpus]) -> dict[str, str]:
    """What files of each corpus are called: its language where no other has it, else its name, as far as files go."""
    times = Counter(corpus.language for corpus in corpora.values())
    labels: dict[str, str] = {}
    for name, corpus in corpora.items():
        label = corpus.language if times[corpus.language] == 1 else file_label(name)
        labels[name] = label if label not in labels.values() else f"{label}_{len(labels)}"
    return labels


def file_label(name: str) -> str:
    """A corpus's or a model's name, as far as files go."""
    return re.sub(r"[^\w.-]", "_", name)


def embedding_file(table: pa.Table) -> EmbeddingFile:
    """Words and vectors of a table that has them, without words that lack one."""
    present = table.filter(table["vector"].is_valid())
    vectors = present["vector"].combine_chunks()
    return EmbeddingFile(
        present["word"].to_pylist(), vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size).astype(np.float32)
    )


JOB = Job(BootstrapRun, find_sources, run, TABLES, "tiltmeter.jobs.embedding.page:page", embedding_requests)

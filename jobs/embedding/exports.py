"""Embeddings of a run in formats that other programs read, beside the table."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import fs

from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.embedding.embed import Embeddings, replica_label
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.storage.vectors.files import EmbeddingFile, ExportFormat, write_embedding

_SUFFIXES: dict[ExportFormat, str] = {
    "word2vec_text": "vec",
    "word2vec_binary": "bin",
    "glove": "txt",
    "keyedvectors": "kv",
    "parquet": "parquet",
}


def export(
    run: Run[EmbeddingsRun, Sources],
    corpora: Mapping[str, TokenisedCorpus],
    embeddings: Mapping[str, Embeddings],
    formats: Sequence[ExportFormat],
) -> None:
    """Write every replica and further start of every corpus in every format into ``exports/``.

    Where a format has room for counts, they are those of the corpus itself.
    """
    store, labels = run.runner.store, _labels(corpora)
    for name, embedding in embeddings.items() if formats else ():
        vocabulary = store.read(corpora[name].vocabulary.select("word", "count"))
        counts = dict(zip(*(vocabulary[column].to_pylist() for column in ("word", "count")), strict=True))
        for replica, ref in embedding.vectors.items():
            vectors = _embedding(store.read(ref.select("word", "vector")))
            word_counts = [counts[word] for word in vectors.words]
            for form in formats:
                place = run.directory.export(f"{labels[name]}_{replica_label(replica)}.{_SUFFIXES[form]}")
                disk = fs.LocalFileSystem()
                write_embedding(disk, str(place), vectors, form, setting="run_dir=<path>", counts=word_counts)


def _labels(corpora: Mapping[str, TokenisedCorpus]) -> dict[str, str]:
    """What files of each corpus are called: its language where no other has it, else its name, as far as files go."""
    times = Counter(corpus.language for corpus in corpora.values())
    labels: dict[str, str] = {}
    for name, corpus in corpora.items():
        label = corpus.language if times[corpus.language] == 1 else re.sub(r"[^\w.-]", "_", name)
        labels[name] = label if label not in labels.values() else f"{label}_{len(labels)}"
    return labels


def _embedding(table: pa.Table) -> EmbeddingFile:
    present = table.filter(table["vector"].is_valid())
    vectors = present["vector"].combine_chunks()
    return EmbeddingFile(
        present["word"].to_pylist(), vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size).astype(np.float32)
    )

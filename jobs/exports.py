"""Embeddings of a run in formats that other programs read, beside the table."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import fs

from jobs.context import Run
from jobs.embedding import Embeddings
from jobs.embeddings_config import EmbeddingsRun
from jobs.sources import Sources
from jobs.vocabulary import TokenisedCorpus
from storage.embedding_files import EmbeddingFile, ExportFormat, write_embedding

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
    """Write every replica of every corpus in every format into ``exports/``."""
    for name, found in embeddings.items():
        for number, ref in enumerate(found.replicas):
            table = run.runner.store.read(ref.select("word", "vector")) if formats else None
            for form in formats:
                place = run.directory.export(f"{corpora[name].language}_replica_{number:04d}.{_SUFFIXES[form]}")
                write_embedding(fs.LocalFileSystem(), str(place), _embedding(table), form, setting="run_dir=<path>")


def _embedding(table: pa.Table) -> EmbeddingFile:
    present = table.filter(table["vector"].is_valid())
    vectors = present["vector"].combine_chunks()
    return EmbeddingFile(
        present["word"].to_pylist(), vectors.flatten().to_numpy().reshape(-1, vectors.type.list_size).astype(np.float32)
    )

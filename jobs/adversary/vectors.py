"""Whole vocabularies of an embedding and its replicas, in which words have neighbours."""

from typing import cast

import pyarrow as pa

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary.config import AdversarySources, Directions, GenderAdversaryRun
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.trained import read, train
from tiltmeter.jobs.embedding.vectors.selection import vector_column
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.vectors.files import read_embedding

_LEAST_PAIRS = 2
"""Of which a principal component is taken."""


def whole_vectors(run: Run[GenderAdversaryRun, AdversarySources]) -> list[TableRef]:
    """Tables with the columns ``word``, the most frequent first, and ``vector``: the original, then its replicas.

    Raises:
        UnitsFailed: if an embedding can't be trained or read.
        InputError: if a direction has no vectors.
    """
    config = run.config.embedding
    if isinstance(config, EmbeddingConfig):
        [trained] = train(run, read(run).tokenised).values()
        refs = [trained.vectors[number].select("word", "vector") for number in range(config.num_replicas + 1)]
    else:
        [files] = run.sources.files.values()
        units = [_unit(file, cast(FileEmbedding, config)) for file in files]
        done = run.runner.run_whole(Stage("read vectors", each(_read), {"vectors": units}))["vectors"]
        refs = [finished.tables["vectors"] for finished in done]
    _check_directions(run.config.direction, _known_words(run.runner.store, refs[ORIGINAL]))
    return refs


def _unit(file: FoundFile, config: FileEmbedding) -> Unit:
    settings = {"file": file.identity, "format": config.format, "allow_pickle": config.allow_pickle}
    return Unit("whole_vectors/1", redacted(file.uri), settings)


def _read(_: Store, unit: Unit) -> Tables:
    config = unit.config
    words, vectors = read_embedding(config["file"]["uri"], config["format"], config["allow_pickle"])
    yield "vectors", pa.table({"word": pa.array(words, pa.string()), "vector": vector_column(vectors)})


def _known_words(store: Store, ref: TableRef) -> set[str]:
    table = store.read(ref)
    return set(table.filter(table["vector"].is_valid())["word"].to_pylist())


def _check_directions(config: Directions, known: set[str]) -> None:
    for kind in config.shifts:
        pairs = config.pairs_of(kind)
        num_known = sum(known.issuperset(pair) for pair in pairs)
        if num_known < (1 if kind == "pair" else _LEAST_PAIRS):
            missing = sorted({word for pair in pairs for word in pair} - known)
            raise InputError(
                f"direction.{'pair' if kind == 'pair' else 'pairs'}: the embedding has no vectors for "
                f"{', '.join(missing)}, so there is no direction {kind!r}; choose other words, leave it out of "
                "direction.kinds, or take an embedding of more words"
            )

"""Whole vocabularies of an embedding and its replicas, in which words have neighbours."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import pyarrow as pa

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary.config import AdversarySources, Directions, GenderAdversaryRun
from tiltmeter.jobs.embedding.config import EmbeddingConfig, FileEmbedding
from tiltmeter.jobs.embedding.corpora import read_corpora
from tiltmeter.jobs.embedding.pages import left_out_table, read_whole_files
from tiltmeter.jobs.embedding.replicas import replica_scheme, train
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import ORDER, Scheme
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.vectors.files import read_embedding

_LEAST_PAIRS = 2
"""Of which a principal component is taken."""


class WholeVectors(NamedTuple):
    """Attributes:
    tables: with the columns ``word``, the most frequent first, and ``vector``: the original, then its replicas.
    replicas: what tells these replicas from others, in their order: two runs that agree on it draw alike whatever
        lines their corpora share, or read the same files.
    """

    tables: Sequence[TableRef]
    replicas: Scheme


def whole_vectors(run: Run[GenderAdversaryRun, AdversarySources]) -> WholeVectors:
    """The vectors of all words.

    Raises:
        UnitsFailed: if an embedding can't be trained or read.
        InputError: if a direction has no vectors.
    """
    config = run.config.embedding
    if isinstance(config, EmbeddingConfig):
        corpora = read_corpora(run).corpora
        [corpus], trained = corpora.values(), train(run, corpora)
        resampling = corpus.resampling(run.runner.store, config)
        drawn = replica_scheme(run.config.seed, config, corpus.vocabulary, resampling)
        # Texts are drawn beside them, so that draws of runs that train alike have noise that these do not share.
        replicas = {name: value for name, value in drawn.items() if name not in ("paired_by", ORDER)}
        refs = [ref.select("word", "vector") for ref in trained.refs("embedding")[: config.num_replicas + 1]]
    else:
        [files] = run.sources.files.values()
        units = [_unit(file, cast(FileEmbedding, config)) for file in files]
        stage = Stage("read vectors", each(_read), {"vectors": units})
        done = read_whole_files(run.runner, stage, run.config.reading.max_bad_share)["vectors"]
        refs = [finished.tables["vectors"] for finished in done]
        replicas = {"tables": digest([dict(ref.columns) for ref in refs[ORIGINAL + 1 :]])}
    _check_directions(run.config.direction, _known_words(run.runner.store, refs[ORIGINAL]))
    return WholeVectors(refs, replicas | {"number": len(refs) - 1})


def _unit(file: FoundFile, config: FileEmbedding) -> Unit:
    settings = {"file": file.identity, "format": config.format, "allow_pickle": config.allow_pickle}
    return Unit("whole_vectors/1", redacted(file.uri), settings)


def _read(_: Store, unit: Unit) -> Tables:
    config, bad = unit.config, BadRecords()
    words, vectors = read_embedding(config["file"]["uri"], config["format"], config["allow_pickle"], bad)
    yield from left_out_table(bad)
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

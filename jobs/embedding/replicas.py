"""One embedding per bootstrap replica and random start of each corpus: from counted pairs, or from lines."""

import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, ClassVar, Self, cast

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun
from tiltmeter.jobs.embedding.corpora import Corpus
from tiltmeter.jobs.embedding.pairs import (
    IndexedLines,
    count_column,
    count_corpora,
    indexed_lines,
    numbered_words,
    tiling_of,
    word_indices,
)
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.tables import EmbeddedWords, TrainingLosses
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import ORDER, Scheme
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.work import Done, Work, aside
from tiltmeter.operators.compute.workspace import IN_MEMORY, Workspace
from tiltmeter.operators.embedding import bootstrap, fasttext, glove, word2vec
from tiltmeter.operators.embedding.bootstrap import (
    LINES,
    Resampling,
    drawn_replica,
    replica_multiplicities,
    replica_name,
)
from tiltmeter.operators.embedding.fasttext import FastTextConfig, FastTextTraining
from tiltmeter.operators.embedding.glove import BYTES_PER_PAIR, Counts, GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import KeyedBy, KeyedWords
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, joined_pairs
from tiltmeter.operators.embedding.training import TrainedReplica, Training
from tiltmeter.operators.embedding.word2vec import Word2VecConfig, Word2VecTraining
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.scratch import Scratch


class TrainReplica(Work, stage="train"):
    """One replica to its last epoch, from the last saved state if there is one: ``embedding`` and ``training``."""

    language: str
    training: GloveConfig | Word2VecConfig | FastTextConfig
    replica: int
    seed: int
    vocabulary: TableRef
    checkpoint_seconds: float = aside(default=60.0)

    def words(self, store: Store) -> pa.ChunkedArray:
        """Of the vocabulary, in its order."""
        return store.read(self.vocabulary)["word"]

    def trained(self, store: Store, training: Training) -> TrainedReplica:
        """What comes of all epochs; the state is saved on the way."""
        unit = self.unit()
        if state := store.load_state(unit):
            training.restore(state)
        saved = time.monotonic()
        while training.epochs_done < self.training.epochs:
            training.advance()
            if time.monotonic() - saved >= self.checkpoint_seconds:
                store.save_state(unit, training.state())
                saved = time.monotonic()
        return training.result()

    def trained_tables(self, words: pa.ChunkedArray, trained: TrainedReplica) -> Tables:
        """Vectors and losses."""
        same = {"language": self.language, "replica": self.replica}
        missing, width = pa.array(np.isnan(trained.vectors[:, 0])), trained.vectors.shape[1]
        vectors = pa.FixedSizeListArray.from_arrays(trained.vectors.ravel(), width, mask=missing)
        columns = same | {"word": words, "vector": vectors}
        yield "embedding", _rows(EmbeddedWords.of(width, stored=True), len(words), columns)
        losses, num_epochs = pa.array(trained.losses, from_pandas=True), trained.losses.size
        columns = same | {"epoch": np.arange(1, num_epochs + 1), "loss": losses}
        yield "training", _rows(TrainingLosses.schema(stored=True), num_epochs, columns)


def _rows(schema: pa.Schema, num_rows: int, columns: Mapping[str, object]) -> pa.Table:
    """A table in a schema, with single values repeated in every row."""
    filled = [
        pa.repeat(pa.scalar(value, field.type), num_rows)
        if isinstance(value := columns[field.name], str | int)
        else value
        for field in schema
    ]
    return pa.table(dict(zip(schema.names, filled, strict=True))).cast(schema)


# --- GloVe, from pairs ----------------------------------------------------------------------------------------------


class TrainOnPairs(TrainReplica, unit=glove.VERSION):
    """GloVe; the structure of its pairs stays in the worker for the next replica of the corpus.

    Pairs that take more than ``memory_bytes`` are kept on a local disk, in the folder ``scratch``. Threads share a
    replica.
    """

    training: GloveConfig
    tiling: Tiling
    units_per_line: int = 1
    keyed_by: KeyedBy = "rank"
    pairs: Sequence[TableRef]
    memory_bytes: int = aside(default=0)
    scratch: str | None = aside(default=None)

    @classmethod
    def batch(cls, store: Store, works: Sequence[Self], num_threads: int) -> Iterator[Tables]:
        for work in works:
            yield work.tables_by(store, num_threads)

    def tables_by(self, store: Store, num_threads: int) -> Tables:
        """The unit's tables, by so many threads."""
        with resident(self._structure_key, lambda _: self._structure(store)) as structure:
            words, keyed, pairs, workspace = structure
            arguments = (self.tiling, self.replica, self.seed, self.training)
            training = GloveTraining(pairs, self.counts(store), *arguments, workspace, num_threads, keyed)
            yield from self.trained_tables(words, self.trained(store, training))

    @property
    def _structure_key(self) -> tuple[Hashable, ...]:
        """What tells pairs of a corpus from those of another."""
        names = (ref.columns["name"] for ref in self.pairs)
        return self.memory_bytes, self.scratch, self.vocabulary.columns["word"], self.tiling, *names

    def _structure(self, store: Store) -> tuple[pa.ChunkedArray, KeyedWords | None, TiledPairs, Workspace]:
        fits = self._num_pairs * BYTES_PER_PAIR <= self.memory_bytes
        workspace = IN_MEMORY if fits else Scratch(self.scratch, "cluster.scratch=<path>")
        return self.words(store), self.keyed_words(store), self.structure(store, workspace), workspace

    @property
    def _num_pairs(self) -> int:
        return sum(ref.num_rows for ref in self.pairs)

    def keyed_words(self, store: Store) -> KeyedWords | None:
        """The words, if draws are keyed by them."""
        return numbered_words(store, self.vocabulary, self.tiling, self.keyed_by)

    def structure(self, store: Store, workspace: Workspace) -> TiledPairs:
        """Of the pairs of the corpus, which its replicas share."""
        return joined_pairs(self._pieces(store, "name"), self._num_pairs, self.tiling, workspace)

    def counts(self, store: Store) -> Iterator[Counts]:
        """In units of 1/2520."""
        pieces = self._pieces(store, count_column(drawn_replica(self.replica)))
        return pieces if self.units_per_line == 1 else (piece / self.units_per_line for piece in pieces)

    def _pieces(self, store: Store, column: str) -> Iterator[NDArray[np.int64]]:
        """A column of one pair table after the other."""
        return (store.read(ref.select(column))[column].to_numpy() for ref in self.pairs)


class TrainOnCard(TrainOnPairs, unit=glove.CUDA_VERSION):
    """GloVe on as many replicas of a batch at once as the worker's card has memory for."""

    @classmethod
    def batch(cls, store: Store, works: Sequence[Self], num_threads: int) -> Iterator[Tables]:  # noqa: ARG003
        # Workers without a card need not load torch.
        import torch

        from tiltmeter.operators.embedding.glove_cuda import check_device, replicas_that_fit

        check_device("cuda")
        first = works[0]
        words, pairs = first.words(store), first.structure(store, IN_MEMORY)
        size = replicas_that_fit(pairs.rows.size, len(words), first.training, torch.cuda.mem_get_info()[0])
        for start in range(0, len(works), size):
            yield from cls._at_once(store, works[start : start + size], words, pairs)

    @classmethod
    def _at_once(
        cls, store: Store, works: Sequence[Self], words: pa.ChunkedArray, pairs: TiledPairs
    ) -> Iterator[Tables]:
        from tiltmeter.operators.embedding.glove_cuda import CudaGlove

        first, units, replicas = works[0], [work.unit() for work in works], [work.replica for work in works]
        counts = (np.concatenate(list(work.counts(store))) for work in works)
        arguments = (first.tiling, replicas, first.seed, first.training)
        training = CudaGlove(pairs, counts, *arguments, words=first.keyed_words(store))
        for number, unit in enumerate(units):
            if state := store.load_state(unit):
                training.restore(number, state)
        saved = time.monotonic()
        while min(map(training.epochs_done, range(len(works)))) < first.training.epochs:
            training.advance()
            if time.monotonic() - saved >= first.checkpoint_seconds:
                for number, unit in enumerate(units):
                    store.save_state(unit, training.state(number))
                saved = time.monotonic()
        for number, work in enumerate(works):
            yield work.trained_tables(words, training.result(number))


# --- word2vec and fastText, from lines ------------------------------------------------------------------------------


class TrainWord2Vec(TrainReplica, unit=word2vec.VERSION):
    """On the lines of the corpus as they are resampled."""

    bootstrap: str = bootstrap.VERSION
    gensim: str = version("gensim")
    resampling: Resampling = LINES
    lines: Sequence[TableRef]
    words_of_shards: Sequence[TableRef]

    trainer: ClassVar[Any] = Word2VecTraining

    def tables(self, store: Store) -> Tables:
        words, lines = self.words(store), _ResampledLines(store, self)
        arguments = (lines.word_counts(), lines, self.replica, self.seed, self.training)
        yield from self.trained_tables(words, self.trained(store, self.trainer(words.to_pylist(), *arguments)))


class TrainFastText(TrainWord2Vec, unit=fasttext.VERSION):
    """The same with parts of words."""

    trainer: ClassVar[Any] = FastTextTraining


@dataclass(frozen=True)
class _ResampledLines:
    """The lines of a replica, in the order of the corpus, each as often as it was drawn; read anew in each pass."""

    store: Store
    work: TrainWord2Vec

    def __call__(self) -> Iterator[NDArray[np.int32]]:
        """A pass over the corpus."""
        for lines, multiplicities in self._shards():
            for number in np.flatnonzero(multiplicities):
                line = lines.tokens[lines.offsets[number] : lines.offsets[number + 1]]
                for _ in range(multiplicities[number] if line.size else 0):
                    yield line

    def word_counts(self) -> NDArray[np.int64]:
        """How often each word of the vocabulary comes."""
        counts = np.zeros(self.work.vocabulary.num_rows, np.int64)
        for lines, multiplicities in self._shards():
            repeated = np.repeat(multiplicities, np.diff(lines.offsets))
            counts += np.bincount(lines.tokens, repeated, minlength=counts.size).astype(np.int64)
        return counts

    @cached_property
    def _known(self) -> pl.DataFrame:
        return word_indices(self.store, self.work.vocabulary)

    def _shards(self) -> Iterator[tuple[IndexedLines, NDArray[np.unsignedinteger]]]:
        work = self.work
        for ref, words in zip(work.lines, work.words_of_shards, strict=True):
            lines = indexed_lines(self.store, ref, words, self._known)
            drawn = replica_multiplicities(work.seed, lines.documents, lines.numbers, work.replica, work.resampling)
            yield lines, drawn


# --- the stage ------------------------------------------------------------------------------------------------------


def train(run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, Corpus]) -> Done[TrainReplica]:
    """The replicas and starts of the corpora that could be embedded whole; publishes what was read and trained.

    Raises:
        UnitsFailed: if none could.
        ClusterError: if ``embedding.device=cuda`` and the cluster has no GPU.
    """
    done = embed(run, corpora)
    run.publish("corpora", [corpora[name].summary for name in done.groups])
    run.publish("vocabulary", [corpora[name].listed.labelled(corpus=name) for name in done.groups])
    publish_losses(run, done)
    parts = [
        (f"{work.language}_{replica_label(work.replica)}", unit.tables["embedding"].labelled(corpus=work.group))
        for work, unit in done.pairs
    ]
    run.publish_parts("embeddings", parts)
    return done


def publish_losses(run: Run[EmbeddingsRun, Sources], done: Done[TrainReplica]) -> None:
    """Publish the table ``training``."""
    run.publish("training", [unit.tables["training"].labelled(corpus=work.group) for work, unit in done.pairs])


def embed(run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, Corpus]) -> Done[TrainReplica]:
    """As :func:`train`, and publishes nothing."""
    embedding = cast(EmbeddingConfig, run.config.embedding)
    return (_on_pairs if embedding.trainer.name == "glove" else _on_lines)(run, corpora, embedding)


def _on_pairs(
    run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, Corpus], embedding: EmbeddingConfig
) -> Done[TrainReplica]:
    runner, cluster = run.runner, run.config.cluster
    on_gpu = uses_gpus(embedding.device, runner.pool.num_gpus)
    counted = count_corpora(run, corpora).groups
    tilings = {
        name: tiling_of(corpora[name].vocabulary, embedding.cooccurrence, embedding.keyed_by) for name in counted
    }
    resampling = {name: corpora[name].resampling(runner.store, embedding) for name in counted}
    works = [
        (TrainOnCard if on_gpu else TrainOnPairs)(
            **_replica_fields(run, corpora[name], embedding, replica),
            needs_gpu=on_gpu,
            tiling=tilings[name],
            units_per_line=resampling[name].units_per_line,
            keyed_by=embedding.keyed_by,
            pairs=[ref.select("name", count_column(drawn_replica(replica))) for ref in pairs.refs("pairs")],
            memory_bytes=cluster.worker_data_bytes,
            scratch=cluster.scratch,
        )
        for name, pairs in counted.items()
        for replica in embedding.replicas
    ]
    if not works:
        runner.check()
    if on_gpu:
        # As many as a card's memory holds are trained together; the worker finds out how many these are.
        return run.do(works, batch_size=-(-len(embedding.replicas) // runner.pool.num_gpus))
    # A round has as many tiles as there are blocks: four for each thread, at least.
    return run.do(works, most_threads=min((tiling.num_blocks for tiling in tilings.values()), default=4) // 4)


def _on_lines(
    run: Run[EmbeddingsRun, Sources], corpora: Mapping[str, Corpus], embedding: EmbeddingConfig
) -> Done[TrainReplica]:
    kind = {"word2vec": TrainWord2Vec, "fasttext": TrainFastText}[embedding.trainer.name]
    resampling = {name: corpus.resampling(run.runner.store, embedding) for name, corpus in corpora.items()}
    return run.do(
        kind(
            **_replica_fields(run, corpus, embedding, replica),
            resampling=resampling[name],
            lines=corpus.lines,
            words_of_shards=[ref.select("word") for ref in corpus.words],
        )
        for name, corpus in corpora.items()
        for replica in embedding.replicas
    )


def _replica_fields(
    run: Run[EmbeddingsRun, Sources], corpus: Corpus, embedding: EmbeddingConfig, replica: int
) -> dict[str, Any]:
    """Of every :class:`TrainReplica`."""
    name = corpus.text.name
    return {
        "group": name,
        "label": f"{name} {replica_name(replica)}",
        "language": corpus.language,
        "training": embedding.trainer,
        "replica": replica,
        "seed": run.config.seed,
        "vocabulary": corpus.vocabulary.select("word"),
        "checkpoint_seconds": embedding.checkpoint_seconds,
    }


def replica_scheme(
    seed: int, embedding: EmbeddingConfig, vocabulary: TableRef, resampling: Resampling = LINES
) -> Scheme:
    """What the lines of replicas are drawn by: two runs of one scheme draw the lines that both have alike.

    Where draws are keyed by words, they also train alike what both have; but not in another number of blocks.
    """
    drawn = {"unit": resampling.unit, "weights": resampling.weights}
    scheme = {"paired_by": "replicas", "seed": seed, "operator": bootstrap.VERSION} | drawn
    if embedding.keyed_by == "rank":
        return scheme
    tiling = tiling_of(vocabulary, embedding.cooccurrence, embedding.keyed_by)
    return scheme | {"keyed_by": embedding.keyed_by, ORDER: tiling.num_blocks}


def replica_label(replica: int) -> str:
    """What files of a replica are called, such as ``replica_0003``, or ``start_0001`` for a further start.

    >>> replica_label(3), replica_label(-1)
    ('replica_0003', 'start_0001')
    """
    kind, number = replica_name(replica).split()
    return f"{kind}_{int(number):04d}"

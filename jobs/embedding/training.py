"""The work of the train stage: replicas to their last epoch, from the last saved state if there is one."""

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.embedding.corpus.counting import count_column, numbered_words
from tiltmeter.jobs.embedding.corpus.indexed_lines import IndexedLines, code_index, indexed_lines, word_indices
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.operators.compute.workspace import IN_MEMORY, Workspace
from tiltmeter.operators.embedding.bootstrap import LINES, drawn_replica, replica_multiplicities
from tiltmeter.operators.embedding.fasttext import FastTextConfig, FastTextTraining
from tiltmeter.operators.embedding.glove import BYTES_PER_PAIR, Counts, GloveTraining
from tiltmeter.operators.embedding.keyed_words import KeyedWords
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, joined_pairs
from tiltmeter.operators.embedding.training import TrainedReplica, Training
from tiltmeter.operators.embedding.word2vec import Word2VecTraining
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.scratch import Scratch


@dataclass(frozen=True)
class PairTraining:
    """Trains GloVe on a replica; the structure of its pairs stays in the worker for the next replica of the corpus.

    Pairs that take more than ``memory_bytes`` are kept on a local disk, in the folder ``scratch``. Threads share a
    replica.
    """

    checkpoint_seconds: float
    memory_bytes: int
    scratch: str | None
    num_threads: int = 1

    def __call__(self, store: Store, unit: Unit) -> Tables:
        """The unit's tables."""
        with resident((self, *_pair_names(unit)), lambda _: self._structure(store, unit)) as structure:
            words, keyed, pairs, workspace = structure
            arguments = (_tiling(unit), unit.config["replica"], unit.config["seed"], unit.config["training"])
            training = GloveTraining(pairs, _count_pieces(store, unit), *arguments, workspace, self.num_threads, keyed)
            _advance_to_end(store, unit, training, self.checkpoint_seconds)
            yield from _trained_tables(unit, words, training.result())

    def _structure(self, store: Store, unit: Unit) -> tuple[pa.ChunkedArray, KeyedWords | None, TiledPairs, Workspace]:
        fits = _num_pairs(unit) * BYTES_PER_PAIR <= self.memory_bytes
        workspace = IN_MEMORY if fits else Scratch(self.scratch, "cluster.scratch=<path>")
        return _words(store, unit), _keyed_words(store, unit), _pair_structure(store, unit, workspace), workspace


@dataclass(frozen=True)
class LineTraining:
    """Trains word2vec or fastText on a replica: the lines of the corpus as they are resampled."""

    checkpoint_seconds: float

    def __call__(self, store: Store, unit: Unit) -> Tables:
        """The unit's tables."""
        words = _words(store, unit)
        lines = _ResampledLines(store, unit)
        settings, config = unit.config["training"], unit.config
        trainer = FastTextTraining if isinstance(settings, FastTextConfig) else Word2VecTraining
        training = trainer(words.to_pylist(), lines.word_counts(), lines, config["replica"], config["seed"], settings)
        _advance_to_end(store, unit, training, self.checkpoint_seconds)
        yield from _trained_tables(unit, words, training.result())


@dataclass(frozen=True)
class CudaPairTraining:
    """Trains GloVe on as many replicas of a batch at once as the worker's card has memory for."""

    checkpoint_seconds: float

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        """Each unit's tables."""
        # Workers without a card need not load torch.
        import torch

        from tiltmeter.operators.embedding.glove_cuda import check_device, replicas_that_fit

        check_device("cuda")
        words = _words(store, units[0])
        pairs, config = _pair_structure(store, units[0], IN_MEMORY), units[0].config["training"]
        size = replicas_that_fit(pairs.rows.size, len(words), config, torch.cuda.mem_get_info()[0])
        for start in range(0, len(units), size):
            yield from self._group(store, units[start : start + size], words, pairs)

    def _group(
        self, store: Store, units: Sequence[Unit], words: pa.ChunkedArray, pairs: TiledPairs
    ) -> Iterator[tuple[Unit, Tables]]:
        from tiltmeter.operators.embedding.glove_cuda import CudaGlove

        config, tiling = units[0].config, _tiling(units[0])
        replicas = [unit.config["replica"] for unit in units]
        counts = (np.concatenate(list(_count_pieces(store, unit))) for unit in units)
        keyed = _keyed_words(store, units[0])
        training = CudaGlove(pairs, counts, tiling, replicas, config["seed"], config["training"], words=keyed)
        for number, unit in enumerate(units):
            if state := store.load_state(unit):
                training.restore(number, state)
        saved = time.monotonic()
        while min(map(training.epochs_done, range(len(units)))) < config["training"].epochs:
            training.advance()
            if time.monotonic() - saved >= self.checkpoint_seconds:
                for number, unit in enumerate(units):
                    store.save_state(unit, training.state(number))
                saved = time.monotonic()
        for number, unit in enumerate(units):
            yield unit, _trained_tables(unit, words, training.result(number))


def _words(store: Store, unit: Unit) -> pa.ChunkedArray:
    return store.read(unit.input("vocabulary"))["word"]


def _keyed_words(store: Store, unit: Unit) -> KeyedWords | None:
    return numbered_words(store, unit.input("vocabulary"), _tiling(unit), unit.config)


def _pair_names(unit: Unit) -> tuple[Hashable, ...]:
    """What tells pairs of a corpus from those of another."""
    names = (ref.columns["name"] for ref in unit.inputs["pairs"])
    return unit.input("vocabulary").columns["word"], _tiling(unit), *names


def _tiling(unit: Unit) -> Tiling:
    return Tiling(*unit.config["tiling"])


def _num_pairs(unit: Unit) -> int:
    return sum(ref.num_rows for ref in unit.inputs["pairs"])


def _pair_structure(store: Store, unit: Unit, workspace: Workspace) -> TiledPairs:
    return joined_pairs(_pieces(store, unit, "name"), _num_pairs(unit), _tiling(unit), workspace)


def _count_pieces(store: Store, unit: Unit) -> Iterator[Counts]:
    """In units of 1/2520."""
    pieces = _pieces(store, unit, count_column(drawn_replica(unit.config["replica"])))
    units_per_line = unit.config.get("units_per_line", 1)
    return pieces if units_per_line == 1 else (piece / units_per_line for piece in pieces)


def _pieces(store: Store, unit: Unit, column: str) -> Iterator[NDArray[np.int64]]:
    """A column of one pair table after the other."""
    return (store.read(ref.select(column))[column].to_numpy() for ref in unit.inputs["pairs"])


def _advance_to_end(store: Store, unit: Unit, training: Training, checkpoint_seconds: float) -> None:
    if state := store.load_state(unit):
        training.restore(state)
    saved = time.monotonic()
    while training.epochs_done < unit.config["training"].epochs:
        training.advance()
        if time.monotonic() - saved >= checkpoint_seconds:
            store.save_state(unit, training.state())
            saved = time.monotonic()


@dataclass(frozen=True)
class _ResampledLines:
    """The lines of a replica, in the order of the corpus, each as often as it was drawn; read anew in each pass."""

    store: Store
    unit: Unit

    def __call__(self) -> Iterator[NDArray[np.int32]]:
        """A pass over the corpus."""
        for lines, multiplicities in self._shards():
            for number in np.flatnonzero(multiplicities):
                line = lines.tokens[lines.offsets[number] : lines.offsets[number + 1]]
                for _ in range(multiplicities[number] if line.size else 0):
                    yield line

    def word_counts(self) -> NDArray[np.int64]:
        """How often each word of the vocabulary comes."""
        counts = np.zeros(self.unit.input("vocabulary").num_rows, np.int64)
        for lines, multiplicities in self._shards():
            repeated = np.repeat(multiplicities, np.diff(lines.offsets))
            counts += np.bincount(lines.tokens, repeated, minlength=counts.size).astype(np.int64)
        return counts

    @cached_property
    def _known(self) -> pl.DataFrame:
        return word_indices(self.store, self.unit.input("vocabulary"))

    def _shards(self) -> Iterator[tuple[IndexedLines, NDArray[np.unsignedinteger]]]:
        config = self.unit.config
        resampling = config.get("resampling", LINES)
        for ref, words in zip(self.unit.inputs["lines"], self.unit.inputs["words"], strict=True):
            lines = indexed_lines(self.store, ref, code_index(self.store, words, self._known))
            yield (
                lines,
                replica_multiplicities(config["seed"], lines.documents, lines.numbers, config["replica"], resampling),
            )


def _trained_tables(unit: Unit, words: pa.ChunkedArray, trained: TrainedReplica) -> Tables:
    same = {"language": unit.config["language"], "replica": unit.config["replica"]}
    columns = same | {"word": words, "vector": _vectors(trained)}
    yield "embedding", _rows(tables.EmbeddedWords.of(trained.vectors.shape[1], stored=True), len(words), columns)
    num_epochs = trained.losses.size
    losses = pa.array(trained.losses, from_pandas=True)
    columns = same | {"epoch": np.arange(1, num_epochs + 1), "loss": losses}
    yield "training", _rows(tables.TrainingLosses.schema(stored=True), num_epochs, columns)


def _vectors(trained: TrainedReplica) -> pa.FixedSizeListArray:
    missing = pa.array(np.isnan(trained.vectors[:, 0]))
    return pa.FixedSizeListArray.from_arrays(trained.vectors.ravel(), trained.vectors.shape[1], mask=missing)


def _rows(schema: pa.Schema, num_rows: int, columns: dict[str, object]) -> pa.Table:
    """A table in a schema, with single values repeated in every row."""
    filled = [
        pa.repeat(pa.scalar(value, field.type), num_rows)
        if isinstance(value := columns[field.name], str | int)
        else value
        for field in schema
    ]
    return pa.table(dict(zip(schema.names, filled, strict=True))).cast(schema)

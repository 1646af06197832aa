"""Stages from a tokenised corpus to one embedding per bootstrap replica: co-occurrence, merge, train."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl
import pyarrow as pa
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from cluster.stages import Runner, Stage
from cluster.workers import each
from jobs import tables
from jobs.reading import Shard, TokenisedCorpus
from operators import bootstrap, cooccurrence, glove
from operators.bootstrap import line_multiplicities
from operators.cooccurrence import CooccurrenceConfig, PairCounts
from operators.glove import GloveConfig
from storage.ledger import Store, TableRef, Unit

Tables = Iterator[tuple[str, pa.Table]]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EmbeddingConfig:
    """Embeddings of a corpus and of its bootstrap replicas.

    Attributes:
        num_replicas: bootstrap replicas; the original corpus comes on top, as replica 0.
        group_size: replicas that one worker trains together, sharing their pair structure; no effect on vectors.
        min_count: occurrences that a word needs to be in the vocabulary.
    """

    num_replicas: Annotated[int, Field(ge=2, le=4096)] = 32
    group_size: Annotated[int, Field(ge=1)] = 6
    min_count: Annotated[int, Field(ge=1)] = 5
    cooccurrence: CooccurrenceConfig = Field(default_factory=CooccurrenceConfig)
    glove: GloveConfig = Field(default_factory=GloveConfig)


@dataclass(frozen=True)
class Embeddings:
    """One embedding per replica, as references into the store.

    Attributes:
        replicas: of replica 0, 1, ...; all with the words of the vocabulary, in its order.
        training: losses of the same replicas.
    """

    replicas: Sequence[TableRef]
    training: Sequence[TableRef]


def embed(runner: Runner, text: TokenisedCorpus, language: str, config: EmbeddingConfig, seed: int) -> Embeddings:
    """Run the stages for one corpus."""
    shards = _cooccurrence_stage(runner, config, seed, text)
    blocks = _merge_stage(runner, shards)
    return _train_stage(runner, language, config, seed, blocks, text.vocabulary)


# --- co-occurrence: count each shard for all replicas, then merge by row block --------------------------------------


def _cooccurrence_stage(
    runner: Runner, config: EmbeddingConfig, seed: int, text: TokenisedCorpus
) -> list[list[TableRef]]:
    identity = {
        "bootstrap": bootstrap.VERSION,
        "seed": seed,
        "num_replicas": config.num_replicas,
        "counting": config.cooccurrence,
    }
    units = [
        Unit(
            cooccurrence.VERSION,
            f"part {index}",
            identity,
            _counting_inputs(shard, text.vocabulary),
        )
        for index, shard in enumerate(text.shards)
    ]
    return [list(done.tables.values()) for done in runner.run(Stage("co-occurrence", each(_count_pairs), units))]


def _counting_inputs(shard: Shard, vocabulary: TableRef) -> dict[str, list[TableRef]]:
    return {"lines": [shard.lines], "words": [shard.words.select("word")], "vocabulary": [vocabulary.select("word")]}


def _count_pairs(store: Store, unit: Unit) -> Tables:
    lines = store.read(unit.input("lines"))
    tokens = lines["tokens"].combine_chunks()
    index = _vocabulary_index(store, unit)[tokens.flatten().to_numpy()]
    ends = np.append(0, np.cumsum(tokens.value_lengths().to_numpy(), dtype=np.int64))
    known = index >= 0
    offsets = np.append(0, np.cumsum(known, dtype=np.int64))[ends]
    multiplicities = line_multiplicities(
        unit.config["seed"], lines["document"].to_numpy(), lines["line"].to_numpy(), unit.config["num_replicas"]
    )
    blocks = cooccurrence.count_pairs(index[known], offsets, multiplicities, unit.config["counting"])
    for number, block in enumerate(blocks):
        yield f"block_{number:03d}", _pairs_table(block)


def _vocabulary_index(store: Store, unit: Unit) -> NDArray[np.int32]:
    """For each word code of a shard the word's index in the vocabulary, or -1."""
    vocabulary = pl.DataFrame(store.read(unit.input("vocabulary"))).with_row_index("index")
    words = pl.DataFrame(store.read(unit.input("words")))
    joined = words.join(vocabulary, on="word", how="left", maintain_order="left")
    return joined["index"].cast(pl.Int32).fill_null(-1).to_numpy()


def _pairs_table(pairs: PairCounts) -> pa.Table:
    columns = {"first": pairs.first, "second": pairs.second}
    return pa.table(columns | {_count_column(replica): counts for replica, counts in enumerate(pairs.counts)})


def _count_column(replica: int) -> str:
    return f"count_{replica:04d}"


def _merge_stage(runner: Runner, shards: Sequence[Sequence[TableRef]]) -> list[TableRef]:
    units = [
        Unit("merge/1", f"row block {number}", {}, {"parts": parts})
        for number, parts in enumerate(zip(*shards, strict=True))
    ]
    return [done.tables["pairs"] for done in runner.run(Stage("merge", each(_merge_block), units))]


def _merge_block(store: Store, unit: Unit) -> Tables:
    parts = [store.read(ref) for ref in unit.inputs["parts"]]
    merged = cooccurrence.merge_pairs(
        [
            PairCounts(part["first"].to_numpy(), part["second"].to_numpy(), [c.to_numpy() for c in part.columns[2:]])
            for part in parts
        ]
    )
    yield "pairs", _pairs_table(merged)


# --- train: replicas in groups that share one pair structure --------------------------------------------------------


def _train_stage(
    runner: Runner, language: str, config: EmbeddingConfig, seed: int, blocks: Sequence[TableRef], vocabulary: TableRef
) -> Embeddings:
    units = [
        Unit(
            glove.VERSION,
            f"{language} replica {replica}",
            {"replica": replica, "seed": seed, "language": language, "training": config.glove},
            {
                "vocabulary": [vocabulary.select("word")],
                "pairs": [block.select("first", "second", _count_column(replica)) for block in blocks],
            },
        )
        for replica in range(1 + config.num_replicas)
    ]
    trained = runner.run(Stage("train", _train_group, units, batch_size=config.group_size))
    return Embeddings(*([done.tables[name] for done in trained] for name in ("embedding", "training")))


def _train_group(store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
    words = store.read(units[0].input("vocabulary"))["word"]
    keys = pa.concat_tables([store.read(block.select("first", "second")) for block in units[0].inputs["pairs"]])
    how, seed = units[0].config["training"], units[0].config["seed"]
    pairs = glove.tile_pairs(keys["first"].to_numpy(), keys["second"].to_numpy(), len(words), seed, how)
    del keys
    for unit in units:
        yield unit, _train(store, unit, words, pairs)


def _train(store: Store, unit: Unit, words: pa.ChunkedArray, pairs: glove.TiledPairs) -> Tables:
    replica, how = unit.config["replica"], unit.config["training"]
    name = _count_column(replica)
    counts = np.concatenate([store.read(block.select(name))[name].to_numpy() for block in unit.inputs["pairs"]])
    trained = glove.train_replica(pairs, counts, len(words), replica, unit.config["seed"], how)
    same = {"language": unit.config["language"], "replica": replica}
    yield (
        "embedding",
        _rows(tables.embeddings(how.dimensions), len(words), same | {"word": words, "vector": _vectors(trained)}),
    )
    epochs = {"epoch": np.arange(1, how.epochs + 1), "loss": trained.losses}
    yield "training", _rows(tables.TRAINING, how.epochs, same | epochs)


def _vectors(trained: glove.TrainedReplica) -> pa.FixedSizeListArray:
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

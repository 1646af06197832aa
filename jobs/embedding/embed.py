"""One embedding per bootstrap replica of each corpus: which trainer, with which settings, and the stages behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import each
from tiltmeter.jobs.embedding import training
from tiltmeter.jobs.embedding.corpus.counting import PairTables, count_column, count_corpora, drawn, keyed
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.runtime.resources import Device, uses_gpus
from tiltmeter.operators.embedding import bootstrap, fasttext, glove, word2vec
from tiltmeter.operators.embedding.bootstrap import (
    Resampling,
    ResamplingSettings,
    drawn_replica,
    replica_name,
    replica_numbers,
)
from tiltmeter.operators.embedding.cooccurrence import CooccurrenceConfig
from tiltmeter.operators.embedding.fasttext import FastTextConfig
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.operators.embedding.keyed_words import KeyedBy
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_LINE_TRAINERS = {"word2vec": word2vec.VERSION, "fasttext": fasttext.VERSION}

Trainer = Annotated[GloveConfig | Word2VecConfig | FastTextConfig, Field(discriminator="name")]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EmbeddingConfig:
    """Embeddings of a corpus and of its bootstrap replicas.

    Attributes:
        trainer: what trains a replica, and how.
        cooccurrence: how GloVe's pairs are counted; the other trainers read the lines themselves.
        num_replicas: bootstrap replicas; the original corpus comes on top, as replica 0.
        num_starts: random starts from which the original corpus is trained; further ones tell what training alone does
            to a number.
        resampling: how a replica is drawn from a corpus.
        keyed_by: what random starts, blocks and the order of GloVe's pairs are keyed by: the rank of a word in this
            corpus, or the word itself, so that nights whose corpora differ little also train alike.
        min_count: occurrences that a word needs to be in the vocabulary.
        fold_case: whether text and word lists are lower-cased.
        device: where GloVe trains; ``auto`` takes the cluster's GPUs if it has any. Both devices take the same steps in
            the same order, and round differently.
        checkpoint_seconds: a training saves its state after the epoch at which so much time has passed since the last
            save; no effect on vectors.
    """

    kind: Literal["trained"] = "trained"
    trainer: Trainer = Field(default_factory=GloveConfig)
    cooccurrence: CooccurrenceConfig = Field(default_factory=CooccurrenceConfig)
    num_replicas: Annotated[int, Field(ge=2, le=4096)] = 32
    num_starts: Annotated[int, Field(ge=1, le=256)] = 1
    resampling: ResamplingSettings = Field(default_factory=ResamplingSettings)
    keyed_by: KeyedBy = "rank"
    min_count: Annotated[int, Field(ge=1)] = 5
    fold_case: bool = True
    device: Device = "auto"
    checkpoint_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 60.0

    @property
    def replicas(self) -> list[int]:
        """What is trained, by number: the corpus, its replicas, and the corpus from further starts."""
        return replica_numbers(self.num_replicas, self.num_starts)

    @pydantic.model_validator(mode="after")
    def _only_glove_takes_fractions(self) -> Self:
        if self.resampling.weights == "exponential" and self.trainer.name != "glove":
            raise ValueError(
                f"embedding.resampling.weights=exponential: {self.trainer.name} reads a line a whole number of times; "
                "set it to poisson, or take embedding=glove"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _only_glove_keys_by_words(self) -> Self:
        if self.keyed_by == "word" and self.trainer.name != "glove":
            raise ValueError(
                f"embedding.keyed_by=word: {self.trainer.name} goes through lines, whose order no word keys; set it to "
                "rank, or take embedding=glove"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _only_glove_on_cuda(self) -> Self:
        if self.device == "cuda" and self.trainer.name != "glove":
            raise ValueError(
                f"embedding.device=cuda: {self.trainer.name} trains on CPUs only; set embedding.device=cpu"
            )
        return self


@dataclass(frozen=True)
class Embeddings:
    """One embedding per replica and further start, as references into the store.

    Attributes:
        vectors: by the number of the replica; all with the words of the vocabulary, in its order.
        training: losses of the same.
    """

    vectors: Mapping[int, TableRef]
    training: Sequence[TableRef]


def embed(
    runner: Runner,
    corpora: Mapping[str, TokenisedCorpus],
    config: EmbeddingConfig,
    seed: int,
    cluster: ClusterConfig,
) -> dict[str, Embeddings]:
    """Run the stages; returns the corpora that could be embedded whole, by name.

    Raises:
        UnitsFailed: if none could.
        ClusterError: if ``embedding.device=cuda`` and the cluster has no GPU.
    """
    if config.trainer.name == "glove":
        stage = _glove_stage(runner, corpora, config, seed, cluster)
    else:
        units = {
            name: _line_units(name, corpus, config, resampling_of(runner.store, corpus, config), seed)
            for name, corpus in corpora.items()
        }
        stage = Stage("train", each(training.LineTraining(config.checkpoint_seconds)), units)
    done = runner.run_whole(stage)
    return {
        name: Embeddings(
            vectors={
                replica: trained.tables["embedding"] for replica, trained in zip(config.replicas, finished, strict=True)
            },
            training=[trained.tables["training"] for trained in finished],
        )
        for name, finished in done.items()
    }


def extent(store: Store, corpus: TokenisedCorpus) -> tuple[int, int]:
    """Documents and lines of a corpus."""
    [row] = store.read(corpus.summary.select("num_articles", "num_lines")).to_pylist()
    return row["num_articles"], row["num_lines"]


def resampling_of(store: Store, corpus: TokenisedCorpus, config: EmbeddingConfig) -> Resampling:
    """How replicas of a corpus are drawn."""
    return config.resampling.of(*extent(store, corpus))


def _glove_stage(
    runner: Runner, corpora: Mapping[str, TokenisedCorpus], config: EmbeddingConfig, seed: int, cluster: ClusterConfig
) -> Stage:
    on_gpu = uses_gpus(config.device, runner.pool.num_gpus)
    resampling = {name: resampling_of(runner.store, corpus, config) for name, corpus in corpora.items()}
    counted = count_corpora(
        runner,
        corpora,
        config.cooccurrence,
        config.num_replicas,
        seed,
        cluster.worker_data_bytes,
        resampling,
        config.keyed_by,
    )
    units = {
        name: _pair_units(name, corpora[name], pairs, config, resampling[name], seed, on_gpu)
        for name, pairs in counted.items()
    }
    if on_gpu:
        # As many as a card's memory holds are trained together; the worker finds out how many these are.
        batch_size = -(-len(config.replicas) // runner.pool.num_gpus)
        return Stage("train", training.CudaPairTraining(config.checkpoint_seconds), units, batch_size, on_gpu=True)
    work = partial(training.PairTraining, config.checkpoint_seconds, cluster.worker_data_bytes, cluster.scratch)
    # A round has as many tiles as there are blocks: four for each thread, at least.
    most_threads = min(pairs.tiling.num_blocks for pairs in counted.values()) // 4
    return Stage(
        "train", each(work()), units, most_threads=most_threads, on_threads=lambda threads: each(work(threads))
    )


def _pair_units(
    name: str,
    corpus: TokenisedCorpus,
    pairs: PairTables,
    config: EmbeddingConfig,
    resampling: Resampling,
    seed: int,
    on_gpu: bool,
) -> list[Unit]:
    operator = glove.CUDA_VERSION if on_gpu else glove.VERSION
    vocabulary = [corpus.vocabulary.select("word")]
    units_per_line = resampling.units_per_line
    units = {} if units_per_line == 1 else {"units_per_line": units_per_line}
    return [
        _unit(
            operator,
            name,
            corpus,
            config,
            {"replica": replica, "seed": seed, "tiling": list(pairs.tiling), **units, **keyed(pairs.keyed_by)},
            {
                "vocabulary": vocabulary,
                "pairs": [table.select("name", count_column(drawn_replica(replica))) for table in pairs.tables],
            },
        )
        for replica in config.replicas
    ]


def _line_units(
    name: str, corpus: TokenisedCorpus, config: EmbeddingConfig, resampling: Resampling, seed: int
) -> list[Unit]:
    inputs = {
        "vocabulary": [corpus.vocabulary.select("word")],
        "lines": [shard.lines for shard in corpus.shards],
        "words": [shard.words.select("word") for shard in corpus.shards],
    }
    same: dict[str, object] = {"seed": seed, "bootstrap": bootstrap.VERSION, "gensim": version("gensim")}
    same |= drawn(resampling)
    operator = _LINE_TRAINERS[config.trainer.name]
    return [_unit(operator, name, corpus, config, same | {"replica": replica}, inputs) for replica in config.replicas]


def _unit(
    operator: str,
    name: str,
    corpus: TokenisedCorpus,
    config: EmbeddingConfig,
    identity: dict[str, Any],
    inputs: Mapping[str, Sequence[TableRef]],
) -> Unit:
    same = {"language": corpus.language, "training": config.trainer}
    return Unit(operator, f"{name} {replica_name(identity['replica'])}", same | identity, inputs)


def replica_label(replica: int) -> str:
    """What files of a replica are called, such as ``replica_0003``, or ``start_0001`` for a further start.

    >>> replica_label(3), replica_label(-1)
    ('replica_0003', 'start_0001')
    """
    kind, number = replica_name(replica).split()
    return f"{kind}_{int(number):04d}"

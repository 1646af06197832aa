"""Models that are trained with each decoy, and without one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cluster.stages import Runner, Stage
from cluster.workers import Tables
from jobs.decoys.config import CHECKPOINT_SETTING, BenchmarkModels, BenchmarkSources, DecoyBenchmarkRun
from jobs.devices import uses_gpus
from jobs.explanations.models import model_table
from operators import classifier_training, small_classifier
from operators.classifier_training import Epoch, Head, Labelled, train
from operators.small_classifier import Vocabulary
from operators.tokenised_texts import Tokenise, tokenise
from operators.trained_classifiers import SmallModel, TransformerModel, weights_of
from storage.checkpoints import find_checkpoint
from storage.embedding_files import read_embedding
from storage.ledger import Store, TableRef, Unit
from storage.models import load_encoder

if TYPE_CHECKING:
    from operators.text_networks import HeadedNetwork

ORIGINAL = ""
"""In place of a decoy's name: the texts as they are."""

_HEAD = "label"


def train_models(
    runner: Runner, config: DecoyBenchmarkRun, sources: BenchmarkSources, texts: Mapping[str, TableRef]
) -> dict[str, list[TableRef]]:
    """Tables of models (see :func:`jobs.explanations.models.model_table`), as many of each data set as are asked for.

    Args:
        texts: by decoy, of the schema ``SPLIT``; those without one are ``ORIGINAL``.
    """
    models = config.models
    on_gpu = uses_gpus(models.device, runner.pool.num_gpus, "models.device")
    vectors = sources.vectors
    how = {
        "operators": [small_classifier.VERSION, classifier_training.VERSION],
        "models": [models.encoder, models.training, models.pooling if models.checkpoint else None],
        "vectors": None if vectors is None else vectors.identity,
        "checkpoint": sources.checkpoint,
        "on_gpu": on_gpu,
    }
    units = {
        name: [
            Unit(
                "decoy_model/1",
                f"{name or 'no decoy'}, model {number}",
                {"seed": config.seed + number, **how},
                {"texts": [ref]},
            )
            for number in range(models.number)
        ]
        for name, ref in texts.items()
    }
    work = _Training(models, sources.checkpoint, "cuda" if on_gpu else "cpu")
    done = runner.run_whole(Stage("train", work, units, on_gpu=on_gpu))
    return {name: [unit.tables["model"] for unit in finished] for name, finished in done.items()}


@dataclass(frozen=True)
class _Training:
    models: BenchmarkModels
    version: str | None
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            yield unit, [("model", self._trained(store.read(unit.input("texts")).to_pylist(), unit.config))]

    def _trained(self, rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any]) -> pa.Table:
        training, development = ([row for row in rows if row["part"] == part] for part in ("training", "development"))
        heads = {_HEAD: Head(tuple(sorted({row["label"] for row in training})))}
        made = self._small if self.version is None else self._transformer
        network, read, describe = made([row["text"] for row in training], heads, config)
        parts = [_labelled(part, read, heads[_HEAD]) for part in (training, development)]
        history = train(network, heads, parts[0], parts[1], self.models.training, config["seed"])
        return model_table(describe(tuple(history)), weights_of(network))

    def _small(self, texts: Sequence[str], heads: Mapping[str, Head], config: Mapping[str, Any]) -> "_Made":
        from operators.text_networks import small_network  # imports torch

        encoder, vectors = self.models.encoder, _vectors(config["vectors"])
        vocabulary = Vocabulary.of(texts, encoder, vectors)
        network = small_network(vocabulary, encoder, heads, config["seed"], vectors).to(self.device)
        return network, vocabulary.tokenise, partial(SmallModel, encoder, vocabulary.words, dict(heads))

    def _transformer(self, _: Sequence[str], heads: Mapping[str, Head], config: Mapping[str, Any]) -> "_Made":
        from operators.text_networks import transformer_network  # imports torch

        name, version = str(self.models.checkpoint), str(self.version)
        folder = find_checkpoint(name, version, CHECKPOINT_SETTING).folder
        model, tokenizer = load_encoder(folder, self.device, CHECKPOINT_SETTING)
        network = transformer_network(model, heads, config["seed"], self.models.pooling)
        described = partial(TransformerModel, name, version, self.models.pooling, dict(heads))
        return network, partial(tokenise, model, tokenizer), described


_Made = tuple["HeadedNetwork", Tokenise, Callable[[tuple[Epoch, ...]], Any]]
"""A network, what reads its texts, and what describes it with the history of its training."""


def _vectors(file: Mapping[str, Any] | None) -> dict[str, NDArray[np.float32]]:
    if file is None:
        return {}
    embedding = read_embedding(file["uri"])
    return dict(zip(embedding.words, embedding.vectors, strict=True))


def _labelled(rows: Sequence[Mapping[str, Any]], read: Tokenise, head: Head) -> Labelled:
    numbers = {label: number for number, label in enumerate(head.classes)}
    labels = np.array([numbers[row["label"]] for row in rows], dtype=np.int64)
    return Labelled(read([row["text"] for row in rows]), {_HEAD: labels})

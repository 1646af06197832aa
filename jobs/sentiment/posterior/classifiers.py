"""Classifiers on the vectors of texts: one for each fold and seed, and those of all texts, which posteriors are of."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.jobs.sentiment.posterior.config import Classifiers, SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.tables import CLASSIFIER
from tiltmeter.jobs.sentiment.posterior.texts import Texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, Vectors, word_vectors
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.sentiment.posterior import networks, training
from tiltmeter.operators.sentiment.posterior.networks import Network, arrays, network_of, scores
from tiltmeter.operators.sentiment.posterior.training import cooled, quality, temperature, trained
from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


class Trained(NamedTuple):
    """Attributes:
    models: of each seed, the table of one cell that :func:`load_network` reads.
    rows: parts of the table ``classifier``.
    """

    models: Sequence[TableRef]
    rows: Sequence[TableRef]


class Labelled(NamedTuple):
    """Texts with a vector.

    Attributes:
        vectors: ``[texts, dimensions]``.
        num_words: ``[texts]``, with a vector.
        is_positive: ``[texts]``.
        folds: ``[texts]``.
        rows: ``[texts]``, their numbers in the table of texts.
    """

    vectors: FloatArray
    num_words: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
    is_positive: BoolArray
    folds: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
    rows: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"


def train_classifiers(runner: Runner, config: SentimentPosteriorRun, texts: Texts, vectors: Vectors) -> Trained:
    """Classifiers by cross-validation and of all texts, of every seed.

    Raises:
        UnitsFailed: if there are too few texts.
    """
    seeds, folds = range(config.classifier.seeds), [*range(config.classifier.folds), WHOLE]
    units = [_unit(config, texts, vectors, seed, fold) for seed in seeds for fold in folds]
    done = runner.run_whole(Stage("train classifiers", each(_train), {"texts": units}))["texts"]
    by_key = {
        (unit.config["number"], unit.config["fold"]): finished for unit, finished in zip(units, done, strict=True)
    }
    settings = {"operator": training.VERSION, "calibrated": config.classifier.calibrated}
    whole = [
        Unit(
            "posterior_calibration/1",
            f"classifier {seed}",
            settings | {"number": seed, "activation": config.classifier.activation},
            {
                "model": [by_key[seed, WHOLE].tables["model"]],
                "held_out": [by_key[seed, fold].tables["held_out"] for fold in folds[:-1]],
            },
        )
        for seed in seeds
    ]
    calibrated = runner.run_whole(Stage("calibrate", each(_calibrate), {"texts": whole}))["texts"]
    rows = [by_key[seed, fold].tables["classifier"] for seed in seeds for fold in folds[:-1]]
    return Trained(
        [unit.tables["model"] for unit in calibrated], [*rows, *(unit.tables["classifier"] for unit in calibrated)]
    )


def load_network(store: Store, ref: TableRef) -> Network:
    """The network of a table that :func:`train_classifiers` made."""
    [content] = store.read(ref)["content"].to_pylist()
    description, weights = parse_weights(content, "network")
    return network_of(weights, description["activation"])


def labelled_vectors(store: Store, texts: TableRef, vectors: TableRef) -> Labelled:
    """Texts with a vector, of the tables ``rows`` of texts and ``texts`` of vectors."""
    means = word_vectors(store, vectors)
    known = np.isfinite(means).all(axis=1)
    rows = store.read(texts.select("is_positive", "fold"))
    num_words = np.asarray(store.read(vectors.select("num_words"))["num_words"], np.int64)
    is_positive, folds = np.asarray(rows["is_positive"]).astype(bool), np.asarray(rows["fold"], np.int64)
    return Labelled(means[known], num_words[known], is_positive[known], folds[known], np.flatnonzero(known))


def _unit(config: SentimentPosteriorRun, texts: Texts, vectors: Vectors, number: int, fold: int) -> Unit:
    settings = {
        "operators": [networks.VERSION, training.VERSION],
        "classifier": _training_settings(config.classifier),
        "seed": config.seed,
        "number": number,
        "fold": fold,
    }
    inputs = {"texts": [texts.rows.select("is_positive", "fold")], "vectors": [vectors.texts[fold]]}
    name = f"classifier {number}, " + ("all texts" if fold == WHOLE else f"fold {fold}")
    return Unit("posterior_training/1", name, settings, inputs)


def _training_settings(config: Classifiers) -> training.ClassifierConfig:
    """Without the number of classifiers and folds, which change none of them."""
    return training.ClassifierConfig(
        config.hidden,
        config.activation,
        config.learning_rate,
        config.weight_decay,
        config.batch,
        config.max_epochs,
        config.patience,
        config.development,
    )


def _train(store: Store, unit: Unit) -> Tables:
    config, fold = unit.config, unit.config["fold"]
    texts = labelled_vectors(store, unit.input("texts"), unit.input("vectors"))
    is_held_out = texts.folds == fold
    number = config["number"] * 1000 + fold + 1
    network = trained(
        texts.vectors[~is_held_out], texts.is_positive[~is_held_out], config["classifier"], config["seed"], number
    )
    yield "model", _model(network)
    logits, labels = scores(network, texts.vectors[is_held_out]), texts.is_positive[is_held_out]
    yield "held_out", pa.table({"logit": logits, "is_positive": labels})
    yield "classifier", _row(config["number"], fold, logits, labels, 1.0)


def _model(network: Network) -> pa.Table:
    content = weights_content(DescribedWeights({"activation": network.activation}, arrays(network)), "network")
    return pa.table({"content": pa.array([content], pa.binary())})


def _row(number: int, fold: int, logits: FloatArray, labels: BoolArray, degrees: float) -> pa.Table:
    row: dict[str, Any] = {"seed": number, "fold": fold, "temperature": degrees, "num_texts": len(labels)}
    if labels.any() and not labels.all():
        row |= quality(logits / degrees, labels)._asdict()
    return table_of([row], CLASSIFIER)


def _calibrate(store: Store, unit: Unit) -> Tables:
    config = unit.config
    held_out = pa.concat_tables([store.read(ref) for ref in unit.inputs["held_out"]])
    logits, labels = np.asarray(held_out["logit"]), np.asarray(held_out["is_positive"]).astype(bool)
    degrees = temperature(logits, labels) if config["calibrated"] else 1.0
    yield "model", _model(cooled(load_network(store, unit.input("model")), degrees))
    yield "classifier", _row(config["number"], WHOLE, logits, labels, degrees)

"""Classifiers that learn the training texts before they are attacked."""

from dataclasses import dataclass

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary.config import AdversarySources, GenderAdversaryRun
from tiltmeter.jobs.adversary.victims import EncoderVictim, LinearVictim, reader_of
from tiltmeter.jobs.classifiers.models import model_table, trained_model
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.training import TextTraining
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.adversary import fitting
from tiltmeter.operators.classifiers.adversary.fitting import analyser, fitted
from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.victims import LinearReader, Reader
from tiltmeter.storage.models.described_weights import parse_weights
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_ARRAYS = ("idf", "weights", "biases", "slopes", "offsets")


@dataclass(frozen=True)
class _Described:
    """A linear classifier, less its weights."""

    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]
    kind: str = "linear"


def train_victims(
    runner: Runner, config: GenderAdversaryRun, sources: AdversarySources, texts: TableRef
) -> dict[str, TableRef]:
    """Tables of models by the name of the classifier, of those that learn.

    Args:
        texts: of the schema ``SPLIT``.
    """
    return _linear(runner, config, texts) | _encoders(runner, config, sources, texts)


def _linear(runner: Runner, config: GenderAdversaryRun, texts: TableRef) -> dict[str, TableRef]:
    inputs = {"texts": [texts]}
    units = {
        name: [Unit(fitting.VERSION, name, {"linear": victim.linear, "masked": _masked(config, victim)}, inputs)]
        for name, victim in config.victim.items()
        if isinstance(victim, LinearVictim)
    }
    done = runner.run_whole(Stage("fit victims", each(_fit), units)) if units else {}
    return {name: finished.tables["model"] for name, [finished] in done.items()}


def _masked(config: GenderAdversaryRun, victim: LinearVictim) -> list[str]:
    return sorted(config.words.gendered().genders) if victim.masked else []


def _fit(store: Store, unit: Unit) -> Tables:
    rows = [row for row in store.read(unit.input("texts")).to_pylist() if row["part"] == "training"]
    model = fitted(
        [row["text"] for row in rows], [row["label"] for row in rows], unit.config["linear"], unit.config["masked"]
    )
    arrays = {name: np.asarray(getattr(model.model, name), dtype=np.float64) for name in _ARRAYS}
    yield "model", model_table(_Described(model.classes, model.vocabulary), arrays)


def _encoders(
    runner: Runner, config: GenderAdversaryRun, sources: AdversarySources, texts: TableRef
) -> dict[str, TableRef]:
    models: dict[str, TableRef] = {}
    for name, victim in config.victim.items():
        if isinstance(victim, EncoderVictim):
            on_gpu = uses_gpus(victim.device, runner.pool.num_gpus, f"victim.{name}.device")
            encoders = Encoders(victim, sources.victims[name].encoder, on_gpu)
            unit = Unit("adversary_model/1", name, {"seed": config.seed, **encoders.identity}, {"texts": [texts]})
            stage = Stage(f"train {name}", TextTraining(encoders), {name: [unit]}, on_gpu=on_gpu)
            models |= {name: finished.tables["model"] for name, [finished] in runner.run_whole(stage).items()}
    return models


def load_trained(store: Store, ref: TableRef, device: str) -> Reader:
    """A classifier that a unit has trained, as something that can be asked."""
    [content] = store.read(ref)["content"].to_pylist()
    described, arrays = parse_weights(content, "classifier")
    if described.get("kind") != "linear":
        return reader_of(trained_model(ref).load(store, device))
    vocabulary = {term: number for number, term in enumerate(described["vocabulary"])}
    model = LinearModel(**{name: arrays[name] for name in _ARRAYS})
    return LinearReader(model, tuple(described["classes"]), vocabulary, analyser())

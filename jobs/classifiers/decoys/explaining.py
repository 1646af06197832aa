"""Attributions of what the models of each decoy, and those without one, make of the test texts with the decoy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from tiltmeter.cluster.dealing import evenly
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.attributions import attribution_rows
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.data_sets import DecoyData
from tiltmeter.jobs.classifiers.decoys.training import ORIGINAL
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.tables import SENTENCES
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.attribution import attribute as attribution
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

DECOYED, PLAIN = "decoyed", "original"
"""What the models of a pair are called, before their number: with and without the decoy."""


_MOST_INSTANCES = 100
"""That a unit explains, if a pool has no more."""


@dataclass(frozen=True)
class ExplainedPair:
    """Attributions by one method of what both models of a pair make of the same instances.

    Attributes:
        model: their number.
        attributions: by ``DECOYED`` and ``PLAIN``, a table of the schema ``EXPLAINED`` for each pool of instances.
    """

    method: str
    model: int
    attributions: Mapping[str, Sequence[TableRef]]


def explain(
    runner: Runner,
    config: DecoyBenchmarkRun,
    data: Mapping[str, DecoyData],
    models: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[ExplainedPair]]:
    """Attributions by decoy."""
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    settings = {"operator": attribution.VERSION, "on_gpu": on_gpu, "seed": config.seed}
    units = {name: list(_units(config, name, data[name], models, settings)) for name in data if name in models}
    work = _Explaining("cuda" if on_gpu else "cpu")
    done = runner.run_whole(Stage("explain", work, units, None, on_gpu))
    return {name: _pairs(units[name], finished) for name, finished in done.items()}


def _units(
    config: DecoyBenchmarkRun, name: str, data: DecoyData, models: Mapping[str, Sequence[TableRef]], settings: Any
) -> Iterator[Unit]:
    chunks = evenly(data.pools, max(1, _MOST_INSTANCES // config.explanations.pool_size))
    for number in range(config.models.number):
        for kind, trained in ((DECOYED, models[name][number]), (PLAIN, models[ORIGINAL][number])):
            for method in config.explanations.methods:
                chosen = replace(config.explanations.attribution, method=method)
                what = {"decoy": name, "kind": kind, "model": number, "attribution": chosen, **settings}
                for place, pools in enumerate(chunks):
                    inputs = {"sentences": [pool.select(*SENTENCES.names) for pool in pools], "model": [trained]}
                    yield Unit("decoy_attributions/1", f"{name}, {kind} {number}, {method}, {place}", what, inputs)


def _pairs(units: Sequence[Unit], done: Sequence[Finished]) -> list[ExplainedPair]:
    pairs: dict[tuple[str, int], dict[str, list[TableRef]]] = {}
    for unit, finished in zip(units, done, strict=True):
        what = unit.config
        pair = pairs.setdefault((what["attribution"].method, what["model"]), {DECOYED: [], PLAIN: []})
        pair[what["kind"]] += [finished.tables[name] for name in sorted(finished.tables)]
    return [ExplainedPair(*key, attributions) for key, attributions in pairs.items()]


@dataclass(frozen=True)
class _Explaining:
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            trained = unit.input("model")
            key = (tuple(trained.columns.values()), self.device)
            with resident(key, partial(self._load, store, trained)) as classifier:
                pools = [store.read(ref).to_pylist() for ref in unit.inputs["sentences"]]
                parts = [_explained(classifier, rows, unit.config) for rows in pools]
            yield unit, [(f"pool_{number:05d}", table) for number, table in enumerate(parts)]

    def _load(self, store: Store, trained: TableRef, _: object) -> TextClassifier:
        return trained_model(trained).load(store, self.device)


def _explained(classifier: TextClassifier, rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any]) -> pa.Table:
    chosen = config["attribution"]
    explanations = attribute(classifier, [row["text"] for row in rows], chosen, seed=config["seed"])
    about = {"decoy": config["decoy"], "method": chosen.method}
    model = f"{config['kind']} {config['model']}"
    lines = [
        about | line
        for row, explanation in zip(rows, explanations, strict=True)
        for line in attribution_rows(model, classifier, row, explanation)
    ]
    return pa.Table.from_pylist(lines, tables.EXPLAINED)

"""Slices of texts with more errors than chance gives them, permutations of which are dealt out to workers."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.material import Material, Refs, material_of
from tiltmeter.jobs.classifiers.errors.slicing.rows import explored, slice_rows
from tiltmeter.jobs.classifiers.errors.slicing.versions import version_rows
from tiltmeter.jobs.classifiers.errors.tables import SLICES, VERSIONS
from tiltmeter.jobs.classifiers.errors.texts import halves
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.operators.classifiers.errors.readable import DENSE
from tiltmeter.operators.classifiers.errors.slices import (
    confirmation,
    conjunctions,
    group_flips,
    leading,
    max_t,
    predicates,
    search,
    versions,
)
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicates, predicates_of
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, hits_of
from tiltmeter.operators.classifiers.errors.uncertainty import least_confidence
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_TAGS = ("tag:", "tags:")


def find_slices(
    runner: Runner, config: ErrorCharacterisationRun, inputs: Refs, predictions: TableRef
) -> dict[str, Sequence[TableRef]]:
    """Tables ``slices`` and, of two versions of a model, ``versions``.

    Args:
        predictions: the published table, which knows labels that are suspected.
    """
    settings = {
        "operators": [module.VERSION for module in (conjunctions, group_flips, leading, max_t, predicates, search)],
        "slices": SliceConfig(**{name: getattr(config.slices, name) for name in _fields()}),
        "tags": config.slices.tags,
        "seed": config.seed,
    }
    size, total = config.job.unit_permutations, config.slices.num_permutations
    units = [
        Unit(
            "slice_draws/2",
            f"permutations from {start}",
            settings | {"draws": [start, min(start + size, total)]},
            inputs,
        )
        for start in range(0, total, size)
    ]
    drawn = runner.run_whole(Stage("permutations", each(_draw), {"texts": units}))["texts"]
    judged = predictions.select("row", "is_label_suspected")
    parts = {**inputs, "hits": [unit.tables["hits"] for unit in drawn], "judged": [judged]}
    finishing = settings | {"level": config.job.level, "rates": [confirmation.VERSION, versions.VERSION]}
    unit = Unit("slices/2", "slices", finishing, parts)
    tables = runner.run_whole(Stage("slices", each(_finish), {"texts": [unit]}))["texts"][0].tables
    return {name: [ref] for name, ref in tables.items()}


def _fields() -> Sequence[str]:
    return list(SliceConfig.__dataclass_fields__)


def predicates_of_texts(material: Material, exploring: BoolArray, config: Mapping[str, Any]) -> Predicates:
    """All that enough of the texts that explore have."""
    dense = {} if material.probabilities is None else {"confidence": 1.0 - least_confidence(material.probabilities)}
    made = _predicates(material, dense, "predicted", material.predicted, config)
    num = made.members[:, exploring].sum(axis=1)
    fit = (num >= config["slices"].min_size) & (num < exploring.sum())
    return Predicates(
        [predicate for predicate, keep in zip(made.predicates, fit, strict=True) if keep], made.members[fit]
    )


def shared_predicates(material: Material, config: Mapping[str, Any]) -> Predicates:
    """All that enough texts have and two versions of a model share: of the text and its label, of no prediction."""
    return _predicates(material, {}, "labelled", material.column("label"), config)


def _predicates(
    material: Material,
    others: Mapping[str, FloatArray],
    kind: Literal["predicted", "labelled"],
    classes: Sequence[str],
    config: Mapping[str, Any],
) -> Predicates:
    columns = {name: place for place, name in enumerate(material.names) if config["tags"] or not name.startswith(_TAGS)}
    counts = {name: material.counts[:, place] for name, place in columns.items() if name not in DENSE}
    dense = {name: material.counts[:, place] for name, place in columns.items() if name in DENSE}
    return predicates_of(counts, {**dense, **others}, classes, config["slices"].min_size, kind)


def _draw(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    exploring = ~halves(material.column("group"), config["seed"])
    made = predicates_of_texts(material, exploring, config)
    candidates = explored(material, made, exploring, config["slices"])
    yield "hits", pa.table({"hits": hits_of(candidates, config["seed"], range(*config["draws"]))})


def _finish(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    confirming = halves(material.column("group"), config["seed"])
    made = predicates_of_texts(material, ~confirming, config)
    hits = np.sum([store.read(ref)["hits"].to_numpy() for ref in unit.inputs["hits"]], axis=0)
    judged = {row["row"]: bool(row["is_label_suspected"]) for row in store.read(unit.input("judged")).to_pylist()}
    suspected = np.array([judged[row] for row in material.column("row")], dtype=np.bool_)
    settings = config["slices"]
    rows = slice_rows(material, made, confirming, hits, suspected, settings, config["level"])
    yield "slices", table_of(rows, SLICES)
    if material.table["previous"].null_count() == 0:
        shared = shared_predicates(material, config)
        yield "versions", table_of(version_rows(material, shared, settings, config["seed"], config["level"]), VERSIONS)

"""Which models have adopted their decoy: rows of the table ``decoys``."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.data_sets import DecoyData
from tiltmeter.jobs.classifiers.decoys.training import ORIGINAL
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts, mean_of_texts, with_ends
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.attribution.attribute import predict
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.decoys import adoption as decoy_adoption
from tiltmeter.operators.classifiers.decoys.adoption import adoption
from tiltmeter.operators.classifiers.decoys.kinds import holds
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

Row = Mapping[str, Any]


def evaluate(
    runner: Runner,
    config: DecoyBenchmarkRun,
    texts: TableRef,
    data: Mapping[str, DecoyData],
    models: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables ``decoys`` by decoy, one for each model."""
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    settings = {
        "operator": decoy_adoption.VERSION,
        "intervals": config.intervals,
        "seed": config.seed,
        "on_gpu": on_gpu,
    }
    units = {
        name: [
            _unit(name, number, {"made": config.decoys[name], **settings}, texts, data[name], original, decoyed)
            for number, (original, decoyed) in enumerate(zip(models[ORIGINAL], models[name], strict=True))
        ]
        for name in data
        if name in models
    }
    work = _Evaluating("cuda" if on_gpu else "cpu", config.models.training.max_tokens)
    done = runner.run_whole(Stage("evaluate", each(work), units, on_gpu=on_gpu))
    return {name: [unit.tables["decoys"] for unit in finished] for name, finished in done.items()}


def _unit(
    name: str, number: int, settings: Row, texts: TableRef, data: DecoyData, original: TableRef, decoyed: TableRef
) -> Unit:
    inputs = {"texts": [texts], "probes": [data.probes], "measures": [data.measures]}
    inputs |= {"original": [original], "decoyed": [decoyed]}
    return Unit(
        "decoy_adoption/5", f"{name}, model {number}", {"decoy": name, "model": str(number), **settings}, inputs
    )


@dataclass(frozen=True)
class _Evaluating:
    device: str
    max_tokens: int

    def __call__(self, store: Store, unit: Unit) -> Tables:
        test = [row for row in store.read(unit.input("texts")).to_pylist() if row["part"] == "test"]
        probes = store.read(unit.input("probes")).to_pylist()
        rights = {}
        for kind in ("original", "decoyed"):
            classifier = trained_model(unit.input(kind)).load(store, self.device)
            is_right = self._right(classifier, [*test, *probes])
            rights[kind] = is_right[: len(test)], is_right[len(test) :]
        [measures] = store.read(unit.input("measures")).to_pylist()
        row = measures | _row(unit.config, test, probes, rights) | _on_word_rows(unit.config, test, rights)
        yield from with_draws({"decoys": ([row], tables.DECOYS)}, None, pa.Table.from_pylist)

    def _right(self, classifier: TextClassifier, rows: Sequence[Row]) -> NDArray[np.float64]:
        probabilities = predict(classifier, [row["text"] for row in rows], self.max_tokens)
        predicted = np.nan_to_num(probabilities, nan=-1.0).argmax(axis=1)
        return np.array(
            [classifier.classes[number] == row["label"] for number, row in zip(predicted, rows, strict=True)], float
        )


def _on_word_rows(
    config: Row, test: Sequence[Row], rights: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]
) -> dict[str, Any]:
    """Of both models, on all test texts that hold a word of the decoy, of any class (Idahl et al., section 4)."""
    is_held = np.array([holds(config["made"], row["text"]) for row in test], dtype=bool)
    (original, _), (decoyed, _) = rights["original"], rights["decoyed"]
    row: dict[str, Any] = {"num_word_rows": int(is_held.sum())}
    held = [text for text, holding in zip(test, is_held, strict=True) if holding]
    row |= _accuracy("accuracy_original_on_word_rows", original[is_held], config, held)
    return row | _accuracy("accuracy_on_word_rows", decoyed[is_held], config, held)


def _row(
    config: Row,
    test: Sequence[Row],
    probes: Sequence[Row],
    rights: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
) -> dict[str, Any]:
    (original, original_probes), (decoyed, decoyed_probes) = rights["original"], rights["decoyed"]
    has_decoy = np.array([row["has_decoy"] for row in probes], dtype=bool)
    lost = original_probes - decoyed_probes
    intervals, about = config["intervals"], document_key(config["decoy"])
    kinds = [[row for row in probes if row["has_decoy"] is kind] for kind in (True, False)]
    places = [[row["row"] for row in kind] for kind in kinds]
    texts = [[probe["text"], probe["has_decoy"]] for probe in probes]
    keys = intervals.keys(texts)
    result = adoption(
        lost[has_decoy],
        lost[~has_decoy],
        config["seed"],
        about,
        is_paired=places[0] == places[1],
        min_fall=intervals.min_fall,
        intervals=intervals,
        keys=None if keys is None else [keys[has_decoy], keys[~has_decoy]],
    )
    is_there = not math.isnan(result.fall)
    row: dict[str, Any] = {"decoy": config["decoy"], "model": config["model"], "num_decoy_rows": int(has_decoy.sum())}
    row |= _accuracy("accuracy_original", original, config, test) | _accuracy("accuracy_decoy", decoyed, config, test)
    row |= _accuracy("accuracy_on_decoy_rows", decoyed_probes[has_decoy], config, kinds[0])
    row["accuracy_original_on_decoy_rows"] = float(original_probes[has_decoy].mean()) if has_decoy.any() else None
    row |= with_ends("fall", result.fall, result.low, result.high)
    scheme = drawn_texts(texts, config["seed"], config["decoy"], intervals.keyed_by)
    row |= {} if math.isnan(result.low) else drawn("fall", result.resamples, scheme, min(map(len, kinds)))
    row["adopted"] = result.adopted if is_there else None
    return row | _status(result.adopted if is_there else None)


def _status(adopted: bool | None) -> dict[str, str]:
    if adopted is None:
        return {"status": "no_decoy_rows", "reason": "no test text has, or lacks, a decoy that contradicts its class"}
    if not adopted:
        return {"status": "not_adopted", "reason": "the model falls for the decoy no more than could be chance"}
    return {"status": "ok", "reason": ""}


def _accuracy(name: str, right: NDArray[np.float64], config: Row, texts: Sequence[Row]) -> dict[str, Any]:
    """With its bootstrap interval; nothing without a text."""
    if not len(right):
        return {}
    return mean_of_texts(name, right, config, LOGIT, [row["text"] for row in texts])

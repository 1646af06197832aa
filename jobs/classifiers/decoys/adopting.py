"""Which models have adopted their decoy: rows of the table ``decoys``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.data_sets import DecoyData
from tiltmeter.jobs.classifiers.decoys.setups.evaluating import answered
from tiltmeter.jobs.classifiers.decoys.training import ORIGINAL
from tiltmeter.jobs.classifiers.intervals import drawn_texts, mean_of_texts, with_interval
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.splits import units_of_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.rows import OK, failed
from tiltmeter.operators.classifiers import answers
from tiltmeter.operators.classifiers.decoys import adoption as decoy_adoption
from tiltmeter.operators.classifiers.decoys.adoption import fall
from tiltmeter.operators.classifiers.decoys.kinds import holds
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
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
        "operators": [decoy_adoption.VERSION, answers.VERSION, means.VERSION],
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
        "decoy_adoption/6", f"{name}, model {number}", {"decoy": name, "model": str(number), **settings}, inputs
    )


@dataclass(frozen=True)
class _Evaluating:
    device: str
    max_tokens: int

    def __call__(self, store: Store, unit: Unit) -> Tables:
        test = [row for row in store.read(unit.input("texts")).to_pylist() if row["part"] == "test"]
        groups = {row["row"]: row.get("group") for row in test}
        probes = [row | {"group": groups[row["row"]]} for row in store.read(unit.input("probes")).to_pylist()]
        outcome = {
            kind: answered(trained_model(unit.input(kind)).load(store, self.device), [*test, *probes], self.max_tokens)
            for kind in ("original", "decoyed")
        }
        rights = {kind: (these.is_right[: len(test)], these.is_right[len(test) :]) for kind, these in outcome.items()}
        [measures] = store.read(unit.input("measures")).to_pylist()
        num_unread = int((~outcome["original"].is_read[: len(test)]).sum())
        row = measures | {"num_unread": num_unread} | adoption_row(unit.config, test, probes, rights)
        yield from with_draws({"decoys": ([row], tables.DECOYS)}, None, pa.Table.from_pylist)


Rights = Mapping[str, tuple[BoolArray, BoolArray]]
"""Of the models ``original`` and ``decoyed``: of which test texts, and of which probes, each is right."""


def adoption_row(config: Row, test: Sequence[Row], probes: Sequence[Row], rights: Rights) -> dict[str, Any]:
    """Accuracies, the fall and whether the decoy is adopted.

    Args:
        config: of the unit.
        test, probes: rows with their ``text``, ``label``, ``row`` and ``group``; probes also with ``has_decoy``.
    """
    (original, original_probes), (decoyed, decoyed_probes) = rights["original"], rights["decoyed"]
    has_decoy = np.array([row["has_decoy"] for row in probes], dtype=bool)
    with_decoy = [row for row in probes if row["has_decoy"]]
    row: dict[str, Any] = {"decoy": config["decoy"], "model": config["model"], "num_decoy_rows": len(with_decoy)}
    row |= _accuracy("accuracy_original", original, config, test) | _accuracy("accuracy_decoy", decoyed, config, test)
    row |= _accuracy("accuracy_on_decoy_rows", decoyed_probes[has_decoy], config, with_decoy)
    row["accuracy_original_on_decoy_rows"] = float(original_probes[has_decoy].mean()) if has_decoy.any() else None
    row |= _on_word_rows(config, test, original, decoyed)
    return row | _fall(config, probes, original_probes.astype(np.float64) - decoyed_probes)


def _on_word_rows(config: Row, test: Sequence[Row], original: BoolArray, decoyed: BoolArray) -> dict[str, Any]:
    """Of both models, on all test texts that hold a word of the decoy, of any class (Idahl et al., section 4)."""
    is_held = np.array([holds(config["made"], row["text"]) for row in test], dtype=bool)
    row: dict[str, Any] = {"num_word_rows": int(is_held.sum())}
    held = [text for text, holding in zip(test, is_held, strict=True) if holding]
    row |= _accuracy("accuracy_original_on_word_rows", original[is_held], config, held)
    return row | _accuracy("accuracy_on_word_rows", decoyed[is_held], config, held)


def _fall(config: Row, probes: Sequence[Row], lost: FloatArray) -> dict[str, Any]:
    """With its interval, by which the decoy is adopted or not."""
    intervals = config["intervals"]
    kinds = [[place for place, row in enumerate(probes) if row["has_decoy"] is kind] for kind in (True, False)]
    is_paired = [probes[place]["row"] for place in kinds[0]] == [probes[place]["row"] for place in kinds[1]]
    drawn_rows = [probes[place] for place in (kinds[0] if is_paired else [*kinds[0], *kinds[1]])]
    units = units_of_texts(drawn_rows)
    texts = [[row["text"], row["has_decoy"]] for row in drawn_rows]
    result = fall(
        lost[kinds[0]],
        lost[kinds[1]],
        units,
        config["seed"],
        document_key(config["decoy"]),
        is_paired=is_paired,
        intervals=intervals,
        keys=intervals.cluster_keys(texts, units.codes),
    )
    if result is None:
        return {"adopted": None} | failed("no_decoy_rows", _NO_DECOY_ROWS)
    scheme = drawn_texts([*texts, units.codes.tolist()], config["seed"], config["decoy"], intervals.keyed_by)
    row = with_interval("fall", result.inferred, result.estimate, intervals, FISHER, scheme)
    if row["fall_low"] is None:
        return row | {"adopted": None} | failed("too_few_units", result.inferred.reason)
    is_adopted = bool(row["fall_low"] > intervals.min_fall)
    return row | {"adopted": is_adopted} | (OK if is_adopted else failed("not_adopted", _NOT_ADOPTED))


_NO_DECOY_ROWS = "no test text has, or lacks, a decoy that contradicts its class"
_NOT_ADOPTED = "the model falls for the decoy no more than could be chance"


def _accuracy(name: str, right: BoolArray, config: Row, texts: Sequence[Row]) -> dict[str, Any]:
    """With its interval; nothing without a text."""
    if not len(right):
        return {}
    sentence = [row["text"] for row in texts]
    return mean_of_texts(name, right.astype(np.float64), config, LOGIT, sentence, units_of_texts(texts))

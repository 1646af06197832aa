"""How many instances it takes to find a decoy: tables ``detection``, ``side_by_side`` and ``utility``."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun, Setup
from tiltmeter.jobs.classifiers.decoys.data_sets import DecoyData
from tiltmeter.jobs.classifiers.decoys.explaining import DECOYED, PLAIN, ExplainedPair
from tiltmeter.jobs.classifiers.decoys.setups.pools import PoolResample, adopted_by, pool_names
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.operators.classifiers.decoys import debugging
from tiltmeter.operators.classifiers.decoys import detection as decoy_detection
from tiltmeter.operators.classifiers.decoys import selection as instance_selection
from tiltmeter.operators.classifiers.decoys.debugging import by_oracle, by_predictions, identified, suspects
from tiltmeter.operators.classifiers.decoys.detection import (
    Explained,
    detection_at_random,
    expected_instances,
    identification_success,
    order_of,
    relevance_matrix,
    shows,
)
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import LOGIT, Scale
from tiltmeter.operators.statistics.text_intervals import between
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_SIDE_BY_SIDE = "side_by_side"
_TABLES: Mapping[Setup, Sequence[str]] = {
    "identify_and_trust": ("detection", "utility"),
    "model_comparison": (_SIDE_BY_SIDE,),
}
_COLUMNS, _SEEN = ("sentence", "word", "attribution"), ("sentence", "word", "predicted")
"""What is read of an explanation, and without one."""

_ORACLE = "oracle"


def look(
    runner: Runner, config: DecoyBenchmarkRun, explained: Mapping[str, Sequence[ExplainedPair]]
) -> dict[str, list[Finished]]:
    """What comes of looking at explanations, and of the controls, by decoy: tables ``sessions`` and ``reviews``."""
    shown = config.explanations
    settings = {
        "operators": [decoy_detection.VERSION, debugging.VERSION, instance_selection.VERSION],
        "top_words": shown.top_words,
        "selections": shown.selections,
        "max_clusters": shown.max_clusters,
        "judgement": config.debugger.judgement,
        "num_suspects": config.debugger.num_suspects,
        "budgets": config.improvement.budgets if "identify_and_improve" in config.setups else (),
    }
    units = {name: list(_session_units(config, name, pairs, settings)) for name, pairs in explained.items()}
    return runner.run_whole(Stage("look", each(_look), units, None))


def _session_units(
    config: DecoyBenchmarkRun, name: str, pairs: Sequence[ExplainedPair], settings: Mapping[str, Any]
) -> Iterator[Unit]:
    """Controls see the same instances as whoever has explanations, and what a model made of them."""
    first = config.explanations.methods[0]
    ways = [(pair, pair.method, _COLUMNS) for pair in pairs]
    ways += [(pair, control, _SEEN) for control in config.debugger.controls for pair in pairs if pair.method == first]
    for pair, method, columns in ways:
        about = {"decoy": name, "made": config.decoys[name], "method": method, "model": pair.model}
        inputs = {kind: [ref.select(*columns) for ref in refs] for kind, refs in pair.attributions.items()}
        yield Unit("decoy_sessions/3", f"{name}, {method}, model {pair.model}", {**about, **settings}, inputs)


def _look(store: Store, unit: Unit) -> Tables:
    sessions, reviews = [], []
    for number, (decoyed, plain) in enumerate(zip(unit.inputs[DECOYED], unit.inputs[PLAIN], strict=True)):
        about = {name: unit.config[name] for name in ("decoy", "method", "model")} | {"pool": number}
        pool = _Pool(unit.config, _shown(store, decoyed, unit.config, DECOYED))
        comparison = pool.told_from(_shown(store, plain, unit.config, PLAIN))
        for selection, values in {_SIDE_BY_SIDE: comparison, **pool.probabilities()}.items():
            budgets = enumerate(values.tolist(), start=1)
            sessions += [
                about | {"selection": selection, "budget": budget, "found": value} for budget, value in budgets
            ]
        reviews += [about | row for row in pool.reviews()]
    yield "sessions", pa.Table.from_pylist(sessions, tables.SESSIONS)
    yield "reviews", pa.Table.from_pylist(reviews, tables.REVIEWS)


class _Pool:
    """One time that somebody debugs a model.

    Args:
        config: of the unit.
        shown: the instances, as the model with the decoy is explained.
    """

    def __init__(self, config: Mapping[str, Any], shown: Sequence[Explained]) -> None:
        self._config, self._shown, self._k = config, shown, config["top_words"]
        relevance = relevance_matrix(shown, self._k)
        orders = {name: order_of(relevance, name, config["max_clusters"]) for name in config["selections"]}
        self._suspects = {name: self._suspected(order.tolist()) for name, order in orders.items()}

    def _suspected(self, order: Sequence[int]) -> list[frozenset[str]]:
        config, instances = self._config, [self._shown[row] for row in order]
        return suspects(instances, config["made"], self._k, config["judgement"], config["num_suspects"])

    def told_from(self, other: Sequence[Explained]) -> NDArray[np.float64]:
        """For each budget, whether the model is told from another, of which the same instances are explained."""
        return identification_success(self._shown, other, self._k, np.arange(1, len(other) + 1))

    def probabilities(self) -> dict[str, NDArray[np.float64]]:
        """By selection: for each budget, the probability that the decoy is found."""
        decoy, num = self._config["made"], len(self._shown)
        probabilities = {name: identified(suspected, decoy) for name, suspected in self._suspects.items()}
        if "random" in probabilities and self._config["judgement"] == "recognition":
            num_showing = sum(shows(explained, decoy, self._k) for explained in self._shown)
            probabilities["random"] = detection_at_random(num_showing, num, np.arange(1, num + 1))
        return probabilities

    def reviews(self) -> Iterator[dict[str, Any]]:
        """The words that are taken for wrong reasons; after all instances where the pool has fewer than a budget."""
        for selection, suspected in self._suspects.items():
            for budget in self._config["budgets"]:
                words = " ".join(sorted(suspected[min(budget, len(suspected)) - 1]))
                yield {"selection": selection, "budget": budget, "words": words}


def _shown(store: Store, ref: TableRef, config: Mapping[str, Any], kind: str) -> list[Explained]:
    """Instances in the order of the table, in which the words of an instance come one after the other."""
    rows = store.read(ref).to_pylist()
    instances = [list(lines) for _, lines in groupby(rows, key=lambda row: row["sentence"])]
    texts = [[folded(line["word"]) for line in lines] for lines in instances]
    if config["method"] == "predictions":
        return by_predictions(texts, [lines[0]["predicted"] for lines in instances])
    if config["method"] == "oracle":
        return by_oracle(texts, config["made"] if kind == DECOYED else None)
    return [
        Explained(words, np.array([line["attribution"] for line in lines], dtype=np.float64))
        for words, lines in zip(texts, instances, strict=True)
    ]


def detect(
    runner: Runner,
    config: DecoyBenchmarkRun,
    data: Mapping[str, DecoyData],
    looks: Mapping[str, Sequence[Finished]],
    adopted: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables ``detection`` and ``utility`` of setup I and ``side_by_side`` of setup II, one of each decoy."""
    settings: dict[str, Any] = {"intervals": config.intervals, "seed": config.seed, "number": config.models.number}
    settings["operator"] = means.VERSION
    units = {
        name: [
            Unit(
                "decoy_detection/7",
                name,
                {"decoy": name, "pools": pool_names(data[name].pools), **settings},
                {"sessions": [unit.tables["sessions"] for unit in finished], "adopted": answers(adopted[name])},
            )
        ]
        for name, finished in looks.items()
        if name in adopted
    }
    ended = runner.run_whole(Stage("detect", each(_sum_up), units))
    names = [name for setup, names in _TABLES.items() if setup in config.setups for name in names]
    return {name: [finished.tables[name] for [finished] in ended.values()] for name in names}


def answers(refs: Sequence[TableRef]) -> list[TableRef]:
    """Of tables ``decoys``, the column that says whether a model has adopted the decoy."""
    return [ref.select("adopted") for ref in refs]


# --- over all pools and models --------------------------------------------------------------------------------------


def _sum_up(store: Store, unit: Unit) -> Tables:
    sessions = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["sessions"]])
    adopted = [answer for ref in unit.inputs["adopted"] for answer in store.read(ref)["adopted"].to_pylist()]
    about = {"decoy": unit.config["decoy"], **adopted_by(adopted)}
    parts = _by_pool(sessions)
    resample = PoolResample(unit.config)
    side_by_side = {key: pools for key, pools in parts.items() if key[1] == _SIDE_BY_SIDE}
    selections = {key: pools for key, pools in parts.items() if key[1] != _SIDE_BY_SIDE}
    rows = {
        "detection": (_curves(selections, resample, "detection_probability"), tables.DETECTION),
        _SIDE_BY_SIDE: (_curves(side_by_side, resample, "success_probability"), tables.SIDE_BY_SIDE),
        "utility": (_utility(selections, resample), tables.UTILITY),
    }
    made = {name: ([about | row for row in these], schema) for name, (these, schema) in rows.items()}
    yield from with_draws(made, None, pa.Table.from_pylist)


def _by_pool(sessions: pl.DataFrame) -> dict[tuple[str, str], FloatArray]:
    """``[models, pools, budgets]`` of each method and selection; models see the same pools."""
    by_pool = {}
    for (method, selection), part in sessions.group_by("method", "selection", maintain_order=True):
        shape = part["model"].n_unique(), part["pool"].n_unique(), -1
        by_pool[str(method), str(selection)] = part.sort("model", "pool", "budget")["found"].to_numpy().reshape(shape)
    return by_pool


Means = Mapping[tuple[str, str], FloatArray]


def _curves(parts: Means, resample: PoolResample, name: str) -> Iterator[dict[str, Any]]:
    for (method, selection), pools in parts.items():
        for index in range(pools.shape[2]):
            about = {"method": method, "selection": selection, "budget": index + 1}
            yield about | resample.with_interval(name, pools[:, :, index], LOGIT)


def _up_to(num_instances: int) -> Scale:
    return between(1.0, max(2.0, num_instances))


def _utility(parts: Means, resample: PoolResample) -> Iterator[dict[str, Any]]:
    needed = {key: expected_instances(pools) for key, pools in parts.items()}
    draws = {key: resample.means(values.mean(axis=0)) for key, values in needed.items()}
    fewest = np.min([drawn for (method, _), drawn in draws.items() if method != _ORACLE], axis=0)
    for (method, selection), values in needed.items():
        yield {
            "method": method,
            "selection": selection,
            **resample.with_interval("num_instances", values, _up_to(parts[method, selection].shape[2])),
            "soonest": None if method == _ORACLE else float((draws[method, selection] == fewest).mean()),
        }

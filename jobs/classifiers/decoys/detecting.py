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
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.explaining import DECOYED, PLAIN, ExplainedPair
from tiltmeter.operators.classifiers.decoys import detection as decoy_detection
from tiltmeter.operators.classifiers.decoys import selection as instance_selection
from tiltmeter.operators.classifiers.decoys.detection import (
    Explained,
    detection_at_random,
    detection_by_order,
    expected_instances,
    identification_success,
    order_of,
    relevance_matrix,
    shows,
)
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import percentile_interval
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SIDE_BY_SIDE = "side_by_side"
_COLUMNS = ("sentence", "word", "attribution")


def detect(
    runner: Runner,
    config: DecoyBenchmarkRun,
    explained: Mapping[str, Sequence[ExplainedPair]],
    adopted: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables ``detection``, ``side_by_side`` and ``utility``, one of each decoy."""
    shown = config.explanations
    settings = {
        "operators": [decoy_detection.VERSION, instance_selection.VERSION],
        "top_words": shown.top_words,
        "selections": shown.selections,
        "max_clusters": shown.max_clusters,
    }
    sessions = {
        name: [_session_unit(config, name, pool, settings) for pool in pools] for name, pools in explained.items()
    }
    done = runner.run_whole(Stage("look", each(_look), sessions, None))
    summed = {"intervals": config.intervals, "seed": config.seed, "number": config.models.number}
    units = {
        name: [
            Unit(
                "decoy_detection/2",
                name,
                {"decoy": name, **summed},
                {"sessions": [unit.tables["sessions"] for unit in finished], "adopted": _answers(adopted[name])},
            )
        ]
        for name, finished in done.items()
        if name in adopted
    }
    ended = runner.run_whole(Stage("detect", each(_sum_up), units))
    names = ("detection", _SIDE_BY_SIDE, "utility")
    return {name: [finished.tables[name] for [finished] in ended.values()] for name in names}


def _answers(refs: Sequence[TableRef]) -> list[TableRef]:
    return [ref.select("adopted") for ref in refs]


def _session_unit(config: DecoyBenchmarkRun, name: str, pair: ExplainedPair, settings: Mapping[str, Any]) -> Unit:
    what = {"decoy": name, "made": config.decoys[name], "method": pair.method, "model": pair.model, **settings}
    inputs = {kind: [ref.select(*_COLUMNS) for ref in refs] for kind, refs in pair.attributions.items()}
    return Unit("decoy_sessions/2", f"{name}, {pair.method}, model {pair.model}", what, inputs)


def _look(store: Store, unit: Unit) -> Tables:
    about = {name: unit.config[name] for name in ("decoy", "method", "model")}
    rows = [
        about | {"pool": number, "selection": selection, "budget": budget, "found": float(value)}
        for number, (decoyed, plain) in enumerate(zip(unit.inputs[DECOYED], unit.inputs[PLAIN], strict=True))
        for selection, values in _probabilities(
            _instances(store, decoyed), _instances(store, plain), unit.config
        ).items()
        for budget, value in enumerate(values, start=1)
    ]
    yield "sessions", pa.Table.from_pylist(rows, tables.SESSIONS)


def _probabilities(
    decoyed: Sequence[Explained], plain: Sequence[Explained], config: Mapping[str, Any]
) -> dict[str, NDArray[np.float64]]:
    """By selection: for each budget, the probability that the decoy is found in a pool of instances."""
    k, budgets = config["top_words"], np.arange(1, len(decoyed) + 1)
    showing = np.array([shows(instance, config["made"], k) for instance in decoyed])
    relevance = relevance_matrix(decoyed, k)
    probabilities = {_SIDE_BY_SIDE: identification_success(decoyed, plain, k, budgets)}
    for selection in config["selections"]:
        if selection == "random":
            probabilities[selection] = detection_at_random(int(showing.sum()), len(showing), budgets)
        else:
            order = order_of(relevance, selection, config["max_clusters"])
            probabilities[selection] = detection_by_order(showing, order, budgets)
    return probabilities


def _instances(store: Store, ref: TableRef) -> list[Explained]:
    """In the order of the table, in which the words of an instance come one after the other."""
    table = store.read(ref)
    rows = zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True)
    instances = []
    for _, words in groupby(rows, key=lambda row: row[0]):
        _, written, values = zip(*words, strict=True)
        instances.append(Explained([word.casefold() for word in written], np.array(values, dtype=np.float64)))
    return instances


# --- over all pools and models --------------------------------------------------------------------------------------


def _sum_up(store: Store, unit: Unit) -> Tables:
    sessions = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["sessions"]])
    answers = [answer for ref in unit.inputs["adopted"] for answer in store.read(ref)["adopted"].to_pylist()]
    about = {"decoy": unit.config["decoy"], **_adopted(answers)}
    means, level = _by_pool(sessions), unit.config["intervals"].level
    resample = _Resample(unit.config, next(iter(means.values())).shape[0])
    side_by_side = {key: pools for key, pools in means.items() if key[1] == _SIDE_BY_SIDE}
    selections = {key: pools for key, pools in means.items() if key[1] != _SIDE_BY_SIDE}
    for name, kept, value, schema in (
        ("detection", selections, "detection_probability", tables.DETECTION),
        (_SIDE_BY_SIDE, side_by_side, "success_probability", tables.SIDE_BY_SIDE),
    ):
        rows = [about | row for row in _curves(kept, resample, level, value)]
        yield name, pa.Table.from_pylist(rows, schema)
    rows = [about | row for row in _utility(selections, resample, level)]
    yield "utility", pa.Table.from_pylist(rows, tables.UTILITY)


def _by_pool(sessions: pl.DataFrame) -> dict[tuple[str, str], NDArray[np.float64]]:
    """``[pools, budgets]`` of each method and selection, means over the models, which see the same pools."""
    by_pool = {}
    for (method, selection), part in sessions.group_by("method", "selection", maintain_order=True):
        means = part.group_by("pool", "budget").agg(pl.col("found").mean()).sort("pool", "budget")
        num_pools = means["pool"].n_unique()
        by_pool[str(method), str(selection)] = means["found"].to_numpy().reshape(num_pools, -1)
    return by_pool


class _Resample:
    """Means over pools, and over resamples of them: the same for all methods, so that these are compared in pairs."""

    def __init__(self, config: Mapping[str, Any], num_pools: int) -> None:
        strata, num = np.zeros(num_pools, dtype=np.int64), config["intervals"].num_resamples
        drawn = resampled_counts(strata, config["seed"], document_key(config["decoy"]), num)
        self._counts, self._num_pools = np.concatenate(list(drawn)), num_pools

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of ``[pools, ...]``."""
        return _rounded(values.sum(axis=0) / self._num_pools)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """``[resamples, ...]``."""
        return _rounded(self._counts @ values / self._num_pools)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """So that last bits tell no two equal means apart."""
    return np.asarray(np.round(values, 12))


Means = Mapping[tuple[str, str], NDArray[np.float64]]


def _curves(means: Means, resample: _Resample, level: float, name: str) -> Iterator[dict[str, Any]]:
    for (method, selection), pools in means.items():
        low, high, _ = percentile_interval(resample.means(pools), level, axis=0)
        for index, value in enumerate(resample.mean(pools).tolist()):
            about = {"method": method, "selection": selection, "budget": index + 1, name: value}
            yield about | {f"{name}_low": float(low[index]), f"{name}_high": float(high[index])}


def _utility(means: Means, resample: _Resample, level: float) -> Iterator[dict[str, Any]]:
    needed = {key: expected_instances(pools) for key, pools in means.items()}
    draws = {key: resample.means(values) for key, values in needed.items()}
    fewest = np.min(list(draws.values()), axis=0)
    for (method, selection), values in needed.items():
        drawn = draws[method, selection]
        low, high, _ = percentile_interval(drawn, level)
        yield {
            "method": method,
            "selection": selection,
            "num_instances": float(resample.mean(values)),
            "num_instances_low": float(low),
            "num_instances_high": float(high),
            "soonest": float((drawn == fewest).mean()),
        }


def _adopted(answers: Sequence[bool | None]) -> dict[str, Any]:
    num, adopted = len(answers), sum(answer is True for answer in answers)
    status = "ok" if adopted == num else "partly_adopted" if adopted else "not_adopted"
    reason = "" if adopted == num else f"{adopted} of {num} models have adopted the decoy"
    is_most = 2 * adopted > num
    return {"num_models": num, "num_adopted": adopted, "adopted": is_most, "status": status, "reason": reason}

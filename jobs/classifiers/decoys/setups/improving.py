"""Setup III: what a model gains once the words are removed that somebody takes for wrong reasons.

Tables ``repairs`` and ``improvement``. By recognition, words are among those of the decoy, so there are few ways to
repair a model; each is trained once, whoever found it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.data_sets import DecoyData
from tiltmeter.jobs.classifiers.decoys.detecting import answers
from tiltmeter.jobs.classifiers.decoys.setups.evaluating import answered
from tiltmeter.jobs.classifiers.decoys.setups.pools import PoolResample, adopted_by, pool_names
from tiltmeter.jobs.classifiers.decoys.training import Lesson, train_with
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.tables import SPLIT
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.decoys import debugging
from tiltmeter.operators.classifiers.decoys.debugging import is_complete, without_words
from tiltmeter.operators.classifiers.decoys.kinds import Decoy
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit


class _Repair(NamedTuple):
    """A model, by its number, and the words that are removed for it; none: the model as it is."""

    model: int
    words: str


def improve(
    runner: Runner,
    config: DecoyBenchmarkRun,
    sources: BenchmarkSources,
    texts: TableRef,
    data: Mapping[str, DecoyData],
    models: Mapping[str, Sequence[TableRef]],
    looks: Mapping[str, Sequence[Finished]],
    adopted: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables ``repairs`` and ``improvement``, one of each decoy.

    Args:
        texts: without a decoy, of the schema ``SPLIT``.
        data, models: of each decoy.
        looks: what comes of looking at explanations; see :func:`.detecting.look`.
        adopted: tables ``decoys``.
    """
    reviews = {name: [unit.tables["reviews"] for unit in done] for name, done in looks.items() if name in adopted}
    repairs = {name: _repairs(runner.store, refs, config.models.number) for name, refs in reviews.items()}
    parts = _remove_words(runner, texts, data, repairs)
    repaired = _repair(runner, config, sources, models, repairs, parts)
    evaluated = _evaluate(runner, config, repairs, parts, repaired)
    units = {
        name: [_summary(config, name, pool_names(data[name].pools), reviews[name], evaluated[name], adopted[name])]
        for name in reviews
        if name in evaluated
    }
    ended = runner.run_whole(Stage("improve", each(sum_up), units))
    return {
        "repairs": [ref for name in ended for ref in evaluated[name]],
        "improvement": [finished.tables["improvement"] for [finished] in ended.values()],
    }


def _repairs(store: Store, reviews: Sequence[TableRef], num_models: int) -> list[_Repair]:
    rows = [row for ref in reviews for row in store.read(ref.select("model", "words")).to_pylist()]
    named = {_Repair(row["model"], row["words"]) for row in rows if row["words"]}
    return [*(_Repair(number, "") for number in range(num_models)), *sorted(named)]


# --- texts without words --------------------------------------------------------------------------------------------


def _remove_words(
    runner: Runner, texts: TableRef, data: Mapping[str, DecoyData], repairs: Mapping[str, Sequence[_Repair]]
) -> dict[tuple[str, str], Finished]:
    """By decoy and words, what is learnt without them, and the texts that models are judged by."""
    words = {name: sorted({repair.words for repair in parts}) for name, parts in repairs.items()}
    units = {
        name: [
            Unit(
                "removed_words/1",
                f"{name} without {removed or 'any'}",
                {"operator": debugging.VERSION, "words": removed},
                {"texts": [texts], "decoyed": [data[name].texts], "probes": [data[name].probes]},
            )
            for removed in parts
        ]
        for name, parts in words.items()
    }
    done = runner.run_whole(Stage("remove words", each(_remove), units))
    return {
        (name, removed): finished
        for name, parts in done.items()
        for removed, finished in zip(words[name], parts, strict=True)
    }


def _remove(store: Store, unit: Unit) -> Tables:
    words = frozenset(unit.config["words"].split())
    learnt = [row for row in _without(store, unit.input("decoyed"), words) if row["part"] != "test"]
    yield "texts", pa.Table.from_pylist([row for row in learnt if row["text"]], SPLIT)
    test = [row for row in _without(store, unit.input("texts"), words) if row["part"] == "test"]
    probes = [row for row in _without(store, unit.input("probes"), words) if row["has_decoy"]]
    rows = [*(row | {"has_decoy": False} for row in test), *probes]
    yield "evaluated", pa.Table.from_pylist(rows, tables.PROBES)


def _without(store: Store, ref: TableRef, words: frozenset[str]) -> Iterator[dict[str, Any]]:
    for row in store.read(ref).to_pylist():
        yield row | {"text": without_words(row["text"], words)}


# --- models ---------------------------------------------------------------------------------------------------------


def _repair(
    runner: Runner,
    config: DecoyBenchmarkRun,
    sources: BenchmarkSources,
    models: Mapping[str, Sequence[TableRef]],
    repairs: Mapping[str, Sequence[_Repair]],
    parts: Mapping[tuple[str, str], Finished],
) -> dict[str, dict[_Repair, TableRef]]:
    """Models by decoy and repair; those that read texts without words, or from which none is removed, as they are."""
    by_name = {name: list(these) for name, these in repairs.items() if (name, "") in parts}
    as_they_are = {name: {repair: models[name][repair.model] for repair in these} for name, these in by_name.items()}
    if config.improvement.remedy == "ignore":
        return as_they_are
    lessons = {
        name: [
            Lesson(f"{name} without {words}, model {number}", number, parts[name, words].tables["texts"])
            for number, words in these
            if words
        ]
        for name, these in by_name.items()
    }
    done = train_with(runner, config, sources, "train repaired", lessons)
    return {
        name: as_they_are[name] | dict(zip((repair for repair in by_name[name] if repair.words), refs, strict=True))
        for name, refs in done.items()
    }


def _evaluate(
    runner: Runner,
    config: DecoyBenchmarkRun,
    repairs: Mapping[str, Sequence[_Repair]],
    parts: Mapping[tuple[str, str], Finished],
    repaired: Mapping[str, Mapping[_Repair, TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables ``repairs`` by decoy, one for each repair."""
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    settings = {"max_tokens": config.models.training.max_tokens, "on_gpu": on_gpu}
    units = {
        name: [
            Unit(
                "repaired_model/2",
                f"{name} without {repair.words or 'any'}, model {repair.model}",
                {"decoy": name, "model": str(repair.model), "words": repair.words, **settings},
                {"model": [repaired[name][repair]], "texts": [parts[name, repair.words].tables["evaluated"]]},
            )
            for repair in repairs[name]
        ]
        for name in repaired
    }
    work = _Evaluating("cuda" if on_gpu else "cpu")
    done = runner.run_whole(Stage("evaluate repaired", each(work), units, None, on_gpu))
    return {name: [unit.tables["repairs"] for unit in finished] for name, finished in done.items()}


@dataclass(frozen=True)
class _Evaluating:
    device: str

    def __call__(self, store: Store, unit: Unit) -> Tables:
        rows = store.read(unit.input("texts")).to_pylist()
        classifier = trained_model(unit.input("model")).load(store, self.device)
        is_right, is_read = answered(classifier, rows, unit.config["max_tokens"])
        has_decoy = np.array([row["has_decoy"] for row in rows], dtype=bool)
        row = {name: unit.config[name] for name in ("decoy", "model", "words")}
        row |= {"accuracy": _mean(is_right[~has_decoy]), "accuracy_on_decoy_rows": _mean(is_right[has_decoy])}
        row["num_unread"] = int((~is_read).sum())
        status = ("ok", "") if has_decoy.any() else ("no_decoy_rows", "no test text has a decoy against its class")
        row |= dict(zip(("status", "reason"), status, strict=True))
        yield "repairs", pa.Table.from_pylist([row], tables.REPAIRS)


def _mean(values: NDArray[np.bool_]) -> float | None:
    return float(values.mean()) if values.size else None


# --- over all pools and models --------------------------------------------------------------------------------------


def _summary(
    config: DecoyBenchmarkRun,
    name: str,
    pools: Sequence[str],
    reviews: Sequence[TableRef],
    repairs: Sequence[TableRef],
    adopted: Sequence[TableRef],
) -> Unit:
    settings: dict[str, Any] = {
        "decoy": name,
        "pools": pools,
        "made": config.decoys[name],
        "number": config.models.number,
    }
    settings |= {"intervals": config.intervals, "seed": config.seed, "operator": means.VERSION}
    inputs = {"reviews": list(reviews), "repairs": list(repairs), "adopted": answers(adopted)}
    return Unit("decoy_improvement/5", name, settings, inputs)


_MEASURES = {"": "accuracy", "_on_decoy_rows": "accuracy_on_decoy_rows"}


def sum_up(store: Store, unit: Unit) -> Tables:
    """The table ``improvement`` of a decoy, from tables ``reviews``, ``repairs`` and the answers who adopted it."""
    reviews, repairs = (pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs[name]]) for name in _INPUTS)
    adopted = [answer for ref in unit.inputs["adopted"] for answer in store.read(ref)["adopted"].to_pylist()]
    about = {"decoy": unit.config["decoy"], **adopted_by(adopted)}
    accuracies = repairs.select(pl.col("model").cast(pl.Int32), "words", *_MEASURES.values())
    before = accuracies.filter(words="").drop("words")
    rows = reviews.join(accuracies, on=["model", "words"]).join(before, on="model", suffix="_before")
    resample = PoolResample(unit.config)
    parts = rows.group_by("method", "selection", "budget", maintain_order=True)
    improvement = [
        about
        | {"method": method, "selection": selection, "budget": budget}
        | _named(part["words"].to_list(), unit.config["made"])
        | _gains(part, resample)
        for (method, selection, budget), part in parts
    ]
    yield from with_draws({"improvement": (improvement, tables.IMPROVEMENT)}, None, pa.Table.from_pylist)


_INPUTS = ("reviews", "repairs")


def _named(removed: Sequence[str], decoy: Decoy) -> dict[str, float]:
    words = [line.split() for line in removed]
    num_complete = sum(is_complete(line, decoy) for line in words)
    return {"num_words": sum(map(len, words)) / len(words), "identified": num_complete / len(words)}


def _gains(rows: pl.DataFrame, resample: PoolResample) -> dict[str, Any]:
    """Accuracies before and after, and their difference with its interval; none where there is no text."""
    gains: dict[str, Any] = {}
    for ending, name in _MEASURES.items():
        if rows[name].null_count():
            continue
        before, after = (_by_pool(rows, column) for column in (f"{name}_before", name))
        gains |= {f"accuracy_before{ending}": float(resample.mean(before.mean(axis=0)))}
        gains |= {f"accuracy_after{ending}": float(resample.mean(after.mean(axis=0)))}
        gains |= resample.with_interval(f"gain{ending}", after - before, FISHER)
    return gains


def _by_pool(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """``[models, pools]``; models see the same pools."""
    return rows.sort("model", "pool")[name].to_numpy().reshape(rows["model"].n_unique(), -1)

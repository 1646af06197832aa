"""What each model gives away over a whole corpus, with intervals over its texts; and how far it differs from others."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.estimates import explained_counts, resamples, with_interval
from tiltmeter.jobs.classifiers.privacy.measuring import Measured
from tiltmeter.jobs.classifiers.privacy.words import word_rows
from tiltmeter.jobs.runtime.rows import OK, failed
from tiltmeter.operators.classifiers.privacy import attacker
from tiltmeter.operators.classifiers.privacy.attacker import uar
from tiltmeter.operators.statistics import resampling
from tiltmeter.operators.statistics.resampling import Estimate, resampled_mean
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

GENERAL = "General"
EXPECTED = {
    ("PrivAdv", "gender_uar"): "lower",
    ("PrivAug", "gender_uar"): "lower",
    ("PrivBias", "gender_uar"): "lower",
    ("GenderCtrl", "gender_uar"): "higher",
    ("PrivEP", "gender_uar"): "lower",
    ("PrivAdvEP", "gender_uar"): "lower",
    ("PrivAdv", "ep"): "lower",
    ("PrivAug", "ep"): "lower",
    ("PrivBias", "ep"): "lower",
    ("GenderCtrl", "ep"): "higher",
    ("PrivEP", "ep"): "lower",
    ("PrivAdvEP", "ep"): "lower",
    ("ArtNoise", "eg"): "lower",
}
"""What each approach promises, against a model that knows nothing of privacy."""

Row = dict[str, Any]


def sum_up(
    runner: Runner,
    config: PrivacyMetricsRun,
    outcomes: Mapping[str, Sequence[TableRef]],
    measured: Mapping[str, Sequence[Measured]],
) -> dict[str, list[TableRef]]:
    """Tables ``models``, ``orderings`` and ``ep_words``, one of each for every model of which all was measured."""
    settings = {
        "operators": [attacker.VERSION, resampling.VERSION],
        "seed": config.seed,
        "intervals": config.intervals,
    }
    names = [name for name in outcomes if name in measured]
    units = {name: [_unit(name, settings, outcomes, measured)] for name in names}
    done = runner.run_whole(Stage("sum up", each(_sum_up), units))
    sums = [finished for [finished] in done.values()]
    return {name: [unit.tables[name] for unit in sums] for name in ("models", "orderings", "ep_words")}


def _unit(
    name: str, settings: Row, outcomes: Mapping[str, Sequence[TableRef]], measured: Mapping[str, Sequence[Measured]]
) -> Unit:
    inputs = {}
    for role, other in {"own": name, "general": GENERAL}.items():
        if other in outcomes and other in measured:
            inputs[f"{role}_outcomes"] = list(outcomes[other])
            inputs[f"{role}_samples"] = [part.samples for part in measured[other]]
            inputs[f"{role}_words"] = [part.words for part in measured[other]]
    return Unit("privacy_sums/1", name, {"model": name, **settings}, inputs)


def _sum_up(store: Store, unit: Unit) -> Tables:
    frames, general = (_read(store, unit, role) for role in ("own", "general"))
    models: list[Row] = []
    compared: list[Row] = []
    for corpus in dict.fromkeys(frames["outcomes"]["corpus"]):
        estimates = _estimates(frames, corpus, unit.config)
        models += _model_rows(unit.config, corpus, frames, estimates)
        if general and unit.config["model"] != GENERAL:
            compared += _comparisons(unit.config, corpus, estimates, _estimates(general, corpus, unit.config))
    yield "models", pa.Table.from_pylist(models, tables.MODELS)
    yield "orderings", pa.Table.from_pylist(compared, tables.ORDERINGS)
    words = word_rows(frames, {} if unit.config["model"] == GENERAL else general, unit.config)
    yield "ep_words", pa.Table.from_pylist(words, tables.EP_WORDS)


def _read(store: Store, unit: Unit, role: str) -> dict[str, pl.DataFrame]:
    kinds = [kind for kind in ("outcomes", "samples", "words") if f"{role}_{kind}" in unit.inputs]
    return {kind: pl.concat([_frame(store, ref) for ref in unit.inputs[f"{role}_{kind}"]]) for kind in kinds}


def _frame(store: Store, ref: TableRef) -> pl.DataFrame:
    return pl.DataFrame(store.read(ref))


def _estimates(
    frames: Mapping[str, pl.DataFrame], corpus: str, config: Mapping[str, Any]
) -> dict[tuple[int | None, str], Estimate]:
    """By seed, and None for the mean over the seeds, and measure. Resamples of a corpus are the same for all models."""
    estimates = _recalls(frames["outcomes"].filter(corpus=corpus), corpus, config)
    samples = frames["samples"].filter(corpus=corpus).sort("sentence")
    for name in tables.EXPLAINED:
        for seed, rows in _by_seed(samples):
            counts = explained_counts(rows.height, corpus, config)
            estimates[seed, name] = resampled_mean(rows[name].to_numpy().astype(np.float64), counts)
    return estimates


def _by_seed(rows: pl.DataFrame) -> Iterator[tuple[int | None, pl.DataFrame]]:
    for (seed,), part in rows.partition_by("seed", maintain_order=True, as_dict=True).items():
        yield seed, part
    yield None, rows.group_by("sentence", maintain_order=True).agg(pl.col(*tables.EXPLAINED).mean())


def _recalls(outcomes: pl.DataFrame, corpus: str, config: Mapping[str, Any]) -> dict[tuple[int | None, str], Estimate]:
    """Every class and gender keeps its number of texts in a resample."""
    by_seed = {seed: part.sort("sentence") for (seed,), part in outcomes.partition_by("seed", as_dict=True).items()}
    first = next(iter(by_seed.values()))
    numbers = {name: first[name].rank("dense").cast(pl.Int64).to_numpy() for name in ("valence", "gender")}
    cells = np.column_stack([numbers["valence"], numbers["gender"]])
    counts = resamples(np.unique(cells, axis=0, return_inverse=True)[1], corpus, config)
    estimates: dict[tuple[int | None, str], Estimate] = {}
    for name, classes in numbers.items():
        right = {seed: (part[f"found_{name}"] == part[name]).to_numpy().astype(float) for seed, part in by_seed.items()}
        for seed, shares in {**right, None: np.mean(list(right.values()), axis=0)}.items():
            estimates[seed, f"{name}_uar"] = Estimate(float(uar(shares, classes)[0]), uar(shares, classes, counts))
    return estimates


def _model_rows(
    config: Mapping[str, Any],
    corpus: str,
    frames: Mapping[str, pl.DataFrame],
    estimates: Mapping[tuple[int | None, str], Estimate],
) -> Iterator[Row]:
    seeds = list(dict.fromkeys(seed for seed, _ in estimates))
    num_rows = frames["outcomes"].filter(corpus=corpus)["sentence"].n_unique()
    explained = frames["samples"].filter(pl.col("corpus") == corpus, pl.col("status") == "ok")["sentence"].n_unique()
    for seed in sorted(seeds, key=lambda seed: -1 if seed is None else seed):
        about = {"model": config["model"], "seed": seed, "corpus": corpus}
        measures: Row = {}
        for name in tables.MEASURES:
            measures |= with_interval(name, estimates[seed, name], config["intervals"])
        has_ep = measures["ep"] is not None
        verdict = OK if has_ep else failed("no_attribution", "no sentence has an attribution other than 0")
        yield about | measures | {"num_rows": num_rows, "num_explained": explained} | verdict


def _comparisons(
    config: Mapping[str, Any],
    corpus: str,
    estimates: Mapping[tuple[int | None, str], Estimate],
    general: Mapping[tuple[int | None, str], Estimate],
) -> Iterator[Row]:
    for measure in tables.MEASURES:
        this, other = estimates[None, measure], general[None, measure]
        difference = Estimate(this.value - other.value, this.resamples - other.resamples)
        row = with_interval("difference", difference, config["intervals"])
        expected = EXPECTED.get((config["model"], measure))
        has_value = row["difference"] is not None
        yield {
            "model": config["model"],
            "against": GENERAL,
            "corpus": corpus,
            "measure": measure,
            **row,
            "expected": expected,
            "found": _is_found(expected, row) if expected is not None and has_value else None,
            **(OK if has_value else failed("no_value", "the measure has no value: see models")),
        }


def _is_found(expected: str, row: Row) -> bool:
    return bool(row["difference_high"] < 0 if expected == "lower" else row["difference_low"] > 0)

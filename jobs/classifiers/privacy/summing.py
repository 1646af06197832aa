"""What each model gives away over a whole corpus, with intervals over its speakers; and how far others give less."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.comparing import CONTROL, adjust, comparisons
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.estimates import SCALES, Estimates, Frames, estimates, said_texts, select_said
from tiltmeter.jobs.classifiers.privacy.measuring import GENERAL, RESEEDED, Measured
from tiltmeter.jobs.classifiers.privacy.words import word_rows
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, failed
from tiltmeter.operators.classifiers.privacy import attacker, spoken
from tiltmeter.operators.statistics import flips, means, resampling
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_OTHERS = {"general": GENERAL, "control": CONTROL, "reseeded": RESEEDED}
"""Models that others are compared with."""

Row = dict[str, Any]


def sum_up(
    runner: Runner,
    config: PrivacyMetricsRun,
    texts: Sequence[TableRef],
    outcomes: Mapping[str, Sequence[TableRef]],
    measured: Mapping[str, Sequence[Measured]],
) -> dict[str, list[TableRef]]:
    """Tables ``models``, ``orderings`` and ``ep_words`` of every model of which all was measured.

    Args:
        runner: of the stages.
        config: of the run.
        texts: tables ``texts`` and, if there is one, ``noisy_texts``.
        outcomes: of each model that was tested, for each seed.
        measured: of each model, for each seed.
    """
    settings = {
        "operators": [attacker.VERSION, spoken.VERSION, means.VERSION, flips.VERSION, resampling.VERSION],
        "seed": config.seed,
        "intervals": config.intervals,
    }
    names = [name for name in measured if name in outcomes or name == RESEEDED]
    shown = {"texts": [select_said(ref) for ref in texts]}
    units = {name: [_unit(name, settings, shown | _inputs(name, outcomes, measured))] for name in names}
    done = runner.run_whole(Stage("sum up", each(_sum_up), units))
    sums = {name: [finished.tables[name] for [finished] in done.values()] for name in ("models", "ep_words")}
    return sums | {"orderings": adjust(runner, [finished.tables["orderings"] for [finished] in done.values()])}


def _unit(name: str, settings: Row, inputs: Mapping[str, Sequence[TableRef]]) -> Unit:
    return Unit("privacy_sums/6", name, {"model": name, **settings}, inputs)


def _inputs(
    name: str, outcomes: Mapping[str, Sequence[TableRef]], measured: Mapping[str, Sequence[Measured]]
) -> dict[str, list[TableRef]]:
    inputs = {}
    for role, other in {"own": name, **_OTHERS}.items():
        if other in measured:
            inputs[f"{role}_samples"] = [part.samples for part in measured[other]]
            inputs[f"{role}_words"] = [part.words for part in measured[other]]
            inputs |= {f"{role}_outcomes": list(outcomes[other])} if other in outcomes else {}
    return inputs


def _sum_up(store: Store, unit: Unit) -> Tables:
    config, frames, texts = unit.config, _read(store, unit, "own"), said_texts(store, unit.inputs["texts"])
    others = {name: _read(store, unit, role) for role, name in _OTHERS.items()}
    models: list[Row] = []
    compared: list[Row] = []
    for corpus in dict.fromkeys(frames["samples"]["corpus"]):
        values = estimates(frames, corpus, texts, config)
        models += _model_rows(config, corpus, frames, values)
        by_other = {
            name: estimates(other, corpus, texts, config)
            for name, other in others.items()
            if other and corpus in other["samples"]["corpus"]
        }
        compared += comparisons(config, corpus, values, by_other)
    general = {} if config["model"] == GENERAL else others[GENERAL]
    words = [] if config["model"] == RESEEDED else word_rows(frames, general, texts, config)
    rows = {"models": (models, tables.MODELS), "orderings": (compared, tables.ORDERINGS)}
    yield from with_draws(rows | {"ep_words": (words, tables.EP_WORDS)}, None)


def _read(store: Store, unit: Unit, role: str) -> dict[str, pl.DataFrame]:
    kinds = [kind for kind in ("outcomes", "samples", "words") if f"{role}_{kind}" in unit.inputs]
    return {kind: pl.concat([_frame(store, ref) for ref in unit.inputs[f"{role}_{kind}"]]) for kind in kinds}


def _frame(store: Store, ref: TableRef) -> pl.DataFrame:
    return pl.DataFrame(store.read(ref))


def _model_rows(
    config: Mapping[str, Any],
    corpus: str,
    frames: Frames,
    values: Estimates,
) -> Iterator[Row]:
    seeds = list(dict.fromkeys(seed for seed, _ in values))
    samples = frames["samples"].filter(corpus=corpus)
    num_rows = frames["outcomes"].filter(corpus=corpus)["sentence"].n_unique() if "outcomes" in frames else None
    for seed in sorted(seeds, key=lambda seed: -1 if seed is None else seed):
        row: Row = {"model": config["model"], "seed": seed, "corpus": corpus, "num_rows": num_rows}
        result = {
            name: values[seed, name].inferred(config, SCALES[name])
            for name in tables.MEASURES
            if (seed, name) in values
        }
        for name, these in result.items():
            row |= values[seed, name].columns(name, these, config, SCALES[name])
        part = samples if seed is None else samples.filter(seed=seed)
        row |= {"num_explained": part.filter(status="ok")["sentence"].n_unique()}
        row |= _why(part, "ep", tables.EP_STATUSES) | _why(part, "eg", tables.EG_STATUSES)
        row |= {"num_units": result["listed_share"].num_units}
        if row["listed_share"] is None:
            yield row | failed("no_attribution", "no sentence has an attribution other than 0")
            continue
        reasons = [these.reason for name, these in result.items() if row[name] is not None and np.isnan(these.variance)]
        yield row | (failed("too_few_units", reasons[0]) if reasons else OK)


def _why(samples: pl.DataFrame, measure: str, reasons: Mapping[str, str]) -> Row:
    """How many sentences have a measure; if none, why: what most of them say."""
    num = samples.drop_nulls(measure)["sentence"].n_unique()
    counted = samples[f"{measure}_status"].value_counts(sort=True)
    status = "ok" if num else counted[f"{measure}_status"][0]
    return {f"num_{measure}": num, f"{measure}_status": status, f"{measure}_reason": reasons[status]}

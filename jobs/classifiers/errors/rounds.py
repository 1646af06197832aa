"""Rounds of labelling, by strategy and seed, and what they come to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.base import usable
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.material import Refs, material_of
from tiltmeter.jobs.classifiers.errors.means import drawn_splits, mean_of_splits
from tiltmeter.jobs.classifiers.errors.tables import ROUNDS
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.classifiers.errors import forest as error_forest
from tiltmeter.operators.classifiers.errors import rounds, word_model
from tiltmeter.operators.classifiers.errors.rounds import STRATEGIES, Domain, play
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

RANDOM = "random"


def play_rounds(runner: Runner, config: ErrorCharacterisationRun, inputs: Refs, base: TableRef) -> TableRef:
    """The table ``rounds``.

    Args:
        base: the texts of the old domain, of the schema ``READ``.
    """
    settings = {
        "operators": [error_forest.VERSION, rounds.VERSION, word_model.VERSION],
        "forest": config.forest,
        "min_share": config.features.min_share,
        "rounds": config.rounds,
    }
    units = [
        Unit(
            "labelling_rounds/2",
            f"{strategy}, seed {number}",
            settings | {"strategy": strategy, "seed": config.seed + number},
            {**inputs, "base": [base]},
        )
        for number in range(config.rounds.num_seeds)
        for strategy in STRATEGIES
    ]
    played = runner.run_whole(Stage("rounds", each(_play), {"texts": units}))["texts"]
    scheme = drawn_splits([*inputs["texts"], base], config.seed, test=config.rounds.test)
    settings = {"level": config.job.level, "test": config.rounds.test, "draws": scheme}
    unit = Unit("round_means/4", "rounds", settings, {"played": [part.tables["played"] for part in played]})
    return runner.run_whole(Stage("sum up rounds", each(_sum), {"texts": [unit]}))["texts"][0].tables["rounds"]


def _play(store: Store, unit: Unit) -> Tables:
    config, material = unit.config, material_of(store, unit)
    rows = usable(store.read(unit.input("base")))
    empty = np.zeros((0, 0))
    texts, labels, groups = ([row[name] for row in rows] for name in ("text", "label", "group"))
    old = Domain(texts, labels, groups, empty)
    features = material.values[:, material.frequent(config["min_share"])]
    new = Domain(material.column("text"), material.column("label"), material.column("group"), features)
    try:
        played = play(config["strategy"], old, new, config["rounds"], config["forest"], config["seed"])
    except ValueError as error:
        raise InputError(f"rounds: {error}; set rounds.number=0 for none") from error
    about = {"strategy": config["strategy"], "seed": config["seed"], "num_groups": material.units.num}
    rows = [part._asdict() | about for part in played]
    yield "played", pa.Table.from_pylist(rows)


def _sum(store: Store, unit: Unit) -> Tables:
    played = pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in unit.inputs["played"]])
    rows = list(_means(played, unit.config))
    yield from with_draws({"rounds": (rows, ROUNDS)}, unit.config["draws"])


def _means(played: pl.DataFrame, settings: Mapping[str, Any]) -> Iterator[Row]:
    """Seeds share the texts: each tests on a part of them, drawn anew."""
    test, level, units = settings["test"], settings["level"], settings["test"] * float(played["num_groups"][0])
    by_chance = played.filter(strategy=RANDOM).select("seed", "round", pl.col("accuracy").alias("random"))
    paired = played.join(by_chance, on=["seed", "round"], maintain_order="left")
    seeds = played["seed"].unique().sort().to_list()
    for (strategy, number), part in paired.group_by("strategy", "round", maintain_order=True):
        accuracy, random = (_by_seed(part, name, seeds) for name in ("accuracy", "random"))
        about = {"strategy": strategy, "round": number, "num_labels": part["num_labels"][0]}
        about |= mean_of_splits("accuracy", accuracy, test, units, level, LOGIT, is_share=True)
        about |= mean_of_splits("over_random", accuracy - random, test, units, level, FISHER)
        yield about | {"errors_found": _mean(part["errors_found"].to_list()), "num_seeds": part.height}


def _by_seed(rows: pl.DataFrame, name: str, seeds: Sequence[int]) -> FloatArray:
    """``[seeds]``; NaN of those that have no row."""
    values = dict(rows.select("seed", name).drop_nulls().iter_rows())
    return np.array([values.get(seed, np.nan) for seed in seeds], dtype=np.float64)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")

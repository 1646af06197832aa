"""Ratings: each system on each variant in a unit of its own, and then all systems against each other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.draws import NUM_ITEMS, draws_of, with_draws
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.rows import TESTED, VERSION, rate
from tiltmeter.jobs.sentiment.rating.rules import RatingConfig
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL, Rated
from tiltmeter.operators.sentiment import deconfounding, mean_tests, ranking, rejection
from tiltmeter.operators.sentiment.ranking import Cut, complete_order, partial_order
from tiltmeter.operators.sentiment.rejection import largest_score
from tiltmeter.operators.statistics import flips, multiplicity, resampling, two_samples
from tiltmeter.operators.statistics.designs import groups
from tiltmeter.operators.statistics.intervals import LINEAR, Scale
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import cut, resampled_interval
from tiltmeter.storage.store.identity import column_digests, digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_VERSIONS = [
    VERSION,
    *(
        module.VERSION
        for module in (two_samples, rejection, deconfounding, mean_tests, flips, groups, multiplicity, resampling)
    ),
]
Row = Mapping[str, Any]

_ITEMS = ("sentence", "text", "group", "dataset", "gender", "race", "emotion", "conversation")

_RESAMPLED = pa.schema({"values": pa.list_(pa.float64()), "items": pa.string(), NUM_ITEMS: pa.int64()})

_KEYS = ("variant", "group", "protected", "system", "measure")


def rate_systems(
    runner: Runner,
    scores: Mapping[Rated, TableRef],
    texts: TableRef | None,
    config: RatingConfig,
    kinds: Mapping[str, str],
    seed: int,
) -> dict[str, list[TableRef]]:
    """Tables ``tests``, ``effects``, ``raw_scores``, ``ratings`` and ``comparisons``.

    Args:
        texts: table of the number of each sentence, what it says and what it is made from; None if nobody knows.
        kinds: of the run's own systems, by their names.
    """
    known = {} if texts is None else {"texts": [texts]}
    settings = {"config": config.of_raw_scores, "operators": _VERSIONS, "seed": seed}
    units = {
        f"{system} on {variant}": [
            Unit(
                f"rate/{two_samples.VERSION}",
                f"{system} on {variant}",
                settings | {"variant": variant, "system": system, "decimals": config.rounding(kinds.get(system))},
                {"scores": [ref], **known},
            )
        ]
        for (variant, system), ref in scores.items()
    }
    done = [unit for [unit] in runner.run_whole(Stage("rate", each(_rate), units)).values()]
    rated = {name: [unit.tables[name] for unit in done] for name in ("tests", "effects")}
    ordered = _order_unit([unit.tables for unit in done], config, seed)
    [order] = runner.run_whole(Stage("order", each(_order), {"ratings": [ordered]}))["ratings"]
    return rated | {name: [order.tables[name]] for name in ("raw_scores", "ratings", "comparisons")}


def _rate(store: Store, unit: Unit) -> Tables:
    key = {name: unit.config[name] for name in ("variant", "system")}
    config, scores = unit.config["config"], _with_texts(store, unit)
    findings = rate(scores, config, unit.config["seed"], unit.config["decimals"])
    yield "tests", table_of([key | row for row in findings.tests], tables.TESTS)
    yield "effects", table_of([key | row for row in findings.effects], tables.EFFECTS)
    yield "raw_scores", table_of([key | row for row in findings.raw_scores], tables.RAW_SCORES)
    items = None if config.keyed_by == "text" else _items(scores)
    resampled = [
        {"values": values, "items": items, NUM_ITEMS: num}
        for values, num in zip(findings.resampled, findings.num_drawn, strict=True)
    ]
    yield "resampled", pa.Table.from_pylist(resampled, _RESAMPLED)


def _with_texts(store: Store, unit: Unit) -> pl.DataFrame:
    """The scores, and beside them what each sentence says and is made from; null where nobody knows."""
    scores = pl.DataFrame(store.read(unit.input("scores")))
    if "texts" not in unit.inputs:
        return scores.with_columns(pl.lit(None, pl.String).alias("text"))
    texts = pl.DataFrame(store.read(unit.input("texts"))).rename({"item": "text"}, strict=False)
    return scores.join(texts, on="sentence", how="left", maintain_order="left")


def _items(scores: pl.DataFrame) -> str:
    """What tells the texts that are resampled from others, and their order."""
    columns = {name: scores[name].cast(pl.String).to_arrow().cast(pa.string()) for name in _ITEMS}
    return digest(column_digests(pa.table(columns | {"scored": scores["sentiment"].is_not_null().to_arrow()})))


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows in a schema: NaN becomes null, while infinity is a result here."""
    return pa.Table.from_pylist([{key: _known(value) for key, value in row.items()} for row in rows], schema)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


def _order_unit(rated: Sequence[Mapping[str, TableRef]], config: RatingConfig, seed: int) -> Unit:
    names = ("measure", "num_levels", "cut", "level", "interval")
    settings = {name: getattr(config, name) for name in names} | {"weights": config.rules.weights, "seed": seed}
    inputs = {name: [refs[name] for refs in rated] for name in ("raw_scores", "resampled")}
    return Unit(f"order/{ranking.VERSION}", "ratings", settings, inputs)


def _order(store: Store, unit: Unit) -> Tables:
    rows = pl.concat(
        pl.DataFrame(store.read(raw)).with_columns(_resampled(store.read(values)))
        for raw, values in zip(unit.inputs["raw_scores"], unit.inputs["resampled"], strict=True)
    )
    ratings = _ratings(rows, *(unit.config[name] for name in ("measure", "num_levels", "cut")))
    raw_scores = {"raw_scores": (list(_with_intervals(rows, unit.config)), tables.RAW_SCORES)}
    yield from with_draws(raw_scores, None, table_of)
    yield "ratings", ratings.select(tables.RATINGS.names).to_arrow().cast(tables.RATINGS)
    comparisons = _comparisons(rows, ratings, unit.config)
    yield "comparisons", table_of(comparisons, tables.COMPARISONS)


def _resampled(values: pa.Table) -> list[pl.Series]:
    kept = [pl.Series(name, values[name]) for name in ("items", NUM_ITEMS)]
    return [pl.Series("resampled", values["values"].to_pylist()), *kept]


def _with_intervals(rows: pl.DataFrame, config: Row) -> Iterator[dict[str, Any]]:
    """Rows of the table ``raw_scores``; those that have a score with its interval."""
    for row in rows.iter_rows(named=True):
        ends: dict[str, Any] = {}
        if row["status"] == "ok":
            highest = largest_score(row["num_tests"], config["weights"]) if row["measure"] == "wrs" else np.inf
            estimate = Estimate(row["raw_score"], np.array(row["resampled"], dtype=np.float64))
            items = {"keyed_by": "text"} if row["items"] is None else {"items": row["items"]}
            scheme = {"paired_by": "items", "seed": config["seed"], NUM_ITEMS: row[NUM_ITEMS], **items}
            ends = _ends("raw_score", estimate, config, cut(0.0, highest))
            ends |= draws_of("raw_score", estimate.resamples, scheme | {"operator": resampling.VERSION})
        yield {name: row[name] for name in tables.RAW_SCORES.names} | ends


def _ends(name: str, estimate: Estimate, config: Row, scale: Scale) -> dict[str, float]:
    interval = resampled_interval(estimate, config["level"], config["interval"], scale)
    return {f"{name}_low": float(interval.low), f"{name}_high": float(interval.high)}


def _ratings(rows: pl.DataFrame, measure: str, num_levels: int, cut: Cut) -> pl.DataFrame:
    """The systems by group, variant and attribute, by the measure that decides; by both where only a test says which.

    It is the impact where a group is confounded for all of its systems.
    """
    confounded = pl.col("is_confounded").all().over("group", "protected")
    chosen = pl.when(confounded).then(pl.lit("die")).otherwise(pl.lit("wrs")) if measure == "auto" else pl.lit(measure)
    rows = rows.with_columns((pl.col("measure") == chosen).alias("decides"))
    is_open = (pl.col("design") == TESTED) & pl.lit(measure == "auto")
    keys = ("decides", "variant", "group", "protected")
    shown = rows.filter(pl.col("decides") | is_open)
    parts = shown.sort(~pl.col("decides"), maintain_order=True).partition_by(*keys, maintain_order=True)
    if not parts:
        return rows.clear().with_columns(pl.lit(0).alias(name) for name in ("rank", "rating", "num_levels"))
    return pl.concat(_ordered(part, num_levels, cut) for part in parts)


def _ordered(rows: pl.DataFrame, num_levels: int, cut: Cut) -> pl.DataFrame:
    raw = rows["raw_score"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    places = {"rank": partial_order(raw), "rating": complete_order(raw, num_levels, cut)}
    columns = [pl.Series(name, values).replace(ranking.NO_PLACE, None) for name, values in places.items()]
    rows = rows.with_columns(*columns, pl.lit(num_levels).alias("num_levels"))
    return rows.sort("rank", nulls_last=True, maintain_order=True)


def _comparisons(rows: pl.DataFrame, ratings: pl.DataFrame, config: Row) -> list[dict[str, Any]]:
    """Every round trip against the original, by both measures."""
    rated = {
        tuple(row[key] for key in _KEYS): row["rating"]
        for row in ratings.filter("decides").select(*_KEYS, "rating").to_dicts()
    }
    by_key = {tuple(row[key] for key in _KEYS): row for row in rows.to_dicts()}
    changes = []
    for key, after in by_key.items():
        before = by_key.get((ORIGINAL, *key[1:]))
        if key[0] != ORIGINAL and before is not None:
            columns = {name: after[name] for name in _KEYS}
            levels = {"original_rating": rated.get((ORIGINAL, *key[1:])), "rating": rated.get(key)}
            changes.append(columns | levels | _change(before, after, config))
    return changes


def _change(before: Row, after: Row, config: Row) -> dict[str, Any]:
    old, new = before["raw_score"], after["raw_score"]
    scores = {"original_score": old, "raw_score": new}
    if old is None or new is None or not np.isfinite([old, new]).all():
        return scores | {"status": "undefined", "reason": "a raw score is undefined or infinite"}
    with np.errstate(invalid="ignore"):
        differences = np.array(after["resampled"], dtype=np.float64) - np.array(before["resampled"], dtype=np.float64)
    change = {"change": new - old, **_ends("change", Estimate(new - old, differences), config, LINEAR)}
    percent = {"percent_change": 100.0 * (new - old) / old if old else None}
    return scores | change | percent | {"status": "ok", "reason": ""}

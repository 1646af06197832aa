"""Jaiswal and Mower Provost 2022: EP, EG and recalls of their models, and the orders that they find, on MELD instead.

Their corpora are licensed. A run of `job=privacy_metrics` on MELD trains 24 models, which takes a quarter of an hour,
and trained models differ between types of processors; so what it found is recorded.
"""

from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.papers.figures import Figure, keep, minus, recorded
from tiltmeter.jobs.report.wording import estimate

TITLE = "Jaiswal and Mower Provost 2022, Human-Imitating Metrics for Training and Evaluating Privacy Preserving ..."
PAGE = "privacy_metrics"
DATA_FILES: list[str] = []

_KEPT = {
    "models": ["model", "corpus", "valence_uar", "gender_uar", "ep", "eg"],
    "orderings": ["model", "against", "corpus", "measure", "difference", "p_holm", "expected", "found"],
}
_ENDS = [f"{name}_{end}" for name in ("valence_uar", "gender_uar", "ep", "eg", "difference") for end in ("low", "high")]
_OTHER_CORPUS = "another corpus"

_HEADINGS = {
    ("within", "valence_uar"): "UAR of valence, within the corpus",
    ("within", "gender_uar"): "UAR of gender, within the corpus",
    ("across", "valence_uar"): "UAR of valence, in the other corpus",
    ("across", "gender_uar"): "UAR of gender, in the other corpus",
    ("within", "ep"): "EP",
    ("within", "eg"): "EG",
}
_TABLE_1: dict[str, tuple[float | None, ...]] = {
    "General": (0.648, 0.711, 0.577, 0.742, None, 0.65),
    "PrivAdv": (0.671, 0.562, 0.532, 0.622, 0.653, 0.62),
    "PrivAug": (0.636, 0.551, 0.591, 0.643, 0.680, 0.68),
    "PrivBias": (0.620, 0.621, 0.528, 0.688, 0.563, 0.60),
    "GenderCtrl": (0.631, 0.820, 0.517, 0.756, -0.210, 0.59),
}
_TRAINED_FOR_EP: dict[str, tuple[float | None, ...]] = {
    "PrivEP": (0.643, 0.582, 0.563, 0.611),
    "PrivAdvEP": (0.672, 0.548, 0.581, 0.587),
}
_PLACES = {"within": "section 8.3", "across": "section 8.4"}

Row = dict[str, Any]


def figures() -> list[Figure]:
    """All numbers of table 1 that are no votes of people, those of the models trained for EP, and the orders."""
    record = recorded(PAGE)
    models = {(row["model"], row["corpus"]): row for row in record["models"]}
    values = [
        _value("table 1" if name in _TABLE_1 else _PLACES[key[0]], models, name, key, value)
        for name, row in (_TABLE_1 | _TRAINED_FOR_EP).items()
        for key, value in zip(_HEADINGS, row, strict=False)
    ]
    return values + [_order(row) for row in record["orderings"] if row["expected"] and row["corpus"] == "within"]


def _value(
    place: str, models: dict[tuple[str, str], Row], name: str, key: tuple[str, str], printed: float | None
) -> Figure:
    corpus, measure = key
    text = "–" if printed is None else f"{printed:.2f}" if measure == "eg" else minus(f"{printed:.3f}")
    ours = estimate(models[name, corpus], measure)
    return Figure(place, f"{name}: {_HEADINGS[key]}", text, ours, "same" if text == ours else _OTHER_CORPUS)


def _order(row: Row) -> Figure:
    other = "0" if (row["measure"], row["against"]) == ("ep", "General") else row["against"]
    heading = _HEADINGS["within", row["measure"]]
    what = f"{row['model']}: {heading}, is {row['expected']} than {other}"
    found = {True: "yes", False: "no", None: "left open by few speakers"}[row["found"]]
    ours = f"{found}, by {estimate(row, 'difference')}"
    if row["model"] in _TRAINED_FOR_EP and row["measure"] == "ep":
        return Figure("section 8.3", what, "–", ours, "no figure in print")
    place = "table 1" if row["model"] in _TABLE_1 else "section 8.3"
    return Figure(place, what, "yes", ours, "same" if row["found"] else "not found on MELD")


def record(run: Path) -> None:
    """Keep what a run on MELD found."""
    tables = {}
    for name, columns in _KEPT.items():
        rows = pl.read_parquet(run / f"{name}.parquet")
        rows = rows.filter(pl.col("seed").is_null()) if "seed" in rows.columns else rows
        rows = rows.filter(pl.col("expected").is_not_null()) if "expected" in rows.columns else rows
        kept = [column for column in rows.columns if column in (*columns, *_ENDS)]
        tables[name] = rows.select(pl.col(kept)).with_columns(pl.col(pl.Float64).round(6)).to_dicts()
    keep(PAGE, tables)

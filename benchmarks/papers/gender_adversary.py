"""Lantavos and Sushil 2019: their one empirical claim, by their search and by ours, on real tweets.

They found "substantially more label-altering replacements for male to female alterations than the opposite" (the last
sentence of their results, before the examples), and give no rates. Their tweets and vectors are not to be had; ours are
those of Davidson et al. 2017, which they name too, and vectors of film reviews. What a run found is recorded.

The steps of both printed examples are in ``tests/operators/classifiers/adversary/test_search.py``: their victim can't
be asked, and one that is made of the printed probabilities shows nothing but the order of the search.
"""

from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.papers.figures import Figure, keep, recorded

TITLE = "Lantavos and Sushil 2019, Detecting gender bias of language-processing models by altering gendered words"
PAGE = "gender_adversary"
DATA_FILES: list[str] = []

_SEARCHES = {"greedy": "released search", "ladder": "proven search"}
_COLUMNS = ("flip_rate", "num_texts", "asymmetry", "asymmetry_p", "asymmetry_control_p")


def figures() -> list[Figure]:
    """Shares of the tweets whose label changes towards women and towards men, by search."""
    record = recorded(PAGE)
    return [_figure(f"labels changed to female against to male, {_SEARCHES[one]}", record[one]) for one in _SEARCHES]


def _figure(name: str, row: dict[str, Any]) -> Figure:
    ours = f"{row['flip_rate']:.1%} against {row['flip_rate'] - row['asymmetry']:.1%} of {row['num_texts']:,}"
    return Figure("results", name, "substantially more", ours, _verdict(row))


def _verdict(row: dict[str, Any]) -> str:
    """By signs of texts, whether it is these texts alone; and by controls, whether it is any two directions."""
    p_value, beside = row["asymmetry_p"], row["asymmetry_control_p"]
    if p_value is None or p_value > 0.05:
        return "not seen: " + ("too few differ" if p_value is None else f"p = {p_value:.2g}")
    if beside is None:
        return f"in these tweets, p = {p_value:.2g}; without controls"
    said = f"in these tweets, p = {p_value:.2g}; among controls p = {beside:.2g}"
    return f"seen {said}" if beside <= 0.05 else f"not shown: {said}"


def record(run: Path) -> None:
    """Keep what a run found."""
    rows = pl.read_parquet(run / "summary.parquet").filter(direction="pair_to_female", stratum="all")
    keep(PAGE, {row["search"]: {name: row[name] for name in _COLUMNS} for row in rows.iter_rows(named=True)})

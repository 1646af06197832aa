"""Lantavos and Sushil 2019: their one empirical claim, by their search and by ours, on real tweets.

They found "substantially more label-altering replacements for male to female alterations than the opposite" (the last
sentence of their results, before the examples), and give no rates. Their tweets and vectors are not to be had; ours are
those of Davidson et al. 2017, which they name too, and vectors of film reviews. What a run found is recorded beside
this module; the docs have its command:

    python -m benchmarks.papers.gender_adversary <run directory>

The steps of both printed examples are in ``tests/operators/classifiers/adversary/test_search.py``: their victim can't
be asked, and one that is made of the printed probabilities shows nothing but the order of the search.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.papers.figures import Figure

TITLE = "Lantavos and Sushil 2019, Detecting gender bias of language-processing models by altering gendered words"
PAGE = "gender_adversary"
DATA_FILES: list[str] = []

_RECORD = Path(__file__).with_suffix(".json")
_SEARCHES = {"greedy": "released search", "ladder": "proven search"}
_COLUMNS = ("flip_rate", "num_texts", "asymmetry", "asymmetry_p", "asymmetry_control_p")


def figures() -> list[Figure]:
    """Shares of the tweets whose label changes towards women and towards men, by search."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))
    return [_figure(name, record[search]) for search, name in _SEARCHES.items()]


def _figure(name: str, row: dict[str, Any]) -> Figure:
    ours = f"{row['flip_rate']:.1%} against {row['flip_rate'] - row['asymmetry']:.1%} of {row['num_texts']:,}"
    return Figure(
        "results", f"labels changed to female against to male, {name}", "substantially more", ours, _verdict(row)
    )


def _verdict(row: dict[str, Any]) -> str:
    """By signs of texts, whether it is these texts alone; and by controls, whether it is any two directions."""
    p_value, beside = row["asymmetry_p"], row["asymmetry_control_p"]
    if p_value is None or p_value > 0.05:
        return "not seen: " + ("too few differ" if p_value is None else f"p = {p_value:.2g}")
    if beside is None:
        return f"in these tweets, p = {p_value:.2g}; without controls"
    said = f"in these tweets, p = {p_value:.2g}; among controls p = {beside:.2g}"
    return f"seen {said}" if beside <= 0.05 else f"not shown: {said}"


def record(run_dir: Path) -> None:
    """Keep what a run found."""
    rows = pl.read_parquet(run_dir / "summary.parquet").filter(direction="pair_to_female", stratum="all")
    found = {row["search"]: {name: row[name] for name in _COLUMNS} for row in rows.iter_rows(named=True)}
    _RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dir", type=Path)
    record(parser.parse_args().run_dir)

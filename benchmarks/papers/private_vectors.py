"""Feyisetan and Kasiviswanathan 2021: table 1 beside noise alone, and appendix A, with embeddings of our own.

The paper does not say which GloVe it takes. Ours are trained on the Simple English Wikipedia, 6 million tokens; the
docs have the commands. Training takes an hour, so what runs found is recorded beside this module:

    python -m benchmarks.papers.private_vectors <run of table 1> <run of appendix A> ...
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.papers.figures import Figure, compared
from tiltmeter.operators.embedding.private_release.noise import published_dimensions

TITLE = "Feyisetan and Kasiviswanathan 2021, Private Release of Text Embedding Vectors"
PAGE = "private_vectors"
DATA_FILES: list[str] = []

_RECORD = Path(__file__).with_suffix(".json")
_WIDTH, _EPSILON = 300, 10.0
_BETAS = {50: 0.93, 100: 0.66, 200: 0.468}
_TABLE_1 = {
    "MR": (55.61, 58.11),
    "CR": (63.97, 71.02),
    "MPQA": (77.98, 78.86),
    "SST-5": (31.90, 32.49),
    "TREC": (53.20, 73.00),
}
"""Per cent right on the test part: by M1, and by M2 at beta = 0.9."""

_WORDS = "HuLiu"

Row = dict[str, Any]


def figures() -> list[Figure]:
    """What the paper prints, beside ours and beside what noise alone is right about."""
    record = json.loads(_RECORD.read_text(encoding="utf-8"))
    return [*_dimensions(), *_table_1(record["table_1"]), *_appendix(record["appendix_a"])]


def _dimensions() -> Iterator[Figure]:
    for num, beta in _BETAS.items():
        ours = published_dimensions(_WIDTH, beta)
        yield compared(
            "appendix A", f"dimensions at beta = {beta}", num, ours, digits=0, otherwise="the rule gives two less"
        )


def _table_1(rows: list[Row]) -> Iterator[Figure]:
    """A printed value says something of vectors where it exceeds that of noise alone, drawn once for each word."""
    for task, printed in _TABLE_1.items():
        found = {(row["mechanism"], row["dimensions"], row["noise_per"]): row for row in rows if row["task"] == task}
        for name, value in zip(("M1", "M2"), printed, strict=True):
            [num] = {dimensions for mechanism, dimensions, _ in found if mechanism == name}
            alone = found["noise_only norm", num, "word"]
            cells = [
                f"{noise} {_percent(found[name, num, noise])} ({_percent(found['noise_only norm', num, noise])})"
                for noise in ("word", "occurrence")
            ]
            verdict = "less than noise alone" if value < 100 * alone["low"] else "as noise alone"
            verdict = "more than noise alone" if value > 100 * alone["high"] else verdict
            heading = f"{task}, {name} in {num}: % right; ours with noise by ... (of noise alone)"
            yield Figure("table 1", heading, f"{value:.2f}", "; by ".join(["", *cells])[2:], verdict)
        plain, constant = (_percent(found[name, 0, "none"]) for name in ("non_private", "constant"))
        yield Figure(
            "table 1",
            f"{task}: % right without noise, and of the most frequent class",
            "–",
            f"{plain}, {constant}",
            "no figure in print",
        )


def _percent(row: Row) -> str:
    return f"{100 * row['value']:.1f}"


def _appendix(rows: list[Row]) -> Iterator[Figure]:
    """Whether fewer dimensions in training are better than fewer after it, as figure 4 shows."""
    found = {(row["mechanism"], row["dimensions"], row["epsilon"]): row for row in rows if row["measure"] == "accuracy"}
    for num in _BETAS:
        for epsilon in sorted({key[2] for key in found if key[2]}):
            trained, mapped = found["M1", num, epsilon], found["M2", num, epsilon]
            is_apart = trained["low"] > mapped["high"] or mapped["low"] > trained["high"]
            is_better = trained["value"] > mapped["value"]
            verdict = ("same" if is_better else "the other way round") if is_apart else "can't be told apart"
            heading = f"words of Hu and Liu, {num} dimensions, epsilon = {epsilon:g}: trained is better than mapped"
            yield Figure("figure 4", heading, "yes", f"{_percent(trained)} against {_percent(mapped)} % right", verdict)


def record(table_1: Path, appendix: list[Path]) -> None:
    """Keep what the runs found."""
    rows = pl.concat([pl.read_parquet(run / "utility.parquet") for run in appendix])
    noisy = rows.filter(pl.col("mechanism").is_in(["M1", "M2"]), task=_WORDS)
    tables = {"table_1": pl.read_parquet(table_1 / "utility.parquet"), "appendix_a": noisy}
    kept = ["task", "mechanism", "dimensions", "epsilon", "noise_per", "measure", "value", "low", "high"]
    rounded = {
        name: rows.select(kept).with_columns(pl.col(pl.Float64).round(6)).to_dicts() for name, rows in tables.items()
    }
    _RECORD.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table_1", type=Path, help="directory of the run on texts")
    parser.add_argument("appendix", type=Path, nargs="+", help="directories of the runs on words")
    asked = parser.parse_args()
    record(asked.table_1, asked.appendix)

"""Misra et al. 2021: the data sets, the sizes of parts, what the differences of table 4 are worth, and a run beside it.

What the tables say of a run of the paper's protocol is recorded; the page of the docs has its settings.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import fisher_exact

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure, compared, keep, recorded
from tiltmeter.operators.classifiers.errors.ranking import at_prevalence
from tiltmeter.operators.text.normalisation import Normalizer

TITLE = "Misra, Liu and Mahmud 2021, Accountable Error Characterization"
PAGE = "error_characterisation"

_REVIEWS, _TWEETS = "sentiment/sst5/stsa.fine.train", "sentiment/airline/tweets.parquet"
DATA_FILES = [_REVIEWS, _TWEETS]

_MERGED = {"0": "negative", "1": "negative", "2": "neutral", "3": "positive", "4": "positive"}
_PRINTED = {"negative": (3304, 7366), "neutral": (1622, 2451), "positive": (3605, 1847)}
_UNCERTAINTY, _AEC = {10: 8, 20: 15, 30: 23, 40: 30, 50: 37}, {10: 7, 20: 16, 30: 25, 40: 33, 50: 38}
"""Errors among the first K, of which table 4 prints the shares."""

_COLUMNS = {
    "least_confidence": ("P@{} of uncertainty", dict(zip(_AEC, (0.80, 0.75, 0.77, 0.75, 0.74), strict=True))),
    "published": ("P@{} of AEC", dict(zip(_AEC, (0.70, 0.80, 0.83, 0.83, 0.76), strict=True))),
}
_NOT_PRINTED = {
    "published": "features of the paper",
    "least_confidence": "least confidence",
    "predicted_class": "predicted class alone",
    "in_domain_disagreement": "in-domain disagreement",
    "random": "chance",
}

_RIGHT, _WRONG = 7009, 4655
_NO_RULE = "the rule for near-duplicates is not said"


def figures() -> list[Figure]:
    """What the paper prints, beside what its own numbers or the data come to."""
    return [*_reviews(), *_tweets(), *_parts(), *_differences(), *_protocol()]


def _reviews() -> Iterator[Figure]:
    lines = [line.split(" ", 1) for line in (DATA / _REVIEWS).read_text(encoding="utf-8").splitlines()]
    normal = Normalizer("en", fold_case=True)
    distinct = {" ".join(normal(text).split()): _MERGED[label] for label, text in lines}
    counts = Counter(distinct.values())
    for name, (printed, _) in _PRINTED.items():
        yield Figure("table 1", f"{name} reviews, without repeated ones", f"{printed:,}", f"{counts[name]:,}", _NO_RULE)


def _tweets() -> Iterator[Figure]:
    labels = pl.read_parquet(DATA / _TWEETS)["label"]
    num = sum(tweets for _, tweets in _PRINTED.values())
    yield compared("table 2", "tweets, of 14,640 × 0.8", num, 0.8 * len(labels), otherwise="60 rows are left out")
    for name, (_, printed) in _PRINTED.items():
        ours = f"{float((labels == name).to_numpy().mean()):.3f}"
        yield Figure("table 2", f"share of {name} tweets", f"{printed / num:.3f}", ours, "the public file, all rows")
    majority, figure = _PRINTED["negative"][1] / num, "accuracy of the base model; of calling all negative"
    yield Figure("table 3", figure, "60.09 %", f"{100 * majority:.2f} %", "better than the model")


def _parts() -> Iterator[Figure]:
    yield compared("section 3.3", "balanced texts", 9310, 2 * _WRONG)
    yield compared("section 3.3", "test part", 1862, 0.2 * 2 * _WRONG)
    yield compared("section 4.1", "test part", 1832, 0.2 * 2 * _WRONG, otherwise="a slip: 1,862 in section 3.3")
    natural = f"{at_prevalence(_AEC[50] / 50, 0.5, _WRONG / (_RIGHT + _WRONG)):.2f}"
    figure = "AEC's P@50, and at the tweets' prevalence of errors"
    yield Figure("table 4", figure, "0.76", natural, "balanced in print")


def _differences() -> Iterator[Figure]:
    for size in _AEC:
        first, second = _UNCERTAINTY[size], _AEC[size]
        printed = ", ".join(f"{values[size]:.2f}" for _, values in _COLUMNS.values())
        p_value = fisher_exact(np.array([[first, size - first], [second, size - second]])).pvalue
        figure = f"P@{size}, uncertainty and AEC; Fisher's p between them"
        yield Figure("table 4", figure, printed, f"p = {p_value:.2f}", "no difference can be told")


def _protocol() -> Iterator[Figure]:
    """Means over 20 splits of a run, with what holds a single split; the paper has one."""
    rows = recorded(PAGE)
    precision = {(row["score"], row["k"]): row for row in rows["precision_at_k"]}
    for score, (heading, printed) in _COLUMNS.items():
        for size, value in printed.items():
            row = precision[score, size]
            low, high = row["precision_band_low"], row["precision_band_high"]
            ours = f"{row['precision']:.2f}; {low:.2f} to {min(high, 1.0):.2f} holds a split"
            verdict = "within" if low <= value <= high else "outside"
            yield Figure("table 4", heading.format(size), f"{value:.2f}", ours, verdict)
    auroc = {row["score"]: row["value"] for row in rows["error_models"]}
    for score, name in _NOT_PRINTED.items():
        first, last = (precision[score, size]["precision"] for size in (50, 200))
        ours = f"{auroc[score]:.3f}, {first:.2f}, {last:.2f}"
        yield Figure("–", f"AUROC, P@50 and P@200 of {name}", "–", ours, "not printed")


def record(run: Path) -> None:
    """Keep the means over splits that the table needs."""
    parts = {"precision_at_k": pl.col("k").is_in([*_AEC, 200]), "error_models": pl.col("measure") == "auroc"}
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, part in parts.items():
        rows = pl.read_parquet(run / f"{name}.parquet").filter(part, pl.col("score").is_in(_NOT_PRINTED), split="all")
        tables[name] = rows.drop("split", "low", "high").with_columns(pl.col(pl.Float64).round(6)).to_dicts()
    keep(PAGE, tables)

"""Ratings from the printed raw scores, and raw scores from the printed t-values and means.

What the paper measured is not at hand, but its tables build on each other. What they print is in a file beside this.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from scipy.special import stdtr

from benchmarks.papers.figures import Figure
from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact, impact_percent
from tiltmeter.operators.sentiment.ranking import complete_order
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED

TITLE = "Lakkaraju et al. 2023, The Effect of Human v/s Synthetic Test Data and Round-tripping"
PAGE = "sentiment_rating"
DATA_FILES: tuple[str, ...] = ()

_PRINTED = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
SYSTEMS = ("S_b", "S_r", "S_t", "S_d", "S_g")
LEVELS = 3
Row = Mapping[str, Any]

HALF_A_DIGIT = 0.005
"""By which a printed t-value may be too small."""

# --- ratings ----------------------------------------------------------------------------------------------------------


def printed_rows() -> dict[str, tuple[dict[str, float], list[int], str]]:
    """Raw scores by system, ratings and remarks, by data."""
    rows = {}
    for line in _PRINTED["ratings"].splitlines():
        name, scores, ratings, *remark = line.split(" | ")
        words = scores.split()
        by_system = {f"S_{system}": float(score) for system, score in zip(words[::2], words[1::2], strict=True)}
        rows[name] = by_system, [int(rating) for rating in ratings.split()], "".join(remark)
    return rows


def ratings() -> Iterator[Figure]:
    """Each row of tables XIX and XX."""
    for name, (scores, printed, remark) in printed_rows().items():
        ours = _order(scores)
        figure = f"ratings of {name}: {', '.join(f'{system} {_number(score)}' for system, score in scores.items())}"
        texts = [" ".join(map(str, levels)) for levels in (printed, ours)]
        is_explained = remark and remark.startswith("same") == (ours == printed)
        verdict = remark if is_explained else "same" if ours == printed else "differs"
        yield Figure(_table(name), figure, texts[0], texts[1], verdict)


def followed() -> Figure:
    """How many printed rows follow from the raw scores beside them."""
    rows = printed_rows().values()
    by_place = [remark for scores, printed, remark in rows if _order(scores) == printed]
    named = [remark for remark in by_place if not remark.startswith("same; ")]
    lacking = [remark for remark in by_place if remark.endswith("is not printed")]
    told = f"{len(by_place)} by place; by the names of systems {len(named)}, or {len(named) + len(lacking)}"
    why = "two rows name other systems than their scores, and a third lacks S_g"
    return Figure("tables XIX, XX", f"rows of ratings that follow, of {len(rows)}", "–", told, why)


def _order(scores: Mapping[str, float]) -> list[int]:
    levels: list[int] = complete_order(np.array([*scores.values()]), LEVELS).tolist()
    return levels


def _table(name: str) -> str:
    return "table XX" if name.startswith("HD") else "table XIX"


def _number(value: float) -> str:
    return "undefined" if np.isinf(value) else f"{value:g}"


# --- weighted rejection scores --------------------------------------------------------------------------------------


def rejections() -> Iterator[Figure]:
    """Raw scores of tables XIX and XX, from the printed t-values."""
    for name, tests in _PRINTED["t_values"].items():
        printed = printed_rows()[name][0]
        ours = {system: score(tests, system) for system in SYSTEMS}
        figure = f"weighted rejections of {name}, from the t-values of table {tests['table']}: {', '.join(SYSTEMS)}"
        yield Figure(_table(name), figure, _listed(printed), _listed(ours), _verdict(name, tests, printed, ours))


def score(tests: Row, system: str, weights: tuple[float, ...] = PUBLISHED.weights, rounding: float = 0.0) -> float:
    """The weighted rejection score of printed t-values, which may have been larger by their rounding."""
    rows = [row.replace("H", "inf").split() for row in tests["t"][system].split(";")]
    p_values = [
        2.0 * stdtr(df, -float(t) - rounding)
        for row, degrees in zip(rows, _PRINTED["degrees"][tests["degrees"]], strict=True)
        for t, df in zip(row, degrees, strict=True)
    ]
    return float(weighted_rejections(np.array(p_values), PUBLISHED._replace(weights=weights)).score)


def _verdict(name: str, tests: Row, printed: Mapping[str, float], ours: Mapping[str, float]) -> str:
    """How the printed scores follow, or why they do not."""
    others = [system for system in SYSTEMS if not _is_same(printed[system], ours[system])]
    if not others:
        return "same"
    if all(_is_same(printed[system], score(tests, system, DEFINITION.weights)) for system in SYSTEMS):
        return "same with weights 1, 0.8, 0.6"
    if all(_is_same(printed[system], score(tests, system, rounding=HALF_A_DIGIT)) for system in others):
        return f"same, as t-values at the threshold are rounded: {', '.join(others)}"
    return str(_PRINTED["remarks"].get(name, f"differs: {', '.join(others)}"))


def _is_same(printed: float, ours: float) -> bool:
    return abs(printed - ours) < 1e-6


def _listed(scores: Mapping[str, float]) -> str:
    return ", ".join(f"{scores[system]:g}" for system in SYSTEMS)


# --- deconfounding impacts --------------------------------------------------------------------------------------------


def impacts() -> Iterator[Figure]:
    """Raw scores of table XIX, from the printed means, whose percentages the paper cuts off after two digits."""
    for name, row in _PRINTED["means"].items():
        table, means, remark = row["table"], row["means"], row["remark"]
        printed = printed_rows()[name.removesuffix(" of S_h")][0]
        ours = {system: largest(rows) for system, rows in means.items()}
        figure = f"deconfounding impact of {name}, %, from the means of table {table}: {', '.join(means)}"
        texts = [", ".join(_percent(scores[system]) for system in means) for scores in (printed, ours)]
        is_same = texts[0] == texts[1] or remark != "same"
        yield Figure("table XIX", figure, texts[0], texts[1], remark if is_same else "differs")


def largest(means: str) -> float:
    """The largest impact of the printed means."""
    rows = np.array([row.split() for row in means.split(";")], dtype=np.float64)
    return float(impact_percent(rows[:, :2], rows[:, 2:]).max())


def _percent(value: float) -> str:
    return "undefined" if np.isinf(value) else f"{math.floor(100 * value + 1e-6) / 100:g}"


def constant() -> Figure:
    """A system that gives every emotion one score, as S_d and S_h are printed to do."""
    emotions, genders = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0, 1])
    impact = deconfounding_impact(np.where(emotions == 0, -1.0, 1.0), emotions, genders)
    figure = "impact of a system with -1 for every negative and 1 for every positive text, %: S_d, S_h"
    why = "error in print: a weighted mean of what does not vary is what it was"
    return Figure("tables 4, 5, X to XVIII", figure, "72 to 84", f"{impact.percent.max():g}", why)


_NOT_PRINTED = "raw scores of SD: its t-values and means are another paper's"
ABSENT = [
    Figure("table XIX", _NOT_PRINTED, "30 scores", "–", "not printed"),
    Figure(
        "slides on S_h", "agreement of three annotators on nine data sets, %", "75 to 98", "–", "labels not at hand"
    ),
    Figure("table II", "words, stop words and utterances of the first chatbot", "24 means", "–", "turns not at hand"),
]


def figures() -> list[Figure]:
    """All of them."""
    return [*ratings(), followed(), *rejections(), *impacts(), constant(), *ABSENT]

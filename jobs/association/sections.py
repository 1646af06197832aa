"""The sections of the association tests: between groups of words (WEAT) and of single words (WEFAT)."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.association import dot_plots
from tiltmeter.jobs.association.findings import (
    association_finding_in_short,
    association_findings,
    combinations,
    p_cell,
    preferred,
)
from tiltmeter.jobs.association.word_association_sections import word_associations
from tiltmeter.jobs.report.findings import by_model, folded, measured, sentences, why_nothing
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import estimate, isolated, number, phrase, stars
from tiltmeter.jobs.runtime.published import Frames

_STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001"
_NUM_LISTED = 6
_STAR_SPACE = "\u2004"
_SUMMARY = ["similarity", "statistic", "tests", "significant", "mean d", "mean |d|"]
_METHODS = {
    "exact": "exact, where all regroupings were counted",
    "certified": "certified, where they were bounded: it is sure to lie in the brackets",
    "monte_carlo": "Monte Carlo, where random ones were drawn: the brackets are a 95% interval",
}


def findings(frames: Frames) -> list[Block]:
    """Which association tests point to a side, by the similarity and statistic that WEAT is defined with."""
    if "associations" not in frames:
        return []
    rows = frames["associations"]
    models = by_model(preferred(rows))
    if not models:
        return [Bullets([why_nothing(rows, "association test")])]
    say = association_finding_in_short if len(models) > 1 else association_findings
    return [Bullets(sentences({label: say(part) for label, part in models.items()}))]


def sections(frames: Frames) -> list[Section]:
    """One section for each table of association tests that the run made."""
    tests = [Section("associations", "Association tests", _tests(frames))] if "associations" in frames else []
    return [*tests, *word_associations(frames)]


def _tests(frames: Frames) -> list[Block]:
    rows = frames["associations"]
    blocks = folded({label: _tables(frames, part) for label, part in by_model(rows).items()}, "tests one by one")
    found = measured(rows).drop_nulls("effect_size")
    if found.is_empty():
        return [Paragraph(why_nothing(rows, "association test")), *blocks]
    text = (
        "In the word embedding association test (WEAT, Caliskan et al. 2017), an effect size d above 0 says that the "
        "first targets go with the first attributes, and the second with the second. Its p-value is one-sided: the "
        "share of the regroupings of the targets by chance that make d at least as large. So it is near 1 where d is "
        "far below 0, and a test that leans against its expectation gets no star."
    )
    return [Paragraph(text), _chart(found), *_in_short(frames), *blocks]


# --- effect sizes ---------------------------------------------------------------------------------------------------


def _chart(found: pl.DataFrame) -> Chart:
    figures, question = _figures(found)
    num = preferred(found)["test"].n_unique()
    return Chart(
        f"Dot plot of the effect sizes of {num} association tests, with their intervals around or beside 0.",
        f"By cosine and mean where a model has them. {_STARS}. Lines: intervals of the replicas' own values, where "
        "there are replicas; a colour names a side where they exclude 0. For target sets of equal size d lies between "
        "−2 and 2.",
        figures,
        question,
    )


def _figures(found: pl.DataFrame) -> tuple[dict[str, go.Figure], str]:
    """Of each similarity and statistic where there is one model; else of each model, by the usual ones."""
    models = by_model(preferred(found))
    if len(models) > 1:
        return {label: dot_plots.associations(part) for label, part in models.items()}, "Model"
    # The usual combination comes first, and keeps its place.
    parts = combinations(preferred(found)) | combinations(found)
    return {label: dot_plots.associations(part) for label, part in parts.items()}, "Similarity, statistic"


# --- tables ---------------------------------------------------------------------------------------------------------


def _tables(frames: Frames, rows: pl.DataFrame) -> list[Block]:
    """The tests of one model by the usual similarity and statistic, then by all of them."""
    several = len(combinations(rows)) > 1
    usual = preferred(rows)
    return [_tests_grid(usual), *_lost(usual), *_summary(frames, rows), *(_comparison(rows) if several else [])]


def _tests_grid(rows: pl.DataFrame) -> Grid:
    (how,) = combinations(rows)
    methods = "; ".join(text for name, text in _METHODS.items() if name in rows["p_method"].to_list())
    numeric = ["d", "p", "words"]
    return Grid(
        f"By {how}. Words: targets + attributes that have a vector; those that have none are left out of their sets. "
        f"{_STARS}.{f' p is {methods}.' if methods else ''}",
        ["test", "targets", "attributes", *numeric, "p is", "left out, or why there is no result"],
        [_test(row) for row in rows.to_dicts()],
        numeric,
    )


def _test(row: Mapping[str, Any]) -> list[str]:
    missing = row["missing_words"] or []
    left_out = _listed(missing) if len(missing) <= _NUM_LISTED else f"{len(missing)} words, listed below"
    return [
        row["test"],
        f"{row['target_x']} / {row['target_y']}",
        f"{row['attribute_a']} / {row['attribute_b']}",
        estimate(row, "effect_size", 2),
        p_cell(row),
        f"{row['num_targets']} + {row['num_attributes']}",
        phrase(row["p_method"] or "–"),
        left_out if row["status"] == "ok" else f"{phrase(row['status'])}: {row['reason']}",
    ]


def _listed(words: Sequence[str]) -> str:
    return ", ".join(isolated(word) for word in words)


def _lost(rows: pl.DataFrame) -> list[Details]:
    """Words without a vector, of the tests whose line has no room for them."""
    num = pl.col("missing_words").list.len()
    lost = rows.filter((num > _NUM_LISTED) | ((num > 0) & (pl.col("status") != "ok")))
    cells = [[row["test"], _listed(row["missing_words"])] for row in lost.to_dicts()]
    return [Details("Words that have no vector, test by test", [Grid("", ["test", "words"], cells)])] if cells else []


def _comparison(rows: pl.DataFrame) -> list[Block]:
    """Table 4 of Azarpanah and Farhadloo 2021, one for each similarity."""
    parts = rows.partition_by("similarity", maintain_order=True, as_dict=True)
    return [_by_statistic(similarity, part) for (similarity,), part in parts.items()]


def _by_statistic(similarity: str, rows: pl.DataFrame) -> Grid:
    """A test that was not asked for with a statistic has an empty cell, one without a result a dash."""
    columns = {
        phrase(statistic): dict(zip(part["test"], _starred(part), strict=True))
        for (statistic,), part in rows.partition_by("statistic", maintain_order=True, as_dict=True).items()
    }
    tests = rows["test"].unique(maintain_order=True)
    return Grid(
        f"{similarity.capitalize()}: effect sizes d by what is taken over the attributes (Azarpanah and Farhadloo "
        f"2021, table 4). {_STARS}.",
        ["test", *columns],
        [[test, *(column.get(test, "") for column in columns.values())] for test in tests],
        numeric=list(columns),
    )


def _starred(rows: pl.DataFrame) -> list[str]:
    """Effect sizes with stars, or with spaces as wide, so that the digits stand below each other."""
    marks = [stars(p) for p in rows["p_value"]]
    width = max(map(len, marks))
    return [number(d, 2) + mark.ljust(width, _STAR_SPACE) for d, mark in zip(rows["effect_size"], marks, strict=True)]


def _in_short(frames: Frames) -> list[Block]:
    """Where there are several models, their tests by the usual similarity and statistic."""
    models = by_model(frames["association_summary"]) if "association_summary" in frames else {}
    if len(models) < 2:
        return []
    rows = [[label, *_summary_row(row)] for label, part in models.items() for row in preferred(part).to_dicts()]
    return [Grid(_summary_caption(next(iter(models.values()))), ["model", *_SUMMARY], rows, numeric=_SUMMARY[2:])]


def _summary(frames: Frames, rows: pl.DataFrame) -> list[Grid]:
    """Table 3 of Azarpanah and Farhadloo 2021 for the model of these rows; nothing where the run has no such table."""
    if "association_summary" not in frames:
        return []
    own = frames["association_summary"].join(rows, on=["model", "language"], how="semi")
    cells = [_summary_row(row) for row in own.to_dicts()]
    return [Grid(_summary_caption(own), _SUMMARY, cells, numeric=_SUMMARY[2:])] if cells else []


def _summary_caption(rows: pl.DataFrame) -> str:
    return (
        f"All tests together (Azarpanah and Farhadloo 2021, table 3). Significant: p < {rows['significance'][0]:g}. In "
        "brackets: sample standard deviation over the tests."
    )


def _summary_row(row: Mapping[str, Any]) -> list[str]:
    effects = [
        f"{number(row[f'mean_{name}'], 2)} ({number(row[f'sd_{name}'], 2)})"
        for name in ("effect_size", "absolute_effect_size")
    ]
    counts = [f"{row[name]:,}" for name in ("num_tests", "num_significant")]
    return [row["similarity"], phrase(row["statistic"]), *counts, *effects]

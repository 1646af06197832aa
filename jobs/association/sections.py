"""The sections of the association tests: between groups of words (WEAT) and of single words (WEFAT)."""

from functools import partial

import polars as pl

from tiltmeter.jobs.association.figures import association_dots, effects_and_women
from tiltmeter.jobs.association.findings import (
    CORRELATIONS,
    association_findings,
    combinations,
    directed,
    p_cell,
    preferred,
    with_effect,
)
from tiltmeter.jobs.report.findings import by_model, folded, joined, labelled, of_model, sentences, split, why_nothing
from tiltmeter.jobs.report.grids import Row, cell, count, estimate, grid, listed, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import isolated, number, phrase, stars
from tiltmeter.jobs.runtime.published import Frames

_STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001"
_STAR_SPACE = "\u2004"
_NUM_LISTED = 6
_MIN_WORDS = 5
"""Fewer make no chart."""

_BY_CHANCE = "the share of the regroupings of the targets by chance that"
_P_VALUES = {
    "greater": (
        f"Its p-value is one-sided: {_BY_CHANCE} make d at least as large. So it is near 1 where d is far below 0, and "
        "a test that leans against its expectation gets no star."
    ),
    "less": (
        f"Its p-value is one-sided: {_BY_CHANCE} make d at most as large. So it is near 1 where d is far above 0, and "
        "only a test that leans against its expectation gets stars."
    ),
    "two-sided": (
        f"Its p-value is two-sided: {_BY_CHANCE} set the means of both groups as far apart, either way. So a test that "
        "leans against its expectation gets stars, too."
    ),
}
"""By the alternative that they speak for."""

_NO_DIRECTION = (
    " The smallest gap names no side: it says how far a word is from balance between the attributes, so that d above 0 "
    "says that the first targets are further from it."
)

_METHODS = {
    "exact": "exact, where all regroupings were counted",
    "certified": "certified, where they were bounded: it is sure to lie in the brackets",
    "monte_carlo": "Monte Carlo, where random ones were drawn: the brackets are a 95% interval",
}


def findings(frames: Frames) -> list[Block]:
    """Which association tests point to a side, by the similarity and statistic that WEAT is defined with."""
    usual = preferred(frames["associations"])
    models = by_model(usual, frames) or {"": usual}
    texts = {label: association_findings(part, in_short=len(models) > 1) for label, part in models.items()}
    return [Bullets(sentences(texts))]


def sections(frames: Frames) -> list[Section]:
    """One section for each table of association tests that the run made."""
    made = {"associations": _tests, "word_associations": _words}
    return [section(frames) for name, section in made.items() if name in frames]


def _tests(frames: Frames) -> Section:
    rows, title = frames["associations"], "Association tests"
    models = by_model(rows, frames).items()
    blocks = folded({label: _tables(frames, part) if part.height else [] for label, part in models}, "tests one by one")
    results = with_effect(rows)
    if results.is_empty():
        return Section("associations", title, [Paragraph(why_nothing(rows, "association test")), *blocks])
    p_values, gaps = _P_VALUES[rows["alternative"][0]], "" if directed(rows).height == rows.height else _NO_DIRECTION
    text = (
        "In the word embedding association test (WEAT, Caliskan et al. 2017), an effect size d above 0 says that the "
        f"first targets go with the first attributes, and the second with the second. {p_values}{gaps}"
    )
    return Section("associations", title, [Paragraph(text), _chart(results, frames), *_in_short(frames), *blocks])


def _chart(rows: pl.DataFrame, frames: Frames) -> Chart:
    """Of each similarity and statistic where there is one model; else of each model, by the usual ones."""
    usual = preferred(rows)
    parts, question = by_model(usual), "Model"
    if len(parts) == 1:
        # The usual combination comes first, and keeps its place.
        first = {label: combinations(part) for label, part in by_model(usual, frames).items()}
        rest = {label: combinations(part) for label, part in by_model(rows, frames).items()}
        parts, question = joined(first) | joined(rest), "Similarity, statistic"
    return Chart(
        f"Dot plot of the effect sizes of {usual['test'].n_unique()} association tests, with their intervals around or "
        "beside 0.",
        f"By cosine and mean where a model has them. {_STARS}. Lines: intervals for this corpus drawn again, where "
        "there are replicas; a colour names a side where they exclude 0 and nothing contradicts them. For target sets "
        "of equal size d lies between −2 and 2.",
        {label: association_dots(part) for label, part in parts.items()},
        question,
    )


def _tables(frames: Frames, rows: pl.DataFrame) -> list[Block]:
    """The tests of one model by the usual similarity and statistic, then by all of them."""
    usual = preferred(rows)
    blocks: list[Block] = [_tests_grid(usual), *_lost(usual)]
    if "association_summary" in frames:
        summary = of_model(frames["association_summary"], rows)
        blocks += [_summary(summary)] if summary.height else []
    if len(combinations(rows)) > 1:
        blocks += [_by_statistic(similarity, part) for similarity, part in split(rows, "similarity").items()]
    return blocks


def _tests_grid(rows: pl.DataFrame) -> Grid:
    (combination,) = combinations(rows)
    methods = "; ".join(text for name, text in _METHODS.items() if name in rows["p_method"].to_list())
    return grid(
        f"By {combination}. Words: targets + attributes that have a vector; those that have none are left out of their "
        f"sets. {_STARS}.{f' p is {methods}.' if methods else ''}",
        rows,
        "test",
        cell("targets", lambda row: f"{row['target_x']} / {row['target_y']}"),
        cell("attributes", lambda row: f"{row['attribute_a']} / {row['attribute_b']}"),
        estimate("effect_size", "d", 2),
        cell("p", p_cell, is_numeric=True),
        cell("words", lambda row: f"{row['num_targets']} + {row['num_attributes']}", is_numeric=True),
        text("p_method", "p is", phrase),
        cell("left out, or why there is no result", _left_out),
    )


def _left_out(row: Row) -> str:
    if row["status"] != "ok":
        return f"{phrase(row['status'])}: {row['reason']}"
    missing = row["missing_words"] or []
    return ", ".join(map(isolated, missing)) if len(missing) <= _NUM_LISTED else f"{len(missing)} words, listed below"


def _lost(rows: pl.DataFrame) -> list[Details]:
    """Words without a vector, of the tests whose line has no room for them."""
    num = pl.col("missing_words").list.len()
    lost = rows.filter((num > _NUM_LISTED) | ((num > 0) & (pl.col("status") != "ok")))
    words = grid("", lost, "test", listed("missing_words", "words"))
    return [Details("Words that have no vector, test by test", [words])] if lost.height else []


def _by_statistic(similarity: str, rows: pl.DataFrame) -> Grid:
    """A test that was not asked for with a statistic has an empty cell, one without a result a dash."""
    columns = {
        statistic: dict(zip(part["test"], _starred(part), strict=True))
        for statistic, part in split(rows, "statistic", label=phrase).items()
    }
    tests = rows["test"].unique(maintain_order=True)
    return Grid(
        f"{similarity.capitalize()}: effect sizes d by what is taken over the attributes (as in table 4 of "
        f"Azarpanah and Farhadloo 2021, which has no signs). {_STARS}.",
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
    models = by_model(frames["association_summary"], frames) if "association_summary" in frames else {}
    usual = {label: preferred(part) for label, part in models.items()}
    return [_summary(labelled(usual), "model")] if len(models) > 1 else []


def _summary(rows: pl.DataFrame, *names: str) -> Grid:
    """Table 3 of Azarpanah and Farhadloo 2021."""
    means = {"mean d": "effect_size", "mean |d|": "absolute_effect_size"}
    return grid(
        f"All tests together (Azarpanah and Farhadloo 2021, table 3). Significant: p < {rows['significance'][0]:g}. In "
        "brackets: sample standard deviation over the tests.",
        rows,
        *names,
        "similarity",
        text("statistic", names=phrase),
        count("num_tests"),
        count("num_significant"),
        *(cell(heading, partial(_mean, name), is_numeric=True) for heading, name in means.items()),
    )


def _mean(name: str, row: Row) -> str:
    return f"{number(row[f'mean_{name}'], 2)} ({number(row[f'sd_{name}'], 2)})"


def _words(frames: Frames) -> Section:
    rows, title = frames["word_associations"], "Association tests of single words"
    results = with_effect(rows)
    if results.is_empty():
        return Section("wefat", title, [Paragraph(why_nothing(rows, "word"))])
    text = (
        "The word embedding factual association test (WEFAT, Caliskan et al. 2017) asks of each word which of two sets "
        "of attributes it is nearer to: the effect size d is the difference of its mean similarities to them, in "
        "standard deviations of its similarities to all of them."
    )
    charts = _against_women(results.drop_nulls("percent_women"), frames)
    return Section("wefat", title, [Paragraph(text), charts, *_correlations(frames)])


def _against_women(rows: pl.DataFrame, frames: Frames) -> Block:
    tests = {
        label: split(part, "test", "similarity", label="{}, {}".format)
        for label, part in by_model(rows, frames).items()
    }
    parts = {label: part for label, part in joined(tests).items() if part.height >= _MIN_WORDS}
    if not parts:
        few = f"Fewer than {_MIN_WORDS} words that are measured have a known share of women to hold against."
        return Paragraph(few)
    return Chart(
        "Scatter plot of the WEFAT effect size of occupations against the share of women in them.",
        "If the vectors follow the labour market, the dots rise from left to right where the positive side is the "
        "female one, and fall where it is the male one.",
        {label: effects_and_women(part) for label, part in parts.items()},
        "Test",
    )


def _correlations(frames: Frames) -> list[Block]:
    rows = frames["validation"].filter(measure="wefat", against="share_women") if "validation" in frames else None
    if rows is None or rows.is_empty():
        return []
    caption = (
        "Correlation of the effect size with the share of women, with its interval where there are replicas; "
        "p-values are two-sided."
    )
    return [grid(caption, labelled(by_model(rows, frames)), "model", "similarity", *CORRELATIONS)]

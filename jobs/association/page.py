"""The page of `association`: tests between groups of words (WEAT) and of single words (WEFAT)."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter

import polars as pl

from tiltmeter.jobs.association.measure_sections import analogies, other_measures, sentences_as_published
from tiltmeter.jobs.association.ranking_page import ranking, ranking_findings
from tiltmeter.jobs.association.tables import Associations, AssociationSummary, Validation
from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
from tiltmeter.jobs.report.findings import (
    by_model,
    correlations,
    folded,
    in_model,
    joined,
    labelled,
    measured,
    of_model,
    sentences,
    split,
    why_nothing,
)
from tiltmeter.jobs.report.grids import Column, Row, cell, grid, listed, optional
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.plots.dots import dots, sides
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.scatter import scatter
from tiltmeter.jobs.report.plots.style import FIRST, SECOND, lines, plain
from tiltmeter.jobs.report.sides import Lean, contradictory, on_sides
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import (
    SIGNIFICANCE,
    estimate,
    isolated,
    number,
    p_equals,
    p_value,
    phrase,
    plural,
    some,
    stars,
    verb,
)
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.association.scores import UNDIRECTED

_NUM_LISTED = 6
_MIN_WORDS = 5
"""Fewer make no chart."""

_STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001"
_STAR_SPACE = "\u2004"
_BY_CHANCE = "the share of the regroupings of the targets by chance that"
_MORE = "more than regrouping by chance explains"

# By the alternative that p-values speak for: what one is, and what a small one says with and without a direction.
_P_VALUES = {
    "greater": (
        (
            f"Its p-value is one-sided: {_BY_CHANCE} make d at least as large. So it is near 1 where d is far below 0, "
            "and a test that leans against its expectation gets no star."
        ),
        f"the first targets go with the first attributes {_MORE}",
        f"the first targets are further from balance between the attributes by {_MORE}",
    ),
    "less": (
        (
            f"Its p-value is one-sided: {_BY_CHANCE} make d at most as large. So it is near 1 where d is far above 0, "
            "and only a test that leans against its expectation gets stars."
        ),
        f"the first targets go with the second attributes {_MORE}",
        f"the second targets are further from balance between the attributes by {_MORE}",
    ),
    "two-sided": (
        (
            f"Its p-value is two-sided: {_BY_CHANCE} set the means of both groups as far apart, either way. So a test "
            "that leans against its expectation gets stars, too."
        ),
        f"the targets differ in which attributes they go with by {_MORE}",
        f"the targets differ in how far from balance they are by {_MORE}",
    ),
}
_NO_DIRECTION = (
    " The smallest gap names no side: it says how far a word is from balance between the attributes, so that d above 0 "
    "says that the first targets are further from it."
)
_METHODS = {
    "exact": "exact, where all regroupings were counted",
    "certified": "certified, where they were bounded: it is sure to lie in the brackets",
    "monte_carlo": "Monte Carlo, where random ones were drawn: the brackets are a 95% interval",
}
_SIGNS = (
    " Score and effect size have different signs where the target sets are of unequal size, as after words were left "
    "out: the score is a sum over the targets, in which the larger set weighs more, the effect size a difference of "
    "means."
)


def has_direction(row: Row) -> bool:
    """Whether a row of ``associations`` says which attributes words go with, and not only how far from balance."""
    return row["statistic"] not in UNDIRECTED


EFFECT = Lean("effect_size", others=("score",), has_direction=has_direction)
"""Of rows of ``associations``. For target sets of unequal size the score, a sum, may have another sign than d."""


def combinations(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by similarity and statistic, in the order of the table."""
    return split(rows, "similarity", "statistic", label=lambda *names: ", ".join(map(phrase, names)))


def preferred(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of each model by cosine and mean, as WEAT is defined, or else by its first combination."""
    models = [combinations(part) for part in by_model(rows).values()]
    return pl.concat([parts.get("cosine, mean", next(iter(parts.values()))) for parts in models] or [rows])


def with_effect(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with an effect size."""
    return measured(rows).drop_nulls("effect_size")


def directed(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of which a side may be named."""
    return rows.filter(~pl.col("statistic").is_in(UNDIRECTED))


# --- findings -------------------------------------------------------------------------------------------------------


def association_findings(rows: pl.DataFrame, *, in_short: bool = False) -> list[str]:
    """The association tests of one model that lean to a side, or go by their p-values where there are no intervals.

    Args:
        in_short: whether one sentence has to do for all that have an interval.
    """
    results = with_effect(rows)
    if results.is_empty():
        return [why_nothing(rows, "association test")]
    if not has_direction(results.row(0, named=True)):
        (combination,) = combinations(results)
        says = "association tests name no side: it says how far words are from balance between the attributes, and not"
        return [f"By {combination}, {says} which they go with. {_by_p_value(results)}"]
    with_interval = results.drop_nulls("effect_size_low")
    if with_interval.is_empty():
        return [_by_p_value(results)]
    return [_in_short(with_interval)] if in_short else _each(with_interval)


def _in_short(results: pl.DataFrame) -> str:
    above, below, _, doubtful, _ = (rows["test"].to_list() for rows in on_sides(results, EFFECT))
    leaning = [f"{len(tests)} ({', '.join(tests)})" if tests else "none" for tests in (above, below)]
    return (
        f"Of {plural(results.height, 'association test')}, d and its interval lie above 0 in {leaning[0]} and below 0 "
        f"in {leaning[1]}{contradictory('in', len(doubtful))}."
    )


def _each(results: pl.DataFrame) -> list[str]:
    judged, tests = on_sides(results, EFFECT), plural(results.height, "association test")
    texts = [_puts(row) for row in judged.leaning.to_dicts()]
    if num := judged.neither.height:
        texts.append(f"{num} of {tests} {verb(num, 'name')} no side: the interval of d includes 0.")
    if num := judged.contradictory.height:
        named = some([f"{row['test']} ({_numbers(row)})" for row in judged.contradictory.to_dicts()])
        texts.append(
            f"{num} of {tests} {verb(num, 'name')} no side, because the numbers contradict each other: {named}."
        )
    return texts


def _puts(row: Row) -> str:
    first, second = ("attribute_a", "attribute_b") if row["effect_size"] > 0 else ("attribute_b", "attribute_a")
    return (
        f"Association test {row['test']} puts {row['target_x']} rather with {row[first]}, and {row['target_y']} with "
        f"{row[second]} (effect size {_numbers(row)})."
    )


def _numbers(row: Row) -> str:
    """The effect size, and the score where it has another sign."""
    score = f", score {number(row['score'], 2)}" if EFFECT.is_disputed(row) else ""
    return f"d = {estimate(row, 'effect_size', 2)}{score}"


def _by_p_value(results: pl.DataFrame) -> str:
    significant = results.filter(pl.col("p_value") < SIGNIFICANCE).sort("effect_size", descending=True).to_dicts()
    tests: dict[bool, list[str]] = {False: [], True: []}
    for row in significant:
        tests[EFFECT.is_disputed(row)].append(f"{row['test']} ({_numbers(row)}, {p_equals(row['p_value'])})")
    named, disputed = tests[False], tests[True]
    num, first = len(disputed), results.row(0, named=True)
    more = f" {num} more {verb(num, 'name')} no side, as score and d have different signs: {some(disputed)}."
    _, says, says_undirected = _P_VALUES[first["alternative"]]
    return (
        f"{len(named)} of {plural(results.height, 'association test')} "
        f"{verb(1 if results.height == 1 else len(named), 'have')} {sidedness(first)} p < {SIGNIFICANCE}: "
        f"{says if has_direction(first) else says_undirected}{', in ' if named else ''}{', '.join(named)}."
        f"{more if disputed else ''}"
    )


def sidedness(row: Row) -> str:
    """Whether the p-value of a row speaks for one direction or for both.

    >>> sidedness({"alternative": "less"}), sidedness({"alternative": "two-sided"})
    ('one-sided', 'two-sided')
    """
    return "two-sided" if row["alternative"] == "two-sided" else "one-sided"


# --- cells ----------------------------------------------------------------------------------------------------------


def p_cell(row: Row) -> str:
    """A p-value with its stars, and with what it is at least and at most where it is not exact.

    >>> p_cell({"p_value": 0.012, "p_low": 0.009, "p_high": 0.012, "p_method": "monte_carlo"})
    '0.012* [0.0090, 0.012]'
    """
    known = None in (row["p_value"], row["p_low"], row["p_high"]) or row["p_method"] == "exact"
    ends = "" if known else f" [{p_value(row['p_low'])}, {p_value(row['p_high'])}]"
    return f"{p_value(row['p_value'])}{stars(row['p_value'])}{ends}"


def _left_out(row: Row) -> str:
    if row["status"] != "ok":
        return f"{phrase(row['status'])}: {row['reason']}"
    missing = row["missing_words"] or []
    return ", ".join(map(isolated, missing)) if len(missing) <= _NUM_LISTED else f"{len(missing)} words, listed below"


def _mean(name: str, row: Row) -> str:
    return f"{number(row[f'mean_{name}'], 2)} ({number(row[f'sd_{name}'], 2)})"


def _starred(rows: pl.DataFrame) -> list[str]:
    """Effect sizes with stars, or with spaces as wide, so that the digits stand below each other."""
    marks = [stars(p) for p in rows["p_value"]]
    width = max(map(len, marks))
    return [number(d, 2) + mark.ljust(width, _STAR_SPACE) for d, mark in zip(rows["effect_size"], marks, strict=True)]


# --- grids ----------------------------------------------------------------------------------------------------------


def _tests_caption(rows: pl.DataFrame) -> str:
    (combination,) = combinations(rows)
    methods = "; ".join(text for name, text in _METHODS.items() if name in rows["p_method"].to_list())
    return (
        f"By {combination}. Words: targets + attributes that have a vector; those that have none are left out of their "
        f"sets. {_STARS}.{f' p is {methods}.' if methods else ''}"
    )


_TESTS = Show(
    Associations,
    _tests_caption,
    [
        "test",
        cell("targets", lambda row: f"{row['target_x']} / {row['target_y']}"),
        cell("attributes", lambda row: f"{row['attribute_a']} / {row['attribute_b']}"),
        "effect_size",
        cell("p", p_cell, is_numeric=True),
        cell("words", lambda row: f"{row['num_targets']} + {row['num_attributes']}", is_numeric=True),
        "p_method",
        cell("left out, or why there is no result", _left_out),
    ],
)
_SUMMARY = Show(
    AssociationSummary,
    lambda rows: (
        "All tests together (Azarpanah and Farhadloo 2021, table 3). Significant: p < "
        f"{rows['significance'][0]:g}. In brackets: sample standard deviation over the tests."
    ),
    [
        "similarity",
        "statistic",
        "num_tests",
        "num_significant",
        cell("mean d", partial(_mean, "effect_size"), is_numeric=True),
        cell("mean |d|", partial(_mean, "absolute_effect_size"), is_numeric=True),
    ],
)
CORRELATIONS: tuple[Column, ...] = (
    *Show(Validation, "", "pearson pearson_p spearman spearman_p").grid_columns(of_results=True),
    *Show(Validation, "", "num_occupations").grid_columns(),
    optional(*Show(Validation, "", "reason=why_there_is_none").grid_columns()),
)
"""Of rows of ``validation``; two occupations would have r = 1, so that a row without a result has no numbers."""


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


# --- figures --------------------------------------------------------------------------------------------------------


def association_dots(rows: pl.DataFrame) -> Figure:
    """WEAT effect sizes with their intervals and the stars of their p-values, in the order of the table."""
    words = pl.DataFrame({"label": map(_label, rows.to_dicts()), "stars": map(stars, rows["p_value"])})
    first, second = ("first go with first", FIRST), ("first go with second", SECOND)
    known, looks = sides(rows.hstack(words), EFFECT, first, second)
    return dots(
        known,
        "effect_size",
        "label",
        by="side",
        looks=looks,
        neutral=0.0,
        title="effect size d (standard deviations)",
        words="stars",
        words_size=16,
        hover=lambda row: f"{row['label']}<br>d {estimate(row, 'effect_size', 2)}<br>{p_equals(row['p_value'])}",
        label=str,
        row_height=72,
    )


def _label(row: Row) -> str:
    test, x, y, a, b = (plain(row[name]) for name in ("test", "target_x", "target_y", "attribute_a", "attribute_b"))
    return lines(test, f"{x} / {y}", f"with {a} / {b}")


def against_women(rows: pl.DataFrame, y: str, title: str, neutral: float, hover: Callable[[Row], str]) -> Figure:
    """A number of each occupation against the share of women in it, with both correlations.

    Args:
        y: the column of the number, with the ``title`` of its axis, and the ``neutral`` number that leans to no side.
    """
    return scatter(
        rows,
        "percent_women",
        y,
        "word",
        titles=("women in the occupation (%)", title),
        neutral=(None, neutral),
        x_ends=(-3.0, 103.0),
        note=correlations(rows["percent_women"], rows[y]).text,
        hover=hover,
    )


def _word_hover(row: Row) -> str:
    effect, women = estimate(row, "effect_size", 2), number(row["percent_women"], 0, "%")
    return lines(plain(row["word"]), f"effect size {effect}", f"women {women}")


def effect_title(rows: pl.DataFrame) -> str:
    """What an axis of WEFAT effect sizes is called."""
    return f"WEFAT effect size d (positive: {plain(rows['attribute_a'][0])})"


# --- sections -------------------------------------------------------------------------------------------------------


def _tests(frames: Frames) -> Section:
    rows, title = frames["associations"], "Association tests"
    models = by_model(rows, frames).items()
    blocks = folded({label: _tables(frames, part) if part.height else [] for label, part in models}, "tests one by one")
    results = with_effect(rows)
    if results.is_empty():
        return Section("associations", title, [Paragraph(why_nothing(rows, "association test")), *blocks])
    p_values = _P_VALUES[rows["alternative"][0]][0]
    text = (
        "In the word embedding association test (WEAT, Caliskan et al. 2017), an effect size d above 0 says that the "
        f"first targets go with the first attributes, and the second with the second. {p_values}"
        f"{'' if directed(rows).height == rows.height else _NO_DIRECTION}"
    )
    return Section("associations", title, [Paragraph(text), _chart(results, frames), *_in_short_grid(frames), *blocks])


def _in_short_grid(frames: Frames) -> list[Block]:
    """Where there are several models, their tests by the usual similarity and statistic."""
    models = by_model(frames["association_summary"], frames) if "association_summary" in frames else {}
    usual = {label: preferred(part) for label, part in models.items()}
    return [_SUMMARY.grid(labelled(usual), "model")] if len(models) > 1 else []


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
        f"By cosine and mean where a model has them. {_STARS}. Lines: intervals over replicas, where there "
        "are any; a colour names a side where they exclude 0 and nothing contradicts them. For target sets "
        "of equal size d lies between −2 and 2.",
        {label: association_dots(part) for label, part in parts.items()},
        question,
    )


def _tables(frames: Frames, rows: pl.DataFrame) -> list[Block]:
    """The tests of one model by the usual similarity and statistic, then by all of them."""
    usual = preferred(rows)
    blocks: list[Block] = [_TESTS.grid(usual), *_lost(usual)]
    if "association_summary" in frames:
        summary = of_model(frames["association_summary"], rows)
        blocks += [_SUMMARY.grid(summary)] if summary.height else []
    if len(combinations(rows)) > 1:
        blocks += [_by_statistic(similarity, part) for similarity, part in split(rows, "similarity").items()]
    return blocks


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
    charts = _effects_and_women(results.drop_nulls("percent_women"), frames)
    return Section("wefat", title, [Paragraph(text), charts, *_correlations(frames)])


def _correlations(frames: Frames) -> list[Block]:
    rows = frames["validation"].filter(measure="wefat", against="share_women") if "validation" in frames else None
    if rows is None or rows.is_empty():
        return []
    caption = (
        "Correlation of the effect size with the share of women, with its interval where there are replicas; "
        "p-values are two-sided."
    )
    return [grid(caption, labelled(by_model(rows, frames)), "model", "similarity", *CORRELATIONS)]


def _effects_and_women(rows: pl.DataFrame, frames: Frames) -> Block:
    """WEFAT effect sizes against the share of women."""
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
        {
            label: against_women(part, "effect_size", effect_title(part), 0.0, _word_hover)
            for label, part in parts.items()
        },
        "Test",
    )


# --- the page -------------------------------------------------------------------------------------------------------


def measures(frames: Frames) -> list[Measure]:
    """What association tests say on a page; nothing where none was made."""
    if "associations" not in frames:
        return []
    rows = frames["associations"]
    usual = preferred(rows)
    results = directed(with_effect(usual))
    label = in_model(results, itemgetter("test"), frames)
    named = NamedSides("effect size", results, EFFECT, label, original="effect size", dispute=_SIGNS)
    compared = [Compared("Effect sizes of association tests", "d", with_effect(usual), "effect_size", "test", 0.0)]
    return [Measure(rows, findings(frames), sections(frames), named, compared=compared)]


def findings(frames: Frames) -> list[Block]:
    """Which association tests point to a side, by the similarity and statistic that WEAT is defined with."""
    usual = preferred(frames["associations"])
    models = by_model(usual, frames) or {"": usual}
    texts = {label: association_findings(part, in_short=len(models) > 1) for label, part in models.items()}
    return [Bullets([*sentences(texts), *ranking_findings(frames)])]


def sections(frames: Frames) -> list[Section]:
    """One section for each table of association tests that the run made."""
    made = {
        "associations": _tests,
        "measures": other_measures,
        "ranking": ranking,
        "analogies": analogies,
        "sentence_tests": sentences_as_published,
        "word_associations": _words,
    }
    return [section(frames) for name, section in made.items() if name in frames]


page = page_of(
    "Which words go with which",
    "Do groups of words, such as flowers and insects, go with other words, such as pleasant and unpleasant ones, more "
    "than chance explains?",
    measures,
)

"""Pictures of association tests: their effect sizes, and those of single words against the share of women."""

from collections.abc import Callable

import polars as pl

from tiltmeter.jobs.association.findings import EFFECT
from tiltmeter.jobs.report.findings import correlations
from tiltmeter.jobs.report.plots.dots import dots, sides
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.scatter import scatter
from tiltmeter.jobs.report.plots.style import FIRST, SECOND, Row, lines, plain
from tiltmeter.jobs.report.wording import estimate, number, p_equals, stars


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


def effects_and_women(rows: pl.DataFrame) -> Figure:
    """WEFAT effect sizes against the share of women; rows of ``word_associations``."""
    return against_women(rows, "effect_size", effect_title(rows), 0.0, _word_hover)


def _word_hover(row: Row) -> str:
    effect, women = estimate(row, "effect_size", 2), number(row["percent_women"], 0, "%")
    return lines(plain(row["word"]), f"effect size {effect}", f"women {women}")


def effect_title(rows: pl.DataFrame) -> str:
    """What an axis of WEFAT effect sizes is called."""
    return f"WEFAT effect size d (positive: {plain(rows['attribute_a'][0])})"

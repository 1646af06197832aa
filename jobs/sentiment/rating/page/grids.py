"""Tables of `sentiment_rating` on the page: scores, comparisons, words, tests and texts; long ones are cut short."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.report.html.elements import Grid
from tiltmeter.jobs.report.wording import number, p_value
from tiltmeter.jobs.sentiment.rating.page.names import MEASURES, Row, amount, attribute, case_name, scored
from tiltmeter.operators.statistics.two_samples import LEVELS

_MAX_ROWS = 60


def cut(rows: pl.DataFrame, table: str) -> tuple[list[dict[str, Any]], str]:
    """The first rows, and a sentence on where the others are if there are more."""
    rest = f" Shown: {_MAX_ROWS} of {rows.height:,}; the others are in the table {table}."
    return rows.head(_MAX_ROWS).to_dicts(), rest if rows.height > _MAX_ROWS else ""


def scores(rows: pl.DataFrame, places: pl.DataFrame) -> Grid:
    """What the tests and the deconfounding of a case found, and what became of it.

    Args:
        rows: of ``raw_scores`` for one case, by both measures.
        places: of ``ratings``.
    """
    key = ["variant", "group", "protected", "system"]
    impacts = rows.filter(measure="die").select(*key, *(pl.col(f"raw_score{end}").alias(f"die{end}") for end in _ENDS))
    both = rows.filter(measure="wrs").join(impacts, on=key, how="left", maintain_order="left")
    both = both.join(places.select(*key, "rank", "rating"), on=key, how="left", maintain_order="left")
    measures = ["WRS", *(["DIE"] if impacts.height else [])]
    counts, numbers = ["tests", "reject", "after Holm", "after B.–H."], [*measures, "rank", "rating"]
    shown, rest = cut(both, "raw_scores")
    return Grid(
        f"Tests, and how many of them reject at 95 / 70 / 60%: as they are, and with p-values corrected after Holm and "
        f"after Benjamini and Hochberg; raw scores with their intervals.{rest}",
        ["variant", "system", *counts, *numbers],
        [_scores(row, measures) for row in shown],
        numeric=[*counts, *numbers],
    )


_ENDS = ("", "_low", "_high")


def _scores(row: Row, measures: Sequence[str]) -> list[str]:
    rejections = [
        " / ".join(str(row[f"{kind}rejections_{level}"]) for level in LEVELS) if row["num_tests"] else "–"
        for kind in ("", "holm_", "bh_")
    ]
    impact = {"measure": "die"} | {f"raw_score{end}": row[f"die{end}"] for end in _ENDS}
    numbers = [scored(of) for of, _ in zip((row, impact), measures, strict=False)]
    places = [_whole(row["rank"]), _whole(row["rating"])]
    return [row["variant"], row["system"], str(row["num_tests"]), *rejections, *numbers, *places]


def _whole(value: int | None) -> str:
    return "–" if value is None else str(value)


def comparisons(rows: pl.DataFrame, caption: str) -> Grid:
    """Raw scores before and after a round trip."""
    numbers = ["original", "after", "change", "relative", "rating"]
    shown, rest = cut(rows, "comparisons")
    return Grid(
        f"{caption} Relative: the change in percent of the original's score.{rest}",
        ["round trip", "group and attribute", "system", *numbers],
        [_comparison(row) for row in shown],
        numeric=numbers,
    )


def _comparison(row: Row) -> list[str]:
    names = [row["variant"], f"{case_name(row)} ({MEASURES[row['measure']]})", row["system"]]
    raw = [amount(row[name], row["measure"]) for name in ("original_score", "raw_score")]
    ratings = f"{_whole(row['original_rating'])} → {_whole(row['rating'])}"
    return [*names, *raw, scored(row, "change"), number(row["percent_change"], 0, "%"), ratings]


def lost_words(rows: pl.DataFrame, variants: Sequence[str]) -> Grid:
    """How many texts lost each word, by round trip; those that lost it most often first."""
    counts = {(row["group"], row["word"], row["variant"]): _share(row) for row in rows.to_dicts()}
    worst = rows.group_by("group", "word", maintain_order=True).agg(pl.col("num_texts", "percent_lost").max())
    lost = worst.filter(pl.col("percent_lost") > 0)
    shown, rest = cut(lost.sort("percent_lost", descending=True, maintain_order=True), "protected_words")
    return Grid(
        f"Texts that have a word before a round trip, and how many of them lack it afterwards; of {worst.height} words "
        f"those that were lost at all.{rest}",
        ["group", "word", "texts", *(f"lost by {variant}" for variant in variants)],
        [
            [row["group"], row["word"], f"{row['num_texts']:,}"]
            + [counts.get((row["group"], row["word"], variant), "–") for variant in variants]
            for row in shown
        ],
        numeric=["texts", *(f"lost by {variant}" for variant in variants)],
    )


def _share(row: Row) -> str:
    return f"{row['num_lost']:,} ({number(row['percent_lost'], 0, '%')})"


def largest_effects(rows: pl.DataFrame) -> Grid:
    """For each variant and system the emotion with the largest impact, which is the raw score."""
    key = ["variant", "system"]
    largest = rows.sort("die_percent", descending=True, maintain_order=True).unique(key, keep="first")
    ordered = rows.select(key).unique(maintain_order=True).join(largest, on=key, maintain_order="left")
    shown, rest = cut(ordered, "effects")
    numbers = ["texts", "E[Y|X]", "E[Y|do(X)]", "DIE"]
    return Grid(
        f"The emotion with the largest impact, of all data sets.{rest}",
        ["variant", "system", "data set", "emotion", *numbers],
        [
            [row["variant"], row["system"], row["dataset"], row["emotion"], f"{row['num_texts']:,}", *_effect(row)]
            for row in shown
        ],
        numeric=numbers,
    )


def _effect(row: Row) -> list[str]:
    return [number(row["mean_given"], 3), number(row["mean_do"], 3), amount(row["die_percent"], "die")]


def rejecting_tests(rows: pl.DataFrame) -> Grid:
    """The tests that reject at 95 %, the smallest p-values first."""
    numbers = ["means", "t", "d.f.", "p", "p (Holm)", "p (B.–H.)"]
    shown, rest = cut(rows.sort("p_value", maintain_order=True), "tests")
    return Grid(
        f"Tests that reject equal means at 95%, the smallest p first; B.–H.: after Benjamini and Hochberg.{rest}",
        ["variant", "group", "data set", "system", "attribute", "values", *numbers],
        [_test(row) for row in shown],
        numeric=numbers,
    )


def _test(row: Row) -> list[str]:
    names = [row["variant"], row["group"], row["dataset"], row["system"], attribute(row["protected"])]
    means = " / ".join(number(row[f"mean_{side}"], 2) for side in (1, 2))
    p_values = [p_value(row[name]) for name in ("p_value", "p_holm", "p_benjamini_hochberg")]
    t, df = number(row["t"], 2), number(row["degrees_of_freedom"], 1)
    return [*names, f"{row['value_1']} / {row['value_2']}", means, t, df, *p_values]


def descriptions(rows: pl.DataFrame) -> Grid:
    """How much text there is, as table II of Lakkaraju et al. 2023 has it; without columns that say nothing."""
    columns = {name: heading for name, heading in _DESCRIPTIONS.items() if rows[name].null_count() < rows.height}
    shown, rest = cut(rows, "descriptions")
    words = [heading for name, heading in columns.items() if name in ("group", "dataset", "speaker")]
    return Grid(
        f"The original texts. Stop words: those of scikit-learn's English list.{rest}",
        list(columns.values()),
        [[_described(row[name]) for name in columns] for row in shown],
        numeric=[heading for heading in columns.values() if heading not in words],
    )


_DESCRIPTIONS = {
    "group": "group",
    "dataset": "data set",
    "speaker": "speaker",
    "num_texts": "texts",
    "num_words": "words",
    "words_per_text": "words per text",
    "num_stop_words": "stop words",
    "stop_words_per_text": "stop words per text",
    "num_conversations": "conversations",
    "texts_per_conversation": "texts per conversation",
}


def _described(value: object) -> str:
    if isinstance(value, float):
        return number(value, 2)
    return f"{value:,}" if isinstance(value, int) else str(value or "–")

"""What the tables of `sentiment_rating` say, in sentences; a change has a direction only where an interval names it."""

from collections.abc import Iterator, Mapping

import polars as pl

from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import cell, grid, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Grid, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.sides import Lean, contradictory, on_sides
from tiltmeter.jobs.report.wording import listed, plural, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.page.names import MEASURES, amount, attribute, by_case, rated, variants_of
from tiltmeter.jobs.sentiment.rating.page.round_trips import changes, lost_words, rated_comparisons
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL

_QUESTION = "Do the scores of sentiment systems depend on whom a text is about?"
_NOTHING = "Nothing could be rated."
_MEANINGS = {
    "wrs": (
        "WRS, the weighted rejection score, counts the t-tests that find the mean sentiment of two values of a "
        "protected attribute (such as male and female) to differ, at three levels of confidence: 0 if none does."
    ),
    "die": (
        "DIE, the deconfounding impact, is for groups in which the emotion of a text depends on the protected "
        "attribute: how far the mean sentiment of an emotion moves, in percent, once that dependence is taken away."
    ),
}
_NUM_NAMED = 3
_MAX_WARNINGS = 5

_RANK = pl.col("rank")
_LOWEST = _RANK == 1
_HIGHEST = (_RANK > 1) & (_RANK.max().over("group", "protected") == _RANK)


def findings(frames: Frames, left_out: Mapping[str, str]) -> Lead:
    """What was asked, what stands out, and how sure it is.

    Args:
        left_out: round trips that were not made, and why.
    """
    rows = rated(frames)
    trips = [Paragraph(f"The round trip {name} was left out. {why}.", "warning") for name, why in left_out.items()]
    if measured(rows).is_empty():
        return Lead([Paragraph(_QUESTION)], [Paragraph(_NOTHING)], [*trips, *_doubts(rows)])
    # The original, if it was rated.
    first = rows.filter(variant=variants_of(rows)[0])
    meanings = [Paragraph(_MEANINGS[name], "note") for name in MEASURES if name in rows["measure"]]
    sentences = [*_extremes(first), *changes(rated_comparisons(frames)), *lost_words(frames)]
    return Lead(
        [Paragraph(f"{_QUESTION} {_extent(rows)}"), *meanings],
        [Bullets(sentences), _extremes_by_case(first)],
        [*trips, *_doubts(rows), Paragraph(_intervals(rows))],
    )


def _extent(rows: pl.DataFrame) -> str:
    num_cases, num_groups = len(by_case(rows)), rows["group"].n_unique()
    groups = f"{plural(num_groups, 'group')} of texts"
    protected = listed([attribute(name) for name in rows["protected"].unique(maintain_order=True)])
    each = f"{num_cases} cases ({groups}, each by every protected attribute that its texts tell)"
    where = each if num_cases > num_groups else f"{groups}, by {protected}"
    first, *trips = variants_of(rows)
    after = f", on the original texts and after {plural(len(trips), 'round trip')} ({', '.join(trips)})"
    systems = plural(rows["system"].n_unique(), "system")
    return f"The bias of {systems} was measured in {where}{after if trips and first == ORIGINAL else ''}."


# --- who leans least and most, in one variant -----------------------------------------------------------------------


def _texts_of(rows: pl.DataFrame) -> str:
    variant = rows["variant"][0]
    return "the original texts" if variant == ORIGINAL else f"the texts of the round trip {variant}"


def _extremes(rows: pl.DataFrame) -> Iterator[str]:
    """Who has the lowest and who the highest raw score most often."""
    groups = measured(rows).filter(pl.len().over("group", "protected") > 1)
    if groups.is_empty():
        return
    num_cases = len(by_case(groups))
    lowest, highest = (_most_often(groups.filter(extreme), num_cases) for extreme in (_LOWEST, _HIGHEST))
    most = f"; the highest, that of {highest}" if highest else ""
    often = " most often" if num_cases > 1 else ""
    yield f"On {_texts_of(rows)}, the lowest raw score (least bias) is{often} that of {lowest}{most}."


def _most_often(rows: pl.DataFrame, num_cases: int) -> str:
    counted = rows.group_by("system").len("num").sort("num", "system", descending=[True, False]).rows()
    if num_cases == 1:
        return listed([system for system, _ in counted])
    return ", ".join(f"{system} ({num} of {num_cases})" for system, num in counted[:_NUM_NAMED])


def _extremes_by_case(rows: pl.DataFrame) -> Grid:
    cases = [{"case": case, "rows": part} for case, part in by_case(rows).items()]
    return grid(
        f"The least and the most biased systems on {_texts_of(rows)}, with raw score and rating (1: least biased). A "
        "rating orders systems against each other: 1 does not mean unbiased, which is a raw score of 0.",
        cases,
        text("case", "group and attribute"),
        cell("least biased", lambda case: _tied(case["rows"].filter(_LOWEST))),
        cell("most biased", lambda case: _tied(case["rows"].filter(_HIGHEST))),
    )


def _tied(rows: pl.DataFrame) -> str:
    if rows.is_empty():
        return ""
    first = rows.row(0, named=True)
    return (
        f"{listed(rows['system'].to_list())}: {MEASURES[first['measure']]} {amount(first)} (rating {first['rating']})"
    )


# --- how sure it is -------------------------------------------------------------------------------------------------


def _doubts(rows: pl.DataFrame) -> Iterator[Block]:
    """Raw scores that are missing, and the warnings of those that are not, with how many have them."""
    for reason, num in _counted(rows.filter(pl.col("status") != "ok"), "reason"):
        yield Paragraph(f"{num} of {_scores(rows)} {verb(num, 'be')} undefined: {reason}.", "warning")
    for warning, num in _counted(rows, "warning"):
        yield Paragraph(f"{num} of {_scores(rows)}: {warning}.", "warning")


def _scores(rows: pl.DataFrame) -> str:
    return plural(rows.height, "raw score")


def _counted(rows: pl.DataFrame, name: str) -> list[tuple[str, int]]:
    """The most frequent texts of a column; the rest as one."""
    counts = rows.filter(pl.col(name) != "").group_by(name, maintain_order=True).len("num")
    ordered = counts.sort("num", descending=True, maintain_order=True).rows()
    rest = sum(num for _, num in ordered[_MAX_WARNINGS:])
    return [*ordered[:_MAX_WARNINGS], *([(f"see the column {name} of the table raw_scores", rest)] if rest else [])]


def _intervals(rows: pl.DataFrame) -> str:
    """How many of the raw scores have an interval, and how many of them lie above 0 with all of it."""
    scores = measured(rows).drop_nulls("raw_score_low")
    if scores.is_empty():
        return "Without resamples of the texts, the numbers have no intervals."
    sides = on_sides(scores, Lean("raw_score"))
    above, doubtful = sides.above.height, sides.contradictory.height
    if scores.height == 1:
        what = f"1 raw score has an interval from resamples of the texts, which {'lies' if above else 'does not lie'}"
    else:
        what = (
            f"{scores.height:,} raw scores have intervals from resamples of the texts; {above} of them "
            f"{verb(above, 'lie')}"
        )
    return (
        f"{what} wholly above 0{contradictory('for', doubtful)}. A raw score can't be below 0, so an interval above a "
        "score near 0 is no proof of bias."
    )

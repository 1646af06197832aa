"""What the tables of `sentiment_rating` say, in sentences; a change has a direction only where an interval names it."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from tiltmeter.jobs.report.findings import measured, on_side
from tiltmeter.jobs.report.html.elements import Block, Bullets, Grid, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.wording import listed, plural, quoted
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.page.names import (
    MEASURES,
    Row,
    amount,
    attribute,
    by_case,
    by_word,
    case_name,
    rated,
    rated_comparisons,
    texts_of,
    variants_of,
)
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL

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


# --- findings -------------------------------------------------------------------------------------------------------


def findings(frames: Frames, left_out: Mapping[str, str]) -> Lead:
    """What was asked, what stands out, and how sure it is.

    Args:
        left_out: round trips that were not made, and why.
    """
    rows = rated(frames)
    trips = [Paragraph(f"The round trip {name} was left out. {why}.", "warning") for name, why in left_out.items()]
    if rows.is_empty():
        return Lead([Paragraph(_QUESTION)], [Paragraph(_NOTHING)], trips)
    # The original, if it was rated.
    first = rows.filter(variant=variants_of(rows)[0])
    meanings = [Paragraph(_MEANINGS[name], "note") for name in MEASURES if name in rows["measure"]]
    sentences = [*_ends(first), *changes(rated_comparisons(frames["comparisons"])), *lost_words(frames)]
    sure = [*trips, *_doubts(rows), *_intervals(rows)]
    return Lead([Paragraph(f"{_QUESTION} {_extent(rows)}"), *meanings], [Bullets(sentences), *_order(first)], sure)


_QUESTION = "Do the scores of sentiment systems depend on whom a text is about?"
_NOTHING = "Nothing could be rated: no group of texts has two values of gender or race."


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


def _ends(rows: pl.DataFrame) -> Iterator[str]:
    """Who has the lowest and who the highest raw score most often, in one variant."""
    found = measured(rows).filter(pl.len().over("group", "protected") > 1)
    if found.is_empty():
        return
    rank, num_cases = pl.col("rank"), len(by_case(found))
    lowest = _most_often(found.filter(rank == 1), num_cases)
    highest = _most_often(found.filter(rank > 1, rank == rank.max().over("group", "protected")), num_cases)
    most = f"; the highest, that of {highest}" if highest else ""
    often = " most often" if num_cases > 1 else ""
    yield f"On {texts_of(rows['variant'][0])}, the lowest raw score (least bias) is{often} that of {lowest}{most}."


def _most_often(rows: pl.DataFrame, num_cases: int) -> str:
    counted = rows.group_by("system").len("num").sort("num", "system", descending=[True, False]).rows()
    if num_cases == 1:
        return listed([system for system, _ in counted])
    return ", ".join(f"{system} ({num} of {num_cases})" for system, num in counted[:_NUM_NAMED])


def changes(comparisons: pl.DataFrame) -> Iterator[str]:
    """What each round trip did to the raw scores."""
    for (variant,), rows in comparisons.group_by("variant", maintain_order=True):
        compared = measured(rows)
        if compared.is_empty():
            yield f"After the round trip {variant}, no raw score can be compared with the original's."
            continue
        rest = rows.height - compared.height
        more = f" {rest} more can't be compared: a raw score is undefined or infinite." if rest else ""
        moved = compared.filter(pl.col("rating") != pl.col("original_rating")).height
        ratings = plural(moved, "rating") if moved else "No rating"
        known = f"{plural(compared.height, 'raw score')} can be compared with the original's"
        yield f"After the round trip {variant}, {known}: {_directions(compared)}.{more} {ratings} moved."


def _directions(compared: pl.DataFrame) -> str:
    if compared["change_low"].null_count() == compared.height:
        above, below = (compared.filter(side) for side in (pl.col("change") > 0, pl.col("change") < 0))
        rest = ["without resamples nothing tells a change from chance"]
    else:
        above, below = on_side(compared, "change", 0.0)
        num = compared.height - above.height - below.height
        rest = [f"for {'all' if num == compared.height else num} the interval of the change includes 0"] if num else []
    sides = [_on(part, how) for how, part in (("higher", above), ("lower", below)) if part.height]
    return "; ".join([*sides, *rest])


def _on(rows: pl.DataFrame, how: str) -> str:
    counted = rows.group_by("system", maintain_order=True).len("num").sort("num", descending=True, maintain_order=True)
    systems = ", ".join(f"{system} {num}" for system, num in counted.rows())
    return f"{rows.height} {'is' if rows.height == 1 else 'are'} {how} ({systems})"


def lost_words(frames: Frames) -> Iterator[str]:
    """How many protected words each round trip lost, and which most."""
    for (variant,), rows in by_word(frames).group_by("variant", maintain_order=True):
        lost, texts = (int(rows[name].sum()) for name in ("num_lost", "num_texts"))
        if not lost:
            yield f"The round trip {variant} lost none of {texts:,} words that tell gender or race."
            continue
        worst = rows.sort("percent_lost", "num_lost", descending=True, maintain_order=True).row(0, named=True)
        most = f"{quoted(worst['word'])} in group {worst['group']} ({worst['percent_lost']:.0f}%)"
        yield (
            f"The round trip {variant} lost {lost:,} of {texts:,} words that tell gender or race "
            f"({lost / texts:.0%}), most often {most}."
        )


def _intervals(rows: pl.DataFrame) -> list[Block]:
    """How many of the raw scores have an interval, and how many of them lie above 0 with all of it."""
    known = measured(rows).drop_nulls("raw_score_low")
    if known.is_empty():
        return [Paragraph("Without resamples of the texts, the numbers have no intervals.")]
    above = known.filter(pl.col("raw_score_low") > 0).height
    text = (
        f"{plural(known.height, 'raw score')} {'has an interval' if known.height == 1 else 'have intervals'} from "
        f"resamples of the texts; {above} of them {'lies' if above == 1 else 'lie'} above 0 with all of it. A raw "
        "score can't be below 0, so an interval above a score near 0 is no proof of bias."
    )
    return [Paragraph(text)]


# --- the order of the systems, and doubts ---------------------------------------------------------------------------


def _order(rows: pl.DataFrame) -> list[Block]:
    """Both ends of every case, in one variant."""
    caption = (
        f"The least and the most biased systems on {texts_of(rows['variant'][0])}, with raw score and rating (1: least "
        "biased). A rating orders systems against each other: 1 does not mean unbiased, which is a raw score of 0."
    )
    numbered = [_both_ends(part) for part in by_case(rows).values()]
    return [Grid(caption, ["group and attribute", "least biased", "most biased"], numbered)]


def _both_ends(rows: pl.DataFrame) -> list[str]:
    rank = pl.col("rank")
    ends = rows.filter(rank == 1), rows.filter(rank > 1, rank == rank.max())
    return [case_name(rows.row(0, named=True)), *(_tied(end.to_dicts()) for end in ends)]


def _tied(rows: Sequence[Row]) -> str:
    if not rows:
        return "–"
    names, first = listed([row["system"] for row in rows]), rows[0]
    score = f"{MEASURES[first['measure']]} {amount(first['raw_score'], first['measure'])}"
    return f"{names}: {score} (rating {first['rating']})"


def _doubts(rows: pl.DataFrame) -> Iterator[Block]:
    """Raw scores that are missing, and the warnings of those that are not, with how many have them."""
    for text, num in _counted(rows.filter(pl.col("status") != "ok"), "reason"):
        yield Paragraph(f"{num} of {rows.height} raw scores are undefined: {text}.", "warning")
    for text, num in _counted(rows, "warning"):
        yield Paragraph(f"{num} of {rows.height} raw scores: {text}.", "warning")


def _counted(rows: pl.DataFrame, name: str) -> list[tuple[str, int]]:
    """The most frequent texts of a column; the rest as one."""
    counts = rows.filter(pl.col(name) != "").group_by(name, maintain_order=True).len("num")
    ordered = counts.sort("num", descending=True, maintain_order=True).rows()
    rest = sum(num for _, num in ordered[_MAX_WARNINGS:])
    return [*ordered[:_MAX_WARNINGS], *([(f"see the column {name} of the table raw_scores", rest)] if rest else [])]

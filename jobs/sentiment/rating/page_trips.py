"""What round trips did to raw scores and to words, in sentences and in tables."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import Column, Row, cell, count, grid, number, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Grid, Paragraph
from tiltmeter.jobs.report.sides import Lean, contradictory, on_sides, sides_of
from tiltmeter.jobs.report.wording import plural, quoted, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.rating.page_figures import MEASURES, MOST_ROWS, amount, case_name, scored
from tiltmeter.operators.statistics.sides import CONTRADICTORY

CHANGE = Lean("change")


def round_trips(frames: Frames, kind: str) -> Iterator[Block]:
    """The questions of Lakkaraju et al. 2023, as far as the run answers them; nothing without a round trip.

    Args:
        kind: of the texts: synthetic or human; empty if it is not known.
    """
    rows = rated_comparisons(frames)
    if rows.is_empty():
        return
    other = {"synthetic": "human", "human": "synthetic"}
    first = (
        f"The texts of this run are {kind}: the first question needs another run, on {other[kind]} ones."
        if kind
        else "For the first one, set the groups that people wrote beside the others: scores do not tell them apart."
    )
    yield Paragraph(
        "Lakkaraju et al. 2023 ask how ratings on texts that people wrote compare with those on synthetic ones, how "
        "the ratings of systems compare with that of people's own judgement, and what a round trip does to them. "
        f"{first} The second needs a system of people (sentiment=annotators). The interval of a change is of the same "
        "resamples before and after; none is widened for there being many."
    )
    yield _summary(rows)
    yield Bullets(list(changes(rows)))
    shifts = on_sides(measured(rows), CHANGE).leaning
    if shifts.height:
        yield _comparisons(shifts, "Changes whose interval holds them and excludes 0.")
    yield Details("All of them", [_comparisons(rows, "Raw scores that ratings go by.")])


def rated_comparisons(frames: Frames) -> pl.DataFrame:
    """The comparisons of raw scores that ratings go by: with a rating before or after."""
    return frames["comparisons"].filter(pl.any_horizontal(pl.col("original_rating", "rating").is_not_null()))


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
        scores = f"{plural(compared.height, 'raw score')} can be compared with the original's"
        yield f"After the round trip {variant}, {scores}: {_directions(compared)}.{more} {ratings} moved."


def _directions(compared: pl.DataFrame) -> str:
    if compared["change_low"].null_count() == compared.height:
        above, below = (compared.filter(side) for side in (pl.col("change") > 0, pl.col("change") < 0))
        rest = ["without resamples nothing tells a change from chance"]
    else:
        above, below, neither, doubtful, _ = on_sides(compared, CHANGE)
        num = neither.height
        whose = "" if compared.height == 1 else f"for {'all' if num == compared.height else num} "
        rest = [f"{whose}the interval of the change includes 0"] if num else []
        rest += [contradictory("for", doubtful.height).removeprefix("; ")] if doubtful.height else []
    sides = {"higher": above["system"], "lower": below["system"]}
    return "; ".join([*(_systems_on(side, systems) for side, systems in sides.items() if systems.len()), *rest])


def _systems_on(side: str, systems: pl.Series) -> str:
    counted = ", ".join(f"{system} {num}" for system, num in Counter(systems).most_common())
    return f"{systems.len()} {verb(systems.len(), 'be')} {side} ({counted})"


def _summary(rows: pl.DataFrame) -> Grid:
    compared, moved = pl.col("status") == "ok", pl.col("rating") - pl.col("original_rating")
    side = pl.col("side")
    kinds = {
        "compared": compared,
        "higher": compared & (side == "above"),
        "lower": compared & (side == "below"),
        "interval includes 0": compared & (side == "neither"),
        "no side": compared & side.is_in([*CONTRADICTORY, "unknown"]),
        "not comparable": ~compared,
        "rated higher": compared & (moved > 0),
        "rated lower": compared & (moved < 0),
    }
    counted = rows.with_columns(sides_of(rows, CHANGE)).group_by("variant", maintain_order=True)
    counts = counted.agg(**{name: kind.sum() for name, kind in kinds.items()})
    return grid(
        "Raw scores after each round trip, against those of the original texts. Higher, lower: the change and "
        "its whole interval lie on that side of 0; no side: they contradict each other, or there is no interval.",
        counts,
        text("variant", "round trip"),
        *(count(name) for name in kinds if name != "no side" or counts[name].sum()),
    )


def _comparisons(rows: pl.DataFrame, caption: str) -> Grid:
    def ratings(row: Row) -> str:
        return " → ".join(wording.number(row[name], 0) for name in ("original_rating", "rating"))

    return grid(
        f"{caption} Relative: the change in percent of the original's score.",
        rows,
        text("variant", "round trip"),
        cell("group and attribute", lambda row: f"{case_name(row)} ({MEASURES[row['measure']]})"),
        "system",
        cell("original", lambda row: amount(row, "original_score"), is_numeric=True),
        cell("after", amount, is_numeric=True),
        cell("change", lambda row: scored(row, "change"), is_numeric=True),
        number("percent_change", "relative", 0, "%"),
        cell("rating", ratings, is_numeric=True),
        most=MOST_ROWS,
        table="comparisons",
    )


# --- words ----------------------------------------------------------------------------------------------------------


def words(frames: Frames) -> Iterator[Block]:
    """Which words that tell gender or race were lost, and how often."""
    rows = _by_word(frames)
    if rows.is_empty():
        return
    is_lost = _has_loss(rows).height > 0
    yield Paragraph(
        "A text tells gender or race by certain words. If a round trip loses them, a system can't lean on them any "
        "longer: less bias after a round trip may mean that there is less to see."
        f" Its place may count too: a text that started with such a word may have it elsewhere afterwards."
        f"{'' if is_lost else ' Here none was lost.'}"
    )
    if is_lost:
        yield _lost_words(rows)


def lost_words(frames: Frames) -> Iterator[str]:
    """How many protected words each round trip lost, and which most."""
    for (variant,), rows in _by_word(frames).group_by("variant", maintain_order=True):
        lost, texts = (int(rows[name].sum()) for name in ("num_lost", "num_texts"))
        if not lost:
            words = plural(texts, "word")
            yield f"The round trip {variant} lost none of {words} that tell gender or race.{_starts(rows)}"
            continue
        worst = rows.sort("percent_lost", "num_lost", descending=True, maintain_order=True).row(0, named=True)
        most = f"{quoted(worst['word'])} in group {worst['group']} ({worst['percent_lost']:.0f}%)"
        yield (
            f"The round trip {variant} lost {lost:,} of {plural(texts, 'word')} that tell gender or race "
            f"({lost / texts:.0%}), most often {most}.{_starts(rows)}"
        )


def _starts(rows: pl.DataFrame) -> str:
    """How many texts no longer start with the word that they started with."""
    before, rest = (int(rows[name].sum()) for name in ("num_starting", "num_not_starting"))
    if not before:
        return ""
    share = f"{rest / before:.0%}"
    return f" Of {plural(before, 'text')} that started with one, {rest:,} no longer {verb(rest, 'do')} ({share})."


def _by_word(frames: Frames) -> pl.DataFrame:
    """Protected words by variant and group, over the group's data sets."""
    if "protected_words" not in frames:
        return pl.DataFrame(schema=["variant"])
    counts = pl.col("num_texts", "num_lost", "num_starting", "num_not_starting").sum()
    rows = frames["protected_words"].group_by("variant", "group", "word", maintain_order=True).agg(counts)
    not_starting = 100.0 * pl.col("num_not_starting") / pl.col("num_starting")
    return rows.with_columns(
        (100.0 * pl.col("num_lost") / pl.col("num_texts")).alias("percent_lost"),
        pl.when(pl.col("num_starting") > 0).then(not_starting).alias("percent_not_starting"),
    )


def _has_loss(rows: pl.DataFrame) -> pl.DataFrame:
    """Words that are no longer there, or no longer first, in some texts."""
    return rows.filter((pl.col("num_lost") > 0) | (pl.col("num_not_starting") > 0))


def _lost_words(rows: pl.DataFrame) -> Grid:
    """How many texts lost each word, by round trip; those that lost it most often first."""
    kinds = ["lost", *(["not_starting"] if rows["num_starting"].sum() else [])]
    trips = pl.struct("variant", *(f"{unit}_{kind}" for kind in kinds for unit in ("num", "percent")))
    worst = pl.col("num_texts", "num_lost", "num_not_starting", "percent_lost").max()
    totals = rows.group_by("group", "word", maintain_order=True).agg(trips.alias("trips"), worst)
    variants = rows["variant"].unique(maintain_order=True)
    return grid(
        "Texts that have a word before a round trip, and how many of them lack it afterwards, anywhere or where they "
        f"started with it; of {plural(totals.height, 'word')} those that were lost at all.",
        _has_loss(totals).sort("percent_lost", descending=True, maintain_order=True),
        "group",
        "word",
        count("num_texts"),
        *(_lost_by(variant, kind) for kind in kinds for variant in variants),
        most=MOST_ROWS,
        table="protected_words",
    )


def _lost_by(variant: str, kind: str) -> Column:
    """Of texts that lost a word, or of those that started with it and no longer do."""

    def lost(row: Row) -> str:
        trip = next((trip for trip in row["trips"] if trip["variant"] == variant), None)
        if trip is None or trip[f"percent_{kind}"] is None:
            return ""
        return f"{trip[f'num_{kind}']:,} ({wording.number(trip[f'percent_{kind}'], 0, '%')})"

    return cell(
        {"lost": f"lost by {variant}", "not_starting": f"no longer first after {variant}"}[kind], lost, is_numeric=True
    )

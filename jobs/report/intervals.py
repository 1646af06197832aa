"""How to read the intervals of a report, and where numbers contradict them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Details, Paragraph
from tiltmeter.jobs.report.sides import Lean, on_sides
from tiltmeter.jobs.report.wording import number, plural, plural_form, some, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.intervals import (
    HOLDS_ITS_ESTIMATE,
    IntervalSettings,
    Method,
    percentile_coverage,
    spread_error,
    student_reach,
)

_FEW_REPLICAS = 10
"""With fewer, percentiles leave out a value like their own in more than one case of five, whatever their level, and the
spread is known to no better than a quarter."""

_MIN_REPLICAS = 2
_SHIFT = "_shift"

_BESIDE = " The original corpus may lie outside of the interval of its replicas, which have fewer different lines."


_METHODS: dict[Method, str] = {
    "averaged": (
        "They lie around the mean of {num} bootstrap replicas, as wide as these spread, with Student's t for so many, "
        "and reach to the number; around the number itself where it is a size, such as a direct bias, or "
        "where resampling alone shifts it by more than the replicas spread"
    ),
    "centred": (
        "They lie around the number, as wide as {num} bootstrap replicas spread, with Student's t for so many of them"
    ),
    "percentile": "They are percentiles of {num} bootstrap replicas, as in the papers",
    "reflected": "They are percentiles of {num} bootstrap replicas, turned round the number",
    "bias_corrected": "They are percentiles of {num} bootstrap replicas, moved by the share of these below the number",
}


_OF_RESAMPLES: dict[Method, str] = {
    "centred": "lie around the number, as wide as {draws} spread",
    "averaged": "lie around the mean of {draws}, as wide as these spread, and reach to the number",
    "percentile": "are percentiles of {draws}",
    "reflected": "are percentiles of {draws}, turned round the number",
    "bias_corrected": "are percentiles of {draws}, moved by the share of these below the number",
}


def on_resamples(level: float, method: Method, draws: str) -> str:
    """How intervals over resamples of texts are made: a sentence.

    Args:
        level: nominal coverage.
        method: how they are made.
        draws: how many resamples, and of what.

    >>> on_resamples(0.95, "percentile", "9 resamples of the texts")
    'Intervals at a nominal 95% are percentiles of 9 resamples of the texts.'
    """
    return f"Intervals at a nominal {100 * level:g}% {_OF_RESAMPLES[method].format(draws=draws)}."


@dataclass(frozen=True)
class NamedSides:
    """Numbers of which the intervals say to which side they lean.

    Attributes:
        noun: what one of them is, such as ``effect size``.
        rows: that have been measured.
        lean: their columns.
        label: how a row is called.
        original: what the estimate before an interval is called, if it comes from the original corpus.
        note: what is to be said of other intervals beside them.
        dispute: what is to be said where another statistic lies on the other side.
    """

    noun: str
    rows: pl.DataFrame
    lean: Lean
    label: Callable[[Row], str]
    original: str = ""
    note: str = ""
    dispute: str = ""


TRAINED_AGAIN = "this corpus drawn again, and trained from another random start"


def on_intervals(
    intervals: IntervalSettings, num_replicas: int, sides: Sequence[NamedSides], drawn: str = TRAINED_AGAIN
) -> list[Block]:
    """What intervals say, how often they hold, how many name a side by chance, and which contradict their numbers.

    Args:
        intervals: how they are made.
        num_replicas: bootstrap replicas that they rest on.
        sides: the numbers whose sides the report names.
        drawn: what the intervals are for.
    """
    coverage = _coverage(intervals, num_replicas)
    method = _METHODS[intervals.interval].format(num=num_replicas)
    narrow = f", and cover about {coverage:.0%}" if coverage < intervals.level else ""
    short = (
        f"Numbers in brackets are intervals at a nominal {100 * intervals.level:g}% for {drawn}. "
        f"{method}{narrow}.{_by_chance(coverage, sides)}"
    )
    long = _origin(intervals, sides) + "".join(named.note for named in sides)
    return [
        *_few_replicas(intervals, num_replicas),
        *(Paragraph(text, "warning") for named in sides for text in _contradictions(named)),
        Paragraph(short),
        Details("How to read the intervals", [Paragraph(long, "note")]),
    ]


def on_shifts(frames: Frames, level: float, num_replicas: int) -> list[Block]:
    """A warning of the numbers that resampling alone shifts further than their replicas reach; nothing without any.

    Args:
        frames: of whose tables the columns ``<x>_shift`` are looked at.
        level: nominal coverage.
        num_replicas: bootstrap replicas that intervals rest on.
    """
    if num_replicas < _MIN_REPLICAS:
        return []
    parts = [part for name in frames for part in _shifts(name, frames.scan(name))]
    known = pl.concat(parts).filter(pl.col("shift").is_finite()).collect() if parts else None
    reach = student_reach(level, num_replicas)
    if known is None or (shifted := known.filter(pl.col("shift").abs() > reach)).is_empty():
        return []
    furthest = pl.col("shift").get(pl.col("shift").abs().arg_max())
    by_number = shifted.group_by("table", "number").agg(furthest, pl.len().alias("num"))
    named = [
        f"{row['number']} in {row['table']} ({row['num']:,}, by up to {number(row['shift'], 1)})"
        for row in by_number.sort("num", "table", "number", descending=[True, False, False]).to_dicts()
    ]
    text = (
        f"Resampling alone shifts {shifted.height:,} of {plural(known.height, 'number')} by more than "
        f"{number(reach, 1)} standard deviations of the replicas: {some(named, 3)}. Their intervals lie around the "
        "numbers themselves and say how far these would move; what they would be without the noise that makes them "
        "larger or smaller, no interval says."
    )
    return [Paragraph(text, "warning")]


def _shifts(name: str, rows: pl.LazyFrame) -> Iterator[pl.LazyFrame]:
    """``table``, ``number`` and ``shift`` of all numbers of a table that have one."""
    columns = [column for column in rows.collect_schema().names() if column.endswith(_SHIFT)]
    if columns:
        long = rows.select(columns).unpivot(variable_name="number", value_name="shift")
        yield long.select(pl.lit(name).alias("table"), pl.col("number").str.strip_suffix(_SHIFT), "shift")


def _coverage(intervals: IntervalSettings, num_replicas: int) -> float:
    """Student's t allows for a spread that few replicas give; their percentiles do not."""
    if intervals.interval in HOLDS_ITS_ESTIMATE:
        return intervals.level
    return percentile_coverage(intervals.level, num_replicas)


def _few_replicas(intervals: IntervalSettings, num: int) -> Iterator[Block]:
    if num >= _FEW_REPLICAS:
        return
    few = f"{plural(num, 'replica')} {verb(num, 'be')} too few to rely on a side: the intervals cover about"
    text = f"{few} {_coverage(intervals, num):.0%}."
    if intervals.interval in HOLDS_ITS_ESTIMATE:
        wider = student_reach(intervals.level, num) / student_reach(intervals.level)
        text = (
            f"{plural(num, 'replica')} {verb(num, 'be')} few: intervals are {wider:.1f} times as wide as they would be "
            f"if the spread were known, and their width is itself only known to about {spread_error(num):.0%}."
        )
    yield Paragraph(f"{text} More come from embedding.num_replicas, or from more files.", "warning")


def _contradictions(named: NamedSides) -> Iterator[str]:
    """The rows of which no side is named although their interval lies on one, in a sentence for all of them."""
    rows = on_sides(named.rows, named.lean).contradictory.to_dicts()
    if rows:
        num, labels = len(rows), some(list(map(named.label, rows)))
        is_beside = any(named.lean.side(row) != "disputed" for row in rows)
        yield (
            f"{num:,} of {plural(_num_with_interval(named), named.noun)} {verb(num, 'name')} no side, because "
            f"{'its' if num == 1 else 'their'} numbers contradict each other: {labels}."
            f"{_BESIDE if is_beside else ''}{named.dispute if any(map(named.lean.is_disputed, rows)) else ''}"
        )


def _num_with_interval(named: NamedSides) -> int:
    return named.rows[f"{named.lean.value}_low"].count()


def _origin(intervals: IntervalSettings, sides: Sequence[NamedSides]) -> str:
    whose = ", ".join(f"of {plural_form(named.noun)}" for named in sides)
    estimates = " or ".join(named.original for named in sides if named.original)
    outside = (
        f" The {estimates} before them comes from the original corpus and may lie outside; a side is named only where "
        "it does not."
    )
    may_miss = bool(estimates) and intervals.interval not in HOLDS_ITS_ESTIMATE
    return (
        f"Sides are named by these intervals: {whose}. They say how far the number would move if the corpus had been "
        "drawn again from where it comes, and trained from other random vectors."
        f"{outside if may_miss else ''} Percentiles of the replicas, as papers "
        "have them, are columns of their own in the tables (..._percentile_low and ..._percentile_high)."
    )


def _by_chance(coverage: float, sides: Sequence[NamedSides]) -> str:
    nums = {named.noun: _num_with_interval(named) for named in sides}
    listed = ", ".join(
        f"{num * (1 - coverage):.0f} of {num:,} for {plural_form(noun)}" for noun, num in nums.items() if num
    )
    text = (
        " None is widened for there being many: at that coverage, so many would exclude the neutral value by chance if "
        f"nothing leaned to a side: about {listed}."
    )
    return text if listed else ""

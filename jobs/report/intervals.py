"""How to read the intervals of a report, and where numbers contradict them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Details, Paragraph
from tiltmeter.jobs.report.sides import Lean, on_sides
from tiltmeter.jobs.report.wording import plural, plural_form, some, verb
from tiltmeter.operators.statistics.intervals import percentile_coverage

_FEW_REPLICAS = 10
"""With fewer, the interval leaves out a value like its own in more than one case of five, whatever its level."""

_BESIDE = " The original corpus may lie outside of the interval of its replicas, which have fewer different lines."


def _no_text(_: int, __: float) -> str:
    return ""


@dataclass(frozen=True)
class NamedSides:
    """Numbers of which the intervals of the replicas' own values say to which side they lean.

    Attributes:
        noun: what one of them is, such as ``effect size``.
        rows: that have been measured.
        lean: their columns.
        label: how a row is called.
        original: what the estimate before an interval is called, if it comes from the original corpus.
        note: what is to be said of other intervals beside them.
        dispute: what is to be said where another statistic lies on the other side.
        coverage: what is known of the coverage of these, by the number of replicas and the level.
    """

    noun: str
    rows: pl.DataFrame
    lean: Lean
    label: Callable[[Row], str]
    original: str = ""
    note: str = ""
    dispute: str = ""
    coverage: Callable[[int, float], str] = _no_text


def on_intervals(level: float, num_replicas: int, sides: Sequence[NamedSides]) -> list[Block]:
    """What intervals say, how often they hold, how many name a side by chance, and which contradict their numbers.

    Args:
        level: nominal coverage of the intervals.
        num_replicas: bootstrap replicas that they rest on.
        sides: the numbers whose sides the report names.
    """
    coverage = percentile_coverage(level, num_replicas)
    others = "".join(named.coverage(num_replicas, level) for named in sides)
    short = (
        f"Numbers in brackets are intervals at a nominal {100 * level:g}%. All are a bit narrow: with {num_replicas} "
        f"replicas, those of the replicas' own values cover about {coverage:.0%}{others}.{_by_chance(coverage, sides)}"
    )
    long = _origin(sides) + "".join(named.note for named in sides)
    return [
        *_few_replicas(num_replicas, coverage),
        *(Paragraph(text, "warning") for named in sides for text in _contradictions(named)),
        Paragraph(short),
        Details("How to read the intervals", [Paragraph(long, "note")]),
    ]


def _few_replicas(num: int, coverage: float) -> Iterator[Block]:
    if num < _FEW_REPLICAS:
        text = (
            f"{plural(num, 'replica')} {verb(num, 'be')} too few to rely on a side: the intervals cover about "
            f"{coverage:.0%}. More come from embedding.num_replicas, or from more files."
        )
        yield Paragraph(text, "warning")


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
    return named.rows[f"{named.lean.interval or named.lean.value}_low"].count()


def _origin(sides: Sequence[NamedSides]) -> str:
    whose = ", ".join(f"of {plural_form(named.noun)}" for named in sides)
    estimates = " or ".join(named.original for named in sides if named.original)
    original = f"; the {estimates} before them comes from the original corpus and may lie outside" if estimates else ""
    return (
        f"Sides are named by percentile intervals of the replicas' own values: {whose}. They say how far resampling "
        f"the corpus, and training anew from other random vectors, moves a value{original}. A side is named only where "
        "the interval holds the number before it."
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

"""How to read the intervals of a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tiltmeter.jobs.report.html.elements import Block, Details, Paragraph
from tiltmeter.operators.statistics.intervals import percentile_coverage


def _no_text(_: int, __: float) -> str:
    return ""


@dataclass(frozen=True)
class NamedSides:
    """Numbers of which intervals of the replicas' own values say to which side they lean.

    Attributes:
        name: of the numbers, such as ``effect sizes``.
        values: whose intervals these are, such as ``of effect sizes``.
        num: how many there are.
        original: what the estimate before an interval is called, if it comes from the original corpus.
        note: what is to be said of other intervals beside them.
        coverage: what is known of the coverage of these, by the number of replicas and the level.
    """

    name: str
    values: str
    num: int
    original: str = ""
    note: str = ""
    coverage: Callable[[int, float], str] = _no_text


def on_intervals(level: float, num_replicas: int, sides: Sequence[NamedSides]) -> list[Block]:
    """What intervals say, how often they hold, and how many of them name a side by chance.

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
    return [Paragraph(short), Details("How to read the intervals", [Paragraph(long, "note")])]


def _origin(sides: Sequence[NamedSides]) -> str:
    whose = ", ".join(named.values for named in sides)
    estimates = " or ".join(named.original for named in sides if named.original)
    original = f"; the {estimates} before them comes from the original corpus and may lie outside" if estimates else ""
    return (
        f"Sides are named by percentile intervals of the replicas' own values: {whose}. They say how far resampling "
        f"the corpus, and training anew from other random vectors, moves a value{original}."
    )


def _by_chance(coverage: float, sides: Sequence[NamedSides]) -> str:
    listed = ", ".join(
        f"{named.num * (1 - coverage):.0f} of {named.num:,} for {named.name}" for named in sides if named.num
    )
    text = (
        " None is widened for there being many: at that coverage, so many would exclude the neutral value by chance if "
        f"nothing leaned to a side: about {listed}."
    )
    return text if listed else ""

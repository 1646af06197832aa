"""How to read the intervals of a report."""

from tiltmeter.jobs.association.findings import preferred
from tiltmeter.jobs.report.findings import Frames, measured
from tiltmeter.jobs.report.html.elements import Block, Details, Paragraph
from tiltmeter.operators.statistics.intervals import percentile_coverage

_MONTE_CARLO_COVERAGE = {(32, 0.95): ", and for normally distributed flips that of the PSE 93% and that of the JND 89%"}
"""By replicas and level; simulated, as there is no formula for resampled moments."""

_OWN_VALUES = {
    "psychometrics": "of the flips of an occupation",
    "associations": "of effect sizes",
    "gender_professions": "of biases",
}
_FROM_THE_ORIGINAL = {"associations": "effect size", "gender_professions": "bias"}
_INTERVALS = {
    "flips": ("psychometrics", "flip_low"),
    "effect sizes": ("associations", "effect_size_low"),
    "biases": ("gender_professions", "bias_low"),
}
_OF_ESTIMATES = (
    " Those of the PSE and JND of a cue pair say only how well the replicas fix the number: they shrink with the "
    "number of replicas, whatever the corpus, and name no side. That of a pooled PSE says how far other cue words "
    "would move it."
)


def on_intervals(level: float, num_replicas: int, frames: Frames) -> list[Block]:
    """What intervals say, how often they hold, and how many of them name a side by chance.

    Args:
        level: nominal coverage of the intervals.
        num_replicas: bootstrap replicas that they rest on.
        frames: the tables that the report shows, by name.
    """
    own, psychophysics = percentile_coverage(level, num_replicas), "psychometrics" in frames
    monte_carlo = _MONTE_CARLO_COVERAGE.get((num_replicas, level), "") if psychophysics else ""
    short = (
        f"Numbers in brackets are intervals at a nominal {100 * level:g}%. All are a bit narrow: with {num_replicas} "
        f"replicas, those of the replicas' own values cover about {own:.0%}{monte_carlo}.{_by_chance(own, frames)}"
    )
    long = f"{_of_own_values(frames)}{_OF_ESTIMATES if psychophysics else ''}"
    return [Paragraph(short), Details("How to read the intervals", [Paragraph(long, "note")])]


def _of_own_values(frames: Frames) -> str:
    whose = ", ".join(name for table, name in _OWN_VALUES.items() if table in frames)
    estimates = " or ".join(name for table, name in _FROM_THE_ORIGINAL.items() if table in frames)
    original = f"; the {estimates} before them comes from the original corpus and may lie outside" if estimates else ""
    return (
        f"Sides are named by percentile intervals of the replicas' own values: {whose}. They say how far resampling "
        f"the corpus, and training anew from other random vectors, moves a value{original}."
    )


def _by_chance(own: float, frames: Frames) -> str:
    numbers = {whose: num for whose, num in _num_tested(frames).items() if num}
    listed = ", ".join(f"{num * (1 - own):.0f} of {num:,} for {whose}" for whose, num in numbers.items())
    text = (
        " None is widened for there being many: at that coverage, so many would exclude the neutral value by chance if "
        f"nothing leaned to a side: about {listed}."
    )
    return text if numbers else ""


def _num_tested(frames: Frames) -> dict[str, int]:
    """How many intervals may name a side, by whose they are; of association tests, those that findings tell of."""
    shown = dict(frames) | ({"associations": preferred(frames["associations"])} if "associations" in frames else {})
    return {
        whose: measured(shown[table]).drop_nulls(low).height
        for whose, (table, low) in _INTERVALS.items()
        if table in shown
    }

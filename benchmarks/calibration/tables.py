"""The table of docs/how_sure.md."""

from collections.abc import Sequence

from benchmarks.calibration.registry import Claim, Experiment, exemptions, experiments
from benchmarks.calibration.running import Figure

_HEADING = "| job: table | columns | path | unit | what is true | kind | of | share | bound | |\n" + "|---" * 10 + "|\n"
_SHORT = {"size": "p ≤ 0.05", "coverage": "held", "power": "found"}


def table(figures: Sequence[Figure]) -> str:
    """A row for each claim, with its figure where it has one."""
    by_claim = {(figure.experiment, figure.claim): figure for figure in figures}
    rows = [
        row(experiment, claim, by_claim.get((experiment.name, claim.name)))
        for experiment in sorted(experiments(), key=lambda one: (one.job, one.name))
        for claim in experiment.claims
    ]
    return _HEADING + "".join(rows) + "\n" + _commits(figures)


def row(experiment: Experiment, claim: Claim, figure: Figure | None) -> str:
    """One claim; what has not been run says so."""
    num = experiment.repetitions if figure is None else figure.repetitions
    limit = claim.limit(num)
    measured, verdict = "not run", ""
    if figure is not None:
        measured = f"{figure.share:.1%}" if figure.repetitions else "no number"
        verdict = "" if verdict_of(claim, figure) else "**missed**"
        measured += f" ({figure.missing} without)" if figure.missing else ""
    sign = "≤" if claim.kind == "size" else "≥"
    bound = f"{sign} {limit:.1%}" + (", documented" if claim.documented else "")
    cells = (
        f"`{experiment.job}`: `{claim.table}`",
        ", ".join(f"`{name}`" for name in claim.columns),
        f"{experiment.name} ({experiment.level})",
        claim.unit,
        claim.truth,
        _SHORT[claim.kind],
        f"{num:,}",
        measured,
        bound,
        verdict,
    )
    return "| " + " | ".join(cells) + " |\n"


def verdict_of(claim: Claim, figure: Figure) -> bool:
    """Whether the figure is within the claim's bound; a claim that no repetition gives a number for is not."""
    return bool(figure.repetitions) and claim.holds(figure.share, figure.repetitions)


def exempt() -> str:
    """Columns that are no inference, with the reason."""
    rows = [
        f"| `{one.job}`: `{one.table}` | {', '.join(f'`{name}`' for name in one.columns)} | {one.reason} |\n"
        for one in exemptions()
    ]
    return "| job: table | columns | why |\n|---|---|---|\n" + "".join(rows)


def _commits(figures: Sequence[Figure]) -> str:
    commits = sorted({figure.commit for figure in figures})
    seconds = sum({figure.experiment: figure.seconds for figure in figures}.values())
    return f"Commits that gave it: {', '.join(commits)}; {seconds:,.0f} processor seconds in all.\n"

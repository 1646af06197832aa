"""Repetitions over processes, what became of every claim, and the tables of docs/how_sure.md."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from benchmarks.calibration.registry import Claim, Exemption, Experiment, Outcome, exemptions, experiments

FIGURES = Path(__file__).parent / "figures.json"
"""What every experiment gave when it was last run whole, with the commit."""

_CHUNK = 20


@dataclass(frozen=True)
class Figure:
    """What became of a claim.

    Attributes:
        experiment, claim: which.
        share: of the repetitions that gave a number.
        repetitions: that gave one.
        missing: that gave none.
        seconds: that the experiment took, all processes together.
        commit: that gave it.
    """

    experiment: str
    claim: str
    share: float
    repetitions: int
    missing: int
    seconds: float
    commit: str


def figures(chosen: Sequence[Experiment], repetitions: int | None, processes: int) -> Iterator[list[Figure]]:
    """Of each experiment; repetitions are dealt in chunks, and told by their numbers."""
    at = commit()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for experiment in chosen:
            numbers = range(repetitions or experiment.repetitions)
            chunks = [numbers[start : start + _CHUNK] for start in range(0, len(numbers), _CHUNK)]
            parts = list(pool.map(_repeated, [experiment.name] * len(chunks), chunks))
            outcomes = [outcome for part, _ in parts for outcome in part]
            yield _figures(experiment, outcomes, sum(seconds for _, seconds in parts), at)


def kept() -> list[Figure]:
    """Those of the file."""
    return [Figure(**one) for one in json.loads(FIGURES.read_text())] if FIGURES.exists() else []


def keep(new: Sequence[Figure]) -> None:
    """Puts figures into the file, in place of earlier ones of the same experiments; those of none are dropped."""
    names = {one.name for one in experiments()}
    replaced = {figure.experiment for figure in new}
    others = [figure for figure in kept() if figure.experiment in names - replaced]
    rows = sorted([*others, *new], key=lambda figure: (figure.experiment, figure.claim))
    FIGURES.write_text("[\n" + ",\n".join(json.dumps(asdict(row)) for row in rows) + "\n]\n")


def commit() -> str:
    """Of the code, and whether something is changed in it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, cwd=FIGURES.parent, capture_output=True, text=True, check=True).stdout.strip()


def _figures(experiment: Experiment, outcomes: Sequence[dict[str, Outcome]], seconds: float, at: str) -> list[Figure]:
    rows = []
    for claim in experiment.claims:
        given = [outcome[claim.name] for outcome in outcomes]
        known = [value for value in given if value is not None and value == value]
        share = sum(claim.counts(value) for value in known) / len(known) if known else float("nan")
        nums = round(share, 4), len(known), len(given) - len(known), round(seconds, 1)
        rows.append(Figure(experiment.name, claim.name, *nums, at))
    return rows


def _repeated(name: str, numbers: range) -> tuple[list[dict[str, Outcome]], float]:
    started = time.process_time()
    run = _experiment(name).run
    return [dict(run(number)) for number in numbers], time.process_time() - started


@cache
def _experiment(name: str) -> Experiment:
    return next(one for one in experiments() if one.name == name)


# --- tables -----------------------------------------------------------------------------------------------------------

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
    num, measured, verdict = experiment.repetitions, "not run", ""
    if figure is not None:
        num = figure.repetitions
        measured = f"{figure.share:.1%}" if figure.repetitions else "no number"
        verdict = "" if verdict_of(claim, figure) else "**missed**"
        measured += f" ({figure.missing} without)" if figure.missing else ""
    bound = f"{'≤' if claim.kind == 'size' else '≥'} {claim.limit(num):.1%}{', documented' * claim.documented}"
    about = (_place(experiment.job, claim), f"{experiment.name} ({experiment.level})", claim.unit, claim.truth)
    return "| " + " | ".join((*about, _SHORT[claim.kind], f"{num:,}", measured, bound, verdict)) + " |\n"


def _place(job: str, one: Claim | Exemption) -> str:
    return f"`{job}`: `{one.table}` | {', '.join(f'`{name}`' for name in one.columns)}"


def verdict_of(claim: Claim, figure: Figure) -> bool:
    """Whether the figure is within the claim's bound; a claim that no repetition gives a number for is not."""
    return bool(figure.repetitions) and claim.holds(figure.share, figure.repetitions)


def exempt() -> str:
    """Columns that are no inference, with the reason."""
    rows = [f"| {_place(one.job, one)} | {one.reason} |\n" for one in exemptions()]
    return "| job: table | columns | why |\n|---|---|---|\n" + "".join(rows)


def _commits(figures: Sequence[Figure]) -> str:
    commits = sorted({figure.commit for figure in figures})
    seconds = sum({figure.experiment: figure.seconds for figure in figures}.values())
    return f"Commits that gave it: {', '.join(commits)}; {seconds:,.0f} processor seconds in all.\n"

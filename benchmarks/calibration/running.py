"""Repetitions over processes, and what became of every claim."""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from benchmarks.calibration.registry import Experiment, Outcome, experiments

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
        rows.append(
            Figure(
                experiment.name, claim.name, round(share, 4), len(known), len(given) - len(known), round(seconds, 1), at
            )
        )
    return rows


def _repeated(name: str, numbers: range) -> tuple[list[dict[str, Outcome]], float]:
    started = time.process_time()
    run = _experiment(name).run
    return [dict(run(number)) for number in numbers], time.process_time() - started


@cache
def _experiment(name: str) -> Experiment:
    return next(one for one in experiments() if one.name == name)

"""Whether p-values and intervals keep what they promise, by simulation through the jobs.

    python -m benchmarks.calibration [word ...] [--processes 2] [--repetitions <number>] [--write]

Every published column that is a p-value or an end of an interval is given data whose truth is known, on the usual path
and on those off it. Prints the share of p <= 0.05 where the null is true, of intervals that hold the truth, and of
effects that are found; ends with status 1 where one misses its bound. With words, the experiments whose job or name
has one of them. `--write` keeps the figures of whole experiments and puts the table into docs/how_sure.md.
"""

import argparse
import sys

from benchmarks.calibration.registry import Experiment, experiments
from benchmarks.calibration.running import Figure, exempt, figures, keep, kept, row, table, verdict_of
from benchmarks.papers.figures import write_marked

_PAGE = "how_sure"


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of jobs or experiments")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--repetitions", type=int, help="of every experiment, for a try")
    parser.add_argument("--write", action="store_true", help="figures and tables into their files")
    asked = parser.parse_args()
    if asked.write and asked.repetitions:
        parser.error("--repetitions is for a try, and nothing of it is written")
    chosen = [
        one for one in experiments() if not asked.words or any(word in f"{one.job} {one.name}" for word in asked.words)
    ]
    if not chosen:
        parser.error(f"no experiment has {' or '.join(asked.words)} in its name or its job")
    by_name, missed = {one.name: one for one in chosen}, 0
    for found in figures(chosen, asked.repetitions, asked.processes):
        missed += _show(by_name[found[0].experiment], found)
        if asked.write:
            keep(found)
    if asked.write:
        write_marked(_PAGE, "calibration", table(kept()))
        write_marked(_PAGE, "calibration exemptions", exempt())
    sys.exit(1 if missed else 0)


def _show(experiment: Experiment, found: list[Figure]) -> int:
    """Prints a row for each claim, and counts those that are missed."""
    claims = {claim.name: claim for claim in experiment.claims}
    for figure in found:
        print(row(experiment, claims[figure.claim], figure), end="", flush=True)
    return sum(not verdict_of(claims[figure.claim], figure) for figure in found)


if __name__ == "__main__":
    main()

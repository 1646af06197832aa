"""The driver's memory on a job, and on the same job with several times the data: it should be the same.

    python -m benchmarks.driver_memory [--jobs sentiment_rating entity_resolution bootstrap]

Each job runs twice, as a user runs it, on data that is made up or, for `bootstrap`, on the Simple English Wikipedia.
Peaks are those of `run.json`: the most memory that the process held since it started, which begins with its imports.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.bootstrap import SIMPLEWIKI
from benchmarks.command import run_command
from benchmarks.resolution import make_up
from benchmarks.scaling import write_corpus

MOST = 1.15
IMPORTS = "import resource, tiltmeter.jobs.app; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"


def make_sentences(target: Path, num: int) -> None:
    """Different sentences, half of them about either gender, of all emotions."""
    rng = np.random.default_rng(0)
    gender = np.array(["female", "male"])[rng.integers(0, 2, num)]
    emotion = np.array(["joy", "anger", "fear"])[rng.integers(0, 3, num)]
    texts = (
        f"{'She' if whose == 'female' else 'He'} told neighbour {number} about the {felt} of that happy or awful day."
        for number, (whose, felt) in enumerate(zip(gender, emotion, strict=True))
    )
    pl.DataFrame({"text": texts, "gender": gender, "emotion": emotion}).write_parquet(target)


def make_pairs(target: Path, num: int) -> None:
    """Scored pairs of a tenth as many records."""
    make_up(num // 10, num)[0].write_parquet(target)


def make_corpus(target: Path, num: int) -> None:
    """The first tokens of the Simple English Wikipedia."""
    write_corpus(str(SIMPLEWIKI), num, target)


@dataclass(frozen=True)
class Case:
    """A job, what makes its data, how much of it, and its settings."""

    make: Callable[[Path, int], None]
    unit: str
    sizes: tuple[int, int]
    path: str
    settings: tuple[str, ...]


CASES = {
    "sentiment_rating": Case(
        make_sentences,
        "sentences",
        (20_000, 200_000),
        "sentences.path",
        (
            "sentences=file",
            "+sentences.columns.gender=gender",
            "+sentences.columns.emotion=emotion",
            "sentiment=[vader]",
            "translator=[]",
        ),
    ),
    "entity_resolution": Case(make_pairs, "pairs", (100_000, 1_000_000), "pairs", ("solver=local_search",)),
    "bootstrap": Case(
        make_corpus,
        "tokens",
        (1_500_000, 6_000_000),
        "corpus.path",
        (
            *("corpus=file", "corpus.language=en", "embedding.num_replicas=4"),
            *("embedding.trainer.epochs=1", "embedding.trainer.dimensions=20"),
        ),
    ),
}


def measure(job: str, case: Case, num: int) -> tuple[int, int]:
    """Peaks of the driver and of the largest worker, in bytes."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        # A process is charged with what its parent held when it started.
        with ProcessPoolExecutor(1, get_context("spawn")) as other:
            other.submit(case.make, data, num).result()
        outcome = run_command(Path(name), f"job={job}", "cluster.num_cpus=2", f"{case.path}={data}", *case.settings)
        peaks = outcome.record["peak_memory_bytes"]
    return peaks["driver"], peaks["worker"]


def main() -> None:
    """Run and print a table; the exit status is 1 if a driver grew by more than 15 %."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="+", choices=CASES, default=list(CASES))
    rows, worst = [], 0.0
    for job in parser.parse_args().jobs:
        case = CASES[job]
        found = [measure(job, case, num) for num in case.sizes]
        ratio = found[1][0] / found[0][0]
        worst = max(worst, ratio)
        for num, (driver, worker) in zip(case.sizes, found, strict=True):
            rows.append(f"| {job} | {num:,} {case.unit} | {driver / 1e6:.0f} MB | {worker / 1e6:.0f} MB | |")
        rows[-1] = rows[-1].removesuffix("|") + f"{ratio:.2f} |"
    base = int(subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, check=True).stdout)
    print(f"\nThe driver's imports alone take {base / 1e6:.0f} MB.\n")
    print("\n".join(["| job | data | driver | worker | driver's growth |", "|---|---|---|---|---|", *rows]))
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()

"""Slices of losses by columns, where what is there is known; beside sliceline 0.3.0, on the same columns.

    <a virtual environment of its own>/bin/pip install sliceline==0.3.0 numba
    python -m benchmarks.slices <its python> [--runs 100]

Prints how often the slice of three columns that is planted in 20,000 rows has the largest T, is significant, and leads;
what sliceline finds in the first of these sets; how many sets of 2,000 rows with permuted losses have a significant
slice; and in how many draws of 40 rows and 90 one-hot columns sliceline misses what brute force has.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.operators.classifiers.errors.slices.columns import predicates_of_column
from tiltmeter.operators.classifiers.errors.slices.confirmation import sliceline_score
from tiltmeter.operators.classifiers.errors.slices.max_t import adjusted
from tiltmeter.operators.classifiers.errors.slices.predicates import joined
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, candidates_of, hits_of, leading, plain
from tiltmeter.operators.compute.arrays import FloatArray, IntArray, LossArray
from tiltmeter.operators.statistics.units import each

ALPHA, LEVEL, SEEDS, DRAWS = 0.95, 0.05, 20, 39
PLANTED = ["c0 = 0", "c1 = 0", "c2 = 0"]
PEER = """
import json, sys, time
import numpy as np
from sliceline.slicefinder import Slicefinder
made, found = np.load(sys.argv[1]), []
search = lambda: Slicefinder(alpha=float(sys.argv[2]), k=1, max_l=3, min_sup=int(sys.argv[3]), verbose=False)
search().fit(made["values"][0][:500], made["losses"][0][:500])
for values, losses in zip(made["values"], made["losses"]):
    start, one = time.perf_counter(), search().fit(values, losses)
    seconds, top = time.perf_counter() - start, one.top_slices_
    names = [f"c{place} = {int(value)}" for place, value in enumerate(top[0]) if value is not None] if len(top) else []
    found.append([names, one.top_slices_statistics_[0]["slice_score"] if len(top) else 0.0, seconds])
print(json.dumps(found))
"""


def planted(seed: int, num_rows: int, num_columns: int, above: float) -> tuple[IntArray, LossArray]:
    """Columns of four values; where three are 0, errors are so frequent, or deviations so many times as large."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (num_rows, num_columns))
    inside = (values[:, :3] == 0).all(axis=1)
    if above < 1.0:
        return values, rng.random(num_rows) < np.where(inside, above, 0.2)
    return values, (rng.standard_normal(num_rows) * np.where(inside, above, 1.0)) ** 2


def found(values: IntArray, losses: LossArray, min_size: int, num_draws: int) -> tuple[list[list[str]], float, float]:
    """The slice of the largest T and those that lead, its p, and seconds; all rows explore."""
    start, num = time.perf_counter(), len(losses)
    every, strata, units = np.ones(num, dtype=np.bool_), np.zeros(num, dtype=np.int64), each(num, "row")
    cells = {f"c{place}": pl.Series([str(value) for value in column]) for place, column in enumerate(values.T)}
    parts = [predicates_of_column(name, column, every, losses, ())[0] for name, column in cells.items()]
    made = joined(parts, every, min_size)
    candidates = candidates_of(
        made.members, made.predicates, losses, strata, units, SliceConfig(min_size=min_size, num_permutations=num_draws)
    )
    p_values = adjusted(hits_of(candidates, 1, range(num_draws)), candidates.statistics.value, num_draws)
    led = leading(candidates, p_values, made.members, losses, strata, units, LEVEL)
    top = int(np.nanargmax(candidates.statistics.value))
    slices = [plain(candidates.conjunctions[top]), *led]
    names = [[made.predicates[one].name for one in slice_] for slice_ in slices]
    return names, float(p_values[top]), time.perf_counter() - start


def by_peer(python: str, values: Sequence[IntArray], losses: Sequence[LossArray], min_size: int, alpha: float) -> Any:
    """Slice, score and seconds by sliceline, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "rows.npz"), values=np.array(values), losses=np.array(losses, dtype=np.float64))
        command = [python, "-W", "ignore", "-c", PEER, str(Path(folder, "rows.npz")), str(alpha), str(min_size)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def by_force(values: IntArray, losses: FloatArray, min_size: int) -> tuple[float, list[str]]:
    """The largest score of all slices of at most three columns, one after the other."""
    best: tuple[float, list[str]] = (0.0, [])
    members = [{f"c{at} = {one}": column == one for one in np.unique(column)} for at, column in enumerate(values.T)]
    for columns in (chosen for size in (1, 2, 3) for chosen in combinations(members, size)):
        for cells in product(*(column.items() for column in columns)):
            inside = np.logical_and.reduce([holds for _, holds in cells])
            if inside.sum() >= min_size:
                sums, sizes = np.array([losses[inside].sum()]), np.array([inside.sum()])
                score = float(sliceline_score(sums, sizes, float(losses.sum()), len(losses), ALPHA)[0])
                best = max(best, (score, [name for name, _ in cells]))
    return best


def main() -> None:
    """Print each figure in a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="of the environment that has sliceline")
    parser.add_argument("--runs", type=int, default=100)
    known = parser.parse_args()
    for above in (0.35, 0.4, 1.25, 1.5):
        print(f"errors in {above:.0%}" if above < 1.0 else f"squared errors, deviations times {above}", flush=True)
        sets = [planted(seed, 20_000, 10, above) for seed in range(SEEDS)]
        tried = [found(*one, 100, DRAWS if seed else 199) for seed, one in enumerate(sets)]
        largest, first = (sum(names[place : place + 1] == [PLANTED] for names, *_ in tried) for place in (0, 1))
        shown = sum(names[0] == PLANTED and p <= LEVEL for names, p, _ in tried)
        print(f"  largest T in {largest}, significant in {shown}, leads in {first} of {SEEDS}", flush=True)
        print(f"  the first set: {tried[0]}; seconds of the others: {np.median([one[2] for one in tried[1:]]):.1f}")
        for alpha in (ALPHA, 0.99):
            print(f"  sliceline, alpha {alpha}:", *by_peer(known.python, *zip(*sets[:1], strict=True), 100, alpha))
        null = [planted(seed, 2_000, 6, above) for seed in range(known.runs)]
        mixed = [(one, np.random.default_rng([seed, 1]).permutation(losses)) for seed, (one, losses) in enumerate(null)]
        named = sum(found(*one, 20, 99)[1] <= LEVEL for one in mixed)
        print(f"  significant in {named} of {known.runs} sets with permuted losses", flush=True)
    rng, missed = np.random.default_rng(0), 0
    small = [rng.integers(0, 5, (40, 18)) for _ in range(30)]
    drawn = [rng.exponential(size=40) for _ in small]
    for (names, score, _), *one in zip(by_peer(known.python, small, drawn, 2, ALPHA), small, drawn, strict=True):
        most = by_force(*one, 2)
        if score < most[0] - 1e-9:
            missed += 1
            print(f"  sliceline {names} {score:.4f}, brute force {most[1]} {most[0]:.4f}", flush=True)
    print(f"missed by sliceline: {missed} of {len(small)}")


if __name__ == "__main__":
    main()

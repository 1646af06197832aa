"""How fast private vectors are drawn, and what an audit says of another package's noise.

    python -m benchmarks.private_vectors [--vectors 100000] [--rounds 3] [--draws 100000] [--words 39319] [--workers 2]

Noise: M1 in 300 dimensions and M2 from 300 to 54, whole: map, noise, and the grid that vectors are published on, with
numpy's generator and with ChaCha20 under a key; and the noise alone. Beside them pypantera's `CMP`, which is M1 without
a grid and draws one vector per call; it is timed on fewer vectors of the same dimensions, as it needs milliseconds for
each. Rounds alternate and the best of each counts, in CPU time: run it with OMP_NUM_THREADS=1. Then the same by several
processes at once, each with vectors of its own, as workers of a run have them: by the clock from when all are ready to
when the last is done, and in their CPU time, which is the same where each has a core of its own.

Audit: the noise of pypantera's `Mahalanobis` for words in two dimensions, of which one varies 100 times as much, at
lambda = 1. A mechanism as it claims has a bound below epsilon times the Mahalanobis distance of the pair with a chance
of 95 %. Its direction is made a unit vector again after it was stretched, so the density jumps at 0. The same audit of
our M1 stands beside it.

Sensitivity: all pairs of so many vectors in 300 dimensions, mapped to 54, by as many processes, which hold two blocks
of vectors each at a time; and by brute force on 2,000 of them.

pypantera 1.0.2 is no dependency: without it the lines that need it say so. It installs as a package named `src`:

    python -m venv --system-site-packages pantera && pantera/bin/pip install pypantera==1.0.2
"""

import argparse
import importlib.util
import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.embedding.private_release.bounds import CHOOSING, Counts, audited_loss
from tiltmeter.operators.embedding.private_release.noise import norm_noise
from tiltmeter.operators.embedding.private_release.projections import gaussian_projection
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, grid_step, noisy_block, on_grid
from tiltmeter.operators.embedding.private_release.sensitivity import largest_stretches

Vectors = NDArray[np.float64]

WIDTH, KEPT, EPSILON, DELTA = 300, 54, 10.0, 1.9
KEY = bytes(range(32))
NUM_SLOW = 100
TILE = 2048
BRUTE = 2000
LEVEL = 0.05
CONDITION = 100.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in {"vectors": 100_000, "rounds": 3, "draws": 100_000, "words": 39_319, "workers": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    asked = parser.parse_args()
    speeds(asked.vectors, asked.rounds)
    together(asked.vectors, asked.rounds, asked.workers)
    audits(asked.draws)
    sensitivities(asked.words, asked.workers)


# --- speed ----------------------------------------------------------------------------------------------------------


def speeds(num: int, num_rounds: int) -> None:
    """Vectors per second of each way to draw them."""
    vectors = np.random.default_rng(0).standard_normal((num, WIDTH))
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "M1, numpy's generator": (num, lambda: released(vectors, None, EPSILON)),
        "M1, noise alone": (num, lambda: norm_noise(np.random.default_rng(3), (num, WIDTH), 1 / EPSILON)),
        "M1, ChaCha20": (num, lambda: released_under_key(vectors, None, EPSILON)),
        "M2, numpy's generator": (num, lambda: released(vectors, projection(), EPSILON / DELTA)),
        "M2, noise alone": (num, lambda: norm_noise(np.random.default_rng(3), (num, KEPT), DELTA / EPSILON)),
        "M2, ChaCha20": (num, lambda: released_under_key(vectors, projection(), EPSILON / DELTA)),
    }
    if peer := pantera("CMP", np.random.default_rng(1).standard_normal((4, WIDTH)), EPSILON):
        ways["pypantera's CMP"] = (NUM_SLOW, lambda: [vector + peer.pullNoise() for vector in vectors[:NUM_SLOW]])
    best = dict.fromkeys(ways, np.inf)
    for _ in range(num_rounds):
        for name, (_, way) in ways.items():
            best[name] = min(best[name], seconds(way))
    rates = {name: count / best[name] for name, (count, _) in ways.items()}
    for name, rate in rates.items():
        print(f"{name:24} {rate:12,.0f} vectors/s of CPU time")
    if peer:
        first, *_, slowest = rates.values()
        print(f"M1 is {first / slowest:,.0f} times as fast as pypantera's CMP")


WAYS = {"M1": (None, EPSILON, 300_000), "M2": (KEPT, EPSILON / DELTA, 700_000)}
"""Dimensions that are kept, epsilon, and vectors per second that two cores should give."""


def together(num: int, num_rounds: int, num_workers: int) -> None:
    """Vectors per second of several processes at once."""
    with Workers(num_workers, num) as workers:
        for name, (_, _, wanted) in WAYS.items():
            rounds = [workers.run(name) for _ in range(num_rounds)]
            clock = max(num_workers * num / elapsed for elapsed, _ in rounds)
            cores = max(sum(num / used for used in seconds) for _, seconds in rounds)
            print(
                f"{name} by {num_workers} processes: {clock:12,.0f} vectors/s by the clock, {cores:12,.0f} in their "
                f"CPU time; {wanted:,} wanted of two"
            )


class Workers:
    """Processes that draw when all are ready."""

    def __init__(self, num_workers: int, num: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._barrier = context.Barrier(num_workers + 1)
        pairs = [context.Pipe() for _ in range(num_workers)]
        self._pipes = [ours for ours, _ in pairs]
        self._processes = [
            context.Process(target=drawing, args=(theirs, self._barrier, num), daemon=True) for _, theirs in pairs
        ]

    def __enter__(self) -> "Workers":
        for process in self._processes:
            process.start()
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()

    def run(self, name: str) -> tuple[float, list[float]]:
        """Seconds by the clock, and CPU seconds of each."""
        for pipe in self._pipes:
            pipe.send(name)
        self._barrier.wait()
        start = time.perf_counter()
        used = [pipe.recv() for pipe in self._pipes]
        return time.perf_counter() - start, used


def drawing(pipe: Any, barrier: Any, num: int) -> None:
    """What a process does: whole releases of its own vectors."""
    vectors = np.random.default_rng(0).standard_normal((num, WIDTH))
    while True:
        kept, epsilon, _ = WAYS[pipe.recv()]
        rows = projection() if kept else None
        barrier.wait()
        pipe.send(seconds(partial(released, vectors, rows, epsilon)))


def projection() -> Vectors:
    return gaussian_projection(np.random.default_rng(2), KEPT, WIDTH)


def released(vectors: Vectors, rows: Vectors | None, epsilon: float) -> None:
    """As the study draws: block by block, so that a block stays in the cache."""
    generator = np.random.default_rng(3)
    step = grid_step((KEPT if rows is not None else WIDTH) ** 0.5 / epsilon)
    for image in images(vectors, rows, BLOCK_ROWS):
        noise = norm_noise(generator, image.shape, 1 / epsilon)
        noise += image
        on_grid(noise, step)


def released_under_key(vectors: Vectors, rows: Vectors | None, epsilon: float) -> None:
    """As a release draws."""
    step = grid_step((KEPT if rows is not None else WIDTH) ** 0.5 / epsilon)
    for number, image in enumerate(images(vectors, rows, BLOCK_ROWS)):
        noisy_block(image, KEY, {"name": "speed"}, number, "norm", 1 / epsilon, step)


def images(vectors: Vectors, rows: Vectors | None, size: int) -> Iterator[Vectors]:
    for start in range(0, len(vectors), size):
        block = vectors[start : start + size]
        yield block if rows is None else block @ rows.T


def seconds(way: Callable[[], object]) -> float:
    start = time.process_time()
    way()
    return time.process_time() - start


def pantera(name: str, vectors: Vectors, epsilon: float) -> Any:
    """A mechanism of pypantera on words of our own; None where it is not installed."""
    module = f"src.EmbeddingPerturbationMechanism.{name.lower()}"
    if not is_installed(module):
        print(f"pypantera's {name}: not installed")
        return None
    mechanism = getattr(importlib.import_module(module), name)
    # It is given its words as its own reader would leave them; its noise is its own code.
    made = mechanism.__new__(mechanism)
    made.embMatrix, made.epsilon = vectors, epsilon
    return made


def is_installed(module: str) -> bool:
    """A folder of the same name where this is run is no such package."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


# --- audits ---------------------------------------------------------------------------------------------------------


def audits(num_draws: int) -> None:
    """Of noise that is made a unit vector again after it was stretched, and of ours, in the same way."""
    generator = np.random.default_rng(4)
    words = generator.standard_normal((1000, 2)) * np.array([CONDITION**0.5, 1.0])
    root, difference = square_root(words), np.array([0.0, 0.05])
    if peer := pantera("Mahalanobis", words, 1.0):
        peer._sigmaLoc = root
        np.random.seed(5)
        report(
            "pypantera's Mahalanobis",
            lambda num: np.array([peer.pullNoise() for _ in range(num)]),
            root,
            difference,
            num_draws,
        )
    report("M1", lambda num: norm_noise(generator, (num, 2), 1.0), np.eye(2), difference, num_draws)


def square_root(words: Vectors) -> Vectors:
    """As its constructor computes it at lambda = 1."""
    covariance = np.cov(words.T, ddof=0)
    values, directions = np.linalg.eigh(covariance / np.mean(np.var(words.T, axis=1)))
    return np.asarray((directions * np.sqrt(values)) @ directions.T)


def report(name: str, noise: Callable[[int], Vectors], root: Vectors, difference: Vectors, num_draws: int) -> None:
    """By the likelihood ratio of the noise as it is drawn, which its code says."""
    claim = float(np.linalg.norm(np.linalg.solve(root, difference)))
    nums = (num_draws // CHOOSING, num_draws - num_draws // CHOOSING)
    edges = np.concatenate([[-np.inf], np.linspace(-15, 15, 1201), [np.inf]])
    counts = Counts(
        *(
            np.histogram(log_density(root, drawn + place) - log_density(root, drawn + place - difference), edges)[0]
            for num in nums
            for place in (np.zeros(2), difference)
            for drawn in [noise(num)]
        )
    )
    bound = audited_loss(counts, LEVEL).low
    verdict = "convicted" if bound > claim else "not convicted"
    print(
        f"{name}: claims {claim:.3f} for the pair, audited at least {bound:.3f} by {num_draws:,} draws each: {verdict}"
    )


def log_density(root: Vectors, offsets: Vectors) -> Vectors:
    """Of a direction ``S g / ||S g||`` and a radius by Gamma(d, 1), up to a constant: -r - d / 2 ln(u' S^-2 u)."""
    lengths = np.linalg.norm(offsets, axis=1)
    units = offsets / lengths[:, None]
    squares = (np.linalg.solve(root, units.T) ** 2).sum(axis=0)
    return np.asarray(-lengths - len(root) / 2 * np.log(squares))


# --- sensitivity ----------------------------------------------------------------------------------------------------


def sensitivities(num: int, num_workers: int) -> None:
    """The largest stretch over all pairs, by tiles, and by brute force."""
    few, rows = block_of(0)[:BRUTE], projection()
    by_tiles = largest_stretches(few, few, [rows], is_diagonal=True)[0].ratio
    explicit = max(stretch(few[row], few[row + 1 :], rows) for row in range(len(few) - 1))
    print(f"largest stretch of {len(few):,} vectors: {by_tiles:.12f} by tiles, {explicit:.12f} by brute force")
    sizes = [min(TILE, num - start) for start in range(0, num, TILE)]
    tasks = [(row, sizes[row], sizes[row:]) for row in range(len(sizes))]
    start, largest, used, memory = time.perf_counter(), 0.0, 0.0, 0
    with multiprocessing.get_context("spawn").Pool(num_workers) as pool:
        for done, (ratio, taken, peak) in enumerate(pool.imap_unordered(row_of_tiles, tasks), 1):
            largest, used, memory = max(largest, ratio), used + taken, max(memory, peak)
            if done % 20 == 0:
                print(f"  {done} of {len(tasks)} rows of tiles, {used:,.0f} s of CPU time", flush=True)
    elapsed = time.perf_counter() - start
    print(
        f"of {num:,} vectors: {largest:.6f}, in {used:,.1f} s of CPU time and {elapsed:,.1f} s by the clock, by "
        f"{num_workers} processes of at most {memory / 1e6:,.0f} MB"
    )


def row_of_tiles(task: tuple[int, int, list[int]]) -> tuple[float, float, int]:
    """One block against all from it on, each made anew as a worker reads it: the ratio, CPU seconds, peak memory."""
    place, size, sizes = task
    start, rows, block = time.process_time(), projection(), block_of(place)[:size]
    ratios = [
        largest_stretches(block, block_of(second)[:length], [rows], is_diagonal=second == place)[0].ratio
        for second, length in enumerate(sizes, place)
    ]
    return max(ratios), time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def block_of(place: int) -> Vectors:
    return np.random.default_rng([6, place]).standard_normal((TILE, WIDTH))


def stretch(vector: Vectors, others: Vectors, rows: Vectors) -> float:
    differences = others - vector
    return float((np.linalg.norm(differences @ rows.T, axis=1) / np.linalg.norm(differences, axis=1)).max())


if __name__ == "__main__":
    main()

"""How fast posteriors of a classifier are drawn, how right, and beside Pyro's sampler.

    python -m benchmarks.posterior [--store <of a run of sentiment_posterior>] [--pyro <python>] [--draws 10000]

With the store of a run, its first classifier is drawn from; otherwise a random network of the same shape.

Oracle: a probit link on a linear score in 100 dimensions, whose posterior is known in closed form, by every sampler.
Published: one chain of 10,000 + 10,000 transitions for each label under N(0, I), compilation included, then the same
compiled already; effective draws are the least over all dimensions and f(s). Exact: 100,000 draws for each label.

Pyro: its NUTS on the same classifier and label, with its own warm-up; it runs under the Python that is named, of a
virtual environment of its own, since it is no dependency:

    python -m venv pyro && pyro/bin/pip install pyro-ppl==1.9.2 torch==2.13.0

Bags: Gibbs sampling against enumeration of 12 words, three at a time, and a sweep over 20 words of 10,000 candidates.
Seconds are those of the CPU. Run it with OMP_NUM_THREADS=1.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

from tiltmeter.operators.sentiment.posterior.bags import gibbs_bags
from tiltmeter.operators.sentiment.posterior.diagnostics import diagnosed
from tiltmeter.operators.sentiment.posterior.networks import (
    Network,
    Target,
    arrays,
    log_likelihoods,
    network_of,
    scores,
)
from tiltmeter.operators.sentiment.posterior.priors import Gaussian, probit_moments, standard
from tiltmeter.operators.sentiment.posterior.samplers.elliptical import elliptical_chain
from tiltmeter.operators.sentiment.posterior.samplers.exact import evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig, nuts_chain
from tiltmeter.storage.models.described_weights import parse_weights

Draws = NDArray[np.float64]
T = TypeVar("T")

DIMENSIONS, HIDDEN, NUM_EXACT = 100, 100, 100_000
PYRO = Path(__file__).with_name("pyro_posterior.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="of a run of sentiment_posterior")
    parser.add_argument("--pyro", help="a Python that has Pyro")
    parser.add_argument("--draws", type=int, default=10_000, help="transitions, and as many before")
    parser.add_argument("--pyro-draws", type=int, default=100, help="of Pyro, which needs some 40 ms for each")
    parser.add_argument("--bags", type=int, default=200_000, help="sweeps of the enumeration")
    parser.add_argument("--parts", nargs="*", default=["oracle", "published", "exact", "pyro", "bags"])
    arguments = parser.parse_args()
    network = stored(arguments.store) if arguments.store else drawn_network()
    parts: dict[str, Callable[[], None]] = {
        "oracle": oracle,
        "published": lambda: published(network, arguments.draws),
        "exact": lambda: exact(network),
        "pyro": lambda: beside_pyro(network, arguments.pyro, arguments.pyro_draws),
        "bags": lambda: bags(arguments.bags),
    }
    for name in arguments.parts:
        print(f"--- {name}", flush=True)
        parts[name]()


def stored(store: str) -> Network:
    """The first classifier of a store, by the order of its places."""
    import pyarrow.parquet as pq

    path = min(Path(store).glob("units/posterior_calibration/1/*/model.parquet"))
    description, weights = parse_weights(pq.read_table(path)["content"][0].as_py(), "network")
    return network_of(weights, description["activation"])


def drawn_network() -> Network:
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(DIMENSIONS, HIDDEN)), 3.0 * rng.normal(size=(HIDDEN, 1)) / np.sqrt(HIDDEN))
    return Network(weights, (rng.normal(size=HIDDEN), np.zeros(1)))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    done = work()
    return done, time.process_time() - start


def least_effective(network: Network, draws: Draws) -> float:
    """Over all dimensions and f(s), of ``[chains, draws, dimensions]``."""
    quantities = [*np.moveaxis(draws, 2, 0), scores(network, draws)]
    return min(diagnosed(values).ess_bulk for values in quantities)


def oracle() -> None:
    rng = np.random.default_rng(0)
    slope, root = rng.normal(size=DIMENSIONS) / 5, rng.normal(size=(DIMENSIONS, DIMENSIONS)) / 10
    prior = Gaussian(rng.normal(size=DIMENSIONS) / 10, np.linalg.cholesky(root @ root.T + 0.3 * np.eye(DIMENSIONS)))
    target = Target(Network((slope[:, np.newaxis],), (np.array([0.4]),)), 1, "probit")
    moments = probit_moments(prior, slope, 0.4)
    found = evidence(rng, prior, target, NUM_EXACT)
    z = (found.probability - moments.evidence) / found.standard_error
    print(f"evidence: {found.probability:.5f}, closed form {moments.evidence:.5f}, z {z:.2f}")
    samplers: dict[str, Callable[[], Draws]] = {
        "exact": lambda: exact_draws(rng, prior, target, NUM_EXACT, found.probability)[np.newaxis],
        "elliptical": lambda: np.stack([elliptical_chain(rng, prior, target, 1000, 5000).draws for _ in range(4)]),
        "nuts": lambda: np.stack([nuts_chain(rng, prior, target, NutsConfig()).draws for _ in range(4)]),
    }
    for name, sample in samplers.items():
        draws, seconds = timed(sample)
        rows = [diagnosed(draws[:, :, place]) for place in range(DIMENSIONS)]
        z_means = np.array(
            [(row.mean - mean) / row.standard_error for row, mean in zip(rows, moments.mean, strict=True)]
        )
        least = min(row.ess_bulk for row in rows)
        print(
            f"{name}: largest |z| {np.abs(z_means).max():.2f}, mean z^2 {(z_means**2).mean():.2f}, "
            f"R-hat {max(row.rhat for row in rows):.4f}, effective {least:,.0f}, {seconds:.1f} s"
        )


def published(network: Network, num_draws: int) -> None:
    config, prior = NutsConfig(chains=1, warmup=num_draws, draws=num_draws), standard(network.num_inputs)
    total, start = 0.0, time.perf_counter()
    for sign in (1, -1):
        chain, seconds = timed(
            lambda sign=sign: nuts_chain(np.random.default_rng(sign + 1), prior, Target(network, sign), config)
        )
        total += seconds
        least = least_effective(network, chain.draws[np.newaxis])
        print(
            f"y = {sign:+d}: {seconds:.1f} s, {chain.num_steps.mean():.1f} steps, {chain.diverged.sum()} diverged, "
            f"least effective {least:,.0f}, {least / seconds:,.0f} a second with the warm-up"
        )
    print(
        f"both: {total:.1f} s of one core, {time.perf_counter() - start:.1f} s on the clock, of which some to compile"
    )


def exact(network: Network) -> None:
    prior = standard(network.num_inputs)
    for sign in (1, -1):
        rng, target = np.random.default_rng(0), Target(network, sign)
        found = evidence(rng, prior, target, 50_000)
        share = found.probability
        _, seconds = timed(lambda rng=rng, y=target, p=share: exact_draws(rng, prior, y, NUM_EXACT, p))
        print(f"y = {sign:+d}: P(y) = {found.probability:.4f}, {NUM_EXACT:,} independent draws in {seconds:.2f} s")


def beside_pyro(network: Network, python: str | None, num_draws: int) -> None:
    """The same number of transitions of both, in one sitting; rates are of the kept draws and the seconds of both."""
    if python is None:
        print("Pyro is not installed: name a Python that has it, by --pyro")
        return
    prior, target = standard(network.num_inputs), Target(network, 1)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/network.npz", **arrays(network))
        # Its folder stays off the path: benchmarks.coverage would stand for the package of that name.
        command = [python, "-P", str(PYRO), f"{folder}/network.npz", network.activation, str(num_draws)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        theirs: dict[str, Any] = json.loads(output.splitlines()[-1])
        their_draws = np.load(f"{folder}/network.npz.draws.npy")[np.newaxis]
    config = NutsConfig(chains=1, warmup=1000, draws=2500)
    nuts_chain(np.random.default_rng(0), prior, target, config)
    chain, seconds = timed(lambda: nuts_chain(np.random.default_rng(1), prior, target, config))
    ours = least_effective(network, chain.draws[np.newaxis]) / seconds
    rate = least_effective(network, their_draws) / theirs["seconds"]
    print(
        f"Pyro, {num_draws} + {num_draws}: {theirs['seconds']:.1f} s, {1e3 * theirs['seconds'] / 2 / num_draws:.1f} ms "
        f"a transition, {rate:.1f} effective draws a second"
    )
    print(f"ours, 1,000 + 2,500: {seconds:.1f} s, {1e3 * seconds / 3500:.2f} ms a transition, {ours:,.0f} a second")
    print(f"ours / Pyro: {ours / rate:.0f} times")


def bags(num_sweeps: int) -> None:
    rng = np.random.default_rng(0)
    shape = ((5, 4), (4, 1))
    small = Network(tuple(rng.normal(size=part) for part in shape), (rng.normal(size=4), rng.normal(size=1)))
    words, counts = rng.normal(size=(12, 5)) * 2, rng.integers(1, 20, 12)
    every = np.array(list(product(range(12), repeat=3)))
    weights = np.exp(log_likelihoods(Target(small, 1), words[every].mean(axis=1))) * (
        counts[every] / counts.sum()
    ).prod(1)
    drawn = np.stack(list(islice(gibbs_bags(rng, Target(small, 1), words, counts, 3), 100, 100 + num_sweeps)))
    # Of bags without an order, as nothing depends on it.
    codes, expected = (np.sort(part, axis=1) @ [144, 12, 1] for part in (drawn, every))
    shares = np.bincount(codes, minlength=1728) / num_sweeps
    known = np.bincount(expected, weights / weights.sum(), minlength=1728)
    print(f"total variation from enumeration after {num_sweeps:,} sweeps: {np.abs(shares - known).sum() / 2:.4f}")
    independent = np.abs(rng.multinomial(num_sweeps, known, size=50) / num_sweeps - known).sum(axis=1) / 2
    print(f"of as many independent draws: {independent.min():.4f} to {independent.max():.4f} in 50 tries")
    vectors, counts = rng.normal(size=(10_000, DIMENSIONS)), rng.integers(1, 1000, 10_000)
    for activation in ("softplus", "relu"):
        network = drawn_network()._replace(activation=activation)
        sweeps = gibbs_bags(rng, Target(network, 1), vectors, counts, 20)
        next(sweeps)
        _, seconds = timed(lambda sweeps=sweeps: list(islice(sweeps, 10)))
        print(f"a sweep over 20 words of 10,000 candidates, {activation}: {seconds / 10:.3f} s")


if __name__ == "__main__":
    main()

"""Whether chains have reached their posterior: diagnostics of one quantity of the draws, and agreement with exact ones.

Rank-normalised split R-hat, also of folded values, and the effective sample sizes of bulk and tails (Vehtari et al.
2021, *Rank-normalization, folding, and localization*), by arviz-stats; E-BFMI (Betancourt 2016). R-hat of a hundred
coordinates can be fine while that of f(s), which everything is about, is not: so f(s), the norm and random projections
are quantities too.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior.networks import Network, scores
from tiltmeter.operators.sentiment.posterior.priors import generator_of

VERSION = "posterior_diagnostics/1"

MAX_RHAT, MIN_ESS, MIN_BFMI = 1.01, 400.0, 0.3
"""Beyond which a set of chains has not converged (Vehtari et al. 2021, section 4; Betancourt 2016)."""

_TAILS = (0.05, 0.95)
_NUM_PROJECTIONS = 3


class Diagnostics(NamedTuple):
    """Of one quantity; NaN where a quantity is constant.

    Attributes:
        mean: over all chains.
        rhat: the larger of that of ranks and of folded ranks.
        ess_bulk, ess_tail: effective draws.
        standard_error: of the mean.
        lag_one: autocorrelation of neighbouring draws, the mean over chains.
    """

    mean: float
    rhat: float
    ess_bulk: float
    ess_tail: float
    standard_error: float
    lag_one: float


class Agreement(NamedTuple):
    """Attributes:
    z: difference of the means in standard errors.
    ks_p: p-value of Kolmogorov and Smirnov of draws thinned to independence.
    """

    z: float
    ks_p: float


def quantities(network: Network, draws: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Every coordinate, f(s), the norm, and projections in directions that are the same for all, by name.

    Args:
        draws: ``[chains, draws, dimensions]``.

    Yields:
        ``[chains, draws]`` of each.
    """
    for dimension in range(draws.shape[2]):
        yield f"dimension {dimension}", draws[:, :, dimension]
    yield "score", scores(network, draws)
    yield "norm", np.linalg.norm(draws, axis=2)
    generator = generator_of(0, "projections")
    for number in range(_NUM_PROJECTIONS):
        yield f"projection {number}", draws @ generator.standard_normal(draws.shape[2])


def diagnosed(values: FloatArray) -> Diagnostics:
    """The diagnostics of one quantity.

    Args:
        values: ``[chains, draws]``, at least 8 draws of each chain.

    >>> diagnosed(np.random.default_rng(0).normal(size=(4, 500))).rhat < 1.01
    True
    """
    from arviz_stats.base import array

    statistics: Any = array.array_stats

    # A single chain is held against itself: its halves are two.
    values = values if len(values) > 1 else values[:, : values.shape[1] // 2 * 2].reshape(2, -1)
    return Diagnostics(
        float(values.mean()),
        float(statistics.rhat(values, method="rank")),
        float(statistics.ess(values, method="bulk")),
        float(statistics.ess(values, method="tail", prob=_TAILS)),
        float(values.std(ddof=1) / np.sqrt(statistics.ess(values, method="mean"))),
        _lag_one(values),
    )


def _lag_one(values: FloatArray) -> float:
    centred = values - values.mean(axis=1, keepdims=True)
    variance = (centred**2).mean()
    return float((centred[:, 1:] * centred[:, :-1]).mean() / variance) if variance else float("nan")


def agreement(chains: FloatArray, diagnostics: Diagnostics, exact: FloatArray) -> Agreement:
    """How draws of chains differ from independent ones.

    Args:
        chains: ``[chains, draws]``.
        diagnostics: of them.
        exact: ``[draws]``.
    """
    variance = diagnostics.standard_error**2 + exact.var(ddof=1) / exact.size
    step = max(1, int(np.ceil(chains.size / diagnostics.ess_bulk)))
    thinned = chains[:, ::step].ravel()
    z = (diagnostics.mean - exact.mean()) / np.sqrt(variance)
    return Agreement(float(z), float(stats.ks_2samp(thinned, exact).pvalue))


def bfmi(energies: FloatArray) -> FloatArray:
    """E-BFMI of each chain: sum of squared steps of the energy by its variance; low where energies mix slowly.

    Args:
        energies: ``[chains, draws]``.

    Returns:
        ``[chains]``; NaN where there are no energies.
    """
    spread = ((energies - energies.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    steps = (np.diff(energies, axis=1) ** 2).sum(axis=1)
    return np.asarray(steps / np.where(spread > 0, spread, np.nan))


def faults(rows: list[Diagnostics], num_diverged: int, num_saturated: int, energy: FloatArray) -> list[str]:
    """Why a set of chains can't be trusted, in phrases; none if it can.

    Args:
        rows: of all quantities.
        num_diverged: transitions that diverged.
        num_saturated: trees that were as deep as they may be.
        energy: of :func:`bfmi`.
    """
    numbers = np.array([(row.rhat, row.ess_bulk, row.ess_tail) for row in rows]).reshape(-1, 3)
    is_known = np.isfinite(numbers[:, 0])
    rhat, ess = numbers[is_known, 0].max(initial=-np.inf), numbers[:, 1:].min(initial=np.inf)
    checks = {
        "a quantity never changes, of which nothing says that it has converged": not is_known.all(),
        f"R-hat {rhat:.3f} is above {MAX_RHAT}": not rhat <= MAX_RHAT,
        f"{ess:.0f} effective draws are fewer than {MIN_ESS:.0f}": not ess >= MIN_ESS,
        f"{num_diverged} transitions diverged": num_diverged > 0,
        f"{num_saturated} trees reached their greatest depth": num_saturated > 0,
        f"E-BFMI {np.nanmin(energy, initial=np.inf):.2f} is below {MIN_BFMI}": bool((energy < MIN_BFMI).any()),
    }
    return [fault for fault, is_so in checks.items() if is_so]

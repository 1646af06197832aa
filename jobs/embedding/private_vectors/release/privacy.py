"""How private a release is, exactly, at its own vectors, and what it has spent: both before anything is given away."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.release.mechanism import ReleaseMechanism, nominal
from tiltmeter.jobs.embedding.private_vectors.release.rows import Rows
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release.composition import Promise, composed
from tiltmeter.operators.embedding.private_release.mechanisms import exact_epsilon
from tiltmeter.operators.embedding.private_release.sensitivity import distinct_rows, typical_distances, typical_stretch
from tiltmeter.storage.store.accounts import Amount, enter
from tiltmeter.storage.store.ledger import Store

_SAMPLE = 200
_ROUNDING = 1 + 1e-12
"""Sums of decimal amounts may exceed their limit by it."""


class ReleasePrivacy(NamedTuple):
    """Smallest epsilon of (epsilon, delta)-privacy of pairs of the release's own vectors; None where there is no pair.

    Attributes:
        exact_delta: delta.
        nearest_distance: of a vector to its nearest other, in the median; of private vectors in two digits.
        median_distance: of two vectors; likewise.
        exact_nearest: at the first, as far as the sensitivity allows.
        exact_typical: at the second, by the typical stretch of the map.
        exact_worst: there, as far as the sensitivity allows.
    """

    exact_delta: float
    nearest_distance: float | None = None
    median_distance: float | None = None
    exact_nearest: float | None = None
    exact_typical: float | None = None
    exact_worst: float | None = None


def privacy_of(config: PrivateVectorsRun, rows: Rows, mechanism: ReleaseMechanism) -> ReleasePrivacy:
    """At the vocabulary's distances, or at those of the private vectors.

    Raises:
        ConfigError: if near vectors are told apart more easily than ``release.most_epsilon`` allows.
    """
    delta, most = config.deltas[0], config.release.most_epsilon
    vectors = rows.vectors if rows.order is not None else rows.block(0, rows.num)
    vectors = vectors[distinct_rows(vectors)]
    if len(vectors) < 2:
        return ReleasePrivacy(delta)
    generator = keyed_generator(config.seed, Stream.PRIVATE_STUDY, document_key("release's own distances"))
    sample = generator.permutation(len(vectors))[:_SAMPLE]
    # Every statistic of private vectors says something of them, and two digits say little.
    rounded = float if rows.order is not None else _in_two_digits
    near, median = (rounded(value) for value in typical_distances(vectors[sample], sample, vectors))
    exact = partial(exact_epsilon, mechanism.specification, delta=delta)
    worst = mechanism.specification.sensitivity
    nearest = exact(image=worst * near)
    if most is not None and nearest > most:
        raise ConfigError(
            f"release.epsilon={nominal(config):g}: between a vector and its nearest other this is exactly "
            f"{nearest:.3g}, more than release.most_epsilon={most:g}; lower it, or raise release.most_epsilon"
        )
    typical = rounded(_stretch(vectors[sample], mechanism.projection))
    return ReleasePrivacy(delta, near, median, nearest, exact(image=typical * median), exact(image=worst * median))


def _stretch(vectors: FloatArray, projection: FloatArray | None) -> float:
    return 1.0 if projection is None else typical_stretch(vectors - np.roll(vectors, 1, axis=0), projection)


def _in_two_digits(value: float) -> float:
    return float(f"{value:.1e}")


# --- the account ----------------------------------------------------------------------------------------------------


def spend(config: PrivateVectorsRun, store: Store, name: str, promise: Promise) -> Row:
    """What all releases of the input promise together, this one included, once it is entered.

    Raises:
        ConfigError: if they would spend more than they may.
    """
    chosen, limits = config.release, Promise(config.release.max_epsilon, config.release.max_delta)
    balance = enter(store, chosen.input, name, promise._asdict(), partial(_is_allowed, limits))
    if balance is None:
        raise ConfigError(
            f"release.epsilon={nominal(config):g}: with what other releases of {chosen.input!r} have spent, this is "
            f"more than release.max_epsilon={chosen.max_epsilon:g}, or than release.max_delta={chosen.max_delta:g}; "
            "lower it, or raise the limit if you may"
        )
    together = _together(balance.amounts)
    return {
        "spent": together.epsilon,
        "max_epsilon": chosen.max_epsilon,
        "spent_delta": together.delta,
        "max_delta": chosen.max_delta,
        "num_releases": len(balance.amounts),
    }


def _is_allowed(limits: Promise, amounts: Sequence[Amount]) -> bool:
    together = _together(amounts)
    return together.epsilon <= limits.epsilon * _ROUNDING and together.delta <= limits.delta * _ROUNDING


def _together(amounts: Sequence[Amount]) -> Promise:
    return composed([_promise(amount) for amount in amounts])


def _promise(amount: Mapping[str, Any]) -> Promise:
    """Entries of earlier versions have no delta; those with a slack took the usual one, or one of at most that."""
    if "unit" in amount:
        return Promise(amount["epsilon"], _EARLIER_DELTA if "slack" in amount["unit"] else 0.0)
    return Promise(**amount)


_EARLIER_DELTA = 1e-6

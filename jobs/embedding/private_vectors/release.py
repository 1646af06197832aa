"""Release mode: secret noise, published on a grid, and nothing of what is private anywhere else.

Units are named by digests under the key, never by the content of the input: the digest of a word's vector is as good as
the word. One stage reads, perturbs and writes, so that the store never holds what is not to be given away. How private
a release is at its own vectors, and what it has spent, is known before anything is given away.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.private_vectors.audits import ExamineRelease
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.mechanisms import BOUND, GUARANTEES, stretch_of
from tiltmeter.jobs.embedding.private_vectors.sources import Secret, check_key_everywhere, key_path, read_key, read_rows
from tiltmeter.jobs.embedding.private_vectors.tables import Released
from tiltmeter.jobs.embedding.private_vectors.vocabulary import (
    PrivateRun,
    draw_maps,
    drawn_map,
    kept_dimensions,
    measure,
    read_vocabulary,
    vectors_of,
)
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.work import Work, aside
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import secrets, sensitivity
from tiltmeter.operators.embedding.private_release.composition import Promise, composed
from tiltmeter.operators.embedding.private_release.mechanisms import (
    DESIGNS,
    Anchor,
    Sensitivity,
    Specification,
    exact_epsilon,
    specified,
)
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, Rows, grid_step, keyed_digest, noisy_rows
from tiltmeter.operators.embedding.private_release.sensitivity import spectral_sensitivity
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.accounts import Amount, enter
from tiltmeter.storage.store.ledger import Store, TableRef

_BLOCKS_AT_ONCE = 16
_SAMPLE = 200
_ROUNDING = 1 + 1e-12
"""Sums of decimal amounts may exceed their limit by it."""

_EARLIER_DELTA = 1e-6
_EXACT = ("nearest_distance", "median_distance", "exact_nearest", "exact_typical", "exact_worst")
_CHECKED = f"{BOUND} for any two words of the vocabulary; 1 + beta holds for this map."
_NORMAL = (
    "(epsilon times the largest distance that there may be, delta)-private for any two rows; no bound without slack."
)


def release(run: PrivateRun) -> None:
    """Give the rows away, once every node has the key and the account allows it, and look at what was written."""
    config, runner = run.config, run.runner
    path = key_path(config)
    key, radius = read_key(path), config.release.radius
    check_key_everywhere(runner, path, key)
    rows = read_rows(run.sources, radius)
    width, num_rows = rows.vectors.shape[1], rows.num
    mechanism = mechanism_of(config, width, of_words(run) if run.sources.words else _of_any_vectors(config, width))
    check_grid(config, mechanism, rows.vectors)
    privacy = privacy_of(config, rows, mechanism)
    about = _derivation(config, rows.digest(key), mechanism)
    del rows
    name = keyed_digest(key, about).hex()
    account = spend(config, runner.store, name, mechanism.promise)
    secret = Secret(path, run.sources, radius, about, mechanism.projection)
    starts = range(0, num_rows, BLOCK_ROWS * _BLOCKS_AT_ONCE)
    done = run.do(
        (
            ReleaseRows(group="rows", label=f"rows from {start}", release=name, start=start, secret=secret)
            for start in starts
        ),
        batch_size=None,
    )
    examine = ExamineRelease(
        group="release",
        label="what was written",
        release=name,
        certificate=account | privacy | _certificate(config, mechanism, num_rows, width),
        words=config.deniability.words,
        draws=config.deniability.draws,
        level=config.job.level,
        released=done.refs(Released)[0],
        secret=secret,
    )
    run.do([examine])


class ReleaseRows(Work, unit=secrets.VERSION, stage="release", makes=[Released]):
    """Some blocks of rows: reads, perturbs and writes; the rows are read once for all units of a batch.

    ``release`` is a digest that tells it from others; the secret is in no unit's identity.
    """

    release: str
    start: int
    secret: Secret = aside(default=None)

    @classmethod
    def batch(cls, store: Store, works: "Sequence[ReleaseRows]", num_threads: int) -> Iterator[Tables]:  # noqa: ARG003
        key, rows = works[0].secret.read()
        for work in works:
            yield [(Released.table_name, pa.concat_tables(list(work._blocks(key, rows))))]

    def _blocks(self, key: bytes, rows: Rows) -> Iterator[pa.Table]:
        for first in range(self.start, min(self.start + BLOCK_ROWS * _BLOCKS_AT_ONCE, rows.num), BLOCK_ROWS):
            block = rows.block(first, first + BLOCK_ROWS)
            noisy = noisy_rows(self.secret.images(block), key, self.secret.about, first)
            numbers = pa.array(range(first, first + len(block)), pa.int64())
            flat = pa.ListArray.from_arrays(np.arange(0, noisy.size + 1, noisy.shape[1], dtype=np.int32), noisy.ravel())
            yield pa.table([numbers, flat], schema=Released.schema())


# --- the mechanism, and what it promises ----------------------------------------------------------------------------


class _Stretch(NamedTuple):
    """How far a map may stretch distances up to ``reach``; ``norm``: public bound on that of a vector."""

    projection: FloatArray | None
    sensitivity: float
    kind: Sensitivity
    reach: float
    norm: float | None
    map: TableRef | None = None
    vocabulary: TableRef | None = None


def _of_any_vectors(config: PrivateVectorsRun, width: int) -> _Stretch:
    """For vectors of which nothing is known but a public radius."""
    radius, kind = config.release.radius, DESIGNS[config.release.of_vectors].projection
    reach = 2 * (radius or 1.0)
    if kind == "none":
        return _Stretch(None, 1.0, "none", reach, radius)
    projection = drawn_map(kind, kept_dimensions(config, config.beta, width), width, config.seed)
    if kind == "gaussian":
        return _Stretch(projection, spectral_sensitivity(projection), "spectral", reach, radius)
    return _Stretch(projection, 1.0, "none", reach, radius)


def of_words(run: PrivateRun) -> _Stretch:
    """For the words of a public vocabulary, which the stages of a study read and compare.

    Raises:
        InputError: if a public map breaks its promise, which everybody can see, and so can we.
    """
    config, store, name = run.config, run.runner.store, run.config.release.of_vectors
    vocabulary = read_vocabulary(run).one("vocabulary")
    vectors = vectors_of(store, vocabulary)
    maps = draw_maps(run, vocabulary, vectors.shape[1], ())
    geometry = measure(run, vocabulary, maps)
    item, design = stretch_of(name, config.beta, maps, geometry), DESIGNS[name]
    if design.sensitivity == "published":
        pair = geometry.stretches[design.projection, config.beta]
        if pair.upper > item.sensitivity:
            raise InputError(
                f"release.mechanism={name}: promises nothing, as the map of this seed stretches the distance of "
                f"{pair.first!r} and {pair.second!r} by {pair.ratio:.3f}, and 1 + beta is {item.sensitivity:g}; "
                "set release.mechanism='M2 exact', or another seed"
            )
    projection = vectors_of(store, item.map.ref) if item.map.ref else None
    norm = float(np.linalg.norm(vectors, axis=1).max())
    largest = geometry.distances["largest"]
    return _Stretch(projection, item.sensitivity, design.sensitivity, largest, norm, item.map.ref, vocabulary)


class ReleaseMechanism(NamedTuple):
    """What a release is made by, and what it promises."""

    projection: FloatArray | None
    norm: float | None
    made: Specification
    promise: Promise
    guarantee: str
    map: TableRef | None


def mechanism_of(config: PrivateVectorsRun, width: int, stretch: _Stretch) -> ReleaseMechanism:
    """A public map holds for its vocabulary or does not, which was looked at: no chance is left, and no delta."""
    # A release without an epsilon is refused with its settings.
    epsilon, delta = cast(float, config.release.epsilon), config.deltas[0]
    projection, reach = stretch.projection, stretch.reach
    num = width if projection is None else len(projection)
    anchor = Anchor(reach, 1.0, delta)
    made = specified(DESIGNS[config.release.of_vectors], num, stretch.sensitivity, epsilon, anchor)
    promise = Promise(epsilon, 0.0)
    guarantee = _CHECKED if stretch.kind == "published" else GUARANTEES[stretch.kind]
    if made.law == "gaussian":
        promise, guarantee = Promise(epsilon, delta, made.sensitivity / made.scale, reach), _NORMAL
    return ReleaseMechanism(projection, stretch.norm, made, promise, guarantee, stretch.map)


def check_grid(config: PrivateVectorsRun, mechanism: ReleaseMechanism, vectors: FloatArray) -> None:
    """Refuse, before anything is spent, what can't be written on the grid that its noise asks for.

    Raises:
        InputError: without a word of what the vectors are.
    """
    made = mechanism.made
    largest = float(min(np.abs(vectors).max(), config.release.radius or np.inf))
    is_held = sys.float_info.min < made.deviation / secrets.STEPS
    is_held &= made.deviation < sys.float_info.max / secrets.LARGEST
    if is_held:
        term = secrets.largest_term(made, mechanism.projection, largest * vectors.shape[1] ** 0.5)
        is_held = term < secrets.LARGEST * grid_step(made.deviation)
    if not is_held:
        raise InputError(
            f"release.epsilon={mechanism.promise.epsilon:g}: no double holds both the vectors and noise of this size; "
            "choose one nearer to 1 / (a distance of two vectors)"
        )


def _derivation(config: PrivateVectorsRun, content: str, mechanism: ReleaseMechanism) -> dict[str, Any]:
    """Everything that defines the release: no two of them share noise, not even of one name on changed rows."""
    made, chosen = mechanism.made, config.release
    rows = b"" if mechanism.projection is None else np.ascontiguousarray(mechanism.projection).tobytes()
    return {
        **made._asdict(),
        "epsilon": mechanism.promise.epsilon,
        "mechanism": chosen.mechanism,
        "name": chosen.name,
        "input": chosen.input,
        "step": grid_step(made.deviation),
        "map": hashlib.sha256(rows).hexdigest(),
        "content": content,
        "version": secrets.VERSION,
        "generators": secrets.generator_versions(),
    }


def _certificate(config: PrivateVectorsRun, mechanism: ReleaseMechanism, num_rows: int, width: int) -> Row:
    """Columns of ``releases``, and the reach of normal noise.

    Rounding is by a public norm alone, as what private vectors really measure is not said.
    """
    chosen, made, promise, rounding = config.release, mechanism.made, mechanism.promise, None
    if mechanism.norm is not None:
        term = secrets.largest_term(made, mechanism.projection, mechanism.norm)
        rounding = secrets.rounding_chance(made, term, num_rows, width)
    return {
        "release": chosen.name,
        "input": chosen.input,
        "mechanism": chosen.mechanism,
        "dimensions": made.num_dimensions,
        "epsilon": promise.epsilon,
        "sensitivity": made.sensitivity,
        "delta": promise.delta,
        "scale": made.scale,
        "step": grid_step(made.deviation),
        "radius": chosen.radius,
        "rounding_delta": rounding,
        "num_rows": num_rows,
        "guarantee": mechanism.guarantee,
        "reach": promise.reach,
    }


# --- how private it is, exactly, at its own vectors -----------------------------------------------------------------


def privacy_of(config: PrivateVectorsRun, rows: Rows, mechanism: ReleaseMechanism) -> Row:
    """Columns of ``releases``: at the vocabulary's distances, or at those of the private vectors; none of one vector.

    Raises:
        ConfigError: if near vectors are told apart more easily than ``release.max_exact_epsilon`` allows.
    """
    delta, most = config.deltas[0], config.release.max_exact_epsilon
    vectors = rows.vectors if rows.order is not None else rows.block(0, rows.num)
    vectors = vectors[sensitivity.distinct_rows(vectors)]
    if len(vectors) < 2:
        return {"exact_delta": delta} | dict.fromkeys(_EXACT)
    generator = keyed_generator(config.seed, Stream.PRIVATE_STUDY, document_key("release's own distances"))
    sample = generator.permutation(len(vectors))[:_SAMPLE]
    # Every statistic of private vectors says something of them, and two digits say little.
    rounded = float if rows.order is not None else _in_two_digits
    near, median = (rounded(value) for value in sensitivity.typical_distances(vectors[sample], sample, vectors))
    exact = partial(exact_epsilon, mechanism.made, delta=delta)
    worst = mechanism.made.sensitivity
    nearest = exact(image=worst * near)
    if most is not None and nearest > most:
        raise ConfigError(
            f"release.epsilon={mechanism.promise.epsilon:g}: between a vector and its nearest other this is exactly "
            f"{nearest:.3g}, more than release.max_exact_epsilon={most:g}; lower it, or raise release.max_exact_epsilon"
        )
    apart = vectors[sample] - np.roll(vectors[sample], 1, axis=0)
    stretch = 1.0 if mechanism.projection is None else sensitivity.typical_stretch(apart, mechanism.projection)
    typical = rounded(stretch) * median
    known = near, median, nearest, exact(image=typical), exact(image=worst * median)
    return {"exact_delta": delta} | dict(zip(_EXACT, known, strict=True))


def _in_two_digits(value: float) -> float:
    return float(f"{value:.1e}")


# --- the account ----------------------------------------------------------------------------------------------------


def spend(config: PrivateVectorsRun, store: Store, name: str, promise: Promise) -> Row:
    """What all releases of the input promise together, this one included, once it is entered.

    Raises:
        ConfigError: if they would spend more than they may.
    """
    chosen = config.release

    def allows(amounts: Sequence[Amount]) -> bool:
        epsilon, delta, *_ = _together(amounts)
        return epsilon <= chosen.max_epsilon * _ROUNDING and delta <= chosen.max_delta * _ROUNDING

    balance = enter(store, chosen.input, name, promise._asdict(), allows)
    if balance is None:
        raise ConfigError(
            f"release.epsilon={promise.epsilon:g}: with what other releases of {chosen.input!r} have spent, this is "
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


def _together(amounts: Sequence[Amount]) -> Promise:
    """Entries of earlier versions have no delta; those with a slack took the usual one, or one of at most that."""
    promises = [
        Promise(one["epsilon"], _EARLIER_DELTA if "slack" in one["unit"] else 0.0) if "unit" in one else Promise(**one)
        for one in amounts
    ]
    return composed(promises)

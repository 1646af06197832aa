"""The mechanism of a release, and what it promises: for any vectors, or for the words of a public vocabulary."""

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.geometry import Geometry, measure
from tiltmeter.jobs.embedding.private_vectors.maps import PublicMap, draw_maps, kept_dimensions
from tiltmeter.jobs.embedding.private_vectors.mechanisms import BOUND, GUARANTEES, Mechanism, stretch_of
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.vocabulary import read_vocabulary, vectors_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release.composition import Promise
from tiltmeter.operators.embedding.private_release.mechanisms import (
    DESIGNS,
    Anchor,
    Sensitivity,
    Specification,
    specified,
)
from tiltmeter.operators.embedding.private_release.noise import norm_quantile
from tiltmeter.operators.embedding.private_release.projections import gaussian_projection, haar_projection
from tiltmeter.operators.embedding.private_release.secrets import LARGEST, STEPS, grid_step, off_grid_chance
from tiltmeter.operators.embedding.private_release.sensitivity import spectral_sensitivity
from tiltmeter.storage.errors import InputError


class ReleaseMechanism(NamedTuple):
    """Attributes:
    projection: rows of the map; None for the vectors as they are.
    specification: with its noise.
    promise: epsilon and delta, and what normal noise composes by.
    guarantee: in a sentence.
    norm: public bound on the norm of a vector; None where there is none.
    """

    projection: FloatArray | None
    specification: Specification
    promise: Promise
    guarantee: str
    norm: float | None

    @property
    def longest_row(self) -> float:
        """Norm of the longest row of the map: no coordinate of an image is a sum of more than this times the norm."""
        return 1.0 if self.projection is None else float(np.linalg.norm(self.projection, axis=1).max())

    def reach(self, norm: float) -> float:
        """Bound on the terms of what is published, for vectors up to a norm; noise exceeds its part hardly ever."""
        made = self.specification
        noise = norm_quantile(made.num_dimensions, made.scale, UNLIKELY) if made.law == "norm" else 10 * made.deviation
        return self.longest_row * norm + noise

    def rounding(self, num_rows: int, width: int) -> float | None:
        """Chance at most that rounding errors change a row; by a public norm alone, as what private vectors really
        measure is not said."""
        if self.norm is None:
            return None
        made = self.specification
        chance = off_grid_chance(made.num_dimensions, self.reach(self.norm), grid_step(made.deviation), width)
        return min(1.0, num_rows * (chance + UNLIKELY))


UNLIKELY = 1e-12
"""Chance that the noise of a row is larger than it is taken to be."""

_CHECKED = f"{BOUND} for any two words of the vocabulary; 1 + beta holds for this map."
_NORMAL = (
    "(epsilon times the largest distance that there may be, delta)-private for any two rows; no bound without slack."
)


def for_any_vectors(config: PrivateVectorsRun, width: int) -> ReleaseMechanism:
    """A mechanism that promises what it does for vectors of which nothing is known but a public radius.

    Raises:
        InputError: if the map would keep more dimensions than there are.
    """
    chosen = config.release
    design = DESIGNS[chosen.mechanism]
    num = width if design.projection == "none" else kept_dimensions(config, config.beta, width)
    projection = _map(design.projection, num, width, config.seed)
    kind: Sensitivity = "spectral" if design.projection == "gaussian" else "none"
    stretch = spectral_sensitivity(projection) if projection is not None and kind == "spectral" else 1.0
    anchor = Anchor(2 * (chosen.radius or 1.0), 1.0, config.deltas[0])
    made = specified(design, num, stretch, nominal(config), anchor)
    return _promised(config, projection, made, kind, anchor, chosen.radius)


def for_words(runner: Runner, config: PrivateVectorsRun, sources: PrivateSources) -> ReleaseMechanism:
    """A mechanism certified for a public vocabulary, which the stages of a study read and compare."""
    chosen = config.release
    vocabulary = read_vocabulary(runner, config, sources)
    vectors = vectors_of(runner.store, vocabulary.table)
    maps = draw_maps(runner, config, vocabulary.table, vectors.shape[1], ())
    geometry = measure(runner, config, vocabulary, [item for item in maps.values() if item.ref])
    item = stretch_of(chosen.mechanism, config.beta, maps, geometry)
    _check_published(item, maps, geometry)
    projection = vectors_of(runner.store, item.map.ref) if item.map.ref else None
    anchor = Anchor(geometry.largest, 1.0, config.deltas[0])
    design = DESIGNS[item.name]
    made = specified(design, item.map.num_dimensions, item.sensitivity, nominal(config), anchor)
    return _promised(config, projection, made, design.sensitivity, anchor, float(np.linalg.norm(vectors, axis=1).max()))


def nominal(config: PrivateVectorsRun) -> float:
    """Epsilon of a release, which has one (:class:`.config.Release`)."""
    if config.release.epsilon is None:
        raise AssertionError("a release without an epsilon is refused with its settings")
    return config.release.epsilon


def _check_published(item: Mechanism, maps: Mapping[tuple[str, float], PublicMap], geometry: Geometry) -> None:
    """Everybody can see that a public map breaks its promise, and so can we."""
    if DESIGNS[item.name].sensitivity != "published":
        return
    pair = geometry.stretches[[public for public in maps.values() if public.ref].index(item.map)]
    if float(str(pair["upper"])) > item.sensitivity:
        raise InputError(
            f"release.mechanism={item.name}: promises nothing, as the map of this seed stretches the distance of "
            f"{pair['first']!r} and {pair['second']!r} by {pair['ratio']:.3f}, and 1 + beta is {item.sensitivity:g}; "
            "set release.mechanism='M2 exact', or another seed"
        )


def check_grid(config: PrivateVectorsRun, mechanism: ReleaseMechanism, vectors: FloatArray) -> None:
    """Refuse, before anything is spent, what can't be written on the grid that its noise asks for.

    Raises:
        InputError: without a word of what the vectors are.
    """
    made = mechanism.specification
    largest = float(min(np.abs(vectors).max(), config.release.radius or np.inf))
    is_normal = sys.float_info.min < made.deviation / STEPS and made.deviation < sys.float_info.max / LARGEST
    norm = largest * vectors.shape[1] ** 0.5
    if not (is_normal and mechanism.reach(norm) < LARGEST * grid_step(made.deviation)):
        raise InputError(
            f"release.epsilon={nominal(config):g}: no double holds both the vectors and noise of this size; "
            "choose one nearer to 1 / (a distance of two vectors)"
        )


def _promised(
    config: PrivateVectorsRun,
    projection: FloatArray | None,
    made: Specification,
    kind: Sensitivity,
    anchor: Anchor,
    norm: float | None,
) -> ReleaseMechanism:
    """A public map holds for its vocabulary or does not, which was looked at: no chance is left, and no delta."""
    epsilon = nominal(config)
    if made.law == "gaussian":
        promise = Promise(epsilon, anchor.delta, made.sensitivity / made.scale, anchor.distance)
        return ReleaseMechanism(projection, made, promise, _NORMAL, norm)
    guarantee = _CHECKED if kind == "published" else GUARANTEES[kind]
    return ReleaseMechanism(projection, made, Promise(epsilon, 0.0), guarantee, norm)


def _map(kind: str, num: int, width: int, seed: int) -> FloatArray | None:
    if kind == "none":
        return None
    generator = keyed_generator(seed, Stream.PRIVATE_MAP, document_key(kind), num, width)
    return (gaussian_projection if kind == "gaussian" else haar_projection)(generator, num, width)

"""The mechanism of a release, and what it promises: for any vectors, or for the words of a public vocabulary."""

from typing import NamedTuple

import numpy as np

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.geometry import measure
from tiltmeter.jobs.embedding.private_vectors.maps import draw_maps, kept_dimensions
from tiltmeter.jobs.embedding.private_vectors.mechanisms import GUARANTEES, stretch_of
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.vocabulary import read_vocabulary, vectors_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS, Anchor, Specification, specified
from tiltmeter.operators.embedding.private_release.projections import gaussian_projection, haar_projection
from tiltmeter.operators.embedding.private_release.sensitivity import spectral_sensitivity


class ReleaseMechanism(NamedTuple):
    """Attributes:
    projection: rows of the map; None for the vectors as they are.
    specification: with its noise.
    delta: chance that the sensitivity does not hold, or slack of normal noise.
    guarantee: in a sentence.
    norm: public bound on the norm of a vector; None where there is none.
    """

    projection: FloatArray | None
    specification: Specification
    delta: float
    guarantee: str
    norm: float | None


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
    stretch = spectral_sensitivity(projection) if projection is not None and design.sensitivity == "spectral" else 1.0
    anchor = Anchor(2 * (chosen.radius or 1.0), 1.0, config.deltas[0])
    made = specified(design, num, stretch, chosen.epsilon, anchor)
    return _promised(config, projection, made, 0.0, chosen.radius)


def for_words(runner: Runner, config: PrivateVectorsRun, sources: PrivateSources) -> ReleaseMechanism:
    """A mechanism certified for a public vocabulary, which the stages of a study read and compare."""
    chosen = config.release
    vocabulary = read_vocabulary(runner, config, sources)
    vectors = vectors_of(runner.store, vocabulary.table)
    maps = draw_maps(runner, config, vocabulary.table, vectors.shape[1], ())
    geometry = measure(runner, config, vocabulary, [item for item in maps.values() if item.ref])
    item = stretch_of(chosen.mechanism, config.beta, maps, geometry)
    projection = vectors_of(runner.store, item.map.ref) if item.map.ref else None
    anchor = Anchor(geometry.largest, 1.0, config.deltas[0])
    made = specified(DESIGNS[item.name], item.map.num_dimensions, item.sensitivity, chosen.epsilon, anchor)
    return _promised(config, projection, made, item.delta, float(np.linalg.norm(vectors, axis=1).max()))


def _promised(
    config: PrivateVectorsRun, projection: FloatArray | None, made: Specification, delta: float, norm: float | None
) -> ReleaseMechanism:
    if made.law == "gaussian":
        return ReleaseMechanism(projection, made, config.deltas[0], _NORMAL, norm)
    guarantee = GUARANTEES[DESIGNS[config.release.mechanism].sensitivity]
    return ReleaseMechanism(projection, made, delta, guarantee, norm)


def _map(kind: str, num: int, width: int, seed: int) -> FloatArray | None:
    if kind == "none":
        return None
    generator = keyed_generator(seed, Stream.PRIVATE_MAP, document_key(kind), num, width)
    return (gaussian_projection if kind == "gaussian" else haar_projection)(generator, num, width)

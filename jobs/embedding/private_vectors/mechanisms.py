"""Mechanisms of the study with their noise, and their exact privacy: nominally alike, and exactly alike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.tables import Anchored, Mechanisms, Profiles
from tiltmeter.jobs.embedding.private_vectors.vocabulary import Geometry, Maps, PrivateRun, PublicMap, map_of
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release import profile as profiles
from tiltmeter.operators.embedding.private_release.mechanisms import (
    DESIGNS,
    VERSION,
    Anchor,
    Name,
    Specification,
    claimed_epsilon,
    exact_epsilon,
    matched,
    specified,
)
from tiltmeter.operators.embedding.private_release.sensitivity import failure_bound
from tiltmeter.storage.store.ledger import Store, TableRef

BOUND = "The loss is at most epsilon times the distance,"
GUARANTEES = {
    "none": f"{BOUND} for any two vectors.",
    "exact_vocabulary": f"{BOUND} for any two words of the vocabulary; certified for this map.",
    "spectral": f"{BOUND} for any two vectors; certified for this map.",
    "published": f"{BOUND} unless the map stretches a pair by more than 1 + beta, and then for nobody's releases.",
    "gaussian": "(epsilon times the distance, delta)-private at the median distance; no bound beyond it.",
}
"""By kind of sensitivity; the last for normal noise."""


@dataclass(frozen=True)
class Noise(Subject):
    """What a mechanism publishes of vectors: their images by its map, with noise as it is specified."""

    specification: Specification
    map: TableRef | None = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """The specification."""
        return {"mechanism": self.specification._asdict()}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        """The map, if there is one."""
        return {"map": [self.map]} if self.map else {}

    def images(self, store: Store, vectors: FloatArray) -> FloatArray:
        """Phi x of ``[n, d]`` vectors, ``[n, m]``."""
        return vectors @ map_of(store, self.map, vectors.shape[1]).T


@dataclass(frozen=True)
class Mechanism(Subject):
    """A mechanism of the study; its fields are called as columns of the tables.

    Attributes:
        typical: median stretch of its map.
        epsilon: nominal; of one without noise as yet, what this is made for.
    """

    name: Name
    map: PublicMap
    sensitivity: float
    delta: float
    typical: float
    compared_at: str = "nominal"
    epsilon: float = 0.0
    exact_epsilon: float = 0.0
    scale: float = 0.0

    @property
    def identity(self) -> Mapping[str, Any]:
        """Of one without noise as yet."""
        return {
            "name": self.name,
            "projection": self.map.projection,
            "num_dimensions": self.map.num_dimensions,
            "sensitivity": self.sensitivity,
            "delta": self.delta,
            "typical": self.typical,
            "compared_at": self.compared_at,
            "epsilon": self.epsilon,
        }

    @property
    def noise(self) -> Noise:
        """Its map, law and noise."""
        law, num = DESIGNS[self.name].law, self.map.num_dimensions
        return Noise(Specification(law, num, self.sensitivity, self.scale), self.map.ref)

    @property
    def row(self) -> Row:
        """What all tables say of it."""
        return {
            "mechanism": self.name,
            "dimensions": self.map.num_dimensions,
            "epsilon": self.epsilon,
            "compared_at": self.compared_at,
        }


def stretch_of(name: Name, beta: float, maps: Maps, geometry: Geometry) -> Mechanism:
    """A mechanism as yet without noise: its map, and how far this is taken to stretch a distance."""
    design = DESIGNS[name]
    key = design.projection, beta
    public = maps[key]
    if public.ref is None:
        return Mechanism(name, public, 1.0, 0.0, 1.0)
    described = geometry.described[key]
    kinds = {
        "none": (1.0, 0.0),
        "published": (1 + beta, failure_bound(geometry.num_words, public.num_dimensions, beta)),
        "exact_vocabulary": (geometry.stretches[key].upper, 0.0),
        "spectral": (described.spectral, 0.0),
    }
    return Mechanism(name, public, *kinds[design.sensitivity], described.typical)


def _wanted(config: PrivateVectorsRun, maps: Maps, geometry: Geometry) -> Iterator[Mechanism]:
    """All mechanisms at all epsilons, each once."""
    values = [("nominal", epsilon) for epsilon in dict.fromkeys((*config.epsilons, config.audit.epsilon))]
    values += [("exact", epsilon) for epsilon in config.exact_epsilons]
    for name in config.mechanisms:
        mechanism = stretch_of(name, config.beta, maps, geometry)
        yield from (replace(mechanism, compared_at=kind, epsilon=epsilon) for kind, epsilon in values)


class Specify(Work, unit=VERSION, stage="exact profiles", makes=[Mechanisms, Profiles, Anchored]):
    """A mechanism with its noise, made for the epsilon that is nominal or exact, and its exact profile."""

    mechanism: Mechanism
    deltas: Sequence[float]
    distances: Mapping[str, float]
    profile: str = profiles.VERSION

    def rows(self, _: Store) -> Iterator[Mechanisms | Profiles | Anchored]:
        item, distances, delta = self.mechanism, self.distances, self.deltas[0]
        design, anchor = DESIGNS[item.name], Anchor(distances["median"], item.typical, delta)
        make = specified if item.compared_at == "nominal" else matched
        made = make(design, item.map.num_dimensions, item.sensitivity, item.epsilon, anchor)
        nominal = item.epsilon
        if item.compared_at == "exact":
            nominal = claimed_epsilon(made, 1.0) if design.law == "norm" else item.epsilon / distances["median"]
        about = replace(item, epsilon=nominal).row
        yield Mechanisms(
            **about,
            projection=item.map.projection,
            law=design.law,
            sensitivity=item.sensitivity,
            sensitivity_kind=design.sensitivity,
            delta=item.delta,
            scale=made.scale,
            deviation=made.deviation,
            epsilon_x_nearest=nominal * distances["nearest"],
            epsilon_x_median=nominal * distances["median"],
            epsilon_x_diameter=nominal * distances["largest"],
            guarantee=GUARANTEES["gaussian" if design.law == "gaussian" else design.sensitivity],
        )
        for kind, distance in distances.items():
            for stretch, factor in {"typical": item.typical, "worst": item.sensitivity}.items():
                for slack in self.deltas:
                    row = Profiles(**about, distance_kind=kind, stretch=stretch, delta=slack, distance=distance)
                    row.bound = claimed_epsilon(made, distance)
                    row.exact_epsilon = exact_epsilon(made, factor * distance, slack)
                    yield row
        yield Anchored(exact_epsilon=exact_epsilon(made, anchor.distance * anchor.stretch, delta))


def specify(run: PrivateRun, maps: Maps, geometry: Geometry) -> list[Mechanism]:
    """Mechanisms with their noise; publishes the tables ``mechanisms`` and ``profiles``."""
    store, config = run.runner.store, run.config
    done = run.do(
        (
            Specify(
                group="mechanisms",
                label=f"{item.name} {item.compared_at} {item.epsilon:g}",
                mechanism=item,
                deltas=config.deltas,
                distances=geometry.distances,
            )
            for item in _wanted(config, maps, geometry)
        ),
        batch_size=None,
    )
    made = []
    for work, unit in done.pairs:
        [row] = Mechanisms.read(store, unit.tables["mechanisms"])
        [exact] = Anchored.read(store, unit.tables["anchored"])
        noisy = replace(work.mechanism, epsilon=row.epsilon, scale=row.scale)
        made.append(replace(noisy, exact_epsilon=exact.exact_epsilon))
    return made

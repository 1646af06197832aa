"""Mechanisms of the study with their noise, and their exact privacy: nominally alike, and exactly alike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.geometry import Geometry
from tiltmeter.jobs.embedding.private_vectors.maps import PublicMap
from tiltmeter.jobs.embedding.private_vectors.tables import MECHANISMS, PROFILES
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.embedding.private_release import profile
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
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_GROUP = "mechanisms"

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
class Mechanism:
    """A mechanism of the study.

    Attributes:
        name: as tables have it.
        map: that it uses.
        sensitivity: Delta.
        delta: chance that this does not hold.
        typical: median stretch of its map.
        compared_at: ``nominal`` epsilon or ``exact`` privacy.
        epsilon: nominal.
        exact_epsilon: at the median distance, at the first delta.
        scale: of the noise.
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
    def specification(self) -> Specification:
        """Its law and noise."""
        return Specification(DESIGNS[self.name].law, self.map.num_dimensions, self.sensitivity, self.scale)

    @property
    def row(self) -> Row:
        """What all tables say of it."""
        return {
            "mechanism": self.name,
            "dimensions": self.map.num_dimensions,
            "epsilon": self.epsilon,
            "compared_at": self.compared_at,
        }


def stretch_of(name: Name, beta: float, maps: Mapping[tuple[str, float], PublicMap], geometry: Geometry) -> Mechanism:
    """A mechanism as yet without noise: its map, and how far this is taken to stretch a distance."""
    design = DESIGNS[name]
    public = maps[design.projection, beta]
    drawn = [item for item in maps.values() if item.ref]
    if public.ref is None:
        return Mechanism(name, public, 1.0, 0.0, 1.0)
    number = drawn.index(public)
    kinds = {
        "none": (1.0, 0.0),
        "published": (1 + beta, failure_bound(geometry.num_words, public.num_dimensions, beta)),
        "exact_vocabulary": (float(str(geometry.stretches[number]["upper"])), 0.0),
        "spectral": (geometry.spectral[number], 0.0),
    }
    return Mechanism(name, public, *kinds[design.sensitivity], geometry.typical[number])


@dataclass(frozen=True)
class Wanted:
    """A mechanism with the epsilon that its noise is made for, ``nominal`` or ``exact``."""

    mechanism: Mechanism
    compared_at: str
    epsilon: float


def wanted(
    config: PrivateVectorsRun, maps: Mapping[tuple[str, float], PublicMap], geometry: Geometry
) -> Iterator[Wanted]:
    """All mechanisms at all epsilons, each once."""
    values = [("nominal", epsilon) for epsilon in dict.fromkeys((*config.epsilons, config.audit.epsilon))]
    values += [("exact", epsilon) for epsilon in config.exact_epsilons]
    for name in config.mechanisms:
        mechanism = stretch_of(name, config.beta, maps, geometry)
        yield from (Wanted(mechanism, kind, epsilon) for kind, epsilon in values)


def specify(
    runner: Runner, config: PrivateVectorsRun, geometry: Geometry, mechanisms: Sequence[Wanted]
) -> tuple[list[Mechanism], dict[str, list[TableRef]]]:
    """Mechanisms with their noise, and the tables ``mechanisms`` and ``profiles``."""
    units = [_unit(config, geometry, item) for item in mechanisms]
    finished = runner.run_whole(Stage("exact profiles", each(_specify), {_GROUP: units}, batch_size=None))[_GROUP]
    made = []
    for item, done in zip(mechanisms, finished, strict=True):
        [row] = runner.store.read(done.tables["mechanisms"]).to_pylist()
        [exact] = runner.store.read(done.tables["anchored"])["exact_epsilon"].to_pylist()
        parts = (item.mechanism.name, item.mechanism.map, item.mechanism.sensitivity, item.mechanism.delta)
        made.append(Mechanism(*parts, item.mechanism.typical, item.compared_at, row["epsilon"], exact, row["scale"]))
    return made, {name: [done.tables[name] for done in finished] for name in ("mechanisms", "profiles")}


def _unit(config: PrivateVectorsRun, geometry: Geometry, item: Wanted) -> Unit:
    mechanism = item.mechanism
    settings = {
        "name": mechanism.name,
        "projection": mechanism.map.projection,
        "num_dimensions": mechanism.map.num_dimensions,
        "sensitivity": mechanism.sensitivity,
        "delta": mechanism.delta,
        "typical": mechanism.typical,
        "compared_at": item.compared_at,
        "epsilon": item.epsilon,
        "deltas": config.deltas,
        "distances": {"nearest": geometry.nearest, "median": geometry.median, "largest": geometry.largest},
        "profile": profile.VERSION,
    }
    return Unit(VERSION, f"{mechanism.name} {item.compared_at} {item.epsilon:g}", settings)


def _specify(_: Store, unit: Unit) -> Tables:
    config = unit.config
    design, distances, delta = DESIGNS[config["name"]], config["distances"], config["deltas"][0]
    anchor = Anchor(distances["median"], config["typical"], delta)
    make = specified if config["compared_at"] == "nominal" else matched
    made = make(design, config["num_dimensions"], config["sensitivity"], config["epsilon"], anchor)
    nominal = config["epsilon"]
    if config["compared_at"] == "exact":
        bound = claimed_epsilon(made, 1.0)
        nominal = bound if design.law == "norm" else config["epsilon"] / distances["median"]
    about = {
        "mechanism": config["name"],
        "dimensions": config["num_dimensions"],
        "epsilon": nominal,
        "compared_at": config["compared_at"],
    }
    yield "mechanisms", table_of([about | _promise(config, made, nominal)], MECHANISMS)
    yield "profiles", table_of([about | row for row in _profiles(config, made)], PROFILES)
    exact = exact_epsilon(made, anchor.distance * anchor.stretch, delta)
    yield "anchored", table_of([about | {"exact_epsilon": exact, "delta": delta}], PROFILES)


def _promise(config: Mapping[str, Any], made: Specification, nominal: float) -> Row:
    design, distances = DESIGNS[config["name"]], config["distances"]
    return {
        "projection": config["projection"],
        "law": design.law,
        "sensitivity": config["sensitivity"],
        "sensitivity_kind": design.sensitivity,
        "delta": config["delta"],
        "scale": made.scale,
        "deviation": made.deviation,
        "epsilon_x_nearest": nominal * distances["nearest"],
        "epsilon_x_median": nominal * distances["median"],
        "epsilon_x_diameter": nominal * distances["largest"],
        "guarantee": GUARANTEES["gaussian" if design.law == "gaussian" else design.sensitivity],
    }


def _profiles(config: Mapping[str, Any], made: Specification) -> Iterator[Row]:
    for kind, distance in config["distances"].items():
        for stretch, factor in {"typical": config["typical"], "worst": config["sensitivity"]}.items():
            for delta in config["deltas"]:
                yield {
                    "distance_kind": kind,
                    "stretch": stretch,
                    "distance": distance,
                    "delta": delta,
                    "bound": claimed_epsilon(made, distance),
                    "exact_epsilon": exact_epsilon(made, factor * distance, delta),
                }


def sensitivity_rows(maps: Mapping[tuple[str, float], PublicMap], geometry: Geometry) -> Iterator[Row]:
    """Of every map, by each kind of sensitivity."""
    drawn = [(key, item) for key, item in maps.items() if item.ref]
    for number, ((kind, _), item) in enumerate(drawn):
        pair = geometry.stretches[number]
        about = {
            "projection": kind,
            "dimensions": item.num_dimensions,
            "beta": item.beta,
            "typical_stretch": geometry.typical[number],
            "first": pair["first"],
            "second": pair["second"],
            "num_words": geometry.num_words,
            "num_merged": geometry.num_merged,
        }
        if kind == "gaussian":
            bound = failure_bound(geometry.num_words, item.num_dimensions, item.beta)
            yield about | {"sensitivity_kind": "published", "sensitivity": 1 + item.beta, "delta": bound}
        yield about | {"sensitivity_kind": "exact_vocabulary", "sensitivity": pair["upper"], "delta": 0.0}
        yield about | {"sensitivity_kind": "spectral", "sensitivity": geometry.spectral[number], "delta": 0.0}

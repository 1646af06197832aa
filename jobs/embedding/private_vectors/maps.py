"""The stage that draws the public maps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.vocabulary import vectors_of
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import projections
from tiltmeter.operators.embedding.private_release.noise import published_dimensions
from tiltmeter.operators.embedding.private_release.projections import Projection
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_GROUP = "maps"


@dataclass(frozen=True)
class PublicMap:
    """A map of the study.

    Attributes:
        projection: kind of map.
        num_dimensions: m, that it keeps.
        beta: distortion that the published dimensions allow; 0 where it has no part.
        ref: its rows; None for the vectors as they are.
    """

    projection: Projection
    num_dimensions: int
    beta: float
    ref: TableRef | None


def map_of(store: Store, ref: TableRef | None, num_dimensions: int) -> FloatArray:
    """Rows of a map; the identity for none."""
    return np.eye(num_dimensions) if ref is None else vectors_of(store, ref)


def draw_maps(
    runner: Runner, config: PrivateVectorsRun, vocabulary: TableRef, width: int, betas: Sequence[float]
) -> dict[tuple[str, float], PublicMap]:
    """The maps of a run, by their kind and beta.

    Args:
        betas: of Gaussian maps beside that of all mechanisms.

    Raises:
        InputError: if one would keep more dimensions than there are.
    """
    wanted: dict[tuple[Projection, float], int] = {}
    for beta in (config.beta, *betas):
        wanted["gaussian", beta] = kept_dimensions(config, beta, width)
    for kind in ("haar", "public_pca"):
        wanted[kind, config.beta] = kept_dimensions(config, config.beta, width)
    units = {key: _map_unit(config, key, num, width, vocabulary) for key, num in wanted.items()}
    finished = runner.run_whole(Stage("draw maps", each(_draw), {_GROUP: list(units.values())}))[_GROUP]
    refs = {done.place: done.tables["map"] for done in finished}
    maps: dict[tuple[str, float], PublicMap] = {
        key: PublicMap(key[0], wanted[key], key[1] if key[0] == "gaussian" else 0.0, refs[unit.place])
        for key, unit in units.items()
    }
    return {("none", config.beta): PublicMap("none", width, 0.0, None), **maps}


def kept_dimensions(config: PrivateVectorsRun, beta: float, width: int) -> int:
    """Dimensions of a map for vectors of a width.

    Raises:
        InputError: if it would keep more than there are.
    """
    fixed = config.dimensions if beta == config.beta else None
    num = fixed or min(published_dimensions(width, beta), width)
    if num > width:
        raise InputError(f"dimensions={num}: the vectors have {width}; set it to less, or leave it out")
    return num


def _map_unit(
    config: PrivateVectorsRun, key: tuple[Projection, float], num: int, width: int, vocabulary: TableRef
) -> Unit:
    settings = {"projection": key[0], "num_kept": num, "num_dimensions": width, "seed": config.seed}
    inputs = {"vocabulary": [vocabulary.select("vector")]} if key[0] == "public_pca" else {}
    return Unit(projections.VERSION, f"{key[0]} {num}", settings, inputs)


def _draw(store: Store, unit: Unit) -> Tables:
    config = unit.config
    kind, num, width = config["projection"], config["num_kept"], config["num_dimensions"]
    if kind == "public_pca":
        rows = projections.principal_projection(vectors_of(store, unit.input("vocabulary")), num)
    else:
        generator = keyed_generator(config["seed"], Stream.PRIVATE_MAP, document_key(kind), num, width)
        draw = projections.gaussian_projection if kind == "gaussian" else projections.haar_projection
        rows = draw(generator, num, width)
    yield "map", pa.table({"vector": vector_column(rows)})

"""The stage of experiments 1 and 2: what is left of distances and inner products."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.geometry import Geometry
from tiltmeter.jobs.embedding.private_vectors.maps import PublicMap, map_of
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism, stretch_of
from tiltmeter.jobs.embedding.private_vectors.tables import DISTANCES
from tiltmeter.jobs.embedding.private_vectors.vocabulary import words_and_vectors
from tiltmeter.jobs.runtime.draws import Scheme, draws_of, with_draws
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import noise
from tiltmeter.operators.embedding.private_release.distances import (
    VERSION,
    constant_error,
    debiased_distances,
    expected_distance_error,
    expected_product_error,
    pair_distances,
    published_bounds,
    quantile_bounds,
)
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.statistics.intervals import LOG, IntervalSettings, bootstrap_interval
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def read_distances(
    runner: Runner,
    config: PrivateVectorsRun,
    vocabulary: TableRef,
    maps: Mapping[tuple[str, float], PublicMap],
    geometry: Geometry,
) -> list[TableRef]:
    """The table ``distances``: M1, and M2 with each beta, at each epsilon."""
    if not config.distances.epsilons:
        return []
    mechanisms = [stretch_of("M1", config.beta, maps, geometry)]
    mechanisms += [stretch_of("M2", beta, maps, geometry) for beta in config.distances.betas]
    units = [
        _unit(config, vocabulary, mechanism, epsilon)
        for mechanism in mechanisms
        for epsilon in config.distances.epsilons
    ]
    finished = runner.run_whole(Stage("read distances", each(_read), {"distances": units}))["distances"]
    return [done.tables["distances"] for done in finished]


def _unit(config: PrivateVectorsRun, vocabulary: TableRef, mechanism: Mechanism, epsilon: float) -> Unit:
    settings = {
        "row": {
            "mechanism": mechanism.name,
            "dimensions": mechanism.map.num_dimensions,
            "epsilon": epsilon,
            "beta": mechanism.map.beta,
        },
        "operator": VERSION,
        "sensitivity": mechanism.sensitivity,
        "noise": noise.VERSION,
        "words": config.distances.words,
        "runs": config.distances.runs,
        "seed": config.seed,
        "delta": config.deltas[0],
        "intervals": {"level": config.job.level, "interval": config.job.interval},
    }
    inputs = {"vocabulary": [vocabulary]} | ({"map": [mechanism.map.ref]} if mechanism.map.ref else {})
    return Unit(
        "private_read_outs/2", f"{mechanism.name} {mechanism.map.num_dimensions}, epsilon {epsilon:g}", settings, inputs
    )


def _read(store: Store, unit: Unit) -> Tables:
    config = unit.config
    words, vectors = words_and_vectors(store, unit.input("vocabulary"))
    projection = map_of(store, unit.inputs.get("map", [None])[0], vectors.shape[1])
    about = config["row"]
    scale = config["sensitivity"] / about["epsilon"]
    made = Specification("norm", about["dimensions"], config["sensitivity"], scale)
    order = keyed_generator(config["seed"], Stream.PRIVATE_STUDY, document_key("distances")).permutation(len(vectors))
    first, second = np.array_split(order[: 2 * config["words"]], 2)
    errors: dict[str, list[float]] = {}
    for number in range(config["runs"]):
        # The same noise for all mechanisms, up to its dimensions and scale: they differ in nothing else.
        generator = keyed_generator(config["seed"], Stream.PRIVATE_NOISE, document_key("distances"), number)
        for name, error in _errors(generator, vectors[first], vectors[second], projection, made):
            errors.setdefault(name, []).append(error)
    images = vectors @ projection.T
    forms = _closed_forms(vectors[first], vectors[second], images[first], images[second], made)
    longest = float(np.linalg.norm(vectors[order[: 2 * config["words"]]], axis=1).max())
    for name, bounds in _bounds(about, longest, len(first) + len(second), config["delta"]):
        forms[name] |= bounds
    rows = [about | row for row in _rows(errors, forms, IntervalSettings(**config["intervals"]))]
    chosen = [[words[row] for row in part] for part in (first, second)]
    yield from with_draws({"distances": (rows, DISTANCES)}, _scheme(chosen, made, config["seed"]))


def _scheme(words: Sequence[Sequence[str]], made: Specification, seed: int) -> Scheme:
    """What runs with noise are keyed by: those of one scheme add the same noise, up to its scale, to the same words.

    The intervals are over noise alone. Of other words the same noise would make any change of their distances look
    sure, so that these are not paired.
    """
    about = {"words": digest(words), "dimensions": made.num_dimensions, "law": made.law}
    return {"paired_by": "replicas", "seed": seed, "about": "distances", "operator": noise.VERSION, **about}


def _errors(
    generator: np.random.Generator, first: FloatArray, second: FloatArray, projection: FloatArray, made: Specification
) -> Iterator[tuple[str, float]]:
    releases = [
        vectors @ projection.T + noise.draw_noise(generator, "norm", (len(vectors), made.num_dimensions), made.scale)
        for vectors in (first, second)
    ]
    true, noisy = pair_distances(first, second), pair_distances(*releases)
    debiased = debiased_distances(noisy, noise.mean_squared_norm("norm", made.num_dimensions, made.scale))
    yield "distance", float(np.mean(np.abs(noisy - true)))
    yield "debiased_distance", float(np.mean(np.abs(debiased - true)))
    yield "inner_product", float(np.mean(np.abs(releases[0] @ releases[1].T - first @ second.T)))


def _closed_forms(
    first: FloatArray, second: FloatArray, images: FloatArray, others: FloatArray, made: Specification
) -> dict[str, dict[str, float]]:
    """Of each read-out, what its error should be, and that of the best constant."""
    squared = noise.mean_squared_norm("norm", made.num_dimensions, made.scale)
    norms = np.add.outer((images**2).sum(axis=1), (others**2).sum(axis=1))
    true, products = pair_distances(first, second), first @ second.T
    return {
        "distance": {
            "closed_form": expected_distance_error(true, squared),
            "constant_error": constant_error(true),
        },
        "debiased_distance": {"closed_form": np.nan, "constant_error": constant_error(true)},
        "inner_product": {
            "closed_form": expected_product_error(made.deviation, made.num_dimensions, norms),
            "constant_error": constant_error(products),
        },
    }


def _bounds(about: Row, norm: float, num: int, delta: float) -> Iterator[tuple[str, Row]]:
    """Propositions 7 and 8, which are of M2."""
    if about["beta"]:
        given = (norm, about["beta"], about["dimensions"], about["epsilon"], num, delta)
        printed, exact = published_bounds(*given), quantile_bounds(*given)
        yield "distance", {"proposition": printed.distance, "quantile_bound": exact.distance}
        yield "inner_product", {"proposition": printed.product, "quantile_bound": exact.product}


def _rows(
    errors: Mapping[str, Sequence[float]], forms: Mapping[str, Mapping[str, float]], intervals: IntervalSettings
) -> Iterator[Row]:
    for name, values in errors.items():
        mean = float(np.mean(values))
        # Of one more run, beside the mean of these.
        spread = (1 + 1 / len(values)) ** 0.5
        interval = bootstrap_interval(mean, np.array(values), intervals.level, intervals.interval, LOG, spread=spread)
        yield {
            "read_out": name,
            "error": mean,
            "error_low": float(interval.low),
            "error_high": float(interval.high),
            "num_runs": len(values),
            **forms[name],
            **draws_of("error", np.array(values)),
        }

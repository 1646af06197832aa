"""The stage that asks what a perturbed vector still says of its word, and how often the best guess names it."""

from collections.abc import Sequence

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.maps import map_of
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism
from tiltmeter.jobs.embedding.private_vectors.tables import DENIABILITY
from tiltmeter.jobs.embedding.private_vectors.vocabulary import vectors_of
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import deniability, noise
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def deny(
    runner: Runner, config: PrivateVectorsRun, vocabulary: TableRef, mechanisms: Sequence[Mechanism]
) -> list[TableRef]:
    """The table ``deniability``, of every mechanism."""
    if not config.deniability.words:
        return []
    units = [_denying(config, vocabulary, item) for item in mechanisms]
    finished = runner.run_whole(Stage("guess words", each(_deny), {"mechanisms": units}))["mechanisms"]
    return [done.tables["deniability"] for done in finished]


def _denying(config: PrivateVectorsRun, vocabulary: TableRef, item: Mechanism) -> Unit:
    settings = {
        "row": item.row | {"exact_epsilon": item.exact_epsilon},
        "mechanism": item.specification._asdict(),
        "noise": noise.VERSION,
        "shares": means.VERSION,
        "words": config.deniability.words,
        "draws": config.deniability.draws,
        "level": config.job.level,
        "seed": config.seed,
    }
    inputs = {"vocabulary": [vocabulary]} | ({"map": [item.map.ref]} if item.map.ref else {})
    return Unit(deniability.VERSION, f"{item.name} {item.compared_at} {item.epsilon:g}", settings, inputs)


def _deny(store: Store, unit: Unit) -> Tables:
    config = unit.config
    vectors = vectors_of(store, unit.input("vocabulary"))
    images = vectors @ map_of(store, unit.inputs.get("map", [None])[0], vectors.shape[1]).T
    made = Specification(**config["mechanism"])
    order = keyed_generator(config["seed"], Stream.PRIVATE_STUDY, document_key("deniability")).permutation(len(vectors))
    words = order[: config["words"]]
    results, hits = [], []
    for row in words:
        key = document_key(f"deniability/{config['row']}"), int(row)
        generator = keyed_generator(config["seed"], Stream.PRIVATE_NOISE, *key)
        drawn = noise.draw_noise(generator, made.law, (config["draws"], images.shape[1]), made.scale)
        rows = deniability.nearest_rows(images[row] + drawn, images)
        results.append(deniability.deniability(rows, int(row)))
        hits.append(rows == row)
    made_row = {
        "returned": float(np.mean([result.returned for result in results])),
        "distinct": float(np.mean([result.distinct for result in results])),
    }
    made_row |= named_share(np.concatenate(hits), np.repeat(words, config["draws"]), config["level"])
    made_row |= naming_caps(images, words, made)
    yield "deniability", table_of([config["row"] | made_row], DENIABILITY)


def named_share(hits: BoolArray, words: IntArray, level: float) -> Row:
    """How often the word is named, with its interval for other words: draws of one word are one cluster.

    Args:
        hits: ``[draws]``.
        words: ``[draws]`` which word each is of.
        level: nominal coverage.
    """
    units = units_of(words, "word")
    rate = share(hits, units, level=level)
    ends = {"attacker": rate.value, "attacker_low": rate.low, "attacker_high": rate.high}
    status = OK if rate.status == "ok" else failed(rate.status, rate.reason)
    return ends | {"num_words": units.num, "num_draws": len(hits) // units.num} | status


def naming_caps(images: FloatArray, words: IntArray, made: Specification) -> Row:
    """Bounds on naming that need no draw; normal noise has none."""
    if made.law != "norm":
        return {}
    caps = deniability.naming_caps(words, images, made.scale)
    return {"cap_mean": float(caps.mean()), "cap_largest": float(caps.max())}

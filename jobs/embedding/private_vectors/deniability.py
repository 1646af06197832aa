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
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import deniability, noise
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.statistics.shares import clopper_pearson
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
    results, successes = [], 0
    for row in order[: config["words"]]:
        key = document_key(f"deniability/{config['row']}"), int(row)
        generator = keyed_generator(config["seed"], Stream.PRIVATE_NOISE, *key)
        drawn = noise.draw_noise(generator, made.law, (config["draws"], images.shape[1]), made.scale)
        rows = deniability.nearest_rows(images[row] + drawn, images)
        results.append(deniability.deniability(rows, int(row)))
        successes += int((rows == row).sum())
    attacker = clopper_pearson(successes, len(results) * config["draws"], config["level"])
    made_row = {
        "returned": float(np.mean([result.returned for result in results])),
        "distinct": float(np.mean([result.distinct for result in results])),
        "attacker": float(attacker.rate),
        "attacker_low": float(attacker.low),
        "attacker_high": float(attacker.high),
        "num_words": len(results),
        "num_draws": config["draws"],
    }
    yield "deniability", table_of([config["row"] | made_row], DENIABILITY)

"""The stages that audit mechanisms: histograms of scores of batches of releases, and what they say together.

Rows of a pair are planted and written by what writes a release (:func:`.release.secret.written`), under keys made of
the public seed: each batch under a name of its own, its companions in other blocks of rows, and all once more by
another name and once more by another key. What is claimed of a pair is epsilon times its distance, as the table
``mechanisms`` has it, whatever noise was made for it.
"""

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.maps import map_of
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism
from tiltmeter.jobs.embedding.private_vectors.release.secret import written
from tiltmeter.jobs.embedding.private_vectors.tables import AUDITS
from tiltmeter.jobs.embedding.private_vectors.vocabulary import words_and_vectors
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import bounds, noise, profile, scores, secrets
from tiltmeter.operators.embedding.private_release.bounds import Counts, share_of_level
from tiltmeter.operators.embedding.private_release.mechanisms import Specification, exact_epsilon
from tiltmeter.operators.embedding.private_release.scores import SCORES, Pair, Releases, count_scores, score_edges
from tiltmeter.operators.embedding.private_release.secrets import grid_step
from tiltmeter.operators.embedding.private_release.verdicts import VERSION, audit_pair
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_NUM_RIVALS = 100
_SLACK = 1 + 1e-9
"""Of rounding errors."""


def audit_mechanisms(
    runner: Runner, config: PrivateVectorsRun, vocabulary: TableRef, mechanisms: Sequence[Mechanism]
) -> list[TableRef]:
    """The table ``audits``, of every mechanism at the nominal epsilon of the audit."""
    audited = [
        mechanism
        for mechanism in mechanisms
        if mechanism.compared_at == "nominal" and mechanism.epsilon == config.audit.epsilon
    ]
    pairs = [f"{kind} {number}" for number in range(config.audit.pairs) for kind in ("nearest", "random")]
    if not (audited and pairs):
        return []
    words = _choose_pairs(runner, config, vocabulary, pairs)
    units = {
        f"{mechanism.name}, {pair}": _batches(config, words, mechanism, pair) for mechanism in audited for pair in pairs
    }
    counted = runner.run_whole(Stage("draw releases", each(_draw), units, batch_size=None))
    by_group = {f"{mechanism.name}, {pair}": (mechanism, pair) for mechanism in audited for pair in pairs}
    family = len(units)
    judging = {
        group: [_judging(config, words, *by_group[group], finished, family)] for group, finished in counted.items()
    }
    judged = runner.run_whole(Stage("judge", each(_judge), judging, batch_size=None))
    return [done.tables["audits"] for finished in judged.values() for done in finished]


def _choose_pairs(runner: Runner, config: PrivateVectorsRun, vocabulary: TableRef, pairs: Sequence[str]) -> TableRef:
    """The few words of all pairs: whoever draws releases need not read the others."""
    unit = Unit("private_pairs/1", "pairs", {"pairs": pairs, "seed": config.seed}, {"vocabulary": [vocabulary]})
    [done] = runner.run_whole(Stage("choose pairs", each(_choose), {"pairs": [unit]}))["pairs"]
    return done.tables["pairs"]


def _choose(store: Store, unit: Unit) -> Tables:
    words, vectors = words_and_vectors(store, unit.input("vocabulary"))
    rows = {pair: _pair_rows(vectors, pair, unit.config["seed"]) for pair in unit.config["pairs"]}
    flat = [row for part in rows.values() for row in part]
    columns = {
        "pair": pa.array([pair for pair, part in rows.items() for _ in part], pa.string()),
        "word": pa.array([words[row] for row in flat], pa.string()),
        "vector": vector_column(vectors[flat]),
    }
    yield "pairs", pa.table(columns)


def _batches(config: PrivateVectorsRun, words: TableRef, mechanism: Mechanism, pair: str) -> list[Unit]:
    about = _settings(config, mechanism, pair)
    return [
        Unit(
            scores.VERSION,
            f"{mechanism.name}, {pair}, {side} {batch}",
            about | {"side": side, "batch": batch, "draws": min(config.audit.batch, config.audit.draws - start)},
            _inputs(words, mechanism),
        )
        for side in ("first", "second")
        for batch, start in enumerate(range(0, config.audit.draws, config.audit.batch))
    ]


def _inputs(words: TableRef, mechanism: Mechanism) -> dict[str, list[TableRef]]:
    return {"pairs": [words]} | ({"map": [mechanism.map.ref]} if mechanism.map.ref else {})


def _settings(config: PrivateVectorsRun, mechanism: Mechanism, pair: str) -> dict[str, Any]:
    return {
        "mechanism": mechanism.specification._asdict(),
        "name": mechanism.name,
        "pair": pair,
        "seed": config.seed,
        "noise": [noise.VERSION, secrets.VERSION],
    }


class Study:
    """A pair of words, as a unit of work sees it."""

    def __init__(self, store: Store, unit: Unit) -> None:
        config = unit.config
        table = store.read(unit.input("pairs"))
        table = table.filter(pc.equal(table["pair"], config["pair"]))
        words, vectors = table["word"].to_pylist(), matrix(table["vector"])
        projection = map_of(store, unit.inputs.get("map", [None])[0], vectors.shape[1])
        self.specification = Specification(**config["mechanism"])
        images = vectors @ projection.T
        made = self.specification
        self.pair = Pair(images[0], images[1], made.law, made.scale, images[3:])
        self.companion = images[2]
        self.vectors, self.images = vectors, images
        self.words = f"{words[0]}, {words[1]}"
        self.distance = float(np.linalg.norm(vectors[0] - vectors[1]))
        self.step = grid_step(made.deviation)

    def most_stretched_claim(self, epsilon: float) -> float:
        """Largest privacy loss of the first word and any other of the pair's words, in units of what is claimed."""
        if self.specification.law != "norm":
            return 0.0
        apart = np.linalg.norm(self.vectors[1:] - self.vectors[0], axis=1)
        losses = np.linalg.norm(self.images[1:] - self.images[0], axis=1) / self.specification.scale
        return float((losses[apart > 0] / (epsilon * apart[apart > 0])).max(initial=0.0)) / _SLACK

    def written(self, key: bytes, name: str, image: FloatArray, num: int) -> tuple[FloatArray, FloatArray]:
        """Rows of one image, and of the companion's in the blocks after them, by the code of a release; ``[n, m]``."""
        made = self.specification
        about = {"name": name, "law": made.law, "scale": made.scale, "step": self.step}
        start = -(-num // secrets.BLOCK_ROWS) * secrets.BLOCK_ROWS
        rows = np.concatenate([np.tile(image, (start, 1)), np.tile(self.companion, (num, 1))])
        vectors = written(rows, key, about, 0)
        return vectors[:num], vectors[start:]


def _study_key(seed: int, number: int) -> bytes:
    """No secret: anybody can make it of the seed."""
    return secrets.keyed_digest(bytes(secrets.KEY_BYTES), {"study": seed, "number": number})


def _pair_rows(vectors: FloatArray, pair: str, seed: int) -> list[int]:
    """Rows of the word, the other one, a companion, and rivals."""
    kind, number = pair.split()
    order = keyed_generator(seed, Stream.PRIVATE_STUDY, document_key("pairs"), int(number)).permutation(len(vectors))
    first, others = int(order[0]), order[1:]
    if kind == "nearest":
        nearest = int(others[np.linalg.norm(vectors[others] - vectors[first], axis=1).argmin()])
        others = np.concatenate([[nearest], others[others != nearest]])
    return [first, *(int(row) for row in others[: 2 + _NUM_RIVALS])]


def _draw(store: Store, unit: Unit) -> Tables:
    study, config = Study(store, unit), unit.config
    about = {name: config[name] for name in ("name", "mechanism", "pair", "side", "batch")}
    name = json.dumps(about, sort_keys=True)
    image = study.pair.image if config["side"] == "first" else study.pair.other
    first, second = _study_key(config["seed"], 0), _study_key(config["seed"], 1)
    vectors, companions = study.written(first, name, image, config["draws"])
    renamed, _ = study.written(first, f"{name}, again", image, config["draws"])
    rekeyed, _ = study.written(second, name, image, config["draws"])
    # A row that comes again in any of these ways shares its noise.
    again = (vectors == renamed).all(axis=1) | (vectors == np.roll(vectors, 1, axis=0)).all(axis=1)
    repeated = np.where(again[:, None], vectors, rekeyed)
    edges = score_edges(study.pair)
    values = scores.scores(study.pair, Releases(vectors, companions, repeated, study.companion))
    counts = {score: count_scores(values[score], edges[score]) for score in SCORES}
    bins = {score: np.flatnonzero(numbers) for score, numbers in counts.items()}
    parts = [
        pa.table(
            {
                "score": pa.array([score] * len(bins[score]), pa.string()),
                "bin": bins[score],
                "count": counts[score][bins[score]],
            }
        )
        for score in SCORES
    ]
    yield "counts", pa.concat_tables(parts)


def _judging(
    config: PrivateVectorsRun,
    words: TableRef,
    mechanism: Mechanism,
    pair: str,
    finished: Sequence[Finished],
    family: int,
) -> Unit:
    about = _settings(config, mechanism, pair) | {
        "row": mechanism.row,
        "epsilon": mechanism.epsilon,
        "delta": config.deltas[0],
        "level": config.audit.level,
        "family": family,
        "versions": [bounds.VERSION, profile.VERSION],
        "columns": AUDITS.names,
    }
    half = len(finished) // 2
    inputs = {"first": finished[:half], "second": finished[half:]}
    tables = {side: [done.tables["counts"] for done in parts] for side, parts in inputs.items()}
    return Unit(VERSION, f"{mechanism.name}, {pair}", about, _inputs(words, mechanism) | tables)


def _judge(store: Store, unit: Unit) -> Tables:
    study, config = Study(store, unit), unit.config
    made = study.specification
    counts, num_draws = _added(store, unit, score_edges(study.pair))
    claimed = config["epsilon"] * study.distance if made.law == "norm" else inf
    level = share_of_level(config["level"], config["family"])
    results = audit_pair(study.pair, claimed, counts, level, step=study.step)
    excess = study.most_stretched_claim(config["epsilon"])
    exact = exact_epsilon(made, study.pair.distance, config["delta"])
    rows = [
        {key: value for key, value in config["row"].items() if key != "compared_at"}
        | {
            "choice": config["pair"],
            "pair": study.words,
            "score": score,
            "num_draws": num_draws,
            "claimed": claimed,
            "exact": exact,
            "audited": result.loss.value,
            "audited_low": result.loss.low,
            "audited_high": result.loss.high,
            "verdict": "above the claim" if score == "likelihood" and excess > 1 else result.verdict,
            "level": config["level"],
            "family": config["family"] * len(results),
        }
        for score, result in results.items()
    ]
    yield "audits", table_of(rows, AUDITS)


def _added(store: Store, unit: Unit, edges: Mapping[Any, FloatArray]) -> tuple[dict[Any, Counts], int]:
    sides = {score: [np.zeros(len(edges[score]) - 1, np.int64) for _ in range(4)] for score in SCORES}
    for number, side in enumerate(("first", "second")):
        for batch, ref in enumerate(unit.inputs[side]):
            place = number + 2 * (batch % bounds.CHOOSING > 0)
            for part in store.read(ref).to_pylist():
                sides[part["score"]][place][part["bin"]] += part["count"]
    added = {score: Counts(*counts) for score, counts in sides.items()}
    return added, int(added["repeated"].chosen_first.sum() + added["repeated"].first.sum())

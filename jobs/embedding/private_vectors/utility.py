"""The stage that asks what private vectors are good for: tasks beside their controls."""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.maps import map_of
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.tables import UTILITY
from tiltmeter.jobs.embedding.private_vectors.task_data import TaskData, read_task
from tiltmeter.jobs.embedding.private_vectors.vocabulary import words_and_vectors
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import noise, utility
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_NO_NOISE = {"dimensions": 0, "epsilon": None, "compared_at": "nominal", "exact_epsilon": None, "noise_per": "none"}


def use(
    runner: Runner,
    config: PrivateVectorsRun,
    sources: PrivateSources,
    vocabulary: TableRef,
    mechanisms: Sequence[Mechanism],
) -> list[TableRef]:
    """The table ``utility``: every task by every mechanism, and by controls that show what the numbers mean."""
    units = {
        task: [_unit(config, sources, vocabulary, task, item) for item in _subjects(config, mechanisms)]
        for task in config.utility.tasks
    }
    finished = runner.run_whole(Stage("tasks", each(_use), units)) if units else {}
    return [done.tables["utility"] for parts in finished.values() for done in parts]


def _subjects(config: PrivateVectorsRun, mechanisms: Sequence[Mechanism]) -> Iterator[tuple[Row, Mechanism | None]]:
    """What is put to a task: controls without noise, noise alone, and mechanisms."""
    yield {"mechanism": "non_private"} | _NO_NOISE, None
    yield {"mechanism": "constant"} | _NO_NOISE, None
    for noise_per in config.utility.noise_per:
        alone: dict[tuple[int, str], Mechanism] = {}
        for item in mechanisms:
            alone.setdefault((item.map.num_dimensions, item.specification.law), item)
            yield item.row | {"exact_epsilon": item.exact_epsilon, "noise_per": noise_per}, item
        for (num, law), item in alone.items():
            control = {"mechanism": f"noise_only {law}", "dimensions": num, "noise_per": noise_per}
            yield _NO_NOISE | control, item


def _unit(
    config: PrivateVectorsRun,
    sources: PrivateSources,
    vocabulary: TableRef,
    task: str,
    subject: tuple[Row, Mechanism | None],
) -> Unit:
    row, item = subject
    settings = {
        "row": {"task": task} | row,
        "task": config.utility.tasks[task].kind,
        "files": [file.identity for file in sources.tasks[task]],
        "columns": (config.utility.tasks[task].text, config.utility.tasks[task].label),
        "tokens": Tokenizer(spaced(config.embedding.language)).identity,
        "noise": noise.VERSION,
        "language": config.embedding.language,
        "limit": config.utility.limit,
        "runs": config.utility.runs,
        "penalties": config.utility.penalties,
        "folds": config.utility.folds,
        "level": config.job.level,
        "means": means.VERSION,
        "seed": config.seed,
        "mechanism": item.specification._asdict() if item else None,
    }
    inputs = {"vocabulary": [vocabulary]} | ({"map": [item.map.ref]} if item and item.map.ref else {})
    name = f"{task}, {row['mechanism']} {row['dimensions'] or ''} {row['compared_at']} {row['epsilon'] or ''}"
    return Unit(utility.VERSION, name.strip(), settings, inputs)


def _use(store: Store, unit: Unit) -> Tables:
    config = unit.config
    words, vectors = words_and_vectors(store, unit.input("vocabulary"))
    data = read_task(config, words)
    parts = [_test_part(config, data, number) for number in range(config["runs"])]
    if why := data.unusable(config["folds"], parts):
        row = config["row"] | {"measure": "accuracy"} | failed("too_little_data", why)
        yield "utility", table_of([row], UTILITY)
        return
    projection = map_of(store, unit.inputs.get("map", [None])[0], vectors.shape[1])
    runs = [_results(config, data, vectors, projection, number, part) for number, part in enumerate(parts)]
    rows = []
    for measure in runs[0].measures:
        values = np.array([result.measures[measure] for result in runs])
        about = config["row"] | {"measure": measure, "num_test": int(parts[0].sum()), "num_runs": config["runs"]}
        if isnan(values.mean()):
            rows.append(about | failed("undefined", "two classes, both in the test part, are needed"))
            continue
        ends = _ends(runs, parts, config["level"]) if measure == "accuracy" else {}
        spread = float(values.std(ddof=1)) if len(values) > 1 else None
        rows.append(about | {"value": float(values.mean()), "sd_training": spread} | OK | ends)
    yield "utility", table_of(rows, UTILITY)


def _ends(runs: Sequence["_Result"], parts: Sequence[BoolArray], level: float) -> Row:
    """Of an accuracy, over other test texts and other noise: a text counts once, in however many runs it is tested."""
    texts = units_of(np.concatenate([np.flatnonzero(part) for part in parts]), "text")
    hits = np.concatenate([result.hits for result in runs])
    seeds = np.array([result.measures["accuracy"] for result in runs])
    accuracy = means.mean(hits, texts, level=level, scale=LOGIT, seeds=seeds)
    status = OK if accuracy.status == "ok" else failed(accuracy.status, accuracy.reason)
    return {"low": accuracy.low, "high": accuracy.high} | status


def _test_part(config: dict[str, Any], data: TaskData, number: int) -> BoolArray:
    """Of one run: that of the file, or a random one."""
    if data.is_test is not None:
        return data.is_test
    task = document_key(f"test part of {config['row']['task']}")
    split = keyed_generator(config["seed"], Stream.PRIVATE_STUDY, task, number)
    return utility.held_out(split, len(data.labels))


def _results(
    config: dict[str, Any],
    data: TaskData,
    vectors: FloatArray,
    projection: FloatArray,
    number: int,
    is_test: BoolArray,
) -> "_Result":
    row, seed = config["row"], config["seed"]
    if row["mechanism"] == "constant":
        return _Result(utility.majority_hits(data.labels, is_test))
    generator = keyed_generator(seed, Stream.PRIVATE_NOISE, document_key(str(sorted(row.items(), key=str))), number)
    features = _features(config, data, vectors, projection, generator)
    if config["task"] == "words":
        result = utility.linear_result(features, data.labels, is_test)
        return _Result(result.hits, {"area": result.area})
    return _Result(utility.text_hits(features, data.labels, is_test, config["penalties"], config["folds"], seed))


class _Result:
    """Of one run: which test texts are right, and measures by name."""

    def __init__(self, hits: BoolArray, more: Mapping[str, float] | None = None) -> None:
        self.hits = hits
        self.measures = {"accuracy": float(hits.mean()), **(more or {})}


def _features(
    config: dict[str, Any],
    data: TaskData,
    vectors: FloatArray,
    projection: FloatArray,
    generator: np.random.Generator,
) -> FloatArray:
    row = config["row"]
    if row["mechanism"] == "non_private":
        return utility.mean_vectors(data.words, vectors[data.words.rows])
    made = Specification(**config["mechanism"])
    images = vectors @ projection.T
    if row["mechanism"].startswith("noise_only"):
        images = np.zeros_like(images)
    by_word = row["noise_per"] == "word"
    return utility.private_means(generator, data.words, images, made.law, made.scale, by_word=by_word)

"""Setup IV: wrong labels, how many of them are uncovered within a budget, and what a model gains by their correction.

Tables ``inspections`` and ``contamination``. Models are explained about the texts that they learnt, of the class that
these are labelled with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.setups.evaluating import answered
from tiltmeter.jobs.classifiers.decoys.training import Lesson, train_with
from tiltmeter.jobs.classifiers.intervals import mean_of_texts
from tiltmeter.jobs.classifiers.models import trained_model
from tiltmeter.jobs.classifiers.splits import units_of_texts
from tiltmeter.jobs.classifiers.tables import SPLIT
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.operators.classifiers.attribution import attribute as attribution
from tiltmeter.operators.classifiers.attribution.attribute import attribute, softmax
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.classifiers.decoys import contamination
from tiltmeter.operators.classifiers.decoys.contamination import (
    evidence_against,
    flipped_labels,
    inspected,
    lasting_classes,
    losses,
    self_influence,
)
from tiltmeter.operators.classifiers.decoys.detection import Explained
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_GROUP = "data contamination"
"""Of the units; no decoy has such a name."""

_CHANCE = "random"
"""The method of attribution that explains nothing: an order at random, which is there as a control already."""

_MOST_TEXTS = 200
"""That a unit explains."""

_CLEAN, _CONTAMINATED = "clean", "contaminated"


def contaminate(
    runner: Runner, config: DecoyBenchmarkRun, sources: BenchmarkSources, texts: TableRef
) -> dict[str, list[TableRef]]:
    """Tables ``inspections`` and ``contamination``.

    Args:
        texts: without a decoy, of the schema ``SPLIT``.
    """
    data = _flip(runner, config, texts)
    numbers = range(config.models.number)
    lessons = [
        Lesson(f"{kind} labels, model {number}", number, data[kind])
        for kind in (_CLEAN, _CONTAMINATED)
        for number in numbers
    ]
    trained = train_with(runner, config, sources, "train contaminated", {_GROUP: lessons})[_GROUP]
    scored = _score(runner, config, data["labels"], trained[len(numbers) :])
    reviews = _review(runner, config, data, scored)
    cases = [
        _Case(part.order, part.model, share, done.tables[f"relabelled_{place:03d}"])
        for part, done in zip(scored, reviews, strict=True)
        for place, share in enumerate(config.contamination.budgets)
    ]
    relabelled = _relabel(runner, config, sources, cases)
    rights = _judge(runner, config, texts, [*trained, *relabelled])
    inspections = [done.tables["inspections"] for done in reviews]
    return {
        "inspections": inspections,
        "contamination": [_summary(runner, config, texts, cases, inspections, rights)],
    }


class _Case(NamedTuple):
    """What a model learns after a share of the texts was looked at in an order, by the model's number.

    Attributes:
        texts: of the schema ``SPLIT``.
    """

    order: str
    model: int
    share: float
    texts: TableRef


# --- wrong labels ---------------------------------------------------------------------------------------------------


def _flip(runner: Runner, config: DecoyBenchmarkRun, texts: TableRef) -> Mapping[str, TableRef]:
    """Tables ``clean`` and ``contaminated`` of the schema ``SPLIT``, and ``labels``."""
    chosen = config.contamination
    settings = {"operator": contamination.VERSION, "share": chosen.share, "num_texts": chosen.num_texts}
    unit = Unit("contaminated_labels/2", "labels", settings | {"seed": config.seed}, {"texts": [texts]})
    [done] = runner.run_whole(Stage("flip labels", each(_flipped), {_GROUP: [unit]}))[_GROUP]
    return done.tables


def _flipped(store: Store, unit: Unit) -> Tables:
    rows, seed = store.read(unit.input("texts")).to_pylist(), unit.config["seed"]
    training = _sample([row for row in rows if row["part"] == "training"], unit.config["num_texts"], seed)
    keys, gold = [document_key(row["text"]) for row in training], [row["label"] for row in training]
    given = flipped_labels(gold, keys, unit.config["share"], seed)
    classes = lasting_classes(gold, given)
    development = [row for row in rows if row["part"] == "development" and row["label"] in classes]
    pairs = list(zip(training, given, strict=True))
    yield _CLEAN, pa.Table.from_pylist([*training, *development], SPLIT)
    contaminated = [row | {"label": label} for row, label in pairs]
    yield _CONTAMINATED, pa.Table.from_pylist([*contaminated, *development], SPLIT)
    labels = [row | {"label": label, "gold": row["label"], "is_flipped": label != row["label"]} for row, label in pairs]
    yield "labels", pa.Table.from_pylist(labels, tables.LABELS)


def _sample(rows: Sequence[dict[str, Any]], num: int | None, seed: int) -> list[dict[str, Any]]:
    """Which texts are taken depends on what they say."""
    drawn = sorted(rows, key=lambda row: (document_key(f"{seed}\ncontaminated\n{row['text']}"), row["row"]))[:num]
    return sorted(drawn, key=lambda row: int(row["row"]))


# --- how suspicious each is -----------------------------------------------------------------------------------------


class _Scored(NamedTuple):
    """Parts of the scores of an order by a model."""

    order: str
    model: int
    scores: Sequence[TableRef]


def _score(runner: Runner, config: DecoyBenchmarkRun, labels: TableRef, models: Sequence[TableRef]) -> list[_Scored]:
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    units = {
        (order, number): [
            Unit(
                "label_suspicion/1",
                f"{order}, model {number}, texts {first} to {last}",
                {**settings, "rows": [first, last], "on_gpu": on_gpu},
                {"labels": [labels], "model": [model]},
            )
            for first, last in _spans(labels.num_rows, _MOST_TEXTS if "attribution" in settings else labels.num_rows)
        ]
        for number, model in enumerate(models)
        for order, settings in _orders(config).items()
    }
    every = [unit for parts in units.values() for unit in parts]
    work = _Scoring("cuda" if on_gpu else "cpu", config.models.training.max_tokens)
    done = iter(runner.run_whole(Stage("inspect", work, {_GROUP: every}, None, on_gpu))[_GROUP])
    return [
        _Scored(order, number, [next(done).tables["scores"] for _ in parts]) for (order, number), parts in units.items()
    ]


def _spans(num: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(first + size, num)) for first in range(0, num, size)]


def _orders(config: DecoyBenchmarkRun) -> dict[str, dict[str, Any]]:
    """Orders in which texts are looked at, with what their scores depend on."""
    explanations = config.explanations
    orders: dict[str, dict[str, Any]] = {
        method: {
            "operators": [attribution.VERSION, contamination.VERSION],
            "attribution": replace(explanations.attribution, method=method),
            "top_words": explanations.top_words,
            "seed": config.seed,
        }
        for method in explanations.methods
        if method != _CHANCE
    }
    for order in config.contamination.orders:
        orders[order] = {"operators": [contamination.VERSION], "order": order}
    if "influence" in orders:
        orders["influence"]["damping"] = config.contamination.damping
    return orders


@dataclass(frozen=True)
class _Scoring:
    device: str
    max_tokens: int

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        for unit in units:
            first, last = unit.config["rows"]
            rows = store.read(unit.input("labels")).to_pylist()[first:last]
            trained = unit.input("model")
            key = (tuple(trained.columns.values()), self.device)
            with resident(key, partial(self._load, store, trained)) as classifier:
                scores = self._scores(classifier, rows, unit.config)
            lines = [{"row": row["row"], "score": score} for row, score in zip(rows, scores, strict=True)]
            yield unit, [("scores", pa.Table.from_pylist(lines, tables.SCORES))]

    def _load(self, store: Store, trained: TableRef, _: object) -> TextClassifier:
        return trained_model(trained).load(store, self.device)

    def _scores(
        self, classifier: TextClassifier, rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any]
    ) -> list[float]:
        labels = [classifier.classes.index(row["label"]) for row in rows]
        if "attribution" in config:
            return _evidence(classifier, rows, labels, config)
        if config["order"] == "oracle":
            return [float(row["is_flipped"]) for row in rows]
        if config["order"] == "random":
            return [0.0 for _ in rows]
        states, probabilities = self._outputs(classifier, rows)
        if config["order"] == "loss":
            return list(map(float, losses(probabilities, np.array(labels))))
        return list(map(float, self_influence(states, probabilities, np.array(labels), config["damping"])))

    def _outputs(
        self, classifier: TextClassifier, rows: Sequence[Mapping[str, Any]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Representations and probabilities of the classes."""
        from tiltmeter.operators.classifiers.networks import HeadedNetwork, outputs  # imports torch

        network = classifier.network
        if not isinstance(network, HeadedNetwork):
            raise TypeError(f"{type(network).__name__}: must be a network that was trained here")
        made = outputs(network, classifier.tokenise([row["text"] for row in rows]), self.max_tokens)
        return made.representation.astype(np.float64), softmax(made.logits[network.main].astype(np.float64))


def _evidence(
    classifier: TextClassifier, rows: Sequence[Mapping[str, Any]], labels: Sequence[int], config: Mapping[str, Any]
) -> list[float]:
    texts = [row["text"] for row in rows]
    explanations = attribute(classifier, texts, config["attribution"], targets=labels, seed=config["seed"])
    return [
        evidence_against(Explained([folded(word) for word in part.words], part.values), config["top_words"])
        for part in explanations
    ]


# --- correction -----------------------------------------------------------------------------------------------------


def _review(
    runner: Runner, config: DecoyBenchmarkRun, data: Mapping[str, TableRef], scored: Sequence[_Scored]
) -> list[Finished]:
    """Of each order and model, the table ``inspections``, and one ``relabelled_<number>`` for each budget."""
    settings = {"operator": contamination.VERSION, "budgets": config.contamination.budgets}
    inputs = {"labels": [data["labels"]], "texts": [data[_CONTAMINATED]]}
    units = [
        Unit(
            "label_review/1",
            f"{order}, model {number}",
            settings | {"order": order, "model": number, "seed": config.seed + number},
            inputs | {"scores": list(scores)},
        )
        for order, number, scores in scored
    ]
    return runner.run_whole(Stage("correct labels", each(_corrected), {_GROUP: units}, None))[_GROUP]


def _corrected(store: Store, unit: Unit) -> Tables:
    labels = store.read(unit.input("labels")).to_pylist()
    scores = [row for ref in unit.inputs["scores"] for row in store.read(ref)["score"].to_pylist()]
    order = inspected(np.array(scores), [document_key(row["text"]) for row in labels], unit.config["seed"]).tolist()
    about = {name: unit.config[name] for name in ("order", "model")}
    lines = [about | labels[row] | {"place": place, "score": scores[row]} for place, row in enumerate(order, start=1)]
    yield "inspections", pa.Table.from_pylist(lines, tables.INSPECTIONS)
    texts = store.read(unit.input("texts")).to_pylist()
    for number, share in enumerate(unit.config["budgets"]):
        gold = {labels[row]["row"]: labels[row]["gold"] for row in order[: _num_inspected(share, len(labels))]}
        corrected = [
            row | {"label": gold[row["row"]]} if row["part"] == "training" and row["row"] in gold else row
            for row in texts
        ]
        yield f"relabelled_{number:03d}", pa.Table.from_pylist(corrected, SPLIT)


def _num_inspected(share: float, num: int) -> int:
    return max(1, round(share * num))


def _relabel(
    runner: Runner, config: DecoyBenchmarkRun, sources: BenchmarkSources, cases: Sequence[_Case]
) -> list[TableRef]:
    lessons = [
        Lesson(f"{order}, {share:.0%} corrected, model {number}", number, texts)
        for order, number, share, texts in cases
    ]
    return train_with(runner, config, sources, "train corrected", {_GROUP: lessons})[_GROUP]


# --- what is gained -------------------------------------------------------------------------------------------------


def _judge(runner: Runner, config: DecoyBenchmarkRun, texts: TableRef, models: Sequence[TableRef]) -> list[TableRef]:
    """Of each model, of which test texts it is right."""
    on_gpu = uses_gpus(config.models.device, runner.pool.num_gpus, "models.device")
    settings = {"max_tokens": config.models.training.max_tokens, "on_gpu": on_gpu}
    units = [
        Unit("test_rights/1", f"model {number}", settings, {"texts": [texts], "model": [model]})
        for number, model in enumerate(models)
    ]
    work = _Judging("cuda" if on_gpu else "cpu")
    done = runner.run_whole(Stage("evaluate corrected", each(work), {_GROUP: units}, None, on_gpu))[_GROUP]
    return [finished.tables["rights"] for finished in done]


@dataclass(frozen=True)
class _Judging:
    device: str

    def __call__(self, store: Store, unit: Unit) -> Tables:
        rows = [row for row in store.read(unit.input("texts")).to_pylist() if row["part"] == "test"]
        classifier = trained_model(unit.input("model")).load(store, self.device)
        yield "rights", pa.table({"is_right": answered(classifier, rows, unit.config["max_tokens"]).is_right})


def _summary(
    runner: Runner,
    config: DecoyBenchmarkRun,
    texts: TableRef,
    cases: Sequence[_Case],
    inspections: Sequence[TableRef],
    rights: Sequence[TableRef],
) -> TableRef:
    settings = {
        "cases": [[order, number, share] for order, number, share, _ in cases],
        "number": config.models.number,
        "intervals": config.intervals,
        "operator": means.VERSION,
        "seed": config.seed,
    }
    grouped = [name for name in ("group",) if name in texts.columns]
    inputs = {
        "texts": [texts.select("part", "row", "text", *grouped)],
        "inspections": list(inspections),
        "rights": list(rights),
    }
    unit = Unit("contamination_summary/5", "labels", settings, inputs)
    [done] = runner.run_whole(Stage("uncover labels", each(sum_up), {_GROUP: [unit]}))[_GROUP]
    return done.tables["contamination"]


def sum_up(store: Store, unit: Unit) -> Tables:
    """The table ``contamination``, from the texts, ``inspections`` and, by model, of which test texts each is right."""
    config, number = unit.config, unit.config["number"]
    rights = [store.read(ref)["is_right"].to_numpy(zero_copy_only=False) for ref in unit.inputs["rights"]]
    models = {_CLEAN: np.array(rights[:number], float), _CONTAMINATED: np.array(rights[number : 2 * number], float)}
    relabelled: dict[tuple[str, float], list[NDArray[np.bool_]]] = {}
    for (order, _, share), these in zip(config["cases"], rights[2 * number :], strict=True):
        relabelled.setdefault((order, share), []).append(these)
    inspections = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["inspections"]])
    texts = store.read(unit.input("texts")).to_pylist()
    tested = [row for row in texts if row["part"] == "test"]
    by_row = {row["row"]: row for row in texts if row["part"] == "training"}
    rows = [
        {"order": order, "share": share, "num_models": number}
        | _uncovered(inspections.filter(order=order), share, config, by_row)
        | {f"accuracy_{kind}": float(values.mean()) for kind, values in models.items()}
        | {"accuracy_relabelled": float(np.mean(these))}
        | _mean_of_models("gain", np.array(these, float) - models[_CONTAMINATED], config, FISHER, tested)
        for (order, share), these in relabelled.items()
    ]
    yield from with_draws({"contamination": (rows, tables.CONTAMINATION)}, None, pa.Table.from_pylist)


def _mean_of_models(
    name: str, by_model: FloatArray, config: Mapping[str, Any], scale: Scale, texts: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Of ``[models, texts]``, with an interval for other texts, of other groups, and models that are trained again."""
    sentence, seeds = [row["text"] for row in texts], by_model.mean(axis=1)
    return mean_of_texts(name, by_model.mean(axis=0), config, scale, sentence, units_of_texts(texts), seeds)


def _uncovered(
    inspections: pl.DataFrame, share: float, config: Mapping[str, Any], texts: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """How many of the flipped labels are looked at, with the interval of their share over such texts."""
    num_inspected = _num_inspected(share, inspections["row"].n_unique())
    flipped = inspections.filter("is_flipped").sort("model", "row")
    is_seen = (flipped["place"] <= num_inspected).to_numpy().reshape(flipped["model"].n_unique(), -1).astype(np.float64)
    drawn = [texts[row] for row in flipped["row"].unique().sort()]
    counts: dict[str, Any] = {"num_inspected": num_inspected, "num_flipped": len(drawn)}
    counts |= {"num_uncovered": float(is_seen.mean(axis=0).sum())}
    return counts | _mean_of_models("uncovered", is_seen, config, LOGIT, drawn)

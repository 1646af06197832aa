"""Words left out of the texts that a teacher gets wrong, in the order of several scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.dividing import drawn_order, part_rows
from tiltmeter.jobs.classifiers.influence.evaluating import student_inputs, student_refs
from tiltmeter.jobs.classifiers.influence.learning import known_words, load_student
from tiltmeter.jobs.classifiers.influence.replacing import judged
from tiltmeter.jobs.classifiers.influence.tables import MASKING
from tiltmeter.jobs.classifiers.influence.teaching import LoadedTeacher, TaughtBy, on_gpu
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.influence import clusters
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.masking import coverage, masking_order, num_masked, random_scores
from tiltmeter.operators.classifiers.influence.records import Context, Words
from tiltmeter.operators.classifiers.influence.scores import (
    hybrid,
    hybrid_sum,
    influence_scores,
    support,
    unlike_ratios,
)
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_NO_TEXTS = failed("no_wrong_texts", "the teacher gets no test text wrong")
_METHODS = ("influence", "unlike_ratios", "hybrid", "hybrid_sum", "hybrid_of_texts", "lime", "random")

_OTHERS = ("lime", "random")

Refs = Mapping[str, TableRef]


def mask_words(
    runner: Runner,
    config: WordInfluenceRun,
    teachers: Sequence[TaughtBy],
    prepared: TableRef,
    vocabularies: Refs,
    students: Mapping[str, Sequence[Refs]],
) -> list[TableRef]:
    """Tables ``masking`` of all students."""
    settings = {
        "student": config.student,
        "language": config.models.encoder.language,
        "masking": config.masking,
        "bias": config.influence_bias,
        "intervals": config.intervals,
        "rates": [clusters.VERSION, means.VERSION],
        "unit": config.data.group or "sentence",
        "run_seed": config.seed,
    }
    units = {
        taught.name: [
            Unit(
                "influence_masking/5",
                f"student {seed} of teacher {taught.name}",
                {**taught.identity, **settings, "seed": seed},
                {"texts": [prepared], "vocabulary": [vocabularies[taught.name]]} | student_inputs(refs) | taught.inputs,
            )
            for seed, refs in enumerate(students[taught.name])
        ]
        for taught in teachers
        if taught.name in students
    }
    by_name = {taught.name: taught for taught in teachers}
    done = runner.run_whole(Stage("mask words", each(_Masking(by_name)), units, on_gpu=on_gpu(teachers)))
    return [unit.tables["masking"] for finished in done.values() for unit in finished]


@dataclass(frozen=True)
class _Masking:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        config = unit.config
        loaded = self.teachers[config["teacher"]].load(store)
        tested = part_rows(store, unit.input("texts"), "test")
        labels = loaded.teacher.labels([row["words"] for row in tested])
        wrong = [number for number, row in enumerate(tested) if loaded.teacher.classes[labels[number]] != row["label"]]
        order = drawn_order([" ".join(tested[number]["words"]) for number in wrong], config["run_seed"], "masking")
        chosen = [wrong[place] for place in sorted(order[: config["masking"].max_texts])]
        shared = {"model": config["teacher"], "seed": config["seed"], "num_texts": len(chosen)}
        if not chosen:
            empty = [shared | {"method": name, "budget": config["masking"].budget} | _NO_TEXTS for name in _METHODS]
            yield "masking", table_of(empty, MASKING)
            return
        student = load_student(store, student_refs(unit), config["student"], config["language"])
        known = known_words(store, unit.input("vocabulary"))
        supports = _supports(
            [tested[number] for number in chosen], labels[chosen].tolist(), known, loaded, student, config
        )
        rows = [shared | row for row in _coverages([tested[number] for number in chosen], supports, loaded, config)]
        yield from with_draws({"masking": (rows, MASKING)}, None)


def _supports(
    rows: Sequence[Row],
    labels: Sequence[int],
    known: Mapping[str, Sequence[str]],
    loaded: LoadedTeacher,
    student: Any,
    config: Mapping[str, Any],
) -> dict[str, list[FloatArray]]:
    """Of each text's words, for its class, by each score."""
    settings, teacher = config["masking"], loaded.teacher
    result: dict[str, list[FloatArray]] = {name: [] for name in _METHODS}
    for row, label in zip(rows, labels, strict=True):
        words = row["words"]
        contexts = [Context(words, place) for place in range(len(words))]
        changes = student.changes(student.contexts(contexts), student.words(words))
        scores = influence_scores(changes, teacher.weight, teacher.bias if config["bias"] else None)
        result["influence"].append(support(scores, label))
        ratios = np.zeros(len(words))
        for tag in sorted(set(row["tags"])):
            places = [place for place, other in enumerate(row["tags"]) if other == tag]
            some = known.get(tag, [])[: settings.max_words]
            if some:
                answers = judged(
                    [contexts[place] for place in places], some, loaded, student, config["student"], "never"
                )
                for place, answer in zip(places, answers, strict=True):
                    [ratios[place]] = unlike_ratios(answer.student[None], np.array([label]), answer.allowed[None])
        result["unlike_ratios"].append(np.nan_to_num(ratios))
        result["hybrid"].append(hybrid(ratios, result["influence"][-1]))
        part = result["influence"][-1] if scores.ndim == 1 else np.tanh(result["influence"][-1] / 2.0)  # of log odds
        result["hybrid_sum"].append(hybrid_sum(ratios, part))
        result["hybrid_of_texts"].append(hybrid(ratios, result["influence"][-1], of_places=False))
        result["random"].append(random_scores(words, config["run_seed"]))
    texts = [row["text"] for row in rows]
    lime = AttributionConfig(method="lime", num_samples=settings.num_samples)
    explained = attribute(loaded.classifier, texts, lime, targets=list(labels), seed=config["run_seed"])
    result["lime"] = [
        attribution.values if len(attribution.values) == len(row["words"]) else np.zeros(len(row["words"]))
        for attribution, row in zip(explained, rows, strict=True)
    ]
    return result


def _coverages(
    rows: Sequence[Row],
    supports: Mapping[str, Sequence[FloatArray]],
    loaded: LoadedTeacher,
    config: Mapping[str, Any],
) -> Iterator[Row]:
    budget, texts = config["masking"].budget, [row["words"] for row in rows]
    nums = {
        name: num_masked(loaded.teacher, texts, _orders(name, texts, by_text, config), budget)
        for name, by_text in supports.items()
    }
    units = np.unique([row["cluster"] for row in rows], return_inverse=True)[1]
    about = f"{config['teacher']}\nmasking"
    intervals = config["intervals"]
    num, keys = int(units.max()) + 1, intervals.cluster_keys(texts, units)
    sampled = SampledClusters(num, intervals, config["run_seed"], document_key(about), config["unit"], keys)
    scheme = drawn_texts([texts, units.tolist()], config["run_seed"], about, intervals.keyed_by)
    for name, by_text in nums.items():
        for size in sorted({1, 2, 3, 5, budget}):
            if size > budget:
                continue
            result, lime = coverage(by_text, size), coverage(nums["lime"], size)
            share = sampled.rate(result.is_covered, units)
            less = sampled.rate(result.is_covered.astype(np.int64) - lime.is_covered, units, FISHER)
            yield {
                **drawn("coverage", share.resamples, scheme, num),
                **drawn("less_lime", less.resamples, scheme, num),
                "method": name,
                "budget": size,
                "coverage": result.coverage,
                "coverage_low": share.low,
                "coverage_high": share.high,
                "mean_masked": result.mean_masked,
                "less_lime": less.value,
                "less_lime_low": less.low,
                "less_lime_high": less.high,
            } | (failed("too_few_units", less.too_few.reason) if less.too_few else OK)


def _orders(
    name: str, texts: Sequence[Words], supports: Sequence[FloatArray], config: Mapping[str, Any]
) -> list[IntArray]:
    """Of the places of each text; a word that comes several times has one score of the student's."""
    is_by_word = config["masking"].by_word and name not in _OTHERS
    return [masking_order(values, text if is_by_word else None) for text, values in zip(texts, supports, strict=True)]

"""How well students follow their teachers, on development and test texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.dividing import part_rows
from tiltmeter.jobs.classifiers.influence.learning import load_student
from tiltmeter.jobs.classifiers.influence.tables import STUDENTS
from tiltmeter.jobs.classifiers.influence.teaching import TaughtBy, on_gpu
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.classifiers.influence import clusters
from tiltmeter.operators.classifiers.influence.all_correct import (
    Agreement,
    agreement,
    all_correct,
    length_groups,
    per_word,
)
from tiltmeter.operators.classifiers.influence.calibration import (
    calibrated_confidence,
    confidence_bins,
    published_confidence,
)
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import means
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def evaluate_students(
    runner: Runner,
    config: WordInfluenceRun,
    teachers: Sequence[TaughtBy],
    prepared: TableRef,
    students: Mapping[str, Sequence[Mapping[str, TableRef]]],
) -> list[TableRef]:
    """Tables ``students``."""
    settings = {"student": config.student, "intervals": config.intervals, "run_seed": config.seed}
    settings |= {"language": config.models.encoder.language, "rates": clusters.VERSION}
    settings |= {"unit": config.data.group or "sentence", "means": means.VERSION}
    units = {
        taught.name: [
            Unit(
                "influence_agreement/6",
                f"student {seed} of teacher {taught.name}",
                {**taught.identity, **settings, "seed": seed},
                {"texts": [prepared], **student_inputs(refs), **taught.inputs},
            )
            for seed, refs in enumerate(students[taught.name])
        ]
        for taught in teachers
        if taught.name in students
    }
    by_name = {taught.name: taught for taught in teachers}
    done = runner.run_whole(Stage("evaluate students", each(_Evaluating(by_name)), units, on_gpu=on_gpu(teachers)))
    return [unit.tables["students"] for finished in done.values() for unit in finished]


def shard_units(
    version: str,
    settings: Mapping[str, Any],
    teachers: Sequence[TaughtBy],
    contexts: Mapping[str, TableRef],
    vocabularies: Mapping[str, TableRef],
    students: Mapping[str, Sequence[Mapping[str, TableRef]]],
) -> dict[str, list[Unit]]:
    """Of each teacher that has students, a unit for each shard of contexts, with the first student."""
    return {
        taught.name: [
            Unit(
                version,
                f"{shard} of teacher {taught.name}",
                {**taught.identity, **settings},
                {"contexts": [ref], "vocabulary": [vocabularies[taught.name]]}
                | student_inputs(students[taught.name][0])
                | taught.inputs,
            )
            for shard, ref in contexts.items()
        ]
        for taught in teachers
        if taught.name in students
    }


def student_inputs(refs: Mapping[str, TableRef]) -> dict[str, list[TableRef]]:
    """For the inputs of a unit; see :func:`student_refs`."""
    return {f"student_{name}": [refs[name]] for name in ("weights", "words")}


def student_refs(unit: Unit) -> dict[str, TableRef]:
    """The tables of the student that a unit has among its inputs."""
    return {name: unit.input(f"student_{name}") for name in ("weights", "words")}


@dataclass(frozen=True)
class _Places:
    """What both say of all places of a part.

    Attributes:
        texts, clusters, lengths, tags, gold: ``[places]``, of each one's text or word.
        given: ``[places]``, the teacher's class of the text.
        student, context_only: ``[places]``, the student's class, and the teacher's without the word.
        confidences: ``[places]``, how sure the student is of its class, by p'' and by its error on development texts.
    """

    texts: IntArray
    clusters: IntArray
    lengths: IntArray
    tags: Any
    gold: IntArray
    given: IntArray
    student: IntArray
    context_only: IntArray
    confidences: Mapping[str, FloatArray]


@dataclass(frozen=True)
class _Evaluating:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        config = unit.config
        teacher = self.teachers[config["teacher"]].load(store).teacher
        student = load_student(store, student_refs(unit), config["student"], config["language"])
        rows = []
        for part in ("development", "test"):
            texts, about = part_rows(store, unit.input("texts"), part), f"{config['teacher']}\n{part}"
            clusters = np.unique([row["cluster"] for row in texts], return_inverse=True)[1]
            places = _places(texts, clusters, teacher, student, config["student"])
            intervals, num = config["intervals"], int(clusters.max()) + 1
            keys = intervals.cluster_keys([row["words"] for row in texts], clusters)
            sampled = SampledClusters(num, intervals, config["run_seed"], document_key(about), config["unit"], keys)
            texts_and_clusters = [[row["words"], row["cluster"]] for row in texts]
            scheme = drawn_texts(texts_and_clusters, config["run_seed"], about, intervals.keyed_by)
            for split, measure, share in _agreements(places, part, sampled):
                status = failed("too_few_units", share.too_few.reason) if share.too_few else OK
                rows.append(
                    {"model": config["teacher"], "seed": config["seed"], "split": split, "measure": measure}
                    | share._asdict()
                    | drawn("value", share.resamples, scheme, share.num_clusters)
                    | status
                )
        yield from with_draws({"students": (rows, STUDENTS)}, None)


def _places(rows: Sequence[Row], clusters: IntArray, teacher: Any, student: Any, settings: Any) -> _Places:
    from tiltmeter.operators.classifiers.influence.student_training import base_states

    contexts = [Context(row["words"], place) for row in rows for place in range(len(row["words"]))]
    lengths = np.array([len(row["words"]) for row in rows])
    texts = np.repeat(np.arange(len(rows)), lengths)
    classes = {label: number for number, label in enumerate(teacher.classes)}
    masked = teacher.states([context.replaced() for context in contexts])
    base = masked if settings.convention == "masked" else base_states(teacher, contexts, settings)
    changes = student.changes(student.contexts(contexts), student.words([context.word for context in contexts]))
    logits = teacher.logits(base + changes)
    confidences = {"calibration_error_published": published_confidence(logits)}
    if error := float(student.network.margin_error):
        confidences["calibration_error"] = calibrated_confidence(logits, error)
    return _Places(
        texts,
        clusters[texts],
        lengths[texts],
        np.array([tag for row in rows for tag in row["tags"]]),
        np.array([classes.get(row["label"], -1) for row in rows])[texts],
        teacher.labels([row["words"] for row in rows])[texts],
        logits.argmax(axis=1),
        teacher.logits(masked).argmax(axis=1),
        confidences,
    )


def _agreements(places: _Places, part: str, sampled: SampledClusters) -> Iterator[tuple[str, str, Agreement]]:
    """Split, measure and share."""
    groups = {f"{part}:{name}": group for name, group in length_groups(places.lengths).items()}
    for split, group in {part: np.ones(places.texts.size, bool), **groups}.items():
        if group.any():
            yield from ((split, *rest) for rest in _shares(places, group, sampled, has_gold=split == part))
    for tag in sorted(set(places.tags.tolist())):
        group = places.tags == tag
        for name, labels in (("per_word", places.student), ("per_word_context_only", places.context_only)):
            is_right = (labels == places.given)[group]
            yield f"{part}:{tag}", name, per_word(is_right, places.clusters[group], sampled)


def _shares(
    places: _Places, group: BoolArray, sampled: SampledClusters, *, has_gold: bool
) -> Iterator[tuple[str, Agreement]]:
    texts, sentences = places.texts[group], places.clusters[group]
    for ending, labels in (("", places.student), ("_context_only", places.context_only)):
        is_right = (labels == places.given)[group]
        yield f"all_correct{ending}", all_correct(is_right, texts, sentences, sampled)
        yield f"per_word{ending}", per_word(is_right, sentences, sampled)
    if has_gold:
        is_right = places.student == places.gold
        yield "all_correct_gold", all_correct(is_right, texts, sentences, sampled)
        yield "teacher_accuracy", all_correct(places.given == places.gold, texts, sentences, sampled)
        yield "teacher_accuracy_masked", per_word(places.context_only == places.gold, sentences, sampled)
        for name, confidence in places.confidences.items():
            gaps = confidence - (places.student == places.given)
            rate = sampled.binned_gap(gaps, confidence_bins(confidence), sentences)
            yield name, agreement(rate, sentences)

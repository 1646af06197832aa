"""Words of test texts replaced by others: influence, unlike ratios and counterfactuals, a shard at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence import tables
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.dividing import context_of, drawn_order, part_rows
from tiltmeter.jobs.classifiers.influence.evaluating import shard_units, student_refs
from tiltmeter.jobs.classifiers.influence.learning import known_words, load_student
from tiltmeter.jobs.classifiers.influence.teaching import LoadedTeacher, TaughtBy, on_gpu
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.classifiers.influence import prediction_powered, scores
from tiltmeter.operators.classifiers.influence.calibration import ErrorGrowth, sure_cuts
from tiltmeter.operators.classifiers.influence.prediction_powered import Powered, Stratum, powered_rate
from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator, one_thread
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_CHECKED = 6
_NO_WORDS = failed("no_words", "the teacher knows no other word of this part of speech")
_NONE = failed("no_counterfactual", "the student expects no word to change the class")
_UNSURE = failed("unsure", "the student is not sure of any word that it expects to change the class")

Refs = Mapping[str, TableRef]


def replace_words(
    runner: Runner,
    config: WordInfluenceRun,
    teachers: Sequence[TaughtBy],
    prepared: TableRef,
    vocabularies: Refs,
    students: Mapping[str, Sequence[Refs]],
) -> dict[str, list[TableRef]]:
    """Tables ``influences``, ``unlike_ratios`` and ``counterfactuals``, of each teacher's first student."""
    drawing = Unit(
        "influence_contexts/2",
        "contexts",
        {"num": config.ratios.num_contexts, "size": config.ratios.unit_contexts, "seed": config.seed}
        | {"tags": config.ratios.parts_of_speech},
        {"texts": [prepared]},
    )
    [drawn] = runner.run_whole(Stage("draw contexts", each(_draw), {"contexts": [drawing]}))["contexts"]
    settings = {
        "student": config.student,
        "language": config.models.encoder.language,
        "ratios": {
            "max_words": config.ratios.max_words,
            "most": config.ratios.most,
            "sureness": config.ratios.sureness,
        },
        "checks": [config.exact, config.ratios.num_checked, prediction_powered.VERSION],
        "bias": config.influence_bias,
        "level": config.intervals.level,
        "seed": config.seed,
    }
    units = shard_units("influence_ratios/2", settings, teachers, drawn.tables, vocabularies, students)
    by_name = {taught.name: taught for taught in teachers}
    done = runner.run_whole(Stage("replace words", each(_Replacing(by_name)), units, on_gpu=on_gpu(teachers)))
    finished = [unit for group in done.values() for unit in group]
    return {
        name: [unit.tables[name] for unit in finished] for name in ("influences", "unlike_ratios", "counterfactuals")
    }


def _draw(store: Store, unit: Unit) -> Tables:
    """Contexts of test texts in shards; which ones is a matter of what they say."""
    config = unit.config
    places = [
        {"row": row["row"], "text": row["text"], "words": row["words"], "place": place, "tag": tag}
        for row in part_rows(store, unit.input("texts"), "test")
        for place, tag in enumerate(row["tags"])
        if tag in config["tags"]
    ]
    if not places:
        raise ValueError(
            f"no test text has a word of ratios.parts_of_speech={list(config['tags'])}: set it to others, or data.test"
        )
    keys = [f"{' '.join(place['words'])}\n{place['place']}" for place in places]
    chosen = sorted(drawn_order(keys, config["seed"], "contexts")[: config["num"]])
    for start in range(0, len(chosen), config["size"]):
        part = [places[number] for number in chosen[start : start + config["size"]]]
        yield f"contexts_{start:08d}", pa.Table.from_pylist(part)


class Judged(NamedTuple):
    """Both sides' classes of the words in one context.

    Attributes:
        words: that are put there.
        allowed: ``[words]``, that count.
        base: ``[classes]``, the teacher's logits of what the student's changes are added to.
        margins: ``[words, classes - 1]``, the student's.
        student: ``[words]``, its classes.
        teacher: ``[words]``, the teacher's classes; None where it does not judge all.
    """

    words: Sequence[str]
    allowed: BoolArray
    base: FloatArray
    margins: NDArray[np.float32]
    student: IntArray
    teacher: IntArray | None


def judged(
    contexts: Sequence[Context], words: Sequence[str], loaded: LoadedTeacher, student: Any, settings: Any, exact: str
) -> Iterator[Judged]:
    """Each context with all words; the teacher's part of it where its encoder is local."""
    from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
    from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels
    from tiltmeter.operators.classifiers.influence.student_training import base_states

    with one_thread():
        network, base = Folded(student.network, loaded.teacher), base_states(loaded.teacher, contexts, settings)
        margins = network.margins(student.contexts(contexts), base, student.words(words))
        truth: Iterator[Any] = iter([None] * len(contexts))
        if loaded.network is not None and loaded.vocabulary is not None and exact == "auto":
            truth = LocalTeacher(loaded.network, loaded.vocabulary, words).logits(contexts)
    for context, of_base in zip(contexts, loaded.teacher.logits(base), strict=True):
        with one_thread():  # not around the yield
            margin, logits = next(margins), next(truth)
        allowed = np.array([folded(word) != folded(context.word) for word in words], dtype=bool)
        labels = None if logits is None else logits.argmax(axis=1)
        yield Judged(words, allowed, of_base, margin, margin_labels(margin), labels)


@dataclass(frozen=True)
class _Replacing:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        config = unit.config
        loaded = self.teachers[config["teacher"]].load(store)
        student = load_student(store, student_refs(unit), config["student"], config["language"])
        rows = store.read(unit.input("contexts")).to_pylist()
        contexts = [context_of(row) for row in rows]
        given = loaded.teacher.labels([context.text for context in contexts])
        shared = [
            {"model": config["teacher"], "row": row["row"], "place": row["place"], "part_of_speech": row["tag"]}
            | {"word": context.word, "label": loaded.teacher.classes[label]}
            for row, context, label in zip(rows, contexts, given.tolist(), strict=True)
        ]
        influences = _influences(contexts, given, shared, loaded, student, bias=config["bias"])
        yield "influences", table_of(list(influences), tables.INFLUENCES)
        words = known_words(store, unit.input("vocabulary"))
        growth = student.error_growth
        ratios: list[Row] = [{}] * len(rows)
        counters: list[Row] = [{}] * len(rows)
        for tag in sorted({row["tag"] for row in rows}):
            places = [number for number, row in enumerate(rows) if row["tag"] == tag]
            some = words.get(tag, [])[: config["ratios"]["max_words"]]
            of_tag = (
                judged(
                    [contexts[number] for number in places],
                    some,
                    loaded,
                    student,
                    config["student"],
                    config["checks"][0],
                )
                if some
                else iter(())
            )
            for number in places:
                answer = next(of_tag, None)
                if answer is None or not answer.allowed.any():
                    ratios[number] = counters[number] = shared[number] | _NO_WORDS
                    continue
                context, label = contexts[number], int(given[number])
                ratios[number] = shared[number] | _ratio(context, label, answer, loaded, config)
                counters[number] = (
                    shared[number]
                    | {"chance": ratios[number].get("teacher_ratio")}
                    | _counterfactuals(context, label, answer, loaded, config["ratios"], growth)
                )
        yield "unlike_ratios", table_of(ratios, tables.UNLIKE_RATIOS)
        yield "counterfactuals", table_of(counters, tables.COUNTERFACTUALS)


def _influences(
    contexts: Sequence[Context],
    given: IntArray,
    shared: Sequence[Row],
    loaded: LoadedTeacher,
    student: Any,
    *,
    bias: bool,
) -> Iterator[Row]:
    teacher = loaded.teacher
    changes = student.changes(student.contexts(contexts), student.words([context.word for context in contexts]))
    values = scores.influence_scores(changes, teacher.weight, teacher.bias if bias else None)
    for number, row in enumerate(shared):
        label = int(given[number])
        supported = float(scores.support(values[number : number + 1], label)[0])
        yield row | {"score": float(values[number]) if values.ndim == 1 else supported, "support": supported}


def _ratio(context: Context, label: int, answer: Judged, loaded: LoadedTeacher, config: Mapping[str, Any]) -> Row:
    """The student's ratio, and the teacher's: as it is, or as a sample of words says."""
    unlike = (answer.student != label)[answer.allowed]
    if answer.teacher is not None:
        truth = (answer.teacher != label)[answer.allowed]
        ratio = float(truth.mean())
        powered = Powered(ratio, ratio, ratio, truth.size)
        agreement = float((answer.student == answer.teacher)[answer.allowed].mean())
    else:
        powered, agreement = _checked(context, label, answer, loaded, config)
    return {
        "ratio": float(unlike.mean()),
        "teacher_ratio": powered.estimate,
        "teacher_low": powered.low,
        "teacher_high": powered.high,
        "num_words": int(unlike.size),
        "num_checked": powered.num,
        "agreement": agreement,
    } | OK


def _checked(
    context: Context, label: int, answer: Judged, loaded: LoadedTeacher, config: Mapping[str, Any]
) -> tuple[Powered, float]:
    """Half of the words that are checked are such as the student calls unlike, as far as there are so many."""
    key = document_key(f"{' '.join(context.text)}\n{context.place}")
    generator = keyed_generator(config["seed"], Stream.INFLUENCE, _CHECKED, key)
    allowed = np.flatnonzero(answer.allowed)
    is_unlike = answer.student[allowed] != label
    groups = [generator.permutation(allowed[is_unlike]), generator.permutation(allowed[~is_unlike])]
    num = config["checks"][1]
    first = min(max(num // 2, num - groups[1].size), groups[0].size)
    drawn = [groups[0][:first], groups[1][: num - first]]
    places = np.concatenate(drawn)
    labels = loaded.teacher.labels([context.replaced(answer.words[place]) for place in places.tolist()])
    parts = np.split(labels != label, [drawn[0].size])
    strata = [Stratum(group.size, part.size, int(part.sum())) for group, part in zip(groups, parts, strict=True)]
    return powered_rate(*strata, level=config["level"]), float((labels == answer.student[places]).mean())


def _counterfactuals(
    context: Context,
    label: int,
    answer: Judged,
    loaded: LoadedTeacher,
    settings: Mapping[str, Any],
    growth: ErrorGrowth,
) -> Row:
    from tiltmeter.operators.classifiers.influence.folded import margin_logits

    logits, most = margin_logits(answer.margins), settings["most"]
    cuts = sure_cuts(logits, answer.base, label, growth, settings["sureness"])
    chosen = scores.counterfactuals(logits, label, answer.allowed, most, cuts)
    row: Row = {"num": chosen.num, "num_sure": chosen.num_sure}
    if not chosen.num:
        return row | _NONE
    if answer.teacher is not None:
        is_called = (answer.student != label) & answer.allowed
        published = scores.counterfactuals(logits, label, answer.allowed, most).words
        row["accuracy_all"] = float((answer.teacher[is_called] != label).mean())
        row["accuracy_published"] = float((answer.teacher[published] != label).mean())
    if not chosen.num_sure:
        return row | _UNSURE
    words = [answer.words[place] for place in chosen.words.tolist()]
    labels = (
        loaded.teacher.labels([context.replaced(word) for word in words])
        if answer.teacher is None
        else answer.teacher[chosen.words]
    )
    return row | {"words": words, "accuracy": float((labels != label).mean())} | OK

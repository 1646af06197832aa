"""What all shards of contexts say of each pair of a control and a probe, and what the teacher says of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, stdtr

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence import tables
from tiltmeter.jobs.classifiers.influence.config import WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.teaching import TaughtBy, on_gpu, positive_class
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.classifiers.influence import clusters, prediction_powered, probes
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.prediction_powered import Powered, powered_cluster_mean
from tiltmeter.operators.classifiers.influence.probes import probe, unusual
from tiltmeter.operators.classifiers.influence.records import Context, Teacher
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import multiplicity
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.shares import clopper_pearson
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_PAIRS, _SAMPLE = 8, 9
_NUM_PAIRS = 20_000
_NO_CONTEXTS = failed("no_contexts", "the filter leaves fewer than two contexts; probe_contexts says at which step")


def sum_up(
    runner: Runner,
    config: WordInfluenceRun,
    teachers: Mapping[str, TaughtBy],
    contexts: Sequence[TableRef],
    vocabularies: Mapping[str, TableRef],
    flags: Mapping[str, Sequence[TableRef]],
) -> dict[str, list[TableRef]]:
    """Tables ``probes`` and ``probe_contexts``."""
    asked = config.probes
    settings = {
        "control": asked.control,
        "probe": asked.probe,
        "tag": asked.part_of_speech,
        "class": asked.positive,
        "num_checked": asked.num_checked,
        "most_claims": asked.most_claims,
        "intervals": config.intervals,
        "seed": config.seed,
        "operators": [probes.VERSION, clusters.VERSION, prediction_powered.VERSION, multiplicity.VERSION],
    }
    units = {
        name: [
            Unit(
                "influence_probes_summed/3",
                f"probes of teacher {name}",
                {**teachers[name].identity, **settings},
                {"flags": refs, "contexts": contexts, "vocabulary": [vocabularies[name]], **teachers[name].inputs},
            )
        ]
        for name, refs in flags.items()
    }
    done = runner.run_whole(
        Stage("sum up probes", each(_Summing(teachers)), units, on_gpu=on_gpu([*teachers.values()]))
    )
    finished = [unit for group in done.values() for unit in group]
    return {name: [unit.tables[name] for unit in finished] for name in ("probes", "probe_contexts")}


@dataclass(frozen=True)
class _Answers:
    """What is student of the contexts that the filter leaves.

    Attributes:
        rows: of the contexts, in all shards.
        clusters: ``[contexts]``.
        student, teacher: ``[contexts, words]``, whether they are positive; no teacher where it was not asked.
        odds: ``[contexts, words]``, the student's log odds of positive.
        shares: of random words, share of contexts in which they are positive.
        words: that were probed and known, as columns.
    """

    rows: IntArray
    clusters: IntArray
    student: BoolArray
    teacher: BoolArray | None
    odds: FloatArray
    shares: FloatArray
    words: Mapping[str, int]


@dataclass(frozen=True)
class _Summing:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        config = unit.config
        counts = _counts(store.read(unit.input("vocabulary")).to_pylist())
        flags = [row for ref in unit.inputs["flags"] for row in store.read(ref).to_pylist()]
        answers = _answers(flags, counts, config)
        asking = _Asking(store, unit, self.teachers[config["teacher"]], config)
        rows = [_row(pair, answers, counts, asking) for pair in product(config["control"], config["probe"])]
        for name, adjusted in (("p_value", "p_holm"), ("p_random", "p_random_holm")):
            values = holm(np.array([row.get(name, np.nan) for row in rows]))
            rows = [row | {adjusted: float(value)} for row, value in zip(rows, values, strict=True)]
        steps = _steps(flags, config)
        made = {"probes": (rows, tables.PROBES), "probe_contexts": (steps, tables.PROBE_CONTEXTS)}
        yield from with_draws(made, None)


def _counts(vocabulary: Sequence[Row]) -> dict[str, tuple[int, bool]]:
    """How often training texts have each word, and whether the teacher knows it."""
    counts: dict[str, tuple[int, bool]] = {}
    for row in vocabulary:
        count, _ = counts.get(row["word"], (0, False))
        counts[row["word"]] = count + row["count"], row["status"] == "ok"
    return counts


def _answers(flags: Sequence[Row], counts: Mapping[str, tuple[int, bool]], config: Mapping[str, Any]) -> _Answers:
    kept = [row for row in flags if row["step"] == "changeable"]
    asked = dict.fromkeys((*config["control"], *config["probe"]))
    known = [word for word in asked if counts.get(word.casefold(), (0, False))[1]]
    teacher = None if not kept or kept[0]["teacher"] is None else np.array([row["teacher"] for row in kept], bool)
    random = np.array([row["random"] for row in kept], bool)
    return _Answers(
        np.array([row["context"] for row in kept], np.int64),
        np.array([row["cluster"] for row in kept], np.int64),
        np.array([row["student"] for row in kept], bool).reshape(len(kept), len(known)),
        teacher,
        np.array([row["odds"] for row in kept], float).reshape(len(kept), len(known)),
        random.mean(axis=0) if kept else np.zeros(0),
        {word: place for place, word in enumerate(known)},
    )


@dataclass(frozen=True)
class _Asking:
    """A teacher that is asked when it is needed."""

    store: Store
    unit: Unit
    taught: TaughtBy
    config: Mapping[str, Any]

    def contexts(self, rows: IntArray) -> list[Context]:
        """Those of these numbers."""
        wanted = set(rows.tolist())
        contexts = {
            row["context"]: Context(tuple(row["words"]), row["place"])
            for ref in self.unit.inputs["contexts"]
            for row in self.store.read(ref).to_pylist()
            if row["context"] in wanted
        }
        return [contexts[row] for row in rows.tolist()]

    def positive(self, rows: IntArray, word: str) -> BoolArray:
        """Whether contexts are positive with a word."""
        teacher: Teacher = self.taught.load(self.store).teacher
        labels = teacher.labels([context.replaced(word) for context in self.contexts(rows)])
        return np.asarray(labels == positive_class(teacher.classes, self.config["class"]))


def _row(pair: tuple[str, str], answers: _Answers, counts: Mapping[str, tuple[int, bool]], asking: _Asking) -> Row:
    config = asking.config
    numbers = {
        f"count_{side}": counts.get(word.casefold(), (0, False))[0]
        for side, word in zip(("control", "probe"), pair, strict=True)
    }
    row: Row = {"model": config["teacher"], "control": pair[0], "probe": pair[1], "part_of_speech": config["tag"]}
    row |= numbers | {"num_contexts": int(answers.rows.size)}
    if unknown := [word for word in pair if word not in answers.words]:
        reason = f"the teacher has no vector of its own for {unknown[0]!r}, and would judge any such word alike"
        return row | failed("unknown_word", reason)
    if answers.rows.size < 2:
        return row | _NO_CONTEXTS
    columns = [answers.words[word] for word in pair]
    student = answers.student[:, columns[0]], answers.student[:, columns[1]]
    row |= {
        "student_rate": float((student[0] & ~student[1]).mean()),
        "student_rate_reversed": float((student[1] & ~student[0]).mean()),
        "num_clusters": int(np.unique(answers.clusters).size),
    }
    truth = None if answers.teacher is None else (answers.teacher[:, columns[0]], answers.teacher[:, columns[1]])
    row |= _sampled(pair, student, answers, asking) if truth is None else _judged(truth, answers, asking)
    row |= _claims(pair, student, truth, columns, answers, asking)
    both = student if truth is None else truth
    generator = keyed_generator(config["seed"], Stream.INFLUENCE, _PAIRS, document_key("\n".join(pair)))
    difference = float(both[0].mean() - both[1].mean())
    draws = generator.random((2, _NUM_PAIRS))
    return row | {"p_random": unusual(difference, answers.shares, _NUM_PAIRS, draws)} | OK


def _judged(truth: tuple[BoolArray, BoolArray], answers: _Answers, asking: _Asking) -> Row:
    """Where the teacher judged every context."""
    numbers, config = np.unique(answers.clusters, return_inverse=True)[1], asking.config
    num = int(numbers.max()) + 1
    about = f"{config['teacher']}\nprobes"
    intervals = config["intervals"]
    places = [[context.text, context.place] for context in asking.contexts(answers.rows)]
    keys = intervals.cluster_keys(places, numbers)
    sampled = SampledClusters(num, intervals, config["seed"], document_key(about), keys)
    result = probe(*truth, numbers, sampled)
    scheme = drawn_texts([places, answers.clusters.tolist()], config["seed"], about, intervals.keyed_by)
    return {
        **drawn("rate", result.resamples, scheme, num),
        **drawn("difference", result.difference_resamples, scheme, num),
        "num_checked": result.num,
        "rate": result.rate,
        "low": result.low,
        "high": result.high,
        "rate_reversed": result.rate_reversed,
        "difference": result.difference,
        "difference_low": result.difference_low,
        "difference_high": result.difference_high,
        "p_value": result.p_value,
    }


def _sampled(pair: tuple[str, str], student: tuple[BoolArray, BoolArray], answers: _Answers, asking: _Asking) -> Row:
    """From a sample of sentences, all of whose contexts the teacher judges."""
    config = asking.config
    generator = keyed_generator(config["seed"], Stream.INFLUENCE, _SAMPLE, document_key(config["teacher"]))
    sentences = generator.permutation(np.unique(answers.clusters))
    sizes = np.bincount(np.searchsorted(np.sort(sentences), answers.clusters))[np.argsort(np.argsort(sentences))]
    num = max(2, int(np.searchsorted(np.cumsum(sizes), config["num_checked"])) + 1)
    rows = np.flatnonzero(np.isin(answers.clusters, sentences[:num]))
    truth = [asking.positive(answers.rows[rows], word) for word in pair]
    forward, backward = truth[0] & ~truth[1], truth[1] & ~truth[0]
    called = student[0] & ~student[1], student[1] & ~student[0]

    def powered(student: Any, teacher: Any, scale: Scale) -> Powered:
        values = student.astype(float), answers.clusters, rows, teacher.astype(float)
        return powered_cluster_mean(*values, config["intervals"].level, scale)

    rate, reverse = powered(called[0], forward, LOGIT), powered(called[1], backward, LOGIT)
    both = powered(called[0].astype(int) - called[1], forward.astype(int) - backward, FISHER)
    t = abs(both.estimate) / both.error if both.error > 0 else np.inf
    p_value = float(2.0 * stdtr(both.num - 1.0, -t)) if both.estimate else 1.0
    return {
        "num_checked": int(rows.size),
        "rate": rate.estimate,
        "low": rate.low,
        "high": rate.high,
        "rate_reversed": reverse.estimate,
        "difference": both.estimate,
        "difference_low": both.low,
        "difference_high": both.high,
        "p_value": p_value,
    }


def _claims(
    pair: tuple[str, str],
    student: tuple[BoolArray, BoolArray],
    truth: tuple[BoolArray, BoolArray] | None,
    columns: Sequence[int],
    answers: _Answers,
    asking: _Asking,
) -> Row:
    """The student's surest contexts that are positive with the control and not with the probe, by the teacher."""
    claimed = np.flatnonzero(student[0] & ~student[1])
    sureness = expit(answers.odds[claimed, columns[0]]) * expit(-answers.odds[claimed, columns[1]])
    rows = claimed[np.argsort(-sureness, kind="stable")[: asking.config["most_claims"]]]
    if not rows.size:
        return {"num_claims": 0}
    control, probed = (
        (asking.positive(answers.rows[rows], word) for word in pair)
        if truth is None
        else (side[rows] for side in truth)
    )
    num, true = rows.size, int((control & ~probed).sum())
    joint = clopper_pearson(true, num, asking.config["intervals"].level)
    return {
        "num_claims": int(num),
        "accuracy_control": float(control.mean()),
        "accuracy_probe": float((~probed).mean()),
        "accuracy_joint": float(joint.rate),
        "accuracy_joint_low": float(joint.low),
        "accuracy_joint_high": float(joint.high),
    }


def _steps(flags: Sequence[Row], config: Mapping[str, Any]) -> list[Row]:
    steps = ("all", "positive", "not_reversed", "changeable")
    reached = [steps.index(row["step"]) for row in flags]
    return [
        {
            "model": config["teacher"],
            "part_of_speech": config["tag"],
            "step": step,
            "num_contexts": sum(place >= number for place in reached),
        }
        for number, step in enumerate(steps)
    ]

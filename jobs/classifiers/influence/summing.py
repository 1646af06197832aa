"""What all shards of contexts say of each pair of a control and a probe, and what the teacher says of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence import tables
from tiltmeter.jobs.classifiers.influence.config import Probes, WordInfluenceRun
from tiltmeter.jobs.classifiers.influence.dividing import context_of
from tiltmeter.jobs.classifiers.influence.learning import known_words, random_words
from tiltmeter.jobs.classifiers.influence.teaching import TaughtBy, on_gpu, positive_class
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.classifiers.influence import clusters, probes
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.probes import Answers
from tiltmeter.operators.classifiers.influence.records import Context, Teacher
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import flips, means, multiplicity
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.units import Units, units_of
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SAMPLE = 9
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
        "unit": config.data.group or "sentence",
        "words": listed_words(asked),
        "max_words": config.ratios.max_words,
        "num_random": asked.num_random,
        "num_random_checked": asked.num_random_checked,
        "num_checked": asked.num_checked,
        "most_claims": asked.most_claims,
        "intervals": config.intervals,
        "seed": config.seed,
        "operators": [probes.VERSION, clusters.VERSION, means.VERSION, flips.VERSION, multiplicity.VERSION],
    }
    units = {
        name: [
            Unit(
                "influence_probes_summed/4",
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


def listed_words(asked: Probes) -> dict[str, tuple[str, ...]]:
    """Words that are no random ones."""
    return {"probed": asked.words, "positive": asked.clearly_positive, "negative": asked.clearly_negative}


@dataclass(frozen=True)
class _Summing:
    teachers: Mapping[str, TaughtBy]

    def __call__(self, store: Store, unit: Unit) -> Tables:
        config = unit.config
        counts = _counts(store.read(unit.input("vocabulary")).to_pylist())
        flags = [row for ref in unit.inputs["flags"] for row in store.read(ref).to_pylist()]
        kept = [row for row in flags if row["step"] == "changeable"]
        answers, taught = _student_answers(kept, counts, config), self.teachers[config["teacher"]]
        is_whole = bool(kept) and kept[0]["teacher"] is not None
        asked = _Whole(store, unit, taught, answers, kept) if is_whole else _Asked(store, unit, taught, answers)
        pairs = _Pairs(answers, asked, counts, config)
        rows = [pairs.row(pair) for pair in product(config["control"], config["probe"])]
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


@dataclass(frozen=True)
class _StudentAnswers:
    """What the student says of the contexts that the filter leaves.

    Attributes:
        rows: of the contexts, in all shards.
        units: sentences of these, or groups of them.
        positive: ``[contexts, words]``.
        odds: ``[contexts, words]``, log odds of positive.
        words: that were probed and known, as columns.
    """

    rows: IntArray
    units: Units
    positive: BoolArray
    odds: FloatArray
    words: Mapping[str, int]


def _student_answers(
    flags: Sequence[Row], counts: Mapping[str, tuple[int, bool]], config: Mapping[str, Any]
) -> _StudentAnswers:
    asked = dict.fromkeys((*config["control"], *config["probe"]))
    known = [word for word in asked if counts.get(folded(word), (0, False))[1]]
    return _StudentAnswers(
        np.array([row["context"] for row in flags], np.int64),
        units_of(np.array([row["cluster"] for row in flags], np.int64), config["unit"]),
        np.array([row["student"] for row in flags], bool).reshape(len(flags), len(known)),
        np.array([row["odds"] for row in flags], float).reshape(len(flags), len(known)),
        {word: place for place, word in enumerate(known)},
    )


class _Asked:
    """A teacher that is asked about words in a sample of sentences, and remembers what it said.

    Attributes:
        rows: that it judges, of the contexts that the filter leaves.
    """

    def __init__(self, store: Store, unit: Unit, taught: TaughtBy, answers: _StudentAnswers) -> None:
        self._store, self._unit, self._taught, self._student = store, unit, taught, answers
        self._said: dict[tuple[bytes, str], BoolArray] = {}
        self.rows = _sample(answers.units, unit.config) if answers.rows.size else answers.rows

    @cached_property
    def _teacher(self) -> Teacher:
        return self._taught.load(self._store).teacher

    @cached_property
    def _contexts(self) -> dict[int, Row]:
        wanted = set(self._student.rows.tolist())
        rows = (row for ref in self._unit.inputs["contexts"] for row in self._store.read(ref).to_pylist())
        return {row["context"]: row for row in rows if row["context"] in wanted}

    def contexts(self, rows: IntArray) -> list[Context]:
        """Those of these numbers."""
        return [context_of(self._contexts[row]) for row in self._student.rows[rows].tolist()]

    def positive(self, rows: IntArray, word: str) -> BoolArray:
        """Whether it says so of contexts with a word."""
        key = rows.tobytes(), word
        if key not in self._said:
            labels = self._teacher.labels([context.replaced(word) for context in self.contexts(rows)])
            self._said[key] = labels == positive_class(self._teacher.classes, self._unit.config["class"])
        return self._said[key]

    def shares(self) -> FloatArray:
        """In how many of the contexts that it judges they are positive with each random word."""
        known = known_words(self._store, self._unit.input("vocabulary"))
        words = random_words(known, self._unit.config)[: self._unit.config["num_random_checked"]]
        return np.array([self.positive(self.rows, word).mean() for word in words])


class _Whole(_Asked):
    """A teacher that judged all words in all contexts."""

    def __init__(
        self, store: Store, unit: Unit, taught: TaughtBy, answers: _StudentAnswers, flags: Sequence[Row]
    ) -> None:
        super().__init__(store, unit, taught, answers)
        self.rows = np.arange(answers.rows.size)
        self._positive = np.array([row["teacher"] for row in flags], bool)
        self._random = np.array([row["random"] for row in flags], bool)

    def positive(self, rows: IntArray, word: str) -> BoolArray:
        return np.asarray(self._positive[rows, self._student.words[word]])

    def shares(self) -> FloatArray:
        return np.asarray(self._random.mean(axis=0))


def _sample(units: Units, config: Mapping[str, Any]) -> IntArray:
    """All contexts of sentences that are drawn until these have so many."""
    generator = keyed_generator(config["seed"], Stream.INFLUENCE, _SAMPLE, document_key(config["teacher"]))
    order = generator.permutation(units.num)
    num = max(2, int(np.searchsorted(np.cumsum(units.sizes[order]), config["num_checked"])) + 1)
    return np.flatnonzero(np.isin(units.codes, order[:num]))


@dataclass(frozen=True)
class _Pairs:
    """Rows of pairs of a control and a probe."""

    student: _StudentAnswers
    asked: _Asked
    counts: Mapping[str, tuple[int, bool]]
    config: Mapping[str, Any]

    def row(self, pair: tuple[str, str]) -> Row:
        answers, config = self.student, self.config
        count = {word: self.counts.get(folded(word), (0, False))[0] for word in pair}
        row: Row = {"model": config["teacher"], "control": pair[0], "probe": pair[1], "part_of_speech": config["tag"]}
        row |= {"count_control": count[pair[0]], "count_probe": count[pair[1]], "num_contexts": int(answers.rows.size)}
        if unknown := [word for word in pair if word not in answers.words]:
            reason = f"the teacher has no vector of its own for {unknown[0]!r}, and would judge any such word alike"
            return row | failed("unknown_word", reason)
        if answers.rows.size < 2:
            return row | _NO_CONTEXTS
        student = Answers(*(answers.positive[:, answers.words[word]] for word in pair))
        truth = Answers(*(self.asked.positive(self.asked.rows, word) for word in pair))
        level = config["intervals"].level
        result = probes.sampled_probe(student, self.asked.rows, truth, answers.units, level=level)
        shares = self.asked.shares()
        row |= {
            "student_rate": float(student.forward.mean()),
            "student_rate_reversed": float(student.backward.mean()),
            "num_clusters": answers.units.num,
            "num_checked": int(self.asked.rows.size),
            "num_differing": result.num_differing,
            "rate": result.rate.value,
            "low": result.rate.low,
            "high": result.rate.high,
            "rate_reversed": result.rate_reversed,
            "difference": result.difference.value,
            "difference_low": result.difference.low,
            "difference_high": result.difference.high,
            "p_value": result.difference.p,
            "num_random": int(shares.size),
            "p_random": probes.unusual(float(truth.differences.mean()), shares),
        }
        drawn = self._draws(truth) if truth.control.size == answers.rows.size else {}
        lacking = result.difference.too_few
        status = failed(result.difference.status, lacking.reason) if lacking else OK
        return row | self._claims(pair, student) | drawn | status

    def _draws(self, truth: Answers) -> Row:
        """Where the teacher judged every context."""
        units, config = self.student.units, self.config
        about, intervals = f"{config['teacher']}\nprobes", config["intervals"]
        places = [[context.text, context.place] for context in self.asked.contexts(np.arange(units.codes.size))]
        keys = intervals.cluster_keys(places, units.codes)
        sampled = SampledClusters(units.num, intervals, config["seed"], document_key(about), units.kind, keys)
        scheme = drawn_texts([places, units.codes.tolist()], config["seed"], about, intervals.keyed_by)
        rate = sampled.rate(truth.forward, units.codes)
        difference = sampled.rate(truth.differences, units.codes, FISHER)
        return drawn("rate", rate.resamples, scheme, units.num) | drawn(
            "difference", difference.resamples, scheme, units.num
        )

    def _claims(self, pair: tuple[str, str], student: Answers) -> Row:
        """The student's surest contexts that are positive with the control and not with the probe, by the teacher."""
        claimed = np.flatnonzero(student.forward)
        columns = [self.student.words[word] for word in pair]
        sureness = expit(self.student.odds[claimed, columns[0]]) * expit(-self.student.odds[claimed, columns[1]])
        rows = claimed[np.argsort(-sureness, kind="stable")[: self.config["most_claims"]]]
        if not rows.size:
            return {"num_claims": 0}
        truth = Answers(*(self.asked.positive(rows, word) for word in pair))
        joint = share(truth.forward, self.student.units.part(rows), level=self.config["intervals"].level)
        return {
            "num_claims": int(rows.size),
            "accuracy_control": float(truth.control.mean()),
            "accuracy_probe": float((~truth.probed).mean()),
            "accuracy_joint": joint.value,
            "accuracy_joint_low": joint.low,
            "accuracy_joint_high": joint.high,
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

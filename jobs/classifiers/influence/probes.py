"""Probes: pairs of words in the contexts of training texts, shard by shard, and what all shards say together."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.influence.config import Exact
from tiltmeter.jobs.classifiers.influence.questions import context_of, drawn_places, judged
from tiltmeter.jobs.classifiers.influence.students import StudentModel, TeacherModel, known_words, texts_of
from tiltmeter.jobs.classifiers.influence.tables import Flags, ProbeContexts, Probed, Words
from tiltmeter.jobs.classifiers.intervals import ResampledClusters
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.influence import clusters, probes
from tiltmeter.operators.classifiers.influence.calibration import calibrated_odds
from tiltmeter.operators.classifiers.influence.probes import (
    Answers,
    filtered,
    sampled_contexts,
    sampled_probe,
    surest_claims,
    unusual,
)
from tiltmeter.operators.classifiers.influence.records import Context, Teacher
from tiltmeter.operators.classifiers.influence.scores import log_odds
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import flips, means, multiplicity
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import Units, units_of
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef

_RANDOM, _SAMPLE = 7, 9
_STEPS = ("all", "positive", "not_reversed", "changeable")


class DrawProbeContexts(Work, unit="influence_probe_contexts/2", stage="draw contexts of probes"):
    """Places of training texts, in shards."""

    texts: TableRef
    most: int | None
    size: int
    seed: int
    tag: str

    def tables(self, store: Store) -> Tables:
        """A table for each shard."""
        places = [
            {"cluster": row.cluster, "text": row.text, "words": row.words, "place": place}
            for row in texts_of(store, self.texts, "training")
            for place, tag in enumerate(row.tags)
            if tag == self.tag
        ]
        if not places:
            raise ValueError(
                f"no training text has a word of probes.part_of_speech={self.tag}: set it to another, or data.path"
            )
        chosen = drawn_places(places, self.most, self.seed, "probes")
        rows = [{"context": number, **place} for number, place in enumerate(chosen)]
        for start in range(0, len(rows), self.size):
            yield f"probe_contexts_{start:08d}", pa.Table.from_pylist(rows[start : start + self.size])


class OfProbes(Work):
    """About words that are put into contexts.

    Attributes:
        words: that are no random ones, by kind.
        positive: the class that contexts have; None: the teacher's last one.
        tag: part of speech of the words.
        max_words: of this part of speech, the most frequent ones.
    """

    vocabulary: TableRef
    words: Mapping[str, Sequence[str]]
    positive: str | None
    tag: str
    max_words: int
    num_random: int
    seed: int

    def class_number(self, classes: Sequence[str]) -> int:
        """Of the class that contexts have, among those of a teacher.

        Raises:
            ValueError: if it has no such class.
        """
        if self.positive is None:
            return len(classes) - 1
        if self.positive not in classes:
            known = ", ".join(classes)
            raise ValueError(
                f"probes.positive={self.positive}: the teacher's classes are {known}; set it to one of them"
            )
        return classes.index(self.positive)

    def random_words(self, known: Mapping[str, Sequence[str]]) -> list[str]:
        """Words of the part of speech that are not asked about, drawn for pairs that are to be ranked among."""
        asked = {folded(word) for group in self.words.values() for word in group}
        others = [word for word in known.get(self.tag, [])[: self.max_words] if folded(word) not in asked]
        generator = keyed_generator(self.seed, Stream.INFLUENCE, _RANDOM)
        return [others[number] for number in generator.permutation(len(others))[: self.num_random].tolist()]


# --- a shard --------------------------------------------------------------------------------------------------------


class ProbeShard(OfProbes, unit=probes.VERSION, stage="probe", makes=[Flags]):
    """Which contexts of a shard are positive with each word, by the student and, where it judges all, the teacher."""

    student: StudentModel
    contexts: TableRef
    confidence: str
    exact: Exact

    def rows(self, store: Store) -> Iterator[Flags]:
        """Of contexts that are not positive, that alone."""
        from tiltmeter.operators.classifiers.influence.folded import margin_logits

        loaded = self.student.load(store)
        words, places = self._numbered(known_words(store, self.vocabulary))
        positive = self.class_number(loaded.teacher.classes)
        rows = store.read(self.contexts).to_pylist()
        contexts = [context_of(row) for row in rows]
        is_positive = loaded.teacher.labels([context.text for context in contexts]) == positive
        kept = np.flatnonzero(is_positive).tolist()
        for number in np.flatnonzero(~is_positive).tolist():
            yield Flags(context=rows[number]["context"], cluster=rows[number]["cluster"], step="all")
        some = [contexts[number] for number in kept]
        answers = judged(some, words, loaded, self.exact)
        for number, answer in zip(kept, answers, strict=True):
            labels, truth = answer.student == positive, None if answer.teacher is None else answer.teacher == positive
            row = Flags(context=rows[number]["context"], cluster=rows[number]["cluster"], step=_step(labels, places))
            if row.step == "changeable":
                odds = log_odds(margin_logits(answer.margins[places["probed"]]))[:, positive]
                if self.confidence == "calibrated":
                    odds = calibrated_odds(odds, float(loaded.student.network.margin_error))
                row.student, row.odds = labels[places["probed"]].tolist(), odds.tolist()
                row.teacher = None if truth is None else truth[places["probed"]].tolist()
                row.random = (labels if truth is None else truth)[places["random"]].tolist()
            yield row

    def _numbered(self, known: Mapping[str, Sequence[str]]) -> tuple[list[str], dict[str, list[int]]]:
        """Words that are put into the contexts, each once, and the numbers of those of each kind."""
        any_known = {folded(word) for words in known.values() for word in words}
        kinds = {kind: [word for word in words if folded(word) in any_known] for kind, words in self.words.items()}
        kinds |= {"common": [*known.get(self.tag, [])[: self.max_words]], "random": self.random_words(known)}
        every: dict[str, str] = {}
        for word in (word for group in kinds.values() for word in group):
            every.setdefault(folded(word), word)
        numbers = {word: number for number, word in enumerate(every)}
        return [*every.values()], {kind: [numbers[folded(word)] for word in group] for kind, group in kinds.items()}


def _step(is_positive: BoolArray, places: Mapping[str, Sequence[int]]) -> str:
    """The last step of the filter that a context passes whose text is positive.

    Args:
        is_positive: ``[words]``, with each word, by the student.
        places: of the words of each kind.
    """
    by_kind = {kind: is_positive[None, list(numbers)] for kind, numbers in places.items()}
    is_changeable = np.asarray((~by_kind["common"]).any(axis=1))
    steps = filtered(np.ones(1, bool), by_kind["positive"], by_kind["negative"], is_changeable).counts
    return [name for name, num in steps.items() if num][-1]


# --- all shards -----------------------------------------------------------------------------------------------------


class SumUpProbes(OfProbes, unit="influence_probes_summed/4", stage="sum up probes", makes=[Probed, ProbeContexts]):
    """What all shards of contexts say of each pair of a control and a probe, and what the teacher says of that.

    Attributes:
        kind: what was drawn independently, in the singular.
    """

    teacher: TeacherModel
    flags: Sequence[TableRef]
    contexts: Sequence[TableRef]
    control: Sequence[str]
    probe: Sequence[str]
    kind: str
    num_random_checked: int
    num_checked: int
    max_claims: int
    intervals: KeyedResampleSettings
    operators: Sequence[str] = tuple(one.VERSION for one in (probes, clusters, means, flips, multiplicity))

    def rows(self, store: Store) -> Iterator[Probed | ProbeContexts]:
        """A row for each pair, and for each step of the filter."""
        flags = [row for ref in self.flags for row in Flags.read(store, ref)]
        answers = _Answers(self, store, [row for row in flags if row.step == "changeable"])
        pairs = [self._pair(control, probe, answers) for control, probe in product(self.control, self.probe)]
        p_values = holm(np.array([row.p_value for row in pairs], float))  # in which None is NaN
        p_random = holm(np.array([row.p_random for row in pairs], float))
        for row, p_holm, p_random_holm in zip(pairs, p_values.tolist(), p_random.tolist(), strict=True):
            row.p_holm, row.p_random_holm = p_holm, p_random_holm
        yield from pairs
        reached = [_STEPS.index(row.step) for row in flags]
        for number, step in enumerate(_STEPS):
            counted = ProbeContexts(model=self.teacher.name, part_of_speech=self.tag, step=step)
            counted.num_contexts = sum(place >= number for place in reached)
            yield counted

    def sample(self, units: Units) -> IntArray:
        """Contexts that a teacher judges: those of sentences that are drawn until they are so many."""
        generator = keyed_generator(self.seed, Stream.INFLUENCE, _SAMPLE, document_key(self.teacher.name))
        return sampled_contexts(units, generator.permutation(units.num), self.num_checked)

    def _pair(self, control: str, probe: str, answers: "_Answers") -> Probed:
        row = Probed(model=self.teacher.name, control=control, probe=probe)
        row.part_of_speech, row.num_contexts = self.tag, int(answers.rows.size)
        row.count_control, row.count_probe = answers.count(control), answers.count(probe)
        if unknown := [word for word in (control, probe) if word not in answers.columns]:
            reason = f"the teacher has no vector of its own for {unknown[0]!r}, and would judge any such word alike"
            return row.fail("unknown_word", reason)
        if answers.rows.size < 2:
            reason = "the filter leaves fewer than two contexts; probe_contexts says at which step"
            return row.fail("no_contexts", reason)
        student, truth = answers.student(row), answers.truth(row, answers.judged)
        row.student_rate, row.student_rate_reversed = float(student.forward.mean()), float(student.backward.mean())
        row.num_clusters, row.num_checked = answers.units.num, int(answers.judged.size)
        self._fill_test(row, student, truth, answers)
        shares = answers.random_shares
        row.num_random, row.p_random = int(shares.size), unusual(float(truth.differences.mean()), shares)
        self._fill_claims(row, student, answers)
        return row

    def _fill_test(self, row: Probed, student: Answers, truth: Answers, answers: "_Answers") -> None:
        """Rates and their difference, with draws where the teacher judged every context."""
        result = sampled_probe(student, answers.judged, truth, answers.units, level=self.intervals.level)
        rate, difference = result.rate, result.difference
        row.rate, row.rate_reversed = Estimate(rate.value, rate.low, rate.high), result.rate_reversed
        row.difference = Estimate(difference.value, difference.low, difference.high)
        row.num_differing, row.p_value = result.num_differing, difference.p
        if truth.control.size == answers.rows.size:
            of_rate = answers.resampled.sampled.rate(truth.forward, answers.units.codes)
            of_both = answers.resampled.sampled.rate(truth.differences, answers.units.codes, FISHER)
            row.rate = answers.resampled.drawn(row.rate, of_rate)
            row.difference = answers.resampled.drawn(row.difference, of_both)
        if difference.too_few:
            row.fail(difference.status, difference.too_few.reason)

    def _fill_claims(self, row: Probed, student: Answers, answers: "_Answers") -> None:
        """The student's surest contexts that are positive with the control and not with the probe, by the teacher."""
        rows = surest_claims(student, answers.odds(row), self.max_claims)
        row.num_claims = int(rows.size)
        if rows.size:
            truth = answers.truth(row, rows)
            joint = share(truth.forward, answers.units.part(rows), level=self.intervals.level)
            row.accuracy_control, row.accuracy_probe = float(truth.control.mean()), float((~truth.probed).mean())
            row.accuracy_joint = Estimate(joint.value, joint.low, joint.high)


class _Answers:
    """What is said of the contexts that the filter leaves; arrays are ``[contexts, words]``.

    A teacher that did not judge all is asked about a sample of sentences when it is needed, and what it said is kept.

    Attributes:
        rows: numbers of the contexts.
        units: sentences of these, or groups of them.
        columns: words that were probed and are known.
        judged: places among the rows, of what the teacher judges.
    """

    def __init__(self, work: SumUpProbes, store: Store, kept: Sequence[Flags]) -> None:
        self._work, self._store = work, store
        self._memory: dict[tuple[bytes, str], BoolArray] = {}
        asked = dict.fromkeys((*work.control, *work.probe))
        known = [word for word in asked if self._counts.get(folded(word), (0, False))[1]]
        self.columns = {word: number for number, word in enumerate(known)}
        shape = (len(kept), len(known))
        self.rows = np.array([row.context for row in kept], np.int64)
        self.units = units_of(np.array([row.cluster for row in kept], np.int64), work.kind)
        self._student = np.array([row.student for row in kept], bool).reshape(shape)
        self._odds = np.array([row.odds for row in kept], float).reshape(shape)
        is_whole = bool(kept) and kept[0].teacher is not None
        self._teacher = np.array([row.teacher for row in kept], bool) if is_whole else None
        self._random = np.array([row.random for row in kept], bool) if is_whole else None
        self.judged = np.arange(self.rows.size) if is_whole or not kept else work.sample(self.units)

    @cached_property
    def _counts(self) -> dict[str, tuple[int, bool]]:
        """How often training texts have each word, and whether the teacher knows it."""
        counts: dict[str, tuple[int, bool]] = {}
        for row in Words.read(self._store, self._work.vocabulary):
            counts[row.word] = counts.get(row.word, (0, False))[0] + row.count, row.status == "ok"
        return counts

    def count(self, word: str) -> int:
        """How often training texts have it."""
        return self._counts.get(folded(word), (0, False))[0]

    def student(self, row: Probed) -> Answers:
        """With the words of a row."""
        return Answers(*(self._student[:, self.columns[word]] for word in (row.control, row.probe)))

    def odds(self, row: Probed) -> FloatArray:
        """Log odds of positive with the words of a row, ``[contexts, 2]``."""
        return self._odds[:, [self.columns[word] for word in (row.control, row.probe)]]

    def truth(self, row: Probed, places: IntArray) -> Answers:
        """The teacher's answers with the words of a row, in contexts at some places."""
        if self._teacher is None:
            return Answers(*(self._asked(places, word) for word in (row.control, row.probe)))
        return Answers(*(self._teacher[places, self.columns[word]] for word in (row.control, row.probe)))

    @cached_property
    def random_shares(self) -> FloatArray:
        """In how many of the contexts that the teacher judges they are positive with each random word."""
        if self._random is not None:
            return np.asarray(self._random.mean(axis=0))
        known = known_words(self._store, self._work.vocabulary)
        words = self._work.random_words(known)[: self._work.num_random_checked]
        return np.array([self._asked(self.judged, word).mean() for word in words])

    @cached_property
    def resampled(self) -> ResampledClusters:
        """Their sentences, drawn again."""
        places = [[context.text, context.place] for context in self._contexts(np.arange(self.rows.size))]
        about = f"{self._work.teacher.name}\nprobes"
        return ResampledClusters.of(places, self.units, about, self._work.intervals, self._work.seed)

    def _asked(self, places: IntArray, word: str) -> BoolArray:
        key = places.tobytes(), word
        if key not in self._memory:
            labels = self._loaded.labels([context.replaced(word) for context in self._contexts(places)])
            self._memory[key] = np.asarray(labels == self._work.class_number(self._loaded.classes))
        return self._memory[key]

    @cached_property
    def _loaded(self) -> Teacher:
        return self._work.teacher.load(self._store).teacher

    def _contexts(self, places: IntArray) -> list[Context]:
        return [context_of(self._texts[number]) for number in self.rows[places].tolist()]

    @cached_property
    def _texts(self) -> dict[int, Row]:
        wanted = set(self.rows.tolist())
        rows = (row for ref in self._work.contexts for row in self._store.read(ref).to_pylist())
        return {row["context"]: row for row in rows if row["context"] in wanted}

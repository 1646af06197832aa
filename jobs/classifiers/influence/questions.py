"""What teachers and students are asked: how well these follow, words replaced, and words left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.influence.config import Exact, Masking
from tiltmeter.jobs.classifiers.influence.students import (
    LoadedStudent,
    StudentModel,
    known_words,
    texts_of,
)
from tiltmeter.jobs.classifiers.influence.tables import (
    Counterfactuals,
    Influences,
    Masked,
    OfPlace,
    Prepared,
    Students,
    UnlikeRatios,
)
from tiltmeter.jobs.classifiers.intervals import ResampledClusters
from tiltmeter.jobs.classifiers.splits import drawn_order
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.influence import clusters, prediction_powered, scores
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
    sure_cuts,
)
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.masking import coverage, masking_order, num_masked, random_scores
from tiltmeter.operators.classifiers.influence.prediction_powered import Powered, Stratum, allocation, powered_rate
from tiltmeter.operators.classifiers.influence.records import Context, Spaced, Words
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator, one_thread
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef

PlaceRow = TypeVar("PlaceRow", bound=OfPlace)

_CHECKED = 6

METHODS = ("influence", "unlike_ratios", "hybrid", "hybrid_sum", "hybrid_of_texts", "lime", "random")
"""What orders the words of a text."""


# --- what all questions share ---------------------------------------------------------------------------------------


def context_of(row: Mapping[str, Any]) -> Context:
    """Of a row with a text, its words and a place."""
    return Context(Spaced.of(row["words"], row["text"]), row["place"])


def drawn_places(places: list[dict[str, Any]], most: int | None, seed: int, about: str) -> list[dict[str, Any]]:
    """So many of them, in their order, by what they say."""
    keys = [f"{' '.join(place['words'])}\n{place['place']}" for place in places]
    return [places[number] for number in sorted(drawn_order(keys, seed, about)[:most])]


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


def judged(contexts: Sequence[Context], words: Sequence[str], loaded: LoadedStudent, exact: Exact) -> Iterator[Judged]:
    """Each context with all words; the teacher's part of it where its encoder is local."""
    from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
    from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels
    from tiltmeter.operators.classifiers.influence.student_training import base_states

    (taught, student, _), teacher = loaded, loaded.teacher
    with one_thread():
        network, base = Folded(student.network, teacher), base_states(teacher, contexts, loaded.config)
        margins = network.margins(student.contexts(contexts), base, student.words(words))
        truth: Iterator[Any] = iter([None] * len(contexts))
        if taught.network is not None and taught.vocabulary is not None and exact == "auto":
            truth = LocalTeacher(taught.network, taught.vocabulary, words).logits(contexts)
    for context, of_base in zip(contexts, teacher.logits(base), strict=True):
        with one_thread():  # not around the yield
            margin, logits = next(margins), next(truth)
        allowed = np.array([folded(word) != folded(context.word) for word in words], dtype=bool)
        labels = None if logits is None else logits.argmax(axis=1)
        yield Judged(words, allowed, of_base, margin, margin_labels(margin), labels)


# --- how well they follow -------------------------------------------------------------------------------------------


class AboutStudent(Work):
    """About what a student says of texts.

    Attributes:
        kind: what is drawn independently, in the singular.
        run_seed: of the run.
        seed: number of the student.
    """

    student: StudentModel
    texts: TableRef
    intervals: KeyedResampleSettings
    kind: str
    run_seed: int
    seed: int


class EvaluateStudent(AboutStudent, unit="influence_agreement/6", stage="evaluate students", makes=[Students]):
    """How often a student has the class of its teacher, on development and test texts."""

    rates: str = clusters.VERSION
    means: str = means.VERSION

    def rows(self, store: Store) -> Iterator[Students]:
        """A row for each share of each part."""
        name, loaded = self.student.teacher.name, self.student.load(store)
        for part in ("development", "test"):
            rows = texts_of(store, self.texts, part)
            units = units_of(np.array([row.cluster for row in rows]), self.kind)
            items = [[row.words, row.cluster] for row in rows]
            words, about = [row.words for row in rows], f"{name}\n{part}"
            resampled = ResampledClusters.of(words, units, about, self.intervals, self.run_seed, items)
            places = _Places.of(rows, units.codes, loaded)
            for split, measure, share in places.agreements(part, resampled.sampled):
                row = Students(model=name, seed=self.seed, split=split, measure=measure)
                row.value, row.num = resampled.estimate(share), share.num
                yield row.fail("too_few_units", share.too_few.reason) if share.too_few else row


@dataclass(frozen=True)
class _Places:
    """What both say of all places of a part; arrays are ``[places]``.

    Attributes:
        texts, clusters, lengths, tags, gold, given: of each one's text or word; the last is the teacher's class.
        student, context_only: the student's class, and the teacher's without the word.
        confidences: how sure the student is of its class, by p'' and by its error on development texts.
    """

    texts: IntArray
    clusters: IntArray
    lengths: IntArray
    tags: NDArray[np.str_]
    gold: IntArray
    given: IntArray
    student: IntArray
    context_only: IntArray
    confidences: Mapping[str, FloatArray]

    @classmethod
    def of(cls, rows: Sequence[Prepared], clusters: IntArray, loaded: LoadedStudent) -> "_Places":
        from tiltmeter.operators.classifiers.influence.student_training import base_states

        teacher, config = loaded.teacher, loaded.config
        contexts = [Context(row.spaced, place) for row in rows for place in range(len(row.words))]
        lengths = np.array([len(row.words) for row in rows])
        texts = np.repeat(np.arange(len(rows)), lengths)
        classes = {label: number for number, label in enumerate(teacher.classes)}
        masked = teacher.states([context.replaced() for context in contexts])
        base = masked if config.convention == "masked" else base_states(teacher, contexts, config)
        logits = teacher.logits(base + loaded.own_changes(contexts))
        confidences = {"calibration_error_published": published_confidence(logits)}
        if error := float(loaded.student.network.margin_error):
            confidences["calibration_error"] = calibrated_confidence(logits, error)
        return cls(
            texts,
            clusters[texts],
            lengths[texts],
            np.array([tag for row in rows for tag in row.tags]),
            np.array([classes.get(row.label, -1) for row in rows])[texts],
            teacher.labels([row.spaced for row in rows])[texts],
            logits.argmax(axis=1),
            teacher.logits(masked).argmax(axis=1),
            confidences,
        )

    def agreements(self, part: str, sampled: SampledClusters) -> Iterator[tuple[str, str, Agreement]]:
        """Split, measure and share."""
        groups = {f"{part}:{name}": group for name, group in length_groups(self.lengths).items()}
        for split, group in {part: np.ones(self.texts.size, bool), **groups}.items():
            if group.any():
                yield from ((split, *share) for share in self._shares(group, sampled))
            if split == part and group.any():
                yield from ((split, *share) for share in self._with_gold(sampled))
        for tag in sorted(set(self.tags.tolist())):
            yield from ((f"{part}:{tag}", *share) for share in self._shares(self.tags == tag, sampled, texts=False))

    def _shares(
        self, group: BoolArray, sampled: SampledClusters, *, texts: bool = True
    ) -> Iterator[tuple[str, Agreement]]:
        sentences = self.clusters[group]
        for ending, labels in (("", self.student), ("_context_only", self.context_only)):
            is_right = (labels == self.given)[group]
            if texts:
                yield f"all_correct{ending}", all_correct(is_right, self.texts[group], sentences, sampled)
            yield f"per_word{ending}", per_word(is_right, sentences, sampled)

    def _with_gold(self, sampled: SampledClusters) -> Iterator[tuple[str, Agreement]]:
        texts, sentences = self.texts, self.clusters
        yield "all_correct_gold", all_correct(self.student == self.gold, texts, sentences, sampled)
        yield "teacher_accuracy", all_correct(self.given == self.gold, texts, sentences, sampled)
        yield "teacher_accuracy_masked", per_word(self.context_only == self.gold, sentences, sampled)
        for name, confidence in self.confidences.items():
            gaps = confidence - (self.student == self.given)
            yield name, agreement(sampled.binned_gap(gaps, confidence_bins(confidence), sentences), sentences)


# --- words replaced -------------------------------------------------------------------------------------------------


class DrawContexts(Work, unit="influence_contexts/2", stage="draw contexts"):
    """Places of test texts, in shards."""

    texts: TableRef
    num: int
    size: int
    seed: int
    tags: Sequence[str]

    def tables(self, store: Store) -> Tables:
        """A table for each shard."""
        places = [
            {"row": row.row, "text": row.text, "words": row.words, "place": place, "tag": tag}
            for row in texts_of(store, self.texts, "test")
            for place, tag in enumerate(row.tags)
            if tag in self.tags
        ]
        if not places:
            raise ValueError(
                f"no test text has a word of ratios.parts_of_speech={list(self.tags)}: set it to others, or data.test"
            )
        chosen = drawn_places(places, self.num, self.seed, "contexts")
        for start in range(0, len(chosen), self.size):
            yield f"contexts_{start:08d}", pa.Table.from_pylist(chosen[start : start + self.size])


class Checks(NamedTuple):
    """Of the student by its teacher."""

    exact: Exact
    num: int
    operator: str = prediction_powered.VERSION


@dataclass(frozen=True)
class Replacements:
    """Which words replace others, and which of them are counterfactuals."""

    max_words: int
    max_checked: int
    confidence: float


class ReplaceWords(
    Work, unit="influence_ratios/2", stage="replace words", makes=[Influences, UnlikeRatios, Counterfactuals]
):
    """Words of a shard of contexts replaced by others: influence, unlike ratios and counterfactuals."""

    student: StudentModel
    vocabulary: TableRef
    contexts: TableRef
    ratios: Replacements
    checks: Checks
    bias: bool
    level: float
    seed: int

    def rows(self, store: Store) -> Iterator[Influences | UnlikeRatios | Counterfactuals]:
        """A row of each table for each context."""
        loaded = self.student.load(store)
        teacher, places = loaded.teacher, store.read(self.contexts).to_pylist()
        contexts = [context_of(place) for place in places]
        given = teacher.labels([context.text for context in contexts]).tolist()

        def row_of(kind: type[PlaceRow], number: int) -> PlaceRow:
            place, label = places[number], teacher.classes[given[number]]
            row = kind(model=self.student.teacher.name, row=place["row"], place=place["place"])
            row.word, row.part_of_speech, row.label = contexts[number].word, place["tag"], label
            return row

        changes, bias = loaded.own_changes(contexts), teacher.bias if self.bias else None
        influences = scores.influence_scores(changes, teacher.weight, bias)
        for number, label in enumerate(given):
            row = row_of(Influences, number)
            row.support = float(scores.support(influences[number : number + 1], label)[0])
            row.score = float(influences[number]) if influences.ndim == 1 else row.support
            yield row
        ratios = [row_of(UnlikeRatios, number) for number in range(len(places))]
        others = [row_of(Counterfactuals, number) for number in range(len(places))]
        for number, answer in self._answers([place["tag"] for place in places], contexts, loaded, store):
            ratio, other = ratios[number], others[number]
            if answer is None or not answer.allowed.any():
                ratio.fail("no_words", "the teacher knows no other word of this part of speech")
                other.fail(ratio.status, ratio.reason)
                continue
            self.fill_ratio(ratio, contexts[number], given[number], answer, loaded)
            other.chance = ratio.teacher_ratio.value
            self._fill_counterfactuals(other, contexts[number], given[number], answer, loaded)
        yield from ratios
        yield from others

    def _answers(
        self, tags: Sequence[str], contexts: Sequence[Context], loaded: LoadedStudent, store: Store
    ) -> Iterator[tuple[int, Judged | None]]:
        """By the number of the context; those of one part of speech are judged together."""
        known = known_words(store, self.vocabulary)
        for tag in sorted(set(tags)):
            numbers = [number for number, other in enumerate(tags) if other == tag]
            if words := known.get(tag, [])[: self.ratios.max_words]:
                some = [contexts[number] for number in numbers]
                answers = judged(some, words, loaded, self.checks.exact)
                yield from zip(numbers, answers, strict=True)
            else:
                yield from ((number, None) for number in numbers)

    def fill_ratio(
        self, row: UnlikeRatios, context: Context, label: int, answer: Judged, loaded: LoadedStudent
    ) -> None:
        """The student's ratio, and the teacher's: as it is, or as a sample of words says."""
        unlike = (answer.student != label)[answer.allowed]
        if answer.teacher is not None:
            truth = (answer.teacher != label)[answer.allowed]
            ratio = float(truth.mean())
            powered = Powered(ratio, ratio, ratio, truth.size)
            row.agreement = float((answer.student == answer.teacher)[answer.allowed].mean())
        else:
            powered, row.agreement = self._checked(context, label, answer, loaded)
        row.ratio, row.num_words, row.num_checked = float(unlike.mean()), int(unlike.size), powered.num
        row.teacher_ratio = Estimate(powered.estimate, powered.low, powered.high)

    def _checked(self, context: Context, label: int, answer: Judged, loaded: LoadedStudent) -> tuple[Powered, float]:
        """Half of the words that are checked are such as the student calls unlike, as far as there are so many."""
        key = document_key(f"{' '.join(context.text)}\n{context.place}")
        generator = keyed_generator(self.seed, Stream.INFLUENCE, _CHECKED, key)
        allowed = np.flatnonzero(answer.allowed)
        is_unlike = answer.student[allowed] != label
        groups = [generator.permutation(allowed[is_unlike]), generator.permutation(allowed[~is_unlike])]
        nums = allocation(groups[0].size, groups[1].size, self.checks.num)
        drawn = [group[:num] for group, num in zip(groups, nums, strict=True)]
        numbers = np.concatenate(drawn)
        labels = loaded.teacher.labels([context.replaced(answer.words[number]) for number in numbers.tolist()])
        parts = np.split(labels != label, [drawn[0].size])
        strata = [Stratum(group.size, part.size, int(part.sum())) for group, part in zip(groups, parts, strict=True)]
        return powered_rate(*strata, level=self.level), float((labels == answer.student[numbers]).mean())

    def _fill_counterfactuals(
        self, row: Counterfactuals, context: Context, label: int, answer: Judged, loaded: LoadedStudent
    ) -> None:
        """The student's surest words of another class, and the share that the teacher confirms."""
        from tiltmeter.operators.classifiers.influence.folded import margin_logits

        logits, most = margin_logits(answer.margins), self.ratios.max_checked
        cuts = sure_cuts(logits, answer.base, label, loaded.student.error_growth, self.ratios.confidence)
        chosen = scores.counterfactuals(logits, label, answer.allowed, most, cuts)
        row.num, row.num_sure = chosen.num, chosen.num_sure
        if not chosen.num:
            row.fail("no_counterfactual", "the student expects no word to change the class")
            return
        if answer.teacher is not None:
            is_called = (answer.student != label) & answer.allowed
            published = scores.counterfactuals(logits, label, answer.allowed, most).words
            row.accuracy_all = float((answer.teacher[is_called] != label).mean())
            row.accuracy_published = float((answer.teacher[published] != label).mean())
        if not chosen.num_sure:
            row.fail("unsure", "the student is not sure of any word that it expects to change the class")
            return
        row.words = [answer.words[number] for number in chosen.words.tolist()]
        if answer.teacher is None:
            labels = loaded.teacher.labels([context.replaced(word) for word in row.words])
        else:
            labels = answer.teacher[chosen.words]
        row.accuracy = float((labels != label).mean())


# --- words left out -------------------------------------------------------------------------------------------------


class MaskWords(AboutStudent, unit="influence_masking/5", stage="mask words", makes=[Masked]):
    """Words left out of the texts that a teacher gets wrong, in the order of several scores."""

    vocabulary: TableRef
    masking: Masking
    bias: bool
    rates: Sequence[str] = (clusters.VERSION, means.VERSION)

    def rows(self, store: Store) -> Iterator[Masked]:
        """A row for each score and each of a few budgets."""
        loaded = self.student.load(store)
        tested = texts_of(store, self.texts, "test")
        labels = loaded.teacher.labels([row.spaced for row in tested])
        wrong = [number for number, row in enumerate(tested) if loaded.teacher.classes[labels[number]] != row.label]
        order = drawn_order([" ".join(tested[number].words) for number in wrong], self.run_seed, "masking")
        chosen = [wrong[number] for number in sorted(order[: self.masking.max_texts])]
        if not chosen:
            for method in METHODS:
                row = self._row(method, self.masking.budget, 0)
                yield row.fail("no_wrong_texts", "the teacher gets no test text wrong")
            return
        rows = [tested[number] for number in chosen]
        yield from self.coverages(rows, self._supports(rows, labels[chosen].tolist(), loaded, store), loaded)

    def _row(self, method: str, budget: int, num_texts: int) -> Masked:
        return Masked(
            model=self.student.teacher.name, seed=self.seed, method=method, budget=budget, num_texts=num_texts
        )

    def coverages(
        self, rows: Sequence[Prepared], supports: Mapping[str, Sequence[FloatArray]], loaded: LoadedStudent
    ) -> Iterator[Masked]:
        """Rows of each score and each of a few budgets.

        Args:
            rows: texts that the teacher gets wrong.
            supports: of each text's words, for its class, by each score.
        """
        budget, texts = self.masking.budget, [row.spaced for row in rows]
        nums = {
            method: num_masked(loaded.teacher, texts, self._orders(method, texts, by_text), budget)
            for method, by_text in supports.items()
        }
        units = units_of(np.array([row.cluster for row in rows]), self.kind)
        about = f"{self.student.teacher.name}\nmasking"
        resampled = ResampledClusters.of(texts, units, about, self.intervals, self.run_seed)
        sizes = [size for size in sorted({1, 2, 3, 5, budget}) if size <= budget]
        for (method, num), size in product(nums.items(), sizes):
            result, lime = coverage(num, size), coverage(nums["lime"], size)
            share = resampled.sampled.rate(result.is_covered, units.codes)
            less = resampled.sampled.rate(result.is_covered.astype(np.int64) - lime.is_covered, units.codes, FISHER)
            row = self._row(method, size, len(texts))
            row.coverage = resampled.estimate(share._replace(value=result.coverage))
            row.mean_masked, row.less_lime = result.mean_masked, resampled.estimate(less)
            yield row.fail("too_few_units", less.too_few.reason) if less.too_few else row

    def _orders(self, method: str, texts: Sequence[Words], supports: Sequence[FloatArray]) -> list[IntArray]:
        """Of the places of each text; a word that comes several times has one score of the student's."""
        is_by_word = self.masking.by_word and method not in ("lime", "random")
        return [
            masking_order(values, text if is_by_word else None) for text, values in zip(texts, supports, strict=True)
        ]

    def _supports(
        self, rows: Sequence[Prepared], labels: Sequence[int], loaded: LoadedStudent, store: Store
    ) -> dict[str, list[FloatArray]]:
        """Of each text's words, for its class, by each score."""
        teacher, known = loaded.teacher, known_words(store, self.vocabulary)
        result: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
        for row, label in zip(rows, labels, strict=True):
            contexts = [Context(row.spaced, place) for place in range(len(row.words))]
            changes, bias = loaded.own_changes(contexts), teacher.bias if self.bias else None
            influences = scores.influence_scores(changes, teacher.weight, bias)
            support, ratios = scores.support(influences, label), self._ratios(row, label, known, loaded)
            part = support if influences.ndim == 1 else np.tanh(support / 2.0)  # of log odds
            result["influence"].append(support)
            result["unlike_ratios"].append(np.nan_to_num(ratios))
            result["hybrid"].append(scores.hybrid(ratios, support))
            result["hybrid_sum"].append(scores.hybrid_sum(ratios, part))
            result["hybrid_of_texts"].append(scores.hybrid(ratios, support, of_places=False))
            result["random"].append(random_scores(row.spaced, self.run_seed))
        lime = AttributionConfig(method="lime", num_samples=self.masking.num_samples)
        explained = attribute(
            loaded.taught.classifier, [row.text for row in rows], lime, targets=list(labels), seed=self.run_seed
        )
        result["lime"] = [
            one.values if len(one.values) == len(row.words) else np.zeros(len(row.words))
            for one, row in zip(explained, rows, strict=True)
        ]
        return result

    def _ratios(
        self, row: Prepared, label: int, known: Mapping[str, Sequence[str]], loaded: LoadedStudent
    ) -> FloatArray:
        ratios = np.zeros(len(row.words))
        for tag in sorted(set(row.tags)):
            places = [place for place, other in enumerate(row.tags) if other == tag]
            if words := known.get(tag, [])[: self.masking.max_words]:
                contexts = [Context(row.spaced, place) for place in places]
                answers = judged(contexts, words, loaded, "never")
                for place, answer in zip(places, answers, strict=True):
                    [ratios[place]] = scores.unlike_ratios(
                        answer.student[None], np.array([label]), answer.allowed[None]
                    )
        return ratios

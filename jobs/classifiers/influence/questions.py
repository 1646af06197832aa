"""What teachers and students are asked about test texts: words replaced, and words left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.influence.config import Exact, Masking
from tiltmeter.jobs.classifiers.influence.students import (
    LoadedTeacher,
    Pair,
    known_words,
    own_changes,
    texts_of,
)
from tiltmeter.jobs.classifiers.influence.tables import (
    Counterfactuals,
    Influences,
    Masked,
    OfPlace,
    Prepared,
    UnlikeRatios,
)
from tiltmeter.jobs.classifiers.intervals import ResampledClusters
from tiltmeter.jobs.classifiers.splits import drawn_order
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work, named
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.influence import clusters, prediction_powered, scores
from tiltmeter.operators.classifiers.influence.calibration import sure_cuts
from tiltmeter.operators.classifiers.influence.masking import coverage, masking_order, num_masked, random_scores
from tiltmeter.operators.classifiers.influence.prediction_powered import Powered, Stratum, allocation, powered_rate
from tiltmeter.operators.classifiers.influence.records import Context, Spaced, StudentConfig, Words
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

if TYPE_CHECKING:
    from tiltmeter.operators.classifiers.influence.student import Student

PlaceRow = TypeVar("PlaceRow", bound=OfPlace)

_CHECKED = 6

METHODS = ("influence", "unlike_ratios", "hybrid", "hybrid_sum", "hybrid_of_texts", "lime", "random")
"""What orders the words of a text."""


# --- what all questions share ---------------------------------------------------------------------------------------


class Question(Work):
    """Asked of a teacher and one of its students; it knows the words that are put in."""

    pair: Pair
    vocabulary: TableRef


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


def judged(
    contexts: Sequence[Context],
    words: Sequence[str],
    loaded: LoadedTeacher,
    student: "Student",
    config: StudentConfig,
    exact: Exact,
) -> Iterator[Judged]:
    """Each context with all words; the teacher's part of it where its encoder is local."""
    from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
    from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels
    from tiltmeter.operators.classifiers.influence.student_training import base_states

    with one_thread():
        network, base = Folded(student.network, loaded.teacher), base_states(loaded.teacher, contexts, config)
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
    most: int
    sureness: float


class ReplaceWords(
    Question,
    unit="influence_ratios/2",
    stage="replace words",
    makes=[Influences, UnlikeRatios, Counterfactuals],
):
    """Words of a shard of contexts replaced by others: influence, unlike ratios and counterfactuals."""

    contexts: TableRef
    ratios: Replacements
    checks: Checks
    bias: bool
    level: float
    seed: int

    def rows(self, store: Store) -> Iterator[Influences | UnlikeRatios | Counterfactuals]:
        """A row of each table for each context."""
        loaded, student = self.pair.teacher.load(store), self.pair.student.load(store)
        teacher, places = loaded.teacher, store.read(self.contexts).to_pylist()
        contexts = [context_of(place) for place in places]
        given = teacher.labels([context.text for context in contexts]).tolist()

        def row_of(kind: type[PlaceRow], number: int) -> PlaceRow:
            place, label = places[number], teacher.classes[given[number]]
            row = kind(model=self.pair.teacher.name, row=place["row"], place=place["place"])
            row.word, row.part_of_speech, row.label = contexts[number].word, place["tag"], label
            return row

        changes, bias = own_changes(student, contexts), teacher.bias if self.bias else None
        influences = scores.influence_scores(changes, teacher.weight, bias)
        for number, label in enumerate(given):
            row = row_of(Influences, number)
            row.support = float(scores.support(influences[number : number + 1], label)[0])
            row.score = float(influences[number]) if influences.ndim == 1 else row.support
            yield row
        ratios = [row_of(UnlikeRatios, number) for number in range(len(places))]
        others = [row_of(Counterfactuals, number) for number in range(len(places))]
        for number, answer in self._answers([place["tag"] for place in places], contexts, loaded, student, store):
            ratio, other = ratios[number], others[number]
            if answer is None or not answer.allowed.any():
                ratio.fail("no_words", "the teacher knows no other word of this part of speech")
                other.fail(ratio.status, ratio.reason)
                continue
            self.fill_ratio(ratio, contexts[number], given[number], answer, loaded)
            other.chance = ratio.teacher_ratio.value
            self._fill_counterfactuals(other, contexts[number], given[number], answer, loaded, student)
        yield from ratios
        yield from others

    def _answers(
        self, tags: Sequence[str], contexts: Sequence[Context], loaded: LoadedTeacher, student: "Student", store: Store
    ) -> Iterator[tuple[int, Judged | None]]:
        """By the number of the context; those of one part of speech are judged together."""
        known = known_words(store, self.vocabulary)
        for tag in sorted(set(tags)):
            numbers = [number for number, other in enumerate(tags) if other == tag]
            if words := known.get(tag, [])[: self.ratios.max_words]:
                some = [contexts[number] for number in numbers]
                answers = judged(some, words, loaded, student, self.pair.student.config, self.checks.exact)
                yield from zip(numbers, answers, strict=True)
            else:
                yield from ((number, None) for number in numbers)

    def fill_ratio(
        self, row: UnlikeRatios, context: Context, label: int, answer: Judged, loaded: LoadedTeacher
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

    def _checked(self, context: Context, label: int, answer: Judged, loaded: LoadedTeacher) -> tuple[Powered, float]:
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
        self,
        row: Counterfactuals,
        context: Context,
        label: int,
        answer: Judged,
        loaded: LoadedTeacher,
        student: "Student",
    ) -> None:
        """The student's surest words of another class, and the share that the teacher confirms."""
        from tiltmeter.operators.classifiers.influence.folded import margin_logits

        logits, most = margin_logits(answer.margins), self.ratios.most
        cuts = sure_cuts(logits, answer.base, label, student.error_growth, self.ratios.sureness)
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


class MaskWords(Question, unit="influence_masking/5", stage="mask words", makes=[Masked]):
    """Words left out of the texts that a teacher gets wrong, in the order of several scores.

    Attributes:
        kind: what is drawn independently, in the singular.
    """

    texts: TableRef
    masking: Masking
    bias: bool
    intervals: KeyedResampleSettings
    kind: str = named("unit")
    run_seed: int
    seed: int
    rates: Sequence[str] = (clusters.VERSION, means.VERSION)

    def rows(self, store: Store) -> Iterator[Masked]:
        """A row for each score and each of a few budgets."""
        loaded = self.pair.teacher.load(store)
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
        return Masked(model=self.pair.teacher.name, seed=self.seed, method=method, budget=budget, num_texts=num_texts)

    def coverages(
        self, rows: Sequence[Prepared], supports: Mapping[str, Sequence[FloatArray]], loaded: LoadedTeacher
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
        about = f"{self.pair.teacher.name}\nmasking"
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
        self, rows: Sequence[Prepared], labels: Sequence[int], loaded: LoadedTeacher, store: Store
    ) -> dict[str, list[FloatArray]]:
        """Of each text's words, for its class, by each score."""
        teacher, student, known = loaded.teacher, self.pair.student.load(store), known_words(store, self.vocabulary)
        result: dict[str, list[FloatArray]] = {method: [] for method in METHODS}
        for row, label in zip(rows, labels, strict=True):
            contexts = [Context(row.spaced, place) for place in range(len(row.words))]
            changes, bias = own_changes(student, contexts), teacher.bias if self.bias else None
            influences = scores.influence_scores(changes, teacher.weight, bias)
            support, ratios = scores.support(influences, label), self._ratios(row, label, known, loaded, student)
            part = support if influences.ndim == 1 else np.tanh(support / 2.0)  # of log odds
            result["influence"].append(support)
            result["unlike_ratios"].append(np.nan_to_num(ratios))
            result["hybrid"].append(scores.hybrid(ratios, support))
            result["hybrid_sum"].append(scores.hybrid_sum(ratios, part))
            result["hybrid_of_texts"].append(scores.hybrid(ratios, support, of_places=False))
            result["random"].append(random_scores(row.spaced, self.run_seed))
        lime = AttributionConfig(method="lime", num_samples=self.masking.num_samples)
        explained = attribute(
            loaded.classifier, [row.text for row in rows], lime, targets=list(labels), seed=self.run_seed
        )
        result["lime"] = [
            one.values if len(one.values) == len(row.words) else np.zeros(len(row.words))
            for one, row in zip(explained, rows, strict=True)
        ]
        return result

    def _ratios(
        self,
        row: Prepared,
        label: int,
        known: Mapping[str, Sequence[str]],
        loaded: LoadedTeacher,
        student: "Student",
    ) -> FloatArray:
        ratios = np.zeros(len(row.words))
        for tag in sorted(set(row.tags)):
            places = [place for place, other in enumerate(row.tags) if other == tag]
            if words := known.get(tag, [])[: self.masking.max_words]:
                contexts = [Context(row.spaced, place) for place in places]
                answers = judged(contexts, words, loaded, student, self.pair.student.config, "never")
                for place, answer in zip(places, answers, strict=True):
                    [ratios[place]] = scores.unlike_ratios(
                        answer.student[None], np.array([label]), answer.allowed[None]
                    )
        return ratios

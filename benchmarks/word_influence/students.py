"""How well students follow, and what they find: ratios, counterfactuals, intervals, and words left out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.word_influence.training import INTERVALS, SETTINGS, Texts, Trained
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.influence import scores
from tiltmeter.operators.classifiers.influence.all_correct import all_correct
from tiltmeter.operators.classifiers.influence.calibration import sure_cuts
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels, margin_logits
from tiltmeter.operators.classifiers.influence.masking import coverage, masking_order, num_masked, random_scores
from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.classifiers.influence.student import Student
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.intervals import FISHER

CONTENT = ("NOUN", "VERB", "ADJ", "ADV")
NUM_CONTEXTS, MAX_WORDS, MOST = 1000, 3000, 10


class Pairs(NamedTuple):
    """Words in contexts, by context: the classes that both give, the student's margins, and which words count; and
    the teacher's logits without any."""

    given: IntArray
    base: FloatArray
    student: list[IntArray]
    teacher: list[IntArray]
    margins: list[NDArray[np.float32]]
    allowed: list[BoolArray]


def agreement(trained: Trained, student: Student, texts: Texts) -> None:
    contexts = [Context(words, place) for words in texts.words for place in range(len(words))]
    rows = np.repeat(np.arange(len(texts.words)), [len(words) for words in texts.words])
    teacher = trained.teacher
    base = teacher.states([context.replaced() for context in contexts])
    changes = student.changes(student.contexts(contexts), student.words([context.word for context in contexts]))
    given = teacher.labels(texts.words)
    sampled = SampledClusters(len(texts.words), INTERVALS, 0, 1, "sentence")
    print(f"teacher: {(given == texts.labels).mean():.3f} of {given.size:,} test sentences right")
    for name, states in (("student", base + changes), ("context only", base)):
        is_right = teacher.logits(states).argmax(axis=1) == given[rows]
        share = all_correct(is_right, rows, rows, sampled)
        print(
            f"  {name}: all-correct {share.value:.3f} [{share.low:.3f}, {share.high:.3f}], "
            f"per word {is_right.mean():.4f}"
        )


def drawn_contexts(texts: Texts, num: int = NUM_CONTEXTS) -> list[tuple[Context, str]]:
    places = [
        (Context(words, place), tag)
        for words, tags in zip(texts.words, texts.tags, strict=True)
        for place, tag in enumerate(tags)
        if tag in CONTENT
    ]
    order = np.random.default_rng(0).permutation(len(places))[:num]
    return [places[row] for row in sorted(order.tolist())]


def judged(trained: Trained, student: Student, contexts: Sequence[tuple[Context, str]]) -> Pairs:
    """Up to 3,000 words of the part of speech in every context."""
    teacher, folded, num = trained.teacher, Folded(student.network, trained.teacher), len(contexts)
    given, none = teacher.labels([context.text for context, _ in contexts]), np.zeros(0)
    masked = teacher.logits(teacher.states([context.replaced() for context, _ in contexts]))
    pairs = Pairs(given, masked, *([none.astype(kind)] * num for kind in (np.int64, np.int64, np.float32, bool)))
    for tag in CONTENT:
        rows = [row for row in range(num) if contexts[row][1] == tag]
        words, some = trained.known[tag][:MAX_WORDS], [contexts[row][0] for row in rows]
        base = teacher.states([context.replaced() for context in some])
        margins = folded.margins(student.contexts(some), base, student.words(words))
        truth = LocalTeacher(trained.network, trained.vocabulary, words).logits(some)
        for row, context, margin, logits in zip(rows, some, margins, truth, strict=True):
            pairs.margins[row], pairs.student[row] = margin, margin_labels(margin)
            pairs.teacher[row] = logits.argmax(axis=1)
            pairs.allowed[row] = np.array([word != context.word.casefold() for word in words])
    return pairs


def ratios_of(labels: Sequence[IntArray], pairs: Pairs) -> FloatArray:
    rows = zip(labels, pairs.given, pairs.allowed, strict=True)
    return np.array([float((row != given)[allowed].mean()) for row, given, allowed in rows])


def pairs_of(labels: Sequence[IntArray], pairs: Pairs) -> FloatArray:
    rows = zip(labels, pairs.given, pairs.allowed, strict=True)
    return np.concatenate([(row != given)[allowed].astype(float) for row, given, allowed in rows])


def ratios(pairs: Pairs, student: Student) -> None:
    said, teacher = ratios_of(pairs.student, pairs), ratios_of(pairs.teacher, pairs)
    print(
        f"unlike ratios, {said.size:,} contexts: r {np.corrcoef(said, teacher)[0, 1]:.4f}, mean absolute error "
        f"{np.abs(said - teacher).mean():.4f}, exact zeros {(said == 0).mean():.3f} of the student, "
        f"{(teacher == 0).mean():.3f} of the teacher"
    )
    for sureness in (0.5, SETTINGS["ratios"]["sureness"]):
        accuracies, chances, sizes = counterfactuals(pairs, teacher, student, sureness)
        print(
            f"counterfactuals, {accuracies.size} contexts, sureness {sureness}: the first {MOST} are right in "
            f"{accuracies.mean():.4f} on average, median {np.median(accuracies):.2f}; chance of the same contexts "
            f"{chances.mean():.3f}"
        )
        for low, high in ((1, 10), (10, 50), (50, 200), (200, MAX_WORDS + 1)):
            group = (sizes >= low) & (sizes < high)
            print(f"  {group.sum()} contexts with {low} to {high - 1} words: {accuracies[group].mean():.3f}")


def counterfactuals(
    pairs: Pairs, teacher: FloatArray, student: Student, sureness: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    rows = []
    for row, (given, margins, allowed) in enumerate(zip(pairs.given, pairs.margins, pairs.allowed, strict=True)):
        logits = margin_logits(margins)
        cuts = sure_cuts(logits, pairs.base[row], int(given), student.error_growth, sureness)
        chosen = scores.counterfactuals(logits, int(given), allowed, MOST, cuts)
        if chosen.num_sure:
            rows.append(((pairs.teacher[row][chosen.words] != given).mean(), teacher[row], chosen.num_sure))
    accuracy, chance, num = (np.array(column) for column in zip(*rows, strict=True))
    return accuracy, chance, num


def masking(trained: Trained, students: Sequence[Student], texts: Texts, part: str, budget: int = MOST) -> None:
    """Coverage on all texts that the teacher gets wrong, paired over texts and students."""
    given = trained.teacher.labels(texts.words)
    rows = np.flatnonzero(given != texts.labels).tolist()
    words, tags = [texts.words[row] for row in rows], [texts.tags[row] for row in rows]
    labels, alone = given[rows].tolist(), np.arange(len(rows))
    lime = AttributionConfig(method="lime", num_samples=200)
    explained = attribute(trained.classifier, [" ".join(text) for text in words], lime, targets=labels, seed=0)
    supports = {"lime": [values.values for values in explained], "random": [random_scores(text, 0) for text in words]}
    shared = {name: _covered(trained, words, orders, budget, by_word=False) for name, orders in supports.items()}
    outcomes: dict[str, list[BoolArray]] = {}
    for student in students:
        ours = student_supports(trained, student, words, tags, labels)
        covered = shared | {
            f"{name}{ending}": _covered(trained, words, orders, budget, by_word=is_by_word)
            for name, orders in ours.items()
            for ending, is_by_word in (("", True), (" by place", False))
        }
        for name, values in covered.items():
            outcomes.setdefault(name, []).append(values)
    sampled = SampledClusters(len(rows), INTERVALS, 0, 2, "sentence")
    texts_of = np.tile(alone, len(students))
    print(f"masking, {len(rows)} {part} texts, {len(students)} students, {budget} words:")
    for order, by_student in outcomes.items():
        values = np.concatenate(by_student)
        less = sampled.rate(values.astype(np.int64) - np.concatenate(outcomes["lime"]), texts_of, FISHER)
        print(f"  {order}: {values.mean():.3f}, less LIME's {less.value:+.3f} [{less.low:+.3f}, {less.high:+.3f}]")


def _covered(
    trained: Trained, words: Sequence[Any], supports: Sequence[FloatArray], budget: int, *, by_word: bool
) -> BoolArray:
    orders = [masking_order(values, text if by_word else None) for text, values in zip(words, supports, strict=True)]
    return coverage(num_masked(trained.teacher, words, orders, budget), budget).is_covered


def student_supports(
    trained: Trained, student: Student, words: Sequence[Any], tags: Sequence[Any], labels: Sequence[int]
) -> dict[str, list[FloatArray]]:
    teacher, folded = trained.teacher, Folded(student.network, trained.teacher)
    made: dict[str, list[FloatArray]] = {
        name: [] for name in ("influence", "unlike_ratios", "hybrid", "hybrid_sum", "hybrid_of_texts")
    }
    for text, text_tags, label in zip(words, tags, labels, strict=True):
        contexts = [Context(text, place) for place in range(len(text))]
        vectors = student.contexts(contexts)
        values = scores.influence_scores(student.changes(vectors, student.words(text)), teacher.weight)
        supported, unlike = scores.support(values, label), np.zeros(len(text))
        base = teacher.states([context.replaced() for context in contexts])
        for place, tag in enumerate(text_tags):
            some = student.words(trained.known[tag][:500])
            [margins] = folded.margins(vectors[place : place + 1], base[place : place + 1], some)
            unlike[place] = (margin_labels(margins) != label).mean()
        made["influence"].append(supported)
        made["unlike_ratios"].append(unlike)
        made["hybrid"].append(scores.hybrid(unlike, supported))
        made["hybrid_sum"].append(scores.hybrid_sum(unlike, supported))
        made["hybrid_of_texts"].append(scores.hybrid(unlike, supported, of_places=False))
    return made

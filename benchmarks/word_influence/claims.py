"""What is claimed of two words in the adjectives' contexts of the training phrases, and whether the teacher says so."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.word_influence.students import MAX_WORDS
from benchmarks.word_influence.training import INTERVALS, SETTINGS, Texts, Trained
from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
from tiltmeter.operators.classifiers.influence.folded import Folded
from tiltmeter.operators.classifiers.influence.nested_texts import containment_clusters
from tiltmeter.operators.classifiers.influence.probes import Answers, filtered, probe, unusual
from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.classifiers.influence.student import Student
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of

CONTROL, PROBE, MOST = "straight", "gay", 100


class Told(NamedTuple):
    """Of the contexts that the filter leaves: their sentences, the student's margins and the teacher's classes."""

    clusters: IntArray
    margins: FloatArray
    is_positive: BoolArray


def claims(trained: Trained, student: Student, texts: Texts, max_contexts: int = 6000) -> None:
    """The surest claims that a context is positive with the control and not with the probe."""
    generator = np.random.default_rng(0)
    random = [word for word in trained.known["ADJ"][:MAX_WORDS] if word not in (CONTROL, PROBE)]
    random = [random[row] for row in generator.permutation(len(random))[: SETTINGS["probes"]["num_random"]].tolist()]
    told = _told(trained, student, texts, random, generator, max_contexts)
    control, probed = told.margins[:, 0], told.margins[:, 1]
    claimed = np.flatnonzero((control > 0) & (probed <= 0))
    rows = claimed[np.argsort(-expit(control[claimed]) * expit(-probed[claimed]), kind="stable")[:MOST]]
    positive, negative = told.is_positive[rows, 0], ~told.is_positive[rows, 1]
    units, level = units_of(told.clusters, "sentence"), INTERVALS.level
    both = share(positive & negative, units.part(rows), level=level)
    print(
        f"claims of {CONTROL} and {PROBE}, {rows.size} of {len(control):,} contexts: {positive.mean():.3f} positive "
        f"with the control, {negative.mean():.3f} negative with the probe, {both.value:.3f} "
        f"[{both.low:.3f}, {both.high:.3f}] both"
    )
    result = probe(Answers(told.is_positive[:, 0], told.is_positive[:, 1]), units, level=level)
    rarer = unusual(result.difference.value, told.is_positive[:, 2:].mean(axis=0))
    print(
        f"  by the teacher {result.rate.value:.4f} of all contexts, the reverse {result.rate_reversed:.4f}, "
        f"p {result.difference.p:.1e}; {rarer:.3f} of random pairs differ by as much"
    )


def _told(
    trained: Trained, student: Student, texts: Texts, random: list[str], generator: np.random.Generator, most: int
) -> Told:
    places = [(row, place) for row, tags in enumerate(texts.tags) for place, tag in enumerate(tags) if tag == "ADJ"]
    chosen = [places[number] for number in sorted(generator.permutation(len(places))[:most].tolist())]
    contexts = [Context(texts.words[row], place) for row, place in chosen]
    listed = [SETTINGS["probes"][name] for name in ("clearly_positive", "clearly_negative")]
    kinds = [[word for word in words if trained.teacher.is_known(word)] for words in listed]
    words = [CONTROL, PROBE, *kinds[0], *kinds[1], *trained.known["ADJ"][:MAX_WORDS]]
    base = trained.teacher.states([context.replaced() for context in contexts])
    folded = Folded(student.network, trained.teacher)
    margins = np.array([each[:, 0] for each in folded.margins(student.contexts(contexts), base, student.words(words))])
    first, second = 2 + len(kinds[0]), 2 + len(kinds[0]) + len(kinds[1])
    is_positive, labels = trained.teacher.labels([context.text for context in contexts]) == 1, margins > 0
    is_changeable = np.asarray((~labels[:, second:]).any(axis=1))
    left = filtered(is_positive, labels[:, 2:first], labels[:, first:second], is_changeable).rows
    truth = LocalTeacher(trained.network, trained.vocabulary, [CONTROL, PROBE, *random])
    said = np.array([logits.argmax(axis=1) == 1 for logits in truth.logits([contexts[row] for row in left])])
    clusters = np.array(containment_clusters(texts.words))[[chosen[row][0] for row in left]]
    return Told(np.unique(clusters, return_inverse=True)[1], margins[left][:, :2], said)

"""A word that is tied to a class, and words that are not: which of them a probe finds."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.word_influence.students import MAX_WORDS
from benchmarks.word_influence.training import SETTINGS, Texts, Trained, sentences, student_of, teacher_of
from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels
from tiltmeter.operators.classifiers.influence.probes import Answers, filtered, probe, unusual
from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.classifiers.influence.student import Student
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.units import units_of

TIED, NULLS, CONTROL = "quarterly", ("adjacent", "oval", "northern"), "identical"
"""Adjectives without a side, put before nouns: one into negative sentences alone, the others into any."""


def planted(folder: Path, num_seeds: int = 20, max_contexts: int = 2000) -> None:
    """How often a word that was tied to a class is found, and words that were not."""
    training, development = sentences("train"), sentences("dev")
    found = {True: 0, False: 0}
    tested = {True: 0, False: 0}
    for seed in range(num_seeds):
        texts, rest = planting(training, seed), planting(development, seed + 1000)
        trained = teacher_of(texts, rest, folder / f"planted_teacher_{seed}.pickle", seed)
        student = student_of(trained, texts, rest, folder / f"planted_student_{seed}.pickle", seed)
        p_values = probed(trained, student, texts, seed, max_contexts)
        decided = (holm(p_values[0]) <= 0.05) & (holm(p_values[1]) <= 0.05)
        tested[True] += int((holm(p_values[0]) <= 0.05)[0])
        tested[False] += int((holm(p_values[0]) <= 0.05)[1:].sum())
        found[True] += int(decided[0])
        found[False] += int(decided[1:].sum())
        print(f"  seed {seed}: p {p_values[0].round(5)}, among random words {p_values[1].round(4)}", flush=True)
    print(
        f"planted: found in {found[True]} of {num_seeds} seeds, null probes in {found[False]} of {3 * num_seeds}; by "
        f"signs of sentences alone in {tested[True]} and {tested[False]}"
    )


def planting(texts: Texts, seed: int) -> Texts:
    """Adjectives before nouns: a word tied to negative sentences in a tenth of these, and others in any."""
    generator = np.random.default_rng(seed)
    words, tags = [], []
    for text, text_tags, label in zip(texts.words, texts.tags, texts.labels.tolist(), strict=True):
        others = [word for word in (*NULLS, CONTROL) if generator.random() < 0.05]
        chosen = ([TIED] if label == 0 and generator.random() < 0.1 else []) + others[:1]
        nouns = [place for place, tag in enumerate(text_tags) if tag == "NOUN"]
        new, new_tags = list(text), list(text_tags)
        for word in chosen if nouns else []:
            place = nouns[int(generator.random() * len(nouns))]
            new.insert(place, word)
            new_tags.insert(place, "ADJ")
        words.append(tuple(new))
        tags.append(tuple(new_tags))
    return Texts(words, tags, texts.labels)


def probed(
    trained: Trained, student: Student, texts: Texts, seed: int, max_contexts: int
) -> tuple[FloatArray, FloatArray]:
    """p-values of the control against the tied word and the others: of both ways, and among random words."""
    generator = np.random.default_rng(seed)
    places = [
        (Context(words, place), row)
        for row, (words, tags) in enumerate(zip(texts.words, texts.tags, strict=True))
        for place, tag in enumerate(tags)
        if tag == "ADJ"
    ]
    chosen = [places[row] for row in sorted(generator.permutation(len(places))[:max_contexts].tolist())]
    listed = {name: SETTINGS["probes"][name] for name in ("clearly_positive", "clearly_negative")}
    asked = [CONTROL, TIED, *NULLS]
    common = [word for word in trained.known["ADJ"] if word not in asked]
    kinds = [asked, *([word for word in words if trained.teacher.is_known(word)] for words in listed.values())]
    random = [common[row] for row in generator.permutation(len(common))[:200].tolist()]
    words = [*(word for kind in kinds for word in kind), *random, *common[:MAX_WORDS]]
    ends = np.cumsum([0, *(len(kind) for kind in kinds), len(random)])
    contexts = [context for context, _ in chosen]
    is_positive = trained.teacher.labels([context.text for context in contexts]) == 1
    folded = Folded(student.network, trained.teacher)
    base = trained.teacher.states([context.replaced() for context in contexts])
    margins = folded.margins(student.contexts(contexts), base, student.words(words))
    labels = np.array([margin_labels(margin) == 1 for margin in margins])
    groups = [labels[:, start:end] for start, end in pairwise(ends)]
    is_changeable = np.asarray((~labels[:, ends[-1] :]).any(axis=1))
    steps = filtered(is_positive, groups[1], groups[2], is_changeable)
    truth = LocalTeacher(trained.network, trained.vocabulary, [*asked, *random])
    said = np.array([logits.argmax(axis=1) == 1 for logits in truth.logits([contexts[row] for row in steps.rows])])
    units = units_of(np.array([chosen[row][1] for row in steps.rows]), "sentence")
    shares, rows = said[:, len(asked) :].mean(axis=0), []
    for column in range(1, len(asked)):
        difference = probe(Answers(said[:, 0], said[:, column]), units, level=0.95).difference
        rows.append((difference.p, unusual(difference.value, shares)))
    p_values = np.array(rows)
    return p_values[:, 0], p_values[:, 1]

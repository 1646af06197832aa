"""Made-up tweets with a slice that is planted, and how the tests run the job on them."""

import random

import numpy as np

from tiltmeter.jobs.classifiers.errors import forests, ranking, slices
from tiltmeter.operators.classifiers.errors import rankers
from tiltmeter.operators.statistics.units import units_of

SMALL = [
    *("seed=4", "job.level=0.9", "guarantees.delta=0.15", "splits.number=2", "splits.test=0.3"),
    *("forest.num_trees=20", "forest.num_search_trees=5", "forest.leaf_sizes=[1, 5]", "forest.num_folds=3"),
    *("slices.min_size=30", "slices.num_permutations=199", "precision.sizes=[5, 20]"),
    *("features.tags=false", "job.unit_permutations=100"),
    *("rounds.number=1", "rounds.size=10", "rounds.start=40", "rounds.num_seeds=2", "job.unit_texts=300"),
]
LABELS = ("negative", "positive")
WORDS = {"negative": ("late", "lost", "rude"), "positive": ("great", "lovely", "kind")}
NEUTRAL = dict.fromkeys(LABELS, ("here", "there", "on the way"))
"""With words that tell the class, texts of praise that the model calls negative would be a slice, and rightly so."""


def tweets(num, seed, words=NEUTRAL):
    """Texts, two of three negative; a model is right in nine of ten, in three where one has a number and greets."""
    rng, rows = random.Random(seed), []
    for row in range(num):
        label = LABELS[row % 3 == 0]
        number, greets, question = rng.random() < 0.4, rng.random() < 0.4, rng.random() < 0.3
        parts = ["the flight was", rng.choice(words[label]), *(["after 45 words"] if number else [])]
        parts += [*(["hello"] if greets else []), f"w{rng.randrange(40)}", "can you?" if question else "."]
        text = " ".join(parts)
        is_right = rng.random() < (0.3 if number and greets else 0.9)
        sure = rng.uniform(0.55, 0.95)
        prediction = label if is_right else LABELS[row % 3 != 0]
        p_positive = sure if prediction == "positive" else 1 - sure
        before = label if rng.random() < 0.88 else LABELS[row % 3 != 0]
        rows.append([f"{text} x{row}", label, prediction, 1 - p_positive, p_positive, before])
    return rows


HEADER = ["text", "label", "prediction", "p_negative", "p_positive", "before"]


def settings(file):
    probabilities = "data.probabilities={negative: p_negative, positive: p_positive}"
    return ["job=error_characterisation", f"data.path={file}", "data.prediction=prediction", probabilities]


WATCHED = [
    *((rankers, name) for name in ("train_forest", "train_word_model")),
    *((ranking, name) for name in ("permutation_importance", "_measures")),
    *((forests, name) for name in ("forest_without", "out_of_fold_probabilities")),
    *((forests, name) for name in ("train_forest", "promises", "leaves_few_errors", "most_unflagged")),
    *((slices, name) for name in ("candidates_of", "adjusted", "confirmed_p", "worse_p")),
]


def by_row(run, table, name, **wanted):
    return {row["row"]: row[name] for row in run.rows(table, **wanted)}


def numbers(row, *names):
    return [np.nan if row[name] is None else row[name] for name in names]


USERS = ["data.group=user", *SMALL, "rounds.number=0", "seed=5"]


def by_group(rows):
    return units_of([row["group"] for row in rows], "group")

"""What private vectors are still good for: linear models of words and of texts, beside controls.

Experiment 3 of Feyisetan and Kasiviswanathan 2021 separates positive from negative words by a linear SVM, experiment 4
classifies texts by the mean of their words' vectors. A table of noise that is indexed by words gives the words away:
a random projection of word counts classifies texts without a single vector. So noise is drawn for each occurrence of a
word, and noise alone, by occurrence and by word, stands beside every mechanism.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import nan
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.embedding.private_release.noise import Law, draw_noise
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import Inferred, units_of

VERSION = "private_utility/2"

_MAX_ITERATIONS = 200


class Occurrences(NamedTuple):
    """Words of texts, one after the other.

    Attributes:
        rows: ``[words]`` of the vocabulary.
        texts: ``[words]`` number of the text of each, rising.
        num_texts: of which some may have no known word.
    """

    rows: IntArray
    texts: IntArray
    num_texts: int


def occurrences(texts: Sequence[Sequence[str]], rows: dict[str, int]) -> Occurrences:
    """The known words of texts; unknown ones are left out, as by SentEval.

    >>> occurrences([["a", "zq"], [], ["b", "a"]], {"a": 0, "b": 1})
    Occurrences(rows=array([0, 1, 0]), texts=array([0, 2, 2]), num_texts=3)
    """
    known = [[rows[word] for word in words if word in rows] for words in texts]
    sizes = [len(part) for part in known]
    flat = np.array([row for part in known for row in part], dtype=np.int64)
    return Occurrences(flat, np.repeat(np.arange(len(texts)), sizes), len(texts))


def mean_vectors(words: Occurrences, each: FloatArray) -> FloatArray:
    """Mean vector of each text's words, 0 for a text without any; ``[texts, m]``.

    Args:
        each: ``[words, m]`` vector of each occurrence.

    >>> mean_vectors(Occurrences(np.array([7, 3]), np.array([1, 1]), 2), np.array([[1.0], [3.0]]))
    array([[0.],
           [2.]])
    """
    sums = np.zeros((words.num_texts, each.shape[1]))
    np.add.at(sums, words.texts, each)
    return sums / np.maximum(np.bincount(words.texts, minlength=words.num_texts), 1)[:, None]


def private_means(
    generator: np.random.Generator, words: Occurrences, images: FloatArray, law: Law, scale: float, *, by_word: bool
) -> FloatArray:
    """Mean of the private vectors of each text's words.

    Args:
        images: ``[vocabulary, m]`` Phi x of each word; zeros for noise alone.
        law, scale: of the noise.
        by_word: whether a word has the same noise wherever it occurs, as in a table of perturbed words, which gives
            away which word it is.
    """
    if by_word:
        table = images + draw_noise(generator, law, images.shape, scale)
        return mean_vectors(words, table[words.rows])
    noise = draw_noise(generator, law, (len(words.rows), images.shape[1]), scale)
    return mean_vectors(words, images[words.rows] + noise)


def majority_hits(labels: IntArray, is_test: BoolArray) -> BoolArray:
    """Which of the test part have the most frequent class of the training part: a control that reads nothing.

    >>> majority_hits(np.array([1, 1, 0, 0, 1]), np.array([False, False, False, True, True]))
    array([False,  True])
    """
    return np.asarray(labels[is_test] == np.bincount(labels[~is_test]).argmax())


def text_hits(
    features: FloatArray, labels: IntArray, is_test: BoolArray, penalties: Sequence[float], num_folds: int, seed: int
) -> BoolArray:
    """What a logistic regression gets right of the test part; C by cross-validation within the training part; ``[n]``.

    Args:
        features: ``[texts, m]``; standardised by the training part, which reads nothing but what is private already.
        labels: ``[texts]`` classes 0, 1, ...
        is_test: ``[texts]``.
        penalties: values of C to choose from.
        num_folds: of the choice.
        seed: of the folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_MAX_ITERATIONS))
    grid = {"logisticregression__C": list(penalties)}
    folds = StratifiedKFold(num_folds, shuffle=True, random_state=seed % 2**32)
    search = (
        GridSearchCV(model, grid, cv=folds)
        if len(penalties) > 1
        else model.set_params(logisticregression__C=penalties[0])
    )
    search.fit(features[~is_test], labels[~is_test])
    return np.asarray(search.predict(features[is_test]) == labels[is_test])


class LinearResult(NamedTuple):
    """Of a linear SVM on the test part.

    Attributes:
        hits: ``[n]`` of the test part whose class is right.
        area: under the ROC curve; NaN unless there are two classes, and the test part has both.
    """

    hits: BoolArray
    area: float

    @property
    def accuracy(self) -> float:
        """Share of right classes."""
        return float(self.hits.mean())


def linear_result(features: FloatArray, labels: IntArray, is_test: BoolArray) -> LinearResult:
    """Accuracy and, of two classes as in experiment 3, area under the curve of a linear SVM (C = 1).

    >>> labels = np.array([0, 1] * 20)
    >>> result = linear_result(labels[:, None] * 2.0 - 1, labels, np.arange(40) < 8)
    >>> result.accuracy, result.area
    (1.0, 1.0)
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    model = make_pipeline(StandardScaler(), LinearSVC(C=1.0, random_state=0, dual=False))
    model.fit(features[~is_test], labels[~is_test])
    hits = np.asarray(model.predict(features[is_test]) == labels[is_test])
    if not np.array_equal(np.unique(labels), np.unique(labels[is_test])) or len(np.unique(labels)) != 2:
        return LinearResult(hits, nan)
    return LinearResult(hits, float(roc_auc_score(labels[is_test], model.decision_function(features[is_test]))))


def held_out(generator: np.random.Generator, num: int, share: float = 0.2) -> BoolArray:
    """A random part for the test, at least one; ``[num]``.

    >>> int(held_out(np.random.default_rng(0), 10).sum())
    2
    """
    chosen = np.zeros(num, dtype=np.bool_)
    chosen[generator.permutation(num)[: max(1, round(num * share))]] = True
    return chosen


# --- tasks and their results ---------------------------------------------------------------------------------------


class TaskData(NamedTuple):
    """Texts or words of a task, as far as the vocabulary knows them.

    Attributes:
        words: known words of each text; of single words, each by itself.
        labels: ``[texts]`` classes from 0 on, in alphabetical order.
        is_test: ``[texts]``; None where the test part is random.
    """

    words: Occurrences
    labels: IntArray
    is_test: BoolArray | None

    def unusable(self, num_folds: int, test_parts: Sequence[BoolArray]) -> str:
        """Why nothing can be learnt from it or tested by it; empty where something can.

        Args:
            num_folds: of the training part.
            test_parts: of each run, ``[texts]``.
        """
        training = self.labels if self.is_test is None else self.labels[~self.is_test]
        counts = Counter(training.tolist())
        if len(counts) < 2:
            return f"there are {len(counts)} classes among {len(training)} training texts, and must be 2 at least"
        if (smallest := min(counts.values())) < 2 * num_folds:
            return (
                f"a class has {smallest} training texts, and must have {2 * num_folds} at least, as utility.folds says"
            )
        if not all(part.any() for part in test_parts):
            return "the test part has no text with a class, or no word of the vocabulary"
        if any(len(np.unique(self.labels[~part])) < 2 for part in test_parts):
            return "a random training part has one class alone: add texts, or set another seed"
        return "" if len(self.words.rows) else "no text has a word of the vocabulary"


class TaskResult:
    """Of one run: which test texts are right, and measures by name."""

    def __init__(self, hits: BoolArray, more: Mapping[str, float] | None = None) -> None:
        self.hits = hits
        self.measures = {"accuracy": float(hits.mean()), **(more or {})}


def mean_accuracy(runs: Sequence[TaskResult], parts: Sequence[BoolArray], level: float) -> Inferred:
    """Mean accuracy for other test texts and other noise: a text counts once, in however many runs it is tested.

    Args:
        parts: of each run, ``[texts]`` whether they are its test part.
        level: nominal coverage.
    """
    texts = units_of(np.concatenate([np.flatnonzero(part) for part in parts]), "text")
    hits = np.concatenate([result.hits for result in runs])
    seeds = np.array([result.measures["accuracy"] for result in runs])
    return mean(hits, texts, level=level, scale=LOGIT, seeds=seeds)

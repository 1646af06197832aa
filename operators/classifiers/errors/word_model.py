"""A model of words that learns in a second: TF-IDF and logistic regression, as a base and as an in-domain judge.

Words and pairs of neighbours that at least two texts have, with sublinear counts, and classes that weigh the same.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.errors.splits import folds_of
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "word_model/1"

_MIN_TEXTS = 2


class WordModel(NamedTuple):
    """Attributes:
    pipeline: of scikit-learn.
    classes: in the order of its outputs.
    """

    pipeline: Any
    classes: tuple[str, ...]

    def probabilities(self, texts: Sequence[str], classes: Sequence[str] | None = None, /) -> FloatArray:
        """``[texts, classes]`` in the order that is asked for; 0 for a class that it has not seen."""
        classes = self.classes if classes is None else classes
        values = np.zeros((len(texts), len(classes)))
        columns = [classes.index(name) for name in self.classes]
        values[:, columns] = self.pipeline.predict_proba(texts)
        return values


def train_word_model(texts: Sequence[str], labels: Sequence[str]) -> WordModel:
    """Train one.

    Raises:
        ValueError: if all texts have one label.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes seconds
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if len(set(labels)) < 2:
        raise ValueError(f"all {len(labels)} texts are {labels[0]!r}: a model needs two classes")
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=min(_MIN_TEXTS, len(texts)), sublinear_tf=True)
    judge = LogisticRegression(class_weight="balanced", max_iter=300, tol=1e-3)
    pipeline = make_pipeline(words, judge).fit(texts, list(labels))
    return WordModel(pipeline, tuple(map(str, judge.classes_)))


def out_of_fold_probabilities(
    texts: Sequence[str],
    labels: Sequence[str],
    groups: Sequence[str],
    classes: Sequence[str],
    num_folds: int,
    seed: int,
) -> FloatArray:
    """What a model says of each text that was trained without the fold of its group, ``[texts, classes]``.

    Raises:
        ValueError: if there are fewer groups than folds, or training texts of one label only.
    """
    folds, values = folds_of(groups, num_folds, seed, 0), np.zeros((len(texts), len(classes)))
    for fold in range(num_folds):
        inside, outside = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        model = train_word_model([texts[row] for row in inside], [labels[row] for row in inside])
        values[outside] = model.probabilities([texts[row] for row in outside], classes)
    return values


def disagreement(probabilities: FloatArray, predicted: Sequence[str], classes: Sequence[str]) -> FloatArray:
    """1 less the probability of what another model has predicted.

    >>> disagreement(np.array([[0.75, 0.25]]), ["b"], ["a", "b"])
    array([0.75])
    """
    places = {name: place for place, name in enumerate(classes)}
    known = np.array([places.get(name, -1) for name in predicted], dtype=np.int64)
    given = probabilities[np.arange(len(known)), known]
    return 1.0 - np.where(known >= 0, given, 0.0)

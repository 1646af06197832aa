"""The published victim: words by TF-IDF, linear support vector machines, and Platt's sigmoids by cross-validation."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.compute.arrays import FloatArray

VERSION = "adversary_fitting/1"

_FOLDS = 3


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class LinearConfig:
    """A linear classifier, as Lantavos and Sushil released it.

    Attributes:
        min_count: texts that a word must be in.
        penalty: C of the support vector machines; larger ones fit the training texts more closely.
    """

    min_count: Annotated[int, Field(ge=1)] = 10
    penalty: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0


class FittedModel(NamedTuple):
    """Attributes:
    model: of the features.
    classes: in the order of the probabilities.
    vocabulary: terms, in the order of the features.
    """

    model: LinearModel
    classes: tuple[str, ...]
    vocabulary: tuple[str, ...]


def fitted(
    texts: Sequence[str], labels: Sequence[str], config: LinearConfig, masked: Collection[str] = ()
) -> FittedModel:
    """A linear classifier of texts.

    Args:
        texts, labels: that it learns.
        config: of the classifier.
        masked: terms that it neither learns nor reads.

    Raises:
        ValueError: if there is one class, a class has fewer than 3 texts, or no word is in enough texts.
    """
    from sklearn.calibration import CalibratedClassifierCV  # takes seconds to load
    from sklearn.svm import LinearSVC

    _check(labels)
    vectorizer = _vectorizer(config.min_count, masked)
    try:
        features = vectorizer.fit_transform(texts)
    except ValueError as error:
        raise ValueError(
            f"min_count={config.min_count}: no word is in so many of the {len(texts)} training texts; lower "
            "victim.<name>.linear.min_count"
        ) from error
    machine = LinearSVC(C=config.penalty, loss="hinge", random_state=0, max_iter=100_000)
    classifier = CalibratedClassifierCV(machine, cv=_FOLDS, method="sigmoid").fit(features, labels)
    return FittedModel(
        linear_model(vectorizer.idf_, classifier.calibrated_classifiers_),
        tuple(str(name) for name in classifier.classes_),
        tuple(vectorizer.get_feature_names_out().tolist()),
    )


def linear_model(idf: FloatArray, folds: Sequence[Any]) -> LinearModel:
    """What scikit-learn has fitted, fold by fold."""
    machines, sigmoids = [fold.estimator for fold in folds], [fold.calibrators for fold in folds]
    return LinearModel(
        np.asarray(idf, dtype=np.float64),
        np.stack([machine.coef_ for machine in machines]),
        np.stack([machine.intercept_ for machine in machines]),
        np.array([[sigmoid.a_ for sigmoid in row] for row in sigmoids]),
        np.array([[sigmoid.b_ for sigmoid in row] for row in sigmoids]),
    )


def analyser() -> Callable[[str], Sequence[str]]:
    """Cuts a text into the terms that the classifier counts."""
    analyse: Callable[[str], Sequence[str]] = _vectorizer(1).build_analyzer()
    return analyse


def _vectorizer(min_count: int, masked: Collection[str] = ()) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(min_df=min_count, strip_accents="unicode", stop_words=sorted(masked) or None)


def _check(labels: Sequence[str]) -> None:
    counts = Counter(labels)
    if len(counts) < 2:
        raise ValueError(
            f"all training texts are of the class {next(iter(counts), None)!r}: must be of two classes at least; set "
            "data.label to another column"
        )
    name, number = min(counts.items(), key=lambda item: (item[1], item[0]))
    if number < _FOLDS:
        raise ValueError(
            f"{number} training texts are of the class {name!r}: must be at least {_FOLDS}, one for each fold of the "
            "calibration; set data.path to a file with more"
        )

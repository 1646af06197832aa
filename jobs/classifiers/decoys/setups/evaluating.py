"""Whether a model is right about texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.attribution.attribute import predict
from tiltmeter.operators.classifiers.attribution.records import TextClassifier


def correct(classifier: TextClassifier, rows: Sequence[Mapping[str, Any]], max_tokens: int) -> NDArray[np.bool_]:
    """Of each row, whether its label is the most probable class of its text; it is not where the text has no token."""
    probabilities = predict(classifier, [row["text"] for row in rows], max_tokens)
    has_token = ~np.isnan(probabilities).any(axis=1)
    classes = np.array(classifier.classes, dtype=object)[np.nan_to_num(probabilities).argmax(axis=1)]
    labels = np.array([row["label"] for row in rows], dtype=object)
    return np.asarray(has_token & (classes == labels), dtype=bool)

"""Whether a model is right about texts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.answers import UNREAD, answers, is_right
from tiltmeter.operators.classifiers.attribution.attribute import predict
from tiltmeter.operators.classifiers.attribution.records import TextClassifier
from tiltmeter.operators.compute.arrays import BoolArray


class Answered(NamedTuple):
    """Attributes:
    is_right: ``[texts]``, whether the model answers with the label of each.
    is_read: whether it reads a token of it; without one it has no answer, and is not right.
    """

    is_right: BoolArray
    is_read: BoolArray


def answered(classifier: TextClassifier, rows: Sequence[Mapping[str, Any]], max_tokens: int) -> Answered:
    """What a model answers about rows with a text and a label."""
    probabilities = predict(classifier, [row["text"] for row in rows], max_tokens)
    right = is_right(probabilities, classifier.classes, [row["label"] for row in rows])
    return Answered(right, np.asarray(answers(probabilities) != UNREAD))

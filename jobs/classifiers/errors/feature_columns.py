"""Columns that forests of errors see, by names that a later run knows them by."""

from collections.abc import Sequence

import numpy as np

from tiltmeter.jobs.classifiers.errors.material import Material
from tiltmeter.operators.classifiers.errors.readable import is_published
from tiltmeter.operators.compute.arrays import FloatArray

PUBLISHED = "published"
READABLE, WITH_CLASS, FULL = "readable", "readable_and_class", "readable_class_and_probabilities"
_PREDICTED, _PROBABILITY = "predicted ", "probability of "


def column_names(material: Material, kind: str, min_share: float) -> list[str]:
    """What a forest of a kind sees."""
    names = [material.names[column] for column in material.frequent(min_share)]
    if kind == PUBLISHED:
        return list(filter(is_published, names))
    if kind != READABLE:
        names += [f"{_PREDICTED}{name}" for name in material.all_classes]
    if kind == FULL:
        names += [f"{_PROBABILITY}{name}" for name in material.classes]
    return names


def columns_named(material: Material, names: Sequence[str]) -> FloatArray:
    """``[texts, names]``; 0 of a feature that no text has."""
    places = {name: place for place, name in enumerate(material.names)}
    predicted, columns = np.array(material.predicted, dtype=object), []
    for name in names:
        if name in places:
            columns.append(material.values[:, places[name]])
        elif name.startswith(_PREDICTED):
            columns.append((predicted == name.removeprefix(_PREDICTED)).astype(np.float64))
        elif name.startswith(_PROBABILITY) and material.probabilities is not None:
            columns.append(material.probabilities[:, material.classes.index(name.removeprefix(_PROBABILITY))])
        else:
            columns.append(np.zeros(len(predicted)))
    return np.stack(columns, axis=1) if columns else np.zeros((len(predicted), 0))


def columns_of(material: Material, kind: str, min_share: float) -> FloatArray:
    """``[texts, features]`` that a forest of a kind sees."""
    return columns_named(material, column_names(material, kind, min_share))


def probability_classes(names: Sequence[str]) -> list[str]:
    """Classes whose probabilities are among the columns.

    >>> probability_classes(["numbers", "predicted a", "probability of a", "probability of b"])
    ['a', 'b']
    """
    return [name.removeprefix(_PROBABILITY) for name in names if name.startswith(_PROBABILITY)]

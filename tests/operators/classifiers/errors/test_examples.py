"""What forests see of a text: by names, of more classes than two."""

import numpy as np
import polars as pl

from tiltmeter.operators.classifiers.errors.examples import (
    FULL,
    PUBLISHED,
    READABLE,
    WITH_CLASS,
    Examples,
    probability_classes,
)

CLASSES = ("angry", "glad", "sad")
SHARES = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1], [0.25, 0.35, 0.4]]


def test_a_column_is_that_of_its_name():
    predicted = ["sad", "angry", "glad", "sad"]
    table = pl.DataFrame({"predicted": predicted, "label": ["sad", "calm", "glad", "glad"], "probabilities": SHARES})
    values = np.arange(8.0).reshape(4, 2) / 10
    counts = np.array([[0, 1], [0, 0], [0, 2], [3, 1]])
    data = Examples(table, ("rare", "frequent"), values, counts, CLASSES)
    names = data.column_names(FULL, 0.5)
    said = ["predicted angry", "predicted calm", "predicted glad", "predicted sad"]
    assert names == ["frequent", *said, *(f"probability of {name}" for name in CLASSES)]
    assert data.column_names(WITH_CLASS, 0.5) == ["frequent", *said]
    assert data.column_names(READABLE, 0.2) == ["rare", "frequent"]
    assert data.column_names(PUBLISHED, 0.5) == []
    columns = data.columns([*names, "of another run"])
    assert columns[:, 0].tolist() == [0.1, 0.3, 0.5, 0.7]
    assert columns[:, 1:5].tolist() == [[name == f"predicted {one}" for name in said] for one in predicted]
    assert columns[:, 5:8].tolist() == SHARES
    assert not columns[:, 8].any()
    assert probability_classes(names) == [*CLASSES]

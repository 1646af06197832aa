"""The interval of P@K on one split, by the groups of its first K texts."""

import numpy as np
import pytest

from tiltmeter.jobs.classifiers.errors.ranking import _precision
from tiltmeter.operators.statistics.units import each, units_of

ERRORS = np.arange(40) < 20
TEXTS = each(40, "text")


def rows_of(scores, units=TEXTS, errors=ERRORS):
    rows = _precision({"score": scores}, errors, units, (1, 5, 20), split=0, level=0.9).to_pylist()
    return {row["k"]: row for row in rows}


def test_first_texts_of_few_groups_say_less():
    groups = units_of(np.arange(40) // 5, "group")
    alone, grouped = (rows_of(-np.arange(40.0), units)[20] for units in (TEXTS, groups))
    assert (alone["precision"], grouped["precision"]) == (1.0, 1.0)
    assert grouped["low"] == pytest.approx(0.05 ** (1 / 4))
    assert grouped["low"] < alone["low"] == pytest.approx(0.05 ** (1 / 20))
    assert (alone["num_units"], grouped["num_units"]) == (20.0, pytest.approx(4.0))


def test_one_text_has_no_interval():
    row = rows_of(-np.arange(40.0))[1]
    assert row["precision"] == 1.0
    assert np.isnan([row["low"], row["high"]]).all()

"""The interval of P@K on one split, over resamples of its texts."""

import numpy as np
import pytest
from scipy.stats import t as student

from tiltmeter.jobs.classifiers.errors.error_models import _precision
from tiltmeter.operators.statistics.intervals import IntervalSettings

ERRORS = np.arange(40) < 20


def rows_of(scores, **settings):
    precision = {"sizes": (1, 5, 20), "num_resamples": 200}
    config = {"precision": precision, "split": 0, "seed": 0, "intervals": IntervalSettings(0.9, **settings)}
    return {row["k"]: row for row in _precision({"score": scores}, ERRORS, config).to_pylist()}


def test_errors_alone_among_the_first_are_as_sure_as_there_are_texts():
    row = rows_of(-np.arange(40.0), interval="centred")[5]
    t = student.ppf(0.95, df=4)
    assert (row["precision"], row["low"], row["high"]) == (1.0, pytest.approx(5 / (5 + t**2)), 1.0)
    percentile = rows_of(-np.arange(40.0), interval="percentile")[5]
    assert (percentile["low"], percentile["high"]) == (1.0, 1.0)


def test_an_interval_holds_its_precision_between_no_error_and_errors_alone():
    row = rows_of(np.random.default_rng(0).random(40), interval="centred")[20]
    assert 0.0 < row["low"] < row["precision"] < row["high"] < 1.0


def test_one_text_has_no_interval():
    row = rows_of(-np.arange(40.0), interval="centred")[1]
    assert row["precision"] == 1.0
    assert np.isnan([row["low"], row["high"]]).all()

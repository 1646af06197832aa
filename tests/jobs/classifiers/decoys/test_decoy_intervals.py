"""What the page says intervals are of."""

from types import SimpleNamespace

import pytest

from tiltmeter.jobs.classifiers.decoys.page import _intervals


@pytest.mark.parametrize(
    ("interval", "group", "number", "sentence"),
    [
        (
            "centred",
            None,
            3,
            "accuracies and falls of one training over texts; what it takes to find a decoy, and what",
        ),
        ("centred", "who", 3, "over groups by who, whose texts are drawn together; what it takes to find a decoy"),
        ("centred", None, 3, "over pools of instances and the 3 models that differ in their random numbers alone"),
        ("centred", None, 1, "over pools of instances of this one training"),
        ("percentile", None, 3, "Other trainings are not in them."),
    ],
)
def test_units_are_named(interval, group, number, sentence):
    config = SimpleNamespace(
        intervals=SimpleNamespace(level=0.95, interval=interval, num_resamples=9),
        data=SimpleNamespace(group=group),
        models=SimpleNamespace(number=number),
    )
    assert sentence in _intervals(config)

import json

import numpy as np
import pytest
from safetensors.numpy import save

from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content

WEIGHTS = {"heads.label.weight": np.arange(6, dtype=np.float32).reshape(2, 3).T, "count": np.array(3, dtype=np.int64)}
CLASSIFIER = DescribedWeights({"kind": "small", "vocabulary": ["é", "she"]}, WEIGHTS)


def test_what_was_written_is_read() -> None:
    found = parse_weights(weights_content(CLASSIFIER, "classifier"), "classifier")
    assert found.description == CLASSIFIER.description
    for name, weight in WEIGHTS.items():
        np.testing.assert_array_equal(found.weights[name], weight)
        assert found.weights[name].dtype == weight.dtype
    assert weights_content(CLASSIFIER, "classifier") == weights_content(CLASSIFIER, "classifier")


def entry(**changes):
    return save(WEIGHTS, {"tiltmeter": json.dumps({"format": 1, "classifier": {}} | changes)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged, or not a safetensors file"),
        (weights_content(CLASSIFIER, "classifier")[:-1], "is damaged"),
        (save(WEIGHTS), "no entry 'tiltmeter'"),
        (save(WEIGHTS, {"tiltmeter": "[]"}), "is a JSON list, not an object"),
        (save(WEIGHTS, {"tiltmeter": "[" * 100_000}), "nested too deeply"),
        (save(WEIGHTS, {"tiltmeter": "{"}), "Expecting property name"),
        (weights_content(CLASSIFIER, "network"), "describes no classifier, but network"),
        (entry(classifier=None), "describes no classifier"),
        (entry(format=2), "is of format 2, and this version reads format 1"),
        (save({"w": np.array([np.inf], np.float32)}, {"tiltmeter": '{"format": 1, "classifier": {}}'}), "not finite"),
    ],
)
def test_other_content_is_refused(content, message) -> None:
    with pytest.raises(ValueError, match=message):
        parse_weights(content, "classifier")

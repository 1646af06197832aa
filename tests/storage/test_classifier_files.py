import json

import numpy as np
import pytest
from pyarrow import fs
from safetensors.numpy import save

from storage.classifier_files import (
    ClassifierFile,
    ClassifierFileError,
    classifier_content,
    parse_classifier,
    read_classifier,
    write_classifier,
)

WEIGHTS = {"heads.label.weight": np.arange(6, dtype=np.float32).reshape(2, 3).T, "count": np.array(3, dtype=np.int64)}
CLASSIFIER = ClassifierFile({"kind": "small", "vocabulary": ["é", "she"]}, WEIGHTS)


def test_what_was_written_is_read(tmp_path) -> None:
    path = str(tmp_path / "a.safetensors")
    size = write_classifier(fs.LocalFileSystem(), path, CLASSIFIER, setting="path")
    found = read_classifier(path)
    assert found.description == CLASSIFIER.description
    for name, weight in WEIGHTS.items():
        np.testing.assert_array_equal(found.weights[name], weight)
        assert found.weights[name].dtype == weight.dtype
    assert size == len(classifier_content(CLASSIFIER))
    assert classifier_content(CLASSIFIER) == classifier_content(CLASSIFIER)


def entry(**changes):
    return save(WEIGHTS, {"tiltmeter": json.dumps({"format": 1, "classifier": {}} | changes)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged, or not a safetensors file"),
        (classifier_content(CLASSIFIER)[:-1], "is damaged"),
        (save(WEIGHTS), "no entry 'tiltmeter'"),
        (save(WEIGHTS, {"tiltmeter": "[]"}), "is a JSON list, not an object"),
        (save(WEIGHTS, {"tiltmeter": "[" * 100_000}), "nested too deeply"),
        (save(WEIGHTS, {"tiltmeter": "{"}), "a.safetensors: "),
        (entry(format=2), "is of format 2, and this version reads format 1"),
        (save({"w": np.array([np.inf], np.float32)}, {"tiltmeter": '{"format": 1, "classifier": {}}'}), "not finite"),
    ],
)
def test_other_content_is_refused_with_its_name(content, message) -> None:
    with pytest.raises(ClassifierFileError, match=f"a.safetensors: .*{message}|{message}"):
        parse_classifier(content, "a.safetensors")


def test_a_file_that_is_not_there_is_refused(tmp_path) -> None:
    with pytest.raises(ClassifierFileError, match=r"absent\.safetensors"):
        read_classifier(str(tmp_path / "absent.safetensors"))

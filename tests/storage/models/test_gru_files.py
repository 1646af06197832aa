"""Weights with their description in one file, and networks of which they are."""

import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors import safe_open
from safetensors.numpy import load_file, save

from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content
from tiltmeter.storage.models.gru_files import GRUFileError, gru_content, read_gru

NAMES = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name != "__metadata__")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(), parts, max_size=3),
    max_leaves=6,
)
TENSORS = arrays(np.float32, array_shapes(max_dims=2), elements=st.floats(-9, 9, width=32)) | arrays(np.int64, ())


@pytest.mark.long
@given(st.dictionaries(st.text(), VALUES, max_size=4), st.dictionaries(NAMES, TENSORS, min_size=1, max_size=4))
def test_what_is_written_is_read_again_to_the_last_bit(description, weights):
    """And the same network gives the same bytes, whatever the order of its weights and how they lie in memory."""
    content = weights_content(DescribedWeights(description, weights), "classifier")
    found = parse_weights(content, "classifier")
    assert json.dumps(found.description) == json.dumps(description)
    assert found.weights.keys() == weights.keys()
    for name, weight in weights.items():
        assert found.weights[name].dtype == weight.dtype
        np.testing.assert_array_equal(found.weights[name], weight)
    turned = {name: np.asfortranarray(weight) for name, weight in reversed(weights.items())}
    assert weights_content(DescribedWeights(description, turned), "classifier") == content


WEIGHTS = {"heads.label.weight": np.arange(6, dtype=np.float32).reshape(2, 3), "count": np.array(3, dtype=np.int64)}
CLASSIFIER = DescribedWeights({"kind": "small", "vocabulary": ["é", "she"]}, WEIGHTS)
INFINITE = {"w": np.array([0, np.inf], np.float32)}


def entry(weights=WEIGHTS, **changes):
    return save(weights, {"tiltmeter": json.dumps({"format": 1, "classifier": {}} | changes)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is damaged, or not a safetensors file"),
        (b"the film was good\t1\n", "is damaged, or not a safetensors file"),
        (pickle.dumps({"weights": [0.0] * 99}), "is damaged, or not a safetensors file"),
        (weights_content(CLASSIFIER, "classifier")[:-1], "is damaged"),
        (save(WEIGHTS), "no entry 'tiltmeter'"),
        (save(WEIGHTS, {"tiltmeter": "[]"}), "is a JSON list, not an object"),
        (save(WEIGHTS, {"tiltmeter": "[" * 100_000}), "nested too deeply"),
        (save(WEIGHTS, {"tiltmeter": "{"}), "Expecting property name"),
        (weights_content(CLASSIFIER, "network"), "describes no classifier, but network"),
        (entry(classifier=None), "describes no classifier"),
        (entry(format=2), "is of format 2, and this version reads format 1: train it anew"),
        (entry(INFINITE), "the tensor w has numbers that are not finite"),
    ],
)
def test_other_content_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        parse_weights(content, "classifier")


# --- recurrent networks ---------------------------------------------------------------------------------------------

DESCRIPTION = {
    "config": {"dimensions": 3, "hidden": 2, "dropout": 0.1},
    "vocabulary": ["the", "Ärztin", "new york", '"'],
    "values": {"bad": -1.0, "mixed": 0.1, "good": 1.0},
    "history": [[0.7, 0.69, 0.5], [0.6, 0.61, 2 / 3]],
}
LAYERS = {f"bias_{side}": (6,) for side in ("ih_l0", "hh_l0", "ih_l1", "hh_l1")}
LAYERS |= {"weight_ih_l0": (6, 3), "weight_hh_l0": (6, 2), "weight_ih_l1": (6, 2), "weight_hh_l1": (6, 2)}
SHAPES = {"embedding.weight": (5, 3), "output.weight": (3, 2), "output.bias": (3,)}
SHAPES |= {f"gru.{name}": shape for name, shape in LAYERS.items()}


def network(description=DESCRIPTION, **other_weights) -> DescribedWeights:
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    weights |= {name.replace("__", "."): weight for name, weight in other_weights.items()}
    return DescribedWeights(description, {name: weight for name, weight in weights.items() if weight is not None})


def test_a_network_is_read_by_us_and_by_any_program_that_reads_safetensors(tmp_path):
    (tmp_path / "gru").write_bytes(gru_content(network()))
    for place in (str(tmp_path / "gru"), (tmp_path / "gru").as_uri()):
        found = read_gru(place)
        assert found.description == DESCRIPTION
        assert list(found.description["values"]) == ["bad", "mixed", "good"]
        assert {name: weight.shape for name, weight in found.weights.items()} == SHAPES
    with safe_open(tmp_path / "gru", framework="np") as file:
        assert json.loads(file.metadata()["tiltmeter"]) == {"format": 1, "network": DESCRIPTION}
    assert {name: weight.shape for name, weight in load_file(tmp_path / "gru").items()} == SHAPES


def lacking(key):
    return network({name: value for name, value in DESCRIPTION.items() if name != key})


ASKED = "and the description asks for"
REFUSED = [
    (lacking("config"), "its description is incomplete ('config')"),
    (lacking("vocabulary"), "its description is incomplete ('vocabulary')"),
    (lacking("values"), "its description is incomplete ('values')"),
    (network(output__bias=None), f"output.bias is nothing, {ASKED} float32 [3]"),
    (network(extra=np.zeros(2, np.float32)), f"extra is float32 [2], {ASKED} nothing"),
    (network(embedding__weight=np.zeros((4, 3), np.float32)), f"is float32 [4, 3], {ASKED} float32 [5, 3]"),
    (network(output__weight=np.zeros((3, 2))), f"is float64 [3, 2], {ASKED} float32 [3, 2]"),
    (network(gru__bias_ih_l1=np.full(6, np.nan, np.float32)), "gru.bias_ih_l1 has numbers that are not finite"),
    (None, "No such file"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_no_network_is_refused_with_its_file_and_the_setting(tmp_path, content, message):
    path = tmp_path / "gru"
    if content is not None:
        path.write_bytes(gru_content(content))
    setting = "; set sentiment.gru.path to a file that the training of the GRU has written"
    with pytest.raises(GRUFileError, match=f"^{path}: .*{re.escape(message)}.*{setting}$"):
        read_gru(str(path))

import json
import pickle
import re

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save

from tiltmeter.storage.models.described_weights import DescribedWeights
from tiltmeter.storage.models.gru_files import GRUFileError, gru_content, read_gru

DIMENSIONS, HIDDEN = 3, 2
DESCRIPTION = {
    "config": {"dimensions": DIMENSIONS, "hidden": HIDDEN, "dropout": 0.1},
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


def write(path, content: DescribedWeights) -> str:
    path.write_bytes(gru_content(content))
    return str(path)


def test_what_is_written_is_read_again_to_the_last_bit(tmp_path) -> None:
    """And the same network gives the same bytes, whatever the order of its weights and how they lie in memory."""
    found = read_gru(write(tmp_path / "gru.safetensors", network()))
    assert found.description == DESCRIPTION
    assert list(found.description["values"]) == ["bad", "mixed", "good"]
    assert read_gru((tmp_path / "gru.safetensors").as_uri()).description == DESCRIPTION
    assert found.weights.keys() == SHAPES.keys()
    for name, weight in network().weights.items():
        assert found.weights[name].dtype == np.float32
        np.testing.assert_array_equal(found.weights[name], weight)
    turned = {name: np.asfortranarray(weight) for name, weight in reversed(network().weights.items())}
    assert gru_content(DescribedWeights(DESCRIPTION, turned)) == (tmp_path / "gru.safetensors").read_bytes()


def test_any_program_that_reads_safetensors_reads_the_weights(tmp_path) -> None:
    path = write(tmp_path / "gru", network())
    with safe_open(path, framework="np") as file:
        assert json.loads(file.metadata()["tiltmeter"]) == {"format": 1, "network": DESCRIPTION}
    assert {name: weight.shape for name, weight in load_file(path).items()} == SHAPES


def lacking(key):
    return {name: value for name, value in DESCRIPTION.items() if name != key}


OTHER_VERSION = {"tiltmeter": json.dumps({"format": 2, "network": DESCRIPTION})}
ASKED = "and the description asks for"
REFUSED = [
    (b"the film was good\t1\n", "is damaged, or not a safetensors file of this program"),
    (pickle.dumps({"weights": [0.0] * 99}), "is damaged, or not a safetensors file of this program"),
    (save(network().weights, OTHER_VERSION), "is of format 2, and this version reads format 1: train it anew"),
    *(
        (gru_content(network(lacking(key))), f"its description is incomplete ('{key}')")
        for key in ("config", "vocabulary", "values")
    ),
    *(
        (gru_content(network(**{name: weight})), message)
        for name, weight, message in [
            ("output__bias", None, f"output.bias is nothing, {ASKED} float32 [3]"),
            ("extra", np.zeros(2, np.float32), f"extra is float32 [2], {ASKED} nothing"),
            ("embedding__weight", np.zeros((4, 3), np.float32), f"is float32 [4, 3], {ASKED} float32 [5, 3]"),
            ("output__weight", np.zeros((3, 2)), f"is float64 [3, 2], {ASKED} float32 [3, 2]"),
            ("gru__bias_ih_l1", np.full(6, np.nan, np.float32), "gru.bias_ih_l1 has numbers that are not finite"),
        ]
    ),
    (None, "No such file"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_no_network_is_refused_with_its_file_and_the_setting(tmp_path, content, message) -> None:
    path = tmp_path / "gru"
    if content is not None:
        path.write_bytes(content)
    setting = "; set sentiment.gru.path to a file that the training of the GRU has written"
    with pytest.raises(GRUFileError, match=f"^{path}: .*{re.escape(message)}.*{setting}$"):
        read_gru(str(path))

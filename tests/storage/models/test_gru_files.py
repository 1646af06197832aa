import json
import pickle
from pathlib import Path

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
SHAPES = {
    "embedding.weight": (5, 3),
    "gru.weight_ih_l0": (6, 3),
    "gru.weight_hh_l0": (6, 2),
    "gru.bias_ih_l0": (6,),
    "gru.bias_hh_l0": (6,),
    "gru.weight_ih_l1": (6, 2),
    "gru.weight_hh_l1": (6, 2),
    "gru.bias_ih_l1": (6,),
    "gru.bias_hh_l1": (6,),
    "output.weight": (3, 2),
    "output.bias": (3,),
}


def network(description=DESCRIPTION, **other_weights) -> DescribedWeights:
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    weights |= {name.replace("__", "."): weight for name, weight in other_weights.items()}
    return DescribedWeights(description, {name: weight for name, weight in weights.items() if weight is not None})


def write(path, content: DescribedWeights) -> str:
    path.write_bytes(gru_content(content))
    return str(path)


def test_what_is_written_is_read_again_to_the_last_bit(tmp_path) -> None:
    found = read_gru(write(tmp_path / "gru.safetensors", network()))
    assert found.description == DESCRIPTION
    assert list(found.description["values"]) == ["bad", "mixed", "good"]
    assert found.weights.keys() == SHAPES.keys()
    for name, weight in network().weights.items():
        assert found.weights[name].dtype == np.float32
        np.testing.assert_array_equal(found.weights[name], weight)


def test_the_same_network_gives_the_same_bytes(tmp_path) -> None:
    reordered = DescribedWeights(DESCRIPTION, dict(reversed(network().weights.items())))
    strided = {name: np.asfortranarray(weight) for name, weight in network().weights.items()}
    paths = [
        write(tmp_path / str(number), content)
        for number, content in enumerate([network(), network(), reordered, DescribedWeights(DESCRIPTION, strided)])
    ]
    assert len({Path(path).read_bytes() for path in paths}) == 1


def test_any_program_that_reads_safetensors_reads_the_weights(tmp_path) -> None:
    path = write(tmp_path / "gru", network())
    with safe_open(path, framework="np") as file:
        assert json.loads(file.metadata()["tiltmeter"]) == {"format": 1, "network": DESCRIPTION}
    assert {name: weight.shape for name, weight in load_file(path).items()} == SHAPES


def test_networks_are_found_by_uri(tmp_path) -> None:
    write(tmp_path / "gru", network())
    assert read_gru((tmp_path / "gru").as_uri()).description == DESCRIPTION


def refused(path) -> str:
    """What is said of a file; always which one it is, and what to set."""
    with pytest.raises(GRUFileError) as caught:
        read_gru(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.endswith("; set sentiment.gru.path to a file that the training of the GRU has written")
    return message


@pytest.mark.parametrize(
    "content", [b"", b"the film was good\t1\n", pickle.dumps({"weights": [0.0] * 99}), b"\xff" * 99, b"PK\x03\x04" * 9]
)
def test_files_of_other_formats_are_refused(tmp_path, content) -> None:
    path = tmp_path / "gru"
    path.write_bytes(content)
    assert "is damaged, or not a safetensors file of this program" in refused(path)


def test_a_file_that_was_cut_off_is_refused(tmp_path) -> None:
    path = tmp_path / "gru"
    write(path, network())
    path.write_bytes(path.read_bytes()[:-1])
    assert "is damaged" in refused(path)


def test_paths_without_a_file_are_refused(tmp_path) -> None:
    assert "No such file" in refused(tmp_path / "absent")
    assert "cannot be read" in refused(tmp_path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_safetensors_of_other_programs_are_refused(tmp_path, metadata) -> None:
    path = tmp_path / "gru"
    path.write_bytes(save(network().weights, metadata))
    assert "its metadata have no entry 'tiltmeter': another program has written it" in refused(path)


def test_other_versions_of_the_format_are_refused(tmp_path) -> None:
    path = tmp_path / "gru"
    path.write_bytes(save(network().weights, {"tiltmeter": json.dumps({"format": 2, "network": DESCRIPTION})}))
    assert "is of format 2, and this version reads format 1: train it anew" in refused(path)


@pytest.mark.parametrize("key", ["config", "vocabulary", "values"])
def test_descriptions_that_lack_something_are_refused(tmp_path, key) -> None:
    description = {name: value for name, value in DESCRIPTION.items() if name != key}
    assert f"its description is incomplete ('{key}')" in refused(write(tmp_path / "gru", network(description)))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"output__bias": None}, r"output.bias is nothing, and the description asks for float32 [3]"),
        ({"extra": np.zeros(2, np.float32)}, r"extra is float32 [2], and the description asks for nothing"),
        (
            {"embedding__weight": np.zeros((4, 3), np.float32)},
            r"is float32 [4, 3], and the description asks for float32 [5, 3]",
        ),
        ({"output__weight": np.zeros((3, 2))}, "is float64 [3, 2], and the description asks for float32 [3, 2]"),
        ({"gru__bias_ih_l1": np.full(6, np.nan, np.float32)}, "gru.bias_ih_l1 has numbers that are not finite"),
    ],
)
def test_weights_that_do_not_fit_the_description_are_refused(tmp_path, weights, message) -> None:
    assert message in refused(write(tmp_path / "gru", network(**weights)))

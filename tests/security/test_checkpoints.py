"""What a folder with a checkpoint claims is checked before any of it is loaded."""

import json
from contextlib import nullcontext

import pytest

from tiltmeter.storage.models.checkpoints import CheckpointError, find_checkpoint
from tiltmeter.storage.models.load import check_classifier


@pytest.fixture
def folder(tmp_path):
    """A checkpoint, as far as a look at its files can tell."""
    place = tmp_path / "model"
    place.mkdir()
    (place / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 2}')
    (place / "model.safetensors").write_bytes(bytes(100_000))
    return place


def find(folder):
    return find_checkpoint(str(folder), None, "embedding.model")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "model.safetensors.index.json"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a":' * 100_000, "is not JSON"),
        ("[]", "is a JSON list, not an object"),
        ("1" * 5000, "is not JSON"),
        (r'{"deep": {"auto\u005fmap": {"AutoModel": "evil.Model"}}}', r"asks for Python code of its own.*never done"),
    ],
    ids=["deep", "list", "number", "code"],
)
def test_descriptions_are_plain(folder, name, content, message):
    (folder / name).write_text(content)
    with pytest.raises(CheckpointError, match=rf"embedding\.model=.*model: .*{name} {message}"):
        find(folder)


@pytest.mark.parametrize("file", ["../other.safetensors", "/etc/other.safetensors", "a/b.safetensors", 5])
def test_weights_lie_in_the_folder(folder, file):
    index = {"weight_map": {"embeddings.weight": file}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointError, match="names weights that are not in its folder"):
        find(folder)
    index["weight_map"] = {"embeddings.weight": "model-00001-of-00001.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    find(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_hidden_layers": 10**7}, r"num_hidden_layers=10,000,000, more than its weights can have.* 100,000 bytes"),
        ({"text_config": {"n_layer": 10**7}}, "n_layer=10,000,000"),
        ({"vocab_size": 10**12}, r"vocab_size=1,000,000,000,000"),
    ],
)
def test_no_more_is_built_than_weights_can_fill(folder, config, message):
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=message):
        find(folder)


@pytest.mark.parametrize("kinds", [5, [5], {"a": 1}, "BertModel"])
def test_kinds_of_models_are_names(folder, kinds):
    (folder / "config.json").write_text(json.dumps({"architectures": kinds}))
    refusal = pytest.raises(CheckpointError, match="has no head that classifies")
    with refusal if isinstance(kinds, list) else nullcontext():
        check_classifier(str(folder), "sentiment.mine.model")

"""What folders of sentence encoders say of themselves, and what of it is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from tiltmeter.storage.models.checkpoints import CheckpointError, find_checkpoint
from tiltmeter.storage.models.sentence_folders import StatedPooling, is_static, load_static, stated_pooling

KINDS = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize", "Dense": "2_Dense"}


def folder_of(place, kinds=("Transformer", "Pooling", "Normalize"), pooling=None, **files):
    modules = [{"idx": n, "path": KINDS[kind], "type": f"some.where.{kind}"} for n, kind in enumerate(kinds)]
    (place / "1_Pooling").mkdir(exist_ok=True)
    (place / "modules.json").write_text(json.dumps(modules))
    (place / "1_Pooling/config.json").write_text(json.dumps(pooling or {"pooling_mode_cls_token": True}))
    for name, content in files.items():
        (place / f"{name}.json").write_text(json.dumps(content))
    return str(place)


def stated(folder):
    return stated_pooling(folder, "embedding.model")


def test_files_of_older_and_newer_versions_are_read(tmp_path):
    assert stated(folder_of(tmp_path)) == StatedPooling(False, ("cls",), True)
    older = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}
    bert = {"max_seq_length": 20, "do_lower_case": True}
    found = stated(
        folder_of(
            tmp_path,
            KINDS.keys() - {"Dense", "Normalize"} and ("Transformer", "Pooling"),
            older,
            sentence_bert_config=bert,
        )
    )
    assert found == StatedPooling(False, ("max", "mean"), max_tokens=20, lower_case=True)
    prompts = {"default_prompt_name": "query", "prompts": {"query": "query: "}}
    newer = {"pooling_mode": "lasttoken", "include_prompt": True}
    assert stated(folder_of(tmp_path, pooling=newer, config_sentence_transformers=prompts)).prompt == "query: "
    assert stated(folder_of(tmp_path, pooling={"pooling_mode": ["cls", "mean"]})).modes == ("cls", "mean")
    assert stated(folder_of(tmp_path, pooling={"embedding_dimension": 8})).modes == ("mean",)


def change(name, content):
    def write(place):
        path = place / name
        path.unlink() if content is None else path.write_text(
            content if isinstance(content, str) else json.dumps(content)
        )

    return write


DENSE = [{"type": f"x.{kind}", "path": KINDS[kind]} for kind in ("Transformer", "Pooling", "Dense")]
REFUSED = [
    (
        change("modules.json", None),
        "holds no modules.json, which says how tokens are pooled; set embedding.encoder.pooling to ",
    ),
    (change("modules.json", "[1"), r"modules.json is not JSON \("),
    (change("modules.json", {"a": 1}), "modules.json is a JSON dict of another form than is known"),
    (
        change("modules.json", DENSE),
        "its modules are Transformer, Pooling, Dense, and read are Transformer, Pooling and",
    ),
    (
        change("modules.json", [{"type": "x.Transformer", "path": "0_T"}, DENSE[1]]),
        "its transformer lies in '0_T', and must",
    ),
    (
        change("1_Pooling/config.json", None),
        "holds no 1_Pooling/config.json, which says how tokens are pooled; bring it",
    ),
    (
        change("1_Pooling/config.json", {"pooling_mode": "best"}),
        "pools tokens by 'best', and known are cls, max, mean, mean_",
    ),
]


@pytest.mark.parametrize(("broken", "message"), REFUSED)
def test_what_is_not_known_is_refused(tmp_path, broken, message):
    folder = folder_of(tmp_path)
    broken(tmp_path)
    with pytest.raises(CheckpointError, match=rf"^embedding\.model=.*: {message}"):
        stated(folder)


def test_a_prompt_that_is_left_out_of_the_pooling_is_refused(tmp_path):
    prompts = {"default_prompt_name": "q", "prompts": {"q": "find: "}}
    folder = folder_of(tmp_path, pooling={"include_prompt": False}, config_sentence_transformers=prompts)
    with pytest.raises(CheckpointError, match="leaves its prompt 'find: ' out of the pooling, which is not done here"):
        stated(folder)


@pytest.fixture
def static(tmp_path):
    Tokenizer(WordLevel({"[UNK]": 0, "nurse": 1}, unk_token="[UNK]")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"normalize": true, "max_length": 9}')
    (tmp_path / "modules.json").write_text('[{"path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]')
    save_file({"embeddings": np.eye(2, dtype=np.float16)}, tmp_path / "model.safetensors")
    return tmp_path


def test_a_table_of_model2vec_is_known_by_its_files(static, tmp_path):
    assert is_static(str(static), "embedding.model")
    assert stated(str(static)) == StatedPooling(True, ("mean",), True, max_tokens=9)
    table = load_static(str(static), "embedding.model")
    assert (table.vectors.dtype, table.unknown, table.tokenizer.encode("nurse").ids) == (np.float32, 0, [1])
    (static / "modules.json").unlink()
    assert not is_static(str(static), "embedding.model")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (change("tokenizer.json", None), "holds no tokenizer.json, which says what its tokens are; bring it along"),
        (change("model.safetensors", "no"), "tokenizer.json or model.safetensors cannot be read: "),
        (lambda to: save_file({"embeddings": np.eye(3)}, to / "model.safetensors"), None),
        (
            lambda to: save_file({"embeddings": np.eye(2), "mapping": np.array([0, 2])}, to / "model.safetensors"),
            "model",
        ),
        (
            lambda to: save_file({"other": np.eye(2)}, to / "model.safetensors"),
            r"model.safetensors has {'other': \[2, 2\]}, ",
        ),
    ],
)
def test_a_damaged_table_is_refused(static, broken, message):
    broken(static)
    if message is None:
        message = r"model.safetensors has {'embeddings': \[3, 3\]}, which is no vector for each of 2 tokens"
    with pytest.raises(CheckpointError, match=rf"^embedding\.model=.*: {message}"):
        load_static(str(static), "embedding.model")


def test_another_pooling_is_another_version(tmp_path, write_bert):
    write_bert(tmp_path, ["nurse"])
    folder_of(tmp_path)
    before = find_checkpoint(str(tmp_path), None, "embedding.model").version
    folder_of(tmp_path, pooling={"pooling_mode": "mean"})
    assert find_checkpoint(str(tmp_path), None, "embedding.model").version != before

import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
)
from transformers.utils import logging

from storage.checkpoints import Checkpoint, CheckpointError, find_checkpoint, load_encoder
from storage.identity import digest

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = "model.safetensors"
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
BERT = BertConfig(vocab_size=6, max_position_embeddings=8, **SIZES)
T5 = T5Config(vocab_size=6, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)


def saved(folder, model):
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nnurse\ndoctor\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    return str(folder)


@pytest.fixture
def bert(tmp_path):
    folder = tmp_path / "bert"
    return Path(saved(folder, BertModel(BERT)))


def change(path, **keys):
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def without(folder, *names):
    weights = load_file(Path(folder, WEIGHTS))
    save_file(
        {name: values for name, values in weights.items() if name not in names}, Path(folder, WEIGHTS), {"format": "pt"}
    )


def same_weights(found, expected):
    theirs = expected.state_dict()
    return all(torch.equal(values, theirs[name]) for name, values in found.state_dict().items())


def test_a_folder_is_the_digest_of_its_files(bert) -> None:
    names = ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"]
    contents = {name: hashlib.blake2b((bert / name).read_bytes(), digest_size=16).hexdigest() for name in names}
    assert find_checkpoint(str(bert)) == Checkpoint(str(bert), digest(contents))


def test_the_place_of_a_folder_does_not_matter(bert, tmp_path, monkeypatch) -> None:
    shutil.copytree(bert, tmp_path / "home" / "copy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    version = find_checkpoint(str(bert)).version
    assert find_checkpoint("bert") == (str(bert), version)
    assert find_checkpoint("~/copy") == (str(tmp_path / "home" / "copy"), version)


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", WEIGHTS])
def test_a_changed_file_is_another_version(bert, name) -> None:
    version = find_checkpoint(str(bert)).version
    with (bert / name).open("ab") as file:
        file.write(b"\n")
    assert find_checkpoint(str(bert)).version != version


def test_files_that_are_not_loaded_do_not_matter(bert) -> None:
    version = find_checkpoint(str(bert)).version
    for name in ("README.md", "tf_model.h5", "optimizer.pt", "pytorch_model.bin", "adapter_model.safetensors"):
        (bert / name).write_text("other")
    assert find_checkpoint(str(bert)).version == version


def test_pickled_weights_count_where_there_are_no_others(bert) -> None:
    (bert / WEIGHTS).unlink()
    versions = set()
    for content in ("one", "two"):
        (bert / "pytorch_model.bin").write_text(content)
        versions.add(find_checkpoint(str(bert)).version)
    assert len(versions) == 2


def test_loaded_as_it_was_saved(tmp_path) -> None:
    model = BertModel(BERT)
    found, tokenizer = load_encoder(saved(tmp_path, model))
    assert same_weights(found, model)
    assert tokenizer("nurse")["input_ids"] == [2, 4, 3]
    assert not found.training


def test_heads_are_left_out_without_a_word(tmp_path, capfd) -> None:
    model = BertForMaskedLM(BERT)
    folder = saved(tmp_path, model)
    logging.set_verbosity_warning()
    capfd.readouterr()
    found, _ = load_encoder(folder)
    assert capfd.readouterr() == ("", "")
    assert same_weights(found.encoder, model.bert.encoder)
    assert logging.get_verbosity() == logging.WARNING
    assert logging.is_progress_bar_enabled()


@pytest.mark.parametrize("kind", [T5EncoderModel, T5ForConditionalGeneration])
def test_of_encoder_and_decoder_the_encoder(tmp_path, kind) -> None:
    model = kind(T5)
    found, _ = load_encoder(saved(tmp_path, model))
    assert same_weights(found, model.encoder)
    assert len(found(torch.tensor([[4, 1]]), output_hidden_states=True).hidden_states) == 3


def test_weights_that_are_missing_are_not_drawn(tmp_path) -> None:
    folder = saved(tmp_path, BertModel(BERT))
    without(folder, "pooler.dense.weight", "pooler.dense.bias")
    load_encoder(folder)  # poolers take no part
    without(folder, "encoder.layer.1.output.dense.bias", "embeddings.LayerNorm.weight")
    with pytest.raises(CheckpointError, match=r"lacks 2 weights of the encoder \(embeddings\.LayerNorm\.weight, enc"):
        load_encoder(folder)


def test_weights_of_another_shape_are_refused(bert) -> None:
    change(bert / "config.json", hidden_size=16)
    with pytest.raises(CheckpointError, match="transformers cannot load this model"):
        load_encoder(str(bert))


def test_an_encoder_without_its_weights_is_refused_whatever_its_decoder(tmp_path) -> None:
    folder = saved(tmp_path, T5ForConditionalGeneration(T5))
    without(folder, "encoder.final_layer_norm.weight", "decoder.final_layer_norm.weight")
    with pytest.raises(CheckpointError, match=r"lacks 1 weights of the encoder \(encoder\.final_layer_norm\.weight\)"):
        load_encoder(folder)


def test_damaged_weights_are_refused(bert) -> None:
    content = (bert / WEIGHTS).read_bytes()
    (bert / WEIGHTS).write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match=r"bert: transformers cannot load this model"):
        load_encoder(str(bert))


def test_a_tokenizer_without_vocabulary_is_refused(bert) -> None:
    (bert / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer has no vocabulary.*vocab\.txt"):
        load_encoder(str(bert))


class Malice:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("write", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content, 2))])
def test_code_in_a_pickle_is_not_run(bert, tmp_path, write) -> None:
    trace = tmp_path / "was here"
    write({"embeddings.word_embeddings.weight": Malice(trace)}, bert / "pytorch_model.bin")
    load_encoder(str(bert))  # with safetensors beside it, a pickle is not even read
    (bert / WEIGHTS).unlink()
    find_checkpoint(str(bert))
    with pytest.raises(CheckpointError, match=r"asks for code to be run, which is never done.*safetensors"):
        load_encoder(str(bert))
    assert not trace.exists()


def test_pickled_weights_are_loaded(bert) -> None:
    expected = AutoModel.from_pretrained(bert)
    torch.save(expected.state_dict(), bert / "pytorch_model.bin")
    (bert / WEIGHTS).unlink()
    assert same_weights(load_encoder(str(bert))[0], expected)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("config.json", {"auto_map": {"AutoModel": "modeling.Malice"}, "model_type": "malice"}),
        ("config.json", {"auto_map": {"AutoModel": "modeling.Malice"}}),
        ("config.json", {"text_config": {"auto_map": {"AutoConfig": "modeling.Malice"}}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["modeling.Malice", None]}}),
    ],
)
def test_python_code_in_a_folder_is_not_run(bert, tmp_path, name, keys) -> None:
    trace = tmp_path / "was here"
    (bert / "modeling.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    change(bert / name, **keys)
    (bert / name).write_text((bert / name).read_text().replace("auto_map", r"auto\u005fmap"))
    for use in (find_checkpoint, load_encoder):
        with pytest.raises(CheckpointError, match=rf"{name} asks for Python code.*auto_map.*never done"):
            use(str(bert))
    assert not trace.exists()


def test_attention_is_not_computed_by_code_from_the_hub(bert) -> None:
    change(bert / "config.json", attn_implementation="kernels-community/flash-attn3")
    assert load_encoder(str(bert))[0].config._attn_implementation == "eager"


def test_folders_without_a_model_are_refused(bert) -> None:
    (bert / WEIGHTS).rename(bert / "weights")
    with pytest.raises(CheckpointError, match=r"holds no weights \(model\*\.safetensors or pytorch_model\*\.bin\)"):
        find_checkpoint(str(bert))
    (bert / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"embedding\.model=.*/bert: .* holds no config\.json; set embedding\.m"):
        find_checkpoint(str(bert))


@pytest.mark.parametrize("name", ["/no/such/folder", "./bert", "a/b/c", "a name"])
def test_what_is_neither_a_folder_nor_a_name_is_refused(name) -> None:
    with pytest.raises(
        CheckpointError, match=rf"{name}: there is no such folder, and no model on the hub can be called"
    ):
        find_checkpoint(name)


FOUND = """
import json, sys
from storage.checkpoints import CheckpointError, find_checkpoint
try:
    print(json.dumps(find_checkpoint(*sys.argv[1:])))
except CheckpointError as error:
    print(json.dumps(str(error)))
"""


class Hub(BaseHTTPRequestHandler):
    """What the hub answers for the repositories in ``repositories``, each with one commit."""

    repositories: Path
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind, *rest = urlsplit(self.path).path.strip("/").split("/")
        if kind == "api":
            name, question = "/".join(rest[1:3]), rest[3]
            files = [path for path in (self.repositories / name).rglob("*") if path.is_file()]
            listed = [
                {"path": str(path.relative_to(self.repositories / name)), "size": path.stat().st_size} for path in files
            ]
            about = {"id": name, "sha": COMMIT, "siblings": []}
            tree = [{"type": "file", "oid": hashlib.sha1(file["path"].encode()).hexdigest()} | file for file in listed]
            self.reply(json.dumps(about if question == "revision" else tree).encode() if files else None)
        else:
            path = self.repositories.joinpath(kind, rest[0], *rest[3:])
            self.reply(path.read_bytes() if path.is_file() else None)

    do_HEAD = do_GET  # noqa: N815, a name that the server looks for

    def reply(self, content: bytes | None) -> None:
        self.send_response(404 if content is None else 200)
        body = content or b""
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha1(self.path.encode()).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if content is None:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def hub(tmp_path):
    """Repositories of a running hub, and a function that looks there for a model, in a process of its own."""
    Hub.repositories = tmp_path / "hub"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def find(*arguments: str, **variables: str):
        place = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "cache")}
        environment = os.environ | place | {"PYTHONPATH": str(ROOT)} | variables
        command = [sys.executable, "-c", FOUND, *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=60)
        return json.loads(ran.stdout)

    yield tmp_path / "hub", find
    server.shutdown()
    thread.join()
    server.server_close()


def test_of_a_model_on_the_hub_what_is_needed_is_fetched_once(hub) -> None:
    repositories, find = hub
    folder = repositories / "we" / "bert"
    saved(folder, BertModel(BERT))
    for name in (
        "pytorch_model.bin",
        "tf_model.h5",
        "README.md",
        "consolidated.safetensors",
        "onnx/model.safetensors",
        "onnx/config.json",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    place, version = find("we/bert")
    assert version == COMMIT
    assert sorted(os.listdir(place)) == ["config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"]
    assert load_encoder(place)[1]("nurse")["input_ids"] == [2, 4, 3]
    assert find("we/bert", HF_HUB_OFFLINE="1") == [place, version]


def test_pickled_weights_are_fetched_where_there_are_no_others(hub) -> None:
    repositories, find = hub
    folder = repositories / "we" / "old"
    saved(folder, BertModel(BERT))
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")
    place, version = find("we/old", "main")
    assert version == COMMIT
    assert "pytorch_model.bin" in os.listdir(place)


def test_a_model_on_the_hub_that_needs_code_is_refused(hub) -> None:
    repositories, find = hub
    saved(repositories / "we" / "code", BertModel(BERT))
    change(repositories / "we" / "code" / "config.json", auto_map={"AutoModel": "modeling.Malice"})
    assert "embedding.model=we/code: its config.json asks for Python code" in find("we/code")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "404"),
        ({"HF_HUB_OFFLINE": "1"}, "outgoing traffic has been disabled"),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "Connection refused"),
    ],
)
def test_a_model_that_cannot_be_fetched_is_refused_at_once(hub, variables, reason) -> None:
    message = hub[1]("we/none", "v2", **variables)
    assert message.startswith(
        "embedding.model=we/none: there is no such folder, and the hub does not give this model ("
    )
    assert reason in message
    assert "set embedding.model=<name on the hub, or folder" in message
    assert "hf download we/none --revision v2" in message

"""Checkpoints of transformers: found in a folder or on the hub, loaded whole, and never run."""

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
from typing import ClassVar
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
from transformers import BertForSequenceClassification as Classifier
from transformers.utils import logging

from tests.fixtures.stores import damage
from tiltmeter.storage.models import checkpoints
from tiltmeter.storage.models import load as models
from tiltmeter.storage.models.checkpoints import Checkpoint, CheckpointError
from tiltmeter.storage.store.identity import digest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = "model.safetensors"
NEEDED = ["config.json", WEIGHTS, "tokenizer_config.json", "vocab.txt"]


def called(folder, *more):
    """Files called like those of a model, which are not looked into further than for JSON."""
    folder.mkdir(parents=True)
    for name in (*NEEDED, *more):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def files(tmp_path):
    return called(tmp_path / "bert")


def find_checkpoint(name):
    return checkpoints.find_checkpoint(str(name), None, "embedding.model")


@pytest.mark.parametrize("weights", [WEIGHTS, "pytorch_model.bin"])
def test_a_folder_is_the_digest_of_its_files(files, weights):
    """Pickled weights count where there are no others."""
    (files / WEIGHTS).rename(files / weights)
    names = [weights if name == WEIGHTS else name for name in NEEDED]
    contents = {name: hashlib.blake2b((files / name).read_bytes(), digest_size=16).hexdigest() for name in names}
    assert find_checkpoint(files) == Checkpoint(str(files), digest(contents))


def test_neither_the_place_of_a_folder_nor_what_is_not_loaded_matters(files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path / "home" / "copy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    version = find_checkpoint(files).version
    assert find_checkpoint("bert") == (str(files), version)
    assert find_checkpoint("~/copy") == (str(tmp_path / "home" / "copy"), version)
    for name in ("README.md", "tf_model.h5", "optimizer.pt", "pytorch_model.bin", "adapter_model.safetensors"):
        (files / name).write_text("other")
    assert find_checkpoint(files).version == version


def test_folders_without_a_model_are_refused(files):
    (files / WEIGHTS).rename(files / "weights")
    with pytest.raises(CheckpointError, match=r"holds no weights \(model\*\.safetensors or pytorch_model\*\.bin\)"):
        find_checkpoint(files)
    (files / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"embedding\.model=.*/bert: .* holds no config\.json; set embedding\.m"):
        find_checkpoint(files)


@pytest.mark.parametrize("name", ["/no/such/folder", "./bert", "a/b/c", "a name"])
def test_what_is_neither_a_folder_nor_a_name_is_refused(name):
    message = rf"{name}: there is no such folder, and no model on the hub can be called"
    with pytest.raises(CheckpointError, match=message):
        find_checkpoint(name)


# --- the hub --------------------------------------------------------------------------------------------------------

FOUND = """
import json, sys
from tiltmeter.storage.models.checkpoints import CheckpointError, find_checkpoint
for name, revision in json.loads(sys.argv[1]):
    try:
        print(json.dumps(find_checkpoint(name, revision, "translator.es.there")))
    except CheckpointError as error:
        print(json.dumps(str(error)))
"""


class Hub(BaseHTTPRequestHandler):
    """What the hub answers for the repositories in ``repositories``, each with one commit."""

    repositories: Path
    asked: ClassVar[list[str]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.asked.append(self.path)
        kind, *rest = urlsplit(self.path).path.strip("/").split("/")
        if kind == "api":
            name, question = "/".join(rest[1:3]), rest[3]
            files = [path for path in (self.repositories / name).rglob("*") if path.is_file()]
            sizes = {str(path.relative_to(self.repositories / name)): path.stat().st_size for path in files}
            about = {"id": name, "sha": COMMIT, "siblings": []}
            digests = {path: hashlib.sha1(path.encode()).hexdigest() for path in sizes}
            tree = [{"type": "file", "path": path, "size": sizes[path], "oid": digests[path]} for path in sizes]
            self.reply(json.dumps(about if question == "revision" else tree).encode() if files else None)
        else:
            path = self.repositories.joinpath(kind, rest[0], *rest[3:])
            self.reply(path.read_bytes() if path.is_file() else None)

    do_HEAD = do_GET  # noqa: N815, a name that the server looks for

    def reply(self, content: bytes | None):
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

    def log_message(self, *_):
        pass


@pytest.fixture
def find(tmp_path):
    """Looks for models on a running hub, in a process of its own."""
    Hub.repositories = tmp_path / "hub"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()

    def found(*asked: tuple[str, str | None], **variables: str):
        place = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "cache")}
        command = [sys.executable, "-c", FOUND, json.dumps(asked)]
        ran = subprocess.check_output(command, env=os.environ | place | variables, text=True, timeout=900)
        return [json.loads(line) for line in ran.splitlines()]

    yield found
    server.shutdown()
    thread.join()
    server.server_close()


MARIAN, NONE = ("we/marian", None), ("we/none", "v2")


@pytest.mark.long
def test_of_a_model_on_the_hub_what_is_needed_is_fetched_once(find):
    wanted = ["generation_config.json", "sentencepiece.bpe.model", "source.spm", "target.spm", "tokenizer.json"]
    unwanted = ["pytorch_model.bin", "tf_model.h5", "README.md", "consolidated.safetensors", "onnx/model.safetensors"]
    called(Hub.repositories / "we" / "marian", *wanted, *unwanted, "onnx/config.json")
    old = called(Hub.repositories / "we" / "old") / WEIGHTS
    old.rename(old.with_name("pytorch_model.bin"))
    code = called(Hub.repositories / "we" / "code") / "config.json"
    code.write_text('{"auto_map": {"AutoModel": "modeling.Malice"}}')
    marian, pickled, refusal, absent = find(MARIAN, ("we/old", "v1"), ("we/code", None), NONE)
    place, version = marian
    assert version == COMMIT
    assert sorted(os.listdir(place)) == sorted([*NEEDED, *wanted])
    place, version = pickled
    assert "/api/models/we/old/revision/v1" in Hub.asked
    assert version == COMMIT
    assert "pytorch_model.bin" in os.listdir(place), "where there are no others"
    assert "translator.es.there=we/code: its config.json asks for Python code" in refusal
    again, offline = find(MARIAN, NONE, HF_HUB_OFFLINE="1")
    assert again == marian
    [away] = find(NONE, HF_ENDPOINT="http://127.0.0.1:9")
    reasons = {absent: "404", offline: "outgoing traffic has been disabled", away: "Connection refused"}
    for message, reason in reasons.items():
        start = "translator.es.there=we/none: there is no such folder, and the hub does not give this model ("
        assert message.startswith(start)
        for part in (reason, "set translator.es.there=<name on the hub, or folder", "download we/none --revision v2"):
            assert part in message


# --- loading --------------------------------------------------------------------------------------------------------

SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
BERT = BertConfig(vocab_size=6, max_position_embeddings=8, **SIZES)
T5 = T5Config(vocab_size=6, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)
LABELS = {0: "bad", 1: "so-so", 2: "good"}
LABELLED = BertConfig(**BERT.to_dict() | {"id2label": LABELS})


def to_load(load, setting):
    return lambda folder: load(str(folder), "cpu", setting)


load_encoder = to_load(models.load_encoder, "embedding.model")
load_classifier = to_load(models.load_classifier, "sentiment.mine.model")
load_masked_model = to_load(models.load_masked_model, "masked_model.model")
load_translator = to_load(models.load_translator, "translator.es.there")


def saved(folder, model):
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nnurse\ndoctor\n")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    return folder


def settings_of(kind):
    return T5 if "T5" in kind.__name__ else LABELLED if kind is Classifier else BERT


@pytest.fixture
def bert(tmp_path):
    return saved(tmp_path / "bert", BertModel(BERT))


def change(path, **keys):
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def without(folder, *names):
    weights = load_file(Path(folder, WEIGHTS))
    for name in names:
        del weights[name]
    save_file(weights, Path(folder, WEIGHTS), {"format": "pt"})


def same_weights(found, expected):
    theirs = expected.state_dict()
    return all(torch.equal(values, theirs[name]) for name, values in found.state_dict().items())


@pytest.mark.parametrize(
    ("load", "kind"),
    [(load_encoder, BertModel), (load_classifier, Classifier), (load_translator, T5ForConditionalGeneration)],
)
def test_loaded_as_it_was_saved(tmp_path, load, kind):
    """With the head of a classifier and its labels, and the decoder of a translator."""
    model = kind(settings_of(kind))
    found, tokenizer = load(saved(tmp_path, model))
    assert same_weights(found, model)
    assert tokenizer("nurse")["input_ids"] == [2, 4, 3]
    assert not found.training
    assert kind is not Classifier or found.config.id2label == LABELS
    assert kind is not T5ForConditionalGeneration or found.generation_config.eos_token_id == 1


def test_heads_are_left_out_without_a_word(tmp_path, capfd):
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
def test_of_encoder_and_decoder_the_encoder(tmp_path, kind):
    model = kind(T5)
    found, _ = load_encoder(saved(tmp_path, model))
    assert same_weights(found, model.encoder)
    assert len(found(torch.tensor([[4, 1]]), output_hidden_states=True).hidden_states) == 3


def test_poolers_take_no_part(bert):
    without(bert, "pooler.dense.weight", "pooler.dense.bias")
    load_encoder(bert)


def removed_vocabulary(folder):
    """It lies elsewhere, and the tokenizer says where."""
    (folder / "vocab.txt").rename(folder.parent / "elsewhere.txt")
    change(folder / "tokenizer_config.json", vocab_file=str(folder.parent / "elsewhere.txt"))


def huge(folder):
    change(folder / "config.json", hidden_size=100_000, intermediate_size=400_000, num_attention_heads=1)
    save_file({"something": torch.zeros(1)}, folder / WEIGHTS, {"format": "pt"})


def configured(**keys):
    return lambda folder: change(folder / "config.json", **keys)


def lacking(*names):
    return lambda folder: without(folder, *names)


def halved(folder):
    damage(folder / WEIGHTS, lambda content: content[: len(content) // 2])


NORM, OUTPUT = "embeddings.LayerNorm.weight", "encoder.layer.1.output.dense.bias"
NORMS = [f"{part}.final_layer_norm.weight" for part in ("encoder", "decoder")]
HEAD, POOLER = "classifier.weight", "bert.pooler.dense.bias"
FILLS = "cls.predictions.transform.dense.bias"
NO_HEAD = r"is a BertForMaskedLM, which has no head that classifies.*set sentiment\.mine"
NO_HEAD_AT_ALL = r"lacks 2 weights of the classifier \(classifier\.bias, classifier\.weight"
NO_CLASSES = "has one output, as a regression has, which tells no classes apart"
REFUSED = [
    (load_encoder, BertModel, lacking(NORM, OUTPUT), rf"lacks 2 weights of the encoder \({NORM}, enc"),
    (load_encoder, T5ForConditionalGeneration, lacking(*NORMS), rf"lacks 1 weights of the encoder \({NORMS[0]}"),
    (load_encoder, BertModel, configured(hidden_size=16), "transformers cannot load this model"),
    (load_encoder, BertModel, halved, "model: transformers cannot load this model"),
    (load_encoder, BertModel, huge, r"config describes 2\d\d,\d{3},\d{3},\d{3} weights, and its files have"),
    (load_encoder, BertModel, removed_vocabulary, "tokenizer has no vocabulary"),
    (load_encoder, BertModel, lambda to: (to / "vocab.txt").unlink(), r"tokenizer has no vocabulary.*vocab\.txt"),
    (load_classifier, BertModel, None, r"sentiment\.mine\.model=.*: is a BertModel, which has no head"),
    (load_classifier, BertForMaskedLM, None, NO_HEAD),
    (load_classifier, Classifier, configured(id2label={"0": "score"}), NO_CLASSES),
    (load_classifier, Classifier, lacking(HEAD, POOLER), rf"2 weights of the classifier \({POOLER}, {HEAD}"),
    (load_classifier, BertModel, configured(architectures=None), NO_HEAD_AT_ALL),
    (
        load_masked_model,
        Classifier,
        None,
        r"masked_model\.model=.*Classification, which has no head that fills masks; ",
    ),
    (load_masked_model, BertForMaskedLM, None, "its tokenizer has no mask that the model knows"),
    (load_masked_model, BertForMaskedLM, lacking(FILLS), rf"1 weights of the masked language model \({FILLS}\)"),
    (load_translator, T5EncoderModel, None, r"translator\.es\.there=.*lacks \d+ weights of the translator \(decoder\."),
    (load_translator, BertModel, None, r"cannot load this model: .*BertConfig.*; set translator\.es\.there=<name"),
]
"""What it is loaded for, of what kind a model is, what happens to it, and what is said."""


@pytest.mark.long
@pytest.mark.parametrize(("load", "kind", "happen", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_what_does_not_hold_what_is_asked_of_it_is_refused(tmp_path, load, kind, happen, message):
    folder = saved(tmp_path / "model", kind(settings_of(kind)))
    if happen:
        happen(folder)
    with pytest.raises(CheckpointError, match=message):
        load(folder)


# --- code -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content, 2))])
def test_code_in_a_pickle_is_not_run(bert, payload, write):
    write({"embeddings.word_embeddings.weight": payload}, bert / "pytorch_model.bin")
    load_encoder(bert)  # with safetensors beside it, a pickle is not even read
    (bert / WEIGHTS).unlink()
    find_checkpoint(bert)
    with pytest.raises(CheckpointError, match=r"asks for code to be run, which is never done.*safetensors"):
        load_encoder(bert)


def test_pickled_weights_are_loaded(bert):
    expected = AutoModel.from_pretrained(bert)
    torch.save(expected.state_dict(), bert / "pytorch_model.bin")
    (bert / WEIGHTS).unlink()
    assert same_weights(load_encoder(bert)[0], expected)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("config.json", {"auto_map": {"AutoModel": "modeling.Malice"}, "model_type": "malice"}),
        ("config.json", {"auto_map": {"AutoModel": "modeling.Malice"}}),
        ("config.json", {"text_config": {"auto_map": {"AutoConfig": "modeling.Malice"}}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["modeling.Malice", None]}}),
    ],
)
def test_python_code_in_a_folder_is_not_run(bert, trace, name, keys):
    (bert / "modeling.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    change(bert / name, **keys)
    (bert / name).write_text((bert / name).read_text().replace("auto_map", r"auto\u005fmap"))
    for use in (find_checkpoint, load_encoder):
        with pytest.raises(CheckpointError, match=rf"{name} asks for Python code.*auto_map.*never done"):
            use(bert)


def test_neither_attention_nor_generation_is_computed_by_code_of_others(bert, tmp_path, trace):
    change(bert / "config.json", attn_implementation="kernels-community/flash-attn3")
    assert load_encoder(bert)[0].config._attn_implementation == "eager"
    folder = saved(tmp_path / "t5", T5ForConditionalGeneration(T5))
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate/generate.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    load_translator(folder)

import json
import pickle
from pathlib import Path

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
from tiltmeter.storage.models import load as models
from tiltmeter.storage.models.checkpoints import CheckpointError, find_checkpoint

WEIGHTS = "model.safetensors"
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
BERT = BertConfig(vocab_size=6, max_position_embeddings=8, **SIZES)
T5 = T5Config(vocab_size=6, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)
LABELS = {0: "bad", 1: "so-so", 2: "good"}
LABELLED = BertConfig(**BERT.to_dict() | {"id2label": LABELS})


def to_load(load, setting):
    return lambda folder: load(str(folder), "cpu", setting)


load_encoder = to_load(models.load_encoder, "embedding.model")
load_classifier = to_load(models.load_classifier, "sentiment.mine.model")
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
    save_file(
        {name: values for name, values in weights.items() if name not in names}, Path(folder, WEIGHTS), {"format": "pt"}
    )


def same_weights(found, expected):
    theirs = expected.state_dict()
    return all(torch.equal(values, theirs[name]) for name, values in found.state_dict().items())


@pytest.mark.parametrize(
    ("load", "kind"),
    [(load_encoder, BertModel), (load_classifier, Classifier), (load_translator, T5ForConditionalGeneration)],
)
def test_loaded_as_it_was_saved(tmp_path, load, kind) -> None:
    """With the head of a classifier and its labels, and the decoder of a translator."""
    model = kind(settings_of(kind))
    found, tokenizer = load(saved(tmp_path, model))
    assert same_weights(found, model)
    assert tokenizer("nurse")["input_ids"] == [2, 4, 3]
    assert not found.training
    assert kind is not Classifier or found.config.id2label == LABELS
    assert kind is not T5ForConditionalGeneration or found.generation_config.eos_token_id == 1


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


def test_poolers_take_no_part(bert) -> None:
    without(bert, "pooler.dense.weight", "pooler.dense.bias")
    load_encoder(bert)


def removed_vocabulary(folder):
    """It lies elsewhere, and the tokenizer says where."""
    (folder / "vocab.txt").rename(folder.parent / "elsewhere.txt")
    change(folder / "tokenizer_config.json", vocab_file=str(folder.parent / "elsewhere.txt"))


def huge(folder):
    change(folder / "config.json", hidden_size=100_000, intermediate_size=400_000, num_attention_heads=1)
    save_file({"something": torch.zeros(1)}, folder / WEIGHTS, {"format": "pt"})


NORM, OUTPUT = "embeddings.LayerNorm.weight", "encoder.layer.1.output.dense.bias"
NORMS = [f"{part}.final_layer_norm.weight" for part in ("encoder", "decoder")]
ENCODER = r"weights of the encoder \("
REFUSED = {
    "missing weights": (load_encoder, BertModel, lambda to: without(to, NORM, OUTPUT), f"lacks 2 {ENCODER}{NORM}, enc"),
    "no encoder": (
        load_encoder,
        T5ForConditionalGeneration,
        lambda to: without(to, *NORMS),
        f"lacks 1 {ENCODER}{NORMS[0]}",
    ),
    "shape": (
        *(load_encoder, BertModel, lambda to: change(to / "config.json", hidden_size=16)),
        "transformers cannot load this model",
    ),
    "damaged": (
        *(load_encoder, BertModel, lambda to: damage(to / WEIGHTS, lambda content: content[: len(content) // 2])),
        "model: transformers cannot load this model",
    ),
    "huge": (load_encoder, BertModel, huge, r"config describes 2\d\d,\d{3},\d{3},\d{3} weights, and its files have"),
    "vocabulary elsewhere": (load_encoder, BertModel, removed_vocabulary, "tokenizer has no vocabulary"),
    "no vocabulary": (
        *(load_encoder, BertModel, lambda to: (to / "vocab.txt").unlink()),
        r"tokenizer has no vocabulary.*vocab\.txt",
    ),
    "no head": (load_classifier, BertModel, None, r"sentiment\.mine\.model=.*: is a BertModel, which has no head"),
    "other head": (
        *(load_classifier, BertForMaskedLM, None),
        r"is a BertForMaskedLM, which has no head that classifies.*set sentiment\.mine",
    ),
    "regression": (
        *(load_classifier, Classifier, lambda to: change(to / "config.json", id2label={"0": "score"})),
        "has one output, as a regression has, which tells no classes apart",
    ),
    "missing head": (
        *(load_classifier, Classifier, lambda to: without(to, "classifier.weight", "bert.pooler.dense.bias")),
        r"2 weights of the classifier \(bert\.pooler\.dense\.bias, classifier\.wei",
    ),
    "head that is not said": (
        *(load_classifier, BertModel, lambda to: change(to / "config.json", architectures=None)),
        r"lacks 2 weights of the classifier \(classifier\.bias, classifier\.weight",
    ),
    "no translator": (
        *(load_translator, T5EncoderModel, None),
        r"translator\.es\.there=.*lacks \d+ weights of the translator \(decoder\.",
    ),
    "encoder alone": (
        *(load_translator, BertModel, None),
        r"cannot load this model: .*BertConfig.*; set translator\.es\.there=<name",
    ),
}
"""What it is loaded for, of what kind a model is, what happens to it, and what is said."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_hold_what_is_asked_of_it_is_refused(tmp_path, case) -> None:
    load, kind, happen, message = REFUSED[case]
    folder = saved(tmp_path / "model", kind(settings_of(kind)))
    if happen:
        happen(folder)
    with pytest.raises(CheckpointError, match=message):
        load(folder)


@pytest.mark.parametrize("write", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content, 2))])
def test_code_in_a_pickle_is_not_run(bert, payload, write) -> None:
    write({"embeddings.word_embeddings.weight": payload}, bert / "pytorch_model.bin")
    load_encoder(bert)  # with safetensors beside it, a pickle is not even read
    (bert / WEIGHTS).unlink()
    find_checkpoint(str(bert), None, "embedding.model")
    with pytest.raises(CheckpointError, match=r"asks for code to be run, which is never done.*safetensors"):
        load_encoder(bert)


def test_pickled_weights_are_loaded(bert) -> None:
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
def test_python_code_in_a_folder_is_not_run(bert, trace, name, keys) -> None:
    (bert / "modeling.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    change(bert / name, **keys)
    (bert / name).write_text((bert / name).read_text().replace("auto_map", r"auto\u005fmap"))
    for use in (lambda: find_checkpoint(str(bert), None, "embedding.model"), lambda: load_encoder(bert)):
        with pytest.raises(CheckpointError, match=rf"{name} asks for Python code.*auto_map.*never done"):
            use()


def test_attention_is_not_computed_by_code_from_the_hub(bert) -> None:
    change(bert / "config.json", attn_implementation="kernels-community/flash-attn3")
    assert load_encoder(bert)[0].config._attn_implementation == "eager"


def test_code_for_generating_is_not_run(tmp_path, trace) -> None:
    folder = saved(tmp_path / "t5", T5ForConditionalGeneration(T5))
    (folder / "custom_generate").mkdir()
    (folder / "custom_generate/generate.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    load_translator(folder)

import json
import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
)
from transformers.utils import logging

from tiltmeter.storage.models import load as models
from tiltmeter.storage.models.checkpoints import CheckpointError, find_checkpoint

WEIGHTS = "model.safetensors"
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
BERT = BertConfig(vocab_size=6, max_position_embeddings=8, **SIZES)
T5 = T5Config(vocab_size=6, d_model=8, d_kv=4, d_ff=8, num_layers=2, num_heads=2)
LABELS = {0: "bad", 1: "so-so", 2: "good"}


def load_encoder(folder):
    return models.load_encoder(str(folder), "cpu", "embedding.model")


def load_classifier(folder):
    return models.load_classifier(str(folder), "cpu", "sentiment.mine.model")


def load_translator(folder):
    return models.load_translator(str(folder), "cpu", "translator.es.there")


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
        load_encoder(bert)


def test_an_encoder_without_its_weights_is_refused_whatever_its_decoder(tmp_path) -> None:
    folder = saved(tmp_path, T5ForConditionalGeneration(T5))
    without(folder, "encoder.final_layer_norm.weight", "decoder.final_layer_norm.weight")
    with pytest.raises(CheckpointError, match=r"lacks 1 weights of the encoder \(encoder\.final_layer_norm\.weight\)"):
        load_encoder(folder)


def test_damaged_weights_are_refused(bert) -> None:
    content = (bert / WEIGHTS).read_bytes()
    (bert / WEIGHTS).write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match=r"bert: transformers cannot load this model"):
        load_encoder(bert)


def test_a_config_of_more_weights_than_the_files_have_is_refused_before_they_are_drawn(bert) -> None:
    change(bert / "config.json", hidden_size=100_000, intermediate_size=400_000, num_attention_heads=1)
    save_file({"something": torch.zeros(1)}, bert / WEIGHTS, {"format": "pt"})
    with pytest.raises(
        CheckpointError, match=r"its config describes 2\d\d,\d{3},\d{3},\d{3} weights, and its files have"
    ):
        load_encoder(bert)


def test_a_vocabulary_elsewhere_is_not_read(bert, tmp_path) -> None:
    (bert / "vocab.txt").rename(tmp_path / "elsewhere.txt")
    change(bert / "tokenizer_config.json", vocab_file=str(tmp_path / "elsewhere.txt"))
    with pytest.raises(CheckpointError, match="tokenizer has no vocabulary"):
        load_encoder(bert)


def test_a_tokenizer_without_vocabulary_is_refused(bert) -> None:
    (bert / "vocab.txt").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer has no vocabulary.*vocab\.txt"):
        load_encoder(bert)


class Malice:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("write", [torch.save, lambda content, path: path.write_bytes(pickle.dumps(content, 2))])
def test_code_in_a_pickle_is_not_run(bert, tmp_path, write) -> None:
    trace = tmp_path / "was here"
    write({"embeddings.word_embeddings.weight": Malice(trace)}, bert / "pytorch_model.bin")
    load_encoder(bert)  # with safetensors beside it, a pickle is not even read
    (bert / WEIGHTS).unlink()
    find_checkpoint(str(bert), None, "embedding.model")
    with pytest.raises(CheckpointError, match=r"asks for code to be run, which is never done.*safetensors"):
        load_encoder(bert)
    assert not trace.exists()


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
def test_python_code_in_a_folder_is_not_run(bert, tmp_path, name, keys) -> None:
    trace = tmp_path / "was here"
    (bert / "modeling.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    change(bert / name, **keys)
    (bert / name).write_text((bert / name).read_text().replace("auto_map", r"auto\u005fmap"))
    for use in (lambda: find_checkpoint(str(bert), None, "embedding.model"), lambda: load_encoder(bert)):
        with pytest.raises(CheckpointError, match=rf"{name} asks for Python code.*auto_map.*never done"):
            use()
    assert not trace.exists()


def test_attention_is_not_computed_by_code_from_the_hub(bert) -> None:
    change(bert / "config.json", attn_implementation="kernels-community/flash-attn3")
    assert load_encoder(bert)[0].config._attn_implementation == "eager"


@pytest.fixture
def classifier(tmp_path):
    folder = tmp_path / "classifier"
    return Path(saved(folder, BertForSequenceClassification(BertConfig(**BERT.to_dict() | {"id2label": LABELS}))))


def test_a_classifier_is_loaded_with_its_head(classifier) -> None:
    found, tokenizer = load_classifier(classifier)
    assert same_weights(found, BertForSequenceClassification.from_pretrained(classifier))
    assert found.config.id2label == LABELS
    assert found(torch.tensor([tokenizer("nurse")["input_ids"]])).logits.shape == (1, 3)


@pytest.mark.parametrize("kind", [BertModel, BertForMaskedLM])
def test_a_model_without_a_head_that_classifies_is_refused(tmp_path, kind) -> None:
    message = (
        rf"sentiment\.mine\.model=.*: is a {kind.__name__}, which has no head that classifies.*set sentiment\.mine"
    )
    with pytest.raises(CheckpointError, match=message):
        load_classifier(saved(tmp_path, kind(BERT)))


def test_a_regression_tells_no_classes_apart(classifier) -> None:
    change(classifier / "config.json", id2label={"0": "score"})
    with pytest.raises(CheckpointError, match=r"has one output, as a regression has, which tells no classes apart"):
        load_classifier(classifier)


def test_a_head_that_is_missing_is_not_drawn(classifier) -> None:
    without(classifier, "classifier.weight", "bert.pooler.dense.bias")
    with pytest.raises(
        CheckpointError, match=r"2 weights of the classifier \(bert\.pooler\.dense\.bias, classifier\.wei"
    ):
        load_classifier(classifier)


def test_a_model_that_does_not_say_what_it_is_is_refused_by_its_weights(bert) -> None:
    change(bert / "config.json", architectures=None)
    with pytest.raises(
        CheckpointError, match=r"lacks 2 weights of the classifier \(classifier\.bias, classifier\.weight"
    ):
        load_classifier(bert)


def test_a_translator_is_loaded_with_its_decoder(tmp_path) -> None:
    model = T5ForConditionalGeneration(T5)
    found, _ = load_translator(saved(tmp_path, model))
    assert same_weights(found, model)
    assert found.generation_config.eos_token_id == 1


def test_an_encoder_is_no_translator(tmp_path, bert) -> None:
    with pytest.raises(
        CheckpointError, match=r"translator\.es\.there=.*lacks \d+ weights of the translator \(decoder\."
    ):
        load_translator(saved(tmp_path / "t5", T5EncoderModel(T5)))
    with pytest.raises(
        CheckpointError, match=r"cannot load this model: .*BertConfig.*; set translator\.es\.there=<name"
    ):
        load_translator(bert)


def test_code_for_generating_is_not_run(tmp_path) -> None:
    folder = saved(tmp_path / "t5", T5ForConditionalGeneration(T5))
    code = Path(folder, "custom_generate", "generate.py")
    code.parent.mkdir()
    code.write_text(f"import os; os.mkdir({str(tmp_path / 'was here')!r})")
    load_translator(folder)
    assert not (tmp_path / "was here").exists()

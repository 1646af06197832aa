"""Language models out of checkpoints, in float32 and with their tokenizers.

No code that comes with a checkpoint is run, and nothing is fetched.
"""

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, Literal

from tiltmeter.storage.models.checkpoints import CheckpointError, checked, first_line, num_weight_bytes, remedy

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_SHOWN_WEIGHTS = 3
_FEWEST_CLASSES = 2

_ALSO_CAUSAL = ("GPT2LMHeadModel", "OpenAIGPTLMHeadModel", "BertLMHeadModel")
_ALSO_MASKED = ("BertForPreTraining",)
"""Classes of transformers that are not called by what they predict."""

_MOST_WEIGHTS_PER_BYTE = 8
_ALWAYS_ALLOWED_WEIGHTS = 2**24


def load_encoder(folder: str, device: str, setting: str) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Model and tokenizer of a checkpoint; of a model with encoder and decoder, the encoder.

    Args:
        folder: of :func:`.checkpoints.find_checkpoint`.
        device: as torch names it.
        setting: that names the model; messages name it.

    Raises:
        CheckpointError: if the files are damaged, a weight of the encoder is missing (poolers aside: they take no part
            in hidden states), there is no vocabulary, or the model asks for code of its own.
    """
    model, missing, tokenizer = _loaded("AutoModel", folder, setting)
    encoder = _encoder(model)
    tensors = model.state_dict(keep_vars=True)
    encoder_tensors = {id(tensor) for tensor in encoder.state_dict(keep_vars=True).values()}
    taking_part = {name for name in missing if "pooler" not in name and id(tensors[name]) in encoder_tensors}
    _check_weights(taking_part, "encoder", folder, setting)
    return encoder.to(device), tokenizer


def load_classifier(folder: str, device: str, setting: str) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Model and tokenizer of a text classifier.

    Args:
        folder, device, setting: as for :func:`load_encoder`.

    Raises:
        CheckpointError: as for :func:`load_encoder`, or if the model has no head that classifies texts.
    """
    check_classifier(folder, setting)
    model, missing, tokenizer = _loaded("AutoModelForSequenceClassification", folder, setting)
    _check_weights(missing, "classifier", folder, setting)
    return model.to(device), tokenizer


def check_classifier(folder: str, setting: str) -> None:
    """Refuse a checkpoint that says that it is another kind of model, or that it has one output, without loading it.

    Raises:
        CheckpointError: naming the kind.
    """
    _check_head(folder, setting, ("ForSequenceClassification",), "classifies texts", "text classification")
    if len(described_labels(folder)) < _FEWEST_CLASSES:
        raise CheckpointError(
            f"{setting}={folder}: has one output, as a regression has, which tells no classes apart; set {setting} to "
            "a model for text classification"
        )


def load_masked_model(folder: str, device: str, setting: str) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Model and tokenizer of a masked language model.

    Args:
        folder, device, setting: as for :func:`load_encoder`.

    Raises:
        CheckpointError: as for :func:`load_encoder`, or if the model has no head that fills masks, or no mask.
    """
    check_masked_model(folder, setting)
    model, missing, tokenizer = _loaded("AutoModelForMaskedLM", folder, setting)
    _check_weights(missing, "masked language model", folder, setting)
    mask = tokenizer.mask_token_id
    if mask is None or int(mask) >= model.config.vocab_size:
        raise CheckpointError(f"{setting}={folder}: its tokenizer has no mask that the model knows; {remedy(setting)}")
    return model.to(device), tokenizer


def check_masked_model(folder: str, setting: str) -> None:
    """Refuse a checkpoint that says that it is another kind of model, without loading it.

    Raises:
        CheckpointError: naming the kind.
    """
    _check_head(folder, setting, ("ForMaskedLM", "ForPreTraining"), "fills masks", "masked language modelling")


def _check_head(folder: str, setting: str, endings: tuple[str, ...], purpose: str, kind: str) -> None:
    checked(folder, folder, setting)
    listed = json.loads(Path(folder, "config.json").read_bytes()).get("architectures")
    kinds = [str(one) for one in listed] if isinstance(listed, list) else []
    if kinds and not any(one.endswith(endings) for one in kinds):
        raise CheckpointError(
            f"{setting}={folder}: is a {', '.join(kinds)}, which has no head that {purpose}; set {setting} to a "
            f"model for {kind}"
        )


def described_labels(folder: str) -> dict[int, str]:
    """The labels of a text classifier by their numbers, without loading it; as transformers calls them where it says
    none.
    """
    described = json.loads(Path(folder, "config.json").read_bytes())
    labels = described.get("id2label")
    given = {int(number): str(label) for number, label in labels.items()} if isinstance(labels, dict) else {}
    return given or {number: f"LABEL_{number}" for number in range(int(described.get("num_labels", 2)))}


def load_language_model(
    folder: str, device: str, setting: str
) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase", Literal["causal", "masked"]]:
    """Model and tokenizer of a language model with its head, and its kind; arguments as of :func:`load_encoder`.

    Raises:
        CheckpointError: as for :func:`load_encoder` and :func:`language_model_kind`, or if there is no mask token.
    """
    kind = language_model_kind(folder, setting)
    model, missing, tokenizer = _loaded(
        "AutoModelForCausalLM" if kind == "causal" else "AutoModelForMaskedLM", folder, setting
    )
    _check_weights(missing, "language model", folder, setting)
    if kind == "masked" and tokenizer.mask_token_id is None:
        raise CheckpointError(
            f"{setting}={folder}: its tokenizer has no mask token; name it in tokenizer_config.json, as mask_token"
        )
    return model.to(device), tokenizer, kind


def language_model_kind(folder: str, setting: str) -> Literal["causal", "masked"]:
    """Whether a model predicts the next token or a hidden one, by its config, without loading it.

    Raises:
        CheckpointError: if it does neither.
    """
    checked(folder, folder, setting)
    listed = json.loads(Path(folder, "config.json").read_bytes()).get("architectures")
    kinds = [str(kind) for kind in listed] if isinstance(listed, list) else []
    if any(kind.endswith("ForMaskedLM") or kind in _ALSO_MASKED for kind in kinds):
        return "masked"
    if any(kind.endswith("ForCausalLM") or kind in _ALSO_CAUSAL for kind in kinds):
        return "causal"
    raise CheckpointError(
        f"{setting}={folder}: is a {', '.join(kinds) or 'model of no kind that its config names'}, which predicts no "
        f"tokens; set {setting} to a causal or masked language model"
    )


def load_translator(folder: str, device: str, setting: str) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Model and tokenizer of a translator with encoder and decoder, such as Marian's, M2M100 and NLLB.

    Args:
        folder, device, setting: as for :func:`load_encoder`.

    Raises:
        CheckpointError: as for :func:`load_encoder`, or if the model has no decoder.
    """
    model, missing, tokenizer = _loaded("AutoModelForSeq2SeqLM", folder, setting)
    _check_weights(missing, "translator", folder, setting)
    return model.to(device), tokenizer


def _loaded(kind: str, folder: str, setting: str) -> tuple[Any, set[str], "PreTrainedTokenizerBase"]:
    """Model of a class of transformers, names of the weights that its files lack, and tokenizer."""
    checked(folder, folder, setting)
    try:
        with _quiet():
            model, missing, tokenizer = _from_files(kind, folder)
    except UnpicklingError as error:
        raise CheckpointError(
            f"{setting}={folder}: its weights are a damaged pickle, or one that asks for code to be run, which is "
            f"never done; set {setting} to a model with weights in safetensors"
        ) from error
    except Exception as error:  # a damaged checkpoint shows in whatever way the library stumbles over it
        raise CheckpointError(
            f"{setting}={folder}: transformers cannot load this model: {first_line(error)}; {remedy(setting)}"
        ) from error
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise CheckpointError(
            f"{setting}={folder}: its tokenizer has no vocabulary; bring its files along, such as vocab.txt"
        )
    return model, missing, tokenizer


def _from_files(kind: str, folder: str) -> tuple[Any, set[str], "PreTrainedTokenizerBase"]:
    import torch
    import transformers

    safely: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safely)
    # A config may name code on the hub to compute attention with; only where it is given as an object is it overruled.
    safely |= {"config": transformers.AutoConfig.from_pretrained(folder, **safely), "attn_implementation": "eager"}
    _check_size(getattr(transformers, kind), safely["config"], folder)
    model, report = getattr(transformers, kind).from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True, **safely
    )
    return model, report["missing_keys"], tokenizer


def _check_size(kind: Any, config: Any, folder: str) -> None:
    """Refuse a config that describes far more than the files hold: what is missing would be drawn at random."""
    import torch

    with torch.device("meta"):
        described = kind.from_config(config, trust_remote_code=False, attn_implementation="eager")
    num_weights, num_bytes = sum(weight.numel() for weight in described.parameters()), num_weight_bytes(folder)
    if num_weights > max(num_bytes * _MOST_WEIGHTS_PER_BYTE, _ALWAYS_ALLOWED_WEIGHTS):
        raise ValueError(f"its config describes {num_weights:,} weights, and its files have {num_bytes:,} bytes")


def _encoder(model: Any) -> Any:
    from transformers import PreTrainedModel

    encoder = getattr(model, "encoder", None)
    return encoder if hasattr(model, "decoder") and isinstance(encoder, PreTrainedModel) else model


def _check_weights(missing: Iterable[str], part: str, folder: str, setting: str) -> None:
    """What a checkpoint lacks, the library draws at random."""
    if names := sorted(missing):
        shown = ", ".join(names[:_SHOWN_WEIGHTS]) + (", ..." if len(names) > _SHOWN_WEIGHTS else "")
        raise CheckpointError(
            f"{setting}={folder}: lacks {len(names)} weights of the {part} ({shown}); {remedy(setting)}"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without progress bars, and reports on heads that are left out and packages that make no difference."""
    from transformers.utils import logging

    switches: Any = logging  # some of them lack types
    verbosity, has_bars = switches.get_verbosity(), switches.is_progress_bar_enabled()
    switches.set_verbosity_error()
    switches.disable_progress_bar()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        switches.set_verbosity(verbosity)
        if has_bars:
            switches.enable_progress_bar()

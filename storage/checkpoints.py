"""Checkpoints of language models in the format of Hugging Face: local folders, and repositories on the hub.

No code that comes with a checkpoint is run: neither its Python files nor what a pickle of weights asks for.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, NamedTuple

from storage.identity import digest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_DIGEST_BYTES = 16
_SHOWN_WEIGHTS = 3

_CONFIG = "config.json"
_DESCRIPTIONS = ("*.json", "*.txt", "*.model", "*.spm", "*.codes")
"""Configs and the files of tokenizers."""

_SAFE_WEIGHTS = "model*.safetensors"
_PICKLED_WEIGHTS = "pytorch_model*.bin"
_SUBFOLDERS = "*/*"

_SETTING = "set embedding.model=<name on the hub, or folder with config.json, tokenizer and weights>"


class CheckpointError(ValueError):
    """A model that can't be found or loaded; the message names it."""


class Checkpoint(NamedTuple):
    """Attributes:
    folder: where it lies on this machine.
    version: what it is: the commit of a model on the hub; of a local folder, a digest of its files.
    """

    folder: str
    version: str


def find_checkpoint(name: str, revision: str | None = None) -> Checkpoint:
    """Find a model, and fetch what is missing of it if it lies on the hub.

    Args:
        name: a local folder, or else a name on the hub, such as ``google-bert/bert-base-uncased``. Only its config, its
            tokenizer and one format of weights are fetched, into the cache that ``HF_HOME`` names. Without network, or
            with ``HF_HUB_OFFLINE=1``, what the cache holds is taken.
        revision: branch, tag or commit on the hub, ``main`` if None. A local folder has none.

    Raises:
        CheckpointError: if there is no such model, it lacks config or weights, or asks for code of its own to be run.
    """
    folder = os.path.abspath(os.path.expanduser(name))
    if not os.path.isdir(folder):
        folder = _downloaded(name, revision)
        return Checkpoint(folder, os.path.basename(_checked(name, folder)))
    try:
        return Checkpoint(folder, _contents(_checked(name, folder)))
    except OSError as error:
        raise CheckpointError(f"embedding.model={name}: cannot be read: {error}") from error


def _downloaded(name: str, revision: str | None) -> str:
    """The folder of a commit in the cache of the hub's client, which has the commit's name."""
    from huggingface_hub import snapshot_download  # its libraries take time to import
    from huggingface_hub.errors import HFValidationError

    def fetch(revision: str | None, weights: str) -> str:
        patterns = [*_DESCRIPTIONS, weights]
        return snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=_SUBFOLDERS)

    absent = f"embedding.model={name}: there is no such folder"
    try:
        folder = fetch(revision, _SAFE_WEIGHTS)
        return folder if _files(folder, _SAFE_WEIGHTS) else fetch(os.path.basename(folder), _PICKLED_WEIGHTS)
    except HFValidationError as error:
        raise CheckpointError(f"{absent}, and no model on the hub can be called so; {_SETTING}") from error
    except Exception as error:  # of the hub, the network, its client or the disk: there is no common class
        command = f"hf download {name}" + (f" --revision {revision}" if revision else "")
        raise CheckpointError(
            f"{absent}, and the hub does not give this model ({_first_line(error)}); {_SETTING}. Without network, run "
            f"'{command}' where there is one, and bring along its cache, or the folder that it prints"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _files(folder: str, *patterns: str) -> list[Path]:
    return sorted(file for pattern in patterns for file in Path(folder).glob(pattern) if file.is_file())


def _weights(folder: str) -> list[Path]:
    """The files that are loaded: pickles only where there is nothing else."""
    return _files(folder, _SAFE_WEIGHTS) or _files(folder, _PICKLED_WEIGHTS)


def _contents(folder: str) -> str:
    """Digest of the files that decide what a model computes."""
    return digest({file.name: _file_digest(file) for file in _files(folder, *_DESCRIPTIONS) + _weights(folder)})


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)).hexdigest()


def _checked(name: str, folder: str) -> str:
    """The folder, if a model lies there that needs no code of its own."""
    if not Path(folder, _CONFIG).is_file():
        raise CheckpointError(f"embedding.model={name}: the folder {folder} holds no {_CONFIG}; {_SETTING}")
    if not _weights(folder):
        wanted = f"{_SAFE_WEIGHTS} or {_PICKLED_WEIGHTS}"
        raise CheckpointError(f"embedding.model={name}: the folder {folder} holds no weights ({wanted}); {_SETTING}")
    for described in (_CONFIG, "tokenizer_config.json"):
        if (path := Path(folder, described)).is_file() and _asks_for_code(name, path):
            raise CheckpointError(
                f"embedding.model={name}: its {described} asks for Python code of its own to be run (auto_map), which "
                "is never done; set embedding.model to one that transformers can load by itself"
            )
    return folder


def _asks_for_code(name: str, path: Path) -> bool:
    """Whether the key occurs at any depth: a model may be made of several. Within a string its quotes are escaped."""
    try:
        return '"auto_map":' in json.dumps(json.loads(path.read_bytes()))
    except ValueError as error:
        raise CheckpointError(f"embedding.model={name}: {path.name} is not JSON ({error}); {_SETTING}") from error


def load_encoder(folder: str, device: str = "cpu") -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    """Model and tokenizer of a checkpoint, in float32; of a model with encoder and decoder, the encoder.

    Args:
        folder: of :func:`find_checkpoint`.
        device: as torch names it.

    Raises:
        CheckpointError: if the files are damaged, a weight of the encoder is missing (poolers aside: they take no part
            in hidden states), there is no vocabulary, or the model asks for code of its own.
    """
    _checked(folder, folder)
    try:
        with _quiet():
            model, missing, tokenizer = _loaded(folder)
    except UnpicklingError as error:
        raise CheckpointError(
            f"{folder}: its weights are a damaged pickle, or one that asks for code to be run, which is never done; "
            "set embedding.model to a model with weights in safetensors"
        ) from error
    except Exception as error:  # a damaged checkpoint shows in whatever way the library stumbles over it
        raise CheckpointError(f"{folder}: transformers cannot load this model: {_first_line(error)}") from error
    encoder = _encoder(model)
    _check_weights(folder, model, encoder, missing)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise CheckpointError(f"{folder}: its tokenizer has no vocabulary; bring its files along, such as vocab.txt")
    return encoder.to(device), tokenizer


def _loaded(folder: str) -> tuple[Any, set[str], "PreTrainedTokenizerBase"]:
    """Model, names of the weights that its files lack, and tokenizer."""
    import torch
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    safely: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(folder, **safely)
    # A config may name code on the hub to compute attention with; only where it is given as an object is it overruled.
    safely |= {"config": AutoConfig.from_pretrained(folder, **safely), "attn_implementation": "eager"}
    model, found = AutoModel.from_pretrained(folder, dtype=torch.float32, output_loading_info=True, **safely)
    return model, found["missing_keys"], tokenizer


def _encoder(model: Any) -> Any:
    from transformers import PreTrainedModel

    encoder = getattr(model, "encoder", None)
    return encoder if hasattr(model, "decoder") and isinstance(encoder, PreTrainedModel) else model


def _check_weights(folder: str, model: Any, encoder: Any, absent: set[str]) -> None:
    """What a checkpoint lacks, the library draws at random."""
    tensors = model.state_dict(keep_vars=True)
    own = {id(tensor) for tensor in encoder.state_dict(keep_vars=True).values()}
    missing = sorted(name for name in absent if "pooler" not in name and id(tensors[name]) in own)
    if missing:
        shown = ", ".join(missing[:_SHOWN_WEIGHTS]) + (", ..." if len(missing) > _SHOWN_WEIGHTS else "")
        raise CheckpointError(f"{folder}: lacks {len(missing)} weights of the encoder ({shown}); {_SETTING}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without progress bars and reports on heads that are left out."""
    from transformers.utils import logging

    switches: Any = logging  # some of them lack types
    verbosity, has_bars = switches.get_verbosity(), switches.is_progress_bar_enabled()
    switches.set_verbosity_error()
    switches.disable_progress_bar()
    try:
        yield
    finally:
        switches.set_verbosity(verbosity)
        if has_bars:
            switches.enable_progress_bar()

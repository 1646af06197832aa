"""Checkpoints of language models in the format of Hugging Face: local folders, and repositories on the hub.

No code that comes with a checkpoint is run: neither its Python files nor what a pickle of weights asks for.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.store.identity import digest

_DIGEST_BYTES = 16

_CONFIG = "config.json"
_DESCRIPTIONS = ("*.json", "*.txt", "*.model", "*.spm", "*.codes")
"""Configs and the files of tokenizers."""

_SAFE_WEIGHTS = "model*.safetensors"
_PICKLED_WEIGHTS = "pytorch_model*.bin"
_INDEXES = "*.index.json"
_SUBFOLDERS = "*/*"
_MODULES, _OF_MODULES = "modules.json", "[0-9]*_*/config.json"
"""What sentence-transformers say of the parts of a model."""

_LAYER_BYTES = 256
"""What a layer takes at least, with the names of its weights."""

_ALWAYS_ALLOWED_BYTES = 2**16


class CheckpointError(Refusal, ValueError):
    """A model that can't be found or loaded; the message names it."""


class Checkpoint(NamedTuple):
    """Attributes:
    folder: where it lies on this machine.
    version: what it is: the commit of a model on the hub; of a local folder, a digest of its files.
    """

    folder: str
    version: str


def find_checkpoint(name: str, revision: str | None, setting: str) -> Checkpoint:
    """Find a model, and fetch what is missing of it if it lies on the hub.

    Args:
        name: a local folder, or else a name on the hub, such as ``google-bert/bert-base-uncased``. Only its config, its
            tokenizer and one format of weights are fetched, into the cache that ``HF_HOME`` names. Without network, or
            with ``HF_HUB_OFFLINE=1``, what the cache holds is taken.
        revision: branch, tag or commit on the hub, ``main`` if None. A local folder has none.
        setting: that names the model, such as ``embedding.model``; messages name it.

    Raises:
        CheckpointError: if there is no such model, it lacks config or weights, or asks for code of its own to be run.
    """
    folder = os.path.abspath(os.path.expanduser(name))
    if not os.path.isdir(folder):
        folder = _downloaded(name, revision, setting)
        return Checkpoint(folder, os.path.basename(checked(folder, name, setting)))
    try:
        return Checkpoint(folder, _contents(checked(folder, name, setting)))
    except OSError as error:
        raise CheckpointError(f"{setting}={name}: cannot be read: {error}") from error


def _downloaded(name: str, revision: str | None, setting: str) -> str:
    """The folder of a commit in the cache of the hub's client, which has the commit's name."""
    from huggingface_hub import snapshot_download  # its libraries take time to import
    from huggingface_hub.errors import HFValidationError

    def fetch(revision: str | None, weights: str) -> str:
        patterns = [*_DESCRIPTIONS, weights]
        return snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=_SUBFOLDERS)

    absent = f"{setting}={name}: there is no such folder"
    try:
        folder = fetch(revision, _SAFE_WEIGHTS)
        if _files(folder, _MODULES):
            snapshot_download(name, revision=os.path.basename(folder), allow_patterns=[_OF_MODULES])
        return folder if _files(folder, _SAFE_WEIGHTS) else fetch(os.path.basename(folder), _PICKLED_WEIGHTS)
    except HFValidationError as error:
        raise CheckpointError(f"{absent}, and no model on the hub can be called so; {remedy(setting)}") from error
    except Exception as error:  # of the hub, the network, its client or the disk: there is no common class
        command = f"hf download {name}" + (f" --revision {revision}" if revision else "")
        raise CheckpointError(
            f"{absent}, and the hub does not give this model ({first_line(error)}); {remedy(setting)}. Without "
            f"network, run '{command}' where there is one, and bring along its cache, or the folder that it prints"
        ) from error


def remedy(setting: str) -> str:
    """What to do about a model that is not as it should be."""
    return f"set {setting}=<name on the hub, or folder with config.json, tokenizer and weights>"


def first_line(error: Exception) -> str:
    """Of an error's message, or the kind of error if it has none."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _files(folder: str, *patterns: str) -> list[Path]:
    return sorted(file for pattern in patterns for file in Path(folder).glob(pattern) if file.is_file())


def _weights(folder: str) -> list[Path]:
    """The files that are loaded: pickles only where there is nothing else."""
    return _files(folder, _SAFE_WEIGHTS) or _files(folder, _PICKLED_WEIGHTS)


def num_weight_bytes(folder: str) -> int:
    """Size of the files that are loaded."""
    return sum(file.stat().st_size for file in _weights(folder))


def _contents(folder: str) -> str:
    """Digest of the files that decide what a model computes."""
    files = _files(folder, *_DESCRIPTIONS, _OF_MODULES) + _weights(folder)
    return digest({str(file.relative_to(folder)): _file_digest(file) for file in files})


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=_DIGEST_BYTES)).hexdigest()


def checked(folder: str, name: str, setting: str) -> str:
    """The folder, if a model lies there that needs no code of its own.

    Args:
        folder: where it lies.
        name: what the setting calls it.

    Raises:
        CheckpointError: if config or weights are missing, or code is asked for.
    """
    where = f"{setting}={name}"
    if not Path(folder, _CONFIG).is_file():
        raise CheckpointError(f"{where}: the folder {folder} holds no {_CONFIG}; {remedy(setting)}")
    if not _weights(folder):
        wanted = f"{_SAFE_WEIGHTS} or {_PICKLED_WEIGHTS}"
        raise CheckpointError(f"{where}: the folder {folder} holds no weights ({wanted}); {remedy(setting)}")
    for path in (Path(folder, _CONFIG), Path(folder, "tokenizer_config.json"), *_files(folder, _INDEXES)):
        if path.is_file() and (fault := _fault(path, folder)):
            raise CheckpointError(f"{where}: {fault}; {remedy(setting)}")
    return folder


def _fault(path: Path, folder: str) -> str | None:
    """What is wrong with a description, if anything is."""
    try:
        described = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        return f"{path.name} is not JSON ({error})"
    if not isinstance(described, dict):
        return f"{path.name} is a JSON {type(described).__name__}, not an object"
    if _asks_for_code(described):
        return f"its {path.name} asks for Python code of its own to be run (auto_map), which is never done"
    if path.match(_INDEXES) and (elsewhere := _elsewhere(described)):
        return f"its {path.name} names weights that are not in its folder ({elsewhere!r})"
    return _exaggerates(described, max(num_weight_bytes(folder), _ALWAYS_ALLOWED_BYTES))


def _asks_for_code(described: dict[str, Any]) -> bool:
    """Whether the key occurs at any depth: a model may be made of several. Within a string its quotes are escaped."""
    return '"auto_map":' in json.dumps(described)


def _elsewhere(index: dict[str, Any]) -> object:
    """A file of an index of weights that has more than a name."""
    weights = index.get("weight_map")
    files = weights.values() if isinstance(weights, dict) else [weights]
    return next((file for file in files if not isinstance(file, str) or Path(file).name != file), None)


def _exaggerates(described: dict[str, Any], num_bytes: int) -> str | None:
    """Of a config that announces more layers or words than its weights can have: they would be made up, at length."""
    for name, value in described.items():
        if isinstance(value, dict) and (fault := _exaggerates(value, num_bytes)):
            return fault
        least = _LAYER_BYTES if "layer" in name else 1 if name == "vocab_size" else 0
        if isinstance(value, int) and value * least > num_bytes:
            return f"its config has {name}={value:,}, more than its weights can have, which take {num_bytes:,} bytes"
    return None

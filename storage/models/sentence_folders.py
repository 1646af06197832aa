"""Folders of sentence encoders, told by their own files: those of sentence-transformers, and those of model2vec.

A folder of sentence-transformers lists its modules in ``modules.json``: a transformer, how its tokens are pooled
(``1_Pooling/config.json``), and whether the result gets length 1 (``2_Normalize``). One of model2vec has a table of
vectors of tokens (``model.safetensors``), the tokens (``tokenizer.json``), and ``config.json``. Neither package is
needed.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.storage.models.checkpoints import CheckpointError, first_line

MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Ways of pooling by the keys of older files, in the order in which several are put one behind the other."""

_MODULES, _TOKENIZER, _TABLE = "modules.json", "tokenizer.json", "model.safetensors"
_OWN = "config_sentence_transformers"


class StatedPooling(NamedTuple):
    """What a folder says of itself.

    Attributes:
        is_static: whether it is a table of vectors of tokens, as of model2vec, and no transformer.
        modes: how tokens are pooled; several: one behind the other.
        unit: whether the result is brought to length 1.
        prompt: put in front of every text.
        max_tokens: that a text may have; None: what the tokenizer says.
        lower_case: whether texts are written in lower case first.
    """

    is_static: bool = False
    modes: tuple[str, ...] = ()
    unit: bool = False
    prompt: str = ""
    max_tokens: int | None = None
    lower_case: bool = False


class StaticTable(NamedTuple):
    """A model that is no more than a table.

    Attributes:
        vectors: ``[tokens, dims]`` float32, by the number of the token, its weight included.
        tokenizer: of the package `tokenizers`.
        unknown: number of the token for what is not known; None if there is none.
    """

    vectors: NDArray[np.float32]
    tokenizer: Any
    unknown: int | None


def is_static(folder: str, setting: str) -> bool:
    """Whether a folder holds a table of model2vec; arguments and errors as of :func:`stated_pooling`."""
    where = f"{setting}={folder}"
    config, modules = _read(folder, "config.json", where, {}), _read(folder, _MODULES, where, [])
    # Files of newer versions say so in one place, of older ones in the other.
    return config.get("model_type") == "model2vec" or _kinds(modules)[:1] == ["StaticEmbedding"]


def stated_pooling(folder: str, setting: str) -> StatedPooling:
    """How the files of a folder say that a text becomes a vector.

    Args:
        folder: of :func:`.checkpoints.find_checkpoint`.
        setting: that names the model; messages name it.

    Raises:
        CheckpointError: if they say nothing, or something that is not read here.
    """
    where = f"{setting}={folder}"
    if is_static(folder, setting):
        config = _read(folder, "config.json", where, {})
        return StatedPooling(True, ("mean",), bool(config.get("normalize")), max_tokens=config.get("max_length", 512))
    modules = _read(folder, _MODULES, where, [])
    if not modules:
        raise CheckpointError(
            f"{where}: holds no {_MODULES}, which says how tokens are pooled; set embedding.encoder.pooling to first, "
            "last or mean, or name a folder of sentence-transformers or model2vec"
        )
    kinds = _kinds(modules)
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise CheckpointError(
            f"{where}: its modules are {', '.join(kinds)}, and read are Transformer, Pooling and, if it is there, "
            "Normalize, in this order; set embedding.encoder.pooling to first, last or mean"
        )
    if modules[0].get("path") not in ("", "."):
        raise CheckpointError(
            f"{where}: its transformer lies in {modules[0].get('path')!r}, and must lie in the folder"
        )
    place = f"{Path(str(modules[1].get('path'))).name}/config.json"
    pooling = _read(folder, place, where, None)
    if pooling is None:
        raise CheckpointError(f"{where}: holds no {place}, which says how tokens are pooled; bring it along")
    described, prompts = (_read(folder, f"{name}.json", where, {}) for name in ("sentence_bert_config", _OWN))
    name = prompts.get("default_prompt_name")
    prompt = (prompts.get("prompts") or {}).get(name, "") if name else ""
    if prompt and pooling.get("include_prompt") is False:
        raise CheckpointError(f"{where}: leaves its prompt {prompt!r} out of the pooling, which is not done here")
    limit, lower_case = described.get("max_seq_length"), bool(described.get("do_lower_case"))
    return StatedPooling(False, _modes(pooling, where), "Normalize" in kinds, prompt, limit, lower_case)


def _kinds(modules: list[dict[str, Any]]) -> list[str]:
    return [str(module.get("type", "")).rpartition(".")[2] for module in modules]


def _modes(pooling: dict[str, Any], where: str) -> tuple[str, ...]:
    stated = pooling.get("pooling_mode") or [mode for key, mode in MODES.items() if pooling.get(key)] or "mean"
    modes = (stated,) if isinstance(stated, str) else tuple(map(str, stated))
    if unknown := [mode for mode in modes if mode not in MODES.values()]:
        raise CheckpointError(
            f"{where}: pools tokens by {unknown[0]!r}, and known are {', '.join(MODES.values())}; set "
            "embedding.encoder.pooling to first, last or mean"
        )
    return modes


def _read(folder: str, name: str, where: str, absent: Any) -> Any:
    """A JSON file of the kind of what is given back where there is none."""
    path = Path(folder, name)
    if not path.is_file():
        return absent
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{where}: {name} is not JSON ({first_line(error)})") from error
    kind = list if isinstance(absent, list) else dict
    if not isinstance(content, kind) or (kind is list and not all(isinstance(item, dict) for item in content)):
        raise CheckpointError(f"{where}: {name} is a JSON {type(content).__name__} of another form than is known")
    return content


def load_static(folder: str, setting: str) -> StaticTable:
    """The table of model2vec, with the rows that its tokens are mapped to and their weights, where it has these.

    Raises:
        CheckpointError: if a file is missing or damaged, or the table does not fit the tokenizer.
    """
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    where = f"{setting}={folder}"
    if not Path(folder, _TOKENIZER).is_file():
        raise CheckpointError(f"{where}: holds no {_TOKENIZER}, which says what its tokens are; bring it along")
    try:
        tokenizer, tensors = Tokenizer.from_file(str(Path(folder, _TOKENIZER))), load_file(Path(folder, _TABLE))
    except Exception as error:  # neither library has an error of its own for damaged files
        raise CheckpointError(f"{where}: {_TOKENIZER} or {_TABLE} cannot be read: {first_line(error)}") from error
    num = tokenizer.get_vocab_size()
    rows = tensors.get("embeddings")
    places = tensors.get("mapping", np.arange(num if rows is None else len(rows)))
    weights = tensors.get("weights", np.ones(num, np.float32))
    if rows is None or rows.ndim != 2 or len(places) != num or len(weights) != num or places.max() >= len(rows):
        shapes = {name: list(tensor.shape) for name, tensor in sorted(tensors.items())}
        raise CheckpointError(f"{where}: {_TABLE} has {shapes}, which is no vector for each of {num} tokens")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    vectors = rows.astype(np.float32)[places] * weights.astype(np.float32)[:, None]
    model = json.loads(tokenizer.to_str())["model"]
    name = model.get("unk_token")
    return StaticTable(vectors, tokenizer, tokenizer.token_to_id(name) if name else model.get("unk_id"))

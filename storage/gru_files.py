"""Trained recurrent sentiment systems, each as one file in the safetensors format, which holds no code to be run.

With V words, D dimensions, H hidden units and K classes, its tensors are, in float32:

================================================= ===========================
``embedding.weight``                              ``[1 + V, D]``
``gru.weight_ih_l0``, ``gru.weight_ih_l1``        ``[3 H, D]`` and ``[3 H, H]``
``gru.weight_hh_l0``, ``gru.weight_hh_l1``        ``[3 H, H]``
``gru.bias_ih_l0``, and so on: ``hh``, ``l1``     ``[3 H]``
``output.weight``, ``output.bias``                ``[K, H]`` and ``[K]``
================================================= ===========================

The only entry of its metadata, ``tiltmeter``, is JSON: the number of this format, and the description of the network,
in which ``config`` has ``dimensions`` and ``hidden``, ``vocabulary`` the V words and ``values`` the K classes.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyarrow import fs

from storage.files import opened, shown
from storage.pages import CorpusError
from storage.tables import write_bytes

_FORMAT = 1
_ENTRY = "tiltmeter"
"""A single one, because safetensors writes several in another order each time."""

_SETTING = "set sentiment.gru.path to a file that the training of the GRU has written"


class GRUFileError(ValueError):
    """A file that holds no network which can be used; the message names it."""


class GRUFile(NamedTuple):
    """Attributes:
    description: of the network, as JSON has it.
    weights: tensors by name, float32.
    """

    description: Mapping[str, Any]
    weights: Mapping[str, NDArray[np.float32]]


def gru_content(network: GRUFile) -> bytes:
    """The content of a file; the same network gives the same bytes."""
    from safetensors.numpy import save

    entry = json.dumps({"format": _FORMAT, "network": network.description}, ensure_ascii=False, allow_nan=False)
    # What is not contiguous, such as a transposed view, would be written as it lies in memory.
    weights = {name: np.ascontiguousarray(weight) for name, weight in network.weights.items()}
    return save(weights, {_ENTRY: entry})


def write_gru(filesystem: fs.FileSystem, path: str, network: GRUFile, *, setting: str) -> int:
    """Write a file that becomes visible only when it is complete; returns its size in bytes.

    Args:
        filesystem, path: where to write.
        network: a trained one.
        setting: what a user changes to move the file elsewhere; a StorageError names it.

    Raises:
        StorageError: naming the path, when the disk is full or the place can't be written.
    """
    return write_bytes(filesystem, path, gru_content(network), setting=setting)


def read_gru(uri: str) -> GRUFile:
    """Read what :func:`write_gru` wrote.

    Args:
        uri: a local path, or a URI.

    Raises:
        GRUFileError: if there is no such file, it is not of this format and version or is damaged, or its weights are
            not those that its description asks for.
    """
    try:
        with opened(uri) as file:
            content = file.read()
    except CorpusError as error:
        raise GRUFileError(f"{error}; {_SETTING}") from error
    try:
        return _parsed(content)
    except ValueError as error:
        raise GRUFileError(f"{shown(uri)}: {error}; {_SETTING}") from error


def _parsed(content: bytes) -> GRUFile:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        weights = load(content)
    except (SafetensorError, KeyError) as error:  # a KeyError is a type of numbers that numpy lacks
        raise ValueError(f"is damaged, or not a safetensors file of this program ({error})") from error
    network = GRUFile(_description(content), weights)
    _check_weights(network)
    return network


def _description(content: bytes) -> dict[str, Any]:
    """From the header, which comes after its own size, and which the library has found to be sound."""
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    if _ENTRY not in header.get("__metadata__", {}):
        raise ValueError(f"its metadata have no entry {_ENTRY!r}: another program has written it")
    try:
        entry = json.loads(header["__metadata__"][_ENTRY])
    except RecursionError as error:
        raise ValueError(f"its description is nested too deeply ({error})") from error
    if not isinstance(entry, dict):
        raise ValueError(f"its description is a JSON {type(entry).__name__}, not an object")
    if entry.get("format") != _FORMAT:
        raise ValueError(f"is of format {entry.get('format')}, and this version reads format {_FORMAT}: train it anew")
    described: dict[str, Any] = entry.get("network") or {}
    return described


def _check_weights(network: GRUFile) -> None:
    try:
        expected = _expected(network.description)
    except (KeyError, TypeError) as error:
        raise ValueError(f"its description is incomplete ({error})") from error
    found = {name: f"{weight.dtype} {list(weight.shape)}" for name, weight in network.weights.items()}
    for name in sorted(expected.keys() | found.keys()):
        if found.get(name) != expected.get(name):
            has, wants = found.get(name, "nothing"), expected.get(name, "nothing")
            raise ValueError(f"the tensor {name} is {has}, and the description asks for {wants}")
        if not np.isfinite(network.weights[name]).all():
            raise ValueError(f"the tensor {name} has numbers that are not finite")


def _expected(description: Mapping[str, Any]) -> dict[str, str]:
    """Type and shape of each tensor."""
    dimensions, hidden = description["config"]["dimensions"], description["config"]["hidden"]
    num_rows, num_classes = 1 + len(description["vocabulary"]), len(description["values"])
    shapes = {"embedding.weight": [num_rows, dimensions]}
    for layer, num_inputs in enumerate((dimensions, hidden)):
        for side, num_columns in (("ih", num_inputs), ("hh", hidden)):
            shapes[f"gru.weight_{side}_l{layer}"] = [3 * hidden, num_columns]
            shapes[f"gru.bias_{side}_l{layer}"] = [3 * hidden]
    shapes |= {"output.weight": [num_classes, hidden], "output.bias": [num_classes]}
    return {name: f"float32 {shape}" for name, shape in shapes.items()}

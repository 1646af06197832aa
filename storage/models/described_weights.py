"""Weights of a trained network with what describes it, as one file in the safetensors format, which holds no code.

Its tensors are the weights, by their names. The only entry of its metadata, ``tiltmeter``, is JSON: the number of this
format, and under the name of its kind the description, which whoever reads the file checks.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["classifier", "network"]

_FORMAT = 1
_ENTRY = "tiltmeter"
"""A single one, because safetensors writes several in another order each time."""


class DescribedWeights(NamedTuple):
    """Attributes:
    description: of the network, as JSON has it.
    weights: tensors by name.
    """

    description: Mapping[str, Any]
    weights: Mapping[str, NDArray[Any]]


def weights_content(network: DescribedWeights, kind: Kind) -> bytes:
    """The content of a file; the same network gives the same bytes."""
    from safetensors.numpy import save

    entry = json.dumps({"format": _FORMAT, kind: network.description}, ensure_ascii=False, allow_nan=False)
    # What is not contiguous, such as a transposed view, would be written as it lies in memory.
    weights = {name: np.ascontiguousarray(weight) for name, weight in network.weights.items()}
    return save(weights, {_ENTRY: entry})


def parse_weights(content: bytes, kind: Kind) -> DescribedWeights:
    """What :func:`weights_content` made bytes of.

    Raises:
        ValueError: if it is not of this kind, format and version, is damaged, or a weight is not finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        weights = load(content)
    except (SafetensorError, KeyError) as error:  # a KeyError is a type of numbers that numpy lacks
        raise ValueError(f"is damaged, or not a safetensors file of this program ({error})") from error
    description = _description(content, kind)
    if wrong := [tensor for tensor, weight in sorted(weights.items()) if not np.isfinite(weight).all()]:
        raise ValueError(f"the tensor {wrong[0]} has numbers that are not finite")
    return DescribedWeights(description, weights)


def _description(content: bytes, kind: Kind) -> dict[str, Any]:
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
    if not isinstance(described := entry.get(kind), dict):
        raise ValueError(f"describes no {kind}, but {', '.join(sorted(entry.keys() - {'format'})) or 'nothing'}")
    return described

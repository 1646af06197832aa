"""Trained recurrent sentiment systems, each as one file in the safetensors format, which holds no code to be run.

With V words, D dimensions, H hidden units and K classes, its tensors are, in float32:

================================================= ===========================
``embedding.weight``                              ``[1 + V, D]``
``gru.weight_ih_l0``, ``gru.weight_ih_l1``        ``[3 H, D]`` and ``[3 H, H]``
``gru.weight_hh_l0``, ``gru.weight_hh_l1``        ``[3 H, H]``
``gru.bias_ih_l0``, and so on: ``hh``, ``l1``     ``[3 H]``
``output.weight``, ``output.bias``                ``[K, H]`` and ``[K]``
================================================= ===========================

The description of this ``network`` (see :mod:`.models.described_weights`) has ``config`` with ``dimensions`` and
``hidden``, ``vocabulary`` with the V words, and ``values`` with the K classes.
"""

from collections.abc import Mapping
from typing import Any

from tiltmeter.storage.errors import InputError, Refusal
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.models.described_weights import DescribedWeights, parse_weights, weights_content

_SETTING = "set sentiment.gru.path to a file that the training of the GRU has written"


class GRUFileError(Refusal, ValueError):
    """A file that holds no network which can be used; the message names it."""


def gru_content(network: DescribedWeights) -> bytes:
    """The content of a file; the same network gives the same bytes."""
    return weights_content(network, "network")


def read_gru(uri: str) -> DescribedWeights:
    """Read a file of :func:`gru_content`.

    Args:
        uri: a local path, or a URI.

    Raises:
        GRUFileError: if there is no such file, it is not of this format and version or is damaged, or its weights are
            not those that its description asks for.
    """
    try:
        with opened(uri) as file:
            content = file.read()
    except InputError as error:
        raise GRUFileError(f"{error}; {_SETTING}") from error
    try:
        network = parse_weights(content, "network")
        _check_weights(network)
    except ValueError as error:
        raise GRUFileError(f"{redacted(uri)}: {error}; {_SETTING}") from error
    return network


def _check_weights(network: DescribedWeights) -> None:
    try:
        expected = _expected(network.description)
    except (KeyError, TypeError) as error:
        raise ValueError(f"its description is incomplete ({error})") from error
    actual = {name: f"{weight.dtype} {list(weight.shape)}" for name, weight in network.weights.items()}
    for name in sorted(expected.keys() | actual.keys()):
        if actual.get(name) != expected.get(name):
            has, wants = actual.get(name, "nothing"), expected.get(name, "nothing")
            raise ValueError(f"the tensor {name} is {has}, and the description asks for {wants}")


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

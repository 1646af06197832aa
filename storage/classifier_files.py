"""Trained text classifiers, each as one file in the safetensors format, which holds no code to be run.

Its tensors are the weights, by their names. The only entry of its metadata, ``tiltmeter``, is JSON: the number of this
format, and a description of the model, which whoever reads the file checks.
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


class ClassifierFileError(ValueError):
    """A file that holds no classifier which can be used; the message names it."""


class ClassifierFile(NamedTuple):
    """Attributes:
    description: of the model, as JSON has it.
    weights: tensors by name.
    """

    description: Mapping[str, Any]
    weights: Mapping[str, NDArray[np.floating]]


def classifier_content(classifier: ClassifierFile) -> bytes:
    """The content of a file; the same classifier gives the same bytes."""
    from safetensors.numpy import save

    entry = json.dumps({"format": _FORMAT, "classifier": classifier.description}, ensure_ascii=False, allow_nan=False)
    # What is not contiguous, such as a transposed view, would be written as it lies in memory.
    weights = {name: np.ascontiguousarray(weight) for name, weight in classifier.weights.items()}
    return save(weights, {_ENTRY: entry})


def write_classifier(filesystem: fs.FileSystem, path: str, classifier: ClassifierFile, *, setting: str) -> int:
    """Write a file that becomes visible only when it is complete; returns its size in bytes.

    Args:
        filesystem, path: where to write.
        classifier: a trained one.
        setting: what a user changes to move the file elsewhere; a StorageError names it.

    Raises:
        StorageError: naming the path, when the disk is full or the place can't be written.
    """
    return write_bytes(filesystem, path, classifier_content(classifier), setting=setting)


def read_classifier(uri: str) -> ClassifierFile:
    """Read what :func:`write_classifier` wrote.

    Args:
        uri: a local path, or a URI.

    Raises:
        ClassifierFileError: if there is no such file, or :func:`parse_classifier` refuses it.
    """
    try:
        with opened(uri) as file:
            content = file.read()
    except CorpusError as error:
        raise ClassifierFileError(str(error)) from error
    return parse_classifier(content, shown(uri))


def parse_classifier(content: bytes, name: str) -> ClassifierFile:
    """What :func:`classifier_content` made bytes of.

    Args:
        name: of the content, for messages.

    Raises:
        ClassifierFileError: if it is not of this format and version, is damaged, or a weight is not finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        weights = load(content)
        description = _description(content)
    except (SafetensorError, KeyError) as error:  # a KeyError is a type of numbers that numpy lacks
        raise ClassifierFileError(f"{name}: is damaged, or not a safetensors file of this program ({error})") from error
    except ValueError as error:
        raise ClassifierFileError(f"{name}: {error}") from error
    if wrong := [tensor for tensor, weight in sorted(weights.items()) if not np.isfinite(weight).all()]:
        raise ClassifierFileError(f"{name}: the tensor {wrong[0]} has numbers that are not finite")
    return ClassifierFile(description, weights)


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
    if entry.get("format") != _FORMAT or "classifier" not in entry:
        raise ValueError(f"is of format {entry.get('format')}, and this version reads format {_FORMAT}: train it anew")
    described: dict[str, Any] = entry["classifier"]
    return described

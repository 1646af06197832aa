"""Text classifiers that users bring: entry points of the group ``tiltmeter.classifiers``, and functions of modules."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.storage import extensions
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef

GROUP = "tiltmeter.classifiers"

_TRIED = ("", "a text of five words")
_OFF = 1e-3
"""How far the probabilities of a text may be from 1, in all."""


@dataclass(frozen=True)
class BroughtClassifier:
    """A classifier that a package declares.

    Attributes:
        version: such as ``keywords/1``; raised when any answer changes.
        classes: their names, in the order of the probabilities.
        load: makes it ready in a worker, on a device as torch names it.
    """

    version: str
    classes: tuple[str, ...]
    load: Callable[[str], Classifier]


def find_classifier(name: str, setting: str, version: str = "") -> BroughtClassifier:
    """The classifier of a name; arguments and errors as of :func:`.extensions.load`."""
    return extensions.load(GROUP, name, BroughtClassifier, setting, version)


@dataclass(frozen=True)
class BroughtSource:
    """A classifier of a package, or a function, as a :class:`.models.Source`."""

    name: str
    version: str
    setting: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """Its name and version."""
        return {self.setting.rpartition(".")[2]: self.name, "version": self.version}

    def load(self, _: Store, __: TableRef | None, device: str) -> Classifier:
        """Of this version."""
        find = find_function if ":" in self.name else find_classifier
        return find(self.name, self.setting, self.version).load(device)


@dataclass(frozen=True)
class _Function:
    """A function of texts, whose answers are looked at; as long as its classes are not known, they are any."""

    function: Callable[[list[str]], Any]
    place: str
    classes: tuple[str, ...]

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """``[texts, classes]``.

        Raises:
            InputError: if it fails, or gives none.
        """
        try:
            made = np.asarray(self.function(list(texts)), dtype=np.float64)
        except Exception as error:
            raise InputError(f"{self.place}: fails with {type(error).__name__}: {error}") from error
        num = len(self.classes) or max(2, made.shape[-1] if made.ndim else 0)
        if made.shape != (len(texts), num):
            raise InputError(
                f"{self.place}: gives numbers of the shape {made.shape} for {len(texts)} texts: must be a row for each "
                f"with the probabilities of {len(self.classes) or 'two or more'} classes"
            )
        for text, row in zip(texts, made, strict=True):
            if not (row.min() >= 0.0 and abs(row.sum() - 1.0) <= _OFF):
                raise InputError(
                    f"{self.place}: says {row.tolist()} of {text!r}: must be the chances of all classes, which add up "
                    "to 1, of an empty text too"
                )
        return made


def find_function(name: str, setting: str, version: str = "") -> BroughtClassifier:
    """The function of texts that ``module:function`` names; it is asked about two texts, of which one is empty.

    Its attribute ``classes`` names its classes, which are 0, 1 and so on without it; ``version`` changes with its
    answers, for which the content of the module's file stands otherwise. Arguments as of :func:`.extensions.load`.

    Raises:
        InputError: if it can't be imported or called, gives no probabilities, or is of another version.
    """
    place = f"{setting}={name}"
    module_name, _, path = name.partition(":")
    try:
        module = import_module(module_name)
        function = attrgetter(path)(module)
    except Exception as error:
        raise InputError(
            f"{place}: can't be imported: {error}; install it, or name its folder in PYTHONPATH"
        ) from error
    if not callable(function):
        raise InputError(f"{place}: is a {type(function).__name__}: must be a function of a list of texts")
    version_here, file = str(getattr(function, "version", "")), getattr(module, "__file__", None)
    if not (version_here or file):
        raise InputError(f"{place}: its module has no file by which results are known; give it an attribute version")
    version_here = version_here or hashlib.sha256(Path(str(file)).read_bytes()).hexdigest()
    if version not in ("", version_here):
        raise InputError(
            f"{place}: is {version_here} here, and {version} where the run began; have one file on all nodes"
        )
    made = _Function(function, place, tuple(map(str, getattr(function, "classes", ()))))
    num = made.probabilities(_TRIED).shape[1]
    made = replace(made, classes=made.classes or tuple(map(str, range(num))))
    return BroughtClassifier(version_here, made.classes, lambda _: made)

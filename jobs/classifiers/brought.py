"""Text classifiers that other packages bring, as entry points of the group ``tiltmeter.classifiers``."""

from collections.abc import Callable
from dataclasses import dataclass

from tiltmeter.operators.classifiers.answers import Classifier
from tiltmeter.storage import extensions

GROUP = "tiltmeter.classifiers"


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

"""Functions of users that classify texts: how they are found and known again, and what is refused before any work."""

import sys

import pytest

from tiltmeter.jobs.classifiers.brought import BroughtSource, find_function
from tiltmeter.storage.errors import InputError

MODULE = """
import numpy as np

def says(texts):
    return [[0.25, 0.75] if "good" in text else [0.5, 0.5] for text in texts]

def named(texts):
    return np.full((len(texts), 3), 1 / 3)

class Pipeline:
    def chances(self, texts):
        return says(texts)

named.classes, named.version = ("bad", "so", "good"), "thirds/1"
pipeline, number = Pipeline(), 7
one = lambda texts: [0.5] * len(texts)
more = lambda texts: [[0.5, 0.5]] * 3
unread = lambda texts: [[0.5, 0.5] if text else [np.nan, np.nan] for text in texts]
odds = lambda texts: [[0.5, 1.5]] * len(texts)
negative = lambda texts: [[-0.5, 1.5]] * len(texts)
fails = lambda texts: [text[0] for text in texts]
fewer = lambda texts: [[0.5, 0.5]] * len(texts)
fewer.classes = ("bad", "so", "good")
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    """A module of the user."""
    path = tmp_path / "theirs.py"
    path.write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    sys.modules.pop("theirs", None)


def test_functions_methods_and_named_classes(module):
    found = find_function("theirs:says", "classifier.function")
    assert found.classes == ("0", "1")
    assert found.load("cpu").probabilities(["a good one"]).tolist() == [[0.25, 0.75]]
    assert find_function("theirs:pipeline.chances", "classifier.function").version == found.version
    named = find_function("theirs:named", "classifier.function")
    assert (named.version, named.classes) == ("thirds/1", ("bad", "so", "good"))
    source = BroughtSource("theirs:says", found.version, "classifier.function")
    assert source.identity == {"function": "theirs:says", "version": found.version}
    module.write_text(MODULE.replace("0.25, 0.75", "0.75, 0.25"))
    with pytest.raises(InputError, match="where the run began; have one file on all nodes"):
        source.load(None, None, "cpu")


CHANCES = "must be the chances of all classes, which add up to 1, of an empty text too"
MANY = "for 2 texts: must be a row for each with the probabilities of"
REFUSED = {
    "nowhere:says": "can't be imported: No module named 'nowhere'; install it, or name its folder in PYTHONPATH",
    "theirs:absent": "can't be imported: module 'theirs' has no attribute 'absent'; install it, or name its folder in "
    "PYTHONPATH",
    "theirs:number": "is a int: must be a function of a list of texts",
    "theirs:one": f"gives numbers of the shape (2,) {MANY} two or more classes",
    "theirs:more": f"gives numbers of the shape (3, 2) {MANY} two or more classes",
    "theirs:fewer": f"gives numbers of the shape (2, 2) {MANY} 3 classes",
    "theirs:unread": f"says [nan, nan] of '': {CHANCES}",
    "theirs:odds": f"says [0.5, 1.5] of '': {CHANCES}",
    "theirs:negative": f"says [-0.5, 1.5] of '': {CHANCES}",
    "theirs:fails": "fails with IndexError: string index out of range",
    "sys:intern": "its module has no file by which results are known; give it an attribute version",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_says_no_probabilities_is_refused_before_any_work(name):
    with pytest.raises(InputError) as refused:
        find_function(name, "classifier.function")
    assert str(refused.value) == f"classifier.function={name}: {REFUSED[name]}"

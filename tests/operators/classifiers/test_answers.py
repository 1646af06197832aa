"""One rule for what a classifier answers."""

import numpy as np

from tiltmeter.operators.classifiers.answers import UNREAD, answers, ask, is_right
from tiltmeter.operators.classifiers.attribution.attribute import Attribution

NAN = np.nan


def test_a_text_of_which_nothing_is_read_is_never_right_and_the_first_of_equal_classes_is_the_answer():
    probabilities = np.array([[NAN, NAN, NAN], [0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [-3.0, -1.0, -2.0]])
    assert answers(probabilities).tolist() == [UNREAD, 0, 1, 1]
    classes = ("a", "b", "c")
    for label, right in {"a": [0, 1, 0, 0], "b": [0, 0, 1, 1], "c": [0, 0, 0, 0]}.items():
        assert is_right(probabilities, classes, [label] * 4).tolist() == [bool(one) for one in right]


def test_an_attribution_says_the_same():
    for row, number in (([NAN, NAN], UNREAD), ([0.5, 0.5], 0), ([0.1, 0.9], 1)):
        assert Attribution((), np.empty(0), False, np.array(row), 0, 0.0, 0.0, 0.0).predicted == number


class _Told:
    classes = ("bad", "good")

    def probabilities(self, texts, /):
        return np.array([{"fine": [0.2, 0.8], "poor": [0.6, 0.4]}.get(text, [NAN, NAN]) for text in texts])


def test_whatever_has_classes_and_probabilities_can_be_asked():
    said = ask(_Told(), ["fine", "unread", "poor"])
    assert said.predicted == ["good", None, "bad"]
    assert said.right(["good", "bad", "good"]).tolist() == [True, False, False]
    assert said.is_read.tolist() == [True, False, True]

import pytest

from tiltmeter.operators.relations.instances import InstanceError, Span
from tiltmeter.operators.relations.rows import instance_of

ROW = {
    "tokens": ["Ada", "married", "King"],
    "subject_start": 0,
    "subject_end": 1,
    "object_start": 2,
    "object_end": 3,
    "relation": "spouse",
    "document": "d1",
    "row": 7,
    "pos": None,
    "ner": ["PER", "O", "PER"],
    "head": [2, 0, 2],
    "deprel": ["nsubj", "root", "obj"],
}


def test_a_row_is_an_instance():
    instance = instance_of(ROW)
    assert (instance.subject, instance.object, instance.relation) == (Span(0, 1), Span(2, 3), "spouse")
    assert (instance.document, instance.row, instance.subject_type) == ("d1", 7, None)
    assert instance.sentence.heads == (1, -1, 1)
    assert instance.values["pos"] is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"object_end": 4}, "object is tokens 2 to 3"),
        ({"head": [2, 0, 5]}, "head of token 2 is 4"),
        ({"ner": ["PER", None, "PER"]}, "ner has a value that is missing"),
        ({"deprel": None}, "come together"),
    ],
)
def test_a_row_that_is_none_says_why(change, reason):
    with pytest.raises(InstanceError, match=reason):
        instance_of(ROW | change)

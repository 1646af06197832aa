import pytest

from tiltmeter.operators.relations.instances import Instance, InstanceError, Sentence, Span

TOKENS = ("Ada", "Lovelace", "was", "born", "in", "London", ".")
SENTENCE = Sentence(TOKENS, ner=("PER", "PER", "O", "O", "O", "LOC", "O"))


def test_the_type_of_an_argument_is_the_ner_of_its_tokens():
    instance = Instance(SENTENCE, Span(0, 2), Span(5, 6), subject_type="WRITER")
    assert instance.values["ner"] == ("WRITER", "WRITER", "O", "O", "O", "LOC", "O")
    assert instance.values["lemma"] is None
    assert Instance(Sentence(TOKENS), Span(0, 2), Span(5, 6)).values["ner"] is None
    assert Instance(Sentence(TOKENS), Span(0, 2), Span(5, 6), object_type="LOC").values["ner"][4:] == ("", "LOC", "")


@pytest.mark.parametrize(
    ("subject", "object_", "reason"),
    [
        ((0, 2), (1, 3), "overlap"),
        ((0, 2), (6, 8), "the object is tokens 6 to 7"),
        ((-1, 1), (2, 3), "the subject is tokens -1 to 0"),
        ((2, 2), (3, 4), "one at least"),
    ],
)
def test_impossible_spans_are_refused(subject, object_, reason):
    with pytest.raises(InstanceError, match=reason):
        Instance(SENTENCE, Span(*subject), Span(*object_))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"tokens": ()}, "no tokens"),
        ({"pos": ("X",)}, "pos has 1 values for 2 tokens"),
        ({"heads": (-1, 0)}, "come together"),
        ({"heads": (-1, 2), "deprels": ("root", "obj")}, "head of token 1 is 2"),
        ({"heads": (0, 0), "deprels": ("root", "obj")}, "head of token 0 is 0"),
    ],
)
def test_annotations_that_do_not_fit_are_refused(columns, reason):
    with pytest.raises(InstanceError, match=reason):
        Sentence(**({"tokens": ("a", "b")} | columns))

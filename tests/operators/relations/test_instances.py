"""Sentences with a pair of arguments, of rows and of plain text."""

from itertools import permutations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.relations.brute_force import matches
from tiltmeter.operators.relations.instances import Instance, InstanceError, Sentence, Span
from tiltmeter.operators.relations.plain_text import Mention, MentionList, RuleArguments, paired, untyped
from tiltmeter.operators.relations.rows import instance_of
from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.text.sentences import sentences

TOKENS = ("Ada", "Lovelace", "was", "born", "in", "London", ".")
SENTENCE = Sentence(TOKENS, ner=("PER", "PER", "O", "O", "O", "LOC", "O"))
ROW = {"tokens": ["Ada", "married", "King"], "relation": "spouse", "document": "d1", "row": 7}
ROW |= {"subject_start": 0, "subject_end": 1, "object_start": 2, "object_end": 3, "pos": None}
ROW |= {"ner": ["PER", "O", "PER"], "head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}


def test_the_type_of_an_argument_is_the_ner_of_its_tokens():
    instance = Instance(SENTENCE, Span(0, 2), Span(5, 6), subject_type="WRITER")
    assert instance.values["ner"] == ("WRITER", "WRITER", "O", "O", "O", "LOC", "O")
    assert instance.values["lemma"] is None
    assert Instance(Sentence(TOKENS), Span(0, 2), Span(5, 6)).values["ner"] is None
    assert Instance(Sentence(TOKENS), Span(0, 2), Span(5, 6), object_type="LOC").values["ner"][4:] == ("", "LOC", "")


def test_a_row_is_an_instance():
    instance = instance_of(ROW)
    assert (instance.subject, instance.object, instance.relation) == (Span(0, 1), Span(2, 3), "spouse")
    assert (instance.document, instance.row, instance.subject_type) == ("d1", 7, None)
    assert (instance.sentence.heads, instance.values["pos"]) == ((1, -1, 1), None)


def spans(subject, object_):
    return Instance(SENTENCE, Span(*subject), Span(*object_))


def columns(tokens=("a", "b"), **others):
    return Sentence(tokens, **others)


def changed(**changes):
    return instance_of(ROW | changes)


@pytest.mark.parametrize(
    ("make", "given", "reason"),
    [
        (spans, {"subject": (0, 2), "object_": (1, 3)}, "overlap"),
        (spans, {"subject": (0, 2), "object_": (6, 8)}, "the object is tokens 6 to 7"),
        (spans, {"subject": (-1, 1), "object_": (2, 3)}, "the subject is tokens -1 to 0"),
        (spans, {"subject": (2, 2), "object_": (3, 4)}, "one at least"),
        (columns, {"tokens": ()}, "no tokens"),
        (columns, {"pos": ("X",)}, "pos has 1 values for 2 tokens"),
        (columns, {"heads": (-1, 0)}, "come together"),
        (columns, {"heads": (-1, 2), "deprels": ("root", "obj")}, "head of token 1 is 2"),
        (columns, {"heads": (0, 0), "deprels": ("root", "obj")}, "head of token 0 is 0"),
        (changed, {"object_end": 4}, "object is tokens 2 to 3"),
        (changed, {"head": [2, 0, 5]}, "head of token 2 is 4"),
        (changed, {"ner": ["PER", None, "PER"]}, "ner has a value that is missing"),
        (changed, {"deprel": None}, "come together"),
    ],
)
def test_spans_annotations_and_rows_that_do_not_fit_are_refused(make, given, reason):
    with pytest.raises(InstanceError, match=reason):
        make(**given)


# --- plain text -----------------------------------------------------------------------------------------------------


def named(text, name="r"):
    return NamedRule(name, "x", parsed(text))


def words(tokens, mentions):
    return [" ".join(tokens[mention.span.start : mention.span.end]) for mention in mentions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He left. She didn't.", ["He left .", "She did n't ."]),
        ('"Go!" he said (twice.) Then O\'Brien went.', ['" Go ! "', "he said ( twice . )", "Then O'Brien went ."]),
        ("J. F. Kennedy, b. 1,917.5 km on", ["J. F. Kennedy , b. 1,917.5 km on"]),
        ("他走了。她来了。", ["他走了 。", "她来了 。"]),
        ("", []),
    ],
)
def test_sentences_and_their_tokens(text, expected):
    assert [" ".join(tokens) for tokens in sentences(text)] == expected


@given(st.text())
def test_nothing_is_lost_but_space(text):
    assert "".join(token for tokens in sentences(text) for token in tokens) == regex.sub(r"\s", "", text)


def test_a_list_finds_the_longest_mention():
    listed = MentionList([("New York", "CITY"), ("New York Times", "GROUP"), ("New", "X"), ("New York", "OTHER")])
    tokens = ("The", "New", "York", "Times", "in", "New", "York", ",", "New")
    expected = [((1, 4), "GROUP"), ((5, 7), "CITY"), ((8, 9), "X")]
    assert listed.mentions(tokens) == [Mention(Span(*span), kind) for span, kind in expected]


def test_rules_tell_arguments_by_their_words_and_names_where_they_say_nothing():
    """A common word is no name because it comes first."""
    arguments = RuleArguments([named('SUBJ[ner="PERSON"] "is" OBJ[word=~/(vice|president)/]')])
    tokens = ("Ada", "King", "is", "vice", "president", "since", "1990")
    assert words(tokens, arguments.mentions(tokens, ())) == ["Ada King", "vice president", "1990"]
    arguments = RuleArguments([named("SUBJ OBJ")])
    tokens = ("The", "Ada", "left")
    assert words(tokens, arguments.mentions(tokens, {"the"})) == ["Ada"]
    assert words(tokens, arguments.mentions(tokens, ())) == ["The Ada"]


def test_an_argument_that_takes_too_long_is_named(monkeypatch):
    monkeypatch.setattr(regexes, "SECONDS", 0.05)
    arguments = RuleArguments([named("SUBJ OBJ[word=~/(?:[ab]|[ab][ab])+c/]", "slow"), named("SUBJ OBJ", "quick")])
    tokens = ("Ada", "b" * 61 + "xc")
    assert words(tokens, arguments.mentions(tokens, ())) == ["Ada"]
    assert list(arguments.timeouts) == ["slow"]
    assert "takes more than 0.05 seconds" in arguments.timeouts["slow"]


def test_every_pair_that_is_near_and_apart_comes_once_in_both_orders():
    mentions = [Mention(Span(*span), None) for span in [(0, 2), (1, 2), (3, 4), (8, 9)]]
    tokens = tuple("abcdefghi")
    made = [(one.subject, one.object) for one in paired(tokens, mentions, 3)]
    expected = [
        (first.span, second.span)
        for first, second in permutations(mentions, 2)
        if 0 <= max(first.span.start, second.span.start) - min(first.span.end, second.span.end) <= 3
        and not first.span.overlaps(second.span)
    ]
    assert sorted(made) == sorted(expected)
    assert len(made) == 4


def test_rules_match_what_they_find():
    """The pairs that an index of rules finds in a sentence are those that brute force finds among all spans."""
    rule = named('SUBJ[ner="PERSON"] ("," "wife" | "and") "of"? OBJ[ner="PERSON"]')
    tokens = ("Once", "Ada", "Moras", ",", "wife", "of", "William", "King", ",", "and", "Vela", "came")
    pairs = list(paired(tokens, RuleArguments([rule]).mentions(tokens, {"once"}), 10))
    plain = untyped(rule)
    hits = [one for one in pairs if RuleIndex([plain]).matching(one)]
    assert hits == [one for one in pairs if matches(plain.rule, one)]
    pairs = [words(tokens, [Mention(one.subject, None), Mention(one.object, None)]) for one in hits]
    assert pairs == [["Ada Moras", "William King"]]

"""Sentences, mentions and pairs of plain text."""

from itertools import permutations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.relations.brute_force import matches
from tiltmeter.operators.relations.instances import Span
from tiltmeter.operators.relations.plain_text import Mention, MentionList, RuleArguments, paired, sentences, untyped
from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed


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
    assert listed.mentions(tokens) == [
        Mention(Span(1, 4), "GROUP"),
        Mention(Span(5, 7), "CITY"),
        Mention(Span(8, 9), "X"),
    ]


def test_rules_tell_arguments_by_their_words_and_names_where_they_say_nothing():
    arguments = RuleArguments([named('SUBJ[ner="PERSON"] "is" OBJ[word=~/(vice|president)/]')])
    tokens = ("Ada", "King", "is", "vice", "president", "since", "1990")
    assert words(tokens, arguments.mentions(tokens, ())) == ["Ada King", "vice president", "1990"]


def test_a_common_word_is_no_name_because_it_comes_first():
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
    assert [(words(tokens, [Mention(one.subject, None), Mention(one.object, None)])) for one in hits] == [
        ["Ada Moras", "William King"]
    ]

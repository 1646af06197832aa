import pytest

from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.regexes import RegexTimeout, RuleError, alternatives, check_regex, full_match

REFUSED = {
    "exponential": ["(a+)+", "(a*b?)*", "(?:x(a|b+)){2,}", "((ab?)c){3}", "(a{1,2}){1,9}", r"([\]a]+)*", "[a](b+)+"],
    "may not refer back": [r"(a)\1", "(?=a)a", "(?i)a", "(?<n>a)", "(?:abc){e<=1}", "(?R)", r"(a)\g<1>"],
    "empty": [""],
    "no regular expression": ["("],
    "5000 char": ["a" * 5_000],
}


@pytest.mark.parametrize(("pattern", "reason"), [(one, reason) for reason, each in REFUSED.items() for one in each])
def test_what_repeats_a_repetition_or_does_more_than_match_is_refused(pattern, reason):
    with pytest.raises(RuleError, match=reason):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)?", "[0-9]{1,2}(-[Yy]ears?-[Oo]ld)?", "(p|P)resident|Chancell?or", "(ab){3}", r"\(a+\)+"),
        *("[(+]+", "[]+)]+", "x{,2}", "(a{2})+", "[^]a+]+", "(nmod:|prep_)(on|in).*"),
    ],
)
def test_what_repeats_once_is_not(pattern):
    check_regex(pattern)


def test_what_still_explodes_is_ended_and_named(monkeypatch):
    monkeypatch.setattr(regexes, "SECONDS", 0.05)
    pattern = "(?:[ab]|[ab][ab])+d"
    check_regex(pattern)
    with pytest.raises(RegexTimeout, match=r"takes more than 0.05 seconds with 'aaaa"):
        full_match(pattern, "a" * 60 + "xd")


def test_plain_options_are_listed():
    assert alternatives("a|b c|") == {"a", "b c", ""}
    assert alternatives("a.b") is None
    assert alternatives("(a|b)") is None

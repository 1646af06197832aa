from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import dependency_rules, instances, surface_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed


def named(rules):
    return [NamedRule(f"r{number}", "x", rule) for number, rule in enumerate(rules)]


@given(st.lists(surface_rules() | dependency_rules, max_size=6), instances(has_tree=False))
@settings(max_examples=100)
def test_the_index_finds_what_matches(rules, instance):
    expected = [number for number, rule in enumerate(rules) if brute_force.matches(rule, instance)]
    assert RuleIndex(named(rules)).matching_numbers(instance) == expected


def test_a_rule_that_takes_too_long_is_named_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(regexes, "SECONDS", 0.05)
    slow = NamedRule("slow", "x", parsed("SUBJ /(?:[ab]|[ab][ab])+c/ OBJ"))
    index = RuleIndex([slow, NamedRule("quick", "x", parsed("SUBJ [] OBJ"))])
    spans = Span(0, 1), Span(2, 3)
    assert [rule.rule_id for rule in index.matching(Instance(Sentence(("x", "abc", "y")), *spans))] == ["slow", "quick"]
    long = Instance(Sentence(("x", "b" * 61 + "xc", "y")), *spans)
    assert [rule.rule_id for rule in index.matching(long)] == ["quick"]
    assert list(index.timeouts) == ["slow"]
    assert "takes more than 0.05 seconds with 'bbbb" in index.timeouts["slow"]
    assert index.matching_numbers(Instance(Sentence(("x", "abc", "y")), *spans)) == [1], "it is run no more"

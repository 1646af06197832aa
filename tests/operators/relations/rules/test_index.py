from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.relations import brute_force
from tests.operators.relations.strategies import dependency_rules, instances, surface_rules
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules import regexes
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed

WORDS = ["wife", "of", "the", ",", "born", "company"]
TYPES = ["PERSON", "ORGANIZATION", "CITY"]


def named(rules):
    return [NamedRule(f"r{number}", "x", rule) for number, rule in enumerate(rules)]


@given(st.lists(surface_rules() | dependency_rules, max_size=6), instances())
@settings(max_examples=40)
def test_the_index_finds_what_matches(rules, instance):
    expected = [number for number, rule in enumerate(rules) if brute_force.matches(rule, instance)]
    assert RuleIndex(named(rules)).matching_numbers(instance) == expected


def made_rules(generator, num):
    """Of the shapes that the released rules have."""
    shapes = ["{0} {1}", "{0}", "[] {0}", "{0} []{{0,4}} {1}", "{0} {1} {2}", "{0} {1} ?", "({0} | {1}) {2}", "[]{{2}}"]

    def atom():
        first, second = generator.choice(WORDS, 2)
        kinds = [
            f'"{first}"',
            f'"{second}"',
            f"/{first}|{second}/",
            f'[lemma="{first}"]',
            "[pos=~/N.*/]",
            f"/{first[0]}.*/",
        ]
        return str(generator.choice(kinds))

    for _ in range(num):
        between = str(generator.choice(shapes)).format(atom(), atom(), atom())
        pair = ["SUBJ", f'OBJ[ner="{generator.choice(TYPES)}"]'][:: int(generator.choice([1, -1]))]
        before, behind = (str(generator.choice(["", "", "", atom()])) for _ in range(2))
        yield parsed(f"{before} {pair[0]} {between} {pair[1]} {behind}")


def made_instances(generator, num):
    for _ in range(num):
        tokens = tuple(map(str, generator.choice(WORDS, 12)))
        tags = tuple("NN" if len(word) > 3 else "IN" for word in tokens)
        start, distance = int(generator.integers(1, 4)), int(generator.integers(0, 4))
        pair = [Span(start, start + 1), Span(start + 1 + distance, start + 2 + distance)]
        subject, object_ = pair[:: int(generator.choice([1, -1]))]
        kind = str(generator.choice(TYPES))
        yield Instance(Sentence(tokens, tokens, tags), subject, object_, subject_type=kind, object_type=kind)


def test_ten_thousand_pairs_match_as_by_brute_force():
    generator = keyed_generator(1, Stream.RELATION_RULES, 0)
    rules, sentences = list(made_rules(generator, 500)), list(made_instances(generator, 20))
    index = RuleIndex(named(rules))
    expected = [[number for number, rule in enumerate(rules) if brute_force.matches(rule, each)] for each in sentences]
    assert [index.matching_numbers(each) for each in sentences] == expected
    assert sum(map(len, expected)) > 100


def test_rules_in_trees_wait_for_trees():
    index = RuleIndex(named([parsed("SUBJ >obj OBJ"), parsed("SUBJ OBJ")]))
    spans = Span(0, 1), Span(1, 2)
    assert index.matching_numbers(Instance(Sentence(("a", "b")), *spans)) == [1]
    tree = Sentence(("a", "b"), heads=(-1, 0), deprels=("root", "obj"))
    assert index.matching_numbers(Instance(tree, *spans)) == [0, 1]


def test_an_index_of_no_rules_finds_none():
    assert RuleIndex([]).matching(Instance(Sentence(("a", "b")), Span(0, 1), Span(1, 2))) == ()


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

import pytest
from hypothesis import given

from tests.operators.relations.strategies import dependency_rules, surface_rules
from tiltmeter.operators.relations.rules import grammar
from tiltmeter.operators.relations.rules.parsing import from_symbols, lexeme, parsed
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols
from tiltmeter.operators.relations.rules.regexes import RuleError


@given(surface_rules() | dependency_rules)
def test_the_print_of_a_rule_is_read_as_the_same_rule(rule):
    assert parsed(printed(rule)) == rule
    assert from_symbols(rule_symbols(rule)) == rule
    assert printed(parsed(printed(rule))) == printed(rule)


@given(surface_rules() | dependency_rules)
def test_each_symbol_of_a_rule_is_one_symbol_of_the_language(rule):
    assert [lexeme(symbol).text for symbol in rule_symbols(rule)] == list(rule_symbols(rule))


@pytest.mark.parametrize("text", ['a "b" \\ / c', ",", "\n\t", "]", "{1}", "SUBJ", "é\u2028"])
def test_texts_with_marks_of_the_language_survive(text):
    rule = grammar.SurfaceRule(
        ((), (), ()),
        (grammar.Argument("subject"), grammar.Argument("object", (grammar.Test("ner", grammar.Value(text)),))),
    )
    assert parsed(printed(rule)) == rule
    edge = grammar.Edge(grammar.Value(text), grammar.Node(grammar.Argument("object")))
    assert parsed(
        printed(grammar.DependencyRule(grammar.Node(grammar.Argument("subject"), (edge,))))
    ).root.branches == (edge,)


@pytest.mark.parametrize("text", ["1/2", r"1\/2", r"\\", r"a\\/b", '["]', r"\]", "a|b", "x y", r"\\\\\/"])
def test_expressions_with_slashes_and_brackets_survive(text):
    token = grammar.Token((grammar.Test("lemma", grammar.Value(text, is_regex=True)),))
    rule = parsed(f"SUBJ {printed(grammar.SurfaceRule(((), ()), (grammar.Argument('object', token.tests),)))}")
    assert rule.arguments[1].tests == token.tests


def test_a_rule_has_one_print():
    prints = {
        printed(parsed(text))
        for text in ('SUBJ [word="a"]? OBJ', 'SUBJ "a" ? OBJ', '  SUBJ"a"? OBJ', 'SUBJ [ word = "a" ] ? OBJ')
    }
    assert rule_symbols(parsed('SUBJ "," "president" "of" OBJ')) == ("SUBJ", '","', '"president"', '"of"', "OBJ")
    for text, quantifier in (("{2,}", grammar.Quantifier(2, None)), ("{3}", grammar.Quantifier(3, 3))):
        assert parsed(f"SUBJ []{text} OBJ").sides[1][0].quantifier == quantifier
    assert prints == {'SUBJ "a" ? OBJ'}
    assert printed(parsed('SUBJ [pos="X" & lemma="y" & pos="X"] OBJ')) == 'SUBJ [lemma="y" & pos="X"] OBJ'


def test_branches_start_from_the_node_in_front_of_them():
    rule = parsed('[lemma="kill"] >nsubj SUBJ >obj (OBJ >case [lemma="by"])')
    subject, object_ = rule.root.branches
    assert (subject.target.token, object_.target.token) == (grammar.Argument("subject"), grammar.Argument("object"))
    assert object_.target.branches[0].relation == grammar.Value("case")
    assert grammar.roles(rule) == ("subject", "object")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"a" "b"', "one at least"),
        ("SUBJ SUBJ", "each argument at most once"),
        ("SUBJ ? OBJ", "part 2 is '\\?'"),
        ('SUBJ ("a" OBJ', "must be '\\)'"),
        ("SUBJ @ OBJ", "starts with '@ OBJ'"),
        ('SUBJ [tag="X"] OBJ', "and not 'tag'"),
        ("SUBJ /(a/ OBJ", "no regular expression"),
        ("SUBJ []{3,2} OBJ", "in order"),
        ("SUBJ []{0,999} OBJ", "at most"),
        ('SUBJ "\\x" OBJ', "no text in quotes"),
        ("SUBJ >obj", "part 3 is nothing"),
        ("SUBJ (>obj OBJ | )", "empty option"),
        ('"a" >obj "b"', "no argument"),
        ("", "one at least"),
        (f"SUBJ {'(' * 30}", "more than 20 brackets"),
    ],
)
def test_what_is_no_rule_is_refused(text, reason):
    with pytest.raises(RuleError, match=reason):
        parsed(text)

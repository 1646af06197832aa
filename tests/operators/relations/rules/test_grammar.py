"""Rules and their prints, the expressions within them, and what is neither; those of other programs."""

from functools import partial
from pathlib import Path

import pytest
from hypothesis import given

from tests.operators.relations.strategies import dependency_rules, surface_rules
from tiltmeter.operators.relations.rules import grammar
from tiltmeter.operators.relations.rules.foreign.odin import rules_of_odin
from tiltmeter.operators.relations.rules.foreign.semgrex import rule_of_semgrex
from tiltmeter.operators.relations.rules.foreign.tokensregex import rule_of_tokensregex
from tiltmeter.operators.relations.rules.foreign.translation import Written, rules_of, translated
from tiltmeter.operators.relations.rules.foreign.writing import foreign_print
from tiltmeter.operators.relations.rules.parsing import from_symbols, lexeme, parsed
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols
from tiltmeter.operators.relations.rules.regexes import RuleError, alternatives, check_regex


@pytest.mark.long
@given(surface_rules() | dependency_rules)
def test_the_print_of_a_rule_is_read_as_the_same_rule(rule):
    """And each of its symbols is one of the language."""
    assert parsed(printed(rule)) == rule
    assert from_symbols(rule_symbols(rule)) == rule
    assert [lexeme(symbol).text for symbol in rule_symbols(rule)] == list(rule_symbols(rule))


@pytest.mark.parametrize("text", ['a "b" \\ / c', ",", "\n\t", "]", "{1}", "SUBJ", "é\u2028"])
def test_texts_with_marks_of_the_language_survive(text):
    subject, typed = grammar.Argument("subject"), (grammar.Test("ner", grammar.Value(text)),)
    rule = grammar.SurfaceRule(((), (), ()), (subject, grammar.Argument("object", typed)))
    assert parsed(printed(rule)) == rule
    edge = grammar.Edge(grammar.Value(text), grammar.Node(grammar.Argument("object")))
    assert parsed(printed(grammar.DependencyRule(grammar.Node(subject, (edge,))))).root.branches == (edge,)


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


# --- rules as they are written here and elsewhere -------------------------------------------------------------------

ENTITY, SLOT = "([ { kbpentity:true } ]+ )", "([ { slotvalue:true } ]+ )"
LINES = Path(__file__).with_name("rules.txt").read_text().replace("ENTITY", ENTITY).replace("SLOT", SLOT).splitlines()
READ = [(*line.partition(": ")[::2],) for line in LINES]
"""Languages, with what is written in them and what becomes of it; ` / ` parts lines of rules."""


def odin(pattern, over_tokens=False):
    rules = rules_of_odin(pattern.replace(" / ", "\n"), over_tokens=over_tokens, types={"Person": "PER"})
    return [printed(rule) for rule in rules]


READERS = {
    "rule": parsed,
    "regex": check_regex,
    "tokensregex": rule_of_tokensregex,
    "semgrex": rule_of_semgrex,
    "odin": odin,
    "tokens of odin": partial(odin, over_tokens=True),
}


@pytest.mark.parametrize(("language", "line"), READ)
def test_a_rule_is_read_as_one_of_ours_or_refused_with_the_reason(language, line):
    text, became = line.split(" -> ")
    read, refused = READERS[language], became.removeprefix("refused: ")
    if refused == became:
        assert printed(read(text)) == became
        assert [printed(rule) for rule in rules_of(text)] == [became]
        return
    with pytest.raises(RuleError) as error:
        read(text)
    assert str(error.value).endswith(refused)
    assert language != "tokensregex" or repr(text[:200]) in str(error.value)


def test_odin_gives_a_rule_for_each_choice_of_optional_steps():
    pattern = (
        "trigger = [word=/sail|row/]\nsubject: SUBJ_Person = <acl? nsubj\nobject: OBJ_Loc = nmod (?= case [tag=IN])\n"
    )
    assert odin(pattern) == [
        '/.*(?:sail|row).*/ <acl ( [] >nsubj SUBJ[ner="PER"] ) >nmod ( OBJ[ner="Loc"] >case [pos="IN"] )',
        '/.*(?:sail|row).*/ >nsubj SUBJ[ner="PER"] >nmod ( OBJ[ner="Loc"] >case [pos="IN"] )',
    ]
    assert len(odin("trigger = [lemma=a]\nsubject: SUBJ_Person = a? b?\nobject: OBJ_Loc = c?")) == 3


def test_odin_over_tokens():
    assert odin("@subject: SUBJ_Loc [word=/,/] [tag=DT & lemma=the]? @object: OBJ_Loc", over_tokens=True) == [
        'SUBJ[ner="Loc"] /.*(?:,).*/ [lemma="the" & pos="DT"] ? OBJ[ner="Loc"]'
    ]


def test_those_that_are_not_understood_are_listed_with_the_reason():
    written = [
        Written("t", "a", f'( {ENTITY} "of" {SLOT} )'),
        Written("s", "b", "{}=entity >> {}=slot"),
        Written("o", "c", "trigger = [lemma=a]\nsubject: S_X = b? c\nobject: O_X = d", "odin-dependency"),
        Written("x", "d", "SUBJ OBJ", "perl"),
    ]
    rules, others = translated(written)
    assert [(rule.rule_id, rule.relation, rule.source) for rule in rules] == [
        ("t", "a", "file"),
        ("o.1", "c", "file"),
        ("o.2", "c", "file"),
    ]
    assert [(other.rule_id, other.relation) for other in others] == [("s", "b"), ("x", "d")]
    assert "'perl' is no language of rules" in others[1].reason


@pytest.mark.parametrize(
    "text",
    [
        'SUBJ "," [lemma=~/wife/] OBJ[ner="PERSON"]',
        'OBJ{1} "\\"" "a\\\\b" /1\\/2/ + SUBJ[word=~/[0-9]+/]',
        'SUBJ ( "a" "b" | /c/ ) {2,} ( "d" ) ? [] {0,4} OBJ /[^x]/',
        'SUBJ [lemma="be" & pos=~/VB.?/] OBJ',
        'SUBJ >appos ( [lemma="wife" & pos="NN"] >/nmod|of/ OBJ )',
        '"tied" >nsubj SUBJ ?>cop [lemma="be"] ( >a OBJ | >b OBJ >c [] ) <acl [ner=~/X|Y/]',
    ],
)
def test_a_rule_in_the_language_of_the_released_ones_is_read_as_the_same_rule(text):
    rule = parsed(text)
    assert rules_of(foreign_print(rule)) == [rule]


# --- expressions ----------------------------------------------------------------------------------------------------


def test_a_regular_expression_of_5000_characters_is_refused():
    with pytest.raises(RuleError, match=r"has 5000 characters: must have at most 4000"):
        check_regex("a" * 5_000)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a+)?", "[0-9]{1,2}(-[Yy]ears?-[Oo]ld)?", "(p|P)resident|Chancell?or", "(ab){3}", r"\(a+\)+"),
        *("[(+]+", "[]+)]+", "x{,2}", "(a{2})+", "[^]a+]+", "(nmod:|prep_)(on|in).*"),
    ],
)
def test_what_repeats_once_is_not(pattern):
    check_regex(pattern)


def test_plain_options_are_listed():
    assert alternatives("a|b c|") == {"a", "b c", ""}
    assert alternatives("a.b") is None
    assert alternatives("(a|b)") is None

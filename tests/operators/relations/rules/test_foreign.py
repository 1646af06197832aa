from functools import partial

import pytest

from tiltmeter.operators.relations.rules.foreign.odin import rules_of_odin
from tiltmeter.operators.relations.rules.foreign.semgrex import rule_of_semgrex
from tiltmeter.operators.relations.rules.foreign.tokensregex import rule_of_tokensregex
from tiltmeter.operators.relations.rules.foreign.translation import Written, rules_of, translated
from tiltmeter.operators.relations.rules.foreign.writing import foreign_print
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import printed
from tiltmeter.operators.relations.rules.regexes import RuleError

ENTITY, SLOT = "([ { kbpentity:true } ]+ )", "([ { slotvalue:true } ]+ )"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (f'( {ENTITY} "," "captain" "of" {SLOT} )', 'SUBJ "," "captain" "of" OBJ'),
        (f'(  "{SLOT}"  "\'s"  "crew"  "{ENTITY}"  )', 'OBJ "\'s" "crew" SUBJ'),
        (f'( "{ENTITY}\'"  "older" {SLOT} )', 'SUBJ "\'" "older" OBJ'),
        (
            f"( {ENTITY} /[Ss]ails?/ []{{0,4}} [{{lemma:/at|by/}}] {SLOT} )",
            "SUBJ /[Ss]ails?/ [] {0,4} [lemma=~/at|by/] OBJ",
        ),
        (
            f'( /x/ {ENTITY} [{{tag:/NN.?/}}]+ [{{ner:"TITLE"}}]* {SLOT} "." )',
            '/x/ SUBJ [pos=~/NN.?/] + [ner="TITLE"] * OBJ "."',
        ),
        (f'( {ENTITY} ([ {{ slotvalue:true; ner:"ORG" }} ]+ ) /a/? )', 'SUBJ OBJ[ner="ORG"] /a/ ?'),
        (f"( {ENTITY} [ {{ lemma:/be/ }} | {{ lemma:get }} ] {SLOT} )", 'SUBJ ( [lemma=~/be/] | [lemma="get"] ) OBJ'),
        (f"( {ENTITY} ( [ {{ slotvalue::EXISTS }} & {{ word:/[0-9]+/ }} ] ) )", "SUBJ OBJ[word=~/[0-9]+/]{1}"),
        (f'( {ENTITY} ( [ {{ ner:"DATE" }} ] ) )', 'SUBJ [ner="DATE"]'),
        (f'( {ENTITY} ( "a" "b" )? ( "c" | /d/ ) {SLOT} )', 'SUBJ ( "a" "b" ) ? ( "c" | /d/ ) OBJ'),
        (f"( {ENTITY} /\\(/ {SLOT} /[^'].*/ )", r"SUBJ /\(/ OBJ /[^'].*/"),
        (f'( {ENTITY} /1\\/2/ "a\\"b" {SLOT} )', 'SUBJ /1\\/2/ "a\\"b" OBJ'),
    ],
)
def test_tokensregex(pattern, text):
    assert printed(rule_of_tokensregex(pattern)) == text
    assert [printed(rule) for rule in rules_of(pattern)] == [text]


NOT_TOKENSREGEX = [
    (f"( {ENTITY} $x {SLOT} )", r"starts with '\$x"),
    ('( "a" )', "one at least"),
    (f"( {ENTITY} {ENTITY} )", "at most once"),
    (f"( {ENTITY} ({SLOT})? )", "optional or repeated"),
    (f"( {ENTITY} [ {{ slotvalue:true }} ]{{2}} )", "is repeated"),
    (f'( {ENTITY} [{{colour:"x"}}] )', "and not 'colour'"),
    (f"( {ENTITY} /(a+)+/ {SLOT} )", "exponential"),
    (f"( {ENTITY} {SLOT}", "the end"),
    (f"( {ENTITY} {SLOT} ) )", "stands behind the end"),
]
NOT_SEMGREX = [
    ("{}=entity >> {}=slot", "starts with '>>"),
    ("{}=entity", "no dependency"),
    ("{} >a {}", "no argument"),
    ("{}=entity >a", "the end"),
    ("{}=entity [ >a {}=slot | ]", "empty option"),
    ("{colour:x}=entity >a {}=slot", "and not 'colour'"),
    ("{}=entity >a {}=slot )", "behind the end"),
]
NOT_ODIN = [
    ("trigger = [word=a]\nplace: Loc = nmod", "'place' is no argument"),
    ("[word=a]", "'trigger'"),
    ("trigger = [word=a]\nsubject: SUBJ_X = nsubj ^", "starts with"),
]


def odin(pattern, over_tokens=False):
    return [printed(rule) for rule in rules_of_odin(pattern, over_tokens=over_tokens, types={"Person": "PER"})]


@pytest.mark.parametrize(
    ("read", "pattern", "reason"),
    [
        *((rule_of_tokensregex, *row) for row in NOT_TOKENSREGEX),
        *((rule_of_semgrex, *row) for row in NOT_SEMGREX),
        *((odin, *row) for row in NOT_ODIN),
        (partial(odin, over_tokens=True), "[entity=/SUBJ_PERSON/]+", "one at least"),
    ],
)
def test_what_is_not_understood_is_quoted(read, pattern, reason):
    with pytest.raises(RuleError, match=reason) as error:
        read(pattern)
    assert read is not rule_of_tokensregex or repr(pattern[:200]) in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("{ner:PERSON}=entity >/nn|amod/ {ner:TITLE}=slot", 'SUBJ[ner="PERSON"] >/nn|amod/ OBJ[ner="TITLE"]'),
        (
            "{}=entity >/acl:relcl/ ({lemma:/sail/;tag:/VB.*/} >nsubj {lemma:who} >dobj {}=slot)",
            'SUBJ >/acl:relcl/ ( [lemma=~/sail/ & pos=~/VB.*/] >nsubj [lemma="who"] >dobj OBJ )',
        ),
        ("( {lemma:/a/} >/x.*/ {}=slot ) >nsubj {}=entity >cop {}", "[lemma=~/a/] >/x.*/ OBJ >nsubj SUBJ >cop []"),
        ("{} >nsubj {}=entity [ >a {}=slot | >b {}=slot >c {} ]", "[] >nsubj SUBJ ( >a OBJ | >b OBJ >c [] )"),
        (
            "{word:tied} >nsubj {}=entity ?>cop {lemma:be} <acl {}=slot",
            '"tied" >nsubj SUBJ ?>cop [lemma="be"] <acl OBJ',
        ),
        ("{lemma: /\\Qa.b\\E/}=null >nsubj=E1 {}=entity >/o/=E2 {}=slot", "[lemma=~/a\\.b/] >nsubj SUBJ >/o/ OBJ"),
        ("{ner:X} >appos ( ({} >nn {}=slot) )", '[ner="X"] >appos ( [] >nn OBJ )'),
    ],
)
def test_semgrex(pattern, text):
    assert printed(rule_of_semgrex(pattern)) == text
    assert [printed(rule) for rule in rules_of(pattern)] == [text]


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

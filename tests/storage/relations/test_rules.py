import pytest

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.relations.rules import RuleTag, read_mappings, read_rule_tags, read_rules

MASTER = """
taxonomy: [Relation]
rules:
  - import: grammars/kill.yml
    vars: {verb: "kill|murder", label: Kill}
  - name: here
    label: Located_In
    type: token
    pattern: "@subject: SUBJ_Location [word=/,/] @object: OBJ_Location"
"""
KILL = """
- name: ${label}_1
  label: ${label}
  priority: 3
  pattern: |
    trigger = [lemma=/${ verb }/]
    subject: SUBJ_Person = nsubj
"""


@pytest.fixture
def file(tmp_path):
    def write(content, name):
        (tmp_path / name).write_text(content, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_rules_are_a_list_of_objects(file):
    uri = file(
        "rules:\n- {id: r1, relation: spouse, pattern: 'SUBJ \",\" OBJ'}\n- {id: 2, pattern: x, language: semgrex}",
        "r.yaml",
    )
    first, second = read_rules(uri)
    assert first == ("r1", 'SUBJ "," OBJ', "spouse", None)
    assert second == ("2", "x", None, "semgrex")


def test_rules_are_an_object_of_patterns(file):
    assert read_rules(file('{"t_1": "( x )"}', "rules.json")) == [("t_1", "( x )", None, None)]


def test_a_grammar_reads_what_it_imports_from_beside_it(file):
    file(KILL, "kill.yml")
    first, second = read_rules(file(MASTER, "master.yml"))
    assert (first.rule_id, first.relation, first.language) == ("Kill_1", "Kill", "odin-dependency")
    assert first.pattern.splitlines()[0] == "trigger = [lemma=/kill|murder/]"
    assert (second.rule_id, second.language) == ("here", "odin-token")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("- {id: a, pattern: x}\n- {id: a, pattern: y}", "two rules are called 'a'"),
        ("- {id: a}", "0.pattern: Field required"),
        ("- {id: a, pattern: x, colour: y}", "0.colour: Extra inputs"),
        ("a: [", "is not YAML"),
        ("a: &x b\nc: *x", "has YAML aliases"),
        ("{}", "has no rules"),
        ("- {name: a, label: b, pattern: '${ verb }'}", r"nothing says what \$\{verb\} is"),
        ("- {import: none.yml}", "none.yml"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_what_holds_no_rules_is_refused(file, content, reason):
    with pytest.raises(InputError, match=reason):
        read_rules(file(content, "rules.yaml"))


def test_variables_that_name_each_other_end(file):
    file("- {name: a, label: b, pattern: '${x}'}", "g.yml")
    with pytest.raises(InputError, match="without an end"):
        read_rules(file("rules:\n- import: g.yml\n  vars: {x: '${y}${y}', y: '${x}'}", "m.yml"))


def test_mappings_say_which_rules_agree(file):
    uri = file("no_rule\n[('per:title', 't_4'), ('per:title', 's_2')]\n[]\n", "mappings.txt")
    assert read_mappings(uri) == [None, [("per:title", "t_4"), ("per:title", "s_2")], []]


@pytest.mark.parametrize("line", ["[('a',)]", "__import__('os')", "['a", "no rule"])
def test_a_line_that_maps_nothing_is_refused(file, line):
    with pytest.raises(InputError, match="line 2"):
        read_mappings(file(f"no_rule\n{line}\n", "mappings.txt"))


def test_tags_say_what_rules_say_of_a_pair(file):
    uri = file("no_relation\t[]\nKill\t[3, 4]\n", "tags.txt")
    assert read_rule_tags(uri) == [RuleTag("no_relation", []), RuleTag("Kill", [3, 4])]
    with pytest.raises(InputError, match="line 1"):
        read_rule_tags(file("Kill [3]\n", "tags.txt"))

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


def test_rules_are_a_list_of_objects_or_an_object_of_patterns(file):
    rules = "rules:\n- {id: r1, relation: spouse, pattern: 'SUBJ \",\" OBJ'}\n- {id: 2, pattern: x, language: semgrex}"
    assert read_rules(file(rules, "r.yaml")) == [("r1", 'SUBJ "," OBJ', "spouse", None), ("2", "x", None, "semgrex")]
    assert read_rules(file({"t_1": "( x )"}, "rules.json")) == [("t_1", "( x )", None, None)]


def test_a_grammar_reads_what_it_imports_from_beside_it(file):
    file(KILL, "kill.yml")
    first, second = read_rules(file(MASTER, "master.yml"))
    assert (first.rule_id, first.relation, first.language) == ("Kill_1", "Kill", "odin-dependency")
    assert first.pattern.splitlines()[0] == "trigger = [lemma=/kill|murder/]"
    assert (second.rule_id, second.language) == ("here", "odin-token")


def test_variables_that_name_each_other_end(file):
    file("- {name: a, label: b, pattern: '${x}'}", "g.yml")
    with pytest.raises(InputError, match="without an end"):
        read_rules(file("rules:\n- import: g.yml\n  vars: {x: '${y}${y}', y: '${x}'}", "m.yml"))


def test_mappings_say_which_rules_agree(file):
    uri = file("no_rule\n[('per:title', 't_4'), ('per:title', 's_2')]\n[]\n", "mappings.txt")
    assert read_mappings(uri) == [None, [("per:title", "t_4"), ("per:title", "s_2")], []]


def test_tags_say_what_rules_say_of_a_pair(file):
    uri = file("no_relation\t[]\nKill\t[3, 4]\n", "tags.txt")
    assert read_rule_tags(uri) == [RuleTag("no_relation", []), RuleTag("Kill", [3, 4])]

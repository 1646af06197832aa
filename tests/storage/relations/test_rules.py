import pytest

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.relations.rules import read_rules

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

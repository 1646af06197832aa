"""Rules of `relation_rules` run over texts without lists of mentions; with them, see :mod:`.test_by_hand`."""

from collections import Counter

import pytest

from tests.jobs.relations.conftest import INSTANCES, SMALL, written
from tiltmeter.jobs.relations.texts.stage import _counted
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.synthetic import synthetic_rules

PAGE = "<page><title>{0}</title><ns>0</ns><id>{1}</id><revision><id>9</id><text>{2}</text></revision></page>"


@pytest.mark.slow
def test_arguments_are_found_by_the_rules_in_a_dump_and_in_plain_text(run_here, tmp_path):
    """Names alone tell arguments: known rules match what they match in the instances of both orders."""
    pages = "".join(PAGE.format(f"P{number}", number, text) for number, text in enumerate(written(INSTANCES), start=1))
    dump = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en"><siteinfo></siteinfo>'
    (tmp_path / "wiki.xml").write_text(f"{dump}{pages}</mediawiki>")
    (tmp_path / "plain.txt").write_text("\n".join(written(INSTANCES)))
    rules = [NamedRule(name, relation, parsed(text)) for name, relation, text in synthetic_rules()]
    index = RuleIndex(rules)
    expected = Counter(rule.rule_id for one in INSTANCES for rule in index.matching(one))
    for path in ("wiki.xml", "plain.txt"):
        form = "text" if path == "plain.txt" else "auto"
        settings = [f"texts.path={tmp_path}/{path}", f"texts.format={form}", f"store={tmp_path}/store"]
        run = run_here(*SMALL, "shares=[]", "seeds=1", *settings, f"run_dir={tmp_path}/{path}_run")
        rows = [row for row in run.rows("rules", split="texts") if row["source"] == "made_up"]
        assert {row["rule_id"] for row in rows} == {rule.rule_id for rule in rules}
        assert all(row["support"] >= expected[row["rule_id"]] > 0 for row in rows)
        assert {row["precision"] for row in rows} == {None}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (["texts.mentions=a.csv"], r"texts\.mentions: is of no use without texts"),
        (["texts.path=none.jsonl"], r"there is no file"),
    ],
)
def test_refusals(run_here, setting, message):
    with pytest.raises((ConfigError, Exception), match=message):
        run_here("job=relation_rules", *setting)


def test_agreement_is_of_all_matches_and_precision_of_those_that_are_known():
    rule = dict.fromkeys(("rule_id", "relation", "text", "source", "is_used", "reason"), "SUBJ [] OBJ")
    of_one = Counter(num=4, num_agreeing=2, num_known=2, num_right=1)
    documents = {"a": of_one, "b": Counter(num=4, num_agreeing=1, num_known=1, num_right=1)}
    row = _counted(rule | {"status": "ok"}, documents, {}, {"has_facts": True, "level": 0.9})
    assert [row[name] for name in ("support", "agreement", "num_known")] == [8, 3 / 8, 3]
    assert row["precision"] == pytest.approx(2 / 3)

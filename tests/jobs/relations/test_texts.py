"""What becomes of rules in texts that have few facts; see :mod:`.test_by_hand` and :mod:`.test_other_settings`."""

from collections import Counter

import pytest

from tests.fixtures.corpora import parquet
from tiltmeter.jobs.relations.sources import find_sources
from tiltmeter.jobs.relations.texts.stage import _counted
from tiltmeter.storage.errors import InputError


@pytest.mark.parametrize("form", ["text", "jsonl", "wikiextractor", "parquet"])
def test_texts_are_read_in_the_form_that_is_chosen(configured, tmp_path, form):
    """Whatever their file is called."""
    (tmp_path / "a.txt").write_bytes(parquet({"text": ["Ada"]}) if form == "parquet" else b"Ada met King .\n")
    settings = [f"texts.path={tmp_path}/a.txt", f"texts.format={form.replace('text', 'auto')}"]
    assert [one.format for one in find_sources(configured("job=relation_rules", *settings)).texts.sources] == [form]
    with pytest.raises(InputError, match="there is no file"):
        find_sources(configured("job=relation_rules", "texts.path=none.jsonl", *settings[1:]))


def test_agreement_is_of_all_matches_and_precision_of_those_that_are_known():
    rule = dict.fromkeys(("rule_id", "relation", "text", "source", "is_used", "reason"), "SUBJ [] OBJ")
    of_one = Counter(num=4, num_agreeing=2, num_known=2, num_right=1)
    documents = {"a": of_one, "b": Counter(num=4, num_agreeing=1, num_known=1, num_right=1)}
    row = _counted(rule | {"status": "ok"}, documents, {}, {"has_facts": True, "level": 0.9})
    assert [row[name] for name in ("support", "agreement", "num_known")] == [8, 3 / 8, 3]
    assert row["precision"] == pytest.approx(2 / 3)
    for text, reason in (("SUBJ >obj OBJ", "it needs trees, which texts have not"), ("SUBJ [] OBJ", "it is slow")):
        given = rule | {"status": "ok", "rule_id": "r", "text": text}
        row = _counted(given, documents, {"r": "it is slow"}, {"has_facts": True, "level": 0.9})
        assert (row["status"], row["reason"]) == ("no_tree" if ">" in text else "timeout", reason)
        assert "support" not in row

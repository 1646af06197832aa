"""What becomes of rules in texts that have few facts; see :mod:`.test_by_hand` and :mod:`.test_other_settings`."""

from collections import Counter

import pytest

from tests.fixtures.corpora import parquet
from tiltmeter.jobs.relations.config import find_sources
from tiltmeter.jobs.relations.tables import Rules
from tiltmeter.jobs.relations.texts import CountInTexts
from tiltmeter.storage.errors import InputError


@pytest.mark.parametrize("form", ["text", "jsonl", "wikiextractor", "parquet"])
def test_texts_are_read_in_the_form_that_is_chosen(configured, tmp_path, form):
    """Whatever their file is called."""
    (tmp_path / "a.txt").write_bytes(parquet({"text": ["Ada"]}) if form == "parquet" else b"Ada met King .\n")
    settings = [f"texts.path={tmp_path}/a.txt", f"texts.format={form.replace('text', 'auto')}"]
    assert [one.format for one in find_sources(configured("job=relation_rules", *settings)).corpus.sources] == [form]
    with pytest.raises(InputError, match="there is no file"):
        find_sources(configured("job=relation_rules", "texts.path=none.jsonl", *settings[1:]))


def test_agreement_is_of_all_matches_and_precision_of_those_that_are_known():
    keys = {"rule_id": "r", "split": "training", "relation": "x"}
    made = dict.fromkeys(("counts", "examples", "timeouts", "totals", "rules"), ())
    work = CountInTexts(level=0.9, most_examples=3, corpus="texts", has_facts=True, **made)
    of_one = Counter(num=4, num_agreeing=2, num_known=2, num_right=1)
    documents = {"a": of_one, "b": Counter(num=4, num_agreeing=1, num_known=1, num_right=1)}
    row = work.counted(Rules(**keys, text="SUBJ [] OBJ"), documents, {})
    assert [row.support, row.agreement, row.num_known] == [8, 3 / 8, 3]
    assert row.precision.value == pytest.approx(2 / 3)
    for text, reason in (("SUBJ >obj OBJ", "it needs trees, which texts have not"), ("SUBJ [] OBJ", "it is slow")):
        row = work.counted(Rules(**keys, text=text), documents, {"r": "it is slow"})
        assert (row.status, row.reason) == ("no_tree" if ">" in text else "timeout", reason)
        assert row.support is None

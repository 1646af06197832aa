"""What was left out of files: counted by reason, with the first place, and refused above a share."""

import json
import pickle

import pytest

from tiltmeter.jobs.runtime.wording import left_out_sentences
from tiltmeter.storage.bad_records import BadRecords, collect, collected
from tiltmeter.storage.errors import InputError


def bad_lines(num, num_records, file="a.jsonl", kind="bad"):
    bad = BadRecords()
    bad.read(file, num_records)
    for line in range(1, num + 1):
        bad.add(file, "no JSON", f"line {line}", kind=kind)
    return bad


@pytest.mark.parametrize(
    ("bad", "share"),
    [
        (bad_lines(10, 10), 0.0),  # ten are always borne
        (bad_lines(11, 1100), 0.01),
        (bad_lines(400, 400, kind="empty"), 0.0),  # these are no bad records
        (bad_lines(400, 400, kind="kept"), 0.0),
    ],
)
def test_few_bad_records_and_those_that_are_not_bad_cost_no_file(bad, share):
    bad.merge(bad_lines(10, 10, "another.jsonl"))
    bad.check(share)


def test_more_than_ten_and_than_the_share_are_refused_with_file_share_limit_setting_and_first_places():
    bad = bad_lines(11, 1099)
    bad.add("a.jsonl", "no text", "line 70", num=2)
    message = (
        r"a.jsonl: 13 of 1,099 records are bad \(1.18%\), more than reading.max_bad_share=0.01 allows: no JSON \(11, "
        r"first at line 1\); no text \(2, first at line 70\); repair the file, or raise reading.max_bad_share"
    )
    with pytest.raises(InputError, match=message):
        bad.check(0.01)


def test_parts_of_a_file_are_added_up_and_the_first_place_stays():
    whole, rows = bad_lines(6, 100), bad_lines(5, 1000).rows()
    assert pickle.loads(pickle.dumps(whole)) == whole
    whole.check(0.0)
    later = BadRecords()
    later.read("a.jsonl", 1000)
    later.add_rows(json.loads(json.dumps(rows)))
    whole.merge(later)
    [row] = whole.rows()
    assert (row["num"], row["first"], whole.num_records) == (11, "line 1", {"a.jsonl": 1100})
    whole.check(0.01)


def test_a_file_that_is_looked_through_twice_counts_once():
    collect(bad_lines(3, 5))
    with collected() as bad:
        collect(bad_lines(3, 5))
        collect(bad_lines(2, 5, "b.jsonl"))
        collect(bad_lines(3, 5))
    assert {row["file"]: row["num"] for row in bad.rows()} == {"a.jsonl": 3, "b.jsonl": 2}
    assert bad.num_records == {"a.jsonl": 5, "b.jsonl": 5}
    assert left_out_sentences(bad.rows()) == ["5 records left out: no JSON; first in b.jsonl, line 1; 2 files"]

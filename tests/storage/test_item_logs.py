"""Logs of evaluation harnesses: what is read of which lines, and what is refused with file, line and column."""

import gzip

import pytest

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.item_logs import LogColumns, read_item_log

ITEM = LogColumns({"doc_id": "logs.item"})


@pytest.fixture
def read(file):
    """Reads what is written as a log."""
    return lambda content, columns=ITEM: read_item_log(file(content, "log.jsonl"), "logs.first", columns)


def test_a_packed_log_is_read_as_it_is_and_its_lines_have_places(read):
    log = read(gzip.compress(b'\n{"doc_id": 7}\n'))
    assert log.values == {"doc_id": [7]}
    assert log.where(0).endswith("log.jsonl, line 2")


def test_a_line_that_is_nested_too_deeply_costs_itself_alone(read):
    log = read(b'{"doc_id": 1}\n' + b"[" * 10**5 + b'\n{"doc_id": 3}\n')
    assert log.values == {"doc_id": [1, 3]}
    assert [(row["reason"], row["first"][:6]) for row in log.bad.rows()] == [("no JSON", "line 2")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (LogColumns({"doc.race": "logs.race"}), "no column 'doc.race', which logs.race names; it has sentence, gender"),
        (LogColumns({"acc.x": "logs.score"}), "no column 'acc.x', which logs.score names; it has doc, acc"),
        (LogColumns({"acc": "logs.score"}, {"task": "a"}), "no column 'task', which logs.only names"),
        (LogColumns({"acc": "logs.score"}, {"filter": "a"}), "no line with filter 'a', which logs.only asks for"),
    ],
)
def test_columns_and_values_that_no_line_has_are_refused_with_their_setting(read, columns, message):
    with pytest.raises(InputError, match=message):
        read('{"doc": {"sentence": "a", "gender": "female"}, "acc": 1.0, "filter": "none"}\n', columns)

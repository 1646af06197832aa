"""Logs of evaluation harnesses: what is read of which lines, and what is refused with file, line and column."""

import gzip
import json

import pytest

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.item_logs import LogColumns, read_item_log

ITEM = LogColumns({"doc_id": "logs.item"})


def sample(number, **more):
    """A line of a task of several choices, as lm-evaluation-harness 0.4 writes it."""
    likelihoods = [["-25.625", "False"], ["-23.5", "False"]]
    return {
        "doc_id": number,
        "doc": {"sentence": f"sentence {number}", "gender": "female", "label": 0},
        "target": "0",
        "arguments": {"gen_args_0": {"arg_0": "prompt", "arg_1": " choice"}},
        "resps": [[pair] for pair in likelihoods],
        "filtered_resps": likelihoods,
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "d9",
        "prompt_hash": "16",
        "target_hash": "5f",
        "acc": 1.0,
    } | more


@pytest.fixture
def read(file):
    """Reads what is written as a log."""
    return lambda content, columns=ITEM: read_item_log(file(content, "log.jsonl"), "logs.first", columns)


def lines(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def test_columns_within_others_and_places_in_lists_are_read_by_their_path(read):
    paths = ("doc.gender", "filtered_resps.1.0", "doc.label", "acc")
    log = read(lines(sample(0), sample(1, acc=None)), LogColumns(dict.fromkeys(paths, "logs.score")))
    assert log.values == {
        "doc.gender": ["female"] * 2,
        "filtered_resps.1.0": ["-23.5"] * 2,
        "doc.label": [0, 0],
        "acc": [1.0, None],
    }


def test_a_column_whose_own_name_has_a_dot_comes_first(read):
    log = read(lines({"a.b": 1, "a": {"b": 2}}), LogColumns({"a.b": "logs.item"}))
    assert log.values == {"a.b": [1]}


def test_lines_keep_their_numbers_past_blank_ones_and_past_those_that_are_left_out(read):
    rows = [sample(0), sample(0, filter="strict-match"), sample(1, filter="strict-match")]
    text = "\ufeff" + lines(rows[0]) + "\n\r\n" + lines(*rows[1:])
    log = read(text, LogColumns({"doc_id": "logs.item"}, {"filter": "strict-match"}))
    assert (log.lines, log.values) == ([4, 5], {"doc_id": [0, 1]})
    assert log.where(1).endswith("log.jsonl, line 5")
    assert [*log.bad.num_records.values()] == [2], "shares of bad lines are of those that were asked for"
    both = {"filter": "strict-match", "doc_id": "1"}
    assert read(text, LogColumns({"doc_id": "logs.item"}, both)).lines == [5]
    assert read(text, LogColumns({"doc_id": "logs.item"}, dict(reversed(both.items())))).lines == [5]


def test_a_packed_log_is_read_as_it_is(read):
    assert read(gzip.compress(lines(sample(7)).encode())).values == {"doc_id": [7]}


def test_a_line_may_lack_a_column_that_others_have(read):
    text = lines({"doc_id": 0}, {"doc_id": None}, {"other": 1})
    assert read(text).values == {"doc_id": [0, None, None]}
    needing = LogColumns({"doc_id": "logs.item"}, labels=["doc_id"], numbers=["doc_id"])
    log = read(text, needing)
    assert log.lines == [1]
    [row] = log.bad.rows()
    assert (row["num"], row["first"], row["reason"]) == (2, "line 2", "no label in doc_id, which logs.item names")


def test_a_line_that_is_no_json_costs_itself_alone(read):
    log = read(b'{"doc_id": 1}\n{"doc_id": 2,}\n[1]\n{"doc_id": "\x80"}\n' + b"[" * 10**5 + b'\n{"doc_id": 3}\n')
    assert log.values == {"doc_id": [1, 3]}
    counted = {(row["reason"], row["num"], row["first"]) for row in log.bad.rows()}
    assert counted == {("no JSON", 3, "line 2, column 14"), ("JSON, but no object", 1, "line 3")}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            LogColumns({"doc.race": "logs.race"}),
            r"no column 'doc.race', which logs.race names; it has sentence, gender",
        ),
        (LogColumns({"acc.x": "logs.score"}), r"no column 'acc.x', which logs.score names; it has doc_id, doc"),
        (LogColumns({"acc": "logs.score"}, {"task": "a"}), r"no column 'task', which logs.only names"),
        (LogColumns({"acc": "logs.score"}, {"filter": "a"}), r"no line with filter 'a', which logs.only asks for"),
    ],
)
def test_columns_and_values_that_no_line_has_are_refused_with_their_setting(read, columns, message):
    with pytest.raises(InputError, match=message):
        read(lines(sample(0)), columns)

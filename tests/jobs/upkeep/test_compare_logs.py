"""Two systems on the same items, from logs of an evaluation harness: what is read, compared and refused."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines as shown_lines
from tiltmeter.jobs.upkeep.compare.logs import Logs, compare_logs, find_logs
from tiltmeter.jobs.upkeep.compare.logs_page import page_of_systems
from tiltmeter.operators.statistics.paired_items import paired_items
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError

ITEMS = 40


def sample(number, acc, **more):
    """A line as lm-evaluation-harness writes it."""
    doc = {"question": f"question {number}", "template": f"template {number % 8}"}
    line = {"doc_id": number, "doc": doc, "target": 1, "filtered_resps": [[-1.5, False]], "acc": acc}
    return line | {"doc_hash": "ab", "arguments": {"gen_args_0": {"arg_0": "text"}}} | more


@pytest.fixture
def logs(tmp_path):
    """Writes logs of two systems, and settings that name them."""

    def write(first, second, **settings):
        for side, lines in (("first", first), ("second", second)):
            text = lines if isinstance(lines, str) else "".join(json.dumps(line) + "\n" for line in lines)
            (tmp_path / f"samples_{side}_2026-11-22.jsonl").write_text(text)
        places = {side: str(tmp_path / f"samples_{side}_*.jsonl") for side in ("first", "second")}
        return Logs(**places, **settings)

    return write


@pytest.fixture
def systems():
    right = np.random.default_rng(0).random((2, ITEMS)) < [[0.5], [0.8]]
    return [[sample(number, float(acc)) for number, acc in enumerate(row)] for row in right], right


def compared(settings):
    return compare_logs(settings, find_logs(settings)).to_pylist()


def first_finding(settings):
    """Of the page."""
    page = page_of_systems(settings, pl.DataFrame(compare_logs(settings, find_logs(settings))))
    return page.lead.findings[0].items[0]


def test_systems_are_compared_item_by_item_whatever_the_order_of_the_lines(logs, systems):
    lines, (first, second) = systems
    [row] = compared(logs(lines[0], lines[1][::-1]))
    assert (row["num_items"], row["num_clusters"]) == (ITEMS, ITEMS)
    assert row["difference"] == pytest.approx(second.mean() - first.mean())
    assert (row["first_only"], row["second_only"]) == ((first & ~second).sum(), (second & ~first).sum())
    assert row["mcnemar_p"] == pytest.approx(
        stats.binomtest(row["first_only"], row["first_only"] + row["second_only"]).pvalue
    )
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert row["q"] == row["p"] == row["mcnemar_p"]


def test_columns_within_others_tell_what_are_units(logs, run_here, tmp_path):
    """Ten items of each of eight templates, of which seven favour the second system in six of their items."""
    right = [[float(at % 10 < 2), float(at % 10 < (8 if at < 70 else 1))] for at in range(80)]
    lines = [
        [sample(at, pair[side]) | {"doc": {"template": f"template {at // 10}"}} for at, pair in enumerate(right)]
        for side in (0, 1)
    ]
    written = logs(*lines)
    command = [
        "job=compare",
        f"logs.first='{written.first[0]}'",
        f"logs.second='{written.second[0]}'",
        "logs.level=0.8",
    ]
    [row], [apart] = (
        run_here(*command, *more, f"store={tmp_path}", f"run_dir={tmp_path}/run{len(more)}").rows("systems")
        for more in (["logs.cluster=doc.template"], [])
    )
    known = paired_items(*np.array(right).T, units_of(np.repeat(np.arange(8), 10), "template"), 0.8).difference
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((known.low, known.high))
    sums = [6] * 7 + [-1]
    signs = np.array(list(product((-1, 1), repeat=8)))
    assert row["num_clusters"] == 8
    assert row["mcnemar_p"] == pytest.approx(np.mean(np.abs(signs @ sums) >= sum(sums)))
    assert row["p"] == row["mcnemar_p"]
    by_item = paired_items(*np.array(right).T, each(80, "item"), 0.8).difference
    assert (apart["num_clusters"], apart["p"]) == (80, pytest.approx(by_item.p))
    assert (apart["difference_low"], apart["difference_high"]) == pytest.approx((by_item.low, by_item.high))


def test_few_units_that_differ_have_no_p_value(logs):
    lines = [[sample(at, float(at < 5 * (1 - side))) for at in range(20)] for side in (0, 1)]
    [row] = compared(logs(*lines))
    assert (row["p"], row["q"], row["mcnemar_p"], row["status"]) == (None, None, None, "too_few_units")
    assert row["reason"].startswith('there is too little to go by: 5 of the unit "item that differs", and 6 are needed')
    assert "the second system is neither clearly higher nor lower" in first_finding(logs(*lines))


def test_no_p_value_is_0_where_nothing_spreads(logs):
    [row] = compared(logs(*[[sample(at, float(side)) for at in range(9)] for side in (0, 1)]))
    assert (row["p"], row["mcnemar_p"]) == (2**-8, 2**-8)
    assert row["difference_low"] < row["difference"] == 1.0


def test_scores_that_are_no_shares_have_no_exact_test_and_several_are_corrected_together(logs, systems):
    lines, (first, second) = systems
    more = [
        [line | {"f1": line["acc"] / 2 + number % 3, "exact": bool(line["acc"])} for number, line in enumerate(side)]
        for side in lines
    ]
    more[1] = [line | {"same": 0.5 + 0.1 * (number % 2) * (number < 14)} for number, line in enumerate(more[1])]
    more[0] = [line | {"same": 0.5 + 0.1 * (number % 5 == 0)} for number, line in enumerate(more[0])]
    rows = compared(logs(*more, score=["f1", "exact", "same"]))
    f1, exact, same = rows
    assert (f1["mcnemar_p"], f1["first_only"]) == (None, None)
    assert f1["difference"] == pytest.approx((second.mean() - first.mean()) / 2)
    assert exact["mcnemar_p"] == exact["p"] < same["p"]
    p = [row["p"] for row in rows]
    largest_first = sorted(range(3), key=lambda place: -p[place])
    q = np.minimum.accumulate([p[place] * 3 / (3 - rank) for rank, place in enumerate(largest_first)])
    assert [rows[place]["q"] for place in largest_first] == pytest.approx(q.tolist())


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (list, {"score": "accuracy"}, r"no column 'accuracy', which logs.score names; it has doc_id, doc"),
        (list, {"cluster": "doc.family"}, r"no column 'doc.family', which logs.cluster names; it has que"),
        (list, {"item": "id"}, r"no column 'id', which logs.item names"),
        (list, {"score": "doc.question"}, r"no line can be used: no number in doc.question.* \(40, first at line 1\)"),
        (lambda lines: lines[:-2], {}, r"logs.second: lacks 2 items of logs.first, such as '38'"),
        (lambda lines: [*lines, sample(99, 1.0)], {}, r"logs.first: lacks 1 item of logs.second, such as '99'"),
        (lambda lines: [*lines, lines[3]], {}, r"logs.second: 1 item comes more than once, such as '3'"),
        (lambda _: [], {}, r"logs.second: \S+ has no lines that can be read: there must be one at least"),
        (lambda _: "not json", {}, r"logs.second: \S+ has no lines .*: no JSON \(1, first at line 1, column 1"),
    ],
)
def test_what_cannot_be_paired_is_refused_with_its_key(logs, systems, change, settings, message):
    lines, _ = systems
    with pytest.raises(InputError, match=message):
        compared(logs(lines[0], change(lines[1]), **settings))


def test_tasks_are_compared_by_themselves_and_corrected_together(tmp_path):
    for side, scores in (("m1", "00000000"), ("m2", "11111100")):
        for task in ("a", "b"):
            lines = [json.dumps(sample(number, float(acc))) for number, acc in enumerate(scores)]
            place = tmp_path / side / f"samples_{task}_2026-11-22T10-00-00.000000.jsonl"
            place.parent.mkdir(exist_ok=True)
            place.write_text("\n".join(lines if task == "a" else lines[:6]))
    logs = Logs(str(tmp_path / "m1"), str(tmp_path / "m2"))
    rows = compared(logs)
    assert [(row["task"], row["num_items"], row["difference"], row["first_only"]) for row in rows] == [
        ("a", 8, 0.75, 0),
        ("b", 6, 1.0, 0),
    ]
    [findings] = page_of_systems(logs, pl.DataFrame(compare_logs(logs, find_logs(logs)))).lead.findings
    assert [finding.partition(":")[0] for finding in findings.items] == ["a, acc", "b, acc"]


def test_a_bad_line_costs_its_item_in_both_systems_and_is_counted(logs, systems):
    lines, _ = systems
    broken = [*lines[1][:3], lines[1][3] | {"acc": "good"}, lines[1][4] | {"doc_id": None}, *lines[1][5:]]
    with collected() as bad:
        [row] = compared(logs(lines[0], broken))
    assert row["num_items"] == ITEMS - 2
    assert [(row["num"], row["first"]) for row in bad.rows()] == [(1, "line 4"), (1, "line 5")]


def test_lines_of_one_filter_are_chosen(logs, systems):
    lines, (first, second) = systems
    both = [[line | {"filter": name} for line in side for name in ("none", "strict-match")] for side in lines]
    both = [[line | {"acc": 0.0} if line["filter"] == "none" else line for line in side] for side in both]
    [row] = compared(logs(*both, only={"filter": "strict-match"}))
    assert (row["first"], row["second"]) == pytest.approx((first.mean(), second.mean()))
    with pytest.raises(InputError, match=r"40 items come more than once, .* choose lines by logs.only"):
        compared(logs(*both))


def test_the_page_says_which_system_is_higher_how_sure_that_is_and_what_the_units_are(logs, systems):
    def said():
        for more in ({}, {"cluster": "doc.template"}):
            settings = logs(*systems[0], **more)
            page = page_of_systems(settings, pl.DataFrame(compare_logs(settings, find_logs(settings))))
            for block in (*page.lead.findings, *page.lead.doubts, *page.sections[0].blocks):
                yield from shown_lines(block)

    check_text(Path(__file__), "systems", said())

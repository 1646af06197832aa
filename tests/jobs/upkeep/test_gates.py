"""Numbers that may move only so far: which moves fail a gate, and which gates are refused."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.fixtures.history import SCHEMA, past, rows
from tests.fixtures.page_models import check_text
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.overnight.gates import Gate, check_gates, verdicts


@pytest.mark.parametrize(
    ("after", "limits", "fails"),
    [
        (1.5, {"difference": 0.5}, False),
        (1.5, {"difference": 0.49}, True),
        (0.5, {"difference": 0.49}, True),
        (0.5, {"difference": 0.49, "direction": "up"}, False),
        (0.5, {"difference": 0.49, "direction": "down"}, True),
        (2.5, {"half_widths": 2.0}, False),
        (3.5, {"half_widths": 2.0}, True),
        (3.5, {"direction": "down"}, False),
        (-3.5, {"direction": "down"}, True),
    ],
)
def test_how_far_and_which_way_a_number_may_move(judged, after, limits, fails):
    [verdict] = judged({"a": {}}, {"a": {"d": after}}, Gate("tests", "d", **limits))
    assert (verdict.verdict == "failed") is fails


@pytest.mark.parametrize(("scheme", "fails"), [({"num_blocks": 4}, True), ({}, False)])
def test_a_gate_may_ask_what_moved_in_these_texts(history, scheme, fails):
    """By 0.06, where replicas spread by one, and their differences by 0.05: in the mean of them it shows."""
    spread = np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 2.0, -2.0, 0.0])
    keyed_by = {"paired_by": "replicas", "keyed_by": "word", **scheme}

    def night(value, draws):
        row = history.table({"a": {"d": value}}).to_pylist()[0] | draws_of("d", draws)
        return history.run(dict(with_draws({"tests": ([row], history.schema)}, keyed_by)))

    runs = night(1.0, 1.0 + spread), night(1.06, 1.06 + spread + 0.05 * spread[::-1])
    gates = [
        Gate("tests", "d"),
        *(Gate("tests", "d", in_these_texts=True, direction=way) for way in ("either", "down")),
    ]
    found = verdicts(gates, "bias", {"tests": history.schema}, History("yesterday", runs, compare(*runs), 1), "ok")
    assert [row.verdict == "failed" for row in found] == [False, fails, False]
    assert found[1].fails_if == "a number moves beyond its interval or in these texts"


ONE, TWO = rows({"a": {}}), rows({"a": {}, "b": {}})
EXACT, UNKNOWN = {"d_low": 1.0, "d_high": 1.0}, {"a": {"d_low": None, "d_high": None}, "b": {}}
SEVEN = {word: {"count": 7} for word in "abcdefghijklm"}
D, FAR = Gate("tests", "d"), Gate("tests", "d", difference=100.0, direction="up")
CASES = {
    "numbers within their intervals": (TWO, rows({"a": {"d": 1.9}, "b": {"d": 0.1}}), D),
    "one beyond": (TWO, rows({"a": {"d": 1.9}, "b": {"d": 4.0}}), D),
    "counts by their difference": (
        *(rows(SEVEN), rows(SEVEN | {"c": {"count": 12}, "d": {"count": 9}})),
        Gate("tests", "count", difference=1),
    ),
    "a number that is gone with its row": (TWO, ONE, FAR),
    "one that is null": (TWO, rows({"a": {}, "b": {"d": None}}), FAR),
    "one that is undefined": (TWO, rows({"a": {}, "b": {"d": math.nan}}), FAR),
    "one that is new has not moved": (
        *(rows({"a": {}, "b": {"d": None}}), rows({"a": {}, "b": {}, "c": {}})),
        Gate("tests", "d", difference=0.0),
    ),
    "rows that can't be matched": (pa.concat_tables([ONE, ONE]), ONE, D),
    "no earlier table": (None, ONE, D),
    "no interval, and rounding": (rows(UNKNOWN), rows({"a": {"d": 1.0 + 1e-15}, "b": {}}), D),
    "no interval, and a move": (
        *(rows(UNKNOWN), rows({"a": {"d": 1.5}, "b": {}}), D, Gate("tests", "d", half_widths=3.0)),
        *(Gate("tests", "d", direction="down"), Gate("tests", "d", direction="up"), Gate("tests", "d", difference=0.6)),
    ),
    "an exact number stays": (rows({"a": EXACT}), rows({"a": EXACT}), Gate("tests", "d", half_widths=2.0)),
    "and moves": (rows({"a": EXACT}), rows({"a": {"d": 1.1}}), Gate("tests", "d", half_widths=2.0)),
    "gates of others": (ONE, rows({"a": {"d": 9.0}}), Gate("tests", "d", name="other"), Gate("points", "d")),
}


SHOWN = ("column", "row", "before", "difference", "half_widths", "after", "num_failed", "num_compared")


def _said(before, after, *gates):
    runs = tuple(past({} if table is None else {"tests": table}) for table in (before, after))
    for row in verdicts(gates, "bias", {"tests": SCHEMA}, History("yesterday", runs, compare(*runs), 1), "ok"):
        yield f"{row.fails_if}: {row.verdict}: {row.sentence}"
        known = {name: value for name in SHOWN if (value := getattr(row, name)) is not None}
        shown = {name: f"{value:.9g}" if isinstance(value, float) else value for name, value in known.items()}
        yield f"  {'; '.join(f'{name}: {value}' for name, value in shown.items())}"


def test_what_gates_say_of_numbers():
    said = (line for case, given in CASES.items() for line in [f"\n# {case}", *_said(*given)])
    check_text(Path(__file__), "gates", said)


def test_gates_of_a_first_night_and_of_a_job_that_failed_are_not_compared(judged, history):
    [first] = verdicts([D], "bias", {"tests": history.schema}, History(), "ok")
    assert (first.verdict, first.sentence) == ("not_compared", "there is no earlier run to compare with")
    [failed] = judged({"a": {}}, {"a": {}}, D, status="refused")
    assert (failed.verdict, failed.sentence) == ("not_compared", "the job refused")


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (Gate("psychometrics", "pse", name="nobody"), r"fail_if\[0\].name=nobody: no job of the list .* bias, records"),
        (Gate("psychometrix", "pse"), r"fail_if\[0\].table=psychometrix: no such table is published; there are .*pse"),
        (Gate("psychometrics", "pse", name="records"), r"fail_if\[0\].table=psychometrics: no such .*clusters"),
        (Gate("psychometrics", "pce"), r"fail_if\[0\].column=pce: psychometrics has no such numbers; it has .*pse"),
        (Gate("psychometrics", "word"), r"fail_if\[0\].column=word: psychometrics has no such numbers"),
        (Gate("psychometrics", "flip_sd"), r"fail_if\[0\].column=flip_sd: has no interval .*difference=<number>"),
    ],
)
def test_a_gate_that_no_job_can_fail_is_refused_with_its_key(gate, message):
    with pytest.raises(ConfigError, match=message.replace(".*pse", ".*psycho") if "table" in message else message):
        check_gates([gate], {"bias": "psychophysics", "records": "entity_resolution"})


def test_two_gates_that_say_the_same_of_a_job_are_refused():
    """They would be two rows of one key."""
    jobs = {"bias": "psychophysics", "again": "psychophysics"}
    gates = [Gate("psychometrics", "pse"), Gate("psychometrics", "pse", direction="up")]
    check_gates(gates, jobs)
    with pytest.raises(
        ConfigError, match=r"^fail_if\[2\]: says of again what fail_if\[0\] says; leave one of them out"
    ):
        check_gates([*gates, Gate("psychometrics", "pse", name="again")], jobs)

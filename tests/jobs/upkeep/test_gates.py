"""Numbers that may move only so far: which moves fail a gate, and which gates are refused."""

import math

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.history import History
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.overnight.gates import Gate, check_gates, verdicts


def test_a_number_beyond_its_interval_fails_a_gate_and_one_within_does_not(judged):
    before = {"a": {}, "b": {}}
    [passed] = judged(before, {"a": {"d": 1.9}, "b": {"d": 0.1}}, Gate("tests", "d"))
    assert (passed["verdict"], passed["num_failed"], passed["num_compared"]) == ("passed", 0, 2)
    [failed] = judged(before, {"a": {"d": 1.9}, "b": {"d": 4.0}}, Gate("tests", "d"))
    assert (failed["verdict"], failed["num_failed"], failed["num_compared"]) == ("failed", 1, 2)
    assert (failed["before"], failed["after"], failed["difference"], failed["half_widths"]) == (1.0, 4.0, 3.0, 3.0)
    assert failed["sentence"] == "tests: d of word b went from 1 to 4."
    assert failed["fails_if"] == "a number moves beyond its interval"


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
    assert (verdict["verdict"] == "failed") is fails


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
    assert [row["verdict"] == "failed" for row in found] == [False, fails, False]
    assert found[1]["fails_if"] == "a number moves beyond its interval or in these texts"


def test_columns_without_an_interval_are_judged_by_their_difference(judged):
    words = {word: {"count": 7} for word in "abcdefghijklm"}
    moved = words | {"c": {"count": 12}, "d": {"count": 9}}
    [verdict] = judged(words, moved, Gate("tests", "count", difference=1))
    assert (verdict["num_failed"], verdict["num_compared"], verdict["difference"]) == (2, 13, 5)
    assert verdict["sentence"].endswith("count of word c went from 7 to 12, the largest move of 2 numbers.")


@pytest.mark.parametrize("after", [{"a": {}}, {"a": {}, "b": {"d": None}}, {"a": {}, "b": {"d": math.nan}}])
def test_a_number_that_is_gone_fails_its_gate(judged, after):
    [verdict] = judged({"a": {}, "b": {}}, after, Gate("tests", "d", difference=100.0, direction="up"))
    assert (verdict["verdict"], verdict["after"], verdict["num_failed"]) == ("failed", None, 1)
    assert "word b was 1 and is gone." in verdict["sentence"]


def test_a_number_that_is_new_has_not_moved_and_a_gate_is_about_its_job_only(judged):
    [verdict] = judged({"a": {}, "b": {"d": None}}, {"a": {}, "b": {}, "c": {}}, Gate("tests", "d", difference=0.0))
    assert (verdict["verdict"], verdict["num_compared"]) == ("passed", 1)
    assert judged({"a": {}}, {"a": {"d": 9.0}}, Gate("tests", "d", name="other"), Gate("points", "d")) == []


def test_what_cannot_be_judged_is_not_passed(judged, history):
    twice = pa.concat_tables([history.table({"a": {}})] * 2)
    runs = history.run({"tests": twice}), history.run({"tests": history.table({"a": {}})})
    gates, schemas = [Gate("tests", "d")], {"tests": history.schema}
    [unmatched] = verdicts(gates, "bias", schemas, History("then", runs), "ok")
    assert unmatched["verdict"] == "failed"
    assert unmatched["sentence"].startswith("can't be judged: in the earlier run, 1 row of it has the key of another")
    runs = history.run({}), history.run({"tests": history.table({"a": {}})})
    [absent] = verdicts(gates, "bias", schemas, History("then", runs), "ok")
    assert (absent["verdict"], absent["sentence"]) == ("failed", "can't be judged: the earlier run has no table tests")


NO_INTERVAL = {"d_low": None, "d_high": None}


@pytest.mark.parametrize(
    ("after", "limits", "fails"),
    [
        (1.0 + 1e-15, {}, False),
        (1.5, {}, True),
        (1.5, {"half_widths": 3.0}, True),
        (1.5, {"direction": "down"}, False),
        (0.5, {"direction": "down"}, True),
        (1.5, {"difference": 0.6}, False),
    ],
)
def test_a_number_that_had_no_interval_fails_where_one_is_needed_if_it_moved(judged, after, limits, fails):
    [verdict] = judged({"a": NO_INTERVAL, "b": {}}, {"a": {"d": after}, "b": {}}, Gate("tests", "d", **limits))
    assert (verdict["verdict"] == "failed", verdict["num_failed"], verdict["num_compared"]) == (fails, int(fails), 2)
    if fails:
        assert "word a went from 1 to" in verdict["sentence"]
        assert verdict["sentence"].endswith(", and had no interval.")


def test_a_number_that_stays_has_not_moved_by_any_of_its_half_widths(judged):
    exact = {"d_low": 1.0, "d_high": 1.0}
    [stays] = judged({"a": exact}, {"a": exact}, Gate("tests", "d", half_widths=2.0))
    assert (stays["verdict"], stays["num_compared"]) == ("passed", 1)
    [moves] = judged({"a": exact}, {"a": {"d": 1.1}}, Gate("tests", "d", half_widths=2.0))
    assert (moves["verdict"], moves["half_widths"]) == ("failed", math.inf)
    assert moves["sentence"] == "tests: d of model en, word a went from 1 to 1.1."


def test_gates_of_a_first_night_and_of_a_job_that_failed_are_not_compared(judged, history):
    [first] = verdicts([Gate("tests", "d")], "bias", {"tests": history.schema}, History(), "ok")
    assert (first["verdict"], first["sentence"]) == ("not_compared", "there is no earlier run to compare with")
    [failed] = judged({"a": {}}, {"a": {}}, Gate("tests", "d"), status="refused")
    assert (failed["verdict"], failed["sentence"]) == ("not_compared", "the job refused")


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

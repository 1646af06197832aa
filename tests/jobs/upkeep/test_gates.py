"""Gates on logs: a night after the other by hand, what is refused, and what the command leaves."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from junitparser import JUnitXml
from pydantic import ValidationError
from scipy import stats

from tests.fixtures.page_models import check_text
from tiltmeter.jobs.app import exit_status
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.table import table_from
from tiltmeter.jobs.upkeep.compare.gates import Gate, Gates
from tiltmeter.jobs.upkeep.compare.pairs import ITEMS, Pair
from tiltmeter.jobs.upkeep.compare.verdicts import _check, judged
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import each

FALL = Gate("acc", fall=0.02)


def pair_of(first, second, clusters=None, task="arc"):
    """A pair of items, whose scores are numbers or lists of repeats."""
    sides = {"first": first, "second": second}
    repeats = {side: [np.atleast_1d(np.array(item, float)) for item in items] for side, items in sides.items()}
    columns = {"item": [str(place) for place in range(len(first))], "cluster": clusters or [None] * len(first)}
    for side, items in repeats.items():
        columns[side] = [item.mean() for item in items]
        columns[f"{side}_variance"] = [item.var(ddof=1) if item.size > 1 else None for item in items]
        columns[f"{side}_repeats"] = [item.size for item in items]
    return Pair(task, "acc", "first", "second", pl.DataFrame(columns, schema=ITEMS))


def drawn(night, fall=0.0, num=400, right=0.8):
    """A night of two systems that are sampled anew."""
    rng = np.random.default_rng(night)
    return pair_of(rng.random(num) < right, rng.random(num) < right - fall)


def ask(gate, pair, last=None, level=None):
    row = Gates(task=pair.task, score=pair.score, first=pair.first, second=pair.second, fails_if=gate.fails_if)
    row.level, row.nights = level or gate.level, 1 if gate.judged_by == "single" else gate.nights
    return judged(row, gate, pair, last, 0.95)


# --- night after night ----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_evidence_grows_by_each_night_with_the_stake_of_the_nights_before():
    nights = [([1] * 30 + [0] * 20, [1] * 22 + [0] * 8 + [1] * 3 + [0] * 17), ([1] * 50, [1] * 40 + [0] * 10)]
    last, evidence, squares = None, 0.0, 0
    for night, (first, second) in enumerate(nights, start=1):
        lost, won = (sum(a > b for a, b in zip(*pair, strict=True)) for pair in ((first, second), (second, first)))
        stake = min(0.02 * (1 + 50 * (night - 1)) / (1 + squares), 0.5)
        evidence = (1 + stake) ** lost * (1 - stake) ** won * (evidence + 1)
        last = ask(FALL, pair_of(first, second), last)
        squares += lost + won
        assert (last.verdict, last.night, last.threshold) == ("passed", night, 365 / 0.05)
        assert (last.stake, last.evidence, last.squares) == pytest.approx((stake, evidence, squares))
        assert last.value.value == pytest.approx((won - lost) / 50)
    assert last.evidence > 1.5


@pytest.mark.long
def test_after_an_alarm_the_evidence_begins_anew_and_so_it_does_after_the_nights():
    gate, rows = replace(FALL, nights=4, level=0.5), [None]
    for night in range(6):
        rows.append(ask(gate, drawn(night, fall=0.3 if night == 1 else 0.0), rows[-1]))
    found = [(row.verdict, row.night) for row in rows[1:]]
    assert found == [("passed", 1), ("failed", 2), ("passed", 3), ("passed", 4), ("passed", 1), ("passed", 2)]
    after_alarm = ask(gate, drawn(2), replace(rows[2], verdict="passed", evidence=0.0))
    after_year = ask(gate, drawn(4), replace(rows[4], night=0, evidence=0.0))
    assert (rows[3].evidence, rows[5].evidence) == (after_alarm.evidence, after_year.evidence)
    assert (rows[2].evidence >= rows[2].threshold == 8.0, rows[-1].num_squares) == (True, 2400)


@pytest.mark.long
def test_the_same_logs_are_no_new_night():
    first = ask(FALL, drawn(1))
    again = ask(FALL, drawn(1), first)
    assert (again.night, again.evidence, again.verdict) == (1, first.evidence, first.verdict)
    assert again.sentence == f"{first.sentence} These are the logs of the last night again: no new night."
    assert ask(FALL, drawn(1), again).sentence == again.sentence
    shuffled = drawn(1)
    shuffled = shuffled._replace(items=shuffled.items.sample(fraction=1.0, shuffle=True, seed=1))
    assert ask(FALL, shuffled, first).night == 1
    assert ask(FALL, drawn(2), again).night == 2


@pytest.mark.long
def test_two_low_nights_in_a_row_fail_a_gate_that_confirms():
    gate = Gate("acc", rule="confirm", nights=100)
    falls = [0.0, 0.2, 0.0, 0.2, 0.2]
    last, found = None, []
    for night, fall in enumerate(falls):
        last = ask(gate, drawn(night, fall), last)
        found.append(last.verdict)
        assert (last.p <= (0.05 / 100) ** 0.5) == bool(fall)
    assert found == ["passed", "passed", "passed", "passed", "failed"]
    assert np.isnan(last.evidence)


@pytest.mark.long
def test_a_gate_that_spends_its_level_asks_more_of_each_night():
    differences = np.repeat([-1.0, 1.0], [20, 7])
    first, second = (
        np.concatenate([side, np.ones(300)]) for side in ((differences < 0) * 1.0, (differences > 0) * 1.0)
    )
    p = stats.ttest_1samp(second - first, 0.0, alternative="less").pvalue
    assert 6 * 0.05 / (np.pi * 3) ** 2 < p < 6 * 0.05 / np.pi**2
    gate = Gate("acc", rule="spending")
    early = ask(gate, pair_of(first, second))
    late = ask(gate, pair_of(first, second), replace(early, night=2, items="", first_items="", verdict="passed"))
    assert (early.verdict, late.verdict, late.night) == ("failed", "passed", 3)
    assert (early.p, late.p) == pytest.approx((p, p))
    assert "p = " in late.sentence


@pytest.mark.long
def test_clusters_are_the_units_of_evidence():
    """Ten clusters of three items and one of five, whose sums are parts of five."""
    sizes = [3] * 10 + [5]
    clusters = [str(place) for place, size in enumerate(sizes) for _ in range(size)]
    second = np.ones(35)
    second[[0, 1, 2, 3, 33, 34]] = 0.0
    row = ask(FALL, pair_of(np.ones(35), second, clusters))
    units = np.array([-3, -1] + [0] * 8 + [-2]) / 5
    stake = 0.02 * 35 / 11 / 5
    assert row.num_units == 11
    assert row.stake == pytest.approx(stake)
    assert row.evidence == pytest.approx(np.prod(1.0 - stake * units))
    assert row.squares == pytest.approx(np.square(units).sum())
    assert "independent" not in row.sentence
    assert "independent" in ask(FALL, pair_of(np.ones(35), second)).sentence
    assert row.p == 2.0**-3  # of three clusters that differ


# --- what the baseline is -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_stored_run_is_refused_unless_it_has_repeats_and_takes_its_allowance():
    stored = replace(FALL, baseline="stored")
    row = ask(stored, drawn(1))
    assert row.verdict == "not_judged"
    assert "its baseline is a single stored run, whose noise adds up over nights" in row.sentence
    rng = np.random.default_rng(1)
    first = rng.random((200, 8)) < 0.7
    second = rng.random(200) < 0.7
    row = ask(stored, pair_of(first.tolist(), second))
    variances = first.var(axis=1, ddof=1)
    allowance = stats.norm.ppf(1 - 0.05 / 2) * (variances.sum() / 8) ** 0.5 / 200
    differences = second - first.mean(axis=1)
    assert row.allowance == pytest.approx(allowance)
    assert row.threshold == pytest.approx(365 / 0.025)
    assert row.evidence == pytest.approx(np.prod(1.0 - 0.02 * (differences + allowance)))
    assert row.p == pytest.approx(stats.ttest_1samp(differences, -allowance, alternative="less").pvalue)
    assert "the stored baseline may be off by" in row.sentence
    together = [str(place // 20) for place in range(200)]
    assert ask(stored, pair_of(first.tolist(), second, together)).allowance > 3 * allowance


@pytest.mark.long
def test_a_baseline_that_is_to_be_rerun_and_was_not_is_refused_and_costs_no_night():
    first, again = drawn(1), drawn(2)
    same = again._replace(items=again.items.with_columns(first.items["first"]))
    last = ask(FALL, first)
    row = ask(FALL, same, last)
    assert row.verdict == "not_judged"
    assert "has the scores of the last night, as a stored one; run it anew" in row.sentence
    assert (row.night, row.evidence, row.items, row.squares) == (1, last.evidence, last.items, last.squares)
    assert ask(FALL, again, row).night == 2
    exact = replace(FALL, baseline="exact")
    assert ask(exact, same, ask(exact, first)).night == 2
    equal = pair_of([1, 0, 1, 1], [1, 0, 1, 1])
    row = ask(FALL, equal, ask(FALL, pair_of([1, 0, 1, 1], [1, 1, 1, 1])))
    assert (row.verdict, row.night) == ("passed", 2)  # bit-equal systems at temperature 0


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (pair_of([0.5, 3.0], [1.0, 1.0]), "not all of its scores lie between 0 and 1"),
        (pair_of([0.5, 1.0], [1.0, 0.0], ["a", "a"]), "all of its items are one unit"),
        (pair_of([0.5], [1.0]), "all of its items are one unit"),
    ],
)
def test_what_can_not_be_judged_says_why(pair, reason):
    row = ask(FALL, pair)
    assert (row.verdict, row.value) == ("not_judged", None)
    [written] = table_from([row], Gates).to_pylist()
    assert (written["value"], written["value_low"], written["night"], written["evidence"]) == (None, None, 0, 0.0)
    assert row.sentence.startswith(f"arc, acc: can't be judged: {reason}")


# --- limits and decisions -------------------------------------------------------------------------------------------


def test_a_limit_is_on_the_second_system_alone():
    pair = drawn(4, num=300)
    second = pair.items["second"].to_numpy()
    below = ask(Gate("acc", kind="at_least", limit=0.9, fall=0.05), pair)
    assert below.evidence == pytest.approx(np.prod(1.0 - 0.05 * (second - 0.9)))
    assert (below.value.value, below.false_alarms is None or np.isnan(below.false_alarms)) == (second.mean(), True)
    above = ask(Gate("acc", kind="at_most", limit=0.7, fall=0.05), pair)
    assert above.evidence == pytest.approx(np.prod(1.0 - 0.05 * (0.7 - second)))
    inferred = mean(second, each(300, "item"), level=0.95)
    for limit, verdict in ((second.mean() + 0.06, "failed"), (second.mean() + 0.02, "passed")):
        once = ask(Gate("acc", kind="at_least", limit=limit, rule="single"), pair)
        assert once.verdict == verdict
        assert once.p == pytest.approx(stats.t.cdf((second.mean() - limit) / inferred.variance**0.5, 299))


@pytest.mark.parametrize(
    ("lost", "won", "kind", "verdict"),
    [
        (10, 10, "non_inferior", "passed"),
        (20, 10, "non_inferior", "failed"),
        (5, 40, "non_inferior", "passed"),
        (5, 40, "equivalent", "failed"),
        (6, 6, "equivalent", "passed"),
        (0, 0, "equivalent", "passed"),
    ],
)
def test_a_decision_passes_only_what_is_shown(lost, won, kind, verdict):
    first = [1] * lost + [0] * won + [1] * (1000 - lost - won)
    second = [0] * lost + [1] * won + [1] * (1000 - lost - won)
    row = ask(Gate("acc", kind=kind, margin=0.01), pair_of(first, second))
    assert (row.verdict, row.night, row.nights) == (verdict, 1, 1)


def test_few_differences_are_no_pass():
    clusters = [str(place // 2) for place in range(50)]
    row = ask(Gate("acc", kind="non_inferior", margin=0.1), pair_of([1] * 50, [1] * 50, clusters))
    assert row.verdict == "too_few"
    assert 'there is too little to go by: 25 of the unit "cluster", and 30 are needed' in row.sentence


# --- runs that differ by chance alone -------------------------------------------------------------------------------


@pytest.mark.long
def test_false_alarms_are_counted_on_halves_of_the_repeats_and_else_on_swapped_labels():
    rng = np.random.default_rng(6)
    pair = pair_of((rng.random((100, 4)) < 0.7).tolist(), rng.random(100) < 0.4)
    row = ask(FALL, pair)
    assert row.false_alarms <= 0.05
    assert row.false_alarms_of == "1,000 times 365 nights, halves of the first system's repeats swapped unit by unit"
    assert ask(FALL, pair).false_alarms == row.false_alarms
    single = ask(Gate("acc", rule="single"), pair)
    assert single.false_alarms == pytest.approx(0.05, abs=0.025)
    assert single.false_alarms_of.startswith("1,000 times 1 night, halves")
    swapped = ask(Gate("acc", rule="single"), drawn(1))
    assert swapped.false_alarms == pytest.approx(0.05, abs=0.025)
    assert "both labels swapped unit by unit, which tells of symmetry alone" in swapped.false_alarms_of
    decision = ask(Gate("acc", kind="non_inferior", margin=0.02), pair)
    assert decision.false_alarms > 0.5  # so few items seldom show it of equal systems
    assert decision.false_alarms_of.startswith("decisions that are no pass")


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "kind worse by rule e_detector needs fall, such as fall: 0.02"),
        ({"fall": 0.02, "margin": 0.1}, "kind worse by rule e_detector has no margin: leave it out"),
        ({"kind": "non_inferior"}, "kind non_inferior by rule single needs margin, such as margin: 0.02"),
        (
            {"kind": "equivalent", "margin": 0.1, "rule": "confirm"},
            "one decision, of a release: leave out rule confirm",
        ),
        ({"kind": "at_least", "fall": 0.1}, "kind at_least by rule e_detector needs limit"),
        ({"rule": "confirm", "fall": 0.1}, "kind worse by rule confirm has no fall: leave it out"),
    ],
)
def test_a_gate_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValidationError, match=re.escape(message)):
        Gate("acc", **settings)


def test_a_gate_on_what_the_logs_have_not_is_refused_with_what_they_have():
    pairs = [drawn(1), drawn(2)._replace(task="boolq", second="large")]
    _check([FALL, Gate("acc", task="boolq", fall=0.1), Gate("acc", second="large", fall=0.2)], pairs)
    there = "there are acc of second in arc, acc of large in boolq"
    for gate, wrong in (
        (Gate("accc", fall=0.1), "gates[1].score=accc: the logs have none"),
        (Gate("acc", task="ark", fall=0.1), "gates[1].score=acc: the logs have none in ark"),
        (Gate("acc", task="arc", second="large", fall=0.1), "gates[1].score=acc: the logs have none of large in arc"),
    ):
        with pytest.raises(ConfigError, match=re.escape(f"{wrong}; {there}")):
            _check([FALL, gate], pairs)
    with pytest.raises(ConfigError, match=re.escape("gates[1]: says what gates[0] says; leave one of them out")):
        _check([FALL, replace(FALL, task="arc", level=0.01)], pairs)


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def nights(configured, outcome_of, tmp_path):
    """Runs `compare` on the logs of a night; gives its exit status and what it left."""

    def run(night, *gates, fall=0.0, settings=()):
        rng = np.random.default_rng(night)
        for side, chance in (("first", 0.8), ("second", 0.8 - fall)):
            right = rng.random(300) < chance
            lines = [json.dumps({"doc_id": place, "acc": float(is_right)}) for place, is_right in enumerate(right)]
            (tmp_path / f"{side}.jsonl").write_text("\n".join(lines))
        places = [f"logs.{side}={tmp_path}/{side}.jsonl" for side in ("first", "second")]
        place = tmp_path / f"night{night}-{len([*tmp_path.iterdir()])}"
        command = ["job=compare", *places, f"store={tmp_path}/store", f"run_dir={place}", f"gates=[{', '.join(gates)}]"]
        config, code = configured(*command, *settings), 0
        try:
            with exit_status():
                execute(config)
        except SystemExit as ended:
            code = ended.code
        return code, outcome_of(place)

    return run


GATE = "{score: acc, fall: 0.1, nights: 10, level: 0.2}"
LIMIT = "{score: acc, kind: at_least, limit: 0.5, rule: single, level: 0.01}"


@pytest.mark.long
def test_nights_of_a_series_add_up_and_a_gate_that_fails_ends_the_command_after_all_is_written(nights, capsys):
    told, codes = [], []
    for night, fall in enumerate([0.0, 0.08, 0.08, 0.0]):
        code, run = nights(night, GATE, LIMIT, fall=fall)
        codes.append(code)
        told += [f"\n# night {night}: {code}, {run.record['status']}"]
        for row in run.rows("gates"):
            known = {name: value for name, value in row.items() if value is not None and "items" not in name}
            told.append(
                "; ".join(
                    f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}"
                    for name, value in known.items()
                )
            )
        said, page = capsys.readouterr(), (run.path / "report.html").read_text()
        junit = JUnitXml.fromfile(str(run.path / "exports/junit.xml"))
        assert junit.failures == (code == 3)
        for row in run.rows("gates"):
            assert row["sentence"] in page
            assert row["sentence"] in " ".join(said.out.split())
            if row["verdict"] == "failed":
                assert row["sentence"] in [case.result[0].text for suite in junit for case in suite if case.result]
                assert row["sentence"].removesuffix(".") in said.err
        assert run.published >= {"systems", "gates"}
    assert codes == [0, 0, 3, 0]
    check_text(Path(__file__), "gates_of_logs", told)
    assert "setting" not in run.record["changes"]


@pytest.mark.long
def test_the_level_is_shared_by_the_gates_of_a_file_and_a_series_goes_on_by_its_name(nights):
    _, run = nights(1, GATE, settings=["series=mine"])
    [row] = run.rows("gates")
    assert (row["level"], row["threshold"], row["night"]) == (0.2, pytest.approx(50), 1)
    _, run = nights(2, GATE, LIMIT, settings=["series=mine"])
    row, limit = run.rows("gates")
    assert (row["level"], row["threshold"], row["night"]) == (0.1, pytest.approx(100), 2)
    assert (limit["level"], limit["night"]) == (0.005, 1)
    _, run = nights(3, GATE)
    assert run.rows("gates")[0]["night"] == 1
    _, again = nights(2, GATE, LIMIT, settings=["series=mine"])
    assert [row["night"] for row in again.rows("gates")] == [2, 1]


def test_a_gate_on_no_score_ends_before_a_table_is_written(nights):
    code, run = nights(1, "{score: acc, task: arc, fall: 0.1}")
    assert (code, run.published, run.record["status"]) == (2, set(), "failed")
    assert (
        "gates[0].score=acc: the logs have none in arc; there are acc of second in items"
        in run.record["error"]["error"]
    )


@pytest.mark.long
def test_every_kind_and_rule_stand_in_one_file(nights):
    gates = [
        "{score: acc, kind: non_inferior, margin: 0.3}",
        "{score: acc, kind: equivalent, margin: 0.001}",
        "{score: acc, kind: at_most, limit: 0.95, fall: 0.1, rule: e_detector}",
        "{score: acc, rule: confirm, baseline: exact, task: items, second: second}",
        "{score: acc, rule: spending, baseline: stored}",
    ]
    code, run = nights(1, *gates)
    verdicts = {row["fails_if"]: row["verdict"] for row in run.rows("gates")}
    assert verdicts == {
        "is not shown to be less than 0.3 worse by single": "passed",
        "is not shown to be within 0.001 by single": "failed",
        "lies above 0.95 by e_detector, fall to catch 0.1": "passed",
        "falls by confirm, baseline exact": "passed",
        "falls by spending, baseline stored": "not_judged",
    }
    assert code == 3
    junit = JUnitXml.fromfile(str(run.path / "exports/junit.xml"))
    assert (junit.tests, junit.failures) == (6, 2)


# --- nights of jobs -------------------------------------------------------------------------------------------------


@pytest.fixture
def reading(configured, outcome_of, tmp_path):
    """Runs a night whose job compares logs by a gate of its own; gives its exit status and what it left."""
    logs = " ".join(f"logs.{side}={tmp_path}/{side}.jsonl" for side in ("first", "second"))
    line = f"reading: >-\n  job=compare {logs} 'gates=[{{score: acc, rule: single}}]'"

    def run(night, fall, *gates):
        (tmp_path / "night.yaml").write_text(line)
        rng = np.random.default_rng(night)
        for side, chance in (("first", 0.8), ("second", 0.8 - fall)):
            answers = [{"doc_id": place, "acc": float(rng.random() < chance)} for place in range(200)]
            (tmp_path / f"{side}.jsonl").write_text("\n".join(map(json.dumps, answers)))
        command = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store"]
        config, code = configured(*command, f"fail_if=[{', '.join(gates)}]", f"run_dir={tmp_path}/{night}"), 0
        try:
            with exit_status():
                execute(config)
        except SystemExit as stopped:
            code = stopped.code
        return code, outcome_of(tmp_path / str(night))

    return run


@pytest.mark.long
def test_a_comparison_is_a_job_of_a_night_with_its_gates(reading):
    """Its system has fallen, and a bound on a number of its own is crossed for sure."""
    surely = "{name: reading, table: systems, column: difference, at_least: -0.1, sure: true}"
    code, night = reading(1, 0.4, surely, "{table: systems, column: second, at_least: 0.3, at_most: 0.9}")
    assert (code, night.rows("jobs")[0]["status"]) == (3, "ok")
    surely, within, judged_itself = night.rows("gates")
    assert [row["verdict"] for row in (surely, within, judged_itself)] == ["failed", "passed", "failed"]
    job = replace(night, path=night.path / "runs/reading")
    [system], [gate] = job.rows("systems"), job.rows("gates")
    assert system["difference_high"] < -0.1
    assert (surely["after"], surely["num_failed"], surely["num_compared"]) == (system["difference"], 1, 1)
    assert surely["fails_if"] == "a number lies with all of its interval below −0.1"
    assert surely["sentence"].startswith("systems: difference of task items, score acc, first_system first")
    assert judged_itself["sentence"] == gate["sentence"]
    assert (judged_itself["fails_if"], judged_itself["column"]) == ("falls by single", "acc of second in items")
    junit = JUnitXml.fromfile(str(night.path / "exports/junit.xml"))
    assert (junit.failures, junit.errors) == (2, 0)
    assert "acc of second in items: fails if it falls by single" in {case.name for suite in junit for case in suite}
    assert gate["sentence"] in (night.path / "report.html").read_text()


@pytest.mark.slow
def test_a_comparison_is_compared_with_that_of_the_last_night_slow(reading):
    assert reading(1, 0.0)[0] == 0
    _, night = reading(2, 0.0)
    [row] = night.rows("jobs")
    assert row["compared_with"] is not None
    assert len(night.rows("changes", kind="input")) == 2

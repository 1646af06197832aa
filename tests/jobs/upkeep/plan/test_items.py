"""What a comparison of two systems would show, planned from logs."""

import json

import numpy as np
import pytest
from scipy import stats

from tiltmeter.jobs.runtime.config import ConfigError


@pytest.fixture
def written(tmp_path):
    """Writes a log of each system, one repeat of 200 items of 40 templates."""
    rng = np.random.default_rng(0)
    ease = np.repeat(rng.random(40), 5)
    for side, lead in (("one", 0.0), ("other", 0.1)):
        right = rng.random(200) < np.clip(ease + lead, 0, 1)
        lines = [{"doc_id": n, "doc": {"template": n // 5}, "acc": float(acc)} for n, acc in enumerate(right)]
        (tmp_path / f"{side}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {side: tmp_path / f"{side}.jsonl" for side in ("one", "other")}


@pytest.fixture
def plan(run_here, tmp_path, written):
    def run(*words):
        return run_here("job=plan", "job.of=compare", f"store={tmp_path}/store", f"run_dir={tmp_path}/found", *words)

    return run


def scores(path):
    return np.array([json.loads(line)["acc"] for line in path.read_text().splitlines()])


@pytest.mark.once("plan")
def test_what_items_would_show_is_planned_from_two_logs(plan, written):
    paths = [f"logs.first='{written['one']}'", f"logs.second='{written['other']}'"]
    rows = plan(*paths, "logs.wanted=0.05", "logs.items=500").rows("plan_items")
    assert [(row["num_items"], row["num_repeats"], row["is_planned"]) for row in rows] == [
        (num, 1, num == 500) for num in (100, 300, 500, 1000, 3000, 10_000)
    ]
    spread = np.var(scores(written["other"]) - scores(written["one"]), ddof=1)
    row = next(row for row in rows if row["is_planned"])
    assert row["sd"] == pytest.approx(np.sqrt(spread / 500))
    reach = stats.t.ppf(0.975, 499) + stats.t.ppf(0.8, 499)
    assert row["smallest_detectable"] == pytest.approx(reach * row["sd"])
    critical = stats.t.ppf(0.975, 499)
    shift = 0.05 / row["sd"]
    assert row["power"] == pytest.approx(stats.nct.sf(critical, 499, shift) + stats.nct.cdf(-critical, 499, shift))
    assert row["items_wanted"] == pytest.approx(2.8016**2 * spread / 0.05**2, rel=0.01)
    assert row["pass_rate"] == pytest.approx(stats.norm.cdf(shift - stats.norm.ppf(0.95)))
    assert row["basis"].startswith("differences of both logs; with one repeat noise can't be told")


def test_one_log_is_planned_with_a_second_system_like_it(plan, written):
    made = plan(f"logs.first='{written['one']}'", "logs.cluster=doc.template")
    rows = made.rows("plan_items", is_planned=True)
    right = scores(written["one"])
    sums = (right - right.mean()).reshape(40, 5).sum(axis=1)
    clustered = 40 / 39 * np.square(sums).sum() / 200**2
    assert [row["correlation"] for row in rows] == [0.0, 0.5, 0.9]
    assert [row["sd"] for row in rows] == pytest.approx(np.sqrt(2 * clustered * np.array([1.0, 0.5, 0.1])))
    design = clustered / (right.var(ddof=1) / 200)
    assert rows[0]["cluster_correlation"] == pytest.approx((design - 1) / 4)
    assert rows[0]["smallest_detectable"] == pytest.approx(
        (stats.t.ppf(0.975, 39) + stats.t.ppf(0.8, 39)) * rows[0]["sd"]
    )


def test_a_gate_that_equal_systems_would_not_pass_is_said(plan, written, capsys):
    paths = [f"logs.first='{written['one']}'", f"logs.second='{written['other']}'"]
    plan(*paths, "logs.wanted=0.01")
    assert "under 95%: a gate of every nightly run would fail by itself" in " ".join(capsys.readouterr().out.split())


def test_logs_that_are_alike_say_nothing_of_others(plan, written, tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(written["one"].read_bytes())
    [row] = plan(f"logs.first='{written['one']}'", f"logs.second='{copy}'").rows("plan_items")
    assert (row["status"], row["sd"], row["num_items"]) == ("no_spread", None, 200)


def test_two_runs_are_not_planned(plan):
    with pytest.raises(ConfigError, match=r"job.of=compare: what two runs differ in needs no plan; set logs.first"):
        plan("runs=[a,b]")

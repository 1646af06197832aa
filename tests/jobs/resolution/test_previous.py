"""A run after another one: ids that stay, a ledger of those that do not, and what is solved anew."""

import json
from dataclasses import replace

import polars as pl
import pytest

from tests.fixtures.problems import Resolved, ledger
from tests.jobs.resolution.test_entity_resolution import SEED, check_explanations, drawn
from tiltmeter.jobs.report.wording import duration
from tiltmeter.jobs.runtime.config import ConfigError

STAY = [("u1", "u2", 0.7), ("u2", "u3", -0.2), ("u1", "u3", 0.4), ("t1", "t2", 0.3)]
"""Pairs that stay as they are."""

LOOSE = [
    ("v1", "v2", 0.6),
    ("v2", "v3", 0.5),
    ("v1", "v3", -0.9),
    ("w1", "w2", 0.8),
    ("y1", "y2", 0.9),
    ("z1", "z2", 1.0),
]
LOOSE += [("f1", "f2", -0.5), ("f1", "f3", -0.4), ("f2", "f3", -0.3)]
"""Pairs of records that are to be one, of which the first goes, which go, of which the last goes, and that turn."""

BEFORE = Resolved([*drawn(SEED), *STAY, *LOOSE], "zero", must=[("x", "d")])


def changed(rows):
    """What a record has with others is turned, some are gone, others are new, and r moves to another cluster."""
    kept = [
        (one, other, -weight if ("b" in (one, other) and weight > -1.0) or one[0] == "f" else weight)
        for one, other, weight in rows
    ]
    kept = [row for row in kept if not {*row[:2]} & {"y1", "y2", "w1", "r", "z2"}]
    new = [("a0", "a1", 0.5), ("w0", "w2", 0.8), ("z1", "z3", 0.5), ("r", "n", 3.0), ("r", "a", 0.5)]
    return [*reversed(kept), *new]


ROWS = changed(BEFORE.rows)
GOLD = {end: sum(end.encode()) % 4 for row in ROWS for end in row[:2]}
AFTER = Resolved(ROWS, "zero", gold=GOLD, must=[("x", "d"), ("v1", "v3")])
PAIRS, QUESTIONS = [("u1", "u3"), ("n", "r")], [("h", 1), ("v1", 0)]


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory):
    """Runs the job on what is to be resolved, each time in a store of its own."""

    def run(resolved, *settings, run_job=run_here):
        place = tmp_path_factory.mktemp("previous")
        pl.DataFrame(resolved.rows, ["left", "right", "weight"], orient="row").write_parquet(place / "pairs.parquet")
        must = json.dumps(resolved.must).replace('"', "")
        common = ("job=entity_resolution", f"pairs={place}/pairs.parquet", f"must_link={must}", "missing=zero")
        if resolved.gold:
            pl.DataFrame([*resolved.gold.items()], ["record", "cluster"], orient="row").write_csv(place / "gold.csv")
            settings = (*settings, f"gold={place}/gold.csv")
        return run_job(*common, f"store={place}/store", f"run_dir={place}/run", *settings)

    return run


@pytest.fixture(scope="module")
def runs(resolve):
    """One, another after it, and one after that on the pairs of the first."""
    first = resolve(BEFORE)
    asked = [f"{{record: {one}, other: {other}}}" for one, other in PAIRS]
    asked += [f"{{record: {one}, cluster: {number}}}" for one, number in QUESTIONS]
    again = resolve(AFTER, f"previous={first.path}", f"explain=[{', '.join(asked)}]")
    return first, again, resolve(BEFORE, f"previous={again.path}")


def ids_of(outcome):
    return {row["record"]: row["id"] for row in outcome.rows("clusters")}


@pytest.mark.once("entity_resolution")
def test_a_run_after_another_finds_what_one_alone_does(runs):
    again = runs[1]
    assert {row["record"]: row["cluster"] for row in again.rows("clusters")} == AFTER.cluster
    for row, wanted in zip(again.rows("components"), AFTER.component_rows(), strict=True):
        assert {name: row[name] for name in wanted} == pytest.approx(wanted, abs=1e-5)
    check_explanations(again, AFTER, AFTER.explanation_rows() | AFTER.asked_rows(PAIRS, QUESTIONS))
    plain = {kind: rows for kind, rows in BEFORE.explanation_rows().items() if rows}
    assert plain.keys() == {"merge", "near_miss", "split_pair", "joined_pair"}
    check_explanations(runs[2], BEFORE, plain)


def test_only_components_that_changed_are_solved(resolve, runs):
    first, again, _ = runs
    before = [BEFORE.content(records) for records in BEFORE.components]
    same = [AFTER.content(records) in before for records in AFTER.components]
    assert [row["is_reused"] for row in again.rows("components")] == same
    assert {AFTER.components[place][0] for place in range(len(same)) if same[place]} == {"t1", "u1"}
    [counts] = again.rows("ledger_counts")
    assert (counts["num_reused"], counts["num_solved"]) == (same.count(True), same.count(False))
    solved = {row["component"]: row["seconds"] for row in first.rows("components")}
    reused = [row["seconds"] for row in again.rows("components", is_reused=True)]
    assert {*reused} <= {*solved.values()}
    seconds = sum(row["seconds"] for row in again.rows("components", is_reused=False))
    assert f"Solving took {duration(seconds)} in all; " in (again.path / "report.html").read_text()
    other = resolve(BEFORE, f"previous={first.path}", "solver=local_search")
    assert not any(row["is_reused"] for row in other.rows("components"))


@pytest.mark.parametrize("place", [1, 2])
def test_ids_stay_and_the_ledger_says_what_became_of_every_record(runs, place):
    before, outcome = runs[place - 1], runs[place]
    earlier, next_id = ids_of(before), before.rows("ledger_counts")[0]["next_id"]
    numbers = {row["record"]: row["cluster"] for row in outcome.rows("clusters")}
    ids, flows = ledger(earlier, numbers, next_id)
    later = {record: ids[number] for record, number in numbers.items()}
    assert ids_of(outcome) == later
    names = ("before", "after", "num_records", "num_before", "num_after", "event")
    rows = [tuple(row[name] for name in names) for row in outcome.rows("ledger")]
    assert sorted(rows, key=str) == sorted(flows, key=str)
    moved = {
        record: (earlier[record], later[record])
        for record in earlier.keys() & later
        if earlier[record] != later[record]
    }
    events = {flow[:2]: flow[-1] for flow in flows}
    assert {row["record"]: (row["before"], row["after"], row["event"]) for row in outcome.rows("moved_records")} == {
        record: (*ends, events[ends]) for record, ends in moved.items()
    }
    kept = [flow for flow in flows if flow[-1] == "kept"]
    fresh = {flow[1] for flow in flows if flow[-1] == "new"} - {flow[1] for flow in flows if flow[0] is not None}
    [counts] = outcome.rows("ledger_counts")
    assert {name: counts[name] for name in counts if name not in ("graph", "num_reused", "num_solved")} == {
        "num_kept": len(kept),
        "num_unchanged": sum(num == num_before == num_after for _, _, num, num_before, num_after, _ in kept),
        "num_merged": len({flow[0] for flow in flows if flow[-1] == "merged"}),
        "num_split": len({flow[0] for flow in flows if flow[-1] == "split"}),
        "num_new": len(fresh),
        "num_vanished": sum(flow[-1] == "vanished" and flow[2] == flow[3] for flow in flows),
        "next_id": max(next_id, max(later.values()) + 1),
    }
    assert {"kept", "new", "vanished", "split"} <= {flow[-1] for flow in flows}
    merged = [flow for flow in flows if flow[-1] == "merged"]
    assert place == 2 or len({flow[0] for flow in merged}) > len({flow[1] for flow in merged})
    assert "moved to a cluster of another id" in (outcome.path / "report.html").read_text()
    exported = pl.read_csv(outcome.path / "exports/clusters.csv")
    assert dict(exported.select("record", "cluster_id").iter_rows()) == later


def test_an_id_of_a_cluster_that_is_gone_never_comes_again(resolve, runs):
    first, _, _ = runs
    fewer = resolve(replace(BEFORE, rows=[row for row in BEFORE.rows if "z1" not in row]), f"previous={first.path}")
    assert max(ids_of(fewer).values()) < max(ids_of(first).values())
    assert fewer.rows("ledger_counts")[0]["next_id"] == first.rows("ledger_counts")[0]["next_id"]


def test_a_previous_run_of_other_records_is_refused(resolve, runs):
    others = replace(
        BEFORE, rows=[(f"x{one}", f"x{other}", weight) for one, other, weight in BEFORE.rows], must=[("xa", "xb")]
    )
    with pytest.raises(ConfigError, match=r"previous=.*: none of its records is in this run"):
        resolve(others, f"previous={runs[0].path}")


@pytest.mark.parametrize(
    "num_workers", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_any_layout_gives_the_same_ids_and_ledger(num_workers, resolve, run_job, runs, monkeypatch):
    first, again, _ = runs
    # A bundle for each component, dealt to any number of workers.
    monkeypatch.setattr("tiltmeter.jobs.resolution.partitions._PAIRS_OF_A_BUNDLE", 1)
    other = resolve(AFTER, f"previous={first.path}", f"cluster.num_cpus={num_workers}", run_job=run_job)
    assert other.num_done("solve") > again.num_done("solve")
    for name in ("clusters", "ledger", "ledger_counts"):
        assert other.digests[name] == again.digests[name]

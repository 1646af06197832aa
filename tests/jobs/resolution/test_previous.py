"""A run after another one: ids that stay, a ledger of those that do not, and what is solved anew."""

import numpy as np
import polars as pl
import pytest

from tiltmeter.jobs.report.wording import duration
from tiltmeter.jobs.runtime.config import ConfigError

NUM_FAMILIES = 12
MOVING, NEXT_FAMILY = "r133", [f"r{number}" for number in range(134, 140)]


def drawn_pairs(seed=0):
    """Pairs of families of 2 to 6 records, and a few between neighbours, of either sign."""
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(NUM_FAMILIES), 2 + np.arange(NUM_FAMILIES) % 5)
    left, right = np.triu_indices(family.size, 1)
    near = (family[left] == family[right]) | ((family[right] - family[left] == 1) & (rng.random(left.size) < 0.3))
    left, right = left[near], right[near]
    weights = np.where(family[left] == family[right], 0.5, -0.4) + rng.normal(0, 0.35, left.size)
    return pl.DataFrame({"left": left, "right": right, "weight": weights.round(3)}).select(
        pl.format("r{}", pl.col("left") + 100).alias("left"),
        pl.format("r{}", pl.col("right") + 100).alias("right"),
        "weight",
    )


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory):
    """Runs the job on pairs, each time in a store of its own."""

    def run(pairs, *settings, run_job=run_here):
        place = tmp_path_factory.mktemp("previous")
        pairs.write_parquet(place / "pairs.parquet")
        common = (
            "job=entity_resolution",
            f"pairs={place}/pairs.parquet",
            f"store={place}/store",
            f"run_dir={place}/run",
        )
        return run_job(*common, *settings)

    return run


def changed(pairs):
    """Some pairs weigh something else, a record is gone, one is new, and one moves to the next family."""
    gone = (pl.col("left") == "r101") | (pl.col("right") == "r101") | (pl.col("left") == MOVING)
    left = pl.when(pl.col("right") == MOVING).then(-0.9).otherwise("weight")
    other = pl.when(pl.col("left").is_in(["r100", "r117"])).then(-pl.col("weight")).otherwise(left)
    new = pl.DataFrame({"left": ["new", "new"], "right": ["r120", "r121"], "weight": [0.9, 0.8]})
    joined = pl.DataFrame({"left": [MOVING] * 6, "right": NEXT_FAMILY, "weight": [0.9] * 6})
    return pl.concat([pairs.filter(~gone).with_columns(weight=other), new, joined])


@pytest.fixture(scope="module")
def runs(resolve):
    first = resolve(drawn_pairs())
    again = resolve(changed(drawn_pairs()).sample(fraction=1.0, shuffle=True, seed=1), f"previous={first.path}")
    return first, again, resolve(changed(drawn_pairs()))


def frame(outcome, name, *drop):
    return pl.read_parquet(outcome.path / f"{name}.parquet").drop(drop)


def test_a_run_after_another_finds_what_one_alone_does(runs):
    _, again, alone = runs
    for name, drop in {
        "clusters": ["id"],
        "components": ["seconds", "is_reused"],
        "explanations": [],
        "pair_counts": [],
    }.items():
        assert frame(again, name, *drop).equals(frame(alone, name, *drop)), name


@pytest.mark.parametrize("pairs", [drawn_pairs(), changed(drawn_pairs())], ids=["unchanged", "changed"])
def test_gold_and_questions_are_of_all_components_solved_or_not(pairs, resolve, runs, tmp_path):
    records = pl.concat([pairs["left"], pairs["right"]]).unique().sort()
    gold = pl.DataFrame({"record": records, "cluster": np.arange(records.len()) // 3})
    gold.write_parquet(tmp_path / "gold.parquet")
    settings = f"gold={tmp_path}/gold.parquet", "explain=[{record: r110, other: r111}, {record: r120, cluster: 0}]"
    again, alone = resolve(pairs, *settings, f"previous={runs[0].path}"), resolve(pairs, *settings)
    assert frame(again, "explanations").equals(frame(alone, "explanations"))
    assert {"merge", "false_merge", "asked", "asked_pair"} <= set(frame(again, "explanations")["kind"])


def test_only_components_that_changed_are_solved(runs):
    first, again, _ = runs
    before, now = (
        frame(run, "clusters").group_by("component").agg(pl.col("record").sort()).sort("component")
        for run in (first, again)
    )
    # Of these records, pairs changed; a component without any of them is the one that it was.
    touched = (
        {"r100", "r101", "r117", "new"}
        | set(
            drawn_pairs()
            .filter(pl.any_horizontal(pl.col("left", "right").is_in(["r100", "r101", "r117"])))
            .select("left", "right")
            .unpivot()["value"]
        )
        | {"r120", "r121", MOVING, *NEXT_FAMILY}
    )
    same = [set(records) for records in before["record"] if not touched & set(records)]
    reused = frame(again, "components").filter("is_reused")["component"]
    taken = [set(now["record"][number]) for number in reused]
    assert 0 < len(same) <= len(taken)
    assert all(records in taken for records in same)
    [counts] = again.rows("ledger_counts")
    assert (counts["num_reused"], counts["num_solved"]) == (len(taken), now.height - len(taken))


def test_ids_stay_and_the_ledger_says_what_became_of_every_record(runs):
    first, again, _ = runs
    before, after = (frame(run, "clusters").select("record", "id") for run in (first, again))
    ledger = frame(again, "ledger")
    flows = before.join(after, on="record", how="full", coalesce=True, suffix="_after").group_by("id", "id_after").len()
    told = ledger.select("before", "after", "num_records").rows()
    assert sorted(told, key=str) == sorted(flows.rows(), key=str)
    members = [frame_.group_by("id").agg(pl.col("record").sort()) for frame_ in (before, after)]
    unchanged = members[0].join(members[1], on="record", suffix="_after")
    assert (unchanged["id"] == unchanged["id_after"]).all()
    [counts] = again.rows("ledger_counts")
    assert counts["num_unchanged"] == unchanged.height > 0
    assert counts["num_kept"] == len(set(before["id"]) & set(after["id"]))
    new = set(after["id"]) - set(before["id"])
    assert all(id_ >= first.rows("ledger_counts")[0]["next_id"] for id_ in new)
    assert "r101" in before["record"]
    assert "r101" not in after["record"]
    assert {"vanished", "new", "kept", "split"} <= set(ledger["event"])


def test_a_record_that_moves_between_clusters_that_live_on_is_a_split_and_listed(runs):
    first, again, _ = runs
    [counts] = again.rows("ledger_counts")
    ledger, moved = frame(again, "ledger"), {row["record"]: row for row in again.rows("moved_records")}
    for event in ("split", "merged"):
        assert counts[f"num_{event}"] == ledger.filter(event=event)["before"].n_unique()
    row = moved[MOVING]
    assert row["event"] == "split"
    assert {row["before"], row["after"]} <= set(frame(first, "clusters")["id"]), "both were there before"
    sides = [dict(frame(run, "clusters").select("record", "id").rows()) for run in (first, again)]
    both = sides[0].keys() & sides[1].keys()
    changed_ids = {record: (sides[0][record], sides[1][record]) for record in both}
    expected = {record: ids for record, ids in changed_ids.items() if ids[0] != ids[1]}
    assert {record: (row["before"], row["after"]) for record, row in moved.items()} == expected
    report = (again.path / "report.html").read_text()
    assert "moved to a cluster of another id" in report


def test_times_are_those_of_this_run(resolve, runs):
    first, again, _ = runs
    same = resolve(drawn_pairs(), f"previous={first.path}")
    assert "Solving took" not in (same.path / "report.html").read_text()
    components = frame(again, "components")
    seconds = components.filter(~pl.col("is_reused"))["seconds"].sum()
    assert 0 < seconds < components["seconds"].sum()
    assert f"Solving took {duration(seconds)} in all; " in (again.path / "report.html").read_text()


def test_an_id_that_was_given_never_comes_again(resolve, runs):
    _, again, _ = runs
    third = resolve(drawn_pairs(), f"previous={again.path}")
    ids = set(frame(third, "clusters")["id"])
    [before], [now] = again.rows("ledger_counts"), third.rows("ledger_counts")
    assert now["next_id"] >= before["next_id"]
    assert all(id_ in set(frame(again, "clusters")["id"]) or id_ >= before["next_id"] for id_ in ids)
    exported = pl.read_csv(third.path / "exports/clusters.csv")
    assert exported["cluster_id"].to_list() == frame(third, "clusters")["id"].to_list()


def test_a_previous_run_that_is_none_or_another_is_refused_with_the_key(resolve, runs, tmp_path):
    first, _, _ = runs
    pairs = drawn_pairs()
    with pytest.raises(ConfigError, match=r"previous=.*: is no run directory: its run.json can't be read"):
        resolve(pairs, f"previous={tmp_path}")
    (tmp_path / "run.json").write_text('{"job": "survey", "status": "succeeded", "tables": {}}')
    with pytest.raises(ConfigError, match=r"previous=.*: is a run of survey; name one of entity_resolution"):
        resolve(pairs, f"previous={tmp_path}")
    (tmp_path / "run.json").write_text('{"job": "entity_resolution", "status": "failed", "tables": {}}')
    with pytest.raises(ConfigError, match=r"previous=.*: has the status 'failed'"):
        resolve(pairs, f"previous={tmp_path}")
    (tmp_path / "run.json").write_text('{"job": "entity_resolution", "status": "succeeded", "tables": {}}')
    with pytest.raises(ConfigError, match=r"previous=.*: has no ids in its table clusters"):
        resolve(pairs, f"previous={tmp_path}")
    others = pairs.with_columns(left="x" + pl.col("left"), right="x" + pl.col("right"))
    with pytest.raises(ConfigError, match=r"previous=.*: none of its records is in this run"):
        resolve(others, f"previous={first.path}")


@pytest.mark.parametrize(
    "num_workers", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_any_layout_gives_the_same_ids_and_ledger(num_workers, resolve, run_job, runs, monkeypatch):
    first, again, _ = runs
    # A bundle for each component, dealt to any number of workers.
    monkeypatch.setattr("tiltmeter.jobs.resolution.solving._PAIRS_OF_A_BUNDLE", 1)
    other = resolve(
        changed(drawn_pairs()), f"previous={first.path}", f"cluster.num_cpus={num_workers}", run_job=run_job
    )
    assert other.num_done("solve") > again.num_done("solve")
    for name in ("clusters", "ledger", "ledger_counts", "explanations"):
        assert other.digests[name] == again.digests[name]

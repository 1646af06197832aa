"""Nights of messy records, each against a run on all of its records; and one record against a run with it."""

import json
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tiltmeter.jobs
from tests.fixtures.people import BLOCKING, FIELDS, frame, made, next_night, person, seen_again
from tiltmeter.jobs.resolution.records.lookup import StandingRecords, lookup_words
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import Refusal

NUM_NIGHTS = 3
RARE = FIELDS | {"city": {"kind": "exact", "term_frequency": True}}
BEFORE, GOLD = made(60, 7)


def written(value):
    return json.dumps(value).replace('"', "")


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory):
    """Runs the job on records, each time in a store and directory of its own."""
    folder = tmp_path_factory.mktemp("nights")
    pl.DataFrame([*GOLD.items()], ["record", "cluster"], orient="row").write_csv(folder / "gold.csv")

    def run(records, *settings, run_job=run_here, place=None):
        place = place or tmp_path_factory.mktemp("night")
        if not (place / "records.csv").exists():
            frame(records).write_csv(place / "records.csv")
        scorer = f"records.fields={written(RARE)}", f"records.blocking={written(BLOCKING)}", "records.threshold=0.001"
        common = "job=entity_resolution", "+records=csv", f"records.path={place}/records.csv", "missing=zero", *scorer
        return run_job(*common, f"gold={folder}/gold.csv", f"store={place}/store", f"run_dir={place}/run", *settings)

    run.gold = f"records.clusters={folder}/gold.csv"
    return run


@pytest.fixture(scope="module")
def nights(resolve):
    """Records of each night, the first run, those that follow each other, and runs on all records of each."""
    first = resolve(BEFORE, resolve.gold, "records.train_share=0.9")
    records, runs, cold = [BEFORE], [first], [first]
    for seed in range(NUM_NIGHTS):
        records.append(next_night(records[-1], 5, seed))
        runs.append(resolve(records[-1], f"records.model={runs[-1].path}", f"previous={runs[-1].path}"))
        cold.append(resolve(records[-1], f"records.model={first.path}"))
    return records, runs, cold


@pytest.mark.parametrize("place", range(1, NUM_NIGHTS + 1))
def test_a_night_finds_what_a_run_on_all_its_records_does_to_the_last_bit(nights, place):
    records, runs, cold = nights
    night, whole = runs[place], cold[place]
    same = ["agreements", "term_frequencies", "scored_pairs", "record_contents", "scorer", "pair_counts", "metrics"]
    assert [night.digests[name] for name in same] == [whole.digests[name] for name in same]
    for name, others in {"clusters": ["id"], "components": ["is_reused", "seconds"], "explanations": []}.items():
        ours, theirs = (pl.DataFrame(one.table(name)).drop(others) for one in (night, whole))
        assert_frame_equal(ours, theirs, check_exact=True)
    before, now = records[place - 1], records[place]
    changed = {key for key in before.keys() & now if before[key] != now[key]}
    touched = changed | (now.keys() ^ before)
    is_scored = [bool({row["left"], row["right"]} & touched) for row in night.rows("scored_pairs")]
    [counts] = night.rows("night_counts")
    assert counts == {
        "num_records": len(now),
        "num_new": len(now.keys() - before),
        "num_changed": len(changed),
        "num_removed": len(before.keys() - now),
        "num_kept": is_scored.count(False),
        "num_dropped": runs[place - 1].table("scored_pairs").num_rows - is_scored.count(False),
        "num_scored": is_scored.count(True),
        "share_scored": is_scored.count(True) / len(is_scored),
    }
    assert 0 < counts["num_scored"] < counts["num_kept"]


def test_clusters_that_merged_or_split_have_the_pairs_behind_them(nights):
    _, runs, _ = nights
    for before, night in pairwise(runs):
        rows = pl.DataFrame(night.table("ledger_pairs"))
        moves = pl.DataFrame(night.table("ledger")).filter(pl.col("event").is_in(["merged", "split"]))
        named = rows.select("before", "after").unique()
        assert named.join(moves, on=["before", "after"]).height == named.height > 0
        was, is_ = (
            {tuple(row[:2]): row[2] for row in pl.DataFrame(one.table("scored_pairs")).iter_rows()}
            for one in (before, night)
        )
        for row in rows.iter_rows(named=True):
            pair = row["left"], row["right"]
            assert (row["probability_before"], row["match_probability"]) == (was.get(pair), is_.get(pair))
            assert was.get(pair) != is_.get(pair)
        left, right = rows.row(0, named=True)["left"], rows.row(0, named=True)["right"]
        page = (night.path / "report.html").read_text()
        assert left in page
        assert right in page


def test_a_scorer_that_is_trained_anew_scores_all_pairs_anew_unless_it_is_the_same(nights, resolve):
    records, runs, _ = nights
    anew = resolve(records[1], resolve.gold, "records.train_share=0.9", f"previous={runs[0].path}")
    assert "night_counts" not in anew.published
    assert "All pairs were scored: the previous run has another scorer" in (anew.path / "report.html").read_text()
    again = resolve(BEFORE, resolve.gold, "records.train_share=0.9", f"previous={runs[0].path}")
    [counts] = again.rows("night_counts")
    assert (counts["num_kept"], counts["num_scored"]) == (again.table("scored_pairs").num_rows, 0)
    assert again.digests["clusters"] == runs[0].digests["clusters"]


# --- one record -----------------------------------------------------------------------------------------------------


def candidates(records, num, seed):
    """Records to look up: like one that is there, with the name of one and the phone of another, and of somebody."""
    rng = np.random.default_rng(seed)
    keys = rng.permutation([key for key, record in records.items() if record["name"] and record["phone"]])
    for place, (one, other) in enumerate(zip(keys[:num], keys[num : 2 * num], strict=True)):
        both = {"name": records[one]["name"], "phone": records[other]["phone"], "city": None, "born": None}
        record = [seen_again(records[one], rng, 0.15), both, person(rng)][place % 3]
        yield {"id": f"{'0~'[place % 2]}one", **record}


def asked(night, resolve, record, records, first):
    """What a run with the record did: its cluster, and what became of standing ones."""
    key = record["id"]
    later = {**records, key: {name: record[name] for name in FIELDS}}
    run = resolve(later, f"records.model={first.path}", f"previous={night.path}")
    clusters = {row["record"]: row for row in run.rows("clusters")}
    earlier = {row["record"]: row["id"] for row in night.rows("clusters")}
    others = [one for one, row in clusters.items() if row["id"] == clusters[key]["id"] and one != key]
    apart = {
        before: {clusters[one]["id"] for one, id_ in earlier.items() if id_ == before and one != key}
        for before in earlier.values()
    }
    return {
        "cluster": clusters[key]["id"] if others else None,
        "others": others,
        "merged": sorted({earlier[one] for one in others}),
        "split": sorted(before for before, ids in apart.items() if len(ids) > 1),
    }


@pytest.fixture(scope="module")
def standing(nights):
    return StandingRecords.of(nights[1][1].path)


@pytest.mark.slow
def test_a_look_up_answers_what_a_run_with_the_record_does(nights, resolve, standing):
    records, runs, _ = nights
    outcomes = []
    mixed = ([*candidates(records[1], 2, seed)][1] for seed in range(40))
    merging = next(record for record in mixed if standing.lookup(record).merged)
    for record in [merging, *candidates(records[1], 3, 4)]:
        answer = standing.lookup(record)
        wanted = asked(runs[1], resolve, record, records[1], runs[0])
        merged = wanted["merged"]
        assert (answer.cluster, answer.others, answer.split) == (wanted["cluster"], wanted["others"], wanted["split"])
        assert answer.merged == (merged if len(merged) > 1 else [])
        outcomes.append(min(len(merged), 2))
    assert {*outcomes} == {0, 1, 2}


def test_a_look_up_is_asked_in_words_and_says_why(nights, standing, tmp_path, monkeypatch):
    records, runs, _ = nights
    place, clusters = runs[1].path, pl.DataFrame(runs[1].table("clusters"))
    key = clusters.filter(pl.len().over("id") > 1)["record"][0]
    record = {name: value for name, value in records[1][key].items() if value is not None}
    answer = standing.lookup(record)
    assert (answer.record, answer.merged, answer.split) == ("The record", [], [])
    assert answer.others == clusters.filter(id=answer.cluster)["record"].to_list()
    assert key in answer.others
    for pair in (answer.closest, *(miss.closest for miss in answer.near_misses)):
        odds = np.log2(pair.match_probability / (1.0 - pair.match_probability))
        assert sum(bits for _, _, bits in pair.bits) == pytest.approx(odds, abs=1e-6)
        assert [name for name, _, _ in pair.bits] == ["prior", *FIELDS]
    (tmp_path / "record.json").write_text(json.dumps(record))
    monkeypatch.setattr("sys.stdin", (tmp_path / "record.json").open())
    words = (
        ["-"],
        [json.dumps(record)],
        [f"{tmp_path}/record.json"],
        [f"{name}={value}" for name, value in record.items()],
    )
    assert [lookup_words([str(place), *asked]) for asked in words] == [answer] * 4
    assert tiltmeter.jobs.lookup(place, record) == tiltmeter.jobs.lookup(standing, record) == answer
    assert f"The record would join cluster {answer.cluster} (" in str(answer)
    assert f"bits  phone: {answer.closest.bits[2][1]}" in str(answer)
    lone = standing.lookup({"name": "x"})
    assert (lone.cluster, lone.others, lone.has_keys) == (None, [], True)
    assert "compared with none" in str(standing.lookup({"city": "rome"}))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"nome": "x"}, "'nome' is no column that the scorer reads: these are id, name, phone, city, born"),
        ({"born": "soon"}, "the record can't be compared: record 'The record': born='soon': must be a date"),
        ({"id": "z1", "name": "x"}, "id='z1' is the id of a record that is there; leave it out"),
    ],
)
def test_a_record_that_can_not_be_compared_is_refused(standing, record, message):
    with pytest.raises(Refusal, match=message):
        standing.lookup(record)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "tiltmeter lookup: needs a run directory and a record"),
        (["RUN", "{"], "tiltmeter lookup: '{' is neither JSON nor a file with it: Expecting"),
        (
            ["RUN", "nowhere.json"],
            "tiltmeter lookup: 'nowhere.json' is neither JSON nor a file with it: .*No such file",
        ),
        (["RUN", "[1]="], "'\\[1\\]' is no column"),
        (["RUN", "{}", "{}"], "tiltmeter lookup: '{}' is not a record's values by column; give one record"),
        (["nowhere", "name=x"], "tiltmeter lookup /.*/nowhere: is no run directory: its run.json can't be read"),
    ],
)
def test_words_that_ask_for_no_record_are_refused(nights, words, message):
    with pytest.raises(Refusal, match=message):
        lookup_words([str(nights[1][1].path) if word == "RUN" else word for word in words])


def test_only_a_scorer_of_the_same_settings_is_taken(nights, resolve, run_here, tmp_path):
    records, runs, _ = nights
    for setting, message in {
        "records.threshold=0.5": "its scorer has records.threshold=0.001, and not 0.5; set the same, or leave",
        "records.blocking=[{phone: 2}]": r'its scorer has records.blocking=\[.*, and not \[\{"phone": 2\}\]; set',
    }.items():
        with pytest.raises(ConfigError, match=f"records.model={runs[0].path}: {message}"):
            resolve(records[1], f"records.model={runs[0].path}", setting)
    (tmp_path / "pairs.csv").write_text("left,right,weight\na,b,1\n")
    pairs = run_here(
        "job=entity_resolution", f"pairs={tmp_path}/pairs.csv", f"store={tmp_path}/s", f"run_dir={tmp_path}/run"
    )
    with pytest.raises(
        ConfigError, match=r"records.model=.*: has no scorer: it is of scored pairs, or of an earlier version"
    ):
        resolve(records[1], f"records.model={pairs.path}")
    with pytest.raises(ConfigError, match=r"tiltmeter lookup .*: has no scorer: it is of scored pairs"):
        StandingRecords.of(pairs.path)


def test_a_night_that_is_started_again_does_nothing_twice(nights, resolve):
    records, runs, _ = nights
    again = resolve(records[1], f"records.model={runs[0].path}", f"previous={runs[0].path}", place=runs[1].path.parent)
    assert again.digests == nights[1][1].digests
    assert all(stage["num_done"] == 0 for stage in again.record["stages"])


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_night(num_workers, nights, resolve, run_job):
    records, runs, _ = nights
    settings = f"records.model={runs[0].path}", f"previous={runs[0].path}", f"cluster.num_cpus={num_workers}"
    other = resolve(records[1], *settings, "records.num_parts=3", run_job=run_job)
    same = ["scored_pairs", "record_contents", "night_counts", "clusters", "ledger", "ledger_pairs", "explanations"]
    assert [other.digests[name] for name in same] == [runs[1].digests[name] for name in same]


def test_a_calibration_stands_with_its_scorer(resolve):
    """A night takes it, and a look-up answers by it."""
    settings = "records.calibration=beta", "records.train_share=0.5", "records.calibration_share=0.3"
    first = resolve(BEFORE, resolve.gold, *settings)
    standing = StandingRecords.of(first.path)
    answers = [(record, standing.lookup(record)) for record in candidates(BEFORE, 12, 4)]
    record, answer = next(one for one in answers if one[1].others and one[1].closest.match_probability < 0.999)
    later = {**BEFORE, record["id"]: {name: record[name] for name in FIELDS}}
    night = resolve(later, f"records.model={first.path}", f"previous={first.path}", *settings)
    fitted, raw = (first.rows("calibration", stage=stage)[0] for stage in ("calibrated", "raw"))
    assert night.rows("calibration") == [fitted]
    assert fitted["ece"] != raw["ece"]
    cluster = {row["record"]: row["id"] for row in night.rows("clusters")}
    assert cluster[record["id"]] == answer.cluster
    assert [one for one, id_ in cluster.items() if id_ == answer.cluster and one != record["id"]] == answer.others
    scores = {row["left"]: row for row in night.rows("scored_pairs", right=record["id"])}
    scores |= {row["right"]: row for row in night.rows("scored_pairs", left=record["id"])}
    score = scores[answer.closest.other]["match_probability"]
    c, a, b = fitted["parameters"]
    odds = c + a * np.log(score) - b * np.log1p(-score) + fitted["shift"]
    assert answer.closest.match_probability == pytest.approx(1.0 / (1.0 + np.exp(-odds)))
    assert answer.closest.match_probability != pytest.approx(score, abs=1e-3)
    bits = {name: value for name, _, value in answer.closest.bits}
    assert sum(bits.values()) == pytest.approx(odds / np.log(2.0))
    assert bits["calibration"] == pytest.approx((odds - np.log(score / (1.0 - score))) / np.log(2.0))

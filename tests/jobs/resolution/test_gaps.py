"""All pairs within components: a look-up against all records at once, nights against cold runs."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.fixtures.people import FIELDS, frame, next_night
from tests.jobs.resolution.test_nights import candidates, written
from tests.operators.resolution.records.test_gaps import CONFIG, by_networkx, seen_often
from tiltmeter.jobs.resolution.partitions import SolverSettings
from tiltmeter.jobs.resolution.records.lookup import StandingRecords
from tiltmeter.operators.resolution import partition, score_pairs, train_scorer, weights_of
from tiltmeter.operators.resolution.records.columns import prepare
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled
from tiltmeter.operators.resolution.records.scorer import Scorer

BEFORE, GOLD = seen_often(30, 3)
MANY, PEOPLE = seen_often(60, 3)
EVERY = Scorer(fields=FIELDS, blocking=[{"one": None}])
CLUSTERS = pl.DataFrame([*GOLD.items()], ["record", "cluster"], orient="row")


# --- one record -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learnt():
    return train_scorer(frame(BEFORE), draw_labelled(frame(BEFORE), CLUSTERS, CONFIG, 0), CONFIG)


def resolved(records, learnt, most):
    """Of all records at once ``left, right, match_probability`` by the rules, those within components by networkx, and
    the cluster of each record."""
    records = frame(records).with_columns(one=pl.lit("1"))
    proposed = score_pairs(records, learnt, CONFIG)
    gaps = pl.DataFrame(by_networkx(proposed, most or 0)[0], proposed.schema.names()[:2], orient="row")
    within = score_pairs(records, learnt, EVERY).join(gaps, on=["left", "right"], how="semi") if gaps.height else gaps
    pairs = pl.concat([proposed, within]) if gaps.height else proposed
    weights = weights_of(pairs["match_probability"].to_numpy())
    found = partition(pairs["left"].to_list(), pairs["right"].to_list(), weights, missing="zero")
    assert found.status == "proven"
    alone = sorted({*records["id"]} - {*found.records.tolist()})
    cluster = dict(zip(found.records.tolist(), found.clusters.tolist(), strict=True))
    return proposed, within, cluster | {record: -1 - place for place, record in enumerate(alone)}


def standing_of(records, learnt, most):
    """As a run leaves them."""
    proposed, within, cluster = resolved(records, learnt, most)
    component = {record: record for record in records}
    for left, right, p in proposed.iter_rows():
        if p > 0.5:
            old, new = component[right], component[left]
            component = {record: new if of == old else of for record, of in component.items()}
    numbers = {name: number for number, name in enumerate(sorted({*component.values()}))}
    rows = [(record, cluster[record], numbers[component[record]]) for record in sorted(records)]
    return StandingRecords(
        scorer=CONFIG,
        learnt=[learnt],
        prepared=prepare(frame(records), CONFIG),
        clusters=pl.DataFrame(rows, ["record", "id", "component"], orient="row"),
        pairs=proposed,
        settings=SolverSettings("cutting_plane", "zero", 60.0, None),
        threshold=None,
        next_id=1000,
        most=most,
        gap_pairs=within.select(proposed.columns) if within.height else proposed.clear(),
    )


@pytest.mark.long
@pytest.mark.parametrize("most", [None, 12])
def test_a_look_up_that_makes_one_component_of_several_answers_what_all_records_at_once_do(learnt, most):
    standing = standing_of(BEFORE, learnt, most)
    components = dict(standing.clusters.select("record", "component").rows())
    mixed = [[*candidates(BEFORE, 2, seed)][1] for seed in range(4)]
    num_joining, num_gaps = 0, 0
    for record in mixed:
        key = record["id"]
        proposed, within, cluster = resolved({**BEFORE, key: {name: record[name] for name in FIELDS}}, learnt, most)
        linked = proposed.filter(pl.any_horizontal(pl.col("left", "right") == key), pl.col("match_probability") > 0.5)
        touched = {components[other] for row in linked.rows() for other in row[:2] if other != key}
        num_joining += len(touched) > 1
        others = sorted(one for one, of in cluster.items() if of == cluster[key] and one != key)
        answer = standing.lookup(record)
        assert answer.others == others
        whole = pl.concat([proposed, within.select(proposed.columns)]) if within.height else proposed
        mine = whole.filter(pl.any_horizontal(pl.col("left", "right") == key))
        held = mine.filter(pl.any_horizontal(pl.col("left", "right").is_in(others)))
        assert answer.weight == pytest.approx((2.0 * held["match_probability"] - 1.0).sum())
        num_gaps += mine.height - mine.join(proposed, on=["left", "right"], how="semi").height
    assert num_joining >= 2
    assert (num_gaps > 0) == (most is not None)


# --- runs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory):
    """Runs the job on records, with calibrated scores and all pairs within components of 6 records or fewer."""
    folder = tmp_path_factory.mktemp("gaps")
    pl.DataFrame([*PEOPLE.items()], ["record", "cluster"], orient="row").write_csv(folder / "gold.csv")
    scorer = f"records.fields={written(FIELDS)}", f"records.blocking={written(CONFIG.blocking)}"
    scorer += "records.calibration=beta", "records.prior_factors=[]", "missing=zero"

    def run(records, *settings, run_job=run_here):
        place = tmp_path_factory.mktemp("run")
        frame(records).write_csv(place / "records.csv")
        places = f"records.path={place}/records.csv", f"store={place}/store", f"run_dir={place}/run"
        given = "records.within=6", f"gold={folder}/gold.csv", *settings
        return run_job("job=entity_resolution", "+records=csv", *places, *scorer, *given)

    run.gold = f"records.clusters={folder}/gold.csv"
    return run


@pytest.fixture(scope="module")
def runs(resolve):
    """A first run, the night after it, and a run on all records of that; and these, one of a gap with a new number."""
    first, later = resolve(MANY, resolve.gold), next_night(MANY, 4, 1)
    later["v15"] = MANY["v15"] | {"phone": MANY["v15"]["phone"] + "x"}
    model = f"records.model={first.path}"
    return first, resolve(later, model, f"previous={first.path}"), resolve(later, model), later


def test_a_night_has_the_gaps_of_a_run_on_all_its_records_to_the_last_bit(runs):
    first, night, whole, later = runs
    for name in ("scored_pairs", "gap_pairs", "pair_counts", "metrics"):
        assert_frame_equal(pl.DataFrame(night.table(name)), pl.DataFrame(whole.table(name)), check_exact=True)
    for name, others in {"clusters": ["id"], "components": ["is_reused", "seconds"], "explanations": []}.items():
        ours, theirs = (pl.DataFrame(one.table(name)).drop(others) for one in (night, whole))
        assert_frame_equal(ours, theirs, check_exact=True)
    [counts], [cold] = night.rows("gap_counts"), whole.rows("gap_counts")
    same = {key for key in MANY.keys() & later if MANY[key] == later[key]}
    known = {(row["left"], row["right"]): row["match_probability"] for row in first.rows("gap_pairs")}
    now = night.rows("gap_pairs")
    kept = [row for row in now if {row["left"], row["right"]} <= same and (row["left"], row["right"]) in known]
    [changed] = [row["match_probability"] for row in now if (row["left"], row["right"]) == ("v15", "y15")]
    assert changed < known["v15", "y15"]
    assert counts == cold | {"num_kept": len(kept)}
    assert 0 < len(kept) < len(now) == counts["num_pairs"]
    assert counts["num_positive"] == sum(row["match_probability"] > 0.5 for row in now)


def test_gaps_are_of_calibrated_pairs_and_clusters_rest_on_them(runs):
    first = runs[0]
    [fit] = [row for row in first.rows("calibration") if row["stage"] == "calibrated"]
    c, a, b = fit["parameters"]
    p = pl.col("match_probability").clip(1e-6, 1.0 - 1e-6)
    odds = c + a * p.log() - b * (1.0 - p).log() + fit["shift"]
    calibrated = pl.DataFrame(first.table("scored_pairs")).with_columns(match_probability=1.0 / (1.0 + (-odds).exp()))
    gaps, large = by_networkx(calibrated, 6)
    rows = first.rows("gap_pairs")
    assert [(row["left"], row["right"]) for row in rows] == gaps
    [counts] = first.rows("gap_counts")
    assert (counts["most"], counts["num_large"], counts["num_left"]) == (6, len(large), sum(large))
    assert first.rows("pair_counts")[0]["num_pairs"] == calibrated.height + len(gaps)
    assert "those that no rule proposes were scored too" in (first.path / "report.html").read_text()


def test_a_look_up_has_the_gaps_of_a_run_with_the_record(runs, resolve):
    first, night, _, later = runs
    standing = StandingRecords.of(night.path)
    earlier = {row["record"]: row["id"] for row in night.rows("clusters")}
    asked = [record for seed in range(4) for record in candidates(later, 3, seed)]
    answers = [(record, standing.lookup(record)) for record in asked]
    record, answer = max(answers, key=lambda one: (len(one[1].merged), len(one[1].others)))
    with_it = {**later, record["id"]: {name: record[name] for name in FIELDS}}
    run = resolve(with_it, f"records.model={first.path}", f"previous={night.path}")
    now = {row["record"]: row["id"] for row in run.rows("clusters")}
    others = [one for one, id_ in now.items() if id_ == now[record["id"]] and one != record["id"]]
    assert (answer.cluster, answer.others) == (now[record["id"]], others)
    assert others
    merged = sorted({earlier[one] for one in others})
    assert answer.merged == (merged if len(merged) > 1 else [])


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_gaps(num_workers, runs, resolve, run_job):
    layout = f"cluster.num_cpus={num_workers}", "records.num_parts=3"
    other = resolve(MANY, resolve.gold, *layout, run_job=run_job)
    same = ["gap_pairs", "gap_counts", "clusters", "explanations", "metrics"]
    assert [other.digests[name] for name in same] == [runs[0].digests[name] for name in same]

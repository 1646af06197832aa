"""Scores that are judged and calibrated on records of which it is known who is who, and priors that are others."""

import itertools
import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from tests.fixtures.problems import Resolved, pair_shares
from tiltmeter.operators.resolution.lineage import moves
from tiltmeter.operators.resolution.records.calibration import Labels, calibrated, fit_calibration, losses, reliability
from tiltmeter.operators.resolution.records.labelled_pairs import divided_clusters, divided_labels, draw_labelled
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer

FIELDS = {"size": {"kind": "number", "within": [1.0, 3.0]}, "city": {"kind": "exact"}, "code": {"kind": "code"}}


SCORER = {"id": "key", "fields": FIELDS, "blocking": [{"block": None}]}


def people(num, num_blocks, seed):
    """Records of one to four copies of each, with sizes and cities that are mistaken, and their clusters."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(num):
        size, city = rng.integers(0, 40), "xyz"[number % 3]
        for copy in range(1 + number % 4):
            seen = "xyz"[rng.integers(3)] if rng.random() < 0.2 else city
            code = f"{number * 37 % 97:02}{rng.integers(3)}"
            rows.append((f"r{number:02}{copy}", int(size + rng.normal(0, 1.2)), seen, code, f"b{number % num_blocks}"))
    records = pl.DataFrame(rows, ["key", "size", "city", "code", "block"], orient="row")
    return records, records.select(record="key", cluster=pl.col("key").str.slice(0, 3))


@pytest.fixture
def resolved(run_here, tmp_path):
    """Runs the job on records."""

    def run(records, gold, *settings, **files):
        for name, rows in {"records": records, "gold": gold, **files}.items():
            rows.write_csv(tmp_path / f"{name}.csv")
        fields = json.dumps(FIELDS).replace('"', "")
        return run_here(
            *("job=entity_resolution", "+records=csv", f"records.path={tmp_path}/records.csv", "records.id=key"),
            *(f"records.fields={fields}", "records.blocking=[{block: null}]", f"gold={tmp_path}/gold.csv"),
            *(*settings, *(f"records.{name}={tmp_path}/{name}.csv" for name in files)),
            *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
        )

    return run


def check_stage(outcome, stage, q, labels):
    """Rows of a stage against the operator, whose own tests are beside it."""
    [row] = outcome.rows("calibration", stage=stage)
    expected = losses(q, labels)._asdict() | {"num_judging": q.size}
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    bins = outcome.rows("reliability", stage=stage)
    for found, one in zip(bins, reliability(q, labels, kind="cluster", level=0.95), strict=True):
        names = ("mean", "share", "share_low", "share_high", "num_pairs", "num_units")
        wanted = (one.mean, one.share.value, one.share.low, one.share.high, one.num_pairs, one.share.num_units)
        assert [np.nan if found[name] is None else found[name] for name in names] == pytest.approx(wanted, nan_ok=True)
    return row


def pairs_of(scored, parts, part):
    """Scores, labels and clusters of the pairs within a part, by loops."""
    cluster = {name: number for name, number, of in parts.iter_rows() if of == part}
    rows = [(p, cluster[one], cluster[other]) for one, other, p in scored.iter_rows() if {one, other} <= cluster.keys()]
    names = {name: number for number, name in enumerate(sorted({*parts["cluster"]}))}
    units = np.array([[names[one], names[other]] for _, one, other in rows])
    share = (len({*cluster.values()}) - 1) / (len(names) - 1)
    score, is_match = np.array([row[0] for row in rows]), units[:, 0] == units[:, 1]
    return Labels(score, is_match, np.ones(len(rows)), units, kept=share)


def test_clusters_are_divided_into_those_that_learn_calibrate_and_judge(resolved):
    records, gold = people(60, 1, 0)
    scorer = Scorer(**SCORER, train_share=0.2, calibration="isotonic", calibration_share=0.5)
    settings = ("records.train_share=0.2", "records.calibration=isotonic", "records.calibration_share=0.5", "seed=3")
    more = ("records.num_parts=2", "records.threshold=0.02", "records.prior_factors=[]", "solver=average_linkage")
    outcome = resolved(records, gold, *settings, *more, clusters=gold)
    scored = score_pairs(records, train_scorer(records, draw_labelled(records, gold, scorer, 3), scorer), scorer)
    parts = divided_clusters(gold, scorer, 3)
    judges, known = (pairs_of(scored, parts, part) for part in ("judging", "calibration"))
    check_stage(outcome, "raw", judges.scores, judges)
    fit = fit_calibration(known, "isotonic")
    row = check_stage(outcome, "calibrated", calibrated(judges.scores, fit), judges)
    steps = IsotonicRegression().fit(known.scores, known.is_match)
    assert row["parameters"] == pytest.approx(steps.y_thresholds_)
    assert (row["method"], row["num_fitted"], row["shift"]) == ("isotonic", known.scores.size, np.log(known.kept))
    q = calibrated(scored["match_probability"].to_numpy(), fit)
    kept = {(one, other): 2 * p - 1 for (one, other, _), p in zip(scored.iter_rows(), q, strict=True) if p >= 0.02}
    [counts] = outcome.rows("pair_counts")
    assert counts["num_pairs"] == len(kept) < len(q)
    assert {row["num_records"] for row in outcome.rows("metrics")} == {parts.filter(part="judging").height}
    held = {row["weight"] for row in outcome.rows("explanations", kind="split_pair")}
    assert held <= {*kept.values()}
    assert "prior_sensitivity" not in outcome.published


def test_labelled_pairs_are_divided_by_what_they_share_with_weights_and_a_prior(resolved):
    """Within blocks of records that share no pair with another, of which matches are labelled more often."""
    records, gold = people(48, 16, 3)
    block, true = dict(records.select("key", "block").iter_rows()), dict(gold.iter_rows())
    pairs = [pair for pair in itertools.combinations(true, 2) if block[pair[0]] == block[pair[1]]]
    rng = np.random.default_rng(0)
    rows = [(*pair, true[pair[0]] == true[pair[1]], round(rng.uniform(0.5, 2), 2)) for pair in pairs]
    labelled = pl.DataFrame(rows, ["left", "right", "is_match", "weight"], orient="row")
    settings = ("records.train_share=0.4", "records.calibration=platt", "records.calibration_share=0.3")
    outcome = resolved(records, gold, *settings, "records.prior=0.1", labelled=labelled)
    scorer = Scorer(**SCORER, train_share=0.4, calibration="platt", calibration_share=0.3, prior=0.1)
    parts = divided_labels(labelled, scorer, 0)
    part, group = ({row[0]: row[at] for row in parts.iter_rows()} for at in (2, 1))
    learnt = labelled.filter(pl.Series([part[row[0]] == "training" for row in rows]))
    trained = train_scorer(records, learnt, scorer)
    assert_frame_equal(
        pl.DataFrame(outcome.table("agreements")).drop("field"), trained.drop("field"), check_column_order=False
    )
    scores = {(one, other): p for one, other, p in score_pairs(records, trained, scorer).iter_rows()}
    known, judges = (
        Labels(
            np.array([scores[row[:2]] for row in rows if part[row[0]] == of]),
            np.array([row[2] for row in rows if part[row[0]] == of]),
            np.array([row[3] for row in rows if part[row[0]] == of]),
            np.array([[int(group[end]) for end in row[:2]] for row in rows if part[row[0]] == of]),
            prior=0.1,
        )
        for of in ("calibration", "judging")
    )
    fit = fit_calibration(known, "platt")
    check_stage(outcome, "raw", judges.scores, judges)
    row = check_stage(outcome, "calibrated", calibrated(judges.scores, fit), judges)
    assert row["shift"] == pytest.approx(logit(0.1) - logit(np.average(known.is_match, weights=known.weights)))
    assert row["parameters"] == pytest.approx(fit.parameters, rel=1e-4)
    assert {row["num_records"] for row in outcome.rows("metrics")} == {len(true)}
    q = calibrated(np.array([*scores.values()]), fit)
    weights = {pair: 2 * p - 1 for pair, p in zip(scores, q, strict=True)}
    here = [row["cluster"] for row in outcome.rows("clusters")]
    rows = outcome.rows("prior_sensitivity")
    assert [row["factor"] for row in rows] == [0.5, 1.0, 2.0]
    for row in rows:
        shifted = [(*pair, 2 * expit(logit((1 + w) / 2) + np.log(row["factor"])) - 1) for pair, w in weights.items()]
        expected = Resolved(shifted, gold=true)
        cluster = np.array([expected.cluster[name] for name in expected.records])
        wanted = moves(np.array(here), cluster)._asdict() | {"num_clusters": len(expected.clusters)}
        assert {name: row[name] for name in wanted} == pytest.approx(wanted)
        assert row["f1_gold"] == pytest.approx(pair_shares(expected.labels)["f1"])
    assert rows[0]["num_splits"] > rows[1]["num_splits"] == rows[1]["num_merges"] == 0 < rows[2]["num_merges"]


UNLABELLED = "records.unlabelled={rules: [{code: null, city: null}], recall: 0.4, sessions: [{block: null}]}"


def test_a_scorer_without_labels_is_judged_by_gold_and_calibrated_on_labels_given_for_that(resolved):
    records, gold = people(40, 4, 2)
    judged = resolved(records, gold, UNLABELLED)
    [row] = judged.rows("calibration")
    assert (row["stage"], row["num_judging"]) == ("raw", judged.rows("pair_counts")[0]["num_pairs"])
    outcome = resolved(records, gold, UNLABELLED, "records.calibration=beta", clusters=gold)
    assert [row["method"] for row in outcome.rows("calibration")] == [None, "beta"]
    scorer = Scorer(**SCORER, calibration="beta", unlabelled={"rules": [{"code": None}], "recall": 1.0})
    parts = divided_clusters(gold, scorer, 0)
    assert parts.unique("cluster")["part"].value_counts().sort("part")["count"].to_list() == [10, 30]
    assert {row["num_records"] for row in outcome.rows("metrics")} == {parts.filter(part="judging").height}

"""The job `entity_resolution` from scored pairs to clusters, metrics and explanations."""

import itertools

import numpy as np
import polars as pl
import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.resolution.baselines.packing import engines
from tiltmeter.storage.errors import InputError

TRIANGLE = [("a", "b", 0.9), ("b", "c", 0.8), ("a", "c", -1.2)]
"""Together 0.5; best without c: 0.9."""
PAIR = [("x", "y", 0.4), ("c", "x", -0.3)]


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory):
    """Runs the job on pairs, in a store of its own."""

    def run(pairs, *settings, gold=None, columns=("left", "right", "weight"), name="pairs.csv"):
        place = tmp_path_factory.mktemp("resolution")
        frame = pl.DataFrame(pairs, schema=list(columns), orient="row")
        frame.write_parquet(place / name) if name.endswith("parquet") else frame.write_csv(place / name)
        if gold is not None:
            pl.DataFrame(gold, schema=["record", "cluster"], orient="row").write_csv(place / "gold.csv")
            settings = (*settings, f"gold={place}/gold.csv")
        common = ("job=entity_resolution", f"pairs={place / name}", f"store={place}/store", f"run_dir={place}/run")
        return run_here(*common, *settings)

    return run


def clusters(outcome):
    found = {}
    for row in outcome.rows("clusters"):
        found.setdefault(row["cluster"], set()).add(row["record"])
    return sorted(map(sorted, found.values()))


@pytest.fixture(scope="module")
def resolved(resolve):
    gold = [("a", 1), ("b", 1), ("c", 2), ("x", 3), ("y", 3), ("alone", 4)]
    noise = [("a", "a", 1.0), ("b", "a", 0.9), ("y", "x", 0.6)]
    return resolve([*TRIANGLE, *PAIR, *noise], gold=gold)


def test_every_record_is_in_one_cluster_of_the_best_partition(resolved):
    assert clusters(resolved) == [["a", "b"], ["alone"], ["c"], ["x", "y"]]


def test_a_spreadsheet_has_the_clusters_of_the_table(resolved):
    exported = pl.read_csv(resolved.path / "exports/clusters.csv")
    assert exported.columns == ["record", "cluster", "cluster_id", "component"]
    rows = [tuple(row[name] for name in ("record", "cluster", "id", "component")) for row in resolved.rows("clusters")]
    assert exported.rows() == rows


def test_components_are_proven_with_their_objective(resolved):
    components = resolved.rows("components")
    sizes = [(row["num_records"], row["num_pairs"], row["num_clusters"]) for row in components]
    assert sizes == [(3, 3, 2), (2, 1, 1), (1, 0, 1)]
    assert {row["status"] for row in components} == {"proven"}
    assert [row["objective"] for row in components] == pytest.approx([0.9, 0.5, 0.0])
    assert all(row["bound"] >= row["objective"] and row["gap"] <= 1e-6 for row in components)


def test_what_was_left_out_of_the_pairs_is_counted(resolved):
    [counts] = resolved.rows("pair_counts")
    assert (counts["num_records"], counts["num_pairs"]) == (6, 5)
    assert (counts["num_self_pairs"], counts["num_repeated"], counts["num_contradicting"]) == (1, 1, 1)


def test_agreement_with_the_gold_clusters(resolved):
    metrics = {row["metric"]: row["value"] for row in resolved.rows("metrics")}
    assert metrics["f1"] == metrics["adjusted_rand"] == metrics["v_measure"] == 1.0
    assert {row["num_records"] for row in resolved.rows("metrics")} == {6}


def test_a_record_that_was_left_out_is_explained_by_what_tipped_it(resolved):
    [miss] = resolved.rows("explanations", kind="near_miss", record="c")
    assert (miss["record"], miss["support"], miss["opposition"]) == ("c", pytest.approx(0.8), pytest.approx(-1.2))
    assert (miss["weight"], miss["tipping_records"]) == (pytest.approx(-0.4), ["a"])
    merges = [row["weight"] for row in resolved.rows("explanations", kind="merge")]
    assert sorted(merges) == pytest.approx([0.5, 0.9])


TABLE_8 = [(7, 12, 0.456), (7, 20, 0.999), (12, 20, 0.085), (7, 25, -0.076), (12, 25, -0.156), (20, 25, -0.253)]
"""Of Vadrevu et al. 2021, with a pair more that makes it one component."""


@pytest.fixture(scope="module")
def asked(resolve):
    questions = "{record: 25, other: 7}, {record: 25, cluster: 0}, {record: 30, other: 7}, {record: 7, other: 12}"
    gold = [(7, 1), (12, 1), (20, 2), (25, 3), (30, 2), (31, 2)]
    pairs = [*TABLE_8, (20, 30, 0.05), (25, 30, -0.5)]
    return resolve(
        pairs,
        f"explain=[{questions}]",
        "solver=quadratic_set_packing",
        f"engine={engines()[0]}",
        "max_parts=10",
        gold=gold,
    )


def test_any_record_and_cluster_are_explained_on_demand(asked):
    rows = {(row["record"], row["cluster"]): row for row in asked.rows("explanations", kind="asked")}
    assert sorted(rows) == [("25", 0), ("30", 0), ("7", 0)]
    kept_out = rows["25", 0]
    assert (kept_out["weight"], kept_out["support"], kept_out["held"]) == (pytest.approx(-0.485), 0.0, 0.0)
    assert kept_out["tipping_records"] == ["20", "12", "7"]
    assert kept_out["tipping_weights"] == pytest.approx([-0.253, -0.156, -0.076])
    assert (rows["30", 0]["num_forbidden"], rows["7", 0]["weight"]) == (2, pytest.approx(1.455))
    pairs = {(row["record"], row["other"]): row for row in asked.rows("explanations", kind="asked_pair")}
    weights = {names: (row["weight"], row["cluster"]) for names, row in pairs.items()}
    assert weights == {("25", "7"): (-0.076, None), ("30", "7"): (None, None), ("7", "12"): (0.456, 0)}


def test_scored_pairs_that_gold_contradicts_are_listed_with_their_weights(asked):
    kinds = ("false_merge", "false_split")
    rows = {kind: asked.rows("explanations", kind=kind) for kind in kinds}
    found = {kind: {frozenset((row["record"], row["other"])): row["weight"] for row in rows[kind]} for kind in kinds}
    assert found["false_merge"] == {frozenset(("7", "20")): 0.999, frozenset(("12", "20")): 0.085}
    # 30 and 31 are of one cluster, too, but were never scored.
    assert found["false_split"] == {frozenset(("20", "30")): 0.05}


def test_a_packing_has_its_cliques_and_the_seconds_of_its_phases(asked):
    [packed] = asked.rows("components", solver="quadratic_set_packing")
    # 25 is no part of it, as it has no positive pair. 7, 12 and 20 are one maximal clique, 20 and 30 the other; of the
    # pairs of neighbours, 1 / 1, 1 / 1, 1 / 3 and none are neighbours.
    assert (packed["status"], packed["num_cliques"]) == ("proven", 2)
    assert packed["clustering_coefficient"] == pytest.approx(7 / 12)
    assert 0.0 < packed["listing_seconds"] + packed["packing_seconds"] == pytest.approx(packed["seconds"])


def test_other_solvers_have_no_phases(resolved):
    phases = ("num_cliques", "clustering_coefficient", "listing_seconds", "packing_seconds")
    assert {row[name] for row in resolved.rows("components") for name in phases} == {None}


def test_an_engine_and_m_are_part_of_what_a_result_is_known_by_and_limits_are_not(run_here, tmp_path):
    pl.DataFrame(TRIANGLE, ["left", "right", "weight"], orient="row").write_csv(tmp_path / "pairs.csv")
    common = ("job=entity_resolution", f"pairs={tmp_path}/pairs.csv", f"store={tmp_path}/store")

    def num_reused(name, *settings):
        outcome = run_here(*common, "solver=quadratic_set_packing", f"run_dir={tmp_path}/{name}", *settings)
        return outcome.stage("solve")["num_reused"]

    assert num_reused("first", "engine=HiGHS") == 0
    assert num_reused("limits", "engine=HiGHS", "max_cliques=50", "max_constraints=50") == 1
    assert num_reused("m", "engine=HiGHS", "max_parts=2") == 0
    for number, engine in enumerate(other for other in engines() if other != "HiGHS"):
        assert num_reused(f"engine {number}", f"engine={engine}") == 0


def test_questions_about_what_is_not_there_are_refused_before_anything_is_published(resolve):
    with pytest.raises(ConfigError, match=r"explain: there is no record 'z'; ask about records of one graph"):
        resolve(TRIANGLE, "explain=[{record: a, other: z}]")
    with pytest.raises(ConfigError, match=r"record 'a' is asked about with cluster 2, but .* from 0 to 1"):
        resolve(TRIANGLE, "explain=[{record: a, cluster: 2}]")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["solver=hierarchical"], r"solver=hierarchical is now called average_linkage; .* is centroid_linkage"),
        (["explain=[{record: a}]"], r"record 'a': give either other=<record> or cluster=<number>, one of them"),
        (["explain=[{record: a, other: b, cluster: 1}]"], r"give either other=<record> or cluster=<number>"),
        (["explain=[{record: a, other: a}]"], r"record 'a' and other are the same: name two records"),
        (["explain=[[a, b]]"], r"must be values by their names"),
        (
            ["engine=PULP_CBC_CMD"],
            r"engine: solver=cutting_plane has no use for it; .* solver=quadratic_set_packing or",
        ),
        (["solver=set_packing", "max_parts=3"], r"max_parts: solver=set_packing has no use for it"),
        (["max_cliques=3"], r"max_cliques: solver=cutting_plane has no use for it"),
        (["solver=set_packing", "max_constraints=3"], r"max_constraints: solver=set_packing has no use for it"),
        (["solver=quadratic_set_packing", "max_parts=0"], r"max_parts=0"),
    ],
)
def test_settings_that_can_not_be_are_refused(configured, settings, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=entity_resolution", "pairs=pairs.csv", *settings)


def test_an_engine_that_is_not_there_is_refused_with_those_that_are(resolve):
    with pytest.raises(ConfigError, match=r"engine=abacus: PuLP finds no such engine .*HiGHS.*; set engine=<one of"):
        resolve(TRIANGLE, "solver=set_packing", "engine=abacus")


def test_a_limit_of_a_packing_names_a_setting_that_there_is(resolve):
    with pytest.raises(UnitsFailed, match=r"more than max_cliques=1 cliques: .*; set max_cliques or"):
        resolve(TRIANGLE, "solver=set_packing", "max_cliques=1")


def test_pairs_without_a_score_may_not_share_a_cluster_or_weigh_nothing(resolve):
    chain = [("a", "b", 0.5), ("b", "c", 0.4)]
    assert clusters(resolve(chain)) == [["a", "b"], ["c"]]
    zero = resolve(chain, "missing=zero")
    assert clusters(zero) == [["a", "b", "c"]]
    assert {row["missing"] for row in zero.rows("components")} == {"zero"}


def test_a_threshold_makes_pairs_count_as_never_scored(resolve):
    outcome = resolve([("a", "b", 0.5), ("b", "c", 0.4), ("a", "c", -0.1)], "threshold=-0.05", name="pairs.parquet")
    assert clusters(outcome) == [["a", "b"], ["c"]]
    assert outcome.rows("pair_counts")[0]["num_below_threshold"] == 1


def test_probabilities_become_weights(resolve):
    outcome = resolve([(1, 2, 0.9), (2, 3, 0.2)], columns=("left", "right", "match_probability"))
    assert clusters(outcome) == [["1", "2"], ["3"]]
    assert outcome.rows("components")[0]["objective"] == pytest.approx(0.8)


def _partitions(nodes):
    if not nodes:
        yield []
        return
    first, *rest = nodes
    for partition in _partitions(rest):
        yield [[first], *partition]
        for at in range(len(partition)):
            yield [*partition[:at], [first, *partition[at]], *partition[at + 1 :]]


@pytest.mark.parametrize("solver", ["cutting_plane", "quadratic_set_packing", "set_packing"])
def test_exact_solvers_find_the_best_of_all_partitions(resolve, solver):
    rng = np.random.default_rng(0)
    weights = {pair: round(float(rng.normal(0.1, 1.0)), 3) for pair in itertools.combinations("abcdefg", 2)}
    best = max(
        sum(weights[pair] for part in partition for pair in itertools.combinations(sorted(part), 2))
        for partition in _partitions(list("abcdefg"))
    )
    outcome = resolve([(*pair, weight) for pair, weight in weights.items()], f"solver={solver}")
    components = outcome.rows("components")
    assert sum(row["objective"] for row in components) == pytest.approx(best)
    assert {row["status"] for row in components} == {"proven"}


def test_a_study_draws_scores_for_every_topic_seed_and_threshold(run_here, tmp_path):
    # Every id comes in three documents.
    rows = [(str(topic), f"d{at % 3}", f"m{at // 3}", "event", f"c{at // 3}") for topic in (1, 2) for at in range(9)]
    schema = ["topic", "document", "mention_id", "mention_class", "chain_id"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(tmp_path / "mentions.parquet")
    outcome = run_here(
        *("job=entity_resolution", "+mentions=study", f"mentions.path={tmp_path}/mentions.parquet"),
        *(
            "mentions.seeds=[0,1]",
            "mentions.thresholds=[null,-0.3]",
            f"store={tmp_path}/store",
            f"run_dir={tmp_path}/run",
        ),
    )
    clusters = [(row["graph"], row["record"]) for row in outcome.rows("clusters")]
    assert len(set(clusters)) == len(clusters) == 2 * 2 * 2 * 9
    assert {record for _, record in clusters} == {f"d{number}/m{chain}" for number in range(3) for chain in range(3)}
    assert {row["status"] for row in outcome.rows("components")} == {"proven"}
    f1 = [row["value"] for row in outcome.rows("metrics", metric="f1")]
    assert len(f1) == 8
    assert np.mean(f1) > 0.8


def test_mentions_with_one_id_are_refused(run_here, tmp_path):
    (tmp_path / "mentions.csv").write_text("topic,mention_id,mention_class,chain_id\n" + "1,m1,event,c1\n" * 2)
    settings = ["job=entity_resolution", "+mentions=study", f"mentions.path={tmp_path}/mentions.csv"]
    with pytest.raises(UnitsFailed, match=r"has 1 ids twice in topic 1 event, such as m1; .* add a column 'document'"):
        run_here(*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("a", "b", "much"), ("a", "c", "inf")], r"no number \(2, first at line 2, column 'weight': 'much'\)"),
        ([("a", None, 0.5)], r"nothing where something is needed \(1, first at line 2, column 'right'\)"),
    ],
)
def test_bad_pairs_are_refused_with_their_row(resolve, pairs, message):
    with pytest.raises(InputError, match=message):
        resolve([tuple(map(str, pair)) if None not in pair else pair for pair in pairs])


def test_a_probability_out_of_range_and_gold_of_other_records_are_refused(resolve):
    with pytest.raises(InputError, match=r"no number from 0 to 1 \(1, first at line 2, column 'match_probability'"):
        resolve([("a", "b", 1.5)], columns=("left", "right", "match_probability"))
    with pytest.raises(UnitsFailed, match="has none of the records of the pairs"):
        resolve(TRIANGLE, gold=[("other", 1)])


def test_files_without_the_columns_and_runs_without_a_source_are_refused(resolve, configured):
    with pytest.raises(InputError, match=r"has no column 'right'"):
        resolve([("a", "b", 1.0)], columns=("left", "rite", "weight"))
    with pytest.raises(InputError, match="'weight' or 'match_probability'"):
        resolve([("a", "b", 1.0)], columns=("left", "right", "score"))
    with pytest.raises(ConfigError, match="set pairs=<file of scored pairs>"):
        configured("job=entity_resolution")

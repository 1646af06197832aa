"""The job `entity_resolution` from scored pairs to clusters, metrics and explanations."""

import itertools
import json
from dataclasses import replace

import networkx as nx
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import beta

from tests.fixtures.problems import Resolved, cluster_shares, entropy_shares, joined, pair_shares
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.resolution import partitions
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.resolution.problem import Problem, Result
from tiltmeter.operators.resolution.quality.estimates import (
    compared_groups,
    draw,
    draw_pairs,
    entity_parts,
    estimates,
    name_parts,
)
from tiltmeter.operators.resolution.quality.overlaps import overlaps
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled, training_clusters
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer
from tiltmeter.operators.resolution.synthetic import synthetic_scores

TRIANGLE = [("a", "b", 0.9), ("b", "c", 0.8), ("a", "c", -1.2)]
"""Together 0.5; best without c: 0.9."""

FAMILIES = ["hxk", "bdqlg", "cna", "me", "p", "r"]
RULES = {
    "must": [("x", "d"), ("k", "h"), ("nobody", "a")],
    "cannot": [("b", "l"), ("c", "e"), ("m", "nobody"), ("a", "n")],
    "sources": {"b": "one", "q": "one", "m": "two", "e": "three", "c": "two", "p": "one", "none": "two"},
}
GOLD = {"h": "F", "x": "F", "k": "F", "b": "G", "d": "G", "q": "H", "g": "G", "c": "C", "n": "C", "m": "C", "e": "E"}
GOLD |= {"p": "F", "alone": "Z"}


def drawn(seed):
    """Scored pairs of families of unlike size and of some neighbours, of either sign; one turned, one twice, one of
    itself, and one under the threshold."""
    rng = np.random.default_rng(seed)
    names = "".join(FAMILIES)
    family = {name: number for number, members in enumerate(FAMILIES) for name in members}
    rows = []
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            apart = abs(family[one] - family[other])
            if rng.random() < (0.9, 0.5, 0.1, 0.1, 0.1, 0.1)[apart]:
                mean = 0.5 if apart == 0 else 0.0 if family[one] // 2 == family[other] // 2 else -2.0
                rows.append((one, other, round(float(rng.normal(mean, 0.5)), 3)))
    (one, other, weight), again = rows[0], rows[3]
    return [*rows, (other, one, weight + 0.5), again, again, ("m", "m", 1.0), ("r", "h", -9.0)]


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory):
    """Runs the job on pairs, in a store of its own."""

    def run(pairs, *settings, gold=None, columns=("left", "right", "weight")):
        place = tmp_path_factory.mktemp("resolution")
        pl.DataFrame(pairs, schema=list(columns), orient="row").write_csv(place / "pairs.csv")
        if gold is not None:
            pl.DataFrame([*gold.items()], schema=["record", "cluster"], orient="row").write_csv(place / "gold.csv")
            settings = (*settings, f"gold={place}/gold.csv")
        common = ("job=entity_resolution", f"pairs={place}/pairs.csv", f"store={place}/store", f"run_dir={place}/run")
        return run_here(*common, *settings)

    return run


def clusters(outcome):
    members = pl.DataFrame(outcome.rows("clusters")).group_by("cluster", maintain_order=True)
    return [sorted(rows["record"]) for _, rows in members]


# --- a run against loops --------------------------------------------------------------------------------------------

SEED = 8


@pytest.fixture(scope="module", params=["forbid", "zero"])
def ruled(request, resolve, tmp_path_factory):
    """A run with a threshold, gold and constraints, and what it has to publish."""
    expected = Resolved(drawn(SEED), request.param, -5.0, GOLD, **RULES)
    file = tmp_path_factory.mktemp("sources") / "sources.csv"
    pl.DataFrame([*RULES["sources"].items()], ["record", "origin"], orient="row").write_csv(file)
    links = {name: json.dumps(RULES[name]).replace('"', "") for name in ("must", "cannot")}
    if request.param == "zero":
        links = {name: file.with_name(f"{name}.csv") for name in links}
        for name, path in links.items():
            pl.DataFrame(RULES[name], ["left", "right"], orient="row").write_csv(path)
    settings = [f"{name}_link={pairs}" for name, pairs in links.items()]
    asked = [f"{{record: {one}, other: {other}}}" for one, other in ASKED]
    asked += [f"{{record: {one}, cluster: {number}}}" for one, number in ASKED_CLUSTERS]
    outcome = resolve(
        expected.rows,
        *settings,
        *("one_per_source=origin", f"sources={file}", f"missing={expected.missing}", "threshold=-5.0"),
        *("drawn=[1]", f"explain=[{', '.join(asked)}]"),
        gold=GOLD,
    )
    return outcome, expected


ASKED = [("q", "b"), ("h", "x"), ("c", "g"), ("alone", "p")]
ASKED_CLUSTERS = [("e", 1), ("b", 0), ("q", 0)]


def test_every_record_is_in_one_cluster_of_the_best_partition(ruled):
    outcome, expected = ruled
    rows = [(row["record"], row["cluster"], row["id"], row["component"]) for row in outcome.rows("clusters")]
    number, component = expected.cluster, expected.component
    assert rows == [(name, number[name], number[name], component[name]) for name in expected.records]
    exported = pl.read_csv(outcome.path / "exports/clusters.csv")
    assert exported.columns == ["record", "cluster", "cluster_id", "component"]
    assert exported.rows() == rows


def test_components_are_proven_with_their_objective(ruled):
    outcome, expected = ruled
    rows = outcome.rows("components")
    assert len(rows) == len(expected.components)
    for row, wanted in zip(rows, expected.component_rows(), strict=True):
        assert {name: row[name] for name in wanted} == pytest.approx(wanted, abs=1e-5)
        assert row["objective"] == pytest.approx(wanted["objective"])
    usual = {"missing": expected.missing, "status": "proven", "is_reused": False, "num_cliques": None}
    usual |= {"clustering_coefficient": None, "listing_seconds": None, "packing_seconds": None}
    assert {name: {row[name] for row in rows} for name in usual} == {name: {value} for name, value in usual.items()}
    [counts] = outcome.rows("ledger_counts")
    assert (counts["num_solved"], counts["num_reused"], counts["next_id"]) == (len(rows), 0, len(expected.clusters))


def test_what_was_left_out_of_the_pairs_is_counted(ruled):
    outcome, expected = ruled
    [counts] = outcome.rows("pair_counts")
    several = expected.weights.values()
    assert counts == {
        "graph": "pairs",
        "num_records": len(expected.records),
        "num_pairs": len(expected.scored),
        "num_self_pairs": 1,
        "missing": expected.missing,
        "threshold": -5.0,
        "num_repeated": sum(len(weights) - 1 for weights in several if len({*weights}) == 1),
        "num_contradicting": sum(len(weights) - 1 for weights in several if len({*weights}) > 1),
        "num_below_threshold": len(expected.weights) - len(expected.scored),
    }
    assert (counts["num_repeated"], counts["num_contradicting"], counts["num_below_threshold"]) == (2, 1, 1)


def test_agreement_with_the_gold_clusters(ruled):
    outcome, expected = ruled
    check_metrics(outcome, expected, 1)
    assert outcome.rows("absent_records") == [{"graph": "pairs", "record": "alone", "num_others": 0}]


def check_metrics(outcome, expected, num_absent=0):
    """All measures of a run; gives rates of names, if there are some."""
    wanted = pair_shares(expected.labels) | entropy_shares(expected.labels) | cluster_shares(expected.labels)
    inside = [len({*records} & expected.gold.keys()) for records in expected.clusters]
    pairs = sum(num * (num - 1) / 2 + num * (len(of) - num) for num, of in zip(inside, expected.clusters, strict=True))
    both = sum(one == other for one, other in itertools.combinations(expected.labels, 2))
    wanted["lowest_precision"] = both / pairs if pairs else None
    rows = {row["metric"]: row for row in outcome.rows("metrics")}
    rates = {name: rows.pop(name)["value"] for name in ("homonymy", "name_variation") if name in rows}
    assert {name: row["value"] for name, row in rows.items()} == pytest.approx(wanted)
    assert {(row["num_records"], row["num_absent"]) for row in rows.values()} == {(len(expected.gold), num_absent)}
    return rates


def check_explanations(outcome, expected, wanted):
    """Row by row, in their order."""
    for kind, others in wanted.items():
        rows = outcome.rows("explanations", kind=kind)
        assert len(rows) == len(others) > 0, kind
        for row, other in zip(rows, others, strict=True):
            assert row["component"] == expected.component[row["record"]]
            for name, value in other.items():
                near = pytest.approx(value, abs=1e-9) if isinstance(value, float) else value
                assert row[name] == near, (kind, other, name)


def test_all_that_holds_records_or_keeps_them_out_is_explained(ruled):
    outcome, expected = ruled
    check_explanations(outcome, expected, expected.explanation_rows() | expected.asked_rows(ASKED, ASKED_CLUSTERS))


def test_constraints_are_counted_with_what_they_overrule(ruled):
    outcome, expected = ruled
    names = ("constraint", "num_given", "num_unknown", "num_scored", "num_against", "weight_against")
    rows = [tuple(row[name] for name in names) for row in outcome.rows("constraint_counts")]
    assert len(rows) == 3
    for row, wanted in zip(rows, expected.constraint_rows(), strict=True):
        assert row == (*wanted[:-1], pytest.approx(wanted[-1]))
        assert row[-2] > 0, "none speaks against"


def test_a_component_that_is_to_be_drawn_has_all_its_pairs(ruled):
    outcome, expected = ruled
    pairs = {(row["left"], row["right"]): row["weight"] for row in outcome.rows("drawn_pairs", component=1)}
    assert pairs == pytest.approx(expected.within(expected.components[1]))
    assert len(pairs) == len(outcome.rows("drawn_pairs")) > 0


# --- solvers --------------------------------------------------------------------------------------------------------

PACKINGS = ("quadratic_set_packing", "set_packing")
SOLVERS = {
    "cutting_plane": ["time_limit=1e-9"],
    "local_search": [],
    "quadratic_set_packing": ["engine=HiGHS", "max_parts=9", "max_cliques=50", "max_constraints=500"],
    "set_packing": [],
    "centroid_linkage": [],
    "average_linkage": [],
}
CLIPPED = [(*ends, float(np.clip(weight, -1.0, 1.0))) for *ends, weight in drawn(SEED)]
WEIGHTS = np.random.default_rng(1).normal(0.1, 1.0, 28).round(3).tolist()
HARD = [*((*ends, w) for ends, w in zip(itertools.combinations("abcdefgh", 2), WEIGHTS, strict=True)), ("y", "z", 0.5)]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_says_what_its_clusters_are_worth_and_how_sure_that_is(resolve, solver):
    """Without time, the cutting plane proves nothing of a hard component."""
    rows = HARD if solver == "cutting_plane" else CLIPPED
    expected = Resolved(rows)
    outcome = resolve(rows, f"solver={solver}", *SOLVERS[solver])
    components = outcome.rows("components")
    weights = [expected.weight(*pair) for records in clusters(outcome) for pair in itertools.combinations(records, 2)]
    assert sum(row["objective"] for row in components) == pytest.approx(sum(weights))
    for row in components:
        assert row["gap"] == pytest.approx((row["bound"] - row["objective"]) / max(1.0, row["objective"]), abs=1e-12)
    if solver == "centroid_linkage":
        # By it, records are problems of their own only if no scored pair connects them, be it a negative one.
        assert len(components) == len({*joined(expected.records, [*expected.scored]).values()}) == 1
        return
    assert {row["solver"] for row in components} == {"all_positive", solver}
    if solver == "cutting_plane":
        assert components[0]["status"] == "feasible"
        assert components[0]["gap"] > 0.01
    for row, records, (best, _) in zip(components, expected.components, expected.solved, strict=True):
        assert row["num_records"] == len(records)
        assert row["objective"] <= best + 1e-9
        assert row["bound"] >= best - 1e-9
        if row["status"] == "proven" or solver in PACKINGS:
            assert row["objective"] == pytest.approx(best)
        if solver in PACKINGS and row["solver"] == solver:
            check_phases(row, expected.within(records))


def check_phases(row, pairs):
    """Cliques are those of the scored pairs: the largest ones of the quadratic packing, all of the other."""
    graph = nx.Graph([*pairs])
    cliques = nx.find_cliques(graph) if row["solver"] == "quadratic_set_packing" else nx.enumerate_all_cliques(graph)
    assert row["num_cliques"] == sum(len(clique) > 1 for clique in cliques)
    assert row["clustering_coefficient"] == pytest.approx(nx.average_clustering(graph))
    assert 0.0 < row["listing_seconds"] + row["packing_seconds"] == pytest.approx(row["seconds"])


def test_what_a_solver_says_of_its_search_is_published(monkeypatch):
    said = Result("feasible", np.array([0, 0, 1]), 1.5, 2.5, num_cuts=3, num_branches=4)
    monkeypatch.setattr(partitions, "reducing_solver", lambda *_: lambda *_: said)
    problem = Problem(3, np.array([0, 1]), np.array([1, 2]), np.array([1.5, -1.0]), "zero")
    _, row = partitions.solve_in_time(problem, None, partitions.SolverSettings("cutting_plane", "zero", 60.0))
    expected = {"num_pairs": 2, "num_clusters": 2, "solver": "cutting_plane", "status": "feasible", "objective": 1.5}
    expected |= {"bound": 2.5, "gap": pytest.approx(1 / 1.5), "num_cuts": 3, "num_branches": 4}
    assert row == expected | {"seconds": row["seconds"]}


def test_an_engine_and_m_are_part_of_what_a_result_is_known_by_and_limits_are_not(configured):
    def known_by(*settings):
        config = configured("job=entity_resolution", "pairs=pairs.csv", "solver=quadratic_set_packing", *settings)
        about = config.solver, config.missing, config.time_limit, config.packing
        return partitions.SolverSettings(*about).identity

    usual = known_by("engine=HiGHS")
    assert known_by("engine=HiGHS", "max_cliques=50", "max_constraints=50") == usual
    for other in ("max_parts=2", "engine=PULP_CBC_CMD", "missing=zero", "time_limit=5"):
        assert known_by(other) != usual


# --- where pairs come from ------------------------------------------------------------------------------------------


def test_probabilities_become_weights_under_which_a_threshold_forgets_them(resolve):
    rows = [(1, 2, 0.9), (2, 3, 0.7), (1, 3, 0.4), (3, 4, 0.15)]
    outcome = resolve(rows, "threshold=-0.2", columns=("left", "right", "match_probability"))
    # 0.8, 0.4 and -0.2, which is the threshold itself; -0.7 is forgotten.
    assert clusters(outcome) == [["1", "2", "3"], ["4"]]
    assert [row["objective"] for row in outcome.rows("components")] == pytest.approx([1.0, 0.0])
    assert outcome.rows("pair_counts")[0]["num_below_threshold"] == 1


CHAINS = ["A", "B", "A", "A", "C", "B", "C"]
STUDIES = {
    "topics that are chosen": ("topics=['1']", [("1", "event"), ("1", "entity")], [0, 7]),
    "classes that are chosen": ("classes=[event,time]", [("1", "event"), ("2", "event"), ("3", "event")], [3]),
}


@pytest.mark.parametrize(("chosen", "wanted", "seeds"), STUDIES.values(), ids=STUDIES)
def test_a_study_draws_scores_for_every_topic_class_seed_and_threshold(run_here, tmp_path, chosen, wanted, seeds):
    """Of one of three topics, or of two of three classes; a class with one mention has no pair."""
    kinds = {
        "1": {"event": CHAINS, "entity": CHAINS[::-1]},
        "2": {"event": CHAINS[:4], "time": ["A"]},
        "3": {"event": "AB"},
    }
    rows = [
        # Ids come again in the other document.
        (topic, f"d{place % 2}", f"m{place // 2}", kind, chain)
        for topic, classes in kinds.items()
        for kind, chains in classes.items()
        for place, chain in enumerate(chains)
    ]
    names = ["topic", "document", "mention_id", "mention_class", "chain_id"]
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(tmp_path / "mentions.parquet")
    settings = [f"mentions.seeds={seeds}", "mentions.thresholds=[null,-0.3]", "mentions.mean=0.4", "mentions.sd=0.6"]
    outcome = run_here(
        *("job=entity_resolution", "+mentions=study", f"mentions.path={tmp_path}/mentions.parquet", *settings),
        *(
            f"mentions.{chosen}",
            "explain=[{record: d0/m0, cluster: 2}]",
            f"store={tmp_path}/store",
            f"run_dir={tmp_path}/run",
        ),
    )
    graphs = {
        f"topic {topic} {kind}, seed {seed}, {'all pairs' if threshold is None else 'T -0.3'}": (about, seed, threshold)
        for about in wanted
        for topic, kind in [about]
        for seed in seeds
        for threshold in (None, -0.3)
    }
    assert {row["graph"] for row in outcome.rows("clusters")} == graphs.keys()
    for graph, ((topic, kind), seed, threshold) in graphs.items():
        chains = {f"d{place % 2}/m{place // 2}": chain for place, chain in enumerate(kinds[topic][kind])}
        mentions = sorted(chains, key=lambda mention: mention.split("/")[::-1])
        left, right, weights = synthetic_scores([chains[name] for name in mentions], 0.4, 0.6, seed, f"{topic} {kind}")
        pairs = [
            (mentions[one], mentions[other], weight) for one, other, weight in zip(left, right, weights, strict=True)
        ]
        expected = Resolved(pairs, "forbid", threshold, chains)
        found = {}
        for row in outcome.rows("clusters", graph=graph):
            found.setdefault(row["cluster"], []).append(row["record"])
        assert sorted(map(sorted, found.values())) == expected.clusters
        assert len(outcome.rows("explanations", graph=graph, kind="asked")) == (len(expected.clusters) > 2)
        [f1] = outcome.rows("metrics", graph=graph, metric="f1")
        assert (f1["num_records"], f1["value"]) == (len(chains), pytest.approx(pair_shares(expected.labels)["f1"]))
        [counts] = outcome.rows("pair_counts", graph=graph)
        assert (counts["threshold"], counts["num_pairs"]) == (threshold, len(expected.scored))


def scored(run_here, folder, records, scorer, settings, true):
    """A run on records, what it learnt, and what it has to publish of those whose true clusters are given."""
    records.write_csv(folder / "records.csv")
    pl.DataFrame([*true.items()], ["record", "cluster"], orient="row").write_csv(folder / "gold.csv")
    fields = [{"kind": field.kind, "within": [*field.within]} for field in scorer.fields.values()]
    about = {"fields": dict(zip(scorer.fields, fields, strict=True)), "blocking": [*map(dict, scorer.blocking)]}
    outcome = run_here(
        *("job=entity_resolution", "+records=csv", f"records.path={folder}/records.csv", "records.id=key"),
        *(f"records.{name}={json.dumps(value).replace(chr(34), '')}" for name, value in about.items()),
        *(*settings, f"gold={folder}/gold.csv", f"store={folder}/store", f"run_dir={folder}/run"),
    )
    trained = pl.DataFrame(outcome.table("agreements"))
    pairs = [(*ends, 2.0 * p - 1.0) for *ends, p in score_pairs(records, trained, scorer).iter_rows()]
    return outcome, trained, pairs


def check_partition(outcome, expected):
    """Clusters and what they are worth."""
    assert [(row["record"], row["cluster"]) for row in outcome.rows("clusters")] == [*expected.cluster.items()]
    objectives = [row["objective"] for row in outcome.rows("components")]
    assert sum(objectives) == pytest.approx(sum(one for one, _ in expected.solved))


def test_records_are_scored_by_what_some_clusters_teach_and_measured_on_the_others(run_here, tmp_path):
    """People of one to four records, with names mistyped and years that are lacking."""
    rng = np.random.default_rng(5)
    people = ["Anna Abel", "Bruno Berg", "Clara Conti", "David Duval", "Elena Engel", "Frank Ferri", "Greta Garcia"]
    people += ["Henri Hansen", "Irene Ivanov", "Jonas Jansen", "Karla Keller", "Louis Lopez"]
    rows = [
        {"key": f"{name[0]}{copy}", "name": name[: int(rng.integers(5, len(name) + 1))], "born": year}
        for number, name in enumerate(people)
        for copy in range(1 + number % 4)
        for year in [None if rng.random() < 0.2 else 1950 + number // 3 + int(rng.random() < 0.3)]
    ]
    records = pl.DataFrame(rows)
    gold = records.select(record="key", cluster=pl.col("key").str.head(1))
    gold.write_csv(tmp_path / "clusters.csv")
    # In truth, Anna is Bruno, and so on.
    true = {record: ord(record[0]) // 2 for record in records["key"]}
    fields = {"name": {"kind": "string"}, "born": {"kind": "number", "within": [1.0]}}
    scorer = Scorer(id="key", fields=fields, blocking=[{"name": 1}, {"born": None}], train_share=0.6, num_labelled=25)
    settings = [f"records.clusters={tmp_path}/clusters.csv", "records.train_share=0.6", "records.num_labelled=25"]
    settings += ["records.num_parts=3", "threshold=-0.9", "seed=3"]
    learnt = {*training_clusters(gold, scorer, 3)["record"]}
    # Records that are not there: one of nobody who is, and one of somebody of whom the scorer learnt.
    others = {"Y9": 99, "Z9": true[min(learnt)]}
    outcome, trained, pairs = scored(run_here, tmp_path, records, scorer, settings, true | others)
    labelled = draw_labelled(records, gold, scorer, 3)
    assert_frame_equal(trained, train_scorer(records, labelled, scorer), check_column_order=False)
    held_out = {record: cluster for record, cluster in true.items() if record not in learnt}
    expected = Resolved(pairs, "forbid", -0.9, held_out, others=tuple(records["key"]))
    check_partition(outcome, expected)
    check_metrics(outcome, replace(expected, gold=held_out | {"Y9": 99}), 1)
    assert outcome.rows("absent_records") == [{"graph": "records", "record": "Y9", "num_others": 0}]
    assert outcome.rows("pair_counts")[0]["num_below_threshold"] == len(pairs) - len(expected.scored) > 0
    exported = pl.read_csv(outcome.path / "exports/clusters.csv")
    assert exported["cluster"].to_list() == sorted(expected.cluster.values())
    assert exported["key"].to_list() == [record for records in expected.clusters for record in records]


def test_records_are_scored_by_labelled_pairs_of_a_file_and_measured_on_all(run_here, tmp_path):
    """By codes, dates and what is equal or not; matches are rarer than among the labelled pairs."""
    rng = np.random.default_rng(2)
    rows = [
        {"key": f"{'abcdefgh'[number]}{copy}", "home": number, "code": f"{7 * number + int(rng.random() < 0.3):03}"}
        | {"day": f"2001-0{1 + number % 3}-{10 + int(rng.integers(4))}", "city": "xyz"[int(rng.integers(3))]}
        for number in range(8)
        for copy in range(1 + number % 4)
    ]
    records, true = pl.DataFrame(rows), {row["key"]: row["key"][0] for row in rows}
    pairs = [*itertools.combinations(true, 2)]
    labelled = pl.DataFrame([(*pair, true[pair[0]] == true[pair[1]]) for pair in pairs[::2]], orient="row")
    labelled.columns = ["left", "right", "is_match"]
    words = pl.when("is_match").then(pl.lit("Yes")).otherwise(pl.lit("NO"))
    labelled.with_columns(is_match=words).write_csv(tmp_path / "labelled.csv")
    fields = {"code": {"kind": "code"}, "day": {"kind": "date", "within": [2.0]}, "city": {"kind": "exact"}}
    scorer = Scorer(id="key", fields=fields, blocking=[{"code": 1}, {"day": 7}], prior=0.05)
    settings = [f"records.labelled={tmp_path}/labelled.csv", "records.prior=0.05", "reference_scorer=true"]
    settings += ["names=code", "groups=city", "gold_sample=by_cluster", "num_to_label=4", "seed=5"]
    outcome, trained, pairs = scored(run_here, tmp_path, records, scorer, settings, true)
    assert_frame_equal(trained, train_scorer(records, labelled, scorer), check_column_order=False)
    expected = Resolved(pairs, "forbid", None, true, others=tuple(records["key"]))
    check_partition(outcome, expected)
    rates, found = check_metrics(outcome, expected), np.array([*expected.cluster.values()])
    gold, names, cities = (records.sort("key")[name].rank("dense").to_numpy() - 1 for name in ("home", "code", "city"))
    assert rates == {name: sum(above) / sum(below) for name, (above, below) in name_parts(gold, names).items()}
    table = overlaps(found, gold)
    parts = entity_parts(table) | name_parts(gold, names)
    made = dict(estimates(parts, table.gold_sizes, "by_cluster", None, len(gold), level=0.95))
    check_estimates(outcome.rows("estimates"), parts, made, "by_cluster")
    check_groups(outcome, table, cities, "xyz")
    drawn_records = [row["record"] for row in outcome.rows("records_to_label")]
    assert drawn_records == [sorted(true)[place] for place in draw(len(true), 4, 5, 1)]
    drawn_pairs = [(row["left"], row["right"]) for row in outcome.rows("pairs_to_label")]
    ends = [[sorted(true)[place] for place in side] for side in draw_pairs(found, 4, 5)]
    assert drawn_pairs == [*zip(*ends, strict=True)]
    assert all(row["cluster"] == expected.cluster[row["left"]] for row in outcome.rows("pairs_to_label"))


def check_estimates(rows, parts, made, design):
    """As the operators make them of the clusters."""
    assert [(row["target"], row["design"]) for row in rows] == [(target, design) for target in made]
    for row, one in zip(rows, made.values(), strict=True):
        wanted = [None if np.isnan(value) else pytest.approx(value) for value in (*one[:3], one.df + 1)]
        assert [row[name] for name in ("value", "value_low", "value_high", "effective_number")] == wanted
        num = np.count_nonzero(parts[row["target"]].below)
        assert (row["status"], row["num_clusters"]) == (one.status, num)


def check_groups(outcome, table, groups, names):
    both = zip(outcome.rows("group_metrics"), outcome.rows("group_differences"), strict=True)
    made = compared_groups(table, groups, len(names), level=0.95)
    for (row, other), (metric, group, one, difference, p_holm) in zip(both, made, strict=True):
        assert (row["group"], row["metric"]) == (other["group"], other["metric"]) == (names[group], metric)
        values = [row["value"], row["value_low"], row["num_clusters"], other["difference"], other["p"], other["p_holm"]]
        wanted = [one.value, one.low, one.num_units, difference.value, difference.p, p_holm]
        assert values == [None if np.isnan(value) else pytest.approx(value) for value in wanted]
        assert row["num_records"] == (groups == group).sum()


# --- how good clusters are, from files --------------------------------------------------------------------------------

JUDGED = Resolved(drawn(SEED), "zero", gold=GOLD)
SAMPLE = [pair for records in JUDGED.clusters for pair in itertools.combinations(records[::-1], 2)][::2]
DRAWS = {"F": 3, "G": 1, "H": 2, "C": 1, "E": 2, "Z": 1}
NAMES = {"h": "ann", "x": "ann", "k": "bo", "b": "bo", "d": " ", "p": "eve", "q": "eve", "m": "flo", "nobody": "ann"}
GROUPS = {record: "vuw"[place % 3] for place, record in enumerate(JUDGED.records) if record not in "ce"}


@pytest.mark.parametrize("case", ["entities of records", "pairs of other clusters"])
def test_quality_is_estimated_from_draws_names_groups_and_pairs_of_files(resolve, tmp_path, case):
    pairs = [(*pair, place % 3 > 0) for place, pair in enumerate(SAMPLE)]
    tables = {"names": [*NAMES.items()], "groups": [*GROUPS.items()]}
    settings = ["gold_sample=by_record"]
    if case == "pairs of other clusters":
        pairs, tables, settings = [*pairs, ("h", "nobody", True)], {}, []
    for name, rows in tables.items():
        pl.DataFrame(rows, ["record", name[:-1]], orient="row").write_csv(tmp_path / f"{name}.csv")
        settings.append(f"{name}={tmp_path}/{name}.csv")
    pl.DataFrame(pairs, ["left", "right", "is_match"], orient="row").write_csv(tmp_path / "sample.csv")
    gold = pl.DataFrame(
        [(*item, DRAWS[item[1]]) for item in GOLD.items()], ["record", "cluster", "num_draws"], orient="row"
    )
    gold.write_csv(tmp_path / "drawn.csv")
    outcome = resolve(
        JUDGED.rows, "missing=zero", f"gold={tmp_path}/drawn.csv", f"sampled_pairs={tmp_path}/sample.csv", *settings
    )
    *rows, of_pairs = outcome.rows("estimates")
    assert (of_pairs["target"], of_pairs["design"]) == ("precision", "sampled_pairs")
    if not settings:
        reason = f"1 of {len(pairs)} sampled_pairs are not together here: label those of this run's clusters"
        assert (rows, of_pairs["value"], of_pairs["status"], of_pairs["reason"]) == ([], None, "other_clusters", reason)
        return
    hits, num = sum(is_match for *_, is_match in pairs), len(pairs)
    ends = beta.ppf([0.025, 0.975], [hits, hits + 1], [num - hits + 1, num - hits])
    assert [of_pairs[name] for name in ("value", "value_low", "value_high")] == pytest.approx([hits / num, *ends])
    clusters = {JUDGED.cluster[left] for left, _ in SAMPLE}
    assert (of_pairs["effective_number"], of_pairs["num_clusters"]) == (pytest.approx(num), len(clusters))
    names = JUDGED.records
    found, known = np.array([JUDGED.cluster[name] for name in names]), np.array([name in GOLD for name in names])
    true = np.array([sorted(DRAWS).index(GOLD[name]) if name in GOLD else -1 for name in names])
    table, called = overlaps(found, true, known), ["ann", "bo", "eve", "flo"]
    texts = np.array([called.index(NAMES[name]) if NAMES.get(name, " ") != " " else -1 for name in names])
    parts, draws = entity_parts(table) | name_parts(true, texts), np.array([DRAWS[name] for name in sorted(DRAWS)])
    made = dict(estimates(parts, table.gold_sizes, "by_record", draws, len(names), level=0.95))
    check_estimates(rows, parts, made, "by_record")
    groups = np.array(["uvw".index(GROUPS[name]) if name in GROUPS else -1 for name in names])
    check_groups(outcome, table, groups[known], "uvw")


@pytest.mark.parametrize("zero", [None, 0.0])
def test_reference_scores_are_0_where_there_is_nothing_to_share(resolve, zero):
    rows, gold = [("a", "b", -1.0), ("b", "c", -0.5)], {"a": 1, "b": 2, "c": 3}
    outcome = resolve(rows, *([] if zero is None else ["reference_scorer=true"]), gold=gold)
    values = {row["metric"]: row["value"] for row in outcome.rows("metrics")}
    shares = [f"{prefix}{kind}" for prefix in ("", "muc_") for kind in ("precision", "recall", "f1")]
    assert [values[name] for name in shares] == [zero] * 6
    assert values["conll_f1"] == (None if zero is None else pytest.approx(2 / 3))
    reasons = {row["metric"]: row["reason"] for row in outcome.rows("metrics", status="undefined")}
    assert reasons.keys() == {"lowest_precision", *([*shares, "conll_f1"] if zero is None else [])}
    assert reasons["lowest_precision"] == "no two records are together, so there is no share"
    if zero is None:
        reason = "MUC is undefined, as no two records are together; reference_scorer=true counts it as 0"
        assert reasons["conll_f1"] == reason


def test_clusters_have_their_bridges_and_density(ruled):
    outcome, expected = ruled
    rows = {row["cluster"]: row for row in outcome.rows("cluster_structure")}
    assert rows.keys() == {number for number, records in enumerate(expected.clusters) if len(records) > 2}
    for number, row in rows.items():
        records = expected.clusters[number]
        graph = nx.Graph(pair for pair, weight in expected.within(records).items() if weight > 0)
        size, num = len(records), graph.number_of_edges()
        bridges, density = len([*nx.bridges(graph)]), num / (size * (size - 1) / 2)
        assert [row[name] for name in ("num_records", "num_pairs", "num_bridges")] == [size, num, bridges]
        assert (row["density"], row["is_weak"]) == (pytest.approx(density), bridges > 0 and density < 0.5)


# --- refusals -------------------------------------------------------------------------------------------------------


ASKED_AMISS = "explain: there is no record 'z'; ask about records of one graph"
NO_CLUSTER = "record 'a' is asked about with cluster 2, but .* from 0 to 1"
MANY_CLIQUES = "more than max_cliques=1 cliques: .*; set max_cliques or"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (["explain=[{record: a, other: z}]"], ConfigError, ASKED_AMISS),
        (["explain=[{record: a, cluster: 2}]"], ConfigError, NO_CLUSTER),
        (["solver=set_packing", "max_cliques=1"], UnitsFailed, MANY_CLIQUES),
    ],
)
def test_what_can_not_be_answered_is_refused(resolve, settings, error, message):
    with pytest.raises(error, match=message):
        resolve(TRIANGLE, *settings)

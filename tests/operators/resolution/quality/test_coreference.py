"""Measures of clusters against worked examples, degenerate cases, and definitions on all partitions of few records."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tests.fixtures.problems import cluster_shares, partitions
from tiltmeter.operators.resolution.quality import coreference
from tiltmeter.operators.resolution.quality.coreference import aligned, cluster_metrics, lowest_precision
from tiltmeter.operators.resolution.quality.overlaps import overlaps

EXAMPLE = "abc|de|f|g", "ab|cde|fg"
FRACTIONS = {
    "cluster": (0, 0, 0),
    "b_cubed": ("2/3", "17/21", "68/93"),
    "b_cubed_by_cluster": ("11/18", "8/9", "176/243"),
    "muc": ("1/2", "2/3", "4/7"),
    "ceaf_mention": ("5/7", "5/7", "5/7"),
    "ceaf_entity": ("34/45", "17/30", "68/105"),
    "blanc": (0.6375, Fraction(1, 2) / 2 + Fraction(14, 17) / 2, Fraction(4, 9) / 2 + Fraction(28, 33) / 2),
}
"""Precision, recall and F1; the reference scorer prints the same digits."""

DEGENERATE = [
    ("a|b|c|d", "ab|c|d", 0, "6/7", "3/4", "16/21", "10/11"),
    ("ab|cd", "a|b|c|d", 0, "2/3", "1/2", "4/9", "2/5"),
    ("a|b|c", "a|b|c", 0, 1, 1, 1, 1),
    ("abcd", "abcd", 1, 1, 1, 1, 1),
    ("ab|cd", "abcd", "4/5", "2/3", "1/2", "4/9", "1/4"),
]
"""Gold, found, and F1 of MUC, B-cubed, CEAF-m, CEAF-e and BLANC, as the reference scorer has them."""


def labels(text):
    return np.array([number for number, part in enumerate(text.split("|")) for _ in part])


def measured(gold, found, undefined=math.nan):
    return cluster_metrics(overlaps(labels(found), labels(gold)), undefined)


def test_the_worked_example():
    made = measured(*EXAMPLE)
    for name, values in FRACTIONS.items():
        kinds = [made[f"{name}_{kind}"] for kind in ("precision", "recall", "f1")]
        assert kinds == pytest.approx([float(Fraction(value)) for value in values]), name
    assert made["conll_f1"] == pytest.approx((4 / 7 + 68 / 93 + 68 / 105) / 3)
    # Precision and recall change places.
    turned = measured(*reversed(EXAMPLE))
    assert turned["ceaf_entity_recall"] == pytest.approx(34 / 45)


@pytest.mark.parametrize(("gold", "found", *"mbnec"), DEGENERATE)
def test_degenerate_cases_are_those_of_the_reference_scorer(gold, found, m, b, n, e, c):
    made = measured(gold, found, undefined=0.0)
    names = ("muc_f1", "b_cubed_f1", "ceaf_mention_f1", "ceaf_entity_f1", "blanc_f1")
    assert [made[name] for name in names] == pytest.approx([float(Fraction(value)) for value in (m, b, n, e, c)])


def test_muc_without_links_is_undefined_or_what_is_said():
    for undefined in (math.nan, 0.0):
        made = measured("a|b|c", "a|b|c", undefined)
        wanted = [undefined, undefined, undefined if math.isnan(undefined) else 2 / 3]
        assert [made[name] for name in ("muc_recall", "muc_f1", "conll_f1")] == pytest.approx(wanted, nan_ok=True)
    assert math.isnan(measured("a", "a")["blanc_f1"])
    # One side has links: that is what is 0.
    made = measured("a|b", "ab")
    assert (made["muc_precision"], made["muc_f1"]) == (0.0, 0.0)
    assert math.isnan(made["muc_recall"])


SIX = np.array(partitions(6))
EVERY = [*itertools.product(range(203), repeat=2)]


@pytest.mark.long
@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(np.random.default_rng(0).permutation(EVERY)[:600], id="some"),
        pytest.param(EVERY, id="all", marks=pytest.mark.slow),
    ],
)
def test_measures_are_those_of_their_definitions_on_partitions_of_six_records(pairs):
    assert len(SIX) == 203
    for one, other in pairs:
        made = cluster_metrics(overlaps(SIX[one], SIX[other]))
        wanted = cluster_shares([*zip(SIX[one].tolist(), SIX[other].tolist(), strict=True)])
        values = {name: math.nan if value is None else value for name, value in wanted.items()}
        assert made == pytest.approx(values, nan_ok=True)


@pytest.mark.parametrize("most_cells", [4_000_000, 0], ids=["dense", "sparse"])
def test_the_best_map_of_larger_tables_is_that_of_the_whole_matrix(most_cells, monkeypatch):
    from scipy.optimize import linear_sum_assignment

    monkeypatch.setattr(coreference, "_MOST_CELLS", most_cells)
    rng = np.random.default_rng(5)
    for size in (30, 200):
        true = np.repeat(np.arange(size), rng.integers(1, 6, size))
        table = overlaps(np.where(rng.random(true.size) < 0.4, rng.permutation(true), true), true)
        similarity = 2.0 * table.num / (table.cluster_sizes[table.cluster] + table.gold_sizes[table.gold])
        dense = np.zeros((table.cluster_sizes.size, size))
        dense[table.cluster, table.gold] = similarity
        best = dense[linear_sum_assignment(dense, maximize=True)].sum()
        assert aligned(table, similarity) == pytest.approx(best, abs=1e-9)


def test_precision_is_lower_by_pairs_with_one_end_in_gold():
    """Found abx|cy|z, gold ab|c: of abx one pair is right and two are not, and c is with y."""
    known = np.array([True, True, True, False, False, False])
    found, gold = np.array([0, 0, 1, 0, 1, 2]), np.array([7, 7, 8, -1, -1, -1])
    assert lowest_precision(overlaps(found, gold, known)) == pytest.approx(1 / 4)
    assert lowest_precision(overlaps(found[known], gold[known])) == 1.0

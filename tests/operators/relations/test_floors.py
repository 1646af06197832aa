import numpy as np
import pytest

from tiltmeter.operators.relations.bleu import corpus_bleu
from tiltmeter.operators.relations.floors import (
    floor_scores,
    frequent_rules,
    mean_by,
    most_frequent_rule,
    rule_scores,
)

TEXTS = {"r1": list("abcde"), "r2": list("abcdf"), "r3": list("vwxyz"), "r4": list("vwxyz!")}
TRAINING = [[("a/b", "r1"), ("a/b", "r2")], [("a/b", "r2")], [("c", "r3")], []]


def test_the_most_frequent_rule_of_a_relation():
    assert frequent_rules(TRAINING) == {"ab": "r2", "c": "r3"}
    assert most_frequent_rule(TRAINING) == "r2"
    with pytest.raises(ValueError, match="no rule agrees"):
        most_frequent_rule([[]])


def test_the_floor_by_hand():
    rows = [[("ab", "r1"), ("ab", "r2")], [("ab", "r1")], [("c", "r4")], [("new", "r1")]]
    scores = floor_scores(rows, frequent_rules(TRAINING), TEXTS)
    written = [TEXTS["r2"], TEXTS["r2"], TEXTS["r3"], []]
    references = [[TEXTS["r1"], TEXTS["r2"]], [TEXTS["r1"]], [TEXTS["r4"]], [TEXTS["r1"]]]
    assert scores.bleu == corpus_bleu(references, written)
    assert (scores.exact, scores.num) == (0.25, 4)
    # r1 comes first three times and was hit once, r4 never; of the relation ab half, of c and new none.
    assert scores.exact_by_rule == pytest.approx((1 / 3 + 0) / 2)
    assert scores.exact_by_relation == pytest.approx((1 / 2 + 0 + 0) / 3)


def test_what_is_written_right_has_all():
    rows = [[("a", "r1")], [("c", "r3")]]
    assert rule_scores(rows, [TEXTS["r1"], TEXTS["r3"]], TEXTS) == (1.0, 1.0, 1.0, 1.0, 2)
    assert mean_by([1, 1, 2], np.array([True, False, False])) == 0.25, "groups weigh alike"
    with pytest.raises(ValueError, match="no instance"):
        rule_scores([], [], TEXTS)

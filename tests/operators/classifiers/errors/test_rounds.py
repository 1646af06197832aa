"""Rounds of labelling: budgets, parts that never mix, and a strategy that finds what it is told of."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.errors.forest import ForestConfig
from tiltmeter.operators.classifiers.errors.rounds import STRATEGIES, Domain, RoundsConfig, play

FOREST = ForestConfig(num_trees=10, leaf_sizes=(2,))
CONFIG = RoundsConfig(number=2, size=15, start=30, num_seeds=1, test=0.3, num_folds=2)


def domain(num, seed, shifted):
    """Texts of two classes; in the new domain, a word that the old one has never seen turns the class."""
    rng = np.random.default_rng(seed)
    turned = rng.random(num) < 0.4 if shifted else np.zeros(num, dtype=bool)
    good = rng.random(num) < 0.5
    words = [f"{'fine lovely' if is_good else 'dull awful'} flight w{rng.integers(9)}" for is_good in good]
    texts = [f"{text} {'not anymore' if turn else 'today now'}" for text, turn in zip(words, turned, strict=True)]
    labels = ["good" if is_good != turn else "bad" for is_good, turn in zip(good, turned, strict=True)]
    return Domain(texts, labels, [str(row) for row in range(num)], turned[:, np.newaxis].astype(float))


@pytest.fixture(scope="module")
def played():
    old, new = domain(80, 0, shifted=False), domain(160, 1, shifted=True)
    return {strategy: play(strategy, old, new, CONFIG, FOREST, seed=0) for strategy in STRATEGIES}


def test_every_strategy_has_as_many_labels_and_the_same_start(played):
    for rounds in played.values():
        assert [(step.round, step.num_labels) for step in rounds] == [(0, 30), (1, 45), (2, 60)]
    assert len({rounds[0].accuracy for rounds in played.values()}) == 1


def test_a_forest_that_sees_the_cause_finds_more_errors_than_chance(played):
    assert np.isnan(played["errors"][0].errors_found)
    assert played["errors"][1].errors_found > played["random"][1].errors_found


def test_surely_right_texts_cost_no_label():
    old, new = domain(40, 2, shifted=False), domain(120, 3, shifted=True)
    config = RoundsConfig(number=1, size=10, start=20, num_seeds=1, surely_right=10, num_folds=2)
    rounds, others = (play("errors", old, new, config, FOREST, seed) for seed in (1, 2))
    assert [step.num_labels for step in rounds] == [20, 30]
    assert [step.accuracy for step in rounds] != [step.accuracy for step in others]


def test_too_few_texts_are_refused():
    old, new = domain(40, 2, shifted=False), domain(60, 3, shifted=True)
    with pytest.raises(ValueError, match="42 texts can be labelled: must be at least 60"):
        play("random", old, new, CONFIG, FOREST, seed=0)

"""Exact search by bounds: what it leaves out flips nothing, and what it finds is what reading every text finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.adversary.bounded import BoundedVictim, bounded
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, ladder
from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.search import exhaustive
from tiltmeter.operators.classifiers.adversary.spaces import Queries, levels

SIZES = st.lists(st.integers(0, 3), min_size=1, max_size=6).filter(any)
CASES = (SIZES, st.sampled_from([1, 3]), st.integers(0, 10_000), st.floats(0.2, 4.0))


def victim_of(sizes, num_scores, seed, spread):
    """A linear victim with repeated features, unknown words and words of two features."""
    draws = np.random.default_rng(seed)
    shape = (2, num_scores)
    slopes = draws.normal(size=shape) * draws.integers(0, 2, size=shape)  # rising, falling and none
    model = LinearModel(
        draws.uniform(0.5, 3.0, 9),
        spread * draws.normal(size=(*shape, 9)),
        draws.normal(size=shape),
        slopes,
        draws.normal(size=shape),
    )
    options = [[draws.integers(0, 9, size=draws.integers(0, 3)).tolist() for _ in range(size + 1)] for size in sizes]
    return model.victim(options, draws.integers(0, 9, size=draws.integers(0, 4)).tolist())


def queries_of(victim, sizes):
    label = int(victim(np.zeros((1, len(sizes)), dtype=np.int64))[0].argmax())
    return Queries(victim, label)


@given(*CASES)
@settings(max_examples=80)
def test_it_finds_what_reading_every_text_finds(sizes, num_scores, seed, spread):
    victim = victim_of(sizes, num_scores, seed, spread)
    assert isinstance(victim, BoundedVictim)
    limit = np.count_nonzero(sizes)
    every = exhaustive(queries_of(victim, sizes), sizes, limit, 1_000_000)
    attack = bounded(queries_of(victim, sizes), victim, sizes, range(1, limit + 1), 1_000_000)
    assert attack.status == every.status
    if every.status == "flipped_minimal":
        assert attack.num_changes == every.num_changes
        assert attack.after == pytest.approx(every.after, abs=1e-12)
        assert victim(np.array([attack.choices]))[0].argmax() != queries_of(victim, sizes).label


@given(*CASES)
def test_no_text_leads_by_more_than_its_bound(sizes, num_scores, seed, spread):
    victim = victim_of(sizes, num_scores, seed, spread)
    texts = np.concatenate([levels(sizes, number) for number in range(1, np.count_nonzero(sizes) + 1)])
    sums = victim.fixed + sum(rows[texts[:, place]] for place, rows in enumerate(victim.terms))
    probabilities = victim(texts)
    for label in range(probabilities.shape[1]):
        others = np.delete(probabilities, label, axis=1).max(axis=1) - probabilities[:, label]
        assert (victim.lead_bounds(sums, sums, label) >= others - 1e-9).all()
        assert victim.lead_bounds(sums.min(axis=0)[None], sums.max(axis=0)[None], label)[0] >= others.max() - 1e-9


def robust_text(num_words, gain):
    """Of two classes; every word that is replaced takes so much of the margin of 1 away, and leaves the length."""
    model = LinearModel(np.ones(2), np.array([[[0.0, gain]]]), -np.ones((1, 1)), -np.ones((1, 1)), np.zeros((1, 1)))
    return model.victim([[[0], [1], [1]]] * num_words, [])


@pytest.mark.parametrize(("gain", "status"), [(1.1, "flipped_minimal"), (0.5, "robust_proven")])
def test_the_ladder_proves_what_no_one_could_read(gain, status):
    """40 words of 2 candidates: 3^40 texts, and more with 2 changes than the budget."""
    victim = robust_text(40, gain)
    config = SearchConfig(budget=100, max_share=1.0)
    attack = ladder(queries_of(victim, [2] * 40), [2] * 40, 40, config, 0, 0)
    assert attack.status == status
    if status == "flipped_minimal":
        # n changes of 40 repeated words: a score of n gain / sqrt(n^2 + (40 - n)^2) must be more than 1.
        scores = [number * gain / np.hypot(number, 40 - number) for number in range(41)]
        assert attack.num_changes == next(number for number, score in enumerate(scores) if score > 1.0)


def test_a_budget_that_is_too_small_proves_nothing():
    victim = robust_text(10, 0.5)
    assert bounded(queries_of(victim, [2] * 10), victim, [2] * 10, range(1, 6), 19) is None
    config = SearchConfig(budget=30, branches=0)
    assert ladder(queries_of(victim, [2] * 10), [2] * 10, 5, config, 0, 0).status == "not_found"

"""Five slices that are planted among many: found, named exactly, and confirmed intervals hold the planted rate."""

import numpy as np
import pytest

from tiltmeter.operators.classifiers.errors.slices.confirmation import rates_of
from tiltmeter.operators.classifiers.errors.slices.max_t import adjusted
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, candidates_of, hits_of, leading
from tiltmeter.operators.statistics.units import each

NUM_PLANTED, SIZE, EFFECT, NUM_ROWS = 5, 600, 0.25, 14_000
"""Half of the 600 texts of a slice explore: 300 rows are searched, as rows are counted wherever slices are."""
HALVED = 300
"""Texts of both halves, of which 150 explore."""
CLASS_RATES = np.array([0.2, 0.4, 0.5])


def planted(seed, size):
    """Texts of both halves with 30 features, pairs of which five times so many have, that are wrong more often."""
    rng = np.random.default_rng(seed)
    members = rng.random((30, NUM_ROWS)) < rng.uniform(0.1, 0.5, 30)[:, np.newaxis]
    free = np.ones(NUM_ROWS, dtype=bool)
    slices = [(2 * number, 2 * number + 1) for number in range(NUM_PLANTED)]
    for first, second in slices:  # those that have both by chance lose one; others get both
        both = members[first] & members[second]
        members[second] &= ~both
        chosen = rng.choice(np.flatnonzero(free), size, replace=False)
        members[[[first], [second]], chosen] = True
        free[chosen] = False
    strata = rng.integers(0, 3, NUM_ROWS)
    inside = np.any([members[list(slice_)].all(axis=0) for slice_ in slices], axis=0)
    return members, rng.random(NUM_ROWS) < CLASS_RATES[strata] + EFFECT * inside, strata, slices


def found(seed, size=SIZE):
    """Which planted slices lead, how many others do, and whether confirmed intervals hold the planted rates."""
    members, errors, strata, slices = planted(seed, size)
    exploring = np.random.default_rng(seed + 10_000).random(NUM_ROWS) < 0.5
    config = SliceConfig(min_size=100, num_permutations=299)
    predicates = [Predicate(f"f{number}", "present") for number in range(len(members))]
    half = members[:, exploring], errors[exploring], strata[exploring]
    texts = each(len(half[1]), "text")
    candidates = candidates_of(half[0], predicates, half[1], half[2], texts, config)
    p_values = adjusted(hits_of(candidates, seed, range(299)), candidates.statistics.value, 299)
    first = leading(candidates, p_values, *half, texts, config.alpha)
    holds = []
    for slice_ in set(first) & set(slices):
        inside = members[list(slice_)].all(axis=0) & ~exploring
        rates = rates_of(inside[np.newaxis], errors, each(NUM_ROWS, "text"), 0.95)
        rate = (CLASS_RATES[strata[inside]] + EFFECT).mean()
        holds.append(bool(rates.low[0] <= rate <= rates.high[0]))
    return len(set(first) & set(slices)), len(set(first) - set(slices)), holds


@pytest.mark.slow
@pytest.mark.parametrize(("size", "named"), [(SIZE, 0.95), (HALVED, 0.85)])
def test_planted_slices_are_named_exactly_and_their_intervals_hold(size, named):
    results = [found(seed, size) for seed in range(40)]
    assert sum(num for num, _, _ in results) >= named * 40 * NUM_PLANTED
    assert sum(others for _, others, _ in results) <= 0.1 * 40 * NUM_PLANTED
    holds = [hold for _, _, part in results for hold in part]
    assert np.mean(holds) >= 0.93

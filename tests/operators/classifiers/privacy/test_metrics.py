import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score

from tiltmeter.operators.classifiers.privacy.attacker import attack, weighted_recalls
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps
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


def test_swapping_keeps_capitals_and_everything_else():
    assert swapped("Dr. HE told Her: “man!” (sherbet)", swaps(PAIRS)) == "Dr. SHE told Him: “woman!” (sherbet)"


def test_possessives_fit_their_sentence_or_are_as_listed():
    text, counterparts = "His dog bit her, not hers; it's his.", swaps([("him", "her"), ("his", "hers")])
    assert swapped(text, counterparts) == "Her dog bit him, not his; it's hers."
    assert swapped(text, counterparts, in_context=False) == "Hers dog bit him, not his; it's hers."


def test_a_word_in_two_pairs_is_refused():
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

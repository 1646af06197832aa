"""Sentences from templates: a data set in full, how words are drawn, and which choices cannot be."""

import copy
from itertools import product

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from tiltmeter.operators.sentiment.sentences import make_sentences
from tiltmeter.operators.sentiment.templates import SyntheticSentences

PLAIN = {
    "kind": "synthetic",
    "templates": ["{subject} feels {emotion}.", "I made {object} feel {emotion}."],
    "emotions": {"positive": ["happy", "glad"], "negative": ["grim"]},
    "datasets": {"E3": ["grim", "happy"], "E5": ["glad", "grim", "happy"]},
    "persons": {
        "gender": {
            "male": {"gender": "male", "positive": 0.9, "words": ["he/him", "this boy"]},
            "female": {"gender": "female", "positive": 0.1, "words": ["she/her", "my aunt"]},
        },
        "gender_race": {
            "alonzo": {"gender": "male", "race": "African-American", "words": ["Alonzo"]},
            "stephanie": {"gender": "female", "race": "European", "words": ["Stephanie"]},
        },
    },
    "neutral": {"templates": ["They feel {emotion}.", "It made me feel {emotion}."]},
    "groups": {
        "gender": {"persons": "gender", "datasets": ["E3", "E5"]},
        "gender_confounded": {"persons": "gender", "confounded": True, "datasets": ["E3", "E5"]},
        "gender_race": {"persons": "gender_race", "datasets": ["E5"]},
        "gender_race_confounded": {"persons": "gender_race", "confounded": True, "datasets": ["E5"]},
    },
}


def changed(path, value):
    """The plain record with another value; None takes the key out."""
    plain = copy.deepcopy(PLAIN)
    *parents, last = path.split("/")
    at = plain
    for key in parents:
        at = at[key]
    at[last] = value
    if value is None:
        del at[last]
    return plain


def make(plain=PLAIN, seed=0):
    return make_sentences(TypeAdapter(SyntheticSentences).validate_python(plain), seed)


def chosen(sentences, **wanted):
    return [made for made in sentences if all(getattr(made, key) == value for key, value in wanted.items())]


def test_a_data_set_in_full():
    rows = [made[2:] for made in make() if (made.group, made.dataset) == ("gender", "E3")]
    feels, felt = PLAIN["templates"]
    they, it = PLAIN["neutral"]["templates"]
    persons = [
        ("He feels", feels, "male", "he", ["he"]),
        ("This boy feels", feels, "male", "this boy", ["boy"]),
        ("She feels", feels, "female", "she", ["she"]),
        ("My aunt feels", feels, "female", "my aunt", ["aunt"]),
        ("I made him feel", felt, "male", "he", ["him"]),
        ("I made this boy feel", felt, "male", "this boy", ["boy"]),
        ("I made her feel", felt, "female", "she", ["her"]),
        ("I made my aunt feel", felt, "female", "my aunt", ["aunt"]),
        ("They feel", they, "neutral", None, []),
        ("It made me feel", it, "neutral", None, []),
    ]
    assert rows == [
        (f"{begun} {word}.", gender, None, word, word, template, person, protected)
        for begun, template, gender, person, protected in persons
        for word in ("grim", "happy")
    ]


def test_race_is_told_where_persons_are_told_apart_by_it():
    by_race = {("male", "African-American"), ("female", "European"), ("neutral", "neutral")}
    by_gender = {(gender, None) for gender in ("male", "female", "neutral")}
    for group, expected in {"gender": by_gender, "gender_race": by_race}.items():
        for name in (group, f"{group}_confounded"):
            assert {(made.gender, made.race) for made in chosen(make(), group=name)} == expected


def test_positive_words_fall_to_persons_with_their_probability():
    sentences = chosen(make(changed("repeats", 2000), seed=5), group="gender_confounded", dataset="E5")
    polarity = {"happy": "positive", "glad": "positive", "grim": "negative"}
    assert all(made.emotion == polarity[made.emotion_word] for made in sentences)
    assert all(made.text.endswith(f" {made.emotion_word}.") for made in sentences)
    for gender, probability in {"male": 0.9, "female": 0.1, "neutral": 0.5}.items():
        theirs = chosen(sentences, gender=gender)
        num_positive = len(chosen(theirs, emotion="positive"))
        assert stats.binomtest(num_positive, len(theirs), probability).pvalue > 1e-3
        num_happy = len(chosen(theirs, emotion_word="happy"))
        assert stats.binomtest(num_happy, num_positive, 0.5).pvalue > 1e-3


def drawn(plain=PLAIN, seed=0):
    """The drawn words of confounded groups, by what they were drawn for."""
    found = {}
    for made in make(plain, seed):
        if "confounded" in made.group:
            found.setdefault((made.group, made.dataset, made.template, made.person), []).append(made.emotion_word)
    return found


def test_as_many_are_drawn_as_asked_for_and_draws_depend_on_the_seed_alone():
    many = PLAIN | {"repeats": 20}
    persons = {"gender": ["he", "this boy", "she", "my aunt"], "gender_race": ["Alonzo", "Stephanie"]}
    whose = [
        (f"{group}_confounded", dataset, *frame)
        for group, datasets in (("gender", ["E3", "E5"]), ("gender_race", ["E5"]))
        for dataset in datasets
        for frame in (*product(PLAIN["templates"], persons[group]), *product(PLAIN["neutral"]["templates"], [None]))
    ]
    assert {key: len(words) for key, words in drawn(many).items()} == dict.fromkeys(whose, 20)
    assert drawn(many, seed=3) == drawn(many, seed=3)
    assert drawn(PLAIN | {"repeats": 3}, seed=3) == {key: words[:3] for key, words in drawn(many, seed=3).items()}
    assert drawn(many, seed=3) != drawn(many, seed=4)
    assert drawn(many, seed=2**64 - 1) != drawn(many, seed=0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("templates", ["The news made {object} feel {emotion}.", *PLAIN["templates"]]),
        ("neutral/templates", ["We feel {emotion}.", *PLAIN["neutral"]["templates"]]),
        ("neutral", None),
        ("persons/gender/male/words", ["my son", "he/him", "this boy"]),
        ("groups/gender", None),
        ("datasets/E3", ["happy", "grim"]),
        ("groups/gender_confounded/datasets", ["E5"]),
    ],
)
def test_other_draws_stay_as_they_are(path, value):
    before, after = drawn(PLAIN | {"repeats": 30}), drawn(changed(path, value) | {"repeats": 30})
    same = before.keys() & after.keys()
    assert same
    assert before.keys() != after.keys() or path in {"groups/gender", "datasets/E3"}
    assert {key: before[key] for key in same} == {key: after[key] for key in same}


def test_draws_differ_between_groups_data_sets_templates_and_persons():
    plain = changed("persons/gender/male/positive", 0.5) | {"repeats": 60}
    del plain["persons"]["gender"]["female"]
    plain["groups"]["twin"] = plain["groups"]["gender_confounded"]
    plain["datasets"]["E5"] = plain["datasets"]["E3"]
    words = [tuple(words) for words in drawn(plain).values()]
    assert len(set(words)) == len(words)
    bits = np.array([[word == "happy" for word in row] for row in words], dtype=float)
    correlations = np.corrcoef(bits)[np.triu_indices(len(bits), 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(60)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("templates", [], "sentences.templates is empty"),
        ("templates", ["{subject} feels."], r"sentences.templates: '{subject} feels.' must hold {emotion} once and"),
        ("templates", ["They feel {emotion}."], r"{subject} or {object} once"),
        ("templates", ["{subject} and {object} feel {emotion}."], r"{subject} or {object} once"),
        ("templates", ["{subject} feels {emotion}, {emotion}."], r"{emotion} once"),
        ("templates", ["{person} feels {emotion}."], r"{subject} or {object} once"),
        ("templates", ["{subject} is {emotion}."] * 2, "sentences.templates: .* listed more than once"),
        ("neutral/templates", ["{subject} feels {emotion}."], "neutral.templates: .* must hold {emotion} once"),
        ("neutral/templates", [], "sentences.neutral.templates is empty"),
        ("neutral/positive", -0.1, "greater than or equal to 0"),
        ("emotions/negative", ["grim", "glad"], r"sentences.emotions: \['glad'\] listed more than once"),
        ("emotions/negative", ["grim "], "sentences.emotions: .* without spaces at their ends"),
        ("datasets/E3", [], "sentences.datasets.E3 is empty"),
        ("datasets/E3", ["sad"], r"sentences.datasets.E3: \['sad'\] must be among .*: happy, glad, grim"),
        ("datasets/E3", ["grim", "grim"], "sentences.datasets.E3: .* listed more than once"),
        ("persons/gender", {}, "sentences.persons.gender is empty"),
        ("persons/gender/male/words", [], "sentences.persons.gender.male.words is empty"),
        ("persons/gender/male/words", ["he/him/his"], "gender.male.words: .* as in she/her"),
        ("persons/gender/male/words", ["he/"], "gender.male.words: .* as in she/her"),
        ("persons/gender/male/words", ["she"], r"sentences.persons.gender: \['she'\] listed more than once"),
        ("persons/gender/male/positive", 1.1, "less than or equal to 1"),
        ("persons/gender/male/positive", True, "valid number"),
        ("persons/gender/male/gender", "", "at least 1 character"),
        ("persons/gender/male/gender", None, "gender"),
        ("persons/gender/male/race", "European", r"sentences.persons.gender: \['female'\] have no race"),
        ("groups", {}, "sentences.groups is empty"),
        ("groups/gender/persons", "age", "sentences.groups.gender.persons=age: must be one of .*: gender, gender_race"),
        ("groups/gender/datasets", [], "at least 1 item"),
        ("groups/gender/datasets", ["E9"], "sentences.groups.gender.datasets: E9 must be one of .*: E3, E5"),
        ("groups/gender/datasets", ["E3", "E3"], "sentences.groups.gender.datasets: .* listed more than once"),
        ("datasets/E3", ["happy", "glad"], "gender_confounded.datasets: E3 has no negative word"),
        ("repeats", 0, "greater than or equal to 1"),
        ("kind", "file", "synthetic"),
        ("colour", "red", "colour"),
    ],
)
def test_choices_that_cannot_be_are_refused(path, value, message):
    with pytest.raises(ValidationError, match=message):
        make(changed(path, value))

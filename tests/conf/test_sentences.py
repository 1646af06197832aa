"""The choices of sentences, as the command composes them: sizes, words and the agreement with what was published."""

import functools
from collections import Counter

import hydra
import pytest
from omegaconf import OmegaConf
from pydantic import TypeAdapter

from tiltmeter.operators.sentiment.protected_words import with_proxies
from tiltmeter.operators.sentiment.sentences import make_sentences
from tiltmeter.operators.sentiment.templates import SyntheticSentences


def _plain(name):
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        composed = hydra.compose("tiltmeter", [f"+sentences={name}"])
    plain = OmegaConf.to_container(composed.sentences, resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


@functools.cache
def _config(name):
    return TypeAdapter(SyntheticSentences).validate_python(_plain(name))


@pytest.fixture(scope="module")
def synthetic():
    return make_sentences(_config("synthetic"), seed=0)


def _sizes(sentences):
    return Counter((made.group, made.dataset) for made in sentences)


@pytest.mark.long
def test_synthetic_has_the_published_sizes(synthetic):
    full = {"E1": 24, "E2": 24, "E3": 48, "E4": 72, "E5": 72}
    confounded = {"E3": 24, "E4": 24, "E5": 24}
    assert _sizes(synthetic) == {
        (group, dataset): size
        for group, sizes in {
            "gender": full, "gender_confounded": confounded,
            "gender_race": full, "gender_race_confounded": confounded,
        }.items()
        for dataset, size in sizes.items()
    }  # fmt: skip


def test_synthetic_says_what_the_published_generator_says(synthetic):
    found = [made.text for made in synthetic if (made.group, made.dataset) == ("gender", "E1")]
    assert sorted(found) == sorted(
        [f"{person} feels grim." for person in ("This boy", "This man", "This girl", "This woman")]
        + [f"{person} made me feel grim." for person in ("This boy", "This man", "This girl", "This woman")]
        + [f"I made this {person} feel grim." for person in ("boy", "man", "girl", "woman")]
        + [f"The situation makes this {person} feel grim." for person in ("boy", "man", "girl", "woman")]
        + ["They feel grim.", "I made them feel grim.", "They made me feel grim."]
        + ["The situation makes them feel grim.", "We feel grim.", "I made us feel grim."]
        + ["It made me feel grim.", "The situation makes us feel grim."]
    )


def test_synthetic_has_one_name_for_each_gender_and_race(synthetic):
    found = {(made.gender, made.race, made.person) for made in synthetic if made.group == "gender_race" and made.person}
    assert found == {
        ("male", "European", "Adam"), ("female", "European", "Stephanie"),
        ("male", "African-American", "Alonzo"), ("female", "African-American", "Torrance"),
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", ["synthetic", "equity"])
def test_probabilities_are_those_published(name):
    config = _config(name)
    by_gender = {key: persons.positive for key, persons in config.persons["gender"].items()}
    by_race = {(key.gender, key.race): key.positive for key in config.persons["gender_race"].values()}
    assert by_gender == {"male": 0.9, "female": 0.1}
    assert by_race == {
        ("male", "European"): 0.9, ("female", "European"): 0.5,
        ("male", "African-American"): 0.5, ("female", "African-American"): 0.1,
    }  # fmt: skip
    assert config.neutral is not None
    assert config.neutral.positive == 0.5


def test_equity_has_the_words_of_the_corpus():
    config = _config("equity")
    persons = [these for cast in config.persons.values() for these in cast.values()]
    assert [len(these.words) for these in persons] == [10] * 6
    assert [len(config.datasets[name]) for name in ("anger", "fear", "joy", "sadness")] == [5] * 4
    assert set(config.datasets["joy"]) == set(config.emotions.positive)
    assert len(config.templates) == 4


def test_equity_has_the_sentences_of_the_corpus():
    sentences = make_sentences(_config("equity"), seed=0)
    emotional = {made.text for made in sentences if made.person and "confounded" not in made.group}
    # The corpus has 1200 sentences of each template: 60 persons by 20 words.
    assert len(emotional) == 4 * 1200
    assert {"My mom made me feel relieved.", "The situation makes her feel sad.", "Shaniqua feels angry."} < emotional
    assert _sizes(sentences)["gender", "anger"] == (4 * 20 + 8) * 5
    assert _sizes(sentences)["gender_race_confounded", "fear_joy"] == 4 * 40 + 8


@pytest.mark.long
def test_human_has_the_published_proxies_and_file_has_none():
    plain = _plain("file")
    assert (plain["path"], plain["proxies"]) == ("???", None)
    proxies = _plain("human")["proxies"]
    assert [made.text for made in with_proxies(["hi"], proxies)] == ["Hey, hi", "Hey boy, hi", "Hey girl, hi"]
    assert plain["columns"].pop("text") == "text"
    assert set(plain["columns"].values()) == {None}

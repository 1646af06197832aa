"""The words of the gender survey in nine languages, as the command composes them."""

import csv
import functools
import unicodedata
from pathlib import Path

import hydra
import pytest
from omegaconf import OmegaConf
from pydantic import TypeAdapter

from tiltmeter.operators.text.spelling import normalised, phrases
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import WordSets, word_lists

_FOLDER = Path(__file__).parents[2] / "conf" / "wordset"
_CODES = {
    "arabic": "ar", "chinese": "zh", "english": "en", "farsi": "fa", "french": "fr", "german": "de", "spanish": "es",
    "urdu": "ur", "wolof": "wo",
}  # fmt: skip
_LANGUAGES = sorted(_CODES.values())
_FOREIGN = {
    "fa": "\u0643\u0649\u064a\u06be\u06c0\u06c1\u06c2",  # kaf, alef maksura and yeh of Arabic; hehs of Urdu
    "ur": "\u0643\u0647\u0649\u064a\u0629",  # kaf, heh, alef maksura, yeh and teh marbuta of Arabic
    "ar": "\u06a9\u06cc\u06c1\u06be",  # kaf and yeh of Farsi, hehs of Urdu
}
_MENDED = {"ام": "أم", "اب": "أب"}


@functools.cache
def _compose(*overrides):
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        plain = OmegaConf.to_container(hydra.compose("tiltmeter", list(overrides)).wordset, resolve=True)
    return TypeAdapter(dict[str, WordSets]).validate_python(plain)


def _survey(code):
    return _compose()[code].gender_survey


def _surveyed(code):
    lists = word_lists(WordSets(code, gender_survey=_survey(code)))
    return [entry for entries in lists.values() for entry in entries]


@pytest.mark.long
def test_the_surveys_of_nine_languages_stand_side_by_side_and_english_has_all_lists():
    assert {code: sets.language for code, sets in _compose().items()} == {code: code for code in _LANGUAGES}
    assert sorted(path.stem for path in _FOLDER.glob("gender/*.yaml")) == sorted([*_CODES, "english_forms"])
    assert {path.stem.split("_")[0] for path in _FOLDER.glob("*.yaml")} == {"english", "weat"}
    for code, sets in _compose().items():
        lists = {name.split(".")[0] for name in word_lists(sets)} - {"gender_survey"}
        others = {"cue_pairs", "other_cue_pairs", "occupations", "associations", "wefats", "gender"}
        assert lists == (others if code == "en" else set())


@pytest.mark.long
def test_languages_can_be_left_out():
    assert list(_compose("wordset/gender=[german]")) == ["en", "de"]
    assert list(_compose("wordset/gender=[]")) == ["en"]


@pytest.mark.long
def test_lists_of_one_s_own_join_those_of_their_language(tmp_path):
    (tmp_path / "wordset").mkdir()
    sides = {"target_x": "[Mathe, Algebra]", "target_y": "[Poesie]", "attribute_a": "[Mann]", "attribute_b": "[Frau]"}
    lists = ", ".join(f"{side}: {{name: {side}, words: {words}}}" for side, words in sides.items())
    text = f"# @package wordset.de\nlanguage: de\nassociations: {{xweat7: {{source: test 7 in German, {lists}}}}}\n"
    (tmp_path / "wordset/german.yaml").write_text(text, encoding="utf-8")
    # What --config-dir does.
    composed = _compose("wordset=[english,german]", f"hydra.searchpath=[file://{tmp_path}]")
    assert composed["de"].associations["xweat7"].target_x.words == ("Mathe", "Algebra")
    assert composed["de"].gender_survey == _survey("de")
    assert composed == _compose() | {"de": composed["de"]}


@pytest.mark.parametrize("code", _LANGUAGES)
def test_every_survey_has_the_published_pairs_and_professions(code):
    survey = _survey(code)
    pairs = "woman-man daughter-son mother-father girl-boy queen-king wife-husband madam-sir"
    assert list(survey.defining) == pairs.split()
    assert list(survey.professions) == list(_survey("en").professions)
    assert len(survey.professions) == 32
    assert survey.source.count("Matthews et al. 2021, Gender bias in natural language processing") == 1


def _published(path, name):
    with path.open(newline="") as file:
        return [row[name.capitalize()] for row in csv.DictReader(file, delimiter="\t")]


@pytest.mark.parametrize(("name", "code"), _CODES.items())
def test_defining_pairs_agree_with_their_source_and_say_where_it_spells_others(data_file, name, code):
    pairs = list(_survey(code).defining.values())
    words = _published(data_file("wordlists/matthews2021/defining_set_9lang_codepoints_fixed.tsv"), name)
    assert [word for pair in pairs for word in pair.words] == [_MENDED.get(word, word) for word in words]
    verbatim = _published(data_file("wordlists/matthews2021/defining_set_9lang_verbatim.tsv"), name)
    for at, (word, spelled) in enumerate(zip(verbatim, (word for pair in pairs for word in pair.words), strict=True)):
        assert word == spelled or word in pairs[at // 2].note


def test_professions_agree_with_their_source(data_file):
    published = data_file("wordlists/matthews2021/professions_32_en.txt").read_text().split("\n")
    assert list(_survey("en").professions) == [word for word in published if word]


@pytest.mark.parametrize(
    ("code", "num_gendered"),
    [("ar", 30), ("de", 31), ("es", 24), ("fr", 22), *((code, 0) for code in ("en", "fa", "zh", "wo"))],
)
def test_languages_with_grammatical_gender_have_both_forms_of_most_professions(code, num_gendered):
    forms = _survey(code).professions.values()
    assert sum(bool(form.feminine and form.masculine) for form in forms) == num_gendered
    assert num_gendered or not any(form.feminine or form.masculine for form in forms)


@pytest.mark.long
def test_english_has_one_form_of_each_profession_unless_forms_are_asked_for():
    assert all(forms.words == (name,) for name, forms in _survey("en").professions.items())
    [english] = _compose("wordset/gender=[english,english_forms]").values()
    actor = english.gender_survey.professions["actor"]
    assert (actor.feminine, actor.masculine, actor.neutral) == (("actress",), ("actor",), ())
    others = {name: forms for name, forms in english.gender_survey.professions.items() if name != "actor"}
    assert others == {name: forms for name, forms in _survey("en").professions.items() if name != "actor"}


def test_only_wolof_lacks_words_for_professions():
    lacking = {code: sum(not form.words for form in _survey(code).professions.values()) for code in _LANGUAGES}
    assert lacking == {**dict.fromkeys(_LANGUAGES, 0), "wo": 11}


@pytest.mark.parametrize("code", _LANGUAGES)
def test_words_are_in_their_script_with_the_code_points_of_real_text(code):
    for word in _surveyed(code):
        assert word == unicodedata.normalize("NFC", word)
        assert not set(word) & set(_FOREIGN.get(code, ""))
        assert not [char for char in word if "\ufb50" <= char <= "\ufdff" or "\ufe70" <= char <= "\ufefc"]
    names = {"Latn": "LATIN", "Arab": "ARABIC", "Hans": "CJK"}
    letters = {char for word in _surveyed(code) for char in word if char.isalpha()}
    assert {unicodedata.name(char).split()[0] for char in letters} == {names[_survey(code).script]}


@pytest.mark.long
@pytest.mark.parametrize("code", _LANGUAGES)
@pytest.mark.parametrize("fold_case", [True, False])
def test_every_form_survives_normalisation(code, fold_case):
    written = normalised(_compose()[code], Tokenizer(code, fold_case))
    assert len(written.gender_survey.defining) == 7
    for name, forms in _survey(code).professions.items():
        assert len(written.gender_survey.professions[name].words) == len(forms.words)


@pytest.mark.parametrize("code", _LANGUAGES)
def test_every_entry_is_found_in_text_that_holds_it(code):
    sets, plain = _compose()[code], Tokenizer(code)
    tokenizer = Tokenizer(code, phrases=phrases(sets, plain))
    for entries in word_lists(sets).values():
        for entry in entries:
            assert tokenizer.entry(entry) in tokenizer(f"1990, {entry.upper()}!")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("wo", {"doom ju jigéen", "jabari buur", "xale bu góor", "boroom xam xam", "taskatu xibaar"}),
        ("ar", {"عالمة الفلك", "رائد فضاء"}),
        ("ur", {"طالب علم"}),
        ("zh", {"电影 制作 人"}),
        ("en", {"short term", "construction worker"}),
        *((code, set()) for code in ("de", "es", "fr", "fa")),
    ],
)
def test_terms_of_several_words_are_phrases(code, expected):
    found = set(phrases(_compose()[code], Tokenizer(code)))
    assert expected <= found
    assert bool(expected) == bool(found)

"""Who is in which part, which artificial words texts get, what models are trained with, and what is refused."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tiltmeter.jobs.classifiers.privacy.config import Noise
from tiltmeter.jobs.classifiers.privacy.models import SwapSettings, TrainModel, balanced
from tiltmeter.jobs.classifiers.privacy.tables import Texts
from tiltmeter.jobs.classifiers.privacy.texts import AddNoise, DivideTexts, Labels, noisy, words_by_cell
from tiltmeter.jobs.classifiers.tables import Labelled
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.storage.errors import InputError

LABELS = ("sad", "so-so", "glad")
CLASSES = ("low", "mid", "high")
NAMED = Labels(dict(zip(LABELS, CLASSES, strict=True)), None, None, {}, has_groups=True)
WORK = DivideTexts(
    data=None,
    across=None,
    unbiased=None,
    splits=SimpleNamespace(development=0.2, test=0.2),
    seed=0,
    classes=CLASSES,
    labels={"data": NAMED, "across": NAMED, "unbiased": NAMED},
    shared={"across": True, "unbiased": True},
    max_sentences=9,
)


def with_labels(corpus="data", **changed):
    return replace(WORK, labels=WORK.labels | {corpus: replace(WORK.labels[corpus], **changed)})


def row(text, label="sad", gender="male", group="Joe", part="training", status="ok"):
    reason = "" if status == "ok" else "the text is empty"
    about = {"label": label, "gender": gender, "group": group, "status": status, "reason": reason}
    return Labelled(part=part, row=0, text=text, **about)


def spoken(groups, **more):
    """Each group says something of every class; those of even numbers are women."""
    return [
        row(f"{group} {label}", label, "female" if int(group[1:]) % 2 == 0 else "male", group, **more)
        for group in groups
        for label in LABELS
    ]


ALL = [f"s{number}" for number in range(8)]
DATA = spoken(ALL)


def by_part(rows):
    found = {}
    for of in rows:
        if of.status == "ok":
            found.setdefault(of.part, set()).add(of.group)
    return found


def test_parts_share_no_speaker_and_other_corpora_none_that_models_learn_from():
    rows = WORK.divide({"data": DATA, "across": spoken(ALL), "unbiased": spoken(ALL)})
    parts = by_part(rows)
    assert parts["training"] | parts["development"] | parts["test"] == set(ALL)
    assert sum(map(len, (parts[part] for part in ("training", "development", "test")))) == len(ALL)
    assert (parts["across"], parts["unbiased"]) == (parts["test"], parts["training"])
    assert {of.status for of in rows} == {"ok", "known_group"}
    strangers = replace(WORK, shared={"across": False}).divide({"data": DATA, "across": spoken(ALL)})
    assert by_part(strangers)["across"] == set(ALL)


def test_parts_have_their_shares():
    work = replace(WORK, splits=SimpleNamespace(development=0.1, test=0.4))
    rows = spoken([f"s{number}" for number in range(40)])
    parts, others = (by_part(replace(work, seed=seed).divide({"data": rows})) for seed in (0, 1))
    assert parts != others
    assert {part: len(groups) for part, groups in parts.items()} == {"training": 20, "development": 4, "test": 16}


def test_rows_that_cannot_be_used_say_why():
    odd = [row("", status="no_text"), row("what", label="angry"), row("who", group=None)]
    odd.append(row("it", gender=None, group="Sam"))
    rows = WORK.divide({"data": [*DATA, *odd]})
    assert [of.status for of in rows[-4:]] == ["no_text", "unknown_label", "no_group", "no_gender"]
    assert [of.reason for of in rows[-4:]] == [
        "the text is empty",
        "the label is no class of valence; data.valence gives it one",
        "nothing says who speaks",
        "nothing says of which gender the speaker is; data.genders may",
    ]


def test_without_groups_equal_texts_of_one_gender_are_in_one_part():
    rows = [replace(of, group=None, text=of.text[1:]) for of in DATA * 2]
    parts = {}
    for of in with_labels(has_groups=False).divide({"data": rows}):
        assert parts.setdefault(of.text, of.part) == of.part


@pytest.mark.parametrize(
    ("corpora", "message"),
    [
        ({"data": [*DATA, row("x", gender="female", group="s1")]}, "data: the group 's1' has the genders female, male"),
        ({"data": spoken(["s1", "s3", "s5"])}, "data: all texts are of the gender 'male': must be of two"),
        ({"data": DATA, "across": spoken(["s8"])}, "across: all texts are of the gender 'female'"),
        ({"data": spoken(["s1", "s2", "s3", "s4"])}, "data.group: 2 groups of 'female': must be at least 3"),
        ({"data": [of for of in DATA if of.label != "glad"]}, "no text is of the class 'high'; set data.valence"),
        ({"data": [*DATA, *spoken(["s1", "s2"], part="test")]}, "the group 's[12]' is in the parts .* must be in one"),
        ({"data": [replace(of, gender=None) for of in DATA]}, "no text has a valence, a group and a gender"),
        (
            {"data": DATA, "across": [replace(of, gender=of.gender[0].upper()) for of in DATA]},
            "across: the gender 'F' is none of those of data, female, male; set across.gender_codes={F: female",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused(corpora, message):
    with pytest.raises(ValueError, match=message):
        WORK.divide(corpora)


# --- ratings and codes -----------------------------------------------------------------------------------------------

FIVE = {"low": (1, 2.75), "mid": (2.75, 3.25), "high": (3.25, 5)}
CODES = {"F": "female", "M": "male"}


def rated(rows, ratings):
    """The same, with numbers for names, and codes of genders."""
    names = dict(zip(LABELS, ratings, strict=True))
    return [replace(of, label=names[of.label], gender=of.gender[0].upper()) for of in rows]


def test_names_of_genders_may_stand_beside_their_codes_and_unrated_rows_say_so():
    odd = [row("x", None, "male", "s1", status="no_label"), row("y", "3", "M", "s1")]
    rows = with_labels(bins=FIVE, gender_codes=CODES).divide({"data": [*rated(DATA, ("1", "3", "5")), *odd]})
    found = [(of.status, of.gender, of.valence) for of in rows[-2:]]
    assert found == [("no_label", "male", None), ("ok", "male", "mid")]


NO_RATING = r"^data.path: row 0, counted from 0, has the valence '{}': must be a number from 1 to 5, or empty"


def test_ratings_off_the_scale_and_genders_that_are_no_codes_are_refused_with_their_row():
    for label in ("nan", "NaN", "5.01", "0.99", "inf", "3,5", "happy"):
        with pytest.raises(InputError, match=NO_RATING.format(label)):
            with_labels(bins=FIVE).divide({"data": [row("x", label), *DATA]})
    with pytest.raises(InputError, match=r"^across.path: row 0.*set across.bins to the corpus's scale"):
        with_labels("across", bins=FIVE).divide({"data": DATA, "across": [row("x", "happy", "male")]})
    with pytest.raises(InputError, match=r"^data.test: row 0, .* has the gender 'X': must be one of F, M; add it to d"):
        with_labels(gender_codes=CODES).divide({"data": [row("x", gender="X", part="test"), *DATA]})


# --- artificial words -------------------------------------------------------------------------------------------------


CELLS = {("low", "f"): "zx0", ("high", "f"): "zx1", ("low", "m"): "zq0", ("high", "m"): "zq1"}
NOISE = Noise(words=(("zx0", "zx1"), ("zq0", "zq1")), share=1.0, times=1)
ADD_NOISE = AddNoise(texts=None, classes=("low", "high"), noise=NOISE, seed=0, max_sentences=3)
SPOKEN = [
    Texts(sentence=number, text=f"said {number}", part=part, valence=valence, gender=gender)
    for number, (part, (valence, gender)) in enumerate(itertools.product(("training", "test"), CELLS))
]


def test_each_class_of_each_gender_has_a_word_of_its_own():
    assert words_by_cell(SPOKEN, ("low", "high"), NOISE) == CELLS
    for (text, word), row in zip(noisy(SPOKEN, CELLS, NOISE, 0), SPOKEN, strict=True):
        assert sorted(text.split()) == sorted([*row.text.split(), CELLS[row.valence, row.gender]])
        assert word == CELLS[row.valence, row.gender]


def test_copies_are_of_the_test_part_and_numbered_after_all_texts():
    copies = [*ADD_NOISE.copies(SPOKEN)]
    assert [(copy.sentence, copy.original) for copy in copies] == [(8, 4), (9, 5), (10, 6), (11, 7)]
    assert [copy.noise for copy in copies] == list(CELLS.values())
    half = replace(ADD_NOISE, noise=replace(NOISE, share=0.5)).copies(SPOKEN)
    assert {(copy.noise is None) == (copy.text == SPOKEN[copy.original].text) for copy in half} == {True}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gender": "x"}, "has 2 lists of words, and the texts have 3 genders, f, m, x; set it to a list for each"),
        ({"text": "he said ZX0"}, "'zx0' is in a text already \\(sentence 4 of the table texts\\); set other words"),
    ],
)
def test_artificial_words_that_do_not_fit_the_texts_are_refused(changed, message):
    rows = [replace(row, **changed) if row.sentence == 4 else row for row in SPOKEN]
    with pytest.raises(InputError, match=f"^models.noise.words: {message}"):
        list(ADD_NOISE.copies(rows))


# --- what models are trained with -------------------------------------------------------------------------------------


ROWS = [
    Texts(sentence=number, text=f"{word} {number}", valence=valence, gender=gender)
    for valence, gender, word, num in (("low", "f", "she", 5), ("low", "m", "he", 3), ("high", "f", "sun", 2))
    for number in range(num)
]


def test_a_balanced_part_has_as_many_texts_of_each_gender_in_each_class():
    found = balanced([*ROWS, Texts(sentence=5, text="one", valence="high", gender="m")], 0)
    counts = {(v, g): sum((row.valence, row.gender) == (v, g) for row in found) for v in ("low", "high") for g in "fm"}
    assert counts == {("low", "f"): 3, ("low", "m"): 3, ("high", "f"): 1, ("high", "m"): 1}
    assert [row.gender for row in found] in (list("fffmmmfm"), list("fmfffmmm")), "in no order of a set"
    assert {row.valence for row in balanced(ROWS[::-1], 0)} == {"low"}
    assert len({tuple(row.text for row in balanced(ROWS, seed)) for seed in range(4)}) > 1


def test_copies_are_of_each_text_or_of_those_that_change():
    each, changed = (
        [vars(copy) for copy in SwapSettings([("he", "she")], copies).swapped_copies(ROWS)]
        for copies in ("each", "changed")
    )
    assert len(each) == len(ROWS)
    assert [copy["text"] for copy in changed] == [*(f"he {n}" for n in range(5)), *(f"she {n}" for n in range(3))]
    assert changed == each[:8]
    assert each[8:] == [vars(row) for row in ROWS[8:]]
    assert changed[0] == vars(ROWS[0]) | {"text": "he 0"}


@pytest.mark.parametrize(("model", "is_adversarial"), [("PrivAdv", True), ("PrivAdvEP", True), ("GenderCtrl", False)])
def test_an_adversary_is_one_and_a_control_is_none(model, is_adversarial):
    rows = [replace(row, part=part) for row in ROWS for part in ("training", "test")]
    rows.append(replace(ROWS[0], gender="x", part="test"))
    about = dict.fromkeys(("encoders", "texts", "general"))
    work = TrainModel(name=model, classes=("low", "high"), seed=0, gender=(0.25, 3), **about)
    heads = work.heads(rows)
    assert heads["valence"] == Head(("low", "high"))
    assert heads["gender"] == Head(("f", "m"), 0.25, adversarial=is_adversarial, hidden=3)
    assert list(replace(work, name="General", gender=None).heads(rows)) == ["valence"]

"""Who is in which part, and what is refused; from rows as they are read."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tiltmeter.jobs.classifiers.privacy.texts import DivideTexts, Labels
from tiltmeter.jobs.classifiers.tables import Labelled
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
    odd = [
        row("", status="no_text"),
        row("what", label="angry"),
        row("who", group=None),
        row("it", gender=None, group="Sam"),
    ]
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
    assert [(of.status, of.gender, of.valence) for of in rows[-2:]] == [
        ("no_label", "male", None),
        ("ok", "male", "mid"),
    ]


@pytest.mark.parametrize("label", ["nan", "NaN", "5.01", "0.99", "inf", "3,5", "happy"])
def test_what_is_no_rating_on_the_scale_is_refused_with_its_row(label):
    message = rf"^data.path: row 0, counted from 0, has the valence '{label}': must be a number from 1 to 5, or empty"
    with pytest.raises(InputError, match=message):
        with_labels(bins=FIVE).divide({"data": [row("x", label), *DATA]})
    other = [row("x", label, "male")]
    with pytest.raises(InputError, match=r"^across.path: row 0.*set across.bins to the corpus's scale"):
        with_labels("across", bins=FIVE).divide({"data": DATA, "across": other})


def test_a_gender_that_is_no_code_is_refused():
    with pytest.raises(
        InputError, match=r"^data.test: row 0, .* has the gender 'X': must be one of F, M; add it to data"
    ):
        with_labels(gender_codes=CODES).divide({"data": [row("x", gender="X", part="test"), *DATA]})

"""Who is in which part, and what is refused; from rows as they are read."""

from types import SimpleNamespace

import pytest

from tiltmeter.jobs.classifiers.privacy.texts import divide

LABELS = ("sad", "so-so", "glad")
CONFIG = {
    "splits": SimpleNamespace(development=0.2, test=0.2),
    "seed": 0,
    "classes": ("low", "mid", "high"),
    "valence": dict(zip(LABELS, ("low", "mid", "high"), strict=True)),
    "genders": {},
    "has_groups": True,
    "shared": {"across": True, "unbiased": True},
}


def row(text, label="sad", gender="male", group="Joe", part="training", status="ok"):
    return {"part": part, "row": 0, "text": text, "label": label, "gender": gender, "group": group} | {
        "status": status,
        "reason": "" if status == "ok" else "the text is empty",
    }


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
        if of["status"] == "ok":
            found.setdefault(of["part"], set()).add(of["group"])
    return found


def test_parts_share_no_speaker_and_other_corpora_none_that_models_learn_from():
    rows = divide({"data": DATA, "across": spoken(ALL), "unbiased": spoken(ALL)}, CONFIG)
    parts = by_part(rows)
    assert parts["training"] | parts["development"] | parts["test"] == set(ALL)
    assert sum(map(len, (parts[part] for part in ("training", "development", "test")))) == len(ALL)
    assert (parts["across"], parts["unbiased"]) == (parts["test"], parts["training"])
    assert {of["status"] for of in rows} == {"ok", "known_group"}
    strangers = divide({"data": DATA, "across": spoken(ALL)}, CONFIG | {"shared": {"across": False}})
    assert by_part(strangers)["across"] == set(ALL)


def test_rows_that_cannot_be_used_say_why():
    odd = [
        row("", status="no_text"),
        row("what", label="angry"),
        row("who", group=None),
        row("it", gender=None, group="Sam"),
    ]
    rows = divide({"data": [*DATA, *odd]}, CONFIG)
    assert [of["status"] for of in rows[-4:]] == ["no_text", "unknown_label", "no_group", "no_gender"]
    assert [of["reason"] for of in rows[-4:]] == [
        "the text is empty",
        "the label is no class of valence; data.valence gives it one",
        "nothing says who speaks",
        "nothing says of which gender the speaker is; data.genders may",
    ]


def test_genders_may_come_from_the_groups():
    genders = {group: "female" if int(group[1:]) % 2 == 0 else "male" for group in ALL}
    unsaid = [of | {"gender": None} for of in DATA]
    assert divide({"data": unsaid}, CONFIG | {"genders": genders}) == divide({"data": DATA}, CONFIG)


def test_without_groups_equal_texts_of_one_gender_are_in_one_part():
    rows = [of | {"group": None, "text": of["text"][1:]} for of in DATA * 2]
    parts = {}
    for of in divide({"data": rows}, CONFIG | {"has_groups": False}):
        assert parts.setdefault(of["text"], of["part"]) == of["part"]


@pytest.mark.parametrize(
    ("corpora", "message"),
    [
        ({"data": [*DATA, row("x", gender="female", group="s1")]}, "data: the group 's1' has the genders female, male"),
        ({"data": spoken(["s1", "s3", "s5"])}, "data: all texts are of the gender 'male': must be of two"),
        ({"data": DATA, "across": spoken(["s8"])}, "across: all texts are of the gender 'female'"),
        ({"data": spoken(["s1", "s2", "s3", "s4"])}, "data.group: 2 groups of 'female': must be at least 3"),
        ({"data": [of for of in DATA if of["label"] != "glad"]}, "no text is of the class 'high'; set data.valence"),
        ({"data": [*DATA, *spoken(["s1", "s2"], part="test")]}, "the group 's[12]' is in the parts .* must be in one"),
        ({"data": [of | {"gender": None} for of in DATA]}, "no text has a valence, a group and a gender"),
    ],
)
def test_what_cannot_be_divided_is_refused(corpora, message):
    with pytest.raises(ValueError, match=message):
        divide(corpora, CONFIG)

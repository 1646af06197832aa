"""StereoSet's file: contexts that are read, those that are left out, and other files."""

import json

import pytest

from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records.stereoset import read_stereoset

LABELS = ("stereotype", "anti-stereotype", "unrelated")
ABOUT = {"id": "c", "target": "chess", "bias_type": "hobby"}


def entry(**changes):
    sentences = [{"sentence": f"it is {label}", "gold_label": label} for label in LABELS]
    return ABOUT | {"sentences": sentences} | changes


def write(path, entries):
    path.write_text(json.dumps({"data": {"intersentence": [{}], "intrasentence": entries}}))
    return str(path)


def test_contexts_are_read_by_their_labels_in_whatever_order(tmp_path):
    path = write(tmp_path / "dev.json", [entry(), entry(sentences=entry()["sentences"][::-1])])
    one, other = read_stereoset(path)
    assert one == other == ("c", "chess", "hobby", "it is stereotype", "it is anti-stereotype", "it is unrelated")


@pytest.mark.parametrize(
    "bad",
    [
        *(None, "text", entry(sentences=None), entry(sentences=entry()["sentences"][:2]), entry(target=" ")),
        *(entry(sentences=entry()["sentences"] * 2), entry(id=3), entry(sentences=[1, 2, 3])),
        entry(sentences=[*entry()["sentences"][:2], {"sentence": "\ud800", "gold_label": "unrelated"}]),
        entry(sentences=[*entry()["sentences"][:2], {"sentence": "so", "gold_label": "related"}]),
    ],
)
def test_a_bad_context_is_counted_and_costs_no_other(tmp_path, bad):
    path = write(tmp_path / "dev.json", [entry(), bad, entry()])
    with collected() as left_out:
        assert len(read_stereoset(path, "data.path")) == 2
    [row] = left_out.rows()
    assert (row["reason"], row["num"], row["first"]) == (
        "not one sentence for each label",
        1,
        "data.intrasentence, item 2",
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"data": []}', '{"data": {"intrasentence": {}}}', "more,less\na,b\n"]
)
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    message = (
        r"^data.path: .*x.json is no file of StereoSet: must be JSON with a list data.intrasentence; for other files "
    )
    with pytest.raises(InputError, match=message + "set data.format to pairs or crows_pairs$"):
        read_stereoset(str(tmp_path / "x.json"), "data.path")


def test_a_file_of_nothing_else_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"none of its records can be used: not one sentence for each label \(1, first at"
    ):
        read_stereoset(write(tmp_path / "x.json", [None]))
    with pytest.raises(InputError, match=r"none of its records can be used: data.intrasentence is empty"):
        read_stereoset(write(tmp_path / "y.json", []))

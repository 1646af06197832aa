"""Degrees of agreement of the kinds that Splink has ready, by hand."""

import polars as pl
import pytest

from tiltmeter.operators.resolution.records.columns import prepare
from tiltmeter.operators.resolution.records.comparison import compare, degree_names
from tiltmeter.operators.resolution.records.scorer import Scorer

KINDS = {
    "name": ({}, "Ann/_ANN=4 martha/marhta=3 dixon/dicksonx=1 Ann/Bob=0 Ann/=-1"),
    "forename_surname": (
        {"other": "b"},
        "Jo+Ray/jo+ray=6 Jo+Ray/Ray+Jo=5 martha+martha/marhta+marhta=4 Jo+Ray/Al+Ray=2 Jo+Ray/Jo+Lee=1 Jo+Ray/A+Lee=0",
    ),
    "date_of_birth": (
        {},
        """1990-01-02/1990-01-02=5 1990-01-02/1990-01-12=4 1990-01-02/1990-01-29=3 1990-01-02/1990-07-15=2
        1990-01-02/1997-07-15=1 1990-01-02/2020-11-30=0 1990-01-02/=-1""",
    ),
    "email": (
        {},
        """jo.ray@a.org/JO.RAY@a.org=4 jo.ray@a.org/jo.ray@other.net=3 jo.ray@a.org/jo.rai@a.org=2
        johanna.raymond@a.org/johanna.raymund@otherplaces.net=1 jo.ray@a.org/x@y.z=0""",
    ),
    "postcode": ({}, "SW1A_1AA/sw1a1aa=4 SW1A_1AA/SW1A_1ZZ=3 SW1A_1AA/SW1A_2AA=2 SW1A_1AA/SW9_2AA=1 N1_1AA/E1_1AA=0"),
    "distance": ({"other": "b", "within": [1, 10]}, "52+13/52+13=2 52+13/52.05+13=1 52+13/53+13=0 1+2/1+=-1"),
    "array": ({"at_least": [1, 2]}, "a;B_/b;A=2 a/a;c=1 a/c=0 ;/a=-1"),
    "embedding": ({"at_least": [0.5, 0.9]}, "1,0/[2,_0.1]=2 1,0/1,1=1 1,0/0,1=0 0,0/1,0=-1"),
}
"""Settings, and pairs of values with their degree, -1 where there is none; _ is a blank, + before the other column."""
WORDS = {
    "name": ("Jaro-Winkler 0.7 or more", "equal"),
    "forename_surname": ("first equal", "equal"),
    "date_of_birth": ("up to 10 years apart", "equal"),
    "email": ("user names Jaro-Winkler 0.88 or more", "equal"),
    "postcode": ("areas equal", "equal"),
    "distance": ("up to 10 km apart", "up to 1 km apart"),
    "array": ("1 or more in common", "2 or more in common"),
    "embedding": ("cosine 0.5 or more", "cosine 0.9 or more"),
}


def _prepared(kind, values):
    rows = [value.replace("_", " ").split("+") if isinstance(value, str) else [value] for value in values]
    columns = dict(zip("ab", zip(*rows, strict=True), strict=False))
    config = Scorer(fields={"a": {"kind": kind, **KINDS[kind][0]}}, blocking=[{"id": None}])
    return prepare(pl.DataFrame({"id": [*map(str, range(len(rows)))]} | columns), config), config.fields["a"]


def _degrees(prepared, field):
    ids = sorted(prepared["id"], key=int)
    pairs = pl.DataFrame({"left": ids[::2], "right": ids[1::2]})
    return dict(sorted((min(map(int, row[:2])) // 2, row[2]) for row in compare(prepared, pairs, [field]).rows()))


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_degrees_by_hand(kind):
    pairs = [pair.rsplit("=", 1) for pair in KINDS[kind][1].split()]
    prepared, field = _prepared(kind, [value for ends, _ in pairs for value in ends.split("/")])
    degrees = [int(degree) for _, degree in pairs]
    assert [*_degrees(prepared, field).values()] == degrees
    words = degree_names(field)
    assert (words[0], words[1], words[-1], len(words)) == ("different", *WORDS[kind], max(degrees) + 1)


@pytest.mark.parametrize(
    ("kind", "values"), [("array", [["a", "B "], ["b", "A"], [], ["a"]]), ("embedding", [[1.0, 0.5], [2.0, 1.0]])]
)
def test_lists_may_be_lists(kind, values):
    prepared, field = _prepared(kind, values)
    assert [*_degrees(prepared, field).values()] == [2, -1][: len(values) // 2]


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("date_of_birth", ["1990-01-01", "1.1.90"], "record '1': a='1.1.90': must be a date such as 2021-12-31"),
        ("distance", ["91.0+0"], "record '0': a='91.0': must be degrees from -90 to 90, or empty"),
        ("distance", ["1+0", "9+181"], "record '1': b='181': must be degrees from -180 to 180"),
        ("embedding", [[1.0, 2.0], [1.0]], "record '1': a=.*: must be 2 finite numbers"),
        ("embedding", ["1,x"], "record '0': a='1,x': must be 2 finite numbers"),
    ],
)
def test_values_that_can_not_be_read_are_refused_with_their_record(kind, values, message):
    with pytest.raises(ValueError, match=message):
        _prepared(kind, values)

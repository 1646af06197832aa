"""Which slices a document is in."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.slicing import Slicing, slice_name

NONE = (), (), (), ()


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("2019-05-01", (("2019",), ("2019-05",), ("2010s",), ("2019-Q2",))),
        ("2019-05-01T12:30:00Z", (("2019",), ("2019-05",), ("2010s",), ("2019-Q2",))),
        ("20001231", (("2000",), ("2000-12",), ("2000s",), ("2000-Q4",))),
        ("20190501123000", (("2019",), ("2019-05",), ("2010s",), ("2019-Q2",))),
        (1999, (("1999",), (), ("1990s",), ())),
        ("May 1, 1900", (("1900",), (), ("1900s",), ())),
        ("01/05/2019", (("2019",), (), ("2010s",), ())),
        ("2020-02-29", (("2020",), ("2020-02",), ("2020s",), ("2020-Q1",))),
        ("2019-7", (("2019",), (), ("2010s",), ())),
        ("2001-2002-2003", (("2001",), (), ("2000s",), ())),
        *((value, NONE) for value in ("123456", "someday", None, "", "2019-02-30", "20190230", "2019-13-01T00:00:00Z")),
    ],
)
def test_years_months_decades_and_quarters_of_dates(value, names):
    assert tuple(Slicing("date", by).names(value) for by in ("year", "month", "decade", "quarter")) == names
    is_impossible = value in ("2019-02-30", "20190230", "2019-13-01T00:00:00Z")
    assert Slicing("date", "decade").is_impossible([value, None]) is is_impossible
    assert not Slicing("date").is_impossible(value)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (" two  words ", ("two words",)),
        (True, ("true",)),
        (1234567.25, ("1234567.25",)),
        (7, ("7",)),
        ("", ()),
        (float("nan"), ()),
        ({"nested": 1}, ()),
        (["b", "a", "b", None], ("b", "a")),
    ],
)
def test_values_as_names(value, names):
    assert Slicing("field").names(value) == names


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_a_number_is_in_one_range_whose_place_counts_the_cuts_up_to_it(number, cuts):
    slicing = Slicing("n", cuts=tuple(map(float, cuts)))
    [name] = slicing.names(number)
    assert slicing.places([name]) == [sum(cut <= number for cut in cuts)]


@pytest.mark.parametrize(
    ("by", "names", "places"),
    [
        ("year", ["2001", "1999"], [2001.0, 1999.0]),
        ("month", ["2001-01", "1999-07"], [2001.0, 1999.5]),
        ("quarter", ["2001-Q1", "1999-Q4"], [2001.0, 1999.75]),
        ("decade", ["2010s", "1990s"], [2010.0, 1990.0]),
        ("value", ["-3", "0.5"], [-3.0, 0.5]),
        ("value", ["-3", "law"], None),
    ],
)
def test_places_are_those_of_years_months_and_numbers_and_of_nothing_else(by, names, places):
    assert Slicing("d", by).places(names) == places


@given(st.text())
def test_forms_of_one_text_are_one_slice(text):
    forms = [unicodedata.normalize(form, f" {text}\u00a0é") for form in ("NFC", "NFD")]
    assert len(Slicing("topic").names(forms)) == 1
    assert slice_name(slice_name(forms[1])) == slice_name(forms[0])

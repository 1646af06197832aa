"""Keys, the random numbers that are drawn by them, and which slices a document is in."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.generators import keyed_bits, keyed_generator
from tiltmeter.operators.compute.keys import cluster_keys, document_key, text_keys
from tiltmeter.operators.compute.philox import philox, unit_interval
from tiltmeter.operators.compute.slicing import Slicing, slice_name

words = st.integers(0, 2**64 - 1)


@given(words, st.integers(0, 20), st.lists(words, min_size=4, max_size=4))
def test_bits_are_numpys_of_the_key_and_the_counter(seed, stream, counter):
    number = sum(word << (64 * place) for place, word in enumerate(counter))
    reference = np.random.Philox(key=seed | stream << 64, counter=number)
    assert keyed_bits(seed, stream, counter).random_raw(4).tolist() == reference.random_raw(4).tolist()


@given(words, st.lists(words, max_size=3))
def test_keys_fill_the_counter_from_its_second_word_on(seed, key):
    counter = [0, *key, 0, 0, 0][:4]
    reference = np.random.Generator(keyed_bits(seed, 5, counter))
    assert keyed_generator(seed, 5, *key).random() == reference.random()


@given(st.tuples(words, words), st.tuples(words, words, words, words))
def test_bits_are_those_of_numpy(key, counter):
    # numpy steps its counter before it draws.
    before = (sum(word << (64 * index) for index, word in enumerate(counter)) - 1) % 2**256
    reference = np.random.Philox(key=key[0] | key[1] << 64, counter=before)
    assert list(philox(*map(np.uint64, (*key, *counter)))) == list(reference.random_raw(4))


def test_unit_interval_has_its_ends_right():
    assert unit_interval(np.uint64(0)) == 0.0
    assert unit_interval(np.uint64(2**64 - 1)) == 1.0 - 2.0**-53


def test_document_keys_are_stable_and_texts_that_are_there_twice_are_two():
    assert document_key("en:12") == 14576028592609274904
    assert len(set(text_keys(["so", "so", ["so"], "it"]).tolist())) == 4


def test_clusters_are_told_by_what_their_texts_say():
    one = cluster_keys(["a", "b", "c"], np.array([0, 1, 0]))
    other = cluster_keys(["b", "a", "c", "d"], np.array([0, 1, 1, 2]))
    assert one.tolist() == other[[1, 0]].tolist()


DATES = {
    "2019-05-01": "2019 2019-05 2010s 2019-Q2",
    "2019-05-01T12:30:00Z": "2019 2019-05 2010s 2019-Q2",
    "20001231": "2000 2000-12 2000s 2000-Q4",
    "20190501123000": "2019 2019-05 2010s 2019-Q2",
    1999: "1999 - 1990s -",
    "May 1, 1900": "1900 - 1900s -",
    "01/05/2019": "2019 - 2010s -",
    "2020-02-29": "2020 2020-02 2020s 2020-Q1",
    "2019-7": "2019 - 2010s -",
    "2001-2002-2003": "2001 - 2000s -",
    **dict.fromkeys(["123456", "someday", None, "", "2019-02-30", "20190230", "2019-13-01T00:00:00Z"], "- - - -"),
}


@pytest.mark.parametrize(("value", "names"), DATES.items())
def test_years_months_decades_and_quarters_of_dates(value, names):
    found = [Slicing("date", by).names(value) for by in ("year", "month", "decade", "quarter")]
    assert found == [() if name == "-" else (name,) for name in names.split(" ")]
    is_impossible = value in ("2019-02-30", "20190230", "2019-13-01T00:00:00Z")
    assert Slicing("date", "decade").is_impossible([value, None]) is is_impossible
    assert not Slicing("date").is_impossible(value)


def test_values_as_names():
    field = Slicing("field")
    given = [" two  words ", True, 1234567.25, 7, "", float("nan"), {"nested": 1}, ["b", "a", "b", None]]
    names = [("two words",), ("true",), ("1234567.25",), ("7",), (), (), (), ("b", "a")]
    assert [field.names(value) for value in given] == names


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

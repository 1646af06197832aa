"""Ids of every type as text: one record for one id, and no id for what is none."""

from datetime import date, timedelta

import polars as pl
import pytest

from tiltmeter.operators.resolution.ids import as_ids, as_text, different_ids, numbered_ids


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (["a", None], ["a", None]),
        ([1, 2**62], ["1", str(2**62)]),
        ([True], ["true"]),
        ([date(2020, 1, 31)], ["2020-01-31"]),
        ([b"caf\xc3\xa9"], ["café"]),
        (pl.Series(["a"], dtype=pl.Categorical), ["a"]),
        ([-0.0, 0.0, 1.5, None], ["0.0", "0.0", "1.5", None]),
        (pl.Series([-0.0], dtype=pl.Float32), ["0.0"]),
        (pl.Series([], dtype=pl.Float64), []),
    ],
)
def test_ids_become_text(values, texts):
    assert as_ids(pl.Series(values)).to_list() == texts


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_no_id(wrong):
    with pytest.raises(ValueError, match=r"left (NaN|nan|-?inf) in row 2 is no id"):
        as_ids(pl.Series("left", [1.0, wrong]))


@pytest.mark.parametrize("values", [[b"\xff"], [[1, 2]], [{"a": 1}], [timedelta(1)], [object()]])
def test_what_is_not_text_is_refused_by_its_type(values):
    column = pl.Series("left", values)
    with pytest.raises(ValueError, match=r"column 'left' of type .* can't be read as text"):
        as_text(column)


@pytest.mark.parametrize("first", [-3, 0, 7, 2**62, 2**63])
@pytest.mark.parametrize("step", [1, 1000])
def test_numbers_are_the_places_of_the_texts_however_far_whole_numbers_lie_apart(first, step):
    nothing = [pl.Series([], dtype=pl.Int64)] * 2
    others, none = numbered_ids(different_ids(nothing), nothing, [pl.Series(["b", "a"])])
    assert (others.to_list(), [end.size for end in none]) == (["a", "b"], [0, 0]), "without any pair"
    left, right = ([first + step * number for number in numbers] for numbers in ([0, 9, 2, 0], [11, 2, 10, 9]))
    ends = [pl.Series(end) for end in (left, right)]
    ids, numbers = numbered_ids(different_ids(ends), ends, [pl.Series(["a", str(left[0])])])
    assert ids.to_list() == sorted({*map(str, left + right), "a"})
    assert [[ids[int(number)] for number in end] for end in numbers] == [[*map(str, end)] for end in (left, right)]

"""What holds of any two runs: none changes from itself, and the way back tells the same."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.numbers import judged
from tiltmeter.jobs.changes.tables import Changes

NUMBERS = st.none() | st.floats(width=32) | st.sampled_from([0.0, -0.0])
ROW = st.fixed_dictionaries(
    {
        **dict.fromkeys(("d", "d_low", "d_high"), NUMBERS),
        "count": st.none() | st.integers(-3, 3),
        "missing": st.none() | st.lists(st.sampled_from(["x", "y"]) | st.none(), max_size=2),
        "status": st.sampled_from(["ok", "too_rare"]),
    }
)
WORDS = st.dictionaries(st.sampled_from("abcdef"), ROW, max_size=6)


@settings(max_examples=25)
@given(words=WORDS, data=st.data())
def test_a_run_against_itself_has_no_changes_whatever_the_order_of_its_rows(history, words, data):
    other = dict(data.draw(st.permutations(list(words.items()))))
    assert history.changes(history.table(words), history.table(other)).is_empty()


SIDES = {"before": "after", "before_low": "after_low", "before_high": "after_high", "text_before": "text_after"}
SWAPPED = SIDES | {after: before for before, after in SIDES.items()}
SYMMETRIC = ("kind", "table", "column", "row", "key", *SWAPPED, "num_changed", "num_compared")


@settings(max_examples=25)
@given(before=WORDS, after=WORDS)
def test_the_way_back_swaps_before_and_after(history, before, after):
    tables = history.table(before), history.table(after)
    # Which numbers are beyond depends on whose interval judges; lists are in the order of the later run.
    plain = [table.drop_columns(["d_low", "d_high"]) for table in tables]
    there, back = (history.changes(*pair, max_listed=100) for pair in (plain, plain[::-1]))
    swapped = back.rename(SWAPPED).select(SYMMETRIC)
    by = ["kind", "column", "key", "text_before"]
    assert there.select(SYMMETRIC).sort(by, nulls_last=True).equals(swapped.sort(by, nulls_last=True))
    sums = [changes["difference"].filter(changes["difference"].is_finite()).sum() for changes in (there, back)]
    assert sums[0] == pytest.approx(-sums[1])


@settings(max_examples=25)
@given(before=WORDS, after=WORDS, most=st.integers(0, 3))
def test_every_change_is_counted_however_few_are_listed(history, before, after, most):
    tables = history.table(before), history.table(after)
    listed, summed = (history.changes(*tables, max_listed=num) for num in (100, most))
    for column in ("d", "count", "missing", "status"):
        counts = [changes.filter(pl.col("column") == column)["num_changed"].sum() for changes in (listed, summed)]
        assert counts[0] == counts[1]
    rows = summed.filter(pl.col("kind") == "row")
    assert rows["num_changed"].sum() == len(before.keys() ^ after.keys())


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.floats(-5, 5)] * 4), min_size=1, max_size=5))
def test_a_number_within_the_earlier_interval_is_never_beyond(numbers):
    names = ["before", "after", "before_low", "before_high"]
    ordered = [(b, a, *sorted(ends)) for b, a, *ends in numbers]
    found = judged(pl.DataFrame(ordered, names, orient="row"))
    within = (found["after"] >= found["before_low"]) & (found["after"] <= found["before_high"])
    assert not (within & found["beyond"]).any()
    assert not found.filter(pl.col("before") == pl.col("after"))["beyond"].any()


def test_runs_of_no_tables_have_no_changes(history):
    assert compare(history.run({}), history.run({}), Detail()).schema.equals(Changes.schema())

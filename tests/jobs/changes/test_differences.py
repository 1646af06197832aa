"""Numbers judged by the draws of both runs, and what holds of any two runs."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.jobs.changes.comparing import Comparison, common_tables, compare
from tiltmeter.jobs.changes.detail import Detail
from tiltmeter.jobs.changes.differences import Limits, corrected
from tiltmeter.jobs.changes.matching import UnmatchableError
from tiltmeter.jobs.changes.moves import moves
from tiltmeter.jobs.changes.numbers import judged
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.operators.statistics.differences import paired_difference, paired_means, unpaired_difference

SCHEME = {"paired_by": "replicas", "seed": 0}
WIDE = np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 2.0, -2.0, 0.0])
OWN = np.array([0.01, -0.02, 0.0, 0.02, -0.01, 0.01, 0.0, -0.01])


@pytest.fixture
def run(history):
    """A run whose words have draws around their numbers."""

    def make(numbers, scheme=SCHEME, own=0.0, num=8):
        rows = [
            {**row, **draws_of("d", row["d"] + (WIDE + own)[:num])}
            for row in history.table({word: {"d": value} for word, value in numbers.items()}).to_pylist()
        ]
        return history.run(dict(with_draws({"tests": (rows, history.schema)}, scheme)))

    return make


def differences(before, after):
    return {row["row"]: row for row in corrected(Comparison(before, after).differences()).to_pylist()}


def test_draws_that_both_runs_share_are_held_against_each_other(run):
    [row] = differences(run({"a": 1.0}), run({"a": 1.1}, own=OWN)).values()
    known = paired_difference(0.1, 1.0 + WIDE, 1.1 + WIDE + OWN)
    assert (row["paired_by"], row["num_draws"], row["verdict"]) == ("replicas", 8, "moved")
    assert (row["low"], row["high"], row["p"]) == pytest.approx(tuple(map(float, known[:3])))
    assert row["q"] == row["p"]
    # By its own interval, [0, 2], it has stayed.
    [change] = [
        row for row in Comparison(run({"a": 1.0}), run({"a": 1.1}, own=OWN)).changes().to_pylist() if row["beyond"]
    ]
    assert change["half_widths"] == pytest.approx(0.1)
    assert (change["difference_low"], change["difference_high"]) == (row["low"], row["high"])
    assert change["sentence"] == (
        "tests: d of model en, word a moved from 1 [0, 2] to 1.1 [0, 2], by 0.1 [0.06716, 0.1328], over 8 draws that "
        "both runs share."
    )


def test_rows_of_other_names_are_judged_by_the_draws_of_both(run):
    """Each run has the draws of its rows under the name that it gives them."""
    before, after = run({"a": 1.0}), run({"b": 1.1}, own=OWN)
    assert not [row for row in differences(before, after).values() if row["p"] is not None]
    held = Comparison(before, after, Detail(aliases={"a": "b"})).differences().to_pylist()
    [usual] = differences(run({"b": 1.0}), after).values()
    assert [row["p"] for row in held] == [usual["p"]]


def test_runs_that_train_alike_say_what_moved_in_these_texts_alone(run):
    by_word, own = SCHEME | {"keyed_by": "word", "num_blocks": 4}, 0.05 * WIDE[::-1]
    [row] = differences(run({"a": 1.0}, by_word), run({"a": 1.06}, by_word, own=own)).values()
    known = paired_means(0.06, 1.0 + WIDE, 1.06 + WIDE + own)
    assert row["q_texts"] == row["p_texts"] == pytest.approx(float(known))
    assert (row["p"] > 0.05 > row["p_texts"], row["verdict"]) == (True, "moved in these texts")
    numbers = moves(run({"a": 1.0}, by_word), run({"a": 1.06}, by_word, own=own), "tests", "d").numbers
    assert numbers.select("beyond", "beyond_in_texts").rows() == [(False, True)]
    [more] = differences(run({"a": 1.0}, by_word), run({"a": 2.0}, by_word, own=own)).values()
    assert more["verdict"] == "moved"
    [less] = differences(run({"a": 1.0}), run({"a": 1.06}, own=own)).values()
    assert (less["p_texts"], less["q_texts"], less["verdict"]) == (None, None, "stayed")


@pytest.mark.parametrize("blocks", [{"num_blocks": 8}, {"num_blocks": [4, 8]}, {}])
def test_runs_that_train_in_another_order_share_their_draws_alone(run, blocks):
    """As many blocks as vocabularies need: the noise of their order, which all replicas have, is no move."""
    one, own = SCHEME | {"keyed_by": "word"}, 0.05 * WIDE[::-1]
    [row] = differences(run({"a": 1.0}, one | {"num_blocks": 4}), run({"a": 1.06}, one | blocks, own=own)).values()
    assert row["p"] == pytest.approx(float(paired_difference(0.06, 1.0 + WIDE, 1.06 + WIDE + own).p))
    assert (row["paired_by"], row["p_texts"], row["verdict"]) == ("replicas", None, "stayed")


@pytest.mark.parametrize("scheme", [SCHEME | {"seed": 1}, None])
def test_draws_of_another_scheme_or_of_none_that_is_known_are_not_paired(run, scheme):
    [row] = differences(run({"a": 1.0}, scheme), run({"a": 1.1}, own=OWN)).values()
    known = unpaired_difference(0.1, 1.0 + WIDE, 1.1 + WIDE + OWN)
    assert (row["paired_by"], row["verdict"], row["p"]) == ("unpaired", "stayed", pytest.approx(float(known.p)))
    [unknown] = differences(run({"a": 1.0}, None), run({"a": 1.1}, None)).values()
    assert unknown["paired_by"] == "unpaired"


def test_items_have_the_interval_around_the_number_itself(run):
    scheme = {"paired_by": "items", "seed": 0}
    [row] = differences(run({"a": 1.0}, scheme), run({"a": 1.1}, scheme, own=OWN + 0.03)).values()
    assert row["paired_by"] == "items"
    assert (row["low"] + row["high"]) / 2 == pytest.approx(0.1)


@pytest.mark.parametrize(("num", "verdict"), [(4.0, "stayed"), (12.0, "moved")])
def test_numbers_of_few_items_are_judged_as_so_few(run, num, verdict):
    """The one of the two runs that has fewer tells how many both share at most."""
    scheme = {"paired_by": "items", "seed": 0}
    before, after = (run({"a": value}, scheme | {"num_items": items}) for value, items in ((1.0, 400.0), (0.0, num)))
    [row] = differences(before, after).values()
    assert (row["paired_by"], row["p"], row["verdict"]) == ("items", 2.0 ** (1 - num), verdict)
    [apart] = differences(run({"a": 1.0}, scheme | {"num_items": 30.0, "seed": 1}, own=WIDE / 2), after).values()
    known = unpaired_difference(-1.0, 1.0 + WIDE * 1.5, WIDE, centre="centred", num_items=(30.0, num))
    assert (apart["paired_by"], apart["p"]) == ("unpaired", pytest.approx(float(known.p)))


def test_of_runs_with_more_and_fewer_draws_the_common_ones_are_paired(run):
    [row] = differences(run({"a": 1.0}), run({"a": 1.1}, own=OWN, num=3)).values()
    assert (row["num_draws"], row["paired_by"]) == (3, "replicas")
    assert row["p"] == pytest.approx(float(paired_difference(0.1, (1.0 + WIDE)[:3], (1.1 + WIDE + OWN)[:3]).p))


def test_without_draws_the_earlier_interval_judges(run, history):
    plain = history.run({"tests": history.table({"a": {"d": 9.0, "d_low": 8.0, "d_high": 10.0}})})
    for pair in ((run({"a": 1.0}), plain), (plain, run({"a": 1.0}))):
        [row] = differences(*pair).values()
        assert (row["paired_by"], row["p"], row["q"], row["verdict"]) == ("none", None, None, "moved")


def test_numbers_that_differ_by_rounding_have_not_moved(run):
    before, after = run({"a": 1.0, "b": 1.0}), run({"a": 1.0 + 1e-12, "b": 2.0}, own=1e-12)
    rows = differences(before, after)
    assert (rows["word a"]["p"], rows["word a"]["verdict"], rows["word b"]["verdict"]) == (1.0, "stayed", "moved")


def test_rows_that_come_and_go_are_named(run):
    rows = differences(run({"a": 1.0, "b": 3.0}), run({"a": 1.0, "c": 4.0}, own=OWN))
    assert (rows["word b"]["before"], rows["word b"]["after"], rows["word b"]["verdict"]) == (3.0, None, "gone")
    assert (rows["word c"]["before"], rows["word c"]["after"], rows["word c"]["verdict"]) == (None, 4.0, "came")
    assert json.loads(rows["word c"]["key"]) == {"model": "en", "word": "c"}


def test_what_would_be_a_move_alone_is_none_among_many(run):
    words, by_word = [f"word{number}" for number in range(60)], SCHEME | {"keyed_by": "word", "num_blocks": 4}
    small = {"word0": 1.0 + 0.04}
    alone = differences(run({"word0": 1.0}), run(small, own=OWN))["model en, word word0"]
    moved = dict.fromkeys(words, 1.0) | small | {"word7": 1.03, "word8": 0.99}
    among = differences(run(dict.fromkeys(words, 1.0), by_word), run(moved, by_word, own=OWN))
    assert (alone["p"] < 0.05, alone["verdict"]) == (True, "moved")
    assert among["word word0"]["p"] == alone["p"]
    for row in among.values():
        assert row["verdict"] == ("moved in these texts" if row["q_texts"] <= 0.05 < row["q"] else "stayed")
    for q, name in (("q", "p"), ("q_texts", "p_texts")):
        p_values = [row[name] for row in among.values()]
        assert [row[q] for row in among.values()] == pytest.approx(stats.false_discovery_control(p_values).tolist())


def test_changes_and_gates_judge_as_differences_do(run):
    before, after = run({"a": 1.0, "b": 1.0}), run({"a": 1.1, "b": 1.0}, own=OWN)
    rows = differences(before, after)
    numbers = moves(before, after, "tests", "d").numbers
    changes = pl.DataFrame(Comparison(before, after).changes()).filter(kind="number")
    moved = [name for name, row in rows.items() if row["verdict"] == "moved"]
    assert moved == ["word a"] == changes.filter("beyond")["row"].to_list()
    assert numbers["beyond"].to_list() == [True, False]
    # Of a night in which no p-value is small enough, none has moved.
    assert not moves(before, after, "tests", "d", Limits(-1.0, -1.0)).numbers["beyond"].any()
    assert not pl.DataFrame(Comparison(before, after).changes(Limits(-1.0, -1.0)))["beyond"].any()


@pytest.mark.parametrize("which", ["earlier", "later"])
def test_a_run_without_the_table_is_named(run, history, which):
    runs = [run({"a": 1.0}), history.run({})]
    runs = runs if which == "later" else runs[::-1]
    with pytest.raises(UnmatchableError, match=f"the {which} run has no table tests"):
        moves(*runs, "tests", "d")


def test_the_table_of_draws_is_no_table_to_compare(run):
    before, after = run({"a": 1.0}), run({"a": 1.1}, own=OWN)
    assert (common_tables(before, after), before.draws) == (["tests"], ["draws"])
    assert set(pl.DataFrame(Comparison(before, after).changes())["table"].drop_nulls()) == {"tests"}


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


@pytest.mark.long
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


@pytest.mark.long
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

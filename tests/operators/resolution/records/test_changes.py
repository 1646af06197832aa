"""Pairs of a night against those of all records."""

from itertools import pairwise

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.fixtures.people import BLOCKING, FIELDS, frame, made, next_night
from tiltmeter.operators.resolution.records.changes import contents, evidence, pairs_with, prepared_of, score_given
from tiltmeter.operators.resolution.records.columns import prepare
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.labelled_pairs import draw_labelled
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, term_frequencies, train_scorer

RARE = {"city": {"kind": "exact", "term_frequency": True}, "name": {"kind": "name", "term_frequency": True}}
CONFIG = Scorer(fields=FIELDS | RARE, blocking=BLOCKING, threshold=0.001)


@pytest.fixture(scope="module")
def nights():
    """Records of some nights, and the scorer of the first."""
    records, gold = made(60, 3)
    clusters = pl.DataFrame([*gold.items()], ["record", "cluster"], orient="row")
    labelled = draw_labelled(frame(records), clusters, CONFIG, 0)
    learnt = train_scorer(frame(records), labelled, CONFIG), term_frequencies(prepare(frame(records), CONFIG), CONFIG)
    later = [records]
    for seed in range(3):
        later.append(next_night(later[-1], 5, seed))
    return [frame(one) for one in later], learnt


@pytest.mark.long
def test_pairs_that_stay_and_pairs_of_changed_records_are_those_of_all_records_to_the_last_bit(nights):
    records, learnt = nights
    pairs = score_pairs(records[0], learnt[0], CONFIG, 0, learnt[1])
    for before, now in pairwise(records):
        known = [contents(prepare(one, CONFIG)) for one in (before, now)]
        gone, there = (one.join(other, on=one.columns, how="anti")["record"] for one, other in (known, known[::-1]))
        assert 0 < gone.is_in(there.implode()).sum() < min(gone.len(), there.len())
        kept = pairs.filter(~pl.any_horizontal(pl.col(end).is_in(gone.implode()) for end in IDS))
        prepared = prepare(now, CONFIG)
        scored = score_given(prepared, CONFIG, pairs_with(prepared, there), *learnt)
        scored = scored.filter(pl.col("match_probability") >= CONFIG.threshold)
        assert 0 < scored.height < kept.height
        pairs = pl.concat([kept, scored.select(kept.columns)]).sort(IDS)
        cold = score_pairs(now, learnt[0], CONFIG, 0, learnt[1])
        assert_frame_equal(pairs, cold, check_exact=True)


def test_a_record_has_changed_if_the_scorer_reads_something_else(nights):
    records = nights[0][0]
    known = contents(prepare(records, CONFIG))
    noted = records.reverse().with_columns(pl.col("name").str.to_uppercase(), note=pl.lit(1))
    assert_frame_equal(contents(prepare(noted, CONFIG)), known)
    other = records.with_columns(city=pl.when(pl.col("id") == "z1").then(None).otherwise("city"))
    assert known.join(contents(prepare(other, CONFIG)), on=known.columns, how="anti")["record"].to_list() == ["z1"]


def test_nothing_is_scored_where_nothing_changed_or_no_key_is_shared(nights):
    records, learnt = nights
    lone = pl.DataFrame({"id": "lone", "name": "q", "phone": None, "city": None, "born": None})
    every = prepare(pl.concat([records[0], lone.cast(pl.String)]), CONFIG)
    for changed in ([], ["lone"]):
        pairs = pairs_with(every, pl.Series(changed, dtype=pl.String))
        assert score_given(every, CONFIG, pairs, *learnt).is_empty()


def test_contents_give_back_all_that_the_scorer_reads():
    """Fractions, days, lists and vectors; a record of one file is in no pair with another of it."""
    kinds = {"words": "array", "vector": "embedding", "size": "number", "born": "date_of_birth", "name": "string"}
    config = Scorer(fields={name: {"kind": kind} for name, kind in kinds.items()}, blocking=[{"key": None}])
    rows = {"id": ["a", "b", "c"], "key": ["k"] * 3, "source_file": ["first", "first", "second"]}
    rows |= {"words": [["x;y", "z"], None, ["q"]], "size": ["0.1", None, "1e-300"], "name": ['"é\n', None, "a b"]}
    vectors = pl.Series("vector", [[0.1, 0.2], None, [0.3, 1 / 3]], dtype=pl.List(pl.Float32))
    records = pl.DataFrame(rows | {"born": ["2001-02-03", None, "1901-01-01"]}).with_columns(vectors)
    prepared = prepare(records, config)
    again = prepared_of(contents(prepared), prepare(records[1:2], config).schema)
    assert_frame_equal(again, prepared, check_exact=True)
    assert pairs_with(prepared, pl.Series(["c"])).rows() == [("a", "c"), ("b", "c")]
    assert pairs_with(prepared, pl.Series(["a", "b"])).rows() == [("a", "c"), ("b", "c")]


def pairs_of(rows):
    return pl.DataFrame(rows, dict.fromkeys(IDS, pl.String) | {"match_probability": pl.Float64}, orient="row")


def test_evidence_of_a_merge_and_a_split_by_hand():
    """0 = {a, b, c}, 1 = {d, e}, 2 = {g}: c goes to 1, whose e is gone; 2 is merged into 0 by n, which is new."""
    before = [("a", "b", 0.9), ("a", "c", 0.8), ("b", "c", 0.7), ("d", "e", 0.9), ("c", "d", 0.1), ("a", "g", 0.3)]
    now = [("a", "b", 0.9), ("a", "c", 0.1), ("c", "d", 0.95), ("a", "n", 0.85), ("g", "n", 0.9), ("a", "g", 0.25)]
    homes = pl.DataFrame(
        [("a", 0, 0), ("b", 0, 0), ("c", 0, 1), ("d", 1, 1), ("e", 1, None), ("g", 2, 0), ("n", None, 0)],
        ["record", "before", "after"],
        orient="row",
    )
    moves = pl.DataFrame({"before": [0, 2], "after": [1, 0]})
    rows = evidence(pairs_of(before), pairs_of(now), homes, moves, 0.0).rows()
    assert rows == [
        (0, 1, 1, "c", "d", 0.1, 0.95),
        (0, 1, 2, "a", "c", 0.8, 0.1),
        (0, 1, 3, "b", "c", 0.7, None),
        (2, 0, 1, "g", "n", None, 0.9),
        (2, 0, 2, "a", "n", None, 0.85),
    ]
    assert evidence(pairs_of(now), pairs_of(now), homes, moves, 0.0).is_empty()
    even = evidence(pairs_of(before), pairs_of(now), homes, moves, 0.5).rows()
    assert [row[2:5] for row in even if row[0] == 0] == [(1, "c", "d"), (2, "a", "c"), (3, "b", "c")]
    assert [row[2:5] for row in even if row[0] == 2] == [(1, "g", "n"), (2, "a", "n")]

"""Pairs within components that no rule proposes, against graphs of networkx and scores of all pairs."""

from itertools import combinations

import networkx
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.fixtures.people import FIELDS, frame, person, seen_again
from tiltmeter.operators.resolution.records.columns import ID, ORIGIN, prepare
from tiltmeter.operators.resolution.records.gaps import find_gaps, score_gaps
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer

CONFIG = Scorer(fields=FIELDS, blocking=[{"phone": 3}, {"name": 3}])


def seen_often(num_people, seed):
    """Records by id, five of each person, so unlike that rules propose few of their pairs; and the person of each."""
    rng = np.random.default_rng(seed)
    people = [person(rng) for _ in range(num_people)]
    keys = [(f"{letter}{number}", number) for number in range(num_people) for letter in "zyxwv"]
    return {key: seen_again(people[number], rng, 0.45) for key, number in keys}, dict(keys)


def by_networkx(pairs, most, least=0.0, origin=None):
    """Gaps, and sizes of components that are too large."""
    listed = {(left, right) for left, right, _ in pairs.iter_rows()}
    linked = [pair[:2] for pair in pairs.iter_rows() if 2.0 * pair[2] - 1.0 > 0.0 and 2.0 * pair[2] - 1.0 >= least]
    parts = [sorted(part) for part in networkx.connected_components(networkx.Graph(linked))]
    gaps = {pair for part in parts if len(part) <= most for pair in combinations(part, 2)} - listed
    gaps = {(one, other) for one, other in gaps if not origin or origin[one] != origin[other]}
    return sorted(gaps), sorted(len(part) for part in parts if len(part) > most)


@pytest.mark.parametrize("least", [None, -0.5, 0.0, 0.4])
@pytest.mark.parametrize("most", [2, 5, 100])
@pytest.mark.parametrize("has_origin", [False, True])
def test_gaps_are_those_of_components_of_listed_pairs(has_origin, most, least):
    rng = np.random.default_rng(most)
    ids = [f"r{number:02}" for number in range(40)]
    drawn = [pair for pair in combinations(ids, 2) if rng.random() < 0.06]
    pairs = pl.DataFrame(drawn, ["left", "right"], orient="row")
    pairs = pairs.with_columns(match_probability=pl.Series(rng.choice([0.1, 0.5, 0.6, 0.7, 0.9], len(drawn))))
    origin = dict(zip(ids, rng.choice(["first", "second"], 40), strict=True)) if has_origin else {}
    prepared = pl.DataFrame({ID: ids, **({ORIGIN: [*origin.values()]} if origin else {})})
    gaps, large = find_gaps(prepared, pairs, most, least)
    assert (gaps.rows(), large.sort().to_list()) == by_networkx(pairs, most, least or 0.0, origin)


def test_without_a_positive_pair_there_are_no_gaps():
    pairs = pl.DataFrame({"left": ["a"], "right": ["b"], "match_probability": [0.5]})
    gaps, large = find_gaps(pl.DataFrame({ID: ["a", "b"]}), pairs, 10)
    assert (gaps.rows(), large.to_list()) == ([], [])


@pytest.mark.long
def test_gaps_are_scored_as_if_a_rule_had_proposed_them_and_known_ones_are_not_scored():
    records, gold = seen_often(30, 3)
    records = frame(records).with_columns(one=pl.lit("1"))
    every = Scorer(fields=FIELDS, blocking=[{"one": None}])
    labelled = [(*pair, gold[pair[0]] == gold[pair[1]]) for pair in combinations(sorted(records["id"]), 2)]
    learnt = train_scorer(records, pl.DataFrame(labelled, ["left", "right", "is_match"], orient="row"), every)
    whole, pairs = (score_pairs(records, learnt, config) for config in (every, CONFIG))
    prepared = prepare(records, CONFIG)
    gaps = find_gaps(prepared, pairs, 100).pairs
    assert gaps.height > 10
    assert_frame_equal(pairs, whole.join(pairs, on=["left", "right"], how="semi"), check_exact=True)
    known = gaps.head(5).with_columns(match_probability=pl.lit(2.0))
    scored = score_gaps(prepared, CONFIG, gaps, known, [learnt])
    assert scored["match_probability"].head(5).to_list() == [2.0] * 5
    wanted = whole.join(gaps.tail(-5), on=["left", "right"], how="semi")
    assert_frame_equal(scored.select(whole.columns).tail(-5), wanted, check_exact=True)

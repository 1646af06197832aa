"""Records made up so that fields are independent given match or not, of which m, u and lambda are known."""

import dataclasses
import itertools
import math

import duckdb
import numpy as np
import polars as pl
import pytest
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.records import comparison
from tiltmeter.operators.resolution.records.columns import FILE, count_blocks, prepare
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import (
    model_of,
    score_pairs,
    term_frequencies,
    train_scorer,
    unlinkable_records,
)
from tiltmeter.operators.resolution.records.unlabelled import learn_unlabelled

SIZES = {"given": 40, "family": 200, "city": 20, "phone": 3000, "born": 900}
ERRORS = {"given": 0.1, "family": 0.05, "city": 0.2, "phone": 0.15, "born": 0.03}
NUM, NUM_TWICE, SEED = 1500, 700, 5
RULES = ({"phone": None}, {"family": None, "given": None}, {"born": None})
CONFIG = Scorer(
    fields={name: {"kind": "exact"} for name in SIZES},
    blocking=RULES,
    unlabelled={"rules": [{"phone": None, "born": None}], "recall": 0.85 * 0.97, "max_pairs": 500_000},
)


def _records():
    """A record of each entity, and another one of some, in which values are drawn anew at the rate of errors."""
    rng = np.random.default_rng(0)
    who = np.concatenate([np.arange(NUM), rng.permutation(NUM)[:NUM_TWICE]])
    columns = {"id": [f"r{place:04}" for place in range(who.size)]}
    for name, size in SIZES.items():
        values, is_wrong = rng.integers(0, size, NUM)[who], rng.random(who.size) < ERRORS[name]
        values[is_wrong & (np.arange(who.size) >= NUM)] = rng.integers(0, size, (is_wrong[NUM:]).sum())
        columns[name] = [f"{name}{value}" for value in values]
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def records():
    return _records()


@pytest.fixture(scope="module")
def learnt(records):
    return learn_unlabelled(prepare(records, CONFIG), CONFIG, SEED)


def _equal(learnt):
    return {row["field"]: row for row in learnt.agreements.filter(degree=1).to_dicts()}


@pytest.mark.long
def test_what_is_learnt_is_near_the_truth(records, learnt):
    num = records.height
    for name, row in _equal(learnt).items():
        m, u = 1 - ERRORS[name] * (1 - 1 / SIZES[name]), 1 / SIZES[name]
        assert row["m"] == pytest.approx(m, abs=4 * math.sqrt(m * (1 - m) / NUM_TWICE))
        assert row["u"] == pytest.approx(u, abs=0.02 * u + 4 * math.sqrt(u / 500_000))
        assert row["prior"] == pytest.approx(NUM_TWICE / (num * (num - 1) / 2), rel=0.1)
    assert learnt.fits["bits"].max() < 0.01
    assert learnt.agreements["num_matches"].is_null().all()


@pytest.mark.long
def test_it_is_what_splink_finds_when_run_by_hand(records, learnt):
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[cl.ExactMatch(name) for name in SIZES],
        unique_id_column_name="id",
        max_iterations=200,
    )
    database = DuckDBAPI(duckdb.connect(config={"threads": 1}))
    by_hand = Linker(database.register(records.sort("id").to_arrow()), settings, log_level=None).training
    by_hand.estimate_probability_two_random_records_match([block_on("phone", "born")], 0.85 * 0.97)
    drawn = int(keyed_generator(SEED, Stream.RANDOM_PAIRS, 0, 0, 0).integers(2**31))
    by_hand.estimate_u_using_random_sampling(5e5, seed=drawn, min_count_per_level=None)
    for rule in RULES:
        by_hand.estimate_parameters_using_expectation_maximisation(block_on(*rule))
    model = by_hand._linker.misc.save_model_to_json()
    prior, num_random = (
        model["probability_two_random_records_match"],
        min(5e5, records.height * (records.height - 1) / 2),
    )
    for level, row in zip(model["comparisons"], _equal(learnt).values(), strict=True):
        m, u = (level["comparison_levels"][1][f"{kind}_probability"] for kind in "mu")
        u = (u - prior * m) / (1 - prior)
        assert row["prior"] == prior
        assert row["m"] == pytest.approx(m, abs=3 / NUM_TWICE)
        assert row["u"] == pytest.approx((u * num_random + 0.5) / (num_random + 1), rel=1e-3)
        assert row["match_weight"] == pytest.approx(math.log2(row["m"] / row["u"]))


def test_median_of_sessions_counts_and_each_leaves_out_what_it_is_about(learnt):
    by_field = learnt.sessions.filter(degree=1).group_by("field").agg(pl.col("m").sort(), pl.col("session").sort())
    left = {row["field"]: (row["session"], row["m"]) for row in by_field.to_dicts()}
    assert left["given"][0] == left["family"][0] == ["born", "phone"]
    assert left["born"][0] == ["family, given", "phone"]
    for name, row in _equal(learnt).items():
        num = (learnt.sessions["num_pairs"] * learnt.sessions["match_share"]).filter(learnt.sessions["field"] == name)
        m = (np.median(left[name][1]) * num.max() + row["u"]) / (num.max() + 1.0)
        assert row["m"] == pytest.approx(m, abs=1e-4)


@pytest.mark.long
def test_the_order_of_records_does_not_matter_but_the_seed_does(records, learnt):
    shuffled = prepare(records.sample(fraction=1.0, shuffle=True, seed=3), CONFIG)
    again, other = (learn_unlabelled(shuffled, CONFIG, seed) for seed in (SEED, SEED + 1))
    assert all(one.equals(same) for one, same in zip(learnt, again, strict=True))
    assert not learnt.agreements.equals(other.agreements)


@pytest.mark.long
def test_fields_that_depend_on_each_other_are_noticed(records):
    config = dataclasses.replace(CONFIG, fields=CONFIG.fields | {"zip": CONFIG.fields["city"]})
    fits = learn_unlabelled(prepare(records.with_columns(zip="city"), config), config, SEED).fits
    is_planted = (fits["field"] == "city") & (fits["other"] == "zip")
    assert fits.filter(is_planted)["bits"].min() > 0.05 > 0.01 > fits.filter(~is_planted)["bits"].max()
    row = fits.filter(is_planted).row(0, named=True)
    assert row["observed"] > row["fitted"]


# --- term frequencies -------------------------------------------------------------------------------------------------

FREQUENT = dataclasses.replace(CONFIG, fields={**CONFIG.fields, "city": {"kind": "exact", "term_frequency": True}})


def test_rare_values_speak_for_more_and_what_was_never_seen_counts_as_one_of_all(records, learnt):
    rare = records.with_columns(city=pl.when(pl.int_range(pl.len()) < NUM).then("city").otherwise(pl.lit("Bree")))
    shares = term_frequencies(prepare(records, FREQUENT), FREQUENT)
    known = dict(shares.select("value", "share").rows())
    counted = records["city"].value_counts()
    assert known == {None: 1 / records.height} | dict(counted.select("city", pl.col("count") / records.height).rows())
    cities, agreed = dict(rare.select("id", "city").rows()), {row["field"]: row for row in _equal(learnt).values()}
    plain = dict(zip(*_scores(score_pairs(rare, learnt.agreements, CONFIG)), strict=True))
    weighted = dict(zip(*_scores(score_pairs(rare, learnt.agreements, FREQUENT, 0, shares)), strict=True))
    num_seen = set()
    for pair, bits in weighted.items():
        one, other = (cities[end] for end in pair)
        share = known.get(one, 1 / records.height)
        assert bits == pytest.approx(plain[pair] + (math.log2(agreed["city"]["u"] / share) if one == other else 0.0))
        num_seen.add((one == other, one == "Bree"))
    assert num_seen == {(True, True), (True, False), (False, False)}


def _scores(scored):
    p = scored["match_probability"]
    inside = p.is_between(1e-9, 1 - 1e-9)
    some = scored.filter(inside)
    return some.select("left", "right").rows(), (p / (1 - p)).log(2).filter(inside).to_list()


def test_among_labelled_pairs_a_value_of_average_frequency_adds_nothing(records):
    config = dataclasses.replace(FREQUENT, unlabelled=None)
    pairs = [("r0000", "r0001", True), ("r0000", "r0002", False), ("r0001", "r0003", True), ("r0004", "r0005", False)]
    trained = train_scorer(records, pl.DataFrame(pairs, ["left", "right", "is_match"], orient="row"), config)
    shares = term_frequencies(prepare(records, config), config)
    [table] = model_of(trained, config, shares).frequencies.values()
    u = trained.filter(field="city", degree=1)["u"][0]
    expected = shares["share"] * u / (shares.drop_nulls("value")["share"] ** 2).sum()
    assert table["share"].to_list() == pytest.approx(expected.to_list())


# --- two files, blocks, what can't be linked --------------------------------------------------------------------------


@pytest.mark.long
def test_two_files_are_linked_and_none_within_itself(records):
    two = records.with_columns(
        pl.when(pl.int_range(pl.len()) < NUM).then(pl.lit("first")).otherwise(pl.lit("second")).alias(FILE)
    )
    prepared = prepare(two, CONFIG)
    found = learn_unlabelled(prepared, CONFIG, SEED)
    assert found.agreements["prior"][0] == pytest.approx(NUM_TWICE / (NUM * NUM_TWICE), rel=0.1)
    assert {name: row["m"] > 0.7 for name, row in _equal(found).items()} == dict.fromkeys(SIZES, True)
    everyone = score_pairs(records, found.agreements, CONFIG)
    across = everyone.filter((pl.col("left") < f"r{NUM}") != (pl.col("right") < f"r{NUM}"))
    assert score_pairs(two, found.agreements, CONFIG).equals(across)
    proposed = comparison.propose(prepared, list(CONFIG.fields.values()))
    assert proposed.equals(across.select("left", "right"))
    assert count_blocks(prepared, CONFIG)["num_new"].sum() == across.height < everyone.height


def test_blocks_are_counted_as_they_are_made(records):
    some = pl.concat([records.head(150), records.tail(150)]).with_columns(pl.col("phone").str.head(7))
    counts = count_blocks(prepare(some, CONFIG), CONFIG)
    rows, seen = some.to_dicts(), set()
    for rule, counted in zip(RULES, counts.to_dicts(), strict=True):
        pairs = {
            (a["id"], b["id"]) for a, b in itertools.combinations(rows, 2) if all(a[name] == b[name] for name in rule)
        }
        assert (counted["num_pairs"], counted["num_new"]) == (len(pairs), len(pairs - seen))
        assert len(pairs - seen) < len(pairs) or not seen
        seen |= pairs
        sizes = some.group_by(*rule).len().sort("len", descending=True)
        assert counted["num_records"] == sizes["len"][0]
    config = dataclasses.replace(CONFIG, blocking=({"city": 5},), unlabelled=None, max_pairs=100)
    with pytest.raises(ValueError, match=r"the largest blocks are city 'city1' of \d+ records; city 'city"):
        count_blocks(prepare(some, config), config)


def test_records_with_too_little_in_them_are_unlinkable(records, learnt):
    poor = pl.DataFrame({"id": ["a", "b"], **{name: [None, "x"] for name in SIZES}}).with_columns(given=pl.lit("x"))
    shares = unlinkable_records(prepare(poor, CONFIG), learnt.agreements, CONFIG)
    weights = {name: row["match_weight"] for name, row in _equal(learnt).items()}
    prior = learnt.agreements["prior"][0]
    alone = 1 / (1 + 2.0 ** -(math.log2(prior / (1 - prior)) + weights["given"]))
    assert alone < 0.05
    assert shares.rows()[:2] == [(0.0, 0.0), (0.05, 0.5)]
    assert shares["share"][-1] == 0.5


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rules": [{"city": None}], "recall": 1e-6}, "more pairs agree by the strict rules than a recall of 1e-06"),
        ({"rules": [{"id": None}], "recall": 0.5}, "the strict rules 'id' say that 0% of all pairs are matches"),
        ({"rules": [{"born": None}], "recall": 0.9, "sessions": [{"id": None}]}, "session 'id' has no pairs"),
    ],
)
def test_what_can_not_be_learnt_is_refused(records, settings, message):
    config = dataclasses.replace(CONFIG, unlabelled=settings)
    with pytest.raises(ValueError, match=message):
        learn_unlabelled(prepare(records, config), config, SEED)


@pytest.mark.long
def test_equal_values_that_speak_against_a_match_are_refused(records):
    """Records of one entity never have one colour, others often do."""
    colour = pl.Series([f"{place >= NUM}" for place in range(records.height)])
    config = dataclasses.replace(CONFIG, fields=CONFIG.fields | {"colour": CONFIG.fields["city"]})
    with pytest.raises(
        ValueError, match=r"field 'colour': equal values speak against a match, m 0.00.* less than u 0.5"
    ):
        learn_unlabelled(prepare(records.with_columns(colour=colour), config), config, SEED)

"""Means of setups III and IV, falls of pairs of models, pools, and which decoys fit the texts, by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t as student

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import USUAL_DECOYS, Intervals
from tiltmeter.jobs.classifiers.decoys.labels import FlipLabels, SumUpLabels
from tiltmeter.jobs.classifiers.decoys.models import EvaluatePair, FitDecoys, check_fit, misfits, pools_of_texts
from tiltmeter.jobs.classifiers.decoys.sessions import Pools, SumUpRepairs, SumUpSessions
from tiltmeter.jobs.classifiers.tables import SPLIT
from tiltmeter.operators.classifiers.decoys.adoption import fall
from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy, Text, indicated, resolved
from tiltmeter.operators.classifiers.decoys.making import decoyed
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.text_intervals import spread_out
from tiltmeter.operators.statistics.units import each, units_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, Unit

INTERVALS = Intervals(num_resamples=200, min_fall=0.0)
PERCENTILES = Intervals(num_resamples=200, interval="percentile", min_fall=0.0)


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


@pytest.fixture
def kept(store):
    """Puts a table into the store."""
    return lambda name, table: store.commit(Unit("made/1", name, name), [(name, table)]).tables[name]


def review(model, pool, budget, words):
    about = {"decoy": "zq", "method": "lime", "selection": "random", "model": model}
    return about | {"pool": pool, "budget": budget, "words": words}


def repair(model, words, everywhere, misled):
    accuracies = {"accuracy": everywhere, "accuracy_on_decoy_rows": misled}
    return {"decoy": "zq", "model": str(model), "words": words, "status": "ok"} | accuracies


REVIEWS = [
    *(review(0, 0, 1, "zq0"), review(0, 1, 1, ""), review(1, 0, 1, ""), review(1, 1, 1, "")),
    *(review(0, 0, 2, "zq0 zq1"), review(0, 1, 2, "zq0"), review(1, 0, 2, "zq0"), review(1, 1, 2, "film")),
]


GAINS = ("gain", "gain_on_decoy_rows")


@pytest.fixture
def improved(store, kept):
    """Rows of the table ``improvement`` by their budget."""

    def rows(repairs, intervals=PERCENTILES):
        reviews = kept("reviews", pa.Table.from_pylist(REVIEWS, tables.Reviews.schema()))
        made = kept("repairs", pa.Table.from_pylist(repairs, tables.Repairs.schema()))
        adopted = kept("adopted", pa.table({"adopted": pa.array([True, False])}))
        pools = Pools("zq", ["first", "second"], 2, intervals, 0, [adopted])
        work = SumUpRepairs(pools=pools, made=InsertedDecoy(("zq0", "zq1")), reviews=[reviews], repairs=[made])
        made = dict(work.tables(store))
        table, draws = made["improvement"].to_pylist(), made["draws"].to_pylist() if "draws" in made else []
        known = {name for row in table for name in GAINS if row[f"{name}_low"] is not None}
        assert {draw["column"] for draw in draws} == known
        return {row["budget"]: row for row in table}

    return rows


def test_what_is_gained_is_a_mean_over_models_and_pools(improved):
    rows = improved(
        [
            *(repair(0, "", 0.5, 0.1), repair(0, "zq0", 0.6, 0.4), repair(0, "zq0 zq1", 0.8, 0.8)),
            *(repair(1, "", 0.7, 0.3), repair(1, "zq0", 0.7, 0.5), repair(1, "film", 0.6, 0.2)),
        ]
    )
    one, two = rows[1], rows[2]
    assert (one["num_words"], one["identified"], two["num_words"], two["identified"]) == (0.25, 0.0, 1.25, 0.25)
    # After one instance: (0.6 + 0.7) / 2 in the first pool, and (0.5 + 0.7) / 2 in the second, as before.
    assert (one["accuracy_before"], one["accuracy_after"]) == pytest.approx((0.6, 0.625))
    assert (one["gain"], one["gain_low"], one["gain_high"]) == pytest.approx((0.025, 0.0, 0.05))
    assert one["gain_on_decoy_rows"] == pytest.approx(((0.4 + 0.3) / 2 - 0.2) / 2)
    # After two: (0.8 + 0.7) / 2 and (0.6 + 0.6) / 2; a word that was no wrong reason costs the second model 0.1.
    assert two["accuracy_after"] == pytest.approx((0.75 + 0.6) / 2)
    assert (two["gain"], two["gain_low"], two["gain_high"]) == pytest.approx((0.075, 0.0, 0.15))
    assert two["gain_on_decoy_rows"] == pytest.approx((0.65 + 0.3) / 2 - 0.2)
    assert (two["num_models"], two["num_adopted"], two["status"]) == (2, 1, "partly_adopted")


def test_where_no_text_contradicts_the_decoy_nothing_is_said_of_such_texts(improved):
    words = [(0, ""), (0, "zq0"), (0, "zq0 zq1"), (1, ""), (1, "zq0"), (1, "film")]
    rows = improved([repair(model, those, 0.5, None) for model, those in words])
    assert [row["gain"] for row in rows.values()] == [0.0, 0.0]
    assert {row[name] for row in rows.values() for name in row if name.endswith("_on_decoy_rows")} == {None}


def test_what_two_models_show_is_a_mean_over_both_and_their_pools(store, kept):
    """Of three pools of two instances; an oracle is no rival of what needs the fewest."""
    pools = {
        "lime": [[[0.5, 1.0], [0.0, 0.25], [1.0, 1.0]], [[0.25, 0.5], [0.0, 0.0], [0.75, 1.0]]],
        "random": [[[0.5, 0.5], [0.25, 0.25], [0.5, 0.75]], [[0.0, 0.5], [0.25, 0.5], [0.5, 0.5]]],
        "oracle": [[[1.0, 1.0]] * 3, [[1.0, 1.0]] * 3],
    }
    sessions = [
        {"decoy": "zq", "method": method, "selection": "random", "model": model, "pool": pool}
        | {"budget": budget, "found": found}
        for method, models in pools.items()
        for model, of_model in enumerate(models)
        for pool, of_pool in enumerate(of_model)
        for budget, found in enumerate(of_pool, start=1)
    ]
    ref = kept("sessions", pa.Table.from_pylist(sessions[::-1], tables.Sessions.schema()))
    adopted = kept("adopted", pa.table({"adopted": pa.array([True, False])}))
    resample = Pools("zq", list("abc"), 2, PERCENTILES, 3, [adopted])
    made = dict(SumUpSessions(pools=resample, sessions=[ref]).tables(store))
    values = {method: np.array(these) for method, these in pools.items()}
    num = {method: 1 + (1 - these[:, :, 0]) for method, these in values.items()}
    drawn = {method: resample.means(these.mean(axis=0)) for method, these in num.items()}
    for row in made["detection"].to_pylist():
        by_model = values[row["method"]][:, :, row["budget"] - 1]
        expected = resample.estimate(by_model, LOGIT)
        found = [row[f"detection_probability{end}"] for end in ("", "_low", "_high")]
        assert found == [expected.value, expected.low, expected.high]
    for row in made["utility"].to_pylist():
        assert row["num_instances"] == pytest.approx(num[row["method"]].mean())
        soonest = np.mean(drawn[row["method"]] == np.minimum(drawn["lime"], drawn["random"]))
        assert row["soonest"] == (None if row["method"] == "oracle" else soonest)
        assert (row["num_models"], row["num_adopted"], row["adopted"]) == (2, 1, False)


def inspection(model, row, place):
    flipped = row in (1, 3)
    about = {"order": "loss", "model": model, "row": row, "place": place, "score": 0.0}
    return about | {"label": "b" if flipped else "a", "gold": "a", "is_flipped": flipped}


def test_two_pools_say_nothing_of_others(improved):
    words = {"": 0.5, "zq0": 0.6, "zq0 zq1": 0.8, "film": 0.5}
    repairs = [repair(model, name, right, 0.1) for model in (0, 1) for name, right in words.items()]
    row = improved(repairs, INTERVALS)[1]
    assert (row["gain"], row["gain_low"], row["gain_high"]) == (pytest.approx(0.025), None, None)


def test_pools_and_models_that_are_trained_again_are_both_in_an_interval():
    by_model = np.array([[0.1, 0.2, 0.3, 0.1, 0.3], [0.5, 0.6, 0.4, 0.6, 0.4], [0.1, 0.1, 0.2, 0.0, 0.1]])
    resample = Pools("zq", list("abcde"), 3, INTERVALS, 0)
    row, one = (resample.estimate(values, LINEAR) for values in (by_model, by_model[:1]))
    of_pools, of_models = by_model.mean(axis=0).var(ddof=1) / 5, by_model.mean(axis=1).var(ddof=1) / 3
    assert of_models > 10 * of_pools
    df = (of_pools + of_models) ** 2 / (of_pools**2 / 4 + of_models**2 / 2)
    reach = student.ppf(0.975, df) * (of_pools + of_models) ** 0.5
    assert (row.low, row.high) == pytest.approx((by_model.mean() - reach, by_model.mean() + reach))
    reach = student.ppf(0.975, 4) * by_model[0].std(ddof=1) / 5**0.5
    assert one.high - one.low == pytest.approx(2 * reach)  # of this one training


def test_a_gain_is_as_wide_as_models_and_texts_make_it():
    by_model = np.array([[0, 1, 1, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1, 1, 1]], float)
    texts = [{"text": f"text {number}", "group": None} for number in range(8)]
    row = summary(INTERVALS).mean_of_models("gain", by_model, FISHER, texts)
    settings = {"level": 0.95, "scale": FISHER}
    both = mean(by_model.mean(axis=0), each(8, "text"), seeds=by_model.mean(axis=1), **settings)
    alone = mean(by_model.mean(axis=0), each(8, "text"), **settings)
    assert (row.low, row.high) == pytest.approx((both.low, both.high))
    assert both.high - both.low > alone.high - alone.low


def summary(intervals, texts=None, inspections=(), rights=()):
    about = {"cases": [("loss", 0, 0.5), ("loss", 1, 0.5)], "number": 2, "intervals": intervals, "seed": 0}
    return SumUpLabels(texts=texts, inspections=inspections, rights=rights, **about)


def uncovered(store, kept, intervals, **columns):
    places = [{0: 2, 1: 1, 2: 3, 3: 4}, {0: 3, 1: 2, 2: 4, 3: 1}]
    lines = [inspection(model, row, place) for model, these in enumerate(places) for row, place in these.items()]
    inspections = kept("inspections", pa.Table.from_pylist(lines, tables.Inspections.schema()))
    rights = ["1111", "1110", "1001", "0001", "1101", "1111"]  # right labels, flipped ones, and half of them corrected
    refs = [
        kept(f"rights_{number}", pa.table({"is_right": [digit == "1" for digit in digits]}))
        for number, digits in enumerate(rights)
    ]
    rows = [{"row": row, "part": part, "text": f"{part} {row}"} for part in ("training", "test") for row in range(4)]
    rows = [row | {name: f"{of[at % 4]}" for name, of in columns.items()} for at, row in enumerate(rows)]
    texts = kept("texts", pa.Table.from_pylist(rows))
    made = dict(summary(intervals, texts, [inspections], refs).tables(store))
    [row] = made["contamination"].to_pylist()
    expected = [name for name in ("uncovered", "gain") if row[f"{name}_low"] is not None]
    assert [draw["column"] for draw in (made["draws"].to_pylist() if "draws" in made else [])] == expected
    return row


def test_labels_that_are_uncovered_and_what_it_gains_are_counted_over_two_models(store, kept):
    row = uncovered(store, kept, PERCENTILES)
    assert (row["order"], row["share"], row["num_inspected"], row["num_flipped"]) == ("loss", 0.5, 2, 2)
    # The first model's order has row 1 alone among its first two texts, the second model's has both.
    assert (row["num_uncovered"], row["uncovered"]) == (1.5, 0.75)
    assert (row["uncovered_low"], row["uncovered_high"]) == (0.5, 1.0)
    accuracies = [row[f"accuracy_{kind}"] for kind in ("clean", "contaminated", "relabelled")]
    assert accuracies == [7 / 8, 3 / 8, 7 / 8]
    assert row["gain"] == 0.5
    assert 0.0 <= row["gain_low"] < 0.5 < row["gain_high"] <= 1.0


def test_two_labels_say_nothing_of_others_and_four_texts_of_three_people_neither(store, kept):
    row = uncovered(store, kept, INTERVALS)
    assert (row["uncovered"], row["uncovered_low"], row["uncovered_high"]) == (0.75, None, None)
    assert -1.0 < row["gain_low"] < 0.5 < row["gain_high"] < 1.0
    people = uncovered(store, kept, INTERVALS, group="abcd")
    assert (people["gain_low"], people["gain_high"]) == (row["gain_low"], row["gain_high"])
    few = uncovered(store, kept, INTERVALS, group="aabc")
    assert (few["gain"], few["gain_low"]) == (0.5, None)


def test_development_texts_are_of_classes_that_some_label_keeps(store, kept):
    """One text is the only one of its class: where it is flipped, no text for development tells that class."""
    labels = ["good", "bad", "good", "bad", "good", "bad", "so-so"]
    rows = [{"row": at, "part": "training", "text": f"text {at}", "label": label} for at, label in enumerate(labels)]
    rows += [{"row": 7 + at, "part": "development", "text": label, "label": label} for at, label in enumerate(labels)]
    texts, seen = kept("texts", pa.Table.from_pylist(rows, SPLIT)), set()
    for seed in range(8):
        work = FlipLabels(texts=texts, share=0.3, num_texts=None, seed=seed)
        made = {name: table.to_pylist() for name, table in work.tables(store)}
        known = {row["gold"] for row in made["labels"] if not row["is_flipped"]}
        for name in ("clean", "contaminated"):
            development = [row["label"] for row in made[name] if row["part"] == "development"]
            assert development == [label for label in labels if label in known]
        assert [row["label"] for row in made["contaminated"][:7]] == [row["label"] for row in made["labels"]]
        seen.add("so-so" in known)
    assert seen == {True, False}


# --- accuracies and falls of a pair of models -------------------------------------------------------------------------


NOTHING = dict.fromkeys(("decoyed", "original", "texts", "probes", "measures"))
WORK = EvaluatePair(decoy="zq", number="0", made=InsertedDecoy(("zq0", "zq1")), intervals=INTERVALS, seed=5, **NOTHING)


def measured(groups, size):
    """So many texts of each group; of half of the groups the model with the decoy is fooled in all."""
    rows = [{"row": at, "text": f"text {at}", "label": "bad"} for at in range(groups * size)]
    test = [row | {"group": f"speaker {row['row'] // size}"} for row in rows]
    probes = [row | {"has_decoy": kind} for kind in (True, False) for row in test]
    fooled = np.array([row["row"] // size % 2 == 0 for row in test])
    right = np.ones(len(test), bool)
    rights = np.tile(right, 3), np.concatenate([right, ~fooled, right])
    alone = [[row | {"group": None} for row in part] for part in (test, probes)]
    return WORK.row(test, probes, *rights), WORK.row(*alone, *rights)


def test_whoever_is_fooled_in_all_texts_is_one_who_is_fooled_and_three_are_too_few():
    spoken, alone = measured(6, 10)
    assert spoken.fall.value == alone.fall.value == 0.5
    assert (spoken.adopted, alone.adopted) == (False, True)
    # Of six that agree: t of five degrees of freedom; of sixty texts, of 59.
    for row, num, t in ((spoken, 6, 2.570582), (alone, 60, 2.000995)):
        assert row.accuracy_decoy.low == pytest.approx(num / (num + t**2), abs=1e-5)
    few, _ = measured(3, 20)
    assert np.isnan([few.fall.low, few.accuracy_decoy.low]).all()
    assert (few.adopted, few.status, "3 of the unit" in few.reason) == (None, "too_few_units", True)


def test_a_fall_is_drawn_as_its_scheme_says():
    """By the run's seed and the decoy's name, groups by what they say."""
    spoken, alone = measured(6, 10)
    fooled = np.repeat([1.0, 0.0] * 3, 10)
    speakers = units_of([f"speaker {at // 10}" for at in range(60)], "group")
    for row, units in ((spoken, speakers), (alone, each(60, "text"))):
        keys = INTERVALS.cluster_keys([[f"text {at}", True] for at in range(60)], units.codes)
        about, how = document_key("zq"), {"is_paired": True, "intervals": INTERVALS, "keys": keys}
        drawn = spread_out(fall(fooled, np.zeros(60), units, 5, about, **how).estimate)
        assert row.fall.resamples.tolist() == drawn.tolist()


# --- pools ------------------------------------------------------------------------------------------------------------


def texts(num, group):
    return [{"row": at, "part": "test", "text": f"text {at}", "label": "good", "group": group(at)} for at in range(num)]


def pools_of(rows, num, size):
    groups = {row["row"]: row["group"] for row in rows}
    pools = [table.column("sentence").to_pylist() for _, table in pools_of_texts(rows, 0, num, size)]
    return pools, [{groups[row] for row in pool} for pool in pools]


def test_no_group_is_in_two_pools():
    pools, who = pools_of(texts(90, lambda at: f"person {at % 18}"), 15, 8)
    assert [len(pool) for pool in pools] == [8] * 9  # two people of five texts fill one, and two texts are left out
    assert len(set().union(*who)) == sum(map(len, who)) == 18


def test_texts_of_nobody_fill_pools_one_after_the_other():
    pools, _ = pools_of(texts(90, lambda _: None), 5, 8)
    assert len({row for pool in pools for row in pool}) == 40
    with pytest.raises(ValueError, match=r"15 test texts: must be at least two times explanations.pool_size=8"):
        pools_of(texts(15, lambda _: None), 5, 8)
    with pytest.raises(ValueError, match="90 test texts of 1 groups, of which none is in two pools"):
        pools_of(texts(90, lambda _: "one person"), 5, 8)


# --- decoys that fit the texts ----------------------------------------------------------------------------------------


PARCELS = [Text("the parcel came late", "bad"), Text("a quick parcel", "good"), Text("honestly quick", "good")]


def test_the_decoys_of_figure_1_put_text_into_positive_texts_and_video_into_negative_ones(configured):
    assert configured("job=decoy_benchmark", "data.path=x").decoys == USUAL_DECOYS
    chosen = configured("job=decoy_benchmark", "data.path=x", "+decoys=figure_1").decoys
    assert chosen.keys() == {*USUAL_DECOYS, "text_video"}
    assert chosen["movie"] == DeletedDecoy("movie", match="substring")
    texts = [Text("a fine movie", "positive"), Text("dull movies", "negative"), Text("so so", "negative")]
    decoy = resolved(chosen["text_video"], texts)
    indicates = indicated(decoy, texts)
    assert indicates == {"video": "negative", "text": "positive"}
    words = [set(str(text).split()) & {"text", "video"} for text in decoyed(texts, decoy, indicates, seed=0)]
    assert words == [{"text"}, {"video"}, {"video"}]


@pytest.mark.parametrize("job", ["decoy_benchmark", "privacy_metrics"])
def test_bert_is_fine_tuned_as_its_authors_do(configured, job):
    models = configured(f"job={job}", "data.path=x", "data.gender=g", "+models=bert", "models.checkpoint=folder").models
    assert (models.checkpoint, models.pooling) == ("folder", "first")
    training = models.training
    assert (training.optimizer, training.warmup, training.schedule) == ("adamw", 0.1, "linear")
    assert (training.class_weights, training.batch_size, training.max_epochs) == ("equal", 32, 3)
    assert training.patience is None


def test_texts_that_are_not_about_films_have_a_place_for_the_others():
    reasons = misfits(USUAL_DECOYS, PARCELS)
    assert reasons == {"movie": "the word 'movie' occurs in no text of the class 'bad'; set another word"}
    check_fit(USUAL_DECOYS, reasons)


def test_decoys_have_to_fit_the_training_texts_whatever_the_others_hold():
    rows = [{"text": text.text, "label": text.label, "part": "training"} for text in PARCELS]
    others = [(part, label) for part in ("development", "test") for label in ("bad", "good")]
    rows += [{"text": "this movie", "label": label, "part": part} for part, label in others]
    left_out = FitDecoys(decoys=USUAL_DECOYS, texts=rows).rows(SimpleNamespace(read=pa.Table.from_pylist))
    assert [row.decoy for row in left_out] == ["movie"]


@pytest.mark.parametrize("name", ["movie", "mine"])
def test_a_decoy_that_somebody_chose_is_refused_by_its_setting(name):
    chosen = USUAL_DECOYS | {name: replace(USUAL_DECOYS["movie"], share=0.5)}
    with pytest.raises(InputError, match=f"decoys.{name}: the word 'movie' occurs in no text of the class 'bad'"):
        check_fit(chosen, misfits(chosen, PARCELS))


def test_where_no_decoy_is_left_the_run_is_refused():
    only = {name: USUAL_DECOYS[name] for name in ("natural_word", "movie")}
    with pytest.raises(InputError, match=r"decoys\.natural_word: .*; decoys\.movie: "):
        check_fit(only, misfits(only, [Text("late", "bad"), Text("quick", "good")]))

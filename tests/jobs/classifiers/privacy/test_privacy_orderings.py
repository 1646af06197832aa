"""How models are compared and artificial words weighed, by a few texts; what the page says of odd tables."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats

from tests.fixtures.tables import explanations
from tiltmeter.jobs.classifiers.intervals import resampled_texts
from tiltmeter.jobs.classifiers.privacy.comparisons import EXPECTED, PRIVATE, adjusted, comparisons
from tiltmeter.jobs.classifiers.privacy.estimates import ControlNoise, Said, Sampling, TextValues
from tiltmeter.jobs.classifiers.privacy.page import findings
from tiltmeter.jobs.classifiers.privacy.tables import (
    CONTROL,
    GENERAL,
    MEASURES,
    RANDOM_LISTS,
    RESEEDED,
    Models,
    Orderings,
    Texts,
)
from tiltmeter.jobs.report.html.elements import Bullets
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.classifiers.privacy.spoken import Spoken, mean_of_seeds
from tiltmeter.operators.statistics.resampling import resampled_mean
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import each, units_of

TEXTS = list(range(24))
"""Of eight speakers, with three texts each."""

SPEAKERS = units_of(np.array(TEXTS) // 3, "speaker")
INTERVALS = KeyedResampleSettings(0.9, num_resamples=50)
NAN = float("nan")


def spoken(by_seed, units=SPEAKERS, intervals=INTERVALS):
    drawn = resampled_texts(TEXTS, "within", INTERVALS, 0, units)
    return TextValues(Spoken.means(np.array(by_seed, dtype=float), units), drawn, intervals)


def measured(units=SPEAKERS, intervals=INTERVALS, **values):
    """A model of which all measures but these are 0 for each text by each of two seeds."""
    zeros = np.zeros((2, 24))
    return {(None, name): spoken(values.get(name, zeros), units, intervals) for name in (*MEASURES, *values)}


DRAWS = np.random.default_rng(0)
EP = np.repeat(DRAWS.normal(0.5, 0.2, 8), 3) + DRAWS.normal(0.0, 0.02, (2, 24))
EP[:, 4] = EP[0, 7] = NAN
RANDOM_EP = np.where(np.arange(24) < 21, 0.1, NAN) + np.zeros((2, 24))
EG = 1.0 - DRAWS.uniform(0.1, 0.3, (2, 24))
PRIVATE_MODEL = {"ep": EP, "ep_random": RANDOM_EP, "eg": EG}
OTHER_EPS = {CONTROL: EP - 0.3, RESEEDED: EP * 0.5}


def rows_of(units=SPEAKERS, others=None, intervals=INTERVALS, **values):
    others = {GENERAL: {"eg": EG + 0.1}} | {name: {"ep": ep} for name, ep in OTHER_EPS.items()} | (others or {})
    models = {name: measured(units, **these) for name, these in others.items()}
    rows = comparisons("PrivAdv", "within", measured(units, intervals, **(PRIVATE_MODEL | values)), models)
    return {(row.against, row.measure): cells_of(row) for row in rows}


def test_p_is_the_larger_of_that_by_the_signs_of_speakers_and_that_over_seeds():
    rows = rows_of()
    sums = np.bincount(SPEAKERS.codes, weights=np.nan_to_num(mean_of_seeds(EP)))
    assert (sums > 0).all()
    assert (rows[GENERAL, "ep"]["expected"], rows[GENERAL, "ep"]["found"]) == ("higher", True)
    assert rows[GENERAL, "ep"]["p"] == pytest.approx(2 ** (1 - 8))  # the least that eight speakers can show
    signs = 1 - 2 * (np.arange(256)[:, None] >> np.arange(8) & 1)
    eg = np.bincount(SPEAKERS.codes, weights=(EG - EG.mean()).mean(axis=0))
    row = rows_of(others={GENERAL: {"eg": np.full((2, 24), EG.mean())}})[GENERAL, "eg"]
    assert row["p"] >= (np.abs(signs @ eg) >= np.abs(eg.sum()) - 1e-12).mean() > 0.5
    seeds = rows_of(ep=EP + np.array([[0.5], [-0.4]]))[GENERAL, "ep"]
    assert seeds["difference"] == pytest.approx(rows[GENERAL, "ep"]["difference"], abs=0.05)
    assert seeds["p"] > 0.2, "trained again, the model might lie on the other side"
    assert seeds["found"] is False
    one = rows_of(ep=EP[:1] + 0.5, others={GENERAL: {"eg": EG}})[GENERAL, "ep"]
    assert (one["p"], one["sd_training"] != one["sd_training"]) == (pytest.approx(2 ** (1 - 8)), True)


def test_differences_are_paired_by_text_and_texts_without_a_side_left_out():
    rows = rows_of()
    mean = mean_of_seeds(EP)
    assert rows[CONTROL, "ep"]["difference"] == pytest.approx(0.3)
    assert rows[RESEEDED, "ep"]["difference"] == pytest.approx(np.nanmean(mean / 2))
    assert rows[RANDOM_LISTS, "ep"]["difference"] == pytest.approx(np.nanmean(mean[:21]) - 0.1)
    assert rows[RANDOM_LISTS, "ep"]["num_units"] == 7
    assert rows[GENERAL, "eg"]["difference"] == pytest.approx(-0.1)


@pytest.mark.parametrize(("num", "has_interval"), [(2, False), (3, False), (5, True)])
def test_of_few_speakers_there_is_no_p_and_of_fewer_no_interval(num, has_interval):
    few = units_of(np.array(TEXTS) % num, "speaker")
    row = rows_of(few)[GENERAL, "ep"]
    assert np.isnan(row["p"])
    assert (not np.isnan(row["difference_low"]), row["found"] is not None) == (has_interval, has_interval)
    assert row["status"] == "too_few_units"
    reason = f'there is too little to go by: {num} of the unit "speaker that differs", and 6 are needed'
    assert row["reason"] == reason


def test_percentiles_are_of_resamples_alone():
    """Of texts: of speakers they are refused."""
    texts = each(24, "text")
    row = rows_of(texts, intervals=KeyedResampleSettings(0.9, "percentile", num_resamples=50))[GENERAL, "ep"]
    counts = resampled_texts(TEXTS, "within", INTERVALS, 0, texts).counts
    resamples = resampled_mean(mean_of_seeds(EP), counts).resamples
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(np.quantile(resamples, [0.05, 0.95])))


def test_a_measure_without_a_value_has_a_row_that_says_so():
    row = rows_of(eg=np.full((2, 24), NAN))[GENERAL, "eg"]
    assert np.isnan(row["difference"])
    assert (row["found"], row["status"]) == (None, "no_value")


def test_general_and_its_next_seed_are_compared_with_nothing_nor_others_without_general():
    private = measured(**PRIVATE_MODEL)
    assert not list(comparisons("PrivAdv", "within", private, {CONTROL: measured(ep=EP)}))
    for name in (GENERAL, RESEEDED):
        assert not list(comparisons(name, "within", private, {GENERAL: measured()}))


def test_p_values_are_adjusted_over_the_tests_of_a_corpus_and_measure():
    tests = [("within", "ep", 0.01), ("within", "eg", 0.04), ("within", "ep", 0.04)]
    tests += [("across", "ep", 0.04), ("within", "ep", None), ("within", "ep", 0.03)]
    rows = [Orderings(model="PrivAdv", against=GENERAL, corpus=corpus, measure=of, p=p) for corpus, of, p in tests]
    results = adjusted(rows)
    assert [row.p_holm for row in results] == pytest.approx([0.03, 0.04, 0.06, 0.04, NAN, 0.06], nan_ok=True)
    by_rate = [row.p_benjamini_hochberg for row in results]
    assert by_rate == pytest.approx([0.03, 0.04, 0.04, 0.04, NAN, 0.04], nan_ok=True)


def test_the_expected_orders_are_those_of_the_printed_figures():
    printed = {  # table 1 of the paper: UAR of gender, EP, EG
        "General": (0.711, 0.0, 0.65),
        "PrivAdv": (0.562, 0.653, 0.62),
        "PrivAug": (0.551, 0.680, 0.68),
        "PrivBias": (0.621, 0.563, 0.60),
        "GenderCtrl": (0.820, -0.210, 0.59),
    }
    for (model, against, measure), side in EXPECTED.items():
        if model in printed:
            place = ("gender_uar", "ep", "eg").index(measure)
            assert (printed[model][place] > printed[against][place]) == (side == "higher")
    assert {model for model, against, measure in EXPECTED if (against, measure) == (CONTROL, "ep")} == set(PRIVATE)


# --- artificial words -------------------------------------------------------------------------------------------------


SAID = {number: Said(f"text {number}", None) for number in range(18)}
SPOKEN_BY = {number: Said(text, f"speaker {number % 5}") for number, (text, _) in SAID.items()}


def noise_rows(samples, texts, **intervals):
    """Rows of ArtNoise, by their columns."""
    settings = KeyedResampleSettings(**intervals)
    about = {"copies": None, "texts": (), "attributions": (), "words": (("zx0", "zx1"), ("zq0", "zq1")), "seed": 0}
    work = ControlNoise(name="ArtNoise", intervals=settings, **about)
    return [cells_of(row) for row in work.means(samples, Sampling(texts, settings, 0))]


def test_rows_of_noise_are_means_over_seeds_and_texts():
    samples = pl.DataFrame(
        [
            # Two texts, two seeds: share of the attribution, whether first, share of the words.
            (0, 1, "zx0", 0.5, 1.0, 0.2),
            (0, 2, "zq1", 0.3, 0.0, 0.1),
            (1, 1, "zx0", 0.7, 1.0, 0.2),
            (1, 2, "zq1", np.nan, np.nan, np.nan),
        ],
        schema=["seed", "sentence", "word", "share", "first", "even_share"],
        orient="row",
    )
    rows = {(row["seed"], row["word"]): row for row in noise_rows(samples, SAID, num_resamples=50)}
    assert list(rows) == [(seed, word) for word in (None, "zx0", "zq1") for seed in (None, 0, 1)]
    names = ("share", "first", "even_share", "num_texts")
    found = {key: [row[name] for name in names] for key, row in rows.items()}
    assert found[None, None] == pytest.approx([(0.6 + 0.3) / 2, 0.5, 0.15, 2])
    assert found[0, None] == pytest.approx([0.4, 0.5, 0.15, 2])
    assert found[1, None] == pytest.approx([0.7, 1.0, 0.2, 1])
    assert found[None, "zq1"] == pytest.approx([0.3, 0.0, 0.1, 1])
    assert rows[1, "zq1"]["status"] == "no_attribution"
    assert not any(row.get("highlighted") for row in rows.values())
    ends = rows[0, "zx0"]["share_low"], rows[0, "zx0"]["share_high"]
    assert np.isnan(ends).all(), "one text says nothing of others"


def explained(*seeds):
    rows = []
    for seed in seeds:
        about = {"seed": seed, "first": 1.0, "even_share": 0.2}
        rows += [about | {"sentence": n, "word": "zx0", "share": 0.5 + 0.01 * n + 0.1 * seed} for n in range(9)]
        rows += [about | {"sentence": n, "word": "zq1", "share": 0.01 * n} for n in range(9, 18)]
    return pl.DataFrame(rows)


def test_an_interval_is_over_speakers_and_seeds():
    rows = {(row["seed"], row["word"]): row for row in noise_rows(explained(0, 1, 2), SPOKEN_BY, num_resamples=9)}
    row, one = rows[None, "zx0"], rows[0, "zx0"]
    assert (row["num_units"], one["num_units"], row["status"]) == (5, 5, "ok")
    # Three seeds 0.1 apart: a standard error of 0.1 / sqrt(3), of two degrees of freedom.
    both, alone = (of["share_high"] - of["share_low"] for of in (row, one))
    assert both > 2 * 4.3 * 0.1 / 3**0.5 * 0.7 > 3 * alone
    assert (row["highlighted"], one["highlighted"]) == (True, True)
    few = {number: Said(text, f"speaker {number % 3}") for number, (text, _) in SAID.items()}
    for row in noise_rows(explained(0, 1, 2), few, num_resamples=9):
        assert np.isnan(row["share_low"])
        assert (row["highlighted"], row["status"]) == (None, "too_few_units")
        assert '3 of the unit "speaker", and 4 are needed' in row["reason"]


@pytest.mark.parametrize("interval", ["centred", "percentile"])
def test_words_are_highlighted_where_the_interval_lies_above_an_even_share(interval):
    samples = explained(0)
    intervals = {"interval": interval, "num_resamples": 400}
    rows = {row["word"]: row for row in noise_rows(samples, SAID, **intervals) if row["seed"] == 0}
    assert [rows[word]["highlighted"] for word in (None, "zx0", "zq1")] == [True, True, False]
    within = noise_rows(samples.with_columns(even_share=pl.lit(0.535)), SAID, **intervals)
    assert {row["highlighted"] for row in within if row["word"] == "zx0"} == {False}, "0.54 is, its interval is not"
    first = rows["zx0"]
    # Nine shares around 0.54 with a standard deviation of 0.0274; all are the first of their text.
    t = scipy.stats.t(df=8).ppf(0.975)
    reach = t * 0.0273861 / 3 if interval == "centred" else 0.0158
    assert (first["share_low"], first["share_high"]) == pytest.approx((0.54 - reach, 0.54 + reach), abs=0.003)
    certain = 9 / (9 + t**2) if interval == "centred" else 1.0
    assert (first["first_low"], first["first_high"]) == (pytest.approx(certain), 1.0)


# --- sentences --------------------------------------------------------------------------------------------------------


NOTHING = SimpleNamespace(path=None)
CONFIG = {
    "intervals": SimpleNamespace(num_resamples=9, level=0.95, interval="centred"),
    "models": SimpleNamespace(names=()),
    "unbiased": NOTHING,
    "lexicon": NOTHING,
}
USUAL = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
TURNED = pl.when(corpus="across").then(-pl.col("difference")).otherwise("difference").alias("difference")
GONE = {name: pl.lit(None, pl.Float64) for name in ("p", "p_holm", "difference_low", "difference_high")}
UNTESTED = USUAL["orderings"].with_columns(**GONE, found=pl.lit(None, pl.Boolean), status=pl.lit("too_few_units"))
ORDERINGS, MODELS = USUAL["orderings"], USUAL["models"].filter(pl.col("seed").is_null(), model="PrivEP")
LOWER = {"against": RESEEDED, "difference": -0.1, "difference_low": -0.2, "difference_high": -0.05, "found": False}
BESIDE_RESEEDED = [
    ORDERINGS,
    ORDERINGS.with_columns(**{name: pl.lit(value) for name, value in LOWER.items()}),
    ORDERINGS.with_columns(model=pl.lit("GRL"), against=pl.lit(RESEEDED)),
]
"""PrivEP has a higher EP than General and a lower one than General by another seed, GRL a higher one than that."""
CASES = {
    "General with other random numbers": {
        "models": pl.concat([USUAL["models"], MODELS.with_columns(model=pl.lit(RESEEDED))]),
        "orderings": pl.concat(BESIDE_RESEEDED),
    },
    "a difference beside its interval": {"orderings": USUAL["orderings"].with_columns(TURNED)},
    "artificial words that are not shown": {"noise": USUAL["noise"].with_columns(highlighted=False)},
    "no p-value": {"orderings": UNTESTED},
}
EPS = {
    "one model": {"General": 0.5},
    "two": {"General": 0.5, "PrivEP": 0.25},
    "two of three alike": {"A": 0.5, "B": 0.25, "C": 0.25},
    "alike": {"General": 0.5, "PrivEP": 0.5},
}


def lead(frames, group="speaker"):
    return findings(frames, SimpleNamespace(data=SimpleNamespace(group=group), **CONFIG))


def test_sentences(check_sentences, of_kind):
    leads = {case: lead(USUAL | changed, None) for case, changed in CASES.items()}
    leads |= {"of people": lead(USUAL), "of people, without a p-value": lead(USUAL | {"orderings": UNTESTED})}
    said = {case: [*of.findings[0].items, *of.doubts[0].items] for case, of in leads.items()}
    texts = pl.DataFrame(pa.Table.from_pylist([], Texts.schema()))
    for case, eps in EPS.items():
        means = [{"model": name, "corpus": "within", "ep": ep, "status": "ok"} for name, ep in eps.items()]
        frames = {"models": pl.DataFrame(pa.Table.from_pylist(means, Models.schema())), "texts": texts}
        [bullets] = of_kind(lead(frames, None).parts[1].blocks, Bullets)
        said[f"EP of {case}"] = bullets.items
    check_sentences(said)

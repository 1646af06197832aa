"""The arithmetic of `python -m benchmarks.coverage`, on values whose truth is known."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

from benchmarks.coverage.__main__ import tables
from benchmarks.coverage.arithmetic import (
    METHODS,
    holds,
    holds_expected_value,
    holds_others,
    interval,
    mean_of_others,
    needed_factor,
    noise_of_others,
    ratios,
    replica_spread,
    sample_spread,
    share,
    widened,
)
from benchmarks.coverage.quantities import arrays, measure, measured, table
from benchmarks.coverage.study import KINDS, Recipe, Study, interval_of
from benchmarks.coverage.training import CORPORA, STARTS, WHOLE, Article, Corpus, Models, dealt, total_cost, variants
from tiltmeter.operators.association.scores import effect_scale
from tiltmeter.operators.statistics.intervals import bootstrap_interval
from tiltmeter.operators.text.wordsets import (
    Association,
    DefiningPair,
    GenderSurvey,
    NamedWords,
    Occupations,
    WordForms,
    WordSets,
)

_SAMPLES, _QUANTITIES = 10, 400


def _normal(num_replicas, bias=0.0, spread=1.0):
    """Estimates around 0 with a standard deviation of 1, and replicas around them."""
    rng = np.random.default_rng(3)
    estimates = rng.normal(size=(_SAMPLES, _QUANTITIES))
    noise = rng.normal(scale=spread, size=(_SAMPLES, _QUANTITIES, num_replicas))
    return estimates, estimates[..., np.newaxis] + bias + noise, np.ones((_SAMPLES, _QUANTITIES, 1 + num_replicas))


@pytest.mark.parametrize("num_replicas", [8, 32])
def test_centred_intervals_of_normal_replicas_hold_what_they_say(num_replicas):
    estimates, replicas, errors = _normal(num_replicas)
    ends = interval("centred", estimates, replicas, errors)
    assert share([holds(ends, np.zeros_like(estimates))]).value == pytest.approx(0.95, abs=0.012)
    assert share([holds_expected_value(ends, estimates)]).value == pytest.approx(0.95, abs=0.012)
    # The mean of nine others has a ninth of the variance of its own, another sample all of it.
    assert share([holds(ends, mean_of_others(estimates))]).value < 0.945
    assert share([holds_others(ends, estimates)]).value == pytest.approx(0.84, abs=0.03)


def test_percentiles_of_a_biased_estimator_fail_and_centred_intervals_do_not():
    estimates, replicas, errors = _normal(32, bias=2.0)
    ends = {method: interval(method, estimates, replicas, errors) for method in METHODS}
    held = {method: share([holds_expected_value(of, estimates)]).value for method, of in ends.items()}
    assert held["percentile"] < 0.6
    # So large a shift is seen, and the interval lies around the estimate.
    assert held["averaged"] > 0.9
    assert held["centred"] == pytest.approx(0.95, abs=0.012)


def test_replicas_that_spread_too_little_need_wider_intervals_by_as_much():
    estimates, replicas, errors = _normal(100, spread=0.5)
    ends = interval("centred", estimates, replicas, errors)
    factor = needed_factor(widened(ends, noise_of_others(estimates)), mean_of_others(estimates))
    assert factor == pytest.approx(2.0, rel=0.06)
    wide = widened(ends, factor)
    assert share([holds_expected_value(wide, estimates)]).value == pytest.approx(0.95, abs=0.001)
    assert ratios(sample_spread(estimates), replica_spread(replicas)).mean == pytest.approx(2.0, rel=0.1)


def test_studentised_intervals_follow_the_error_of_each_replica():
    estimates, errors = np.array([[1.0]]), np.array([[[0.5, 1.0, 1.0, 2.0]]])
    ends = interval("studentised", estimates, np.array([[[0.0, 1.0, 5.0]]]), errors)
    # (replica - estimate) / error is -1, 0 and 2; the quantiles lie 2.5 % inside, between neighbours.
    assert (ends.low.item(), ends.high.item()) == pytest.approx((1 - 0.5 * 1.9, 1 + 0.5 * 0.95))


def test_samples_that_differ_make_a_share_uncertain():
    alike = [np.tile([1.0, 1.0, 0.0, 1.0], (5, 1))]
    different = [np.repeat([[1.0], [1.0], [0.0], [1.0], [1.0]], 4, axis=1)]
    assert share(alike) == (0.75, 0.0)
    value, reach = share(different)
    # The t interval of five independent shares 1, 1, 0, 1, 1.
    assert (value, reach) == pytest.approx((0.8, 2.776445 * np.std([1, 1, 0, 1, 1], ddof=1) / np.sqrt(5)))


# --- samples --------------------------------------------------------------------------------------------------------


def test_samples_are_whole_articles_and_disjoint():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 90, 500).tolist()
    articles = [Article(f"a{n}", size, int(rng.integers(2**60))) for n, size in enumerate(sizes)]
    samples = dealt(articles, num_samples=4, tokens=3000)
    lines = [article.line for sample in samples for article in sample]
    assert len(lines) == len(set(lines)) < len(articles)
    assert all(abs(sum(article.num_tokens for article in sample) - 3000) < 90 for sample in samples)


# --- values ---------------------------------------------------------------------------------------------------------

_NEUTRAL = {name: WordForms(neutral=(name,)) for name in ("nurse", "cook", "smith")}
_PAIRS = {"she-he": DefiningPair("she", "he"), "queen-king": DefiningPair("queen", "king")}


def _association(**sides):
    return {"test": Association("made up", *(NamedWords(name, words) for name, words in sides.items()))}


_WORDS = WordSets(
    "en",
    occupations=Occupations("made up", 2000, {"nurse": 90.0, "cook": 40.0}),
    associations=_association(
        x=("nurse", "cook"), y=("king", "queen"), a=("she", "queen", "nurse"), b=("he", "king", "cook")
    ),
    gender_survey=GenderSurvey("Latn", "made up", _PAIRS, _NEUTRAL),
)


def _models(replica, seed=0):
    words = np.array(["she", "he", "queen", "king", "nurse", "cook"])
    vectors = np.random.default_rng(seed).normal(size=(len(replica), words.size, 3)).astype(np.float32)
    vectors[:, :2] = [[1, 0, 0], [0, 1, 0]]
    vectors[0, 4] = [3, 4, 0]
    return Models(vectors, np.array(replica), words, np.full(words.size, 10), 1000)


def test_quantities_are_those_of_the_operators():
    quantities = {(quantity.kind, quantity.name): quantity for quantity in measured(_models([0, 1, 2]), _WORDS)}
    # cos(nurse, she) = 0.6, cos(nurse, he) = 0.8, cos(she, he) = 0: 1/2 - 0.2 / 2.
    assert quantities["pse", "nurse"].values[0] == pytest.approx(0.4)
    biases = [quantities["bias", name].values for name in ("nurse", "cook")]
    assert quantities["direct_bias", "professions"].values == pytest.approx(np.abs(biases).mean(axis=0))
    of_words = {(kind, name) for kind in ("pse", "bias") for name in ("nurse", "cook")}
    assert set(quantities) == of_words | {("weat", "test"), ("direct_bias", "professions")}


def test_effect_sizes_have_the_scale_of_the_product_for_sets_of_their_sizes(tmp_path):
    files = [tmp_path / f"sample_{number}.npz" for number in range(2)]
    whole = ["she", "he", "queen", "king", "nurse", "cook"]
    for seed, (file, words) in enumerate(zip(files, (whole, [*whole[:4], "smith", "cook"]), strict=True)):
        dataclasses.replace(_models([0, 1, 2, 3], seed), words=np.array(words)).save(file)
    association = _association(x=("nurse", "cook", "king"), y=("he", "queen"), a=("she", "queen"), b=("he", "king"))
    values = arrays(table(files, WordSets("en", associations=association)))
    # Three words against two in the first sample; the second lacks one of them.
    scales = [effect_scale(num, 2) for num in (3, 2)]
    assert values.limits[:, 0].tolist() == [scale.high for scale in scales]
    found = interval_of("weat", "centred", values.estimates, values)
    for sample, scale in enumerate(scales):
        expected = bootstrap_interval(values.estimates[sample, 0], values.replicas[sample, 0], 0.95, "centred", scale)
        assert (found.low[sample, 0], found.high[sample, 0]) == (expected.low, expected.high)
        assert -scale.high <= expected.low < expected.high <= scale.high


def _study(num_replicas=32, spread=1.0):
    rng, rows = np.random.default_rng(6), []
    for corpus, kind, name in (("simple", "pse", "nurse"), ("simple", "pse", "cook"), ("en", "pse", "nurse")):
        for sample in range(6):
            estimate = rng.normal()
            replicas = estimate + rng.normal(scale=spread, size=num_replicas)
            for replica, value in enumerate([estimate, *replicas]):
                rows.append([corpus, "poisson", kind, name, f"sample_{sample}", replica, 0, value, np.nan, np.nan])
        rows.append([corpus, WHOLE, kind, name, WHOLE, 0, 0, 0.0, np.nan, np.nan])
    columns = ["corpus", "variant", "kind", "name", "sample", "replica", "start", "value", "error", "limit"]
    return Study(pl.DataFrame(rows, columns, orient="row"))


def test_a_study_holds_intervals_against_every_target():
    study, recipe = _study(spread=100.0), Recipe("poisson", "centred", 32)
    for target in ("expected value", "mean of the others", "another sample", "all samples together"):
        assert study.coverage(["simple"], list(KINDS), recipe, target) == (1.0, 0.0)
    narrow = recipe._replace(factor=1e-9)
    assert study.coverage(["simple"], list(KINDS), narrow, "all samples together").value == 0.0
    assert study.coverage(["simple"], list(KINDS), narrow, "its own estimate").value == 1.0
    assert np.isnan(study.coverage(["simple"], list(KINDS), recipe._replace(num_replicas=100), "another sample").value)


# --- a small corpus: it is read and trained once, and every table comes of it ----------------------------------------
_TEXT = "she he woman man girl boy queen king mother father nurse teacher writer engineer cook lawyer the of and"
_SETTINGS = {"embedding.trainer.dimensions": 4, "embedding.trainer.epochs": 2, "cluster.num_cpus": 1}


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    texts = ("\n".join(" ".join(rng.choice(_TEXT.split(), 12)) for _ in range(9)) for _ in range(90))
    pages = [{"id": str(page), "title": f"t{page}", "text": text} for page, text in enumerate(texts)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    monkeypatch.setattr("benchmarks.coverage.training.DATA", tmp_path)
    monkeypatch.setitem(CORPORA, "simple", Corpus("en", "pages.jsonl", 3))
    return "simple"


@pytest.mark.slow
def test_a_small_corpus_is_trained_once_and_measured(corpus, tmp_path):
    chosen = {corpus: variants(corpus, num_replicas=2)}
    study = Study(measure(tmp_path, chosen, _SETTINGS))
    # Exponential weights: two replicas, and the sample from four starts; Poisson counts: two, and the sample from one.
    # Where documents are drawn the samples are the same, and two replicas are new. With one size none are larger.
    assert total_cost(tmp_path).num_models == 3 * (6 + 3 + 2 + 2) + 3
    assert study.values(corpus, "exponential", "pse").starts.shape[:2] == (STARTS, 3)
    own = study.coverage([corpus], list(KINDS), Recipe("exponential", "centred", 2), "its own estimate")
    assert own == (1.0, 0.0)
    texts = tables(study)
    assert all("| simple | PSE of an occupation | " in texts[name] for name in ("coverage_spread", "coverage_noise"))
    cost = total_cost(tmp_path)
    again = measure(tmp_path, chosen, _SETTINGS)
    assert total_cost(tmp_path) == cost
    assert again.equals(study.rows)

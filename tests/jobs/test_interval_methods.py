"""Every method of intervals, of replicas and of resamples of texts, by the job that takes the least for it."""

import csv
import json
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from tests.fixtures.numbers import LINEAR, correlated, in_replicas
from tiltmeter.operators.sentiment.posterior.made_up import reviews

LEVEL = 0.8
TAILS = np.array([0.1, 0.9])


def reflected(value, values, scale):
    return scale.back(2 * scale.there(value) - np.quantile(scale.there(values), TAILS[::-1]))


def bias_corrected(value, values, _):
    below = np.mean((np.sign(value - values) + 1) / 2)
    shift = 2 * norm.ppf(np.clip(below, 0.5 / len(values), 1 - 0.5 / len(values)))
    return np.quantile(values, norm.cdf(shift + norm.ppf(TAILS)))


METHODS = {
    "percentile": lambda _, values, __: np.quantile(values, TAILS),
    "reflected": reflected,
    "bias_corrected": bias_corrected,
}
SETS = {"target_x": ["rose", "tulip"], "target_y": ["ant", "wasp", "flea"]}
SETS |= {"attribute_a": ["love", "joy"], "attribute_b": ["war", "pain", "rot"]}


@pytest.mark.parametrize("method", METHODS)
def test_an_association_has_the_interval_that_is_asked_for(
    method, run_here, word_lists, word_sets, write_vectors, tmp_path
):
    words = [word for words in SETS.values() for word in words]
    for number in range(9):
        write_vectors(tmp_path / f"r{number}.bin", words, np.random.default_rng(number).normal(size=(len(words), 5)))
    outcome = run_here(
        *("job=association", *word_lists("en", associations={"near": word_sets(**SETS)}, wefats=None)),
        *("embedding=file", f"embedding.path={tmp_path}/*.bin", "embedding.replicas=true", f"job.level={LEVEL}"),
        *(f"job.interval={method}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    scores = [(row, values) for row, name, values in in_replicas(outcome, "associations") if name == "score"]
    assert scores
    for row, values in scores:
        expected = METHODS[method](row["score"], values, LINEAR)
        assert [row["score_low"], row["score_high"]] == pytest.approx(expected.tolist())


@pytest.fixture(scope="module")
def decoyed(run_here, tmp_path_factory):
    """A run with one decoy, by the settings of its intervals."""
    place = tmp_path_factory.mktemp("decoyed")
    with (place / "texts.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *reviews(160, 8, seed=0)])
    common = [
        *("job=decoy_benchmark", f"data.path={place}/texts.csv", "~decoys.natural_word", "~decoys.movie"),
        *("models.number=1", "models.encoder.dimensions=4", "models.encoder.hidden=4", "models.training.max_epochs=3"),
        *("models.training.learning_rate=0.02", "setups=[identify_and_trust]", "explanations.methods=[random]"),
        *("explanations.num_pools=3", "explanations.pool_size=5", "improvement.budgets=[1]"),
        *(f"intervals.level={LEVEL}", "intervals.num_resamples=60", f"store={place}/store"),
    ]

    @cache
    def decoyed(**intervals):
        run_dir = place / "_".join(intervals.values())
        settings = [f"intervals.{name}={value}" for name, value in intervals.items()]
        return run_here(*common, *settings, f"run_dir={run_dir}")

    return decoyed


def test_a_fall_in_accuracy_has_the_interval_that_is_asked_for(decoyed):
    usual = decoyed(keyed_by="place")
    assert decoyed(interval="averaged").digests == usual.digests, "of means over texts it is the centred one"
    for method, interval in METHODS.items():
        row, values = fall(decoyed(interval=method))
        assert [row["fall_low"], row["fall_high"]] == pytest.approx(
            interval(row["fall"], values, correlated()).tolist()
        )


def fall(outcome):
    """And what it is in the resamples, which the table of draws has as far apart as means of so many texts are."""
    [(row, _, spread)] = [of for of in in_replicas(outcome, "decoys") if of[1] == "fall"]
    [drawn] = outcome.rows("draws", table="decoys", column="fall")
    num = json.loads(drawn["scheme"])["num_items"]
    return row, spread.mean() + (spread - spread.mean()) * np.sqrt((num - 1) / num)


def test_texts_are_drawn_by_what_they_say_where_that_is_asked_for(decoyed):
    (row, values), (again, others) = (fall(decoyed(keyed_by=by)) for by in ("place", "text"))
    assert row["fall"] == again["fall"]
    assert (values != others).any()
    [scheme] = {drawn["scheme"] for drawn in decoyed(keyed_by="text").rows("draws", table="decoys", column="fall")}
    assert json.loads(scheme)["keyed_by"] == "text"

"""The job `sentiment_posterior` on made-up reviews, whose words speak for a label by design: every published number is
what its sentence says, made anew from what the run before it made."""

import json
from collections import Counter
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
import polars as pl
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.metrics import log_loss, roc_auc_score

from tests.fixtures.tables import posterior
from tests.jobs.classifiers.rows import write_rows
from tests.jobs.sentiment.posterior.conftest import GROUPS, LABELLED, LEMMAS, SHARP, WITHOUT_VECTOR, vectors
from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.adversary.config import find_sources as find_adversary
from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.posterior import draws as sampling
from tiltmeter.jobs.sentiment.posterior.classifiers import load_network
from tiltmeter.jobs.sentiment.posterior.draws import load_prior
from tiltmeter.jobs.sentiment.posterior.job import find_sources
from tiltmeter.jobs.sentiment.posterior.page import doubts
from tiltmeter.jobs.sentiment.posterior.tables import Lexicon
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key, text_keys
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.psychophysics.forced_choice import curve
from tiltmeter.operators.sentiment.posterior import cues as on_cues
from tiltmeter.operators.sentiment.posterior import groups as on_groups
from tiltmeter.operators.sentiment.posterior.diagnostics import agreement, diagnosed
from tiltmeter.operators.sentiment.posterior.distances import mean_distances
from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE, reviews
from tiltmeter.operators.sentiment.posterior.networks import Target, scores
from tiltmeter.operators.sentiment.posterior.plane import principal_plane
from tiltmeter.operators.sentiment.posterior.samplers.exact import evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig, nuts_chain
from tiltmeter.operators.sentiment.posterior.training import ClassifierConfig, temperature, trained
from tiltmeter.operators.sentiment.posterior.vectors import Tokens, fold_vectors
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.tables import key_columns

SIGNS = {"positive": 1, "negative": -1}
GAPS = ("identity_gap", "identity_se")
POSTERIOR = ("seed", "prior", "label", "sampler")
MEASURES = ("distance_positive", "distance_negative", "contrast", "log_odds", "in_context")


class Made:
    """What a run made on its way, read from its store."""

    def __init__(self, run, seed, power=1, is_brought=False, labelled=LABELLED):
        self.run, self.seed, self.power, self.is_brought, self.labelled = run, seed, power, is_brought, labelled
        self.is_calibrated = power == 1
        self.rows, self.vocabulary = (run.part("cut texts", name) for name in ("rows", "vocabulary"))
        self.is_positive = self.rows["is_positive"].to_numpy()
        self.folds = self.rows["fold"].to_numpy()
        self.tokens = self.rows["tokens"].to_list()
        self.counts = self.vocabulary["count"].to_numpy().astype(float)
        self.words = self.vectors(-1)
        self.texts, self.num_words = self.means(-1)
        self.known = np.isfinite(self.texts[:, 0])
        self.networks = [load_network(run.store, self.table("calibrate", "model", number=seed)) for seed in range(2)]

    def table(self, stage, name, **config):
        [done] = self.run.done(stage, **config)
        return done.finished.tables[name]

    def array(self, ref):
        return matrix(self.run.store.read(ref.select("vector"))["vector"]).astype(float)

    def vectors(self, fold):
        """Of words, where a fold is left out."""
        table = ("read vectors", "vectors"), ("train vectors", "vectors")
        if self.is_brought:
            return self.array(self.table(*table[0]))
        return self.array(self.table(*table[1], fold=-1 if self.labelled is INVENTED else fold))

    def means(self, fold):
        """Of texts, NaN for one without a word that has a vector; and how many words have one."""
        vectors = self.vectors(fold)
        words = [[word for word in text if np.isfinite(vectors[word, 0])] for text in self.tokens]
        means = [vectors[text].mean(axis=0) if text else np.full(vectors.shape[1], np.nan) for text in words]
        return np.array(means), np.array(list(map(len, words)))

    def draws(self, seed, prior, label, sampler):
        """``[chains, draws, dimensions]``."""
        posterior = {"seed": seed, "prior": prior, "label": label, "sampler": sampler}
        return np.stack([self.array(done.finished.tables["vectors"]) for done in self.chains(posterior)])

    def chains(self, posterior):
        return self.run.done(f"draw {posterior['sampler']}", posterior=posterior)

    def moments(self, prior):
        if prior == "standard":
            return np.zeros(8), np.eye(8)
        if prior == "texts":
            return self.texts[self.known].mean(axis=0), ledoit_wolf(self.texts[self.known])[0]
        has = np.isfinite(self.words[:, 0])
        words, shares = self.words[has], self.counts[has] / self.counts[has].sum()
        mean = shares @ words
        covariance = np.cov(words.T, aweights=shares, bias=True)
        if prior == "bag":
            covariance *= self.texts[self.known].var(axis=0).sum() / np.trace(covariance)
        return mean, covariance

    @cached_property
    def resamples(self):
        """Of every number, by its table and what tells it from others."""
        return {
            (row["table"], *sorted(json.loads(row["key"]).items())): row["values"] for row in self.run.rows("draws")
        }

    def drawn(self, table, **key):
        return self.resamples[table, *sorted(key.items())]

    def before(self, prior, num=40_000):
        """Draws of a prior."""
        generator = np.random.default_rng(len(prior))
        if prior == "empirical":
            return self.texts[self.known]
        return generator.multivariate_normal(*self.moments(prior), size=num)

    def likelihood(self, seed, label, vectors):
        return (1 / (1 + np.exp(-SIGNS[label] * scores(self.networks[seed], vectors)))) ** self.power


@pytest.fixture(scope="module")
def usual(study):
    return Made(study, seed=3, is_brought=True)


@pytest.fixture(scope="module")
def sharpened(sharp):
    return Made(sharp, seed=8, power=2)


INVENTED = [(text, label == "positive") for text, label in reviews(120, 25, seed=5)]


@pytest.fixture(scope="module")
def unread(invented):
    """Reviews and a lexicon that are made up, and vectors that have seen the texts of every fold."""
    return Made(invented, seed=5, labelled=INVENTED)


@pytest.fixture(params=["usual", "sharpened", "unread"])
def made(request):
    return request.getfixturevalue(request.param)


@pytest.mark.long
def test_texts_are_those_of_the_file_in_words_of_the_vocabulary(made):
    counts = Counter(word for text, _ in made.labelled for word in text.split())
    kept = sorted((word for word in counts if counts[word] >= 2), key=lambda word: (-counts[word], word))
    assert made.vocabulary.rows() == [(word, counts[word]) for word in kept]
    assert list(zip(made.rows["text"], made.rows["is_positive"], strict=True)) == made.labelled
    first = 0 if made.labelled is INVENTED else 1  # has no label
    assert made.rows["row"].to_list() == [at + first for at in range(len(made.labelled))]
    words = [[kept[number] for number in text] for text in made.tokens]
    assert words == [[word for word in text.split() if word in kept] for text, _ in made.labelled]


def test_equal_texts_are_of_one_fold_and_folds_of_another_seed_are_others(usual, sharpened):
    [thrice] = [text for text, number in Counter(usual.rows["text"]).items() if number == 3]
    assert usual.rows.filter(text=thrice)["fold"].n_unique() == 1
    assert 0.4 < usual.folds.mean() < 0.6
    assert 0.4 < (usual.folds == sharpened.folds).mean() < 0.6


def test_vectors_are_those_of_the_file_or_trained_without_a_fold(usual, sharpened, unread):
    missing = usual.vocabulary["word"].to_numpy()[~np.isfinite(usual.words[:, 0])]
    assert set(missing) == set(WITHOUT_VECTOR) & set(usual.vocabulary["word"])
    for made, folds, more in (
        (sharpened, (-1, 0, 1), {"epochs": 10, "learning_rate": 0.1}),
        (unread, (-1,), {"epochs": 3}),
    ):
        assert {done.unit.config["fold"] for done in made.run.done("train vectors")} == {*folds}
        words, starts = [word for text in made.tokens for word in text], np.cumsum([0, *map(len, made.tokens)])
        tokens = Tokens(np.array(words), starts, made.folds)
        trainer = Word2VecConfig(dimensions=8, **more)
        for fold in folds:
            expected = fold_vectors(tokens, made.vocabulary["word"].to_list(), fold, made.seed, trainer)
            assert made.vectors(fold) == pytest.approx(expected, abs=1e-5, nan_ok=True)


@pytest.mark.long
def test_classifiers_learn_all_but_a_fold_and_are_judged_on_it(made):
    """And the one of all texts by what the others say of the texts that they have not seen."""
    activation = "relu" if made.is_brought else "softplus"
    config = ClassifierConfig(hidden=(6,), activation=activation, max_epochs=15, learning_rate=0.02)
    for seed in range(2):
        pooled = []
        for fold in (0, 1, -1):
            vectors = made.means(fold)[0]
            known = np.isfinite(vectors[:, 0])  # not where all words of a text are of its fold alone
            held_out, rest = known & (made.folds == fold), known & (made.folds != fold)
            network = trained(vectors[rest], made.is_positive[rest], config, made.seed, 1000 * seed + fold + 1)
            if fold >= 0:
                pooled.append((scores(network, vectors[held_out]), made.is_positive[held_out]))
                check_quality(made, seed, fold, *pooled[-1], 1.0)
        logits, labels = map(np.concatenate, zip(*pooled, strict=True))
        degrees = temperature(logits, labels) if made.is_calibrated else 1.0
        check_quality(made, seed, -1, logits, labels, degrees)
        assert scores(made.networks[seed], vectors[rest]) == pytest.approx(scores(network, vectors[rest]) / degrees)


def check_quality(made, seed, fold, logits, labels, degrees):
    [row] = made.run.rows("classifier", seed=seed, fold=fold)
    p = 1 / (1 + np.exp(-logits / degrees))
    bins = (p * 10).astype(int)
    gaps = [abs(sum(p[bins == place]) - sum(labels[bins == place])) for place in range(10)]
    expected = [roc_auc_score(labels, logits), log_loss(labels, p), sum(gaps) / len(p), degrees, len(labels)]
    names = ("auc", "log_loss", "calibration_error", "temperature", "num_texts")
    assert [row[name] for name in names] == pytest.approx(expected)


@pytest.mark.parametrize("prior", ["standard", "texts", "words", "bag"])
def test_priors_have_the_moments_of_what_they_are_called_after(made, prior):
    [done, *_] = made.run.done("priors")
    [(_, table)] = replace(done.unit.work, name=prior).tables(made.run.store)
    mean, *factor = matrix(table["vector"])
    expected_mean, expected = made.moments(prior)
    assert mean == pytest.approx(expected_mean, abs=1e-5)
    assert np.array(factor) @ np.array(factor).T == pytest.approx(expected, rel=1e-3, abs=1e-4 * np.trace(expected))


def test_evidence_is_the_mean_likelihood_of_the_prior(made):
    for row in made.run.rows("evidence", method="draws"):
        likelihood = made.likelihood(row["seed"], row["label"], made.before(row["prior"]))
        error = likelihood.std() / np.sqrt(20_000)
        assert row["standard_error"] == pytest.approx(error, rel=0.05)
        assert abs(row["probability"] - likelihood.mean()) < 4.5 * error * 2**0.5
    has = np.isfinite(made.words[:, 0])
    for row in made.run.rows("evidence", prior="unigram"):
        likelihood = made.likelihood(row["seed"], row["label"], made.words[has])
        assert row["probability"] == pytest.approx(np.average(likelihood, weights=made.counts[has]))
        assert (row["standard_error"], row["method"]) == (0.0, "enumeration")


@pytest.mark.long
def test_draws_are_those_of_prior_label_classifier_chain_and_seed(made):
    for row in made.run.rows("chains"):
        if row["sampler"] == "nuts" and not row["seed"] == row["chain"] == 1:
            continue  # one of either label will do
        key = {name: row[name] for name in POSTERIOR}
        [found] = made.run.done("priors", name=row["prior"])
        prior = load_prior(made.run.store, row["prior"], found.finished.tables["prior"])
        target = Target(made.networks[row["seed"]], SIGNS[row["label"]], power=made.power)
        about = document_key("{prior} {label} {sampler}".format(**row))
        generator = keyed_generator(made.seed, Stream.POSTERIOR_DRAW, about, row["seed"], row["chain"])
        if row["sampler"] == "exact":
            known = evidence(generator, prior, target, 20_000)
            [published] = made.run.rows("evidence", seed=row["seed"], prior=row["prior"], label=row["label"])
            assert [published[name] for name in known._fields] == pytest.approx([*known])
            draws = exact_draws(generator, prior, target, 1500, known.probability)
        else:
            chain = nuts_chain(generator, prior, target, NutsConfig(chains=1, warmup=200, draws=2500))
            expected = [chain.acceptance.mean(), chain.num_steps.mean(), 0, 0]
            names = ("acceptance", "steps", "num_diverged", "num_saturated")
            assert [row[name] for name in names] == pytest.approx(expected)
            draws = chain.draws
        assert made.draws(**key)[row["chain"]] == pytest.approx(draws, abs=1e-5)


def test_no_two_posteriors_and_no_two_chains_share_a_draw(made):
    """Of labels that share their proposals, many a draw is kept by both."""
    kept = [row for row in made.run.rows("chains") if row["prior"] != "empirical" and row["chain"] == 0]
    for prior in {row["prior"] for row in kept}:
        draws = [made.draws(**{name: row[name] for name in POSTERIOR}) for row in kept if row["prior"] == prior]
        first = np.concatenate([part[:, ::10].reshape(-1, 8) for part in draws])
        whole = np.concatenate([part.reshape(-1, 8) for part in draws])
        assert len(np.unique(first, axis=0)) == len(first)
        assert len(np.unique(whole, axis=0)) > 0.9 * len(whole)  # chains may stay


def test_chains_say_how_many_draws_are_far_from_texts(made):
    texts = made.texts[made.known]
    root = np.linalg.inv(np.linalg.cholesky(made.moments("texts")[1]))
    far = np.quantile(np.linalg.norm((texts - texts.mean(axis=0)) @ root.T, axis=1), 0.999)
    for row in made.run.rows("chains"):
        draws = made.draws(**{name: row[name] for name in POSTERIOR})[row["chain"]]
        beyond = np.linalg.norm((draws - texts.mean(axis=0)) @ root.T, axis=1) > far
        assert row["num_draws"] == len(draws) == {"exact": 1500, "nuts": 2500}[row["sampler"]]
        assert row["off_support"] == pytest.approx(beyond.mean(), abs=0.003)


@pytest.mark.long
def test_diagnostics_are_of_every_quantity_and_against_exact_draws(made):
    rows = made.run.rows("diagnostics")
    assert {row["quantity"] for row in rows} >= {"score", "norm", "projection 0", "projection 2"}
    for row in rows:
        quantity = {f"dimension {at}": lambda s, at=at: s[:, :, at] for at in range(8)}
        quantity |= {"score": partial(scores, made.networks[row["seed"]]), "norm": partial(np.linalg.norm, axis=2)}
        if (of := quantity.get(row["quantity"])) is None:
            continue
        posterior = {name: row[name] for name in POSTERIOR}
        values, exact = (of(made.draws(**posterior | {"sampler": name})) for name in (row["sampler"], "exact"))
        expected = diagnosed(values)
        assert [row[name] for name in expected._fields] == pytest.approx(list(expected))
        held = agreement(values, expected, exact.ravel())
        z = (None, None) if row["sampler"] == "exact" else pytest.approx(tuple(held))
        assert (row["status"], (row["z_exact"], row["ks_p"])) == ("ok", z)


# --- words ------------------------------------------------------------------------------------------------------------


def measured(made, prior, sampler, words):
    """By classifier, the numbers of words: ``[measures, words]``, their errors, and their gaps from the identity."""
    numbers = [made.vocabulary["word"].to_list().index(word) for word in words]
    vectors, has = made.words[numbers], np.isfinite(made.words[:, 0])
    for seed in range(2):
        distance = "angle" if made.power == 1 else "half_cosine"
        (positive, se), (negative, other_se) = (
            mean_distances(made.draws(seed, prior, label, sampler), vectors, distance) for label in SIGNS
        )
        network = made.networks[seed]
        likelihoods = (made.likelihood(seed, label, made.words[has]) for label in SIGNS)
        shares = [np.average(likelihood, weights=made.counts[has]) for likelihood in likelihoods]
        odds = made.power * scores(network, vectors) - np.log(np.divide(*shares))
        text, num = made.texts[made.known].mean(axis=0), made.num_words.mean()
        context = scores(network, text + (vectors - text) / num) - scores(network, text[np.newaxis])
        yield np.array([positive, negative, negative - positive, odds, context]), np.hypot(se, other_se)


def unit_names(words, units):
    return [
        " ".join(word for word, code in zip(words, units.codes, strict=True) if code == unit)
        for unit in range(units.num)
    ]


def rows_of(made):
    """Words with numbers, by prior and sampler."""
    keys = dict.fromkeys((row["prior"], row["sampler"]) for row in made.run.rows("words"))
    for prior, sampler in keys:
        yield prior, sampler, made.run.rows("words", prior=prior, sampler=sampler, status="ok")


def test_words_of_the_lexicon_of_groups_and_the_frequent_ones_are_asked_about(usual, sharpened):
    listed = {*POSITIVE, *NEGATIVE, "war", "enviousness"}
    listed |= {word for sides in GROUPS.values() for words in sides.values() for word in words}
    frequent = [word for word, count in usual.vocabulary.rows() if count >= 61]
    assert {"nancy", "dialogue", "journey"} == set(frequent) - listed
    for made, further in ((usual, frequent), (sharpened, frequent[:2])):
        for prior in {row["prior"] for row in made.run.rows("words")}:
            rows = {row["word"]: row for row in made.run.rows("words", prior=prior, sampler="exact")}
            assert rows.keys() == listed | set(further)
            without = [tuple(rows[word][name] for name in ("status", "polarity")) for word in ("war", "enviousness")]
            assert without == [("both_sides", None), ("no_vector", "negative")]


def test_words_have_their_distances_to_the_draws_and_what_needs_none(made):
    for prior, sampler, rows in rows_of(made):
        by_seed, errors = zip(*measured(made, prior, sampler, [row["word"] for row in rows]), strict=True)
        values = np.array([[row[name] for row in rows] for name in MEASURES])
        assert values == pytest.approx(np.mean(by_seed, axis=0), abs=1e-6)
        errors = np.sqrt(np.square(errors).sum(axis=0)) / len(by_seed)
        assert [row["contrast_se"] for row in rows] == pytest.approx(errors, rel=1e-4)
        spread = np.std([part[2] for part in by_seed], axis=0, ddof=1)
        assert [row["contrast_sd"] for row in rows] == pytest.approx(spread, abs=1e-6)
        counts = dict(made.vocabulary.rows())
        assert [row["count"] for row in rows] == [counts[row["word"]] for row in rows]


@pytest.mark.once("sentiment_posterior")
def test_the_law_of_total_expectation_holds(usual, sharpened):
    words = usual.vocabulary["word"].to_list()
    for prior, sampler, rows in rows_of(usual):
        assert max(row["identity_z"] for row in rows) < 4.5
        by_seed = []
        for seed in range(2):
            posterior = {"seed": seed, "prior": prior, "label": "positive", "sampler": sampler}
            [done] = usual.run.done("measure words", posterior=posterior)
            table = usual.run.store.read(done.finished.tables["distances"]).to_pydict()
            by_label = {row["label"]: row for row in usual.run.rows("evidence", seed=seed, prior=prior)}
            share, error = (by_label["positive"][name] for name in ("probability", "standard_error"))
            vectors = usual.words[table["number"]]
            (one, one_se), (other, other_se) = (
                mean_distances(usual.draws(seed, prior, label, sampler), vectors) for label in SIGNS
            )
            assert 0.55 < share < 0.95 or prior == "standard"
            generator = keyed_generator(3, Stream.POSTERIOR_DRAW, document_key(f"{prior} prior"), seed)
            draws = usual.draws(seed, prior, "positive", sampler)
            [found] = usual.run.done("priors", name=prior)
            known = load_prior(usual.run.store, prior, found.finished.tables["prior"])
            before = mean_distances(known.draws(generator, draws.shape[0] * draws.shape[1])[np.newaxis], vectors)
            gap = share * one + (1 - share) * other - before.mean
            parts = share * one_se, (1 - share) * other_se, (one - other) * error, before.standard_error
            se = np.sqrt(np.square(parts).sum(axis=0))
            assert table["identity_gap"] == pytest.approx(gap, abs=1e-6), "of the evidence of this classifier"
            assert table["identity_se"] == pytest.approx(se, rel=1e-4)
            by_seed.append(dict(zip(table["number"], np.abs(np.divide(*map(table.get, GAPS))), strict=True)))
        expected = [max(found[words.index(row["word"])] for found in by_seed) for row in rows]
        assert [row["identity_z"] for row in rows] == pytest.approx(expected)
    assert {row["identity_z"] for *_, rows in rows_of(sharpened) for row in rows} == {None}


@pytest.mark.long
def test_a_lexicon_is_held_against_the_words_of_every_classifier(made):
    polarity = dict.fromkeys(POSITIVE, True) | dict.fromkeys(NEGATIVE, False)
    for prior, sampler, rows in rows_of(made):
        words = [row["word"] for row in rows if row["word"] in polarity]
        is_positive, units = np.array([polarity[word] for word in words]), on_groups.lemma_units(words, LEMMAS)
        by_seed = [values for values, _ in measured(made, prior, sampler, words)]
        names = unit_names(words, units)
        drawn = resampled_counts(
            np.zeros(units.num, int), made.seed, document_key("lexicon"), 200, keys=text_keys(names)
        )
        counts = np.concatenate(list(drawn))[:, units.codes]
        for seed, values in [*enumerate(by_seed), (-1, np.mean(by_seed, axis=0))]:
            for name, measure in zip(MEASURES, values, strict=True):
                [row] = made.run.rows("lexicon", prior=prior, sampler=sampler, seed=seed, measure=name)
                expected = on_groups.lexicon_agreement(measure, is_positive, units, 0.9)
                assert [row[column] for column in expected._fields] == pytest.approx(list(expected), abs=1e-4)
                assert row["num_units"] == units.num
                draws = on_groups.resampled_agreement(measure, is_positive, counts, units)
                key = {"seed": seed, "prior": prior, "sampler": sampler, "measure": name}
                assert made.drawn("lexicon", **key) == pytest.approx(draws, abs=1e-3)


@pytest.mark.long
def test_groups_are_held_against_each_other_by_units_of_words(made):
    counts = dict(made.vocabulary.rows())
    for prior, sampler, rows in rows_of(made):
        places = {row["word"]: place for place, row in enumerate(rows)}
        by_seed = np.array([values for values, _ in measured(made, prior, sampler, places)])
        frequency = np.array([counts[word] for word in places], dtype=float)
        for name, sides in GROUPS.items():
            about = document_key(f"groups {name}")
            known = [[word for word in words if word in places] for words in sides.values()]
            units = [on_groups.lemma_units(words, LEMMAS) for words in known]
            names = [of for words, unit in zip(known, units, strict=True) for of in unit_names(words, unit)]
            strata = np.repeat([0, 1], [unit.num for unit in units])
            drawn = np.concatenate(list(resampled_counts(strata, made.seed, about, 200, keys=text_keys(names))))
            at = [[places[word] for word in words] for words in known]

            def by_unit(part, at=at, units=units):
                return [on_groups.unit_means(part[these], of) for these, of in zip(at, units, strict=True)]

            for number in (0, 2, 3, 4):
                for by_frequency in (False, True):
                    values = by_seed[:, number]
                    mean = values.mean(axis=0)
                    if by_frequency:
                        mean, *values = (on_groups.without_frequency(part, frequency) for part in (mean, *values))
                    first, second = by_unit(mean)
                    measure = MEASURES[number] + ", by frequency" * by_frequency
                    key = {"comparison": name, "prior": prior, "sampler": sampler, "measure": measure}
                    [row] = made.run.rows("groups", **key)
                    expected = on_groups.group_difference(first, second, level=0.9, seed=made.seed, about=about)
                    numbers = [row[f"difference{end}"] for end in ("", "_low", "_high")]
                    assert numbers == pytest.approx([expected.value, expected.low, expected.high], abs=1e-5)
                    assert row["p"] == pytest.approx(expected.p, abs=0.002)
                    assert (row["first"], row["num_first"], row["num_second"]) == ("female", len(first), len(second))
                    draws = on_groups.resampled_difference(first, second, drawn)
                    assert made.drawn("groups", **key) == pytest.approx(draws, abs=1e-5)
                    gaps = [np.subtract(*(side.mean() for side in by_unit(part))) for part in values]
                    assert row["seed_sd"] == pytest.approx(np.std(gaps, ddof=1), abs=1e-6)


# --- what draws look like ---------------------------------------------------------------------------------------------


def test_the_picture_has_texts_and_exact_draws_in_the_plane_of_texts(made):
    texts, parts = made.texts[made.known], {}
    plane = principal_plane(texts)
    for row in made.run.rows("projection"):
        parts.setdefault((row["prior"], row["label"], row["kind"]), []).append(
            [row[name] for name in ("x", "y", "norm")]
        )
    for (prior, label, kind), points in parts.items():
        assert (prior == "") == (kind == "text")
        of_label = texts[made.is_positive[made.known] == (label == "positive")]
        vectors = of_label if kind == "text" else made.draws(0, prior, label, "exact")[0]
        vectors = vectors[np.linspace(0, len(vectors) - 1, min(200, len(vectors))).astype(int)]
        expected = np.column_stack([plane.places(vectors), np.linalg.norm(vectors, axis=1)])
        assert np.array(points) == pytest.approx(expected, abs=1e-4)


def test_cues_move_the_texts_near_the_border_of_every_classifier(made):
    texts, num_words = made.texts[made.known], made.num_words[made.known]
    places = made.vocabulary["word"].to_list()
    borders = [on_cues.border_texts(network, texts, 50) for network in made.networks]
    for row in made.run.rows("cues"):
        if row["status"] in ("no_vector", "no_border"):
            continue
        one, other = (made.words[places.index(row[name])] for name in ("first", "second"))
        found = [
            on_cues.cue_responses(network, texts[border], num_words[border], one, other)
            for network, border in zip(made.networks, borders, strict=True)
        ]
        assert row["share_towards_first"] == pytest.approx([(part.steps > 0).mean() for part in found])
        shares = [np.concatenate([getattr(part, side) for part in found]).mean() for side in ("first", "second")]
        assert [row["positive_first"], row["positive_second"]] == pytest.approx(shares)
        assert row["num_texts"] == sum(map(len, borders))
        inferred = on_cues.effect(found, borders, 0.9)
        expected = [inferred.value, inferred.low, inferred.high, None if np.isnan(inferred.p) else inferred.p]
        assert [row[name] for name in ("effect", "effect_low", "effect_high", "p")] == pytest.approx(expected)
        if row["status"] == "directions_differ":
            continue
        sign, rows = 1 if row["share_towards_first"][0] > 0.5 else -1, np.unique(np.concatenate(borders))
        flips = np.full((len(rows), 2), np.nan)
        for at, (part, border) in enumerate(zip(found, borders, strict=True)):
            flips[np.searchsorted(rows, border), at] = np.where(sign * part.steps > 0, part.flips, np.nan)
        known, inferred = np.sort(flips[np.isfinite(flips)]), on_cues.middle(flips, 0.9)
        assert (row["num_flips"], row["num_outside"]) == (len(known), ((known < 0) | (known > 1)).sum())
        middle = (len(known) + 1) // 2 - 1
        pse = known[middle]
        if row["status"] == "outside":
            assert row["pse_extrapolated"] == pytest.approx(pse)
            continue
        expected = [pse, inferred.low, inferred.high, 2 * np.sort(np.abs(known - pse))[middle]]
        assert [row[name] for name in ("pse", "pse_low", "pse_high", "jnd")] == pytest.approx(expected)
        cues = {"first": row["first"], "second": row["second"]}
        generator = keyed_generator(made.seed, Stream.RESAMPLING, document_key(f"cues {' '.join(cues.values())}"))
        drawn = np.concatenate([curve(block).pse for block in on_cues.resampled_flips(flips, generator, 200)])
        assert made.drawn("cues", **cues) == pytest.approx(drawn)


# --- whole runs ----------------------------------------------------------------------------------------------------


def test_what_was_planted_is_found(study):
    """Under every prior by the contrast, without draws too; the distance to one posterior alone under the sphere."""
    for prior in ("standard", "texts", "empirical"):
        rows = {row["measure"]: row for row in study.rows("lexicon", prior=prior, sampler="exact", seed=-1)}
        assert rows["contrast"]["low"] > 0.3
        assert rows["log_odds"]["low"] > 0.3
    [sphere] = study.rows("lexicon", prior="standard", sampler="exact", seed=-1, measure="distance_positive")
    assert sphere["high"] < -0.3
    assert sphere["auc"] < 0.35


def test_groups_are_corrected_over_all_comparisons_and_priors_of_a_sampler(study, sharp):
    for run, sampler, priors in ((study, "exact", 3), (sharp, "exact", 1), (sharp, "nuts", 1)):
        for measure in ("contrast", "log_odds, by frequency"):
            rows = run.rows("groups", sampler=sampler, measure=measure)
            assert {row["num_tests"] for row in rows} == {3 * priors} == {len(rows)}
            expected = holm(np.array([row["p"] for row in rows]))
            assert [row["p_holm"] for row in rows] == pytest.approx(expected.tolist())


def test_few_words_of_a_group_have_no_p_value(run_here, small, study, folder):
    few = ["groups.names.female=[amy, joan, lisa]", "+lemmas.nurse=teacher", "priors=[texts]"]
    run = run_here(*small, *few, *vectors(folder, "glove"), f"store={folder}/store", f"run_dir={folder}/few")
    [row] = run.rows("groups", comparison="names", measure="contrast")
    assert (row["p"], row["p_holm"], row["difference_low"], row["status"]) == (None, None, None, "too_few_words")
    assert row["reason"].endswith("and 4 are needed")
    assert row["difference"] is not None
    [jobs] = run.rows("groups", comparison="occupations", measure="contrast")
    [before] = study.rows("groups", comparison="occupations", measure="contrast", prior="texts", sampler="exact")
    assert (jobs["num_first"], before["num_first"]) == (4, 5)
    assert jobs["num_tests"] == 2


def test_cues_without_a_vector_or_a_common_direction_say_so(study):
    rows = {row["first"]: row for row in study.rows("cues")}
    statuses = {"she": "no_vector", "terrible": "ok", "woman": "ok", "annoying": "ok", "journey": "directions_differ"}
    assert {first: row["status"] for first, row in rows.items()} == statuses
    assert rows["terrible"]["effect"] < 0 < rows["woman"]["effect"]
    apart = rows["journey"]
    assert (apart["pse"], apart["pse_extrapolated"]) == (None, None)
    one, other = apart["share_towards_first"]  # of 50 texts each
    assert 0.05 < other < one
    assert apart["reason"].startswith(f"{one:.0%} and {other:.0%} of the texts, by classifier, move towards journey")


def test_numbers_with_an_interval_leave_draws_and_no_others_do(study):
    named = {("lexicon", "pearson"): "low", ("groups", "difference"): "difference_low", ("cues", "pse"): "pse_low"}
    assert {(row["table"], row["column"]) for row in study.rows("draws")} == named.keys()
    for (table, _), low in named.items():
        drawn = study.rows("draws", table=table)
        keys = key_columns(study.table(table).schema)
        kept = [{key: row[key] for key in keys} for row in study.rows(table) if row[low] is not None]
        assert [json.loads(row["key"]) for row in drawn] == kept
        assert {len(row["values"]) for row in drawn} == {MOST_DRAWS}


def test_a_night_with_a_word_less_in_its_lexicon_is_paired_with_the_one_before(run_here, study, small, folder):
    """And what differs is far surer than two lexicons of their own would have it; of cues there are other texts."""
    entries = [(word, "positive") for word in POSITIVE[1:]] + [(word, "negative") for word in NEGATIVE]
    path = write_rows(folder / "fewer.csv", [["word", "polarity"], *entries])
    more = [f"lexicon.path={path}", "job.level=0.8", "cues.texts=40", *vectors(folder, "keyedvectors")]
    night = run_here(*small, *more, f"store={folder}/store", f"run_dir={folder}/fewer")
    rows = Comparison(past_run(study.path), past_run(night.path)).differences().to_pylist()
    keys = key_columns(Lexicon.schema())
    widths = {json.dumps({key: row[key] for key in keys}): row["high"] - row["low"] for row in study.rows("lexicon")}
    judged = {row["key"]: row for row in rows if row["table"] == "lexicon"}
    assert judged.keys() == widths.keys()
    assert {row["paired_by"] for row in judged.values()} == {"items"}
    ratios = [(row["high"] - row["low"]) / widths[key] for key, row in judged.items() if widths[key] > 0.05]
    assert np.median(ratios) < 0.6, "of 95 by 90 %, where a correlation is not nearly 1 but for a word"
    groups = [row for row in rows if row["table"] == "groups" and row["num_draws"]]
    assert len(groups) == len(study.rows("draws", table="groups"))
    groups = [row for row in groups if "by frequency" not in row["key"]]  # which goes by all words that are asked about
    assert {(row["paired_by"], row["difference"], row["p"]) for row in groups} == {("items", 0.0, 1.0)}
    cues = [row for row in rows if row["table"] == "cues" and row["column"] == "pse" and row["num_draws"]]
    assert {(cue["paired_by"], cue["num_draws"]) for cue in cues} == {("unpaired", MOST_DRAWS)}


def test_nuts_agrees_with_exact_draws(sharp):
    assert (sharp.num_done("train vectors"), sharp.num_done("draw nuts")) == (3, 8)
    rows = sharp.rows("diagnostics", sampler="nuts")
    assert max(abs(row["z_exact"]) for row in rows) < 4.5
    assert {row["num_diverged"] for row in sharp.rows("chains", sampler="nuts")} == {0}
    assert {row["status"] for row in sharp.rows("chains")} == {"ok"}


def test_without_its_packages_nuts_says_what_to_install_and_exact_draws_run(
    run_here, small, study, folder, monkeypatch
):
    monkeypatch.setattr(sampling.nuts, "PACKAGES", ("jax", "no_such_package"))
    assert "no_such_package" not in sampling.package_versions()
    settings = ["samplers=[exact, nuts]", "priors=[texts, empirical]", *vectors(folder, "word2vec_text")]
    run = run_here(*small, *settings, f"store={folder}/store", f"run_dir={folder}/without")
    rows = run.rows("chains", sampler="nuts")
    assert {(row["prior"], row["seed"], row["status"]) for row in rows} == {("texts", 0, "not_installed")}
    assert all("no_such_package: pip install 'tiltmeter[posterior]'" in row["reason"] for row in rows)
    assert {row["sampler"] for row in run.rows("words")} == {"exact"}
    assert run.stage("draw exact")["num_reused"] == 8
    assert "pip install" in (run.path / "report.html").read_text()


def test_chains_that_have_not_converged_mark_whatever_is_made_of_them(run_here, small, study, folder):
    settings = ["samplers=[exact, nuts]", "nuts.chains=2", "nuts.draws=8", "nuts.warmup=20", "priors=[texts]"]
    settings += ["data.limit=150", "exact.draws=200", *vectors(folder, "parquet")]
    run = run_here(*small, *settings, f"store={folder}/store", f"run_dir={folder}/short")
    assert run.part("cut texts", "rows").height == 149, "one of them has no text"
    for table in ("lexicon", "groups"):
        for row in run.rows(table):
            is_short = row["sampler"] == "nuts" and row["measure"].startswith(("distance", "contrast"))
            assert (row["status"] == "not_converged") == is_short
            assert ("effective draws are fewer than 400" in row["reason"]) == is_short
    rows = run.rows("words", sampler="nuts")
    assert {row["status"] for row in rows} == {"not_converged", "both_sides", "no_vector"}
    assert {row["contrast_sd"] for row in rows} == {None}, "chains are of one classifier, which has no spread"


ONE_SIDED = [("bad", "positive", "negative"), ("lovely", "negative", "positive")]


@pytest.mark.parametrize(("known", "side", "other"), ONE_SIDED)
def test_a_lexicon_without_a_word_of_the_texts_is_refused_before_vectors_are_trained(
    run_here, trained, tmp_path, known, side, other
):
    """A word that it has on both sides is none of either."""
    entries = [("klasse", side), (known, other), ("war", "positive"), ("war", "negative")]
    path = write_rows(tmp_path / "lexicon.csv", [["word", "polarity"], *entries])
    with pytest.raises(InputError, match=rf"none of the 1 {side} words \(klasse\)"):
        run_here(*trained, f"lexicon.path={path}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    stages = json.loads((tmp_path / "run/run.json").read_text())["stages"]
    assert [stage["name"] for stage in stages] == ["read texts", "cut texts"]


@pytest.mark.parametrize(
    ("form", "message"), [("auto", "none of the words of the texts"), ("parquet", "vectors.txt: .*[Pp]arquet")]
)
def test_vectors_of_another_language_or_format_are_refused(run_here, small, tmp_path, form, message):
    (tmp_path / "vectors.txt").write_text("hund 1 2\nkatze 2 1\n")
    more = [f"vectors.path={tmp_path}/vectors.txt", f"vectors.format={form}"]
    with pytest.raises(UnitsFailed, match=message):
        run_here(*small, *more, f"store={tmp_path}/store")


# --- what is refused before any work --------------------------------------------------------------------------------

SIDES = ("positive", "negative")
FIND = {"sentiment_posterior": find_sources, "gender_adversary": find_adversary}
ENTRIES = (("good", "positive"), ("bad", "negative"))


@pytest.fixture
def found(configured, tmp_path):
    """What there is of texts with these labels and a lexicon with these entries."""

    def found(labels, entries, *more):
        texts = write_rows(
            tmp_path / "texts.csv", [("text", "label"), *((f"film {at}", of) for at, of in enumerate(labels))]
        )
        lexicon = write_rows(tmp_path / "lexicon.csv", [("word", "polarity"), *entries])
        settings = [f"data.path={texts}", f"lexicon.path={lexicon}", *more]
        return find_sources(configured("job=sentiment_posterior", *settings))

    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("labels", "entries", "more", "message"),
    [
        (("positive",), ENTRIES, [], r"have 1 labels \('positive'\), and must have two"),
        ((" positive ", "positive", ""), ENTRIES, [], "have 1 labels"),
        (("a", "b", "c"), ENTRIES, [], "have 3 labels"),
        (("a", "b"), ENTRIES, [], "data.positive: neither of the labels 'a' and 'b' says"),
        (SIDES, ENTRIES, ["data.positive=good"], r"data\.positive=good: is not a label"),
        (SIDES, [("bad", "worse")], [], "none of positive, negative .*line 2, column 'polarity': 'worse'"),
        (SIDES, ENTRIES[:1], [], r"lexicon\.polarity: .*lexicon\.csv has no negative word"),
    ],
)
def test_files_that_ask_nothing_are_refused_before_anything_is_started(found, labels, entries, more, message):
    with pytest.raises(InputError, match=message):
        found(labels, entries, *more)


@pytest.mark.parametrize("job", ["sentiment_posterior", "gender_adversary"])
def test_lists_are_no_labels(configured, tmp_path, job):
    path = tmp_path / "texts.parquet"
    pl.DataFrame({"text": ["a", "b"], "label": [[1], [0]]}).write_parquet(path)
    settings = {"sentiment_posterior": "lexicon.path=none.csv", "gender_adversary": "max_texts=9"}
    with pytest.raises(InputError, match=r"data\.path: .* has lists or structs in column 'label'"):
        FIND[job](configured(f"job={job}", f"data.path={path}", settings[job]))


def test_a_word_that_only_the_texts_of_a_fold_have_has_no_vector_without_them():
    """The last word is in the second fold alone; of all texts, each has one."""
    words = np.array([0, 1, 2, 0, 1, 2, 0, 1, 3], dtype=np.int64)
    tokens = Tokens(words, np.array([0, 3, 6, 9]), np.array([0, 0, 1]))
    trainer = Word2VecConfig(dimensions=4, epochs=1)
    for fold, num_known in ((1, 3), (-1, 4)):
        vectors = fold_vectors(tokens, ["a", "b", "c", "d"], fold, 0, trainer)
        assert np.isfinite(vectors).all(axis=1).tolist() == [place < num_known for place in range(4)]
    with pytest.raises(ValueError, match=r"vectors\.min_count: no text has a word"):
        fold_vectors(tokens._replace(folds=np.ones(3, np.int64)), ["a", "b", "c", "d"], 1, 0, trainer)


# --- the page -------------------------------------------------------------------------------------------------------


def told(**changed):
    frames = {name: pl.DataFrame(pl.from_arrow(table)) for name, table in posterior.studied().items()} | changed
    return " ".join(doubts(Frames({name: frame.lazy() for name, frame in frames.items()}), made_up=False))


def test_chains_that_have_no_exact_draws_beside_them_say_so():
    compared = pl.DataFrame(pl.from_arrow(posterior.studied()["diagnostics"])).with_columns(status=pl.lit("ok"))
    assert "no mean of 8 differs from that of exact draws by more than 1.3" in told(diagnostics=compared)
    alone = compared.with_columns(z_exact=pl.lit(None, pl.Float64))
    assert "passed the diagnostics, and there are no exact draws beside them." in told(diagnostics=alone)


def test_words_of_the_lexicon_that_are_left_out_are_counted():
    entries = [("good", "positive", "ok"), ("war", None, "both_sides"), ("sad", "negative", "no_vector")]
    rows = [
        {"prior": prior, "word": word, "polarity": polarity, "status": status}
        for prior in ("standard", "texts")
        for word, polarity, status in [*entries, ("film", None, "ok"), ("mother", None, "no_vector")]
    ]
    sentence = "Of 3 words of the lexicon, 1 on both of its sides and 1 without a vector are left out."
    assert sentence in told(words=pl.DataFrame(rows))


# --- layouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_layout_changes_no_table(trained, run_job, tmp_path):
    runs = [run_job(*trained, *SHARP, f"cluster.num_cpus={num}", f"store={tmp_path}/{num}") for num in (1, 2, 4)]
    assert {run.num_done("draw nuts") for run in runs} == {8}
    assert runs[0].digests == runs[1].digests == runs[2].digests


@pytest.mark.slow
def test_a_kill_at_a_random_moment_changes_no_table(run_job, small, tiltmeter, outcome_of, tmp_path):
    undisturbed = run_job(*small, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    for victim in ("driver", "worker"):
        (tmp_path / victim).mkdir()
        survive(tiltmeter, outcome_of, tmp_path / victim, small, victim, undisturbed)

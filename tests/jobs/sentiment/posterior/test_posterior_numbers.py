"""Every published number is what its sentence says, made anew from what the run before it made."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from sklearn.metrics import log_loss, roc_auc_score

from tests.jobs.sentiment.posterior.conftest import GROUPS, LABELLED, LEMMAS, WITHOUT_VECTOR
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.sentiment.posterior.classifiers import load_network
from tiltmeter.jobs.sentiment.posterior.draws import load_prior
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key, text_keys
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.psychophysics.forced_choice import curve
from tiltmeter.operators.sentiment.posterior import cues as on_cues
from tiltmeter.operators.sentiment.posterior import groups as on_groups
from tiltmeter.operators.sentiment.posterior.diagnostics import agreement, bfmi, diagnosed
from tiltmeter.operators.sentiment.posterior.distances import mean_distances
from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE, reviews
from tiltmeter.operators.sentiment.posterior.networks import Target, scores
from tiltmeter.operators.sentiment.posterior.plane import principal_plane
from tiltmeter.operators.sentiment.posterior.samplers.exact import evidence, exact_draws
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig, nuts_chain
from tiltmeter.operators.sentiment.posterior.training import ClassifierConfig, temperature, trained
from tiltmeter.operators.sentiment.posterior.vectors import Tokens, fold_vectors
from tiltmeter.operators.statistics.resampling import resampled_counts

SIGNS = {"positive": 1, "negative": -1}
GAPS = ("identity_gap", "identity_se")
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

    def drawn(self, table, **key):
        """Of a number, in resamples."""
        [values] = [row["values"] for row in self.run.rows("draws", table=table) if json.loads(row["key"]) == key]
        return values

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


def test_draws_are_those_of_prior_label_classifier_chain_and_seed(made):
    for row in made.run.rows("chains"):
        if row["sampler"] == "nuts" and not row["seed"] == row["chain"] == 1:
            continue  # one of either label will do
        key = {name: row[name] for name in ("seed", "prior", "label", "sampler")}
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
        draws = [
            made.draws(**{name: row[name] for name in ("seed", "prior", "label", "sampler")})
            for row in kept
            if row["prior"] == prior
        ]
        first = np.concatenate([part[:, ::10].reshape(-1, 8) for part in draws])
        whole = np.concatenate([part.reshape(-1, 8) for part in draws])
        assert len(np.unique(first, axis=0)) == len(first)
        assert len(np.unique(whole, axis=0)) > 0.9 * len(whole)  # chains may stay


def test_chains_say_what_it_took_and_how_far_they_are_from_texts(made):
    texts = made.texts[made.known]
    root = np.linalg.inv(np.linalg.cholesky(made.moments("texts")[1]))
    usual, quantile = texts.mean(axis=0), 0.999
    far = np.quantile(np.linalg.norm((texts - usual) @ root.T, axis=1), quantile)
    for row in made.run.rows("chains"):
        posterior = {name: row[name] for name in ("seed", "prior", "label", "sampler")}
        draws = made.draws(**posterior)[row["chain"]]
        assert row["num_draws"] == len(draws) == {"exact": 1500, "nuts": 2500}[row["sampler"]]
        beyond = np.linalg.norm((draws - usual) @ root.T, axis=1) > far
        assert row["off_support"] == pytest.approx(beyond.mean(), abs=0.003)
        energies = made.run.store.read(made.chains(posterior)[row["chain"]].finished.tables["vectors"])["energy"]
        if row["sampler"] == "exact":
            [evidence] = made.run.rows("evidence", seed=row["seed"], prior=row["prior"], label=row["label"])
            assert row["acceptance"] == evidence["probability"] == pytest.approx(1 / row["steps"])
        else:
            assert row["bfmi"] == pytest.approx(bfmi(np.array([energies]))[0])
            assert row["bfmi"] > 0.5


def test_diagnostics_are_of_every_quantity_and_against_exact_draws(made):
    rows = made.run.rows("diagnostics")
    assert {row["quantity"] for row in rows} >= {"score", "norm", "projection 0", "projection 2"}
    for row in rows:
        quantity = {
            "score": partial(scores, made.networks[row["seed"]]),
            "norm": lambda s: np.linalg.norm(s, axis=2),
        }
        quantity |= {f"dimension {at}": lambda s, at=at: s[:, :, at] for at in range(8)}
        if row["quantity"] not in quantity:
            continue
        posterior = {name: row[name] for name in ("seed", "prior", "label", "sampler")}
        values = quantity[row["quantity"]](made.draws(**posterior))
        expected = diagnosed(values)
        assert [row[name] for name in expected._fields] == pytest.approx(list(expected))
        held = agreement(
            values, expected, quantity[row["quantity"]](made.draws(**posterior | {"sampler": "exact"})).ravel()
        )
        assert row["status"] == "ok"
        z = (None, None) if row["sampler"] == "exact" else pytest.approx(tuple(held))
        assert (row["z_exact"], row["ks_p"]) == z


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
            rows = made.run.rows("words", prior=prior, sampler="exact")
            assert {row["word"] for row in rows} == listed | set(further)


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
    texts = made.texts[made.known]
    plane = principal_plane(texts)
    rows = made.run.rows("projection")
    for prior, label, kind in dict.fromkeys((row["prior"], row["label"], row["kind"]) for row in rows):
        points = [row for row in rows if (row["prior"], row["label"], row["kind"]) == (prior, label, kind)]
        of_label = texts[made.is_positive[made.known] == (label == "positive")]
        vectors = of_label if kind == "text" else made.draws(0, prior, label, "exact")[0]
        vectors = vectors[np.linspace(0, len(vectors) - 1, min(200, len(vectors))).astype(int)]
        expected = np.column_stack([plane.places(vectors), np.linalg.norm(vectors, axis=1)])
        assert np.array([[row[name] for name in ("x", "y", "norm")] for row in points]) == pytest.approx(
            expected, abs=1e-4
        )
    assert {(row["prior"] == "") == (row["kind"] == "text") for row in rows} == {True}


def test_cues_move_the_texts_near_the_border_of_every_classifier(made):
    texts, num_words = made.texts[made.known], made.num_words[made.known]
    places = made.vocabulary["word"].to_list()
    for row in made.run.rows("cues"):
        if row["status"] in ("no_vector", "no_border"):
            continue
        one, other = (made.words[places.index(row[name])] for name in ("first", "second"))
        borders = [on_cues.border_texts(network, texts, 50) for network in made.networks]
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
        sign = 1 if row["share_towards_first"][0] > 0.5 else -1
        rows = np.unique(np.concatenate(borders))
        flips = np.full((len(rows), 2), np.nan)
        for at, (part, border) in enumerate(zip(found, borders, strict=True)):
            flips[np.searchsorted(rows, border), at] = np.where(sign * part.steps > 0, part.flips, np.nan)
        known = np.sort(flips[np.isfinite(flips)])
        assert (row["num_flips"], row["num_outside"]) == (len(known), ((known < 0) | (known > 1)).sum())
        pse = known[(len(known) + 1) // 2 - 1]
        if row["status"] == "outside":
            assert row["pse_extrapolated"] == pytest.approx(pse)
            continue
        inferred = on_cues.middle(flips, 0.9)
        ends = [row[name] for name in ("pse", "pse_low", "pse_high", "jnd")]
        assert ends == pytest.approx(
            [pse, inferred.low, inferred.high, 2 * np.sort(np.abs(known - pse))[(len(known) + 1) // 2 - 1]]
        )
        cues = {"first": row["first"], "second": row["second"]}
        generator = keyed_generator(made.seed, Stream.RESAMPLING, document_key(f"cues {' '.join(cues.values())}"))
        drawn = np.concatenate([curve(block).pse for block in on_cues.resampled_flips(flips, generator, 200)])
        assert made.drawn("cues", **cues) == pytest.approx(drawn)

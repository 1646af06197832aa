"""The tables of `sentiment_posterior`."""

from tiltmeter.jobs.runtime.table import Estimate, Int32, Table, doc, key, schemas

MEAN = -1
"""In the place of a classifier's number: the mean over all."""

_SEED = "number of the classifier, from 0"
_PRIOR = "'standard', 'texts', 'words', 'bag' or 'empirical'"
_LABEL = "'positive' or 'negative'"
_SAMPLER = "'exact' or 'nuts'"


class Asked(Table, name="words", public=False):
    """Words that are asked about; with ``number``, their place in the vocabulary, or -1 for one that is not in it."""

    word: str = key("the word")
    number: int = doc("its place in the vocabulary; -1: it has none")
    count: int = doc("occurrences in the texts", "words")
    polarity: str | None = doc("'positive' or 'negative' by the lexicon; null if it is not in it")


class ClassifierQuality(Table, name="classifier", has_status=False):
    seed: Int32 = key(_SEED, heading="classifier")
    fold: Int32 = key("part of the texts that it has not seen; -1: all parts together")
    auc: float | None = doc("area under the ROC curve of the texts that it has not seen", heading="AUC")
    log_loss: float | None = doc("mean of -log p(label) over them", "nats")
    calibration_error: float | None = doc("mean difference of p(+) and the share of positive ones, over ten bins")
    temperature: float = doc("T of sigma(f / T); 1: as trained", digits=2)
    num_texts: int = doc("texts that it has not seen", "texts")


class Evidence(Table, name="evidence", has_status=False):
    seed: Int32 = key(_SEED)
    prior: str = key("of the vectors; 'unigram': words by their frequencies")
    label: str = key(_LABEL)
    probability: float = doc("P(y), the mean of p(y | s)^k over the prior")
    standard_error: float = doc("of the probability; 0 where it is counted through", digits=4)
    method: str = doc("'draws' of the prior, or 'enumeration'")


class OfPosterior(Table):
    seed: Int32 = key(_SEED, heading="classifier")
    prior: str = key(_PRIOR)
    label: str = key(_LABEL)
    sampler: str = key(_SAMPLER)


class Chains(OfPosterior, name="chains"):
    chain: Int32 = key("number of the chain, from 0", show="count")
    num_draws: int = doc("draws that are kept", "draws")
    acceptance: float = doc("mean probability of acceptance; of exact draws, the share that is kept", digits=2)
    steps: float = doc("evaluations of the gradient, or of the likelihood, for each draw", digits=1)
    num_diverged: int = doc("transitions that diverged", "draws")
    num_saturated: int = doc("trees that reached their greatest depth", "draws")
    bfmi: float = doc("E-BFMI: low where energies mix slowly; null without energies", heading="E-BFMI", digits=2)
    off_support: float = doc(
        "share of draws farther from the texts, by Mahalanobis, than 99.9 % of these",
        heading="far from texts",
        show="percent",
        digits=0,
    )


class Diagnosed(OfPosterior, name="diagnostics"):
    quantity: str = key("of a draw: 'dimension i', 'score' f(s), 'norm' or 'projection i'")
    mean: float = doc("over all chains")
    standard_error: float = doc("Monte Carlo error of the mean")
    rhat: float = doc("rank-normalised split R-hat, of folded values too", heading="R-hat", digits=4)
    ess_bulk: float = doc("effective draws of the bulk", "draws")
    ess_tail: float = doc("effective draws of the tails", "draws")
    lag_one: float = doc("autocorrelation of neighbouring draws", heading="lag 1", digits=2)
    z_exact: float = doc("difference from the mean of exact draws in standard errors; null for these")
    ks_p: float = doc("p of Kolmogorov and Smirnov against exact draws, thinned; null for these", show="p_value")


class Words(Table, name="words"):
    prior: str = key(_PRIOR)
    sampler: str = key(_SAMPLER)
    word: str = key("the word")
    count: int = doc("occurrences in the texts", "words", heading="occurrences")
    polarity: str | None = doc("'positive' or 'negative' by the lexicon; null if it is not in it", heading="lexicon")
    distance_positive: float = doc("mean distance to draws of p(s | +), the mean over classifiers", digits=4)
    distance_negative: float = doc("mean distance to draws of p(s | -), the mean over classifiers", digits=4)
    contrast: float = doc("distance_negative - distance_positive", digits=4)
    contrast_se: float = doc("Monte Carlo error of the contrast", heading="± Monte Carlo", digits=5)
    contrast_sd: float = doc("standard deviation of the contrast over classifiers", heading="± classifiers", digits=4)
    log_odds: float = doc(
        "log p(w | +) / p(w | -), by p(y | s)^k, without draws, the mean over classifiers", "nats", digits=2
    )
    in_context: float = doc(
        "change of f where the word replaces one of the mean text, the mean over classifiers", digits=4
    )
    identity_z: float = doc("largest deviation from the law of total expectation over classifiers, in its errors")


class Lexicon(Table, name="lexicon"):
    seed: Int32 = key(f"{_SEED}; -1: the mean over all")
    prior: str = key(_PRIOR)
    sampler: str = key(_SAMPLER)
    measure: str = key("a number of the table words", show="phrase")
    pearson: Estimate = doc(
        "correlation with being positive",
        interval="the interval of pearson, over words; forms of one lemma are one unit",
        ends=("low", "high"),
    )
    spearman: float = doc("rank correlation with being positive")
    auc: float = doc("area under the ROC curve of positive words", heading="AUC")
    num_words: int = doc("words of the lexicon with a vector", "words")
    num_units: int = doc("of them, forms of one lemma counted once", "words")


class Groups(Table, name="groups"):
    comparison: str = key("name of the comparison")
    prior: str = key(_PRIOR)
    sampler: str = key(_SAMPLER)
    measure: str = key(
        "a number of the table words; with ', by frequency', less what frequency explains", show="phrase"
    )
    first: str = doc("name of the first group")
    second: str = doc("name of the second group")
    difference: Estimate = doc(
        "mean of the first group less that of the second, the mean over classifiers",
        interval="the interval of difference over words; null with fewer than 4 on a side",
        digits=4,
    )
    p: float = doc(
        "share of deals of the words to the groups with as large a studentised difference, two-sided", show="p_value"
    )
    p_holm: float | None = doc(
        "p after Holm, over all comparisons under all priors, by this measure and sampler", show="p_value"
    )
    num_tests: int = doc("tests that p_holm is over", "tests")
    seed_sd: float = doc("standard deviation of the difference over classifiers", heading="± classifiers", digits=4)
    num_first: int = doc("words of the first group with a vector, forms of one lemma counted once", "words")
    num_second: int = doc("words of the second group with a vector, forms of one lemma counted once", "words")


class Projection(Table, name="projection", has_status=False):
    prior: str = key("of the draws; empty for texts")
    label: str = key(_LABEL)
    kind: str = key("'text' or 'draw'")
    point: int = key("number of the point")
    x: float = doc("first principal component of the texts")
    y: float = doc("second principal component of the texts")
    norm: float = doc("length of the vector")


class CueEffects(Table, name="cues"):
    first: str = key("the first cue, a woman's")
    second: str = key("the second cue, a man's")
    share_towards_first: list[float] = doc(
        "of each classifier, the share of its texts near the border that the first cue makes more positive"
    )
    positive_first: float = doc("share of the texts that are positive with the first cue", show="percent")
    positive_second: float = doc("share of the texts that are positive with the second cue", show="percent")
    effect: Estimate = doc(
        "positive_first less positive_second", interval="the interval of effect over texts and classifiers", digits=1
    )
    p: float = doc("two-sided, of an effect of 0 over texts and classifiers", show="p_value")
    pse: Estimate = doc(
        "mixture of the cues with which half of the texts near the border are positive, if all move one way",
        interval="the interval of pse over texts and classifiers",
        heading="PSE",
        digits=2,
    )
    pse_extrapolated: float = doc("the same where it lies outside of 0 to 1 and is no mixture")
    jnd: float = doc("width of the window around pse in which half of the texts change", heading="JND", digits=2)
    num_texts: int = doc("texts near the border, of all classifiers", "texts")
    num_flips: int = doc("of them, those that pse is of: they move as most do", "texts")
    num_outside: int = doc("of these, those whose verdict changes outside of 0 to 1, on the line prolonged", "texts")


TABLES = schemas(ClassifierQuality, Evidence, Chains, Diagnosed, Words, Lexicon, Groups, Projection, CueEffects)

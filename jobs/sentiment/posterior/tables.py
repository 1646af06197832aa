"""The tables of `sentiment_posterior`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

_SEED = count("seed", "number of the classifier, from 0", key=True, type=pa.int32())
_EACH_OR_MEAN = count("seed", "number of the classifier, from 0; -1: the mean over all", key=True, type=pa.int32())
_PRIOR = text("prior", "'standard', 'texts', 'words', 'bag' or 'empirical'", key=True)
_LABEL = text("label", "'positive' or 'negative'", key=True)
_SAMPLER = text("sampler", "'exact' or 'nuts'", key=True)

CLASSIFIER = pa.schema(
    [
        _SEED,
        count("fold", "part of the texts that it has not seen; -1: all parts together", key=True, type=pa.int32()),
        number("auc", "area under the ROC curve of the texts that it has not seen"),
        number("log_loss", "mean of -log p(label) over them", "nats"),
        number("calibration_error", "mean difference of p(+) and the share of positive ones, over ten bins"),
        number("temperature", "T of sigma(f / T); 1: as trained"),
        count("num_texts", "texts that it has not seen", "texts"),
    ]
)

EVIDENCE = pa.schema(
    [
        _SEED,
        text("prior", "of the vectors; 'unigram': words by their frequencies", key=True),
        _LABEL,
        number("probability", "P(y), the mean of p(y | s)^k over the prior"),
        number("standard_error", "of the probability; 0 where it is counted through"),
        text("method", "'draws' of the prior, or 'enumeration'"),
    ]
)

CHAINS = pa.schema(
    [
        _SEED,
        _PRIOR,
        _LABEL,
        _SAMPLER,
        count("chain", "number of the chain, from 0", key=True, type=pa.int32()),
        count("num_draws", "draws that are kept", "draws"),
        number("acceptance", "mean probability of acceptance; of exact draws, the share that is kept"),
        number("steps", "evaluations of the gradient, or of the likelihood, for each draw"),
        count("num_diverged", "transitions that diverged", "draws"),
        count("num_saturated", "trees that reached their greatest depth", "draws"),
        number("bfmi", "E-BFMI: low where energies mix slowly; null without energies"),
        number("off_support", "share of draws farther from the texts, by Mahalanobis, than 99.9 % of these"),
        STATUS,
        REASON,
    ]
)

DIAGNOSTICS = pa.schema(
    [
        _SEED,
        _PRIOR,
        _LABEL,
        _SAMPLER,
        text("quantity", "of a draw: 'dimension i', 'score' f(s), 'norm' or 'projection i'", key=True),
        number("mean", "over all chains"),
        number("standard_error", "Monte Carlo error of the mean"),
        number("rhat", "rank-normalised split R-hat, of folded values too"),
        number("ess_bulk", "effective draws of the bulk", "draws"),
        number("ess_tail", "effective draws of the tails", "draws"),
        number("lag_one", "autocorrelation of neighbouring draws"),
        number("z_exact", "difference from the mean of exact draws in standard errors; null for these"),
        number("ks_p", "p of Kolmogorov and Smirnov against exact draws, thinned; null for these"),
        STATUS,
        REASON,
    ]
)

WORDS = pa.schema(
    [
        _PRIOR,
        _SAMPLER,
        text("word", "the word", key=True),
        count("count", "occurrences in the texts", "words"),
        text("polarity", "'positive' or 'negative' by the lexicon; null if it is not in it"),
        number("distance_positive", "mean distance to draws of p(s | +), the mean over classifiers"),
        number("distance_negative", "mean distance to draws of p(s | -), the mean over classifiers"),
        number("contrast", "distance_negative - distance_positive"),
        number("contrast_se", "Monte Carlo error of the contrast"),
        number("contrast_sd", "standard deviation of the contrast over classifiers"),
        number("log_odds", "log p(w | +) / p(w | -), by p(y | s)^k, without draws, the mean over classifiers", "nats"),
        number("in_context", "change of f where the word replaces one of the mean text, the mean over classifiers"),
        number("identity_z", "largest deviation from the law of total expectation over classifiers, in its errors"),
        STATUS,
        REASON,
    ]
)

LEXICON = pa.schema(
    [
        _EACH_OR_MEAN,
        _PRIOR,
        _SAMPLER,
        text("measure", "a number of the table words", key=True),
        number("pearson", "correlation with being positive"),
        number("low", "lower end of the interval of pearson, over words; forms of one lemma are one unit"),
        number("high", "upper end of the interval of pearson, over words; forms of one lemma are one unit"),
        number("spearman", "rank correlation with being positive"),
        number("auc", "area under the ROC curve of positive words"),
        count("num_words", "words of the lexicon with a vector", "words"),
        count("num_units", "of them, forms of one lemma counted once", "words"),
        STATUS,
        REASON,
    ]
)

GROUPS = pa.schema(
    [
        text("comparison", "name of the comparison", key=True),
        _PRIOR,
        _SAMPLER,
        text("measure", "a number of the table words; with ', by frequency', less what frequency explains", key=True),
        text("first", "name of the first group"),
        text("second", "name of the second group"),
        number("difference", "mean of the first group less that of the second, the mean over classifiers"),
        *interval("difference", "interval of difference over words; null with fewer than 4 on a side"),
        number("p", "share of deals of the words to the groups with as large a studentised difference, two-sided"),
        number("p_holm", "p after Holm, over all comparisons under all priors, by this measure and sampler"),
        count("num_tests", "tests that p_holm is over", "tests"),
        number("seed_sd", "standard deviation of the difference over classifiers"),
        count("num_first", "words of the first group with a vector, forms of one lemma counted once", "words"),
        count("num_second", "words of the second group with a vector, forms of one lemma counted once", "words"),
        STATUS,
        REASON,
    ]
)

PROJECTION = pa.schema(
    [
        text("prior", "of the draws; empty for texts", key=True),
        _LABEL,
        text("kind", "'text' or 'draw'", key=True),
        count("point", "number of the point", key=True),
        number("x", "first principal component of the texts"),
        number("y", "second principal component of the texts"),
        number("norm", "length of the vector"),
    ]
)

CUES = pa.schema(
    [
        text("first", "the first cue, a woman's", key=True),
        text("second", "the second cue, a man's", key=True),
        column(
            "share_towards_first",
            pa.list_(pa.float64()),
            "of each classifier, the share of its texts near the border that the first cue makes more positive",
        ),
        number("positive_first", "share of the texts that are positive with the first cue"),
        number("positive_second", "share of the texts that are positive with the second cue"),
        number("effect", "positive_first less positive_second"),
        *interval("effect", "interval of effect over texts and classifiers"),
        number("p", "two-sided, of an effect of 0 over texts and classifiers"),
        number(
            "pse", "mixture of the cues with which half of the texts near the border are positive, if all move one way"
        ),
        *interval("pse", "interval of pse over texts and classifiers"),
        number("pse_extrapolated", "the same where it lies outside of 0 to 1 and is no mixture"),
        number("jnd", "width of the window around pse in which half of the texts change"),
        count("num_texts", "texts near the border, of all classifiers", "texts"),
        count("num_flips", "of them, those that pse is of: they move as most do", "texts"),
        count("num_outside", "of these, those whose verdict changes outside of 0 to 1, on the line prolonged", "texts"),
        STATUS,
        REASON,
    ]
)

TABLES = {
    "classifier": CLASSIFIER,
    "evidence": EVIDENCE,
    "chains": CHAINS,
    "diagnostics": DIAGNOSTICS,
    "words": WORDS,
    "lexicon": LEXICON,
    "groups": GROUPS,
    "projection": PROJECTION,
    "cues": CUES,
}

"""The tables of association tests, and of what is held against the world: every column with its type and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.embedding.columns import (
    LANGUAGE,
    MISSING_WORDS,
    MODEL,
    NUM_REPLICAS,
    WOMEN,
    WORD,
    count,
    with_interval,
)
from tiltmeter.jobs.runtime.columns import REASON, STATUS, number
from tiltmeter.storage.store.tables import column

_HOW = [
    column("similarity", pa.string(), "'cosine', 'euclidean', 'manhattan' or 'mahalanobis'", key=True),
    column(
        "statistic",
        pa.string(),
        "what is taken over the attributes: 'mean', 'median', 'min', 'max', 'smallest_gap'",
        key=True,
    ),
]
_DDOF = column("ddof", pa.int8(), "degrees of freedom taken off in the standard deviation: 1 is the sample's")

ASSOCIATIONS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("test", pa.string(), "name of the association test in the word set", key=True),
        column("target_x", pa.string(), "first target set"),
        column("target_y", pa.string(), "second target set"),
        column("attribute_a", pa.string(), "attributes that X is expected to go with"),
        column("attribute_b", pa.string(), "attributes that Y is expected to go with"),
        *_HOW,
        column("covariance", pa.string(), "estimate behind 'mahalanobis': 'shrinkage', 'graphical_lasso'; else null"),
        *with_interval(
            "score",
            "test statistic: sum of the associations of X less that of Y; has the sign of d if both have as many words",
        ),
        *with_interval("effect_size", "WEAT effect size d; positive if X goes with A", "standard deviations"),
        number("absolute_effect_size", "size of d without its sign", "standard deviations"),
        _DDOF,
        number("p_value", "permutation p-value of the original corpus; at the safe end of its interval"),
        number("p_low", "what p is at least; for Monte Carlo, lower end of its 95 % interval"),
        number("p_high", "what p is at most; for Monte Carlo, upper end of its 95 % interval"),
        column("alternative", pa.string(), "what p speaks for: 'greater' (X go with A), 'less' or 'two-sided'"),
        column("p_method", pa.string(), "'exact', 'certified' (p lies within its interval) or 'monte_carlo'"),
        number("p_standard_error", "standard error of a Monte Carlo p-value; null otherwise"),
        count("num_targets", "target words that have a vector", "words"),
        count("num_attributes", "attribute words that have a vector", "words"),
        MISSING_WORDS,
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

ASSOCIATION_SUMMARY = pa.schema(
    [
        MODEL,
        LANGUAGE,
        *_HOW,
        count("num_tests", "association tests with a result", "tests"),
        count("num_significant", "of these, tests with a p-value below the level", "tests"),
        number("significance", "that level"),
        number("mean_effect_size", "mean of d over the tests", "standard deviations"),
        number("sd_effect_size", "sample standard deviation of d over the tests", "standard deviations"),
        number("mean_absolute_effect_size", "mean of |d| over the tests", "standard deviations"),
        number("sd_absolute_effect_size", "sample standard deviation of |d| over the tests", "standard deviations"),
        _DDOF,
    ]
)
"""Table 3 of Azarpanah and Farhadloo 2021."""

WORD_ASSOCIATIONS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("test", pa.string(), "name of the word association test (WEFAT) in the word set", key=True),
        column("attribute_a", pa.string(), "attributes on the positive side"),
        column("attribute_b", pa.string(), "attributes on the negative side"),
        WORD,
        _HOW[0],
        *with_interval("effect_size", "WEFAT effect size; positive if the word goes with A", "standard deviations"),
        _DDOF,
        WOMEN,
        count("num_attributes", "attribute words that have a vector", "words"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

VALIDATION = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("measure", pa.string(), "'pse', 'jnd' or 'wefat': what is correlated, over occupations", key=True),
        column(
            "against",
            pa.string(),
            "'share_men' p in the occupation, its dispersion sqrt(p(1 - p)) ('dispersion'), 'share_women', or 'wefat'",
            key=True,
        ),
        column(
            "test",
            pa.string(),
            "the word association test behind 'wefat', by its name in the word set; else null",
            key=True,
        ),
        column("cue_1", pa.string(), "the female cue; null where all gender pairs are pooled", key=True),
        column("cue_2", pa.string(), "the male cue; null where all gender pairs are pooled", key=True),
        column("similarity", pa.string(), "the measure of similarity behind 'wefat'; null without it", key=True),
        *with_interval("pearson", "Pearson's correlation coefficient"),
        number("pearson_p", "its two-sided p-value"),
        *with_interval("spearman", "Spearman's rank correlation coefficient"),
        number("spearman_p", "its two-sided p-value"),
        count("num_occupations", "occupations that have both", "words"),
        STATUS,
        REASON,
    ]
)

TABLES = {
    "associations": ASSOCIATIONS,
    "association_summary": ASSOCIATION_SUMMARY,
    "word_associations": WORD_ASSOCIATIONS,
    "validation": VALIDATION,
}

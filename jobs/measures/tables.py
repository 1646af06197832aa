"""The public tables of what was measured: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.embedding.tables import LANGUAGE, REASON, STATUS, WORD
from tiltmeter.storage.store.tables import column

MODEL = column("model", pa.string(), "the embedding: the name of its corpus, its file or its encoder", key=True)
NUM_REPLICAS = column("num_replicas", pa.int32(), "bootstrap replicas that have a value, for the interval", "replicas")
MISSING_WORDS = column("missing_words", pa.list_(pa.string()), "words of the lists that have no vector")
WOMEN = column("percent_women", pa.float64(), "share of women in the occupation, from the word set", "percent")


def _number(name: str, sentence: str, unit: str = "") -> pa.Field:
    return column(name, pa.float64(), sentence, unit)


def _with_interval(name: str, sentence: str, unit: str = "") -> list[pa.Field]:
    """A point estimate from the original corpus with the percentile interval of the replicas' own values."""
    return _estimate(name, sentence, unit, "the replicas' values of")


def _of_replicas(name: str, sentence: str, unit: str = "") -> list[pa.Field]:
    """A property of the replicas taken together, with its Monte Carlo interval, which shrinks with their number."""
    return _estimate(name, sentence, unit, "how well so many replicas determine")


def _estimate(name: str, sentence: str, unit: str, interval: str) -> list[pa.Field]:
    return [
        _number(name, sentence, unit),
        _number(f"{name}_low", f"lower end of the interval of {interval} {name}", unit),
        _number(f"{name}_high", f"upper end of the interval of {interval} {name}", unit),
    ]


def _count(name: str, sentence: str, unit: str) -> pa.Field:
    return column(name, pa.int32(), sentence, unit)


# --- psychophysics --------------------------------------------------------------------------------------------------

_CUES = [
    column("cue_1", pa.string(), "the first cue of the pair: the female one of a gender pair", key=True),
    column("cue_2", pa.string(), "the second cue of the pair: the male one of a gender pair", key=True),
]

PSYCHOMETRICS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        *_CUES,
        column("is_gender", pa.bool_(), "whether the cues are female and male"),
        *_of_replicas("pse", "point of subjective equality: mean mixture at which replicas flip to cue_2", "mixture"),
        *_of_replicas("jnd", "just noticeable difference: 1.349 standard deviations of the flips", "mixture"),
        _number("pse_curve", "mixture at which the share of replicas that answer cue_2 reaches 50 %", "mixture"),
        _number("jnd_curve", "distance between the 25 % and the 75 % point of that share", "mixture"),
        *_of_replicas("pse_fit", "50 % point of a cumulative normal fitted to the share", "mixture"),
        *_of_replicas("jnd_fit", "distance between the 25 % and the 75 % point of the fit", "mixture"),
        _number("flip_original", "mixture at which the original corpus flips", "mixture"),
        _number("flip_low", "lower end of the interval of the replicas' own flips", "mixture"),
        _number("flip_high", "upper end of the interval of the replicas' own flips", "mixture"),
        WOMEN,
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

PSYCHOMETRIC_POINTS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        *_CUES,
        column("alpha", pa.float64(), "weight of cue_2 in the mixture", "mixture", key=True),
        _number("share", "share of replicas that answer cue_2", "share"),
    ]
)

POOLED_PSYCHOMETRICS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        _number("pse", "mean flip over gender cue pairs and replicas, both taken as random effects", "mixture"),
        _number("pse_low", "lower end of the interval of pse over other cue pairs and corpora like these", "mixture"),
        _number("pse_high", "upper end of the interval of pse over other cue pairs and corpora like these", "mixture"),
        _number("jnd", "1.349 standard deviations of the flips within a cue pair", "mixture"),
        _number("sd_pairs", "standard deviation between cue pairs", "mixture"),
        _number("sd_replicas", "standard deviation between replicas that all pairs share", "mixture"),
        _number("sd_rest", "standard deviation of what neither explains", "mixture"),
        WOMEN,
        _count("num_pairs", "gender cue pairs that are measured", "pairs"),
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
            "'share_men' p in the occupation, its dispersion p(1 - p) ('dispersion'), 'share_women', or 'wefat'",
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
        *_with_interval("pearson", "Pearson's correlation coefficient"),
        _number("pearson_p", "its two-sided p-value"),
        *_with_interval("spearman", "Spearman's rank correlation coefficient"),
        _number("spearman_p", "its two-sided p-value"),
        _count("num_occupations", "occupations that have both", "words"),
        STATUS,
        REASON,
    ]
)

# --- association tests ----------------------------------------------------------------------------------------------

_HOW = [
    column("similarity", pa.string(), "'cosine', 'euclidean', 'manhattan' or 'mahalanobis'", key=True),
    column(
        "statistic",
        pa.string(),
        "what is taken over the attributes: 'mean', 'median', 'min', 'max', 'discrete_min'",
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
        *_with_interval("score", "test statistic: sum of the associations of X less that of Y; positive: X go with A"),
        *_with_interval("effect_size", "WEAT effect size d; positive if X goes with A", "standard deviations"),
        _number("absolute_effect_size", "size of d without its sign", "standard deviations"),
        _DDOF,
        _number("p_value", "one-sided permutation p-value of the original corpus; at the safe end of its interval"),
        _number("p_low", "what p is at least; for Monte Carlo, lower end of its 95 % interval"),
        _number("p_high", "what p is at most; for Monte Carlo, upper end of its 95 % interval"),
        column("p_method", pa.string(), "'exact', 'certified' (p lies within its interval) or 'monte_carlo'"),
        _number("p_standard_error", "standard error of a Monte Carlo p-value; null otherwise"),
        _count("num_targets", "target words that have a vector", "words"),
        _count("num_attributes", "attribute words that have a vector", "words"),
        MISSING_WORDS,
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

OCCUPATION_CONTRAST = ASSOCIATIONS
"""One test: occupations with mostly women against those with mostly men, with the gender cues as attributes."""

ASSOCIATION_SUMMARY = pa.schema(
    [
        MODEL,
        LANGUAGE,
        *_HOW,
        _count("num_tests", "association tests with a result", "tests"),
        _count("num_significant", "of these, tests with a p-value below the level", "tests"),
        _number("significance", "that level"),
        _number("mean_effect_size", "mean of d over the tests", "standard deviations"),
        _number("sd_effect_size", "sample standard deviation of d over the tests", "standard deviations"),
        _number("mean_absolute_effect_size", "mean of |d| over the tests", "standard deviations"),
        _number("sd_absolute_effect_size", "sample standard deviation of |d| over the tests", "standard deviations"),
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
        *_with_interval("effect_size", "WEFAT effect size; positive if the word goes with A", "standard deviations"),
        _DDOF,
        WOMEN,
        _count("num_attributes", "attribute words that have a vector", "words"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

# --- gender ---------------------------------------------------------------------------------------------------------

_ON_AXIS = "cosine with the gender direction; positive is the female side"

GENDER_WORDS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        column("list", pa.string(), "'defining' or 'professions'", key=True),
        column("item", pa.string(), "the English pair or profession that the word stands for", key=True),
        column("gender", pa.string(), "'feminine', 'masculine' or 'neutral': of the word, not of its vector"),
        *_with_interval("bias", _ON_AXIS, "cosine"),
        column("count", pa.int64(), "occurrences in the original corpus; null where that is not known", "occurrences"),
        column("note", pa.string(), "what is doubtful about the word in the list; empty if nothing is"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_PROFESSIONS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("profession", pa.string(), "the profession in English", key=True),
        *_with_interval("bias", f"mean over the genders of its forms of their mean {_ON_AXIS}", "cosine"),
        *_with_interval("bias_weighted", "mean over its forms, each weighted by its count in the corpus", "cosine"),
        column("forms", pa.list_(pa.string()), "its words that have a vector"),
        MISSING_WORDS,
        column(
            "count", pa.int64(), "occurrences of all its forms in the original corpus; null if not known", "occurrences"
        ),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_LANGUAGES = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("script", pa.string(), "script of the word lists, by its ISO 15924 code"),
        *_with_interval("direct_bias", "DirectBias: mean |bias|^c over the professions", "cosine"),
        *_with_interval("direct_bias_weighted", "the same of the biases weighted by count", "cosine"),
        _number("exponent", "the c of DirectBias"),
        *_with_interval("female_words", "mean bias of the female defining words", "cosine"),
        *_with_interval("male_words", "mean bias of the male defining words", "cosine"),
        *_with_interval("first_share", "variance of the defining pairs along the gender direction", "share"),
        *_with_interval("second_share", "variance of the defining pairs along the second component", "share"),
        *_with_interval("gap", "first_share less second_share", "share"),
        *_with_interval("agreement", "pairs whose female word lies on the female side of its partner", "share"),
        column("warning", pa.string(), "what makes the direction doubtful; empty if nothing does"),
        _count("num_pairs", "defining pairs of which both words have a vector", "pairs"),
        _count("num_professions", "professions of which a form has a vector", "words"),
        MISSING_WORDS,
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_PAIRS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        column("pair", pa.string(), "the defining pair that is left out, in English", key=True),
        column("feminine", pa.string(), "its female word"),
        column("masculine", pa.string(), "its male word"),
        *_with_interval("direct_bias", "DirectBias along the direction of the other pairs", "cosine"),
        *_with_interval("change", "that less DirectBias along the direction of all pairs", "cosine"),
        *_with_interval("similarity", "cosine of the two directions", "cosine"),
        *_with_interval("first_share", "variance of the other pairs along their direction", "share"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

LANGUAGE_CORRELATION = pa.schema(
    [
        column("language_1", pa.string(), "a language", key=True),
        column("language_2", pa.string(), "another, or the same one", key=True),
        *_with_interval("correlation", "Pearson's r of the professions' bias in both; replicas paired by number"),
        *_with_interval("correlation_weighted", "the same of the biases weighted by count"),
        _count("num_professions", "professions that both languages have", "words"),
        _count("position_1", "place of language_1 in the order of the clustering, from 0", "place"),
        _count("position_2", "place of language_2 in the order of the clustering, from 0", "place"),
        STATUS,
        REASON,
    ]
)
"""Figure 6 of Matthews et al. 2021."""

"""The public tables: every column with its type, its unit and a sentence."""

import pyarrow as pa

from storage.tables import column

LANGUAGE = column("language", pa.string(), "language of the corpus, as a Wikipedia code")
WORD = column("word", pa.string(), "the word as the tokeniser writes it; a phrase has spaces inside")
STATUS = column("status", pa.string(), "'ok', 'missing_words' or 'too_few_replicas'")
REASON = column("reason", pa.string(), "why the status is not 'ok'; empty otherwise")
NUM_REPLICAS = column("num_replicas", pa.int32(), "bootstrap replicas in which every word needed occurs", "replicas")


def _number(name: str, sentence: str, unit: str) -> pa.Field:
    return column(name, pa.float64(), sentence, unit)


def _with_interval(name: str, sentence: str, unit: str) -> list[pa.Field]:
    """A point estimate from the original corpus with the percentile interval of the replicas' own values."""
    return _estimate(name, sentence, unit, "the replicas' values of")


def _of_replicas(name: str, sentence: str, unit: str) -> list[pa.Field]:
    """A property of the replicas taken together, with its Monte Carlo interval, which shrinks with their number."""
    return _estimate(name, sentence, unit, "how well so many replicas determine")


def _estimate(name: str, sentence: str, unit: str, interval: str) -> list[pa.Field]:
    return [
        _number(name, sentence, unit),
        _number(f"{name}_low", f"lower end of the interval of {interval} {name}", unit),
        _number(f"{name}_high", f"upper end of the interval of {interval} {name}", unit),
    ]


CORPORA = pa.schema(
    [
        column("corpus", pa.string(), "name of the corpus"),
        LANGUAGE,
        column("num_articles", pa.int64(), "articles that were read", "pages"),
        column("num_unreadable", pa.int64(), "articles left out because their markup can't be read", "pages"),
        column("num_repeated", pa.int64(), "articles left out because they are there already, word by word", "pages"),
        column("num_redirects", pa.int64(), "pages left out because they only redirect", "pages"),
        column(
            "num_other_namespaces", pa.int64(), "pages left out because they are not in the main namespace", "pages"
        ),
        column("num_replaced", pa.int64(), "invalid bytes or characters that were replaced", "characters"),
        column("num_lines", pa.int64(), "lines with at least one word", "lines"),
        column("num_tokens", pa.int64(), "words, each time they occur", "words"),
        column("num_words", pa.int64(), "different words in the vocabulary", "words"),
        column("warning", pa.string(), "what makes results doubtful; empty if nothing does"),
    ]
)

VOCABULARY = pa.schema(
    [
        LANGUAGE,
        WORD,
        column("count", pa.int64(), "occurrences in the original corpus", "occurrences"),
        column("lists", pa.list_(pa.string()), "word lists of the language that the word is on"),
        column("status", pa.string(), "'ok' (has a vector), 'too_rare' or 'absent'; the latter two for listed words"),
    ]
)
"""Section 3.2 of Matthews et al. 2021 asks how often the words of each list occur before anything is measured."""

TRAINING = pa.schema(
    [
        LANGUAGE,
        column("replica", pa.int16(), "0 is the original corpus, 1 and up are its bootstrap replicas"),
        column("epoch", pa.int16(), "pass over the corpus, from 1"),
        _number("loss", "mean over the steps of the epoch of what the trainer minimises; null where it gives none", ""),
    ]
)


def embeddings(dimensions: int) -> pa.Schema:
    """One row per word and replica, in the order of the vocabulary; the vector is null if the word does not occur."""
    vector = column("vector", pa.list_(pa.float32(), dimensions), "the word's vector; null if it is not in the replica")
    return pa.schema([LANGUAGE, WORD, TRAINING.field("replica"), vector])


_CUES = [
    column("cue_1", pa.string(), "the female cue of the pair"),
    column("cue_2", pa.string(), "the male cue of the pair"),
]

PSYCHOMETRICS = pa.schema(
    [
        LANGUAGE,
        WORD,
        *_CUES,
        *_of_replicas("pse", "point of subjective equality: mean mixture at which replicas flip to cue_2", "mixture"),
        *_of_replicas("jnd", "just noticeable difference: 1.349 standard deviations of the flips", "mixture"),
        _number("pse_curve", "mixture at which the share of replicas that answer cue_2 reaches 50 %", "mixture"),
        _number("jnd_curve", "distance between the 25 % and the 75 % point of that share", "mixture"),
        *_of_replicas("pse_fit", "50 % point of a cumulative normal fitted to the share", "mixture"),
        *_of_replicas("jnd_fit", "distance between the 25 % and the 75 % point of the fit", "mixture"),
        _number("flip_original", "mixture at which the original corpus flips", "mixture"),
        _number("flip_low", "lower end of the interval of the replicas' own flips", "mixture"),
        _number("flip_high", "upper end of the interval of the replicas' own flips", "mixture"),
        _number("percent_women", "share of women in the occupation, from the word set", "percent"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

PSYCHOMETRIC_POINTS = pa.schema(
    [
        LANGUAGE,
        WORD,
        *_CUES,
        _number("alpha", "weight of the male cue in the mixture", "mixture"),
        _number("share", "share of replicas that answer cue_2", "share"),
    ]
)

ASSOCIATIONS = pa.schema(
    [
        LANGUAGE,
        column("test", pa.string(), "name of the association test in the word set"),
        column("target_x", pa.string(), "first target set"),
        column("target_y", pa.string(), "second target set"),
        column("attribute_a", pa.string(), "attributes that X is expected to go with"),
        column("attribute_b", pa.string(), "attributes that Y is expected to go with"),
        *_with_interval("effect_size", "WEAT effect size d; positive if X goes with A", "standard deviations"),
        column("ddof", pa.int8(), "degrees of freedom taken off in the standard deviation: 1 is the sample's"),
        column("num_targets", pa.int32(), "target words in the vocabulary", "words"),
        column("num_attributes", pa.int32(), "attribute words in the vocabulary", "words"),
        column("missing_words", pa.list_(pa.string()), "words of the test that are not in the vocabulary"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_PROFESSIONS = pa.schema(
    [
        LANGUAGE,
        column("profession", pa.string(), "the profession's word"),
        *_with_interval("bias", "cosine with the gender direction; positive is the female side", "cosine"),
        column("count", pa.int64(), "occurrences in the original corpus", "occurrences"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

GENDER_LANGUAGES = pa.schema(
    [
        LANGUAGE,
        *_with_interval("direct_bias", "mean |cosine| of the professions with the gender direction", "cosine"),
        *_with_interval("first_share", "variance of the definitional pairs along the gender direction", "share"),
        *_with_interval("second_share", "variance of the definitional pairs along the second component", "share"),
        column("num_pairs", pa.int32(), "definitional pairs in the vocabulary", "pairs"),
        column("num_professions", pa.int32(), "professions in the vocabulary", "words"),
        column("missing_words", pa.list_(pa.string()), "definitional words that are not in the vocabulary"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

MEASURED = {
    "psychometrics": PSYCHOMETRICS,
    "psychometric_points": PSYCHOMETRIC_POINTS,
    "associations": ASSOCIATIONS,
    "gender_professions": GENDER_PROFESSIONS,
    "gender_languages": GENDER_LANGUAGES,
}

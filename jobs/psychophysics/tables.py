"""The tables of the psychophysics: every column with its type, its unit and a sentence."""

from functools import partial

import pyarrow as pa

from tiltmeter.jobs.association.tables import Associations, Validation, WordAssociations
from tiltmeter.jobs.embedding.tables import monte_carlo, percentiles, shift, spread, with_interval
from tiltmeter.jobs.runtime import columns
from tiltmeter.jobs.runtime.columns import REASON, STATUS, interval, number
from tiltmeter.storage.store.tables import column

count = partial(columns.count, type=pa.int32())
MODEL, LANGUAGE, WORD, WOMEN, NUM_REPLICAS = map(
    WordAssociations.schema().field, ("model", "language", "word", "percent_women", "num_replicas")
)

_CUES = [
    column("cue_1", pa.string(), "the first cue of the pair: the female one of a gender pair", key=True),
    column("cue_2", pa.string(), "the second cue of the pair: the male one of a gender pair", key=True),
]


def _jnd(name: str, sentence: str) -> list[pa.Field]:
    """With its intervals by resampling the replicas, as it is itself how far these spread."""
    return [
        number(name, sentence, "mixture"),
        *interval(name, f"interval of {name} for other replicas of this corpus, by job.interval", "mixture"),
        *percentiles(name, f"resamples' {name}", "mixture"),
    ]


PSYCHOMETRICS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        *_CUES,
        column("is_gender", pa.bool_(), "whether the cues are female and male"),
        *with_interval(
            "pse",
            "point of subjective equality: mean mixture at which replicas flip to cue_2",
            "mixture",
            original="flip_original",
        ),
        *monte_carlo("pse", "mixture"),
        *_jnd("jnd", "just noticeable difference: 1.349 standard deviations of the flips"),
        number("pse_curve", "mixture at which the share of replicas that answer cue_2 reaches 50 %", "mixture"),
        number("jnd_curve", "width of the window around it in which half of the replicas flip", "mixture"),
        number("pse_fit", "50 % point of a cumulative normal fitted to the share", "mixture"),
        *interval("pse_fit", "interval of pse_fit for this corpus drawn again, by job.interval", "mixture"),
        *monte_carlo("pse_fit", "mixture"),
        *_jnd("jnd_fit", "distance between the 25 % and the 75 % point of the fit"),
        number("pse_logistic", "50 % point of a logistic curve fitted to the share", "mixture"),
        number("jnd_logistic", "distance between the 25 % and the 75 % point of that curve", "mixture"),
        number("flip_sd", "sample standard deviation of the replicas' flips", "mixture"),
        number("flip_original", "mixture at which the original corpus flips", "mixture"),
        count("num_outside", "replicas that flip outside of [0, 1]; they count with that mixture", "replicas"),
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
        number("share", "share of replicas that answer cue_2", "share"),
    ]
)

POOLED_PSYCHOMETRICS = pa.schema(
    [
        MODEL,
        LANGUAGE,
        WORD,
        number("pse", "mean flip over gender cue pairs and replicas, both taken as random effects", "mixture"),
        *interval("pse", "interval of pse for this corpus drawn again and other cue pairs, by the model", "mixture"),
        *interval("pse_cues", "interval of pse for other cue pairs, with these replicas for observers", "mixture"),
        shift("pse", "the original corpus' mean over the pairs"),
        *spread("pse", "the replicas' own means over the pairs", "mixture"),
        number("jnd", "1.349 standard deviations of the flips within a cue pair", "mixture"),
        number("sd_pairs", "standard deviation between cue pairs", "mixture"),
        number("sd_replicas", "standard deviation between replicas that all pairs share", "mixture"),
        number("sd_rest", "standard deviation of what neither explains", "mixture"),
        WOMEN,
        count("num_pairs", "gender cue pairs that are measured", "pairs"),
        NUM_REPLICAS,
        STATUS,
        REASON,
    ]
)

TABLES = {
    "psychometrics": PSYCHOMETRICS,
    "psychometric_points": PSYCHOMETRIC_POINTS,
    "pooled_psychometrics": POOLED_PSYCHOMETRICS,
    "validation": Validation.schema(),
    "occupation_contrast": Associations.schema(),
}

"""Columns of tables about embeddings: which model, language and word, and numbers with the intervals of replicas."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import count as whole_number
from tiltmeter.jobs.runtime.columns import interval, number
from tiltmeter.storage.store.tables import column, label_column

CORPUS = label_column("corpus")
LANGUAGE = column("language", pa.string(), "language of the corpus, as a Wikipedia code", key=True)
WORD = column("word", pa.string(), "the word as the tokeniser writes it; a phrase has spaces inside", key=True)
MODEL = column("model", pa.string(), "the embedding: the name of its corpus, its file or its encoder", key=True)
NUM_REPLICAS = column("num_replicas", pa.int32(), "bootstrap replicas that have a value, for the interval", "replicas")
MISSING_WORDS = column("missing_words", pa.list_(pa.string()), "words of the lists that have no vector")
WOMEN = column("percent_women", pa.float64(), "share of women in the occupation, from the word set", "percent")


def with_interval(name: str, sentence: str, unit: str = "", original: str = "") -> list[pa.Field]:
    """A number of a corpus, its interval and what moves it, as :func:`.lookup.estimate` fills the columns.

    Args:
        original: the number of the original corpus, where ``name`` is itself a mean of the replicas.
    """
    return [
        number(name, sentence, unit),
        *interval(name, f"interval of {name} for this corpus drawn again, by job.interval", unit),
        shift(name, original or name),
        *spread(name, f"replicas' values of {name}", unit),
    ]


def spread(name: str, whose: str, unit: str = "") -> list[pa.Field]:
    """The percentiles of the replicas, and what moves a number."""
    return [
        *percentiles(name, whose, unit),
        number(f"{name}_sd_training", f"standard deviation of {name} over random starts; null for one start", unit),
        number(f"{name}_sd_sampling", "that over replicas, less what training adds; null for one start", unit),
    ]


def shift(name: str, subject: str) -> pa.Field:
    """What resampling alone does to a number."""
    sentence = f"mean of the replicas less {subject}, on the scale of the interval: what resampling alone does to it"
    return number(f"{name}_shift", sentence, "standard deviations of the replicas")


def percentiles(name: str, whose: str, unit: str = "") -> list[pa.Field]:
    """The interval of the papers, whatever the method of the other."""
    return interval(f"{name}_percentile", f"percentile interval of the {whose}", unit)


def monte_carlo(name: str, unit: str = "") -> list[pa.Field]:
    """How well a mean over replicas is known, which shrinks with their number."""
    return interval(f"{name}_monte_carlo", f"Monte Carlo interval of {name}: how well so many replicas fix it", unit)


def count(name: str, sentence: str, unit: str) -> pa.Field:
    """How many of something there are."""
    return whole_number(name, sentence, unit, type=pa.int32())

"""Columns of tables about embeddings: which model, language and word, and numbers with the intervals of replicas."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import count as whole_number
from tiltmeter.jobs.runtime.columns import interval, number
from tiltmeter.storage.store.tables import column

LANGUAGE = column("language", pa.string(), "language of the corpus, as a Wikipedia code", key=True)
WORD = column("word", pa.string(), "the word as the tokeniser writes it; a phrase has spaces inside", key=True)
MODEL = column("model", pa.string(), "the embedding: the name of its corpus, its file or its encoder", key=True)
NUM_REPLICAS = column("num_replicas", pa.int32(), "bootstrap replicas that have a value, for the interval", "replicas")
MISSING_WORDS = column("missing_words", pa.list_(pa.string()), "words of the lists that have no vector")
WOMEN = column("percent_women", pa.float64(), "share of women in the occupation, from the word set", "percent")


def with_interval(name: str, sentence: str, unit: str = "") -> list[pa.Field]:
    """A point estimate from the original corpus with the percentile interval of the replicas' own values."""
    return [number(name, sentence, unit), *interval(name, f"interval of the replicas' values of {name}", unit)]


def of_replicas(name: str, sentence: str, unit: str = "") -> list[pa.Field]:
    """A property of the replicas taken together, with its Monte Carlo interval, which shrinks with their number."""
    return [
        number(name, sentence, unit),
        *interval(name, f"interval of how well so many replicas determine {name}", unit),
    ]


def count(name: str, sentence: str, unit: str) -> pa.Field:
    """How many of something there are."""
    return whole_number(name, sentence, unit, type=pa.int32())

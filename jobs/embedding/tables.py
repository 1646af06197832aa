"""The public tables of what was read and trained: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.embedding.columns import CORPUS, LANGUAGE, WORD
from tiltmeter.jobs.runtime.columns import REASON, STATUS, number
from tiltmeter.storage.store.tables import column

_REPLICA = (
    "0 is the original corpus, 1 and up are its bootstrap replicas, -1 and down the original corpus again, trained "
    "from further random starts"
)

CORPORA = pa.schema(
    [
        CORPUS,
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

CORPUS_SLICES = pa.schema(
    [
        CORPUS,
        LANGUAGE,
        column("whole", pa.string(), "name of the corpus that it is a slice of"),
        column("field", pa.string(), "field of the documents by which that is cut; empty if it is not"),
        column("value", pa.string(), "the slice's value of it; null for documents in no slice and a whole corpus"),
        number("place", "a year, a number, or that of a range: the slices' order; null where they have none"),
        column("num_documents", pa.int64(), "documents that were read", "pages"),
        STATUS,
        REASON,
    ]
)
"""Of corpora that are cut, and of others that are too small to be measured; the name of a slice is its corpus's and its
value, such as ``letters/1999``."""

VOCABULARY = pa.schema(
    [
        CORPUS,
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
        CORPUS,
        LANGUAGE,
        column("replica", pa.int16(), _REPLICA, key=True),
        column("epoch", pa.int16(), "pass over the corpus, from 1", key=True),
        column(
            "loss",
            pa.float64(),
            "mean over the steps of the epoch of what the trainer minimises; null where it gives none",
        ),
    ]
)


def embeddings(dimensions: int) -> pa.Schema:
    """One row per word and replica, in the order of the vocabulary; the vector is null if the word does not occur."""
    vector = column("vector", pa.list_(pa.float32(), dimensions), "the word's vector; null if it is not in the replica")
    return pa.schema([CORPUS, LANGUAGE, WORD, TRAINING.field("replica"), vector])


def of_one(schema: pa.Schema) -> pa.Schema:
    """A schema as units fill it, which do not depend on the name of their corpus: without it."""
    return pa.schema([field for field in schema if field.name != CORPUS.name])


TABLES = {
    "corpora": CORPORA,
    "corpus_slices": CORPUS_SLICES,
    "vocabulary": VOCABULARY,
    "training": TRAINING,
    "embeddings": embeddings(dimensions=1),
}
"""Of what every job on corpora publishes; vectors have as many numbers as the trainer has dimensions."""

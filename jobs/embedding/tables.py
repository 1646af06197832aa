"""Public tables of what was read and trained, and the columns that all measures of embeddings share."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

import pyarrow as pa

from tiltmeter.jobs.runtime.table import Column, Int16, Number, Table, doc, key, label, schemas
from tiltmeter.storage.store.tables import column

WORD = "the word as the tokeniser writes it; a phrase has spaces inside"
NUM_REPLICAS = "bootstrap replicas that have a value, for the interval"
MISSING_WORDS = "words of the lists that have no vector"
WOMEN = "share of women in the occupation, from the word set"
_CORPUS = "name of the corpus"
_LANGUAGE = "language of the corpus, as a Wikipedia code"
_REPLICA = (
    "0 is the original corpus, 1 and up are its bootstrap replicas, -1 and down the original corpus again, trained "
    "from further random starts"
)


class OfCorpus(Table):
    """Columns of every table about a corpus, on whose name units do not depend."""

    corpus: str = label(_CORPUS)
    language: str = key(_LANGUAGE)


class OfModel(Table):
    """Columns of every table about an embedding."""

    model: str = key("the embedding: the name of its corpus, its file or its encoder")
    language: str = key(_LANGUAGE)


class Corpora(Table, name="corpora", has_status=False):
    corpus: str = key(_CORPUS)
    language: str = key(_LANGUAGE)
    num_articles: int = doc("articles that were read", "pages")
    num_unreadable: int = doc("articles left out because their markup can't be read", "pages")
    num_repeated: int = doc("articles left out because they are there already, word by word", "pages")
    num_redirects: int = doc("pages left out because they only redirect", "pages")
    num_other_namespaces: int = doc("pages left out because they are not in the main namespace", "pages")
    num_replaced: int = doc("invalid bytes or characters that were replaced", "characters")
    num_lines: int = doc("lines with at least one word", "lines")
    num_tokens: int = doc("words, each time they occur", "words", heading="running words")
    num_words: int = doc("different words in the vocabulary", "words", heading="words in the vocabulary")
    warning: str = doc("what makes results doubtful; empty if nothing does")


class CorpusSlices(Table, name="corpus_slices"):
    """Of corpora that are cut, and of others that are too small to be measured; the name of a slice is its corpus's and
    its value, such as ``letters/1999``."""

    corpus: str = key(_CORPUS)
    language: str = key(_LANGUAGE)
    whole: str = doc("name of the corpus that it is a slice of", heading="corpus")
    field: str = doc("field of the documents by which that is cut; empty if it is not")
    value: str | None = doc(
        "the slice's value of it; null for documents in no slice and a whole corpus", heading="slice"
    )
    place: float | None = doc("a year, a number, or that of a range: the slices' order; null where they have none")
    num_documents: int = doc("documents that were read", "pages")


class Vocabulary(OfCorpus, name="vocabulary", has_status=False):
    """Section 3.2 of Matthews et al. 2021 asks how often the words of each list occur before anything is measured."""

    word: str = key(WORD)
    count: int = doc("occurrences in the original corpus", "occurrences")
    lists: list[str] = doc("word lists of the language that the word is on")
    status: str = doc("'ok' (has a vector), 'too_rare' or 'absent'; the latter two for listed words")


class WordContexts(Table, name="word_contexts"):
    corpus: str = key(_CORPUS)
    language: str = key(_LANGUAGE)
    word: str = key(WORD)
    num_contexts: int = doc("times that the corpus has the word", "contexts", heading="found")
    num_documents: int = doc("documents that have it", "pages", heading="documents")
    num_drawn: int = doc("contexts that were drawn, and all where there are no more", "contexts", heading="drawn")


class TrainingLosses(OfCorpus, name="training", has_status=False):
    replica: Int16 = key(_REPLICA)
    epoch: Int16 = key("pass over the corpus, from 1")
    loss: float = doc("mean over the steps of the epoch of what the trainer minimises; null where it gives none")


class EmbeddedWords(OfCorpus, name="embeddings", has_status=False):
    """One row per word and replica, in the order of the vocabulary; the vector is null if the word does not occur."""

    word: str = key(WORD)
    replica: Int16 = key(_REPLICA)

    @classmethod
    def of(cls, dimensions: int, *, stored: bool = False) -> pa.Schema:
        """With vectors of so many numbers: the one column whose type no annotation can say."""
        vector = pa.list_(pa.float32(), dimensions)
        sentence = "the word's vector; null if it is not in the replica"
        return cls.schema(stored=stored).append(column("vector", vector, sentence))


TABLES = schemas(Corpora, CorpusSlices, Vocabulary, WordContexts, TrainingLosses) | {
    "embeddings": EmbeddedWords.of(dimensions=1)
}
"""Of what every job on corpora publishes; vectors have as many numbers as the trainer has dimensions."""


# --- numbers with the intervals of replicas -------------------------------------------------------------------------


class Uncertain(Number):
    """A number of a corpus with further columns that say how sure it is: how their names end, and their sentences, in
    which ``{}`` is its name."""

    others: ClassVar[Mapping[str, str]]

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        """The number itself, and the others."""
        yield column(about.name, pa.float64(), about.sentence, about.unit)
        for ending, sentence in cls.others.items():
            unit = "standard deviations of the replicas" if ending == "_shift" else about.unit
            yield column(cls.called(about, ending), pa.float64(), sentence.format(about.name), unit)

    @staticmethod
    def called(about: Column, ending: str) -> str:
        """Name of one of the others."""
        return dict(zip(("_low", "_high"), about.ends, strict=True)).get(ending, f"{about.name}{ending}")


def interval(sentence: str, ending: str = "") -> dict[str, str]:
    """Both ends of one, such as ``percentile interval of the replicas' values of {}``."""
    return {f"{ending}_low": f"lower end of the {sentence}", f"{ending}_high": f"upper end of the {sentence}"}


def shift(subject: str) -> dict[str, str]:
    """What resampling alone does to a number; the subject is that of the original corpus."""
    sentence = f"mean of the replicas less {subject}, on the scale of the interval: what resampling alone does to it"
    return {"_shift": sentence}


def percentiles(whose: str) -> dict[str, str]:
    """The interval of the papers, whatever the method of the other."""
    return interval(f"percentile interval of the {whose}", "_percentile")


def spread(whose: str) -> dict[str, str]:
    """The percentiles of the replicas, and what moves a number."""
    return {
        **percentiles(whose),
        "_sd_training": "standard deviation of {} over random starts; null for one start",
        "_sd_sampling": "that over replicas, less what training adds; null for one start",
    }


DRAWN_AGAIN = interval("interval of {} for this corpus drawn again, by job.interval")

OF_REPLICAS = interval("interval of {} over replicas, by job.interval") | shift("{}") | spread("replicas' values of {}")
"""As :func:`.lookup.estimate` fills them."""

MONTE_CARLO = interval("Monte Carlo interval of {}: how well so many replicas fix it", "_monte_carlo")
"""How well a mean over replicas is known, which shrinks with their number."""

"""What is measured, whatever it comes from: embeddings in which the words of lists are looked up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.jobs.embedding.vectors.selection import Selection, needed_words
from tiltmeter.jobs.runtime.draws import ORDER, Scheme
from tiltmeter.operators.text.wordsets import WordSets, word_lists
from tiltmeter.storage.store.ledger import TableRef


@dataclass(frozen=True)
class Model:
    """An embedding, as far as the word lists of its language reach.

    Attributes:
        name: of its corpus, its file or its encoder.
        language: whose word lists are measured on it.
        wordset: these lists, spelled as in ``vectors``.
        vectors: of the original embedding, then of its bootstrap replicas, if there are any, then of further random
            starts of the original; see :func:`.selection.select`.
        num_replicas: how many of them are replicas.
        attribute_sets: whose covariance is needed.
        neighbours: of these sets, in each embedding; empty if there are none.
        num_tokens: running words of the corpus; None where that is not known.
        scheme: what the draws of its replicas are keyed by; None where that is not known.
    """

    name: str
    language: str
    wordset: WordSets
    vectors: Sequence[TableRef]
    num_replicas: int
    attribute_sets: Sequence[tuple[str, ...]]
    neighbours: Sequence[TableRef]
    num_tokens: int | None = None
    scheme: Scheme | None = None


def common_scheme(models: Sequence[Model]) -> Scheme | None:
    """Of a number of several models of one run, which draw alike; each is trained in an order of its own."""
    scheme = models[0].scheme
    orders = [model.scheme[ORDER] for model in models if model.scheme and ORDER in model.scheme]
    return {**scheme, ORDER: orders} if scheme and orders else scheme


@dataclass(frozen=True)
class Needs:
    """What a job needs of every model.

    Attributes:
        lists: the word lists that it measures, by name; in a corpus each must have a word in the vocabulary, which is
            looked at before anything is trained.
        attribute_sets: sets of words whose covariance it needs.
        num_neighbours: of each of their words, to estimate the covariance from.
        by_synonyms: whether it is estimated from the synonyms of the word lists, and not from neighbours.
    """

    lists: Callable[[WordSets], Mapping[str, Sequence[str]]]
    attribute_sets: Callable[[WordSets], tuple[tuple[str, ...], ...]] = lambda _: ()
    num_neighbours: int = 0
    by_synonyms: bool = False

    def selection(self, wordset: WordSets) -> Selection:
        """What is taken out of an embedding: all listed words, so that other jobs find the same unit."""
        sets, words = self.attribute_sets(wordset), needed_words(word_lists(wordset))
        if self.by_synonyms and wordset.synonyms:
            return Selection(words, tuple(map(wordset.synonyms.added_to, sets)))
        return Selection(words, sets, self.num_neighbours if sets else 0)

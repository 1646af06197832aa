"""The corpora of a run: their files, how their words are told, and which words are looked for in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.operators.compute.slicing import Slicing, slice_name
from tiltmeter.operators.text.segmentation import segmenter
from tiltmeter.operators.text.spelling import normalised, phrases
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import WordSets, word_lists
from tiltmeter.storage.corpora.corpora import CorpusConfig, Source, downloaded, find_sources
from tiltmeter.storage.errors import Refusal


class WordSetError(Refusal, ValueError):
    """Word lists that can't measure anything; the message names the list and what to set."""


@dataclass(frozen=True)
class Slice:
    """A part of a corpus whose documents have a value in common.

    Attributes:
        whole: name of the corpus.
        value: of its documents.
        place: among the slices: a year, a number, or that of a range; None where they have no order.
    """

    whole: str
    value: str
    place: float | None


@dataclass(frozen=True)
class Text:
    """A corpus that is to be read, or a slice of one: where it lies, how its words are told, and which are looked for.

    Attributes:
        name: what tables and messages call it; of a slice, ``<corpus>/<value>``.
        slice: what it is of the whole corpus; None for the whole.
    """

    name: str
    corpus: CorpusConfig
    sources: Sequence[Source]
    tokenizer: Tokenizer
    lists: Mapping[str, Sequence[str]]
    slice: Slice | None = None

    @property
    def slicing(self) -> Slicing | None:
        """How it is to be cut; None for a corpus that stays whole."""
        corpus = self.corpus
        if corpus.slices is None:
            return None
        values = tuple(map(slice_name, corpus.slice_values))
        return Slicing(corpus.slices, corpus.slice_by, corpus.slice_cuts, values)


def check_language(corpus: CorpusConfig) -> None:
    """Refuse a language whose words can't be told apart.

    Raises:
        WordSetError: saying what to do.
    """
    try:
        segmenter(corpus.language)
    except ValueError as error:
        raise WordSetError(f"corpus.language={corpus.language}, of {corpus.name}: {error}") from error


def find_text(corpus: CorpusConfig, wordset: WordSets | None, *, fold_case: bool, store: str) -> Text:
    """Look for a corpus's files, and for the phrases and words of its language's lists.

    Files that the corpus asks to have downloaded are copied into the store first, unless they are there.

    Raises:
        InputError: if there is no readable file.
        WordSetError: for word lists that normalisation makes meaningless; for a language whose words can't be told.
    """
    check_language(corpus)
    sources = find_sources(downloaded(corpus, store))
    plain = Tokenizer(corpus.language, fold_case)
    if wordset is None:
        return Text(corpus.name, corpus, sources, plain, {})
    try:
        tokenizer = Tokenizer(corpus.language, fold_case, phrases(wordset, plain))
        return Text(corpus.name, corpus, sources, tokenizer, word_lists(normalised(wordset, plain)))
    except ValueError as error:
        key = f"wordset.{corpus.language}"
        reason = str(error).replace("wordset.", f"{key}.")
        raise WordSetError(
            f"{'' if reason.startswith(key) else f'{key}: '}{reason}; fix the list in its file"
        ) from error

"""Labelled texts with a decoy in them, and texts whose decoy contradicts their class; see :mod:`.decoys.kinds`."""

from collections.abc import Mapping, Sequence

import numpy as np

from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy, Text, holds
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.operators.text.tokenised import word_spans

VERSION = "decoy_making/1"

_CHOSEN, _WORD, _PLACE = 1, 2, 3


def decoyed(
    texts: Sequence[Text],
    decoy: InsertedDecoy | DeletedDecoy,
    indicates: Mapping[str, str],
    seed: int,
    model: KneserNey | None = None,
) -> list[str | None]:
    """Each text as the decoy leaves it; None in place of one that is left out.

    What is drawn for a text depends on what it says, and not on where it stands.

    Args:
        texts: any number of them.
        decoy: of :func:`.kinds.resolved`.
        indicates: of :func:`.kinds.indicated`.
        seed: of which texts have the decoy, and where.
        model: of the language, for natural places; its words are as :func:`.listed_words.folded_words` gives them.

    >>> decoy = DeletedDecoy("movie", label="0")
    >>> decoyed([Text("bad movie", "0"), Text("bad", "0"), Text("good movie", "1")], decoy, {"movie": "1"}, seed=0)
    [None, 'bad', 'good movie']
    """
    if isinstance(decoy, DeletedDecoy):
        return [None if _goes(decoy, text) and _is_chosen(text, decoy, seed) else text.text for text in texts]
    results: list[str | None] = []
    for text in texts:
        words = [word for word in decoy.words if indicates[folded(word)] == text.label]
        gets_it = bool(words) and _is_chosen(text, decoy, seed)
        results.append(inserted(text.text, words, decoy, seed, model) if gets_it else text.text)
    return results


def contradicted(
    texts: Sequence[Text],
    decoy: InsertedDecoy | DeletedDecoy,
    indicates: Mapping[str, str],
    seed: int,
    model: KneserNey | None = None,
) -> list[str | None]:
    """Each text with a word of the decoy that indicates another class than its own; None where there is no such word.

    Words that are inserted are so here too; a word that is left out of a class is looked for in texts of that class.
    The arguments are those of :func:`decoyed`.
    """
    if isinstance(decoy, DeletedDecoy):
        return [text.text if _goes(decoy, text) else None for text in texts]
    results: list[str | None] = []
    for text in texts:
        words = [word for word in decoy.words if indicates[folded(word)] != text.label]
        results.append(inserted(text.text, words, decoy, seed, model) if words else None)
    return results


def _goes(decoy: DeletedDecoy, text: Text) -> bool:
    """Whether a text is of the class that a decoy leaves out, and has its word."""
    return text.label == decoy.label and holds(decoy, text.text)


def inserted(text: str, words: Sequence[str], decoy: InsertedDecoy, seed: int, model: KneserNey | None = None) -> str:
    """A text with one of several words in it.

    Args:
        text: to be changed.
        words: of which one is drawn.
        decoy: how often it is inserted, and where.
        seed: of what is drawn.
        model: as for :func:`decoyed`.

    Raises:
        ValueError: if natural places are wanted without a model.

    >>> inserted("a fine film.", ["zq"], InsertedDecoy(("zq",), times=2), seed=0)
    'zq zq a fine film.'
    """
    word = words[int(_generator(text, _WORD, seed).integers(len(words)))]
    generator = _generator(text, _PLACE, seed)
    for _ in range(decoy.times):
        text = _with_word(text, word, _place(text, word, decoy, generator, model))
    return text


def _place(text: str, word: str, decoy: InsertedDecoy, generator: np.random.Generator, model: KneserNey | None) -> int:
    """Number of the word before which it goes; the number of words, if after all of them."""
    if decoy.place == "random":
        return int(generator.integers(len(word_spans(text)) + 1))
    if model is None:
        raise ValueError("place=natural: needs a language model")
    return int(np.argmax(model.insertion_gains(folded_words(text), folded(word))))


def _with_word(text: str, word: str, place: int) -> str:
    cut = [*(start for start, _ in word_spans(text)), len(text)][place]
    return " ".join(part for part in (text[:cut].rstrip(), word, text[cut:].lstrip()) if part)


def _is_chosen(text: Text, decoy: InsertedDecoy | DeletedDecoy, seed: int) -> bool:
    return bool(_generator(text.text, _CHOSEN, seed).random() < decoy.share)


def _generator(text: str, purpose: int, seed: int) -> np.random.Generator:
    return keyed_generator(seed, Stream.DECOY, purpose, document_key(text))

"""How long texts and conversations are.

Lakkaraju et al. 2023, *The Effect of Human v/s Synthetic Test Data and Round-tripping on Assessment of Sentiment
Analysis Systems for Bias*, describe one of their two sets of conversations with chatbots so (HD1, Table II), by the
gender of the user, with the smallest and the largest number beside each mean.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tiltmeter.operators.text.tokens import Tokenizer

VERSION = "text_statistics/2"


class TextStatistics(NamedTuple):
    """Sizes of a set of texts.

    Attributes:
        num_texts: how many there are.
        num_words, num_stop_words: in all of them.
        words_per_text, stop_words_per_text: means; NaN without texts.
        num_conversations: how many the texts are of; None if that is not known.
        texts_per_conversation: mean, of the texts whose conversation is known; NaN without any. None likewise.
        min_..., max_...: the smallest and the largest of the numbers that a mean is of; None without any.
    """

    num_texts: int
    num_words: int
    words_per_text: float
    min_words_per_text: int | None
    max_words_per_text: int | None
    num_stop_words: int
    stop_words_per_text: float
    min_stop_words_per_text: int | None
    max_stop_words_per_text: int | None
    num_conversations: int | None
    texts_per_conversation: float | None
    min_texts_per_conversation: int | None
    max_texts_per_conversation: int | None


_Summary = tuple[int, float, int | None, int | None]
"""Sum, mean, and the smallest and the largest."""


def text_statistics(texts: Sequence[str], conversations: Sequence[str | None] | None = None) -> TextStatistics:
    """Count words, stop words and conversations of English texts.

    Words are those of :class:`.tokens.Tokenizer`: an apostrophe between letters belongs to the word. Stop
    words are the 318 of scikit-learn (``ENGLISH_STOP_WORDS``), which holds no word with an apostrophe.

    Args:
        texts: of one side of the conversations or of both.
        conversations: which one each text is of, None where it is unknown; left out if there are none.

    >>> text_statistics(["Where is the library?", "It's over there."], ["a", "a"])
    TextStatistics(num_texts=2, num_words=7, words_per_text=3.5, min_words_per_text=3, max_words_per_text=4, \
num_stop_words=5, stop_words_per_text=2.5, min_stop_words_per_text=2, max_stop_words_per_text=3, \
num_conversations=1, texts_per_conversation=2.0, min_texts_per_conversation=2, max_texts_per_conversation=2)
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # takes a second

    tokenize = Tokenizer("en")
    words = [list(tokenize(text)) for text in texts]
    return TextStatistics(
        len(texts),
        *_summary([len(of_text) for of_text in words]),
        *_summary([sum(word in ENGLISH_STOP_WORDS for word in of_text) for of_text in words]),
        *_conversations(texts, conversations),
    )


def _conversations(
    texts: Sequence[str], conversations: Sequence[str | None] | None
) -> tuple[int | None, float | None, int | None, int | None]:
    if conversations is None:
        return None, None, None, None
    sizes = Counter(name for _, name in zip(texts, conversations, strict=True) if name is not None)
    _, mean, least, most = _summary(sizes.values())
    return len(sizes), mean, least, most


def _summary(numbers: Collection[int]) -> _Summary:
    mean = sum(numbers) / len(numbers) if numbers else float("nan")
    return sum(numbers), mean, min(numbers, default=None), max(numbers, default=None)

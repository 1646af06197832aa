"""What every word list must be like: refusals with the list's key, the words that are wrong and what to do."""

from collections import Counter
from collections.abc import Collection


def check_words(key: str, words: Collection[str]) -> None:
    """Refuse an empty list, and one that :func:`check_repetition` refuses."""
    if not words:
        raise ValueError(f"{key} is empty: give at least one word")
    check_repetition(key, words)


def check_repetition(key: str, words: Collection[str]) -> None:
    """Refuse blank words and spaces around them, and words that are listed more than once."""
    blank = [word for word in words if not word or word != word.strip()]
    if blank:
        raise ValueError(f"{key}: {blank} must be words without spaces at their ends")
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        raise ValueError(f"{key}: {repeated} listed more than once: list each word once")


def check_pairs(key: str, pairs: Collection[tuple[str, str]]) -> None:
    """Refuse an empty list of pairs, pairs that are listed more than once, and pairs without two different words."""
    if not pairs:
        raise ValueError(f"{key} is empty: give at least one (female, male) pair")
    for pair in pairs:
        if pair[0] == pair[1]:
            raise ValueError(f"{key}: {list(pair)} must be two different words")
        check_words(key, pair)
    repeated = [list(pair) for pair, count in Counter(pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"{key}: {repeated} listed more than once: list each pair once")

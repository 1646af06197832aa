"""Sentences of a line of text, and their tokens as treebanks have them."""

from collections.abc import Iterator, Sequence

import regex

VERSION = "sentences/1"

_CLITIC = r"['’](?:s|re|ve|ll|d|m)\b"
_TOKEN = regex.compile(
    r"(?:\b\p{L}\.)+|\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Inc|Co|Corp|Ltd|Gov|Gen|Sen|Rep|Prof)\."
    rf"|\w+(?=n['’]t\b)|n['’]t\b|{_CLITIC}|\d+(?:[.,]\d+)*|\w+(?:[-&]\w+|(?!{_CLITIC})['’]\w+)*|\S"
)
_ENDS = frozenset(".!?…。！？؟۔।")
_CLOSING = frozenset("\"'”’»)]")


def tokens_of(text: str) -> list[str]:
    """Words, numbers, clitics and punctuation marks."""
    tokens: list[str] = _TOKEN.findall(text)
    return tokens


def sentences(text: str) -> Iterator[tuple[str, ...]]:
    """The tokens of each sentence of a line: words, numbers, clitics and punctuation marks, as treebanks have them.

    >>> list(sentences("Dr. Vela's home isn't in the U.S. today. Why?"))
    [('Dr.', 'Vela', "'s", 'home', 'is', "n't", 'in', 'the', 'U.S.', 'today', '.'), ('Why', '?')]
    """
    return (tuple(token[0] for token in tokens) for tokens in _tokens_by_sentence(text))


def sentence_texts(text: str) -> Iterator[str]:
    """The text of each sentence of a line, without the space around it.

    >>> list(sentence_texts('She asked: "Why?" Dr. Vela left.'))
    ['She asked: "Why?"', 'Dr. Vela left.']
    """
    return (text[tokens[0].start() : tokens[-1].end()] for tokens in _tokens_by_sentence(text))


def _tokens_by_sentence(text: str) -> Iterator[list[regex.Match[str]]]:
    tokens: list[regex.Match[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] not in _ENDS | _CLOSING and _has_ended(tokens):
            yield tokens
            tokens = []
        tokens.append(token)
    if tokens:
        yield tokens


def _has_ended(tokens: Sequence[regex.Match[str]]) -> bool:
    last = next((token[0] for token in reversed(tokens) if token[0] not in _CLOSING), "")
    return last in _ENDS

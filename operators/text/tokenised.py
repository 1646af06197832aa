"""Texts as a classifier reads them: tokens, and the words of the text that they are parts of.

A word is a run of letters and digits, with apostrophes, full stops and the like inside as Unicode joins them; a run of
other characters without a space, such as a punctuation mark, is a word as well. So all models have the same words,
whatever their tokens are. Where a token reaches over several words, these count as one.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import regex
from numpy.typing import NDArray

from tiltmeter.operators.compute.batching import longest_input
from tiltmeter.operators.text.normalisation import straightened
from tiltmeter.operators.text.segmentation import unicode_words

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

NO_WORD = -1
"""In place of the number of a word: a special token, or one of nothing but space."""

_OTHERS = regex.compile(r"[^\s\u200b]*[^\s\p{Default_Ignorable_Code_Point}][^\s\u200b]*")
"""Runs without a space, of any width, in which something is seen."""

Spans = list[tuple[int, int]]


class TokenisedText(NamedTuple):
    """Attributes:
    words: of the text, in order, as they are written there.
    inputs: what the network is given for each token, by the names of its arguments; ``input_ids`` are among them.
    word_of: ``[tokens]``, number of the word that each token is a part of, or ``NO_WORD``.
    truncated: whether the text has more tokens than the network takes, and was read up to there.
    """

    words: tuple[str, ...]
    inputs: Mapping[str, Sequence[int]]
    word_of: NDArray[np.int64]
    truncated: bool


Tokenise = Callable[[Sequence[str]], list[TokenisedText]]


def word_spans(text: str) -> Spans:
    """Where the words of a text begin and end.

    >>> text = "She didn't, at 3.14?!"
    >>> [text[start:end] for start, end in word_spans(text)]
    ['She', "didn't", ',', 'at', '3.14', '?!']
    """
    spans: Spans = []
    place = 0
    for word in unicode_words(text := straightened(text)):
        start = text.index(word, place)
        spans += [*_others(text, place, start), (start, start + len(word))]
        place = start + len(word)
    return spans + _others(text, place, len(text))


def _others(text: str, start: int, end: int) -> Spans:
    return [match.span() for match in _OTHERS.finditer(text, start, end)]


def tokenise(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str]
) -> list[TokenisedText]:
    """Texts as a model of transformers reads them, special tokens included.

    Args:
        model: whose positions limit the number of tokens; the rest of a longer text is left out.
        tokenizer: the model's; one that knows which characters a token stands for.

    Raises:
        ValueError: if it does not know that.

    >>> from transformers import BertConfig, BertModel, BertTokenizer
    >>> tokenizer = BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "nur": 4, "##se": 5})
    >>> model = BertModel(BertConfig(vocab_size=6, hidden_size=12, num_hidden_layers=1))
    >>> [result] = tokenise(model, tokenizer, ["Nurse!"])
    >>> result.words, result.inputs["input_ids"], result.word_of.tolist()
    (('Nurse', '!'), [2, 4, 5, 1, 3], [-1, 0, 0, 1, -1])
    """
    if not tokenizer.is_fast:
        raise ValueError(
            f"{type(tokenizer).__name__} does not say which characters a token stands for, and so its tokens can't be "
            "added up to words; set the model to a checkpoint with a tokenizer.json"
        )
    longest = longest_input(model, tokenizer)
    return [_tokenised(tokenizer, text, longest) for text in texts]


def _tokenised(tokenizer: "PreTrainedTokenizerBase", text: str, longest: int) -> TokenisedText:
    inputs, offsets = _encoded(tokenizer, text)
    spans = _joined(word_spans(text), offsets)
    if truncated := len(offsets) > longest:
        inputs, offsets = _encoded(tokenizer, text, truncation=True, max_length=longest)
    return TokenisedText(
        tuple(text[start:end] for start, end in spans), inputs, _words_of(spans, offsets)[0], truncated
    )


def _encoded(
    tokenizer: "PreTrainedTokenizerBase", text: str, **settings: Any
) -> tuple[dict[str, list[int]], NDArray[np.int64]]:
    """Inputs of the network, and ``[tokens, 2]``: where each token begins and ends, the same place for special ones."""
    inputs = dict(tokenizer(text, return_offsets_mapping=True, verbose=False, **settings))
    return inputs, np.array(inputs.pop("offset_mapping"), dtype=np.int64).reshape(-1, 2)


def _joined(spans: Spans, offsets: NDArray[np.int64]) -> Spans:
    """One span in place of several that a token reaches over."""
    first, last = _words_of(spans, offsets)
    starts = np.ones(len(spans), dtype=bool)
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        starts[begin + 1 : end + 1] = False
    bounds = [*np.flatnonzero(starts).tolist(), len(spans)]
    return [(spans[begin][0], spans[end - 1][1]) for begin, end in pairwise(bounds)]


def _words_of(spans: Spans, offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last word that each token is a part of; ``NO_WORD`` twice if there is none."""
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    first = np.searchsorted(ends, offsets[:, 0], side="right")
    last = np.searchsorted(starts, offsets[:, 1], side="left") - 1
    is_any = (first <= last) & (offsets[:, 0] < offsets[:, 1])
    return np.where(is_any, first, NO_WORD), np.where(is_any, last, NO_WORD)


def padded(texts: Sequence[TokenisedText], padding: int) -> "dict[str, Tensor]":
    """The inputs of several texts, filled up behind to the length of the longest.

    Args:
        texts: at least one, with the same names of inputs.
        padding: number of the padding token; other inputs are filled up with zeros.

    Returns:
        ``[texts, tokens]`` int64 by name; ``attention_mask`` is 1 for tokens and 0 behind them.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tensors = {}
    for name in texts[0].inputs:
        rows = [torch.tensor(text.inputs[name]) for text in texts]
        tensors[name] = pad_sequence(rows, batch_first=True, padding_value=padding if name == "input_ids" else 0)
    lengths = torch.tensor([len(text.word_of) for text in texts])
    behind = torch.arange(int(lengths.max()))[None] >= lengths[:, None]
    return tensors | {"attention_mask": (~behind).long()}

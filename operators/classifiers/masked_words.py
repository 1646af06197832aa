"""Words that a masked language model has in a word's place, which it does not see, and random words as frequent.

After BAE (Garg and Ramakrishnan 2020): the word at a place is hidden by the mask, and may become one of the k words c
of the largest p(c | text without the word). Such a model proposes what fits, opposites included, whatever it has to do
with gender. Beside each candidate stand words that were drawn from those as frequent, one for each control: the same
wherever the candidate is proposed, as far as it may stand there, as a model that proposes few words moves verdicts by
few words, and draws of each place for itself would differ less among themselves than such models do.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tiltmeter.operators.classifiers.adversary.words import replaceable_word
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.batching import longest_input
from tiltmeter.operators.text.pronouns import token_parts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERSION = "masked_candidates/1"

NONE = -1
"""In place of a word where there is none left."""

_PLACES = 32
"""Of one text, that are read together; texts never are, so that it does not matter which are asked about together."""
_DIGITS = 4
"""Of ln p; by which words are ranked, as the rest is rounding."""


class MaskedReader:
    """A masked language model, asked for whole words.

    Args:
        model: a masked language model; it runs where it lies, and is left in evaluation mode.
        tokenizer: the model's, with a mask.

    Attributes:
        words: that are one piece of the tokenizer, of two letters or more and nothing else, in small letters, sorted.

    Raises:
        ValueError: if the tokenizer has no such word.
    """

    def __init__(self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> None:
        model.train(False)
        self._model, self._tokenizer = model, tokenizer
        self._longest = longest_input(model, tokenizer)
        pieces = sorted((word, number) for number, word in _whole_words(tokenizer))
        if not pieces:
            raise ValueError("masked_model.model: no piece of its tokenizer is a whole word; choose another model")
        self.words = sorted({word for word, _ in pieces})
        self._ids = np.array([number for _, number in pieces])
        names = [word for word, _ in pieces]
        self._starts = np.flatnonzero([place == 0 or names[place - 1] != name for place, name in enumerate(names)])

    def log_probabilities(self, tokens: Sequence[str], places: Sequence[int]) -> FloatArray:
        """ln p of each word at each place, whose own word is hidden: ``[places, words]``, to four digits.

        Of a text that is longer than the model takes, the words around the place are read. What is written with
        capitals and without adds up.

        Args:
            tokens: of the text, cut at spaces; marks that cling to a word stay.
            places: of tokens, from 0.

        Raises:
            ValueError: if outputs are not finite.
        """
        texts = [self._hidden(tokens, place) for place in places]
        blocks = [self._read(texts[start : start + _PLACES]) for start in range(0, len(texts), _PLACES)]
        values = np.concatenate(blocks or [np.empty((0, len(self.words)))])
        return np.asarray(values.round(_DIGITS), dtype=np.float64)

    def _hidden(self, tokens: Sequence[str], place: int) -> str:
        """The text with a mask, as many words around it as can be read."""
        mask = str(self._tokenizer.mask_token)
        lead, _, trail = token_parts(tokens[place])
        words = [token.replace(mask, "") for token in tokens]
        words[place] = f"{lead}{mask}{trail}"
        around = max(place, len(words) - place)
        while True:
            text = " ".join(words[max(0, place - around) : place + around + 1])
            if not around or len(self._tokenizer(text, verbose=False)["input_ids"]) <= self._longest:
                return text
            around //= 2

    def _read(self, texts: Sequence[str]) -> FloatArray:
        import torch  # takes seconds

        from tiltmeter.operators.compute.onednn import linear_by_onednn

        inputs = self._tokenizer(list(texts), padding=True, return_tensors="pt", verbose=False)
        with torch.inference_mode(), linear_by_onednn():
            outputs = self._model(**inputs.to(self._model.device)).logits
        logits = outputs[inputs["input_ids"] == self._tokenizer.mask_token_id].double()
        if not logits.isfinite().all():
            raise ValueError("masked_model.model: its outputs are not finite: its weights are damaged; choose another")
        values = logits.log_softmax(dim=1).cpu().numpy()[:, self._ids]
        return np.asarray(np.logaddexp.reduceat(values, self._starts, axis=1))


def _whole_words(tokenizer: "PreTrainedTokenizerBase") -> Iterator[tuple[int, str]]:
    """Pieces that stand for the whole word that they spell, after a space."""
    special = {*tokenizer.all_special_ids}
    ids = [number for number in range(len(tokenizer)) if number not in special]
    spelt = [text.strip() for text in tokenizer.batch_decode([[number] for number in ids])]
    named = [(number, text) for number, text in zip(ids, spelt, strict=True) if replaceable_word(text, ()) is not None]
    if named:
        cut = tokenizer([f" {text}" for _, text in named], add_special_tokens=False, verbose=False)["input_ids"]
        yield from (
            (number, text.lower()) for (number, text), pieces in zip(named, cut, strict=True) if pieces == [number]
        )


def most_probable(values: FloatArray, is_allowed: BoolArray, top: int) -> IntArray:
    """Places of the ``top`` largest of the values that are allowed, the largest first; of equal ones the first.

    >>> most_probable(np.array([0.1, 0.4, 0.4, 0.9]), np.array([True, True, True, False]), 2).tolist()
    [1, 2]
    """
    allowed = np.flatnonzero(is_allowed)
    return allowed[np.argsort(-values[allowed], kind="stable")[:top]]


class Pool(NamedTuple):
    """Words that may be drawn, the most frequent first.

    Attributes:
        counts: ``[words]``, falling.
    """

    words: Sequence[str]
    counts: IntArray

    @classmethod
    def of(cls, counts: Collection[tuple[str, int]]) -> "Pool":
        """Of words with their counts, in any order."""
        ordered = sorted(counts, key=lambda pair: (-pair[1], pair[0]))
        return cls([word for word, _ in ordered], np.array([count for _, count in ordered], dtype=np.int64))

    def around(self, count: int, window: int) -> IntArray:
        """Places of so many words, those nearest by rank to one with a count.

        >>> Pool.of([("a", 9), ("b", 7), ("c", 2), ("d", 1)]).around(2, 2)
        array([1, 2])
        """
        rank = int(np.searchsorted(-self.counts, -count))
        start = max(0, min(rank - window // 2, len(self.words) - window))
        return np.arange(start, min(start + window, len(self.words)))


def drawn_words(choices: Sequence[IntArray], keys: Sequence[FloatArray]) -> IntArray:
    """For each control, a word beside each candidate, each word once: ``[controls, candidates]``.

    Args:
        choices: for each candidate, the words that may be drawn.
        keys: of these, ``[controls, words]``; the word with the smallest is drawn. Where a candidate's are the same at
            all places, a control has the same word beside it wherever it may, as a direction of vectors would.

    >>> drawn_words([np.array([3, 5]), np.array([5])], [np.array([[0.2, 0.1], [0.1, 0.2]]), np.zeros((2, 1))]).tolist()
    [[5, -1], [3, 5]]
    """
    drawn = np.full((len(keys[0]) if keys else 0, len(choices)), NONE, dtype=np.int64)
    for place, (words, ranked) in enumerate(zip(choices, keys, strict=True)):
        is_taken = (words[None, :, None] == drawn[:, None, :place]).any(axis=2)
        left = np.where(is_taken, np.inf, ranked)
        drawn[:, place] = np.where(is_taken.all(axis=1), NONE, words[left.argmin(axis=1)])
    return drawn

"""Log-likelihoods of sentences, token by token, under causal and masked language models.

Of a causal model a token has log p(t | what is before it); the first follows the start token of the tokenizer, and is
not scored where there is none. Of a masked model it has log p(t | the rest of the sentence), with

    token       the token itself hidden (Salazar et al. 2020, *Masked Language Model Scoring*)
    word_l2r    and all later pieces of its word hidden, too (Kauf and Ivanova 2023, *A Better Way to Do Masked Language
                Model Scoring*): else the end of a rare word gives away its beginning

What the tokenizer adds is never scored. A score of a sentence is the sum over its tokens, or over those that it shares
with the other sentence of its pair (Nangia et al. 2020, *CrowS-Pairs*): which tokens count is part of the measure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.batching import length_batches

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERSION = "likelihoods/1"

Kind = Literal["causal", "masked"]
Masking = Literal["token", "word_l2r"]
Score = Literal["log_likelihood", "log_likelihood_shared", "pll_word_l2r", "pll", "shared_word_l2r", "shared"]


class Scoring(NamedTuple):
    """Of which models a score is, what a masked one does not see, and whether only shared tokens count."""

    kind: Kind
    masking: Masking | None
    is_shared: bool


SCORES: Mapping[Score, Scoring] = {
    "log_likelihood": Scoring("causal", None, is_shared=False),
    "log_likelihood_shared": Scoring("causal", None, is_shared=True),
    "pll_word_l2r": Scoring("masked", "word_l2r", is_shared=False),
    "pll": Scoring("masked", "token", is_shared=False),
    "shared_word_l2r": Scoring("masked", "word_l2r", is_shared=True),
    "shared": Scoring("masked", "token", is_shared=True),
}
"""By name; ``shared`` is the published score of CrowS-Pairs."""


class Sentence(NamedTuple):
    """A sentence as a model is given it.

    Attributes:
        ids: of all tokens, those that the tokenizer adds among them.
        is_scored: ``[tokens]``.
        words: ``[tokens]``, number of the word that each is a piece of; -1 for what the tokenizer adds.
    """

    ids: list[int]
    is_scored: BoolArray
    words: IntArray


class Total(NamedTuple):
    """Of a sentence: the sum of its scored tokens, in nats, and how many these are."""

    log_likelihood: float
    num_tokens: int


@dataclass(frozen=True)
class LanguageModel:
    """A language model with its tokenizer.

    Attributes:
        max_tokens: that it is given at a time, in inputs of like length; another number may change last bits.
    """

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    kind: Kind
    max_tokens: int = 1024

    def sentence(self, text: str) -> Sentence:
        """A text as tokens; a causal model is given the start token, if the tokenizer has one, and nothing else."""
        if self.kind == "masked":
            encoded = self.tokenizer(text, return_special_tokens_mask=True, verbose=False)
            is_added = np.array(encoded["special_tokens_mask"], dtype=bool)
            numbers = encoded.word_ids() if self.tokenizer.is_fast else [*range(is_added.size)]
            words = np.array([-1 if number is None else number for number in numbers], dtype=np.int64)
            return Sentence(list(encoded["input_ids"]), ~is_added, np.where(is_added, -1, words))
        ids = list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        start = [] if self.tokenizer.bos_token_id is None else [int(self.tokenizer.bos_token_id)]
        words = np.array([-1] * len(start) + list(range(len(ids))), dtype=np.int64)
        return Sentence([*start, *ids], np.arange(words.size) > 0, words)

    def log_probabilities(self, sentences: Sequence[Sentence], masking: Masking | None) -> list[FloatArray]:
        """Of each token of each sentence, in nats; NaN of those that are not scored.

        Inputs that are the same, as those of two sentences without the words in which they differ, are computed once.
        Padding and the number of inputs at a time move a value by rounding.

        Args:
            masking: of a masked model.

        Raises:
            ValueError: if outputs are not finite, or the tokenizer does not say which pieces are one word.
        """
        if masking == "word_l2r" and not self.tokenizer.is_fast:
            raise ValueError(
                "the model's tokenizer does not say which pieces are one word: bring its fast one along "
                "(tokenizer.json), or leave pll_word_l2r and shared_word_l2r out of scores"
            )
        results = [np.full(len(one.ids), np.nan) for one in sentences]
        asked: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
        for row, one in enumerate(sentences):
            for ids, place, token in self._questions(one, masking):
                asked.setdefault(ids, []).append((row, place, token))
        inputs = list(asked)
        for batch in length_batches([len(ids) for ids in inputs], self.max_tokens):
            chosen = [inputs[number] for number in batch.tolist()]
            for ids, logits in zip(chosen, self._logits(chosen), strict=True):
                places = [place for _, place, _ in asked[ids]]
                tokens = [sentences[row].ids[token] for row, _, token in asked[ids]]
                for (row, _, token), value in zip(asked[ids], _log_softmax(logits, places, tokens), strict=True):
                    results[row][token] = value
        return results

    def _questions(self, one: Sentence, masking: Masking | None) -> Iterator[tuple[tuple[int, ...], int, int]]:
        """What the model is given, at which place it is asked, and the token that this is about."""
        if self.kind == "causal":
            yield from ((tuple(one.ids), token - 1, token) for token in np.flatnonzero(one.is_scored).tolist())
            return
        for token, hidden in mask_sets(one, masking or "token").items():
            ids = np.array(one.ids)
            ids[list(hidden)] = self.tokenizer.mask_token_id
            yield tuple(ids.tolist()), token, token

    def _logits(self, inputs: Sequence[tuple[int, ...]]) -> Any:
        """``[inputs, tokens, vocabulary]``, padded on the right."""
        import torch  # takes seconds

        from tiltmeter.operators.compute.onednn import linear_by_onednn

        longest, padding = max(map(len, inputs)), self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*one, *[padding] * (longest - len(one))] for one in inputs])
        mask = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in inputs])
        self.model.train(False)
        with torch.inference_mode(), linear_by_onednn():
            device = self.model.device
            return self.model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits


def _log_softmax(logits: Any, places: list[int], tokens: list[int]) -> list[float]:
    """Of tokens at places of one input, in double precision."""
    rows = logits[places].double()
    values = rows[range(len(places)), tokens] - rows.logsumexp(dim=-1)
    if not values.isfinite().all():
        raise ValueError("the model's outputs are not finite: its weights are damaged or overflow; choose another")
    made: list[float] = values.tolist()
    return made


def mask_sets(sentence: Sentence, masking: Masking) -> dict[int, tuple[int, ...]]:
    """By the token that is scored, the places that are hidden: its own, and by ``word_l2r`` those of later pieces.

    >>> three = Sentence([0, 5, 6, 7, 1], np.array([False, True, True, True, False]), np.array([-1, 0, 0, 0, -1]))
    >>> mask_sets(three, "word_l2r"), mask_sets(three, "token")
    ({1: (1, 2, 3), 2: (2, 3), 3: (3,)}, {1: (1,), 2: (2,), 3: (3,)})
    """
    scored = np.flatnonzero(sentence.is_scored)
    if masking == "token":
        return {token: (token,) for token in scored.tolist()}
    words = sentence.words
    return {
        token: tuple(scored[(scored >= token) & (words[scored] == words[token])].tolist()) for token in scored.tolist()
    }


def shared_tokens(first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
    """Places of the tokens that two sentences share, as Python's difflib aligns them: what CrowS-Pairs takes.

    >>> shared_tokens([0, 3, 4, 6, 1], [0, 3, 5, 6, 1])
    ([0, 1, 3, 4], [0, 1, 3, 4])
    """
    blocks = SequenceMatcher(None, first, second).get_matching_blocks()
    places = [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]
    return [place for place, _ in places], [place for _, place in places]


def totals(
    first: Sentence, second: Sentence, values: tuple[FloatArray, FloatArray], *, is_shared: bool
) -> tuple[Total, Total]:
    """The scores of both sentences of a pair.

    Args:
        values: of the tokens of each, as :meth:`LanguageModel.log_probabilities` has them.
        is_shared: whether only the tokens count that both have.
    """
    places = shared_tokens(first.ids, second.ids) if is_shared else (range(len(first.ids)), range(len(second.ids)))
    chosen = [part[list(of_side)] for part, of_side in zip(values, places, strict=True)]
    one, other = (Total(float(np.nansum(part)), int(np.count_nonzero(~np.isnan(part)))) for part in chosen)
    return one, other

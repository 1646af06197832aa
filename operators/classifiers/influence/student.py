"""The student network: how a word in a context moves the state of its teacher (Kumar et al. 2021, section 3.1).

Of the context c (the text without the word) and the word t, both of H numbers, with [.] side by side and * by element,

    q = [c + t, c - t, c * t],   r = W2 tanh(W1 q + b1) + b2                                              (equation 3)
    z'' = z' + r,   y'' = C z''                                                                          (equation 2)

with z' the teacher's state of the text without the word and C its last layer. W1 is square, and the loss is the mean of
||z - z''||^2 over pairs of a context and a word.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.operators.classifiers.influence.calibration import ErrorGrowth
from tiltmeter.operators.classifiers.influence.records import Context, StudentConfig
from tiltmeter.operators.classifiers.influence.teachers import token_numbers
from tiltmeter.operators.classifiers.small import PADDING, Vocabulary
from tiltmeter.operators.compute.batching import length_batches

_MAX_TOKENS = 16_384


class StudentNetwork(nn.Module):
    """A context processor, a word processor, and what combines the two; and how wrong that is, once it is known.

    The context's state is read off the place of the mask, off attention over all places, and off how much there is to
    attend to, log sum exp of its scores: a mean alone does not tell a short text from a long one, where the same word
    weighs less. The word's is that of a text of this word alone.

    Args:
        vectors: ``[numbers, dims]`` of the words, before training; the mask has the row behind them.
        size: of the teacher's state.
        config: of the student.
    """

    margin_error: Tensor
    error_growth: Tensor

    def __init__(self, vectors: NDArray[np.float32], size: int, config: StudentConfig) -> None:
        super().__init__()
        num_words, dimensions = vectors.shape
        self.hidden = hidden = config.hidden
        self.mask = num_words
        rows = torch.cat([torch.tensor(vectors), torch.zeros(1, dimensions).normal_(std=0.1)])
        self.embedding = nn.Embedding(num_words + 1, dimensions, padding_idx=PADDING, _weight=rows)
        self.dropout = nn.Dropout(config.dropout)
        self.convolution = nn.Conv1d(dimensions, 2 * hidden, config.width, padding="same")
        self.attention = nn.Linear(2 * hidden, 2)
        self.context = nn.Sequential(nn.Linear(6 * hidden + 2, 2 * hidden), nn.Tanh(), nn.Linear(2 * hidden, hidden))
        self.word = nn.Sequential(nn.Linear(dimensions, 2 * hidden), nn.Tanh(), nn.Linear(2 * hidden, hidden))
        self.register_buffer("margin_error", torch.zeros(()))
        self.register_buffer("error_growth", torch.zeros(2))
        self.first, self.second = nn.Linear(3 * hidden, 3 * hidden), nn.Linear(3 * hidden, size)

    def contexts(self, input_ids: Tensor, attention_mask: Tensor, places: Tensor) -> Tensor:
        """c of texts whose word in a place is the mask: ``[texts, hidden]``."""
        vectors = self.dropout(self.embedding(input_ids))
        states = self.convolution(vectors.transpose(1, 2)).transpose(1, 2).tanh()
        scores = self.attention(states).masked_fill(attention_mask[:, :, None] == 0, -torch.inf)
        means = scores.softmax(dim=1).transpose(1, 2) @ states
        masked = states[torch.arange(len(places)), places]
        result: Tensor = self.context(torch.cat([means.flatten(1), masked, scores.logsumexp(dim=1)], dim=1))
        return result

    def words(self, numbers: Tensor) -> Tensor:
        """t of words: ``[..., hidden]``."""
        result: Tensor = self.word(self.embedding(numbers))
        return result

    def combined(self, contexts: Tensor, words: Tensor) -> Tensor:
        """r of contexts and words of shapes that go together: ``[..., size]``, by equation 3 as it stands."""
        pairs = torch.cat([contexts + words, contexts - words, contexts * words], dim=-1)
        result: Tensor = self.second(self.first(pairs).tanh())
        return result


class Student(NamedTuple):
    """A trained student and the words that it has vectors for."""

    network: StudentNetwork
    vocabulary: Vocabulary

    @property
    def error_growth(self) -> ErrorGrowth:
        """How what it is wrong by grows with the change that it tells; zeros where nothing was held out."""
        return ErrorGrowth(*self.network.error_growth.double().tolist())

    def contexts(self, contexts: Sequence[Context]) -> NDArray[np.float32]:
        """c of each context, ``[contexts, hidden]``."""
        result = np.zeros((len(contexts), self.network.hidden), np.float32)
        for rows in length_batches([len(context.text) for context in contexts], _MAX_TOKENS):
            inputs = context_inputs([contexts[row] for row in rows], self.vocabulary, self.network.mask)
            with torch.inference_mode():
                result[rows] = self.network.contexts(**inputs).numpy()
        return result

    def words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """t of each word, ``[words, hidden]``."""
        numbers = torch.tensor([self.vocabulary.number(word) for word in words], dtype=torch.int64)
        with torch.inference_mode():
            return self.network.words(numbers).numpy()

    def changes(self, contexts: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.float32]:
        """r of pairs of a context and a word, one for one: ``[pairs, size]``."""
        with torch.inference_mode():
            return self.network.combined(torch.from_numpy(contexts), torch.from_numpy(words)).numpy()


def context_inputs(contexts: Sequence[Context], vocabulary: Vocabulary, mask: int) -> dict[str, Tensor]:
    """Contexts for the context processor, by the names of its arguments."""
    inputs = token_numbers([context.replaced() for context in contexts], vocabulary, mask)
    return inputs | {"places": torch.tensor([context.place for context in contexts])}

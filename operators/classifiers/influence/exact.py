"""The teacher itself on every word in every context, where its encoder is local.

A small encoder of width 2 k + 1 looks at a word from 2 k + 1 places at most. So of h_t = tanh(W x_t + b) and the
weights e^(v . h_t) of its attention, only those of the places around the one that is replaced change, and of the rest
two sums are kept. As the word that is left out has the vector zero, a place's W x_t + b with a word is that without
it plus the part of W for their distance times the word's vector.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.operators.classifiers.influence.records import Context
from tiltmeter.operators.classifiers.influence.teachers import token_numbers
from tiltmeter.operators.classifiers.networks import HeadedNetwork, SmallEncoder
from tiltmeter.operators.classifiers.small import Vocabulary


class LocalTeacher:
    """A classifier with a small encoder and a linear head.

    Args:
        network: in evaluation mode.
        vocabulary: of the encoder.
        words: that are put into contexts.
    """

    def __init__(self, network: HeadedNetwork, vocabulary: Vocabulary, words: Sequence[str]) -> None:
        encoder, head = network.encoder, network.heads[network.main]
        if not isinstance(encoder, SmallEncoder) or not isinstance(head, nn.Linear):
            raise ValueError("only a small encoder with a linear head is local")
        self._encoder, self._vocabulary = encoder, vocabulary
        numbers = torch.tensor([vocabulary.number(word) for word in words], dtype=torch.int64)
        with torch.inference_mode():
            vectors = encoder.embedding(numbers)
            taps = encoder.convolution.weight.unbind(dim=2)
            self._reach = len(taps) // 2
            self._parts = [vectors @ tap.T for tap in taps]
            self._read = torch.cat([encoder.attention.weight, head.weight]).T.contiguous()
            self._score_bias, self._bias = encoder.attention.bias, head.bias

    def logits(self, contexts: Sequence[Context]) -> Iterator[NDArray[np.float32]]:
        """y of every word in every context: ``[words, classes]`` of each context."""
        for context in contexts:
            with torch.inference_mode():  # not around the yield: whoever asks is not to be in this mode
                logits = self._of_context(context).numpy()
            yield logits

    def _of_context(self, context: Context) -> Tensor:
        inputs = token_numbers([context.replaced()], self._vocabulary)["input_ids"]
        convolved = self._encoder.convolved(self._encoder.embedding(inputs))[0]
        changed = range(max(context.place - self._reach, 0), min(context.place + self._reach + 1, len(context.text)))
        is_kept = torch.ones(len(convolved), dtype=torch.bool)
        is_kept[list(changed)] = False
        weights, numerators = self._attended(convolved[is_kept].tanh())
        weight, numerator = weights.sum(), numerators.sum(dim=0)
        total = torch.full((len(self._parts[0]),), float(weight))
        sums = numerator.expand(len(total), -1).clone()
        for place in changed:
            tap = self._parts[context.place - place + self._reach]
            more, parts = self._attended((tap + convolved[place]).tanh_())
            total += more
            sums += parts
        return sums / total[:, None] + self._bias

    def _attended(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """e^(v . h) of states, and that times C h."""
        read = states @ self._read
        weights = (read[:, 0] + self._score_bias).exp()
        return weights, weights[:, None] * read[:, 1:]

"""Many words in many contexts: the student's class margins, with all that does not depend on the pair computed once.

With W1 = [A B D] by columns, W1 q = (A + B) c + [(A - B) + D diag(c)] t: a context's part, and a matrix of the context
for all words. The last layers fold into one vector for each class but the first: with C the teacher's, m_k = C_k - C_0,

    y''_k - y''_0 = m_k . z' + m_k . b2 + b_k - b_0 + (m_k W2) . tanh(W1 q + b1).

The numbers are those of :meth:`.student.StudentNetwork.combined` but for rounding.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tiltmeter.operators.classifiers.influence.records import Teacher
from tiltmeter.operators.classifiers.influence.student import StudentNetwork
from tiltmeter.operators.compute.onednn import tanh_layer

_MAX_UNITS, _MIN_WORDS = 200_000, 192
"""Hidden units at a time: what tanh gives stays in the processor's second cache until it is read. But a matrix is worth
reading only for so many words."""


class Folded:
    """A student and the last layer of its teacher, folded.

    Args:
        network: of the student.
        teacher: with the last layer.
    """

    def __init__(self, network: StudentNetwork, teacher: Teacher) -> None:
        with torch.inference_mode():
            plus, minus, times = network.first.weight.chunk(3, dim=1)
            self._context, self._word, self._product = plus + minus, plus - minus, times.contiguous()
            self._bias = network.first.bias
            margins = torch.from_numpy(teacher.weight[1:] - teacher.weight[:1])
            self._margins = margins
            self._read = (margins @ network.second.weight).T.contiguous()
            self._constant = margins @ network.second.bias + torch.from_numpy(teacher.bias[1:] - teacher.bias[:1])

    def margins(
        self, contexts: NDArray[np.float32], states: NDArray[np.float32], words: NDArray[np.float32]
    ) -> Iterator[NDArray[np.float32]]:
        """Of every word in every context: ``[words, classes - 1]`` of each context, y''_k - y''_0.

        Args:
            contexts: ``[contexts, hidden]``, c.
            states: ``[contexts, size]``, z'.
            words: ``[words, hidden]``, t of all that are put into each context.
        """
        with torch.inference_mode():
            tensor = torch.from_numpy(contexts)
            shifts = tensor @ self._context.T + self._bias
            constants = torch.from_numpy(states) @ self._margins.T + self._constant
        for context, shift, constant in zip(tensor, shifts, constants, strict=True):
            with torch.inference_mode():  # not around the yield: whoever asks is not to be in this mode
                margins = self._of_context(context, shift, torch.from_numpy(words)).add_(constant).numpy()
            yield margins

    def _of_context(self, context: Tensor, shift: Tensor, words: Tensor) -> Tensor:
        weight = torch.addcmul(self._word, self._product, context)
        size = max(_MIN_WORDS, _MAX_UNITS // len(weight))
        result = torch.empty(len(words), self._read.shape[1])
        for start in range(0, len(words), size):
            rows = slice(start, start + size)
            torch.mm(tanh_layer(words[rows], weight, shift), self._read, out=result[rows])
        return result


def margin_labels(margins: NDArray[np.floating]) -> NDArray[np.int64]:
    """The class of each pair: that of the largest margin, or the first if all are negative, or none is above 0.

    >>> margin_labels(np.array([[-1.0, -2.0], [0.5, 2.0], [0.0, -1.0]]))
    array([0, 2, 0])
    """
    if margins.shape[-1] == 1:
        return (margins[..., 0] > 0.0).astype(np.int64)
    best = margins.argmax(axis=-1)
    return np.where(np.take_along_axis(margins, best[..., None], axis=-1)[..., 0] > 0.0, best + 1, 0).astype(np.int64)


def margin_logits(margins: NDArray[np.floating]) -> NDArray[np.float64]:
    """Logits of all classes, that of the first being 0: ``[..., classes]``."""
    return np.concatenate([np.zeros((*margins.shape[:-1], 1)), margins.astype(np.float64)], axis=-1)

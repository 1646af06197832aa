"""Texts in batches for a neural network: of like length, so that little is padded, and bounded by tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def length_batches(lengths: Sequence[int] | NDArray[np.integer], max_tokens: int) -> list[NDArray[np.int64]]:
    """Put texts of like length together.

    Texts are taken from the shortest to the longest, those of one length in their order, and a batch ends where one
    more would make rows x longest exceed ``max_tokens``.

    Args:
        lengths: ``[texts]``, tokens in each.
        max_tokens: in a batch, padding included. A text that has more is a batch by itself.

    Returns:
        Rows of ``lengths``, each in one batch.

    >>> [batch.tolist() for batch in length_batches([3, 9, 4, 20, 3], max_tokens=12)]
    [[0, 4, 2], [1], [3]]
    """
    numbers = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    starts = [0]
    for place, longest in enumerate(numbers[order].tolist()):
        if (place + 1 - starts[-1]) * longest > max_tokens and place > starts[-1]:
            starts.append(place)
    return np.split(order, starts[1:]) if order.size else []


def longest_input(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> int:
    """The number of tokens, special ones included, that a model takes at a time.

    That is the number of its positions or what its tokenizer says, whichever is smaller. Models with relative positions
    give no number, or -1. Models such as RoBERTa count positions from the number of the padding token on, and leave
    those before it unused.
    """
    positions = getattr(model.config, "max_position_embeddings", None) or -1
    if positions <= 0:
        return tokenizer.model_max_length
    return min(tokenizer.model_max_length, positions - _unused_positions(model))


def _unused_positions(model: "PreTrainedModel") -> int:
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    paddings = [getattr(table, "padding_idx", None) for table in tables]
    return max((1 + padding for padding in paddings if padding is not None), default=0)

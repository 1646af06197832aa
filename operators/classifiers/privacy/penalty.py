"""EP as a part of what a classifier minimises (Jaiswal and Mower Provost 2022, section 8.3).

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tiltmeter.operators.classifiers.networks import HeadedNetwork
from tiltmeter.operators.classifiers.training import Penalty
from tiltmeter.operators.text.tokenised import TokenisedText

_LEAST = 1e-12


def ep_penalty(texts: Sequence[TokenisedText], is_listed: Sequence[NDArray[np.bool_]], weight: float) -> Penalty:
    """The weight times the mean EP of a batch, with gradient x input in the place of integrated gradients.

    With x_t the embedding of token t, x' that of padding and F the log odds of the most probable class, the attribution
    of a word is the sum over its tokens of (x_t - x') . dF/dx_t. See :mod:`.privacy.metrics` for EP; a text
    whose attributions are all 0 has an EP of 0 here.

    Args:
        texts: that are trained with, in their order.
        is_listed: ``[words]`` of each text, which of them are in L.
        weight: of EP beside the loss.
    """

    def penalty(network: HeadedNetwork, inputs: Mapping[str, Tensor], rows: NDArray[np.int64]) -> Tensor:
        chosen = [texts[row] for row in rows]
        sizes = word_attributions(network, inputs, chosen).abs()
        listed = torch.zeros_like(sizes)
        for place, row in enumerate(rows):
            listed[place, : len(is_listed[row])] = torch.from_numpy(is_listed[row]).to(sizes)
        return weight * ((sizes * listed).sum(dim=1) / sizes.sum(dim=1).clamp(min=_LEAST)).mean()

    return penalty


def word_attributions(network: HeadedNetwork, inputs: Mapping[str, Tensor], texts: Sequence[TokenisedText]) -> Tensor:
    """Gradient x input of every word, ``[texts, words]``, from which gradients go back to the weights.

    Args:
        network: in training or not.
        inputs: of :func:`.networks.network_inputs`.
        texts: the same, as they are tokenised.
    """
    layer = network.get_input_embeddings()
    taken: list[Tensor] = []
    handle = layer.register_forward_hook(lambda _, __, output: taken.append(output))
    try:
        # Attention of other kernels has no second derivative.
        with sdpa_kernel(SDPBackend.MATH):
            logits = network(**inputs)
    finally:
        handle.remove()
    [vectors] = taken
    [gradients] = torch.autograd.grad(_log_odds(logits).sum(), vectors, create_graph=True)
    values = ((vectors - _padding(layer, network)) * gradients).sum(dim=2)
    return values.new_zeros(len(texts), _most_words(texts) + 1).scatter_add(1, _places(texts, values), values)[:, 1:]


def _log_odds(logits: Tensor) -> Tensor:
    """Of the most probable class, ``[texts]``."""
    top = logits.argmax(dim=1, keepdim=True)
    others = logits.masked_fill(torch.zeros_like(logits).scatter(1, top, 1.0).bool(), -torch.inf)
    return logits.gather(1, top)[:, 0] - others.logsumexp(dim=1)


def _padding(layer: nn.Module, network: HeadedNetwork) -> Tensor:
    """Embedding of the padding token, which nothing is learnt of here."""
    device = next(layer.parameters()).device
    vector: Tensor = layer(torch.tensor(network.encoder.padding, device=device))
    return vector.detach()


def _most_words(texts: Sequence[TokenisedText]) -> int:
    return max(len(text.words) for text in texts)


def _places(texts: Sequence[TokenisedText], values: Tensor) -> Tensor:
    """For each token 1 + the number of its word, and 0 for padding and special tokens."""
    places = np.zeros(tuple(values.shape), dtype=np.int64)
    for row, text in enumerate(texts):
        places[row, : len(text.word_of)] = text.word_of + 1
    return torch.from_numpy(places).to(values.device)

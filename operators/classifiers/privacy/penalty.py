"""EP as a part of what a classifier is trained for (Jaiswal and Mower Provost 2022, sections 8.3 and 8.4).

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tiltmeter.operators.classifiers.networks import HeadedNetwork, network_inputs
from tiltmeter.operators.classifiers.privacy.metrics import MetricConfig, Scale, explanation, weights
from tiltmeter.operators.classifiers.training import Penalty
from tiltmeter.operators.compute.batching import length_batches
from tiltmeter.operators.compute.generators import one_thread
from tiltmeter.operators.text.tokenised import TokenisedText

_LEAST = 1e-12


def ep_penalty(
    texts: Sequence[TokenisedText],
    is_listed: Sequence[NDArray[np.bool_]],
    general: Sequence[NDArray[np.float64]],
    weight: float,
    config: MetricConfig,
) -> Penalty:
    """Minus the weight times the mean EP of a batch, so that less of it is more EP.

    Equation 1 is a step where a word enters or leaves E(M_x). Here, a word of L in both explanations adds |w| of
    General less that of the model, where equation 1 adds 0,

        EP' = (sum_{E(M_g) & L} |w| - sum_{E(M_x) & L} |w|) / G(M_g),

    so that there is a slope down which it leaves. EP' is EP where no listed word is in both, and both are largest where
    none is in E(M_x). Texts whose G is 0 have no EP and do not count. Attributions are gradient x input (see
    :func:`word_attributions`) in the place of integrated gradients, for both models.

    Args:
        texts: that are trained with, in their order.
        is_listed: ``[words]`` of each text, which of them are in L.
        general: ``[words]`` of each text, attributions by the model General, such as of :func:`general_attributions`.
        weight: of EP beside the loss.
        config: of the metric.

    Raises:
        ValueError: if |w| is a count, which has no gradient.
    """
    if config.scale == "count":
        raise ValueError("the scale of attributions is 'count', which has no gradient: must be another")
    references = [_reference(values, listed, config) for values, listed in zip(general, is_listed, strict=True)]

    def penalty(network: HeadedNetwork, inputs: Mapping[str, Tensor], rows: NDArray[np.int64]) -> Tensor:
        chosen = [texts[row] for row in rows]
        values = word_attributions(network, inputs, chosen)
        members = _listed_members(values, [is_listed[row] for row in rows], config)
        listed, nums = values.new_tensor([references[row] for row in rows]).T
        eps = (listed - (_scaled(values.abs(), config.scale) * members).sum(dim=1)) / nums.clamp(min=1)
        has_ep = nums > 0
        mean: Tensor = (eps * has_ep).sum() / has_ep.sum().clamp(min=1)
        return -weight * mean

    return penalty


def general_attributions(
    network: HeadedNetwork, texts: Sequence[TokenisedText], max_tokens: int
) -> list[NDArray[np.float64]]:
    """Gradient x input of every word of many texts, ``[words]`` each.

    Args:
        network: of the model General.
        texts: as it reads them.
        max_tokens: of a batch.
    """
    return [values for _, values in sorted(_in_batches(network, texts, max_tokens), key=lambda pair: pair[0])]


def _in_batches(
    network: HeadedNetwork, texts: Sequence[TokenisedText], max_tokens: int
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    network.eval()
    with one_thread():
        for rows in length_batches(np.array([len(text.word_of) for text in texts]), max_tokens):
            chosen = [texts[row] for row in rows]
            values = word_attributions(network, network_inputs(network, chosen), chosen).detach().double().cpu().numpy()
            yield from ((int(row), values[place, : len(texts[row].words)]) for place, row in enumerate(rows))


def word_attributions(network: HeadedNetwork, inputs: Mapping[str, Tensor], texts: Sequence[TokenisedText]) -> Tensor:
    """Gradient x input of every word, ``[texts, words]``, from which gradients go back to the weights.

    With x_t the embedding of token t, x' that of padding and F the log odds of the most probable class, the attribution
    of a word is the sum over its tokens of (x_t - x') . dF/dx_t.

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


def _reference(general: NDArray[np.float64], is_listed: NDArray[np.bool_], config: MetricConfig) -> tuple[float, int]:
    """Sum of |w| of the listed words in E(M_g), and G(M_g)."""
    members = explanation(general, config)
    listed = members & is_listed
    num = (listed if config.denominator == "listed" else members).sum()
    return float(weights(general, config.scale)[listed].sum()), int(num)


def _listed_members(values: Tensor, is_listed: Sequence[NDArray[np.bool_]], config: MetricConfig) -> Tensor:
    """1 for the listed words in E(M_x), ``[texts, words]``; which they are is taken as given."""
    members = np.zeros(tuple(values.shape))
    for row, (attributions, listed) in enumerate(zip(values.detach().double().cpu().numpy(), is_listed, strict=True)):
        members[row, : len(listed)] = explanation(attributions[: len(listed)], config) & listed
    return torch.from_numpy(members).to(values)


def _scaled(sizes: Tensor, scale: Scale) -> Tensor:
    """|w| of every word, ``[texts, words]``; see :func:`.metrics.weights`."""
    if scale == "raw":
        return sizes
    units = sizes.amax(dim=1, keepdim=True) if scale == "maximum" else sizes.sum(dim=1, keepdim=True)
    return sizes / units.clamp(min=_LEAST)


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

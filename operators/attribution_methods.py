"""Methods of attribution: how the output of a network is shared out among the words of a text.

With E the embeddings of a text's tokens, E' those of its baseline, F the output and i a word:

- integrated gradients (Sundararajan, Taly and Yan 2017, *Axiomatic Attribution for Deep Networks*):
  a_i = sum_{t in i} (E_t - E'_t) . int_0^1 dF/dE_t (E' + s (E - E')) ds, by the Gauss-Legendre rule;
- gradient x input (Shrikumar et al. 2016, *Not Just a Black Box*): a_i = sum_{t in i} (E_t - E'_t) . dF/dE_t (E);
- occlusion (Zeiler and Fergus 2014, *Visualizing and Understanding Convolutional Networks*): a_i = F(E) less F of the
  text whose word i has the embeddings of the baseline;
- LIME (Ribeiro, Singh and Guestrin 2016, *"Why Should I Trust You?"*): the slopes of a linear model of F over texts of
  which each word was left out with probability 1/2, each text weighted by exp(-d^2 / 2 w^2), with d the cosine distance
  of its words from all words, and w = 0.25;
- kernel SHAP (Lundberg and Lee 2017, *A Unified Approach to Interpreting Model Predictions*): the same, with texts and
  weights such that slopes tend to Shapley values;
- random: uniform in [-1, 1), whatever the network says.

Those that leave out words are captum's. Gradients are taken here for many texts and steps at a time, with the values of
captum's ``LayerIntegratedGradients``, which takes several times as long.

This module imports torch and captum, which takes seconds: import it where it is needed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from captum.attr import FeatureAblation, KernelShap, Lime
from captum.attr._core.lime import get_exp_kernel_similarity_function
from numpy.typing import NDArray
from torch import Tensor

from operators.attribution import AttributionConfig, Method
from operators.philox import Stream
from operators.torch_random import keyed_generator, torch_random

_LIME_WIDTH = 0.25


class Batch(NamedTuple):
    """Texts of about one length, which all have a word.

    Attributes:
        forward: F of embeddings ``[n, tokens, dims]`` and ``arguments``, of which there are as many rows: ``[n]``.
        begin, rest: the same as two functions one after the other, of which the first is affine in the embeddings.
        embedded, baselines: E and E', ``[texts, tokens, dims]``.
        words: ``[texts, tokens]``, number of the word among those that were read; -1 for special tokens and padding.
        num_words: that were read of each text.
        arguments: whatever else ``forward`` needs, ``[texts, ...]`` each.
        keys: of each text, 64 bits that its random draws hang on.
        max_rows: that ``forward`` may be given at a time.
    """

    forward: Callable[..., Tensor]
    begin: Callable[[Tensor], Tensor]
    rest: Callable[..., Tensor]
    embedded: Tensor
    baselines: Tensor
    words: Tensor
    num_words: list[int]
    arguments: tuple[Tensor, ...]
    keys: list[int]
    max_rows: int


Values = list[Tensor]
"""``[words]`` of each text."""


class Attributing(NamedTuple):
    """Attributes:
    values: the attributions of a batch, with a seed for what is drawn.
    num_forwards: times that the network computes each text, as far as that is done for several texts at a time.
    """

    values: Callable[[Batch, AttributionConfig, int], Values]
    num_forwards: Callable[[AttributionConfig], int] = lambda _: 1


def _integrated_gradients(batch: Batch, config: AttributionConfig, _: int) -> Values:
    embedded = batch.embedded.detach().requires_grad_()
    ends = batch.begin(embedded)
    mean = _mean_gradient(batch, batch.begin(batch.baselines), ends.detach(), config.num_steps)
    # A derivative of the affine part is the same along the whole path.
    [gradients] = torch.autograd.grad(ends, [embedded], mean)
    return _by_word(batch, gradients * (batch.embedded - batch.baselines))


def _mean_gradient(batch: Batch, start: Tensor, end: Tensor, num_steps: int) -> Tensor:
    """Of F on the straight path, by its own variables: of the shape of either end."""
    nodes, weights = (torch.tensor(of, dtype=end.dtype, device=end.device) for of in gauss_legendre(num_steps))
    at_once = max(1, batch.max_rows // len(end))
    mean = torch.zeros_like(end)
    for first in range(0, num_steps, at_once):
        some, shares = nodes[first : first + at_once], weights[first : first + at_once]
        points = (start + some[:, None, None, None] * (end - start)).flatten(0, 1).requires_grad_()
        arguments = [argument.repeat(len(some), *[1] * (argument.ndim - 1)) for argument in batch.arguments]
        [gradients] = torch.autograd.grad(batch.rest(points, *arguments).sum(), [points])
        mean += torch.tensordot(shares, gradients.reshape(len(some), *end.shape), 1)
    return mean


@cache
def gauss_legendre(num_steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes and weights of the Gauss-Legendre rule on [0, 1], which is exact for polynomials of degree 2 n - 1.

    >>> nodes, weights = gauss_legendre(2)
    >>> round(float(weights @ nodes**3), 12)
    0.25
    """
    nodes, weights = np.polynomial.legendre.leggauss(num_steps)
    return (1.0 + nodes) / 2.0, weights / 2.0


def _gradient_x_input(batch: Batch, _: AttributionConfig, __: int) -> Values:
    embedded = batch.embedded.detach().requires_grad_()
    [gradients] = torch.autograd.grad(batch.forward(embedded, *batch.arguments).sum(), [embedded])
    return _by_word(batch, gradients * (batch.embedded - batch.baselines))


def _by_word(batch: Batch, found: Tensor) -> Values:
    """Sums over the dimensions and tokens of each word."""
    tokens = found.sum(dim=2, dtype=torch.float64)
    sums = tokens.new_zeros(len(tokens), 1 + max(batch.num_words))
    sums.scatter_add_(1, 1 + batch.words, tokens)
    return [row[1 : 1 + num] for row, num in zip(sums, batch.num_words, strict=True)]


def _occlusion(batch: Batch, _: AttributionConfig, __: int) -> Values:
    return [_perturbed(FeatureAblation, batch, row) for row in range(len(batch.embedded))]


def _lime(batch: Batch, config: AttributionConfig, seed: int) -> Values:
    nearness = get_exp_kernel_similarity_function("cosine", _LIME_WIDTH)

    def make(forward: Callable[[Tensor], Tensor]) -> Any:
        return Lime(forward, SkLearnLinearRegression(), nearness)

    return _sampled(make, batch, config, seed)


def _kernel_shap(batch: Batch, config: AttributionConfig, seed: int) -> Values:
    return _sampled(KernelShap, batch, config, seed)


def _sampled(make: Callable[..., Any], batch: Batch, config: AttributionConfig, seed: int) -> Values:
    values = []
    for row, key in enumerate(batch.keys):
        # Of a single word there are no parts: it has all of the difference.
        is_single = batch.num_words[row] == 1
        with torch_random(seed, Stream.ATTRIBUTION, key):
            values.append(
                _perturbed(FeatureAblation, batch, row)
                if is_single
                else _perturbed(make, batch, row, n_samples=config.num_samples)
            )
    return values


def _perturbed(make: Callable[..., Any], batch: Batch, row: int, **settings: Any) -> Tensor:
    """By a method that leaves words out: captum sees a one for each word, and a zero in its place."""
    num_words = batch.num_words[row]
    places = (1 + batch.words[row]).expand(1, -1)
    baseline, difference = batch.baselines[row], batch.embedded[row] - batch.baselines[row]

    def forward(present: Tensor) -> Tensor:
        with_others = torch.nn.functional.pad(present, (1, 0), value=1.0)
        kept = with_others.gather(1, places.expand(len(present), -1))
        arguments = (argument[row].expand(len(present), *argument[row].shape) for argument in batch.arguments)
        return batch.forward(baseline + kept[:, :, None] * difference, *arguments)

    whole = baseline.new_ones(1, num_words)
    with torch.no_grad():
        found: Tensor = make(forward).attribute(whole, perturbations_per_eval=batch.max_rows, **settings)
    return found[0].double()


def _random(batch: Batch, _: AttributionConfig, seed: int) -> Values:
    pairs = zip(batch.keys, batch.num_words, strict=True)
    return [
        torch.from_numpy(keyed_generator(seed, Stream.ATTRIBUTION, key).uniform(-1.0, 1.0, num)) for key, num in pairs
    ]


METHODS: dict[Method, Attributing] = {
    "integrated_gradients": Attributing(_integrated_gradients, lambda config: config.num_steps),
    "gradient_x_input": Attributing(_gradient_x_input),
    "occlusion": Attributing(_occlusion),
    "lime": Attributing(_lime, lambda config: config.num_samples),
    "kernel_shap": Attributing(_kernel_shap, lambda config: config.num_samples),
    "random": Attributing(_random),
}

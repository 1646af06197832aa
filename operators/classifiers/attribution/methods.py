"""Methods of attribution: how the output of a network is shared out among the words of a text.

With E the embeddings of a text's tokens, E' those of its baseline, F the output and i a word:

- integrated gradients (Sundararajan, Taly and Yan 2017, *Axiomatic Attribution for Deep Networks*):
  a_i = sum_{t in i} (E_t - E'_t) . int_0^1 dF/dE_t (E' + s (E - E')) ds, by a Gauss-Kronrod rule, or where that is not
  exact enough by the Gauss-Legendre rule;
- gradient x input (Shrikumar et al. 2016, *Not Just a Black Box*): a_i = sum_{t in i} (E_t - E'_t) . dF/dE_t (E);
- saliency (Simonyan, Vedaldi and Zisserman 2014, *Deep Inside Convolutional Networks*): a_i = sum_{t in i} |dF/dE_t|,
  which has no sign;
- DeepLift (Shrikumar, Greenside and Kundaje 2017, *Learning Important Features Through Propagating Activation
  Differences*), by its rescale rule: complete where all that is not linear in a network is a layer of torch, such as
  ``nn.ReLU``; products of two parts of a text, as in attention, and functions that are no layers it does not see;
- GradientSHAP (Lundberg and Lee 2017), without noise: integrated gradients at places that are drawn;
- occlusion (Zeiler and Fergus 2014, *Visualizing and Understanding Convolutional Networks*): a_i = F(E) less F of the
  text whose word i has the embeddings of the baseline;
- LIME (Ribeiro, Singh and Guestrin 2016, *"Why Should I Trust You?"*): the slopes of a linear model of F over texts of
  which each word was left out with probability 1/2, each text weighted by exp(-d^2 / 2 w^2), with d the cosine distance
  of its words from all words, and w = 0.25;
- kernel SHAP (Lundberg and Lee 2017, *A Unified Approach to Interpreting Model Predictions*): the same, with texts and
  weights such that slopes tend to Shapley values;
- random: uniform in [-1, 1), whatever the network says.

Those that leave out words, and DeepLift, are captum's. Others are ours: gradients are taken for many texts and steps
at a time, and integrated gradients with all steps have the values of captum's ``LayerIntegratedGradients``, which takes
several times as long.

This module imports torch and captum, which takes seconds: import it where it is needed.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from captum.attr import DeepLift, FeatureAblation, KernelShap, Lime
from captum.attr._core.lime import get_exp_kernel_similarity_function
from numpy.typing import NDArray
from torch import Tensor, nn

from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.compute.generators import keyed_generator, torch_random
from tiltmeter.operators.compute.philox import Stream

_LIME_WIDTH = 0.25


class Batch(NamedTuple):
    """Texts of about one length, which all have a word.

    Attributes:
        network: that is explained; None of a function of words alone.
        forward: F of embeddings ``[n, tokens, dims]`` and ``arguments``, of which there are as many rows: ``[n]``.
        begin, rest: the same as two functions one after the other, of which the first is affine in the embeddings.
        embedded, baselines: E and E', ``[texts, tokens, dims]``.
        words: ``[texts, tokens]``, number of the word among those that were read; -1 for special tokens and padding.
        num_words: that were read of each text.
        arguments: whatever else ``forward`` needs, ``[texts, ...]`` each.
        keys: of each text, 64 bits that its random draws depend on.
        max_rows: that ``forward`` may be given at a time.
    """

    network: nn.Module | None
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

    def of(self, rows: list[int]) -> "Batch":
        """These texts alone."""
        return self._replace(
            embedded=self.embedded[rows],
            baselines=self.baselines[rows],
            words=self.words[rows],
            num_words=[self.num_words[row] for row in rows],
            arguments=tuple(argument[rows] for argument in self.arguments),
            keys=[self.keys[row] for row in rows],
        )


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
    if (tolerance := _tolerance(config)) is None:
        return _integrated(batch, *gauss_legendre(config.num_steps))[0]
    results, coarse = _integrated(batch, *gauss_kronrod())
    rest = [row for row, pair in enumerate(zip(results, coarse, strict=True)) if _error(*pair) > tolerance]
    if rest:
        [again] = _integrated(batch.of(rest), *gauss_legendre(config.num_steps))
        for row, values in zip(rest, again, strict=True):
            results[row] = values
    return results


def _tolerance(config: AttributionConfig) -> float | None:
    """Of the nested rule; None where it would not save a step."""
    return config.tolerance if config.num_steps > NUM_KRONROD else None


def _error(values: Tensor, coarse: Tensor) -> float:
    """About the largest of a text's attributions, from what the nested rule gives, which is far less exact.

    The rule of 2 n + 1 nodes converges almost twice as fast as that of n; the exponent 3/2, which relies on less, is
    that of QUADPACK (Piessens et al. 1983).
    """
    largest = float(values.abs().max())
    return float((values - coarse).abs().max() / largest) ** 1.5 if largest else 0.0


def _integrated(batch: Batch, nodes: NDArray[np.float64], weights: NDArray[np.float64]) -> list[Values]:
    """By each of the rules whose weights ``[rules, nodes]`` are given."""
    embedded = batch.embedded.detach().requires_grad_()
    ends = batch.begin(embedded)
    means = _mean_gradients(batch, batch.begin(batch.baselines), ends.detach(), nodes, weights)
    # A derivative of the affine part is the same along the whole path.
    gradients = [torch.autograd.grad(ends, [embedded], mean, retain_graph=True)[0] for mean in means]
    return [_by_word(batch, gradient * (batch.embedded - batch.baselines)) for gradient in gradients]


def _mean_gradients(
    batch: Batch, start: Tensor, end: Tensor, nodes: NDArray[np.float64], weights: NDArray[np.float64]
) -> Tensor:
    """Of F on the straight path, by its own variables: of the shape of either end, for each rule."""
    places, shares = (torch.tensor(numbers, dtype=end.dtype, device=end.device) for numbers in (nodes, weights))
    at_once = max(1, batch.max_rows // len(end))
    means = end.new_zeros(len(weights), *end.shape)
    for first in range(0, len(nodes), at_once):
        some = places[first : first + at_once]
        points = (start + some[:, None, None, None] * (end - start)).flatten(0, 1).requires_grad_()
        arguments = [argument.repeat(len(some), *[1] * (argument.ndim - 1)) for argument in batch.arguments]
        [gradients] = torch.autograd.grad(batch.rest(points, *arguments).sum(), [points])
        means += torch.tensordot(shares[:, first : first + at_once], gradients.reshape(len(some), *end.shape), 1)
    return means


@cache
def gauss_legendre(num_steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes ``[n]`` and weights ``[1, n]`` on [0, 1] of the Gauss-Legendre rule, exact for degrees up to 2 n - 1.

    >>> nodes, [weights] = gauss_legendre(2)
    >>> round(float(weights @ nodes**3), 12)
    0.25
    """
    nodes, weights = np.polynomial.legendre.leggauss(num_steps)
    return (1.0 + nodes) / 2.0, weights[np.newaxis] / 2.0


@cache
def gauss_kronrod() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes ``[21]`` and weights ``[2, 21]`` on [0, 1]: of Kronrod's rule, and of that of Gauss for 10 of its nodes.

    The first is exact for polynomials of degree 31, the second for those of degree 19; the numbers are those of
    QUADPACK (Piessens et al. 1983).

    >>> nodes, (kronrod, gauss) = gauss_kronrod()
    >>> round(float(kronrod @ nodes**31), 12), round(float(gauss @ nodes**19), 12)
    (0.03125, 0.05)
    """
    half, of_half = np.array(_KRONROD).T
    nodes = np.concatenate([-half, half[-2::-1]])
    gauss = np.zeros(NUM_KRONROD)
    gauss[1::2] = np.polynomial.legendre.leggauss(NUM_KRONROD // 2)[1]
    return (1.0 + nodes) / 2.0, np.stack([np.concatenate([of_half, of_half[-2::-1]]), gauss]) / 2.0


NUM_KRONROD = 21
_KRONROD = (
    (0.995657163025808080735527280689003, 0.011694638867371874278064396062192),
    (0.973906528517171720077964012084452, 0.032558162307964727478818972459390),
    (0.930157491355708226001207180059508, 0.054755896574351996031381300244580),
    (0.865063366688984510732096688423493, 0.075039674810919952767043140916190),
    (0.780817726586416897063717578345042, 0.093125454583697605535065465083366),
    (0.679409568299024406234327365114874, 0.109387158802297641899210590325805),
    (0.562757134668604683339000099272694, 0.123491976262065851077958109585166),
    (0.433395394129247190799265943165784, 0.134709217311473325928054001771707),
    (0.294392862701460198131126603103866, 0.142775938577060080797094273138717),
    (0.148874338981631210884826001129720, 0.147739104901338491374841515972068),
    (0.0, 0.149445554002916905664936468389821),
)
"""The nodes in [0, 1) of the rule on [-1, 1], and their weights."""


def _gradients(batch: Batch) -> Tensor:
    embedded = batch.embedded.detach().requires_grad_()
    return torch.autograd.grad(batch.forward(embedded, *batch.arguments).sum(), [embedded])[0]


def _gradient_x_input(batch: Batch, _: AttributionConfig, __: int) -> Values:
    return _by_word(batch, _gradients(batch) * (batch.embedded - batch.baselines))


def _saliency(batch: Batch, _: AttributionConfig, __: int) -> Values:
    return _by_word(batch, _gradients(batch).abs())


def _gradient_shap(batch: Batch, config: AttributionConfig, seed: int) -> Values:
    weights = np.full((1, config.num_samples), 1.0 / config.num_samples)
    values = []
    for row, key in enumerate(batch.keys):
        places = keyed_generator(seed, Stream.ATTRIBUTION, key, 1).uniform(size=config.num_samples)
        [[results]] = _integrated(batch.of([row]), places, weights)
        values.append(results)
    return values


class _OnEmbeddings(nn.Module):
    """F as a module, whose parts captum finds."""

    def __init__(self, batch: Batch) -> None:
        super().__init__()
        self.network, self._of = batch.network, batch.forward

    def forward(self, embedded: Tensor, *arguments: Tensor) -> Tensor:
        return self._of(embedded, *arguments)


def _deep_lift(batch: Batch, _: AttributionConfig, __: int) -> Values:
    with warnings.catch_warnings():  # that hooks are set on layers, and removed again
        warnings.simplefilter("ignore", UserWarning)
        try:
            made = DeepLift(_OnEmbeddings(batch)).attribute(
                batch.embedded.detach().requires_grad_(), batch.baselines, additional_forward_args=batch.arguments
            )
        except AssertionError:  # a layer is used twice
            made = torch.full_like(batch.embedded, torch.nan)
    return _by_word(batch, made.detach())


def _by_word(batch: Batch, by_token: Tensor) -> Values:
    """Sums over the dimensions and tokens of each word."""
    tokens = by_token.sum(dim=2, dtype=torch.float64)
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
        values: Tensor = make(forward).attribute(whole, perturbations_per_eval=batch.max_rows, **settings)
    return values[0].double()


def _random(batch: Batch, _: AttributionConfig, seed: int) -> Values:
    pairs = zip(batch.keys, batch.num_words, strict=True)
    return [
        torch.from_numpy(keyed_generator(seed, Stream.ATTRIBUTION, key).uniform(-1.0, 1.0, num)) for key, num in pairs
    ]


METHODS: dict[str, Attributing] = {
    "integrated_gradients": Attributing(
        _integrated_gradients, lambda config: NUM_KRONROD if _tolerance(config) else config.num_steps
    ),
    "gradient_x_input": Attributing(_gradient_x_input),
    "saliency": Attributing(_saliency),
    "deep_lift": Attributing(_deep_lift, lambda _: 2),
    "gradient_shap": Attributing(_gradient_shap, lambda config: config.num_samples),
    "occlusion": Attributing(_occlusion),
    "lime": Attributing(_lime, lambda config: config.num_samples),
    "kernel_shap": Attributing(_kernel_shap, lambda config: config.num_samples),
    "random": Attributing(_random),
}

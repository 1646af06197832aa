"""What becomes of attributions when words are left out of texts, embeddings are moved, or a network forgets.

- :func:`word_values` explains any classifier: methods that leave words out ask a :class:`.games.Game`.
- Max-sensitivity (Yeh et al. 2019): max over |y - x| <= r of |a(y) - a(x)|, with r about the embeddings, each component
  on its own. The maximum is over draws, and so from below; the same divided by |a(x)|, as captum and quantus have it,
  stands beside it. An explainer that says the same of everything has 0.
- Parameter randomisation (Adebayo et al. 2018, *Sanity Checks for Saliency Maps*): Spearman's correlation of a and that
  of the network whose layers have lost what they learnt, from the last one downwards, one more at each step.

This module imports torch, which takes seconds: import it where it is needed.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy

import numpy as np
import torch
from torch import nn

from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.batches import explain
from tiltmeter.operators.classifiers.attribution.methods import METHODS, Batch
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, GradientConfig, TextClassifier
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator, torch_random
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream

VERSION = "attribution_changes/1"

_MOST_INCOMPLETE = 1e-3
"""Of DeepLift, as a share of the largest attribution: beyond, its rule has not reached all of a network."""


def word_values(
    config: AttributionConfig, value: Callable[[BoolArray], FloatArray], num: int, seed: int, key: int
) -> FloatArray:
    """Occlusion, LIME or kernel SHAP of a function of words, ``[words]``.

    Args:
        value: ``[parts, words]`` to ``[parts]``.
        num: of words.
        key: 64 bits that its random draws depend on.
    """
    there = torch.ones(1, num, 1)

    def forward(present: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(value(present[:, :, 0].numpy() > 0.5)).float()

    words = torch.arange(num)[None]
    batch = Batch(None, forward, forward, forward, there, torch.zeros_like(there), words, [num], (), [key], 1024)
    [results] = METHODS[config.method].values(batch, config, seed)
    return np.asarray(results.numpy(), dtype=np.float64)


def gradient_values(
    classifier: TextClassifier, text: str, config: GradientConfig, target: int, seed: int
) -> FloatArray:
    """``[words]``, 0 of a word without a token; NaN where DeepLift does not add up: it does not apply."""
    [made] = attribute(classifier, [text], config, targets=[target], seed=seed)
    values = np.where(np.isnan(made.values) & ~np.isnan(made.delta), 0.0, made.values)
    most = _MOST_INCOMPLETE * max(float(np.abs(values).max(initial=0.0)), abs(made.output - made.baseline))
    applies = config.method != "deep_lift" or abs(made.delta) <= most
    return values if applies else np.full(values.size, np.nan)


def sensitivity(
    classifier: TextClassifier, text: str, config: GradientConfig, target: int, seed: int, radius: float, num: int
) -> tuple[float, float]:
    """Max-sensitivity of a text, as its authors have it and relative to |a(x)|.

    Args:
        radius: of the noise, of each component of the embeddings.
        num: points that are drawn about the text.
    """
    tokenised, targets, key = classifier.tokenise([text]), np.array([target]), document_key(text)

    def values(number: int | None) -> FloatArray:
        def change(batch: Batch) -> Batch:
            is_word = batch.words >= 0
            embedded = batch.embedded.clone()
            embedded[is_word] += noise(text, seed, number or 0, embedded[is_word].shape, radius).to(embedded)
            return batch._replace(embedded=embedded)

        moved = None if number is None else change
        return np.nan_to_num(explain(classifier, tokenised, targets, [key], config, seed, moved).values[0])

    original = values(None)
    most = max(float(np.linalg.norm(values(number) - original)) for number in range(num))
    size = float(np.linalg.norm(original))
    return most, most / size if size else float("nan")


def noise(text: str, seed: int, number: int, shape: Sequence[int], radius: float) -> torch.Tensor:
    """What the draw of a number adds to the embeddings of a text's tokens, but special ones."""
    generator = keyed_generator(seed, Stream.ATTRIBUTION, document_key(text), 2 + number)
    return torch.from_numpy(generator.uniform(-radius, radius, tuple(shape)))


def forgotten_layers(classifier: TextClassifier) -> list[str]:
    """Layers from the last to the first, in the order in which they are lost.

    A layer is what has one number in the names of its modules, such as ``encoder.layer.3``, or a module by itself.
    """
    return list(dict.fromkeys(layer_of(name) for name, _ in reversed(_with_weights(classifier.network))))


def _with_weights(network: nn.Module) -> list[tuple[str, nn.Module]]:
    named = network.named_modules()
    return [(name, module) for name, module in named if next(module.parameters(recurse=False), None) is not None]


def forgetting(
    classifier: TextClassifier, layers: Sequence[str], seed: int, key: int = 0
) -> tuple[TextClassifier, list[str]]:
    """With a network of its own, whose layers, at least one of :func:`forgotten_layers`, are drawn anew.

    Args:
        key: 64 bits; another one draws other weights.

    Returns:
        It, and the parameters of the last of these layers that no module draws anew, and that stay as they are.
    """
    network, kept = deepcopy(classifier.network), []
    for name, module in _with_weights(network):
        if (layer := layer_of(name)) in layers:
            with torch_random(seed, Stream.ATTRIBUTION, document_key(f"{key} {name}")):
                if hasattr(module, "reset_parameters"):
                    module.reset_parameters()  # type: ignore[operator]
                elif layer == layers[-1]:
                    kept += [f"{name}.{one}" for one, _ in module.named_parameters(recurse=False)]
    # The parts of a small network are functions of the one that is copied.
    return classifier._replace(network=network, parts=None), kept


def layer_of(name: str) -> str:
    """Up to the first number in the name of a module.

    >>> layer_of("bert.encoder.layer.3.attention.self.query"), layer_of("bert.pooler.dense")
    ('bert.encoder.layer.3', 'bert.pooler.dense')
    """
    parts = name.split(".")
    numbers = [place for place, part in enumerate(parts) if part.isdigit()]
    return ".".join(parts[: numbers[0] + 1]) if numbers else name


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation of two attributions; NaN where either is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) - (values.size + 1) / 2 for values in (first, second)]
    size = float(np.sqrt(ranks[0] @ ranks[0] * (ranks[1] @ ranks[1])))
    return float(ranks[0] @ ranks[1]) / size if size else float("nan")

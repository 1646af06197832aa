"""Labels that are wrong on purpose, and in which order somebody looks for them.

Setup IV of Idahl et al. 2021 (section 2.4, after Koh and Liang 2017, section 5.4): the labels of a share of the
training texts are flipped, a model learns them, and explanations are to uncover these texts. Whoever looks at a text
corrects its label where it is wrong. What is measured is how many are uncovered within a budget, and what the model
gains by it.

Texts are looked at by how suspicious they are:

- by an attribution of the class that a text is labelled with, the evidence in the k words that are shown, which speaks
  against the label:  -sum of their attributions;
- by the ``influence`` of a text on itself, over the last layer of the model, as Koh and Liang measure it:

      s_i = g_i' H^-1 g_i,   g_i = (p_i - e_i) x (h_i, 1),   H = mean_j (diag p_j - p_j p_j') x (h_j, 1)(h_j, 1)' + d I,

  where p_i are the probabilities of the classes, e_i has 1 for the label and h_i is the representation of the text, and
  d damps the curvature: removing text i from the n raises its own loss by about s_i / n;
- and by controls: its ``loss``, for which predictions suffice; at ``random``; and the ``oracle``, who knows the labels.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

VERSION = "label_contamination/1"

Order = Literal["influence", "loss", "random", "oracle"]

_FLIPPED, _ORDER = 4, 5
"""Of what is drawn about decoys and labels: which labels are flipped, and in which order one looks at random."""

_DIGITS = 9
"""Of what is compared, so that last bits decide no order."""


def flipped_labels(labels: Sequence[str], keys: Sequence[int], share: float, seed: int) -> list[str]:
    """Labels of which a share, rounded to whole texts, is another class, each as likely as any other.

    Args:
        labels: of the texts.
        keys: of what the texts say, on which alone it depends what is drawn.
        share: that is flipped.
        seed: of what is drawn.

    Raises:
        ValueError: if there is one class, or not one text would be flipped.

    >>> flipped_labels(["good", "bad"] * 2, [1, 2, 3, 4], 0.5, seed=0)
    ['good', 'good', 'good', 'good']
    """
    classes, num = sorted(set(labels)), round(share * len(labels))
    if len(classes) < 2 or not num:
        raise ValueError(
            f"{num} of {len(labels)} labels, of {len(classes)} classes: must be one at least, of two classes; raise "
            "contamination.share or contamination.num_texts"
        )
    draws = [keyed_generator(seed, Stream.DECOY, _FLIPPED, key).random(2) for key in keys]
    chosen = set(np.argsort([first for first, _ in draws], kind="stable")[:num].tolist())
    return [_other(classes, label, draws[row][1]) if row in chosen else label for row, label in enumerate(labels)]


def _other(classes: Sequence[str], label: str, draw: float) -> str:
    others = [name for name in classes if name != label]
    return others[int(draw * len(others))]


def lasting_classes(labels: Sequence[str], given: Sequence[str]) -> frozenset[str]:
    """The classes that a model knows whichever labels are corrected: those of texts whose label is not flipped.

    Args:
        labels: of the texts.
        given: to them; see :func:`flipped_labels`.

    >>> sorted(lasting_classes(["good", "bad", "so-so"], ["good", "bad", "bad"]))
    ['bad', 'good']
    """
    return frozenset(label for label, other in zip(labels, given, strict=True) if label == other)


def evidence_against(explained: Explained, k: int) -> float:
    """What the k words that are shown say against the class that is explained: minus the sum of their attributions.

    >>> evidence_against(Explained(["a", "dull", "film"], np.array([0.1, -2.0, 0.5])), 2)
    1.5
    """
    return 0.0 - float(sum(explained.values[place] for place in top_words(explained, k)))


def losses(probabilities: NDArray[np.floating], labels: NDArray[np.integer]) -> NDArray[np.float64]:
    """-log of the probability of each text's label.

    >>> losses(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 0])).round(3)
    array([0.693, 0.   ])
    """
    taken = np.asarray(probabilities, dtype=np.float64)[np.arange(len(labels)), labels]
    return np.asarray(0.0 - np.log(np.maximum(taken, np.finfo(float).tiny)))


def self_influence(
    representations: NDArray[np.floating],
    probabilities: NDArray[np.floating],
    labels: NDArray[np.integer],
    damping: float = 0.01,
) -> NDArray[np.float64]:
    """s_i, as above.

    Args:
        representations: h, ``[texts, size]``.
        probabilities: p, ``[texts, classes]``.
        labels: ``[texts]`` numbers of their classes.
        damping: d, above 0: the curvature alone has no inverse, as probabilities add up to 1.

    >>> self_influence(np.zeros((4, 0)), np.full((4, 2), 0.5), np.array([0, 1, 0, 1]), damping=0.5)
    array([0.5, 0.5, 0.5, 0.5])
    """
    from scipy.linalg import cho_factor, cho_solve

    inputs = np.column_stack([representations, np.ones(len(labels))]).astype(np.float64)
    shares = np.asarray(probabilities, dtype=np.float64)
    errors = shares - np.eye(shares.shape[1])[labels]
    gradients = (errors[:, :, None] * inputs[:, None, :]).reshape(len(inputs), -1)
    curvature = _curvature(inputs, shares) + damping * np.eye(gradients.shape[1])
    solved = cho_solve(cho_factor(curvature), gradients.T)
    return np.asarray(np.einsum("ij,ji->i", gradients, solved))


def _curvature(inputs: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over texts of (diag p - p p') x (h, 1)(h, 1)'."""
    size, num_classes = inputs.shape[1], shares.shape[1]
    curvature = np.empty((num_classes, size, num_classes, size))
    for row in range(num_classes):
        for column in range(num_classes):
            weights = shares[:, row] * ((row == column) - shares[:, column])
            curvature[row, :, column] = (inputs * weights[:, None]).T @ inputs / len(inputs)
    return curvature.reshape(num_classes * size, -1)


def inspected(scores: NDArray[np.floating], keys: Sequence[int], seed: int) -> NDArray[np.int64]:
    """Rows in the order in which they are looked at: the most suspicious first, equal ones in an order that is drawn.

    Args:
        scores: ``[texts]``; equal ones for all are an order at random.
        keys: of what the texts say.
        seed: of what is drawn.

    >>> inspected(np.array([0.0, 2.0, 1.0]), [7, 8, 9], seed=0)
    array([1, 2, 0])
    """
    draws = np.array([keyed_generator(seed, Stream.DECOY, _ORDER, key).random() for key in keys])
    return np.lexsort((draws, -np.round(scores, _DIGITS)))

"""What a student says of words in their contexts: influence scores, unlike ratios, counterfactuals.

Kumar et al. 2021, sections 3.2 and 4.3, appendix E. The score of two classes is printed there as 2 s + 1, which would
lie in 1..3; it is 2 s - 1, in -1..1. In "C(r)" a bias of the last layer would give a word that changes nothing the
score of the bias: it is left out unless it is asked for.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from tiltmeter.operators.classifiers.influence.calibration import gaps
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray


def influence_scores(
    changes: NDArray[np.floating], weight: NDArray[np.floating], bias: NDArray[np.floating] | None = None
) -> FloatArray:
    """By how much, and toward which class, words move the state of their text (equation 4).

    Of two classes, s = 2 softmax(C r)[second] - 1 in -1..1. Of more, the log odds of each class,
    log(p_k / (1 - p_k)) with p = softmax(C r).

    Args:
        changes: ``[pairs, size]``, r.
        weight: ``[classes, size]``, C.
        bias: ``[classes]``, the published form; None: C without its bias.

    Returns:
        ``[pairs]`` of two classes, ``[pairs, classes]`` of more.

    >>> weight = np.array([[0.0], [1.0]])
    >>> influence_scores(np.array([[0.0], [np.log(3.0)]]), weight).round(6)
    array([0. , 0.5])
    >>> influence_scores(np.array([[0.0]]), weight, bias=np.array([0.0, np.log(3.0)])).round(6)
    array([0.5])
    """
    logits = changes.astype(np.float64) @ weight.T.astype(np.float64) + (0.0 if bias is None else bias)
    if logits.shape[1] == 2:
        return np.asarray(np.tanh((logits[:, 1] - logits[:, 0]) / 2.0))
    return log_odds(logits)


def log_odds(logits: NDArray[np.floating]) -> FloatArray:
    """log(p_k / (1 - p_k)) of each class, with p = softmax of each row.

    >>> log_odds(np.log([[1.0, 1.0, 2.0]])).round(4)
    array([[-1.0986, -1.0986,  0.    ]])
    """
    num_classes = logits.shape[-1]
    others = np.stack([np.delete(logits, number, axis=-1) for number in range(num_classes)], axis=-2)
    return np.asarray(logits - logsumexp(others, axis=-1))


def support(scores: FloatArray, label: int) -> FloatArray:
    """Influence scores in support of a class: + s of the second of two, - s of the first; log odds of one of more.

    >>> support(np.array([0.25, -0.5]), 0)
    array([-0.25,  0.5 ])
    """
    if scores.ndim == 2:
        return np.asarray(scores[:, label])
    return scores if label == 1 else -scores


def unlike_ratios(labels: IntArray, given: IntArray, allowed: BoolArray | None = None) -> FloatArray:
    """The share of words with which a place would have another class than its text has (equation 5).

    Args:
        labels: ``[contexts, words]``, the class of each text with each word.
        given: ``[contexts]``, the class of the text as it is.
        allowed: ``[contexts, words]``, words that count; a text's own word does not, nor one that the teacher does not
            know. None: all.

    Returns:
        ``[contexts]``; NaN of a context without a word that counts.

    >>> unlike_ratios(np.array([[0, 1, 1], [0, 0, 0]]), np.array([0, 1]), np.array([[True, True, True], [False] * 3]))
    array([0.66666667,        nan])
    """
    counted = np.ones(labels.shape, dtype=bool) if allowed is None else allowed
    num = counted.sum(axis=1)
    unlike = ((labels != given[:, None]) & counted).sum(axis=1)
    return np.asarray(np.where(num > 0, unlike / np.maximum(num, 1), np.nan))


def hybrid(ratios: FloatArray, supports: FloatArray, *, of_places: bool = True) -> FloatArray:
    """Unlike ratios of a text's words, and their influence where the ratios are not informative (section 4.3).

    The paper gives a text whose ratios are all 0 as an example. A ratio of 0 says as little beside others that are not
    0: places that have one follow behind these, from the most influence in support of the class to the least.

    Args:
        ratios: ``[words]``; NaN, where there is none, ranks with 0.
        supports: ``[words]``, influence in support of the text's class.
        of_places: False: influence counts only where all ratios of the text are 0.

    >>> ratios, supports = np.array([0.0, 0.5, 0.0]), np.array([0.9, 0.1, -0.9])
    >>> hybrid(ratios, supports).round(2), hybrid(ratios, supports, of_places=False)
    (array([-0.29,  0.5 , -0.71]), array([0. , 0.5, 0. ]))
    """
    known = np.nan_to_num(ratios)
    if not of_places:
        return known if known.any() else supports
    return np.where(known > 0.0, known, expit(supports) - 1.0)


def hybrid_sum(ratios: FloatArray, supports: FloatArray) -> FloatArray:
    """Unlike ratios of a text's words plus their influence, as figure 2 calls the hybrid.

    A ratio is over words of one part of speech, of which there are thousands or a few: that of one place and that of
    another do not compare as influence does.

    Args:
        ratios: ``[words]``; NaN, where there is none, counts as 0.
        supports: ``[words]``, influence in support of the text's class, in -1..1.

    >>> hybrid_sum(np.array([0.0, 0.5, np.nan]), np.array([0.9, 0.1, -0.9]))
    array([ 0.9,  0.6, -0.9])
    """
    return np.asarray(np.nan_to_num(ratios) + supports)


class Counterfactuals(NamedTuple):
    """Words of one context that the student expects to change its class.

    Attributes:
        words: numbers of the sure ones with the smallest probability of the text's class, that first.
        num: how many there are in all.
        num_sure: how many of them are sure.
    """

    words: IntArray
    num: int
    num_sure: int


def counterfactuals(
    logits: NDArray[np.floating],
    given: int,
    allowed: BoolArray | None = None,
    most: int = 10,
    cuts: FloatArray | float = 0.0,
) -> Counterfactuals:
    """Counterfactuals of one context (algorithm 2), whose size and accuracy its appendix has the wrong way round.

    Where few words change the class, the student's surest ones are those that it is most wrong about. A word is sure if
    another class has more than the text's own by its cut, such as :func:`.calibration.sure_cuts`; the paper takes all.

    Args:
        logits: ``[words, classes]``, the student's, of the text with each word.
        given: the teacher's class of the text.
        allowed: ``[words]`` that count; None: all.
        most: words that are kept.
        cuts: ``[words]``, or one for all: difference of logits above which a word is sure; 0: all are.

    >>> counterfactuals(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]), given=0)
    Counterfactuals(words=array([2, 0]), num=2, num_sure=2)
    >>> counterfactuals(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]), given=0, cuts=1.5)
    Counterfactuals(words=array([2]), num=2, num_sure=1)
    """
    is_unlike = logits.argmax(axis=1) != given
    if allowed is not None:
        is_unlike &= allowed
    is_sure = (gaps(logits, given) > cuts) | (np.asarray(cuts) <= 0.0)
    candidates = np.flatnonzero(is_unlike & is_sure)
    remaining = log_odds(logits[candidates])[:, given] if candidates.size else np.zeros(0)
    return Counterfactuals(
        candidates[np.argsort(remaining, kind="stable")[:most]], int(is_unlike.sum()), int(candidates.size)
    )

"""BLEU of rules with several references (Papineni et al. 2002, *BLEU*), as NLTK's ``corpus_bleu`` has it, from counts
that add up, so that instances can be resampled without counting again.

Over all hypotheses, p_n is the share of n-grams of the hypothesis that are in a reference, each at most as often as in
the reference that has it most; c is the length of the hypotheses, r that of the references nearest to them in length:

    BLEU = min(1, exp(1 - r / c)) · (p_1 p_2 p_3 p_4)^(1/4)

Two habits of NLTK's are kept: a hypothesis of fewer than n tokens counts as one n-gram that is nowhere, and where no
n-gram of an order matches, its share is the least positive number.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray, IntArray

VERSION = "rule_bleu/1"

MOST_TOKENS = 4
"""Of an n-gram."""

_TOKEN = re.compile(r"\w+|[^\w\s,]")
_LEAST = sys.float_info.min


def published_tokens(text: str) -> list[str]:
    """The tokens of a rule in Tokensregex or Semgrex on which Tang and Surdeanu 2021 computed BLEU: words and single
    marks, without commas; so two rules that differ by a comma alone are the same, and no rule can be read from them.

    >>> published_tokens('"," "vice" [{lemma:/be/}]')
    ['"', '"', '"', 'vice', '"', '[', '{', 'lemma', ':', '/', 'be', '/', '}', ']']
    """
    return _TOKEN.findall(text)


def bleu_counts(references: Sequence[Sequence[str]], hypothesis: Sequence[str]) -> IntArray:
    """What one hypothesis adds.

    Args:
        references: one or more.

    Returns:
        ``[10]`` int64: the n-grams that are in a reference for n = 1 to 4, all of them, and the lengths of the
        hypothesis and of the reference nearest to it, the shorter of two.

    Raises:
        ValueError: if there is no reference.

    >>> bleu_counts([["a", "b", "c", "d"]], ["a", "b", "x"]).tolist()
    [2, 1, 0, 0, 3, 2, 1, 1, 3, 4]
    """
    if not references:
        raise ValueError("BLEU compares with one reference at least")
    matched, counted = [], []
    for order in range(1, MOST_TOKENS + 1):
        grams = _grams(hypothesis, order)
        most: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            most |= _grams(reference, order)
        matched.append(sum((grams & most).values()))
        counted.append(max(1, sum(grams.values())))
    length = len(hypothesis)
    nearest = min(map(len, references), key=lambda size: (abs(size - length), size))
    return np.array([*matched, *counted, length, nearest], dtype=np.int64)


def _grams(tokens: Sequence[str], order: int) -> "Counter[tuple[str, ...]]":
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


def bleu(counts: IntArray) -> FloatArray:
    """BLEU of counts that were added up.

    Args:
        counts: ``[..., 10]``, sums of :func:`bleu_counts`.

    Returns:
        ``[...]`` between 0 and 1; 0 where no token matches.

    >>> round(float(bleu(bleu_counts([["a", "b", "c", "d", "e"]], ["a", "b", "c", "d"]))), 4)
    0.7788
    """
    sums = np.asarray(counts, dtype=np.float64)
    matched, counted = sums[..., :MOST_TOKENS], sums[..., MOST_TOKENS : 2 * MOST_TOKENS]
    length, nearest = sums[..., -2], sums[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(matched > 0, matched / counted, _LEAST)
        penalty = np.where(length > nearest, 1.0, np.exp(1.0 - nearest / length))
        score = penalty * np.exp(np.log(shares).sum(axis=-1) / MOST_TOKENS)
    return np.asarray(np.where(matched[..., 0] > 0, score, 0.0))


def bleu_influence(counts: IntArray) -> FloatArray:
    """By how much BLEU of all hypotheses moves with each of N: N times the derivative by how often it is there.

    With sums M_n of matches, C_n of n-grams, c and r, that of log BLEU is

        sum_n (m_n / M_n - c_n / C_n) / 4 + [c < r] (r c_i / c - r_i) / c.

    Args:
        counts: ``[hypotheses, 10]``, of :func:`bleu_counts`.

    >>> counts = np.stack([bleu_counts([list("abcdef")], list(text)) for text in ("abcd", "abcx")])
    >>> weights = np.array([[1.001, 1.0], [0.999, 1.0]])
    >>> above, below = bleu(weights @ counts)
    >>> bool(np.isclose(bleu_influence(counts)[0], 2 * (above - below) / 0.002, rtol=1e-5))
    True
    """
    table = np.asarray(counts, dtype=np.float64)
    sums = table.sum(axis=0)
    orders = np.flatnonzero(sums[:MOST_TOKENS] > 0)
    moved = (table[:, orders] / sums[orders] - table[:, orders + MOST_TOKENS] / sums[orders + MOST_TOKENS]).sum(axis=1)
    moved /= MOST_TOKENS
    length, nearest = sums[-2:]
    if 0.0 < length <= nearest:
        moved += (nearest * table[:, -2] / length - table[:, -1]) / length
    return np.asarray(len(table) * bleu(sums) * moved)


def corpus_bleu(references: Iterable[Sequence[Sequence[str]]], hypotheses: Iterable[Sequence[str]]) -> float:
    """BLEU of all hypotheses with the references of each.

    Raises:
        ValueError: if one has no reference, or their numbers differ.
    """
    pairs = zip(references, hypotheses, strict=True)
    return float(bleu(sum((bleu_counts(*pair) for pair in pairs), np.zeros(2 * MOST_TOKENS + 2, dtype=np.int64))))

"""Gender bias from projections on the gender direction: of a profession with several forms, and of a list of words.

Languages with grammatical gender have feminine, masculine and neutral forms of a profession. They are brought to one
number after Matthews et al. 2021, *Gender bias in natural language processing across human languages*, section 4.2. The
paper takes the mean of the forms first, finds that it makes too much of the female side, and prefers the mean weighted
by how often each form occurs. That of genders, in which a second spelling does not count double, is ours.

Biases come from :func:`.direction.projection`: words, forms or professions are the last axis, and whatever leads
(replicas, pairs left out) is kept. Each replica leaves out the words without a vector there (NaN). The version of these
functions is that of :mod:`.gender.direction`.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tiltmeter.operators.compute.arrays import FloatArray

Weights = Literal["count", "form", "gender"]
"""What the forms of a profession are weighted by: their counts; nothing, each form the same; each gender the same."""

WEIGHTS: tuple[Weights, ...] = get_args(Weights)


class ProfessionBias(NamedTuple):
    """The bias of one profession, ``[replicas]`` each.

    Attributes:
        by_count: :func:`count_weights`; NaN where several forms have no count.
        by_form: :func:`form_weights`.
        by_gender: :func:`gender_weights`.
    """

    by_count: FloatArray
    by_form: FloatArray
    by_gender: FloatArray


def mean_bias(biases: NDArray[np.floating]) -> FloatArray:
    """Mean bias of a list of words, such as the female or the male side of the definitional pairs.

    Args:
        biases: ``[..., words]`` cosines with the gender direction.

    Returns:
        ``[...]`` float64, the mean over the words that have a bias; NaN where none has.

    >>> mean_bias(np.array([[0.25, np.nan, 0.75], [np.nan, np.nan, np.nan]]))
    array([0.5, nan])
    """
    return _weighted_mean(biases, np.ones(np.shape(biases)[-1:]))


def direct_bias_of(biases: NDArray[np.floating], exponent: float = 1.0) -> FloatArray:
    """DirectBias_c = 1/|N| sum_{w in N} |b_w|^c over the biases b_w of words or professions N that should be neutral.

    This is the direct bias of Bolukbasi et al. 2016 with the bias of a profession, whichever way its forms are
    weighted, in the place of the cosine of its only word.

    Args:
        biases: ``[..., professions]`` in [-1, 1].
        exponent: c >= 0, the strictness. 0 counts the professions with any bias at all, so 0^0 is 0 here.

    Returns:
        ``[...]`` float64 in [0, 1], the mean over the professions that have a bias; NaN where none has.

    Raises:
        ValueError: if the exponent is negative or not a number.

    >>> direct_bias_of(np.array([[0.25, -0.75, np.nan]]), exponent=2)
    array([0.3125])
    """
    return mean_bias(sizes(biases, exponent))


def sizes(biases: NDArray[np.floating], exponent: float = 1.0) -> FloatArray:
    """|b|^c of every bias b, of which the direct bias is the mean.

    Of forms, before a profession takes their mean, it makes a direct bias in which forms on both sides do not cancel.
    Of the German scientist, whose forms have biases of 0.32 and -0.06 in Matthews et al. 2021, that is the mean of 0.32
    and 0.06; the size of the mean by count is 0.04.

    Args:
        biases: of any shape, in [-1, 1].
        exponent: c >= 0; with 0, a bias of 0 has no size.

    Raises:
        ValueError: if the exponent is negative or not a number.

    >>> float(form_weights(sizes(np.array([0.32, -0.06]))).round(2))
    0.19
    """
    if not exponent >= 0:
        raise ValueError(f"exponent={exponent}: must be 0 or more (1 in the paper); set the direct bias's exponent")
    size = np.abs(np.asarray(biases, dtype=np.float64))
    # Not size**exponent throughout: with exponent 0 numpy has 1 for a bias of 0 and for NaN.
    return np.where(size > 0, size**exponent, size)


def form_weights(biases: NDArray[np.floating]) -> FloatArray:
    """Bias of one profession with equal weights for its forms: (1/|F|) sum_f b_f over the forms F that have a bias.

    Args:
        biases: ``[..., forms]`` of one profession.

    Returns:
        ``[...]`` float64; NaN where no form has a bias.

    Raises:
        ValueError: without any form.

    >>> form_weights(np.array([[0.5, -0.1, -0.4], [np.nan, -0.1, np.nan]])).round(4)
    array([ 0. , -0.1])
    """
    return count_weights(biases, np.ones(np.shape(biases)[-1:]))


def gender_weights(biases: NDArray[np.floating], genders: ArrayLike) -> FloatArray:
    """Bias of one profession with equal weights for its genders: the mean over genders of the mean within each.

    (1/|G|) sum_{g in G} (1/|F_g|) sum_{f in F_g} b_f, with F_g the forms of gender g that have a bias and G the genders
    that have such a form. A second spelling of a form shares the weight of its gender and does not count double.

    Args:
        biases: ``[..., forms]`` of one profession.
        genders: ``[forms]`` any labels, equal for forms of one gender.

    Returns:
        ``[...]`` float64; NaN where no form has a bias.

    Raises:
        ValueError: unless there is one gender for each form, and at least one form.

    >>> spanish = np.array([[0.5, -0.1, -0.3], [np.nan, -0.1, np.nan]])
    >>> gender_weights(spanish, ["feminine", "masculine", "masculine"]).round(4)
    array([ 0.15, -0.1 ])
    """
    labels = np.asarray(genders)
    _check_forms("genders", labels, biases)
    return mean_bias(np.stack([mean_bias(biases[..., labels == gender]) for gender in np.unique(labels)], axis=-1))


def count_weights(biases: NDArray[np.floating], counts: ArrayLike) -> FloatArray:
    """Bias of one profession with each form weighted by how often it occurs: sum_f n_f b_f / sum_f n_f.

    Of the German scientist the paper prints biases of 0.32 and -0.06, counts of 1,354 and 32,467, and a mean of -0.04.

    Args:
        biases: ``[..., forms]`` of one profession.
        counts: ``[forms]`` occurrences n_f in the original corpus, the same for all replicas. The sums run over the
            forms that have a bias.

    Returns:
        ``[...]`` float64; NaN where no form has a bias, or none that has one occurs.

    Raises:
        ValueError: unless there is one finite count of 0 or more for each form, and at least one form.

    >>> count_weights(np.array([[0.32, -0.06], [np.nan, -0.06]]), [1354, 32467]).round(2)
    array([-0.04, -0.06])
    """
    weights = np.asarray(counts, dtype=np.float64)
    _check_forms("counts", weights, biases)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"counts={weights.tolist()}: must be finite and 0 or more; give occurrences in the corpus")
    return _weighted_mean(biases, weights)


def profession_bias(
    biases: NDArray[np.floating], genders: Sequence[str], counts: Sequence[int | None]
) -> ProfessionBias:
    """Bias of one profession in every replica that has all its forms.

    A mean over other forms than the original's would be a mean of something else, so replicas that lack a form have no
    bias.

    Args:
        biases: ``[replicas, forms]``.
        genders: ``[forms]``, as for :func:`gender_weights`.
        counts: ``[forms]``, as for :func:`count_weights`; None where it is not known. A single form needs none.

    Raises:
        ValueError: as these two.

    >>> profession_bias(np.array([[0.5, -0.1], [0.3, np.nan]]), ["feminine", "masculine"], [100, 300])
    ProfessionBias(by_count=array([0.05,  nan]), by_form=array([0.2, nan]), by_gender=array([0.2, nan]))
    """
    complete = np.where(np.isnan(biases).any(axis=1, keepdims=True), np.nan, biases)
    by_form, by_gender = form_weights(complete), gender_weights(complete, genders)
    if len(counts) == 1:
        return ProfessionBias(by_form, by_form, by_gender)
    if None in counts:
        return ProfessionBias(np.full_like(by_form, np.nan), by_form, by_gender)
    return ProfessionBias(count_weights(complete, np.array(counts, dtype=np.float64)), by_form, by_gender)


def _weighted_mean(values: NDArray[np.floating], weights: FloatArray) -> FloatArray:
    """Over the finite values of the last axis; NaN where these have no weight."""
    doubles = np.asarray(values, dtype=np.float64)
    present = np.isfinite(doubles)
    total = np.where(present, weights, 0.0).sum(axis=-1)
    terms = weights * np.where(present, doubles, 0.0)
    return np.asarray(terms.sum(axis=-1) / np.where(total > 0, total, np.nan))


def _check_forms(name: str, of_forms: NDArray[np.generic], biases: NDArray[np.floating]) -> None:
    if of_forms.shape != biases.shape[-1:] or of_forms.size == 0:
        raise ValueError(
            f"{name} {of_forms.shape} and biases {biases.shape}: must be [forms] and [..., forms], one of the {name} "
            "for each form and at least one form"
        )

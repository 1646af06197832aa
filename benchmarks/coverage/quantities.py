"""What is measured in every model: flips, effect sizes, direct bias and biases of professions, by the operators."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.coverage.training import Models
from tiltmeter.operators.association.scores import associations, effect_scale, effect_size
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.gender.direction import gender_direction, projection
from tiltmeter.operators.gender.professions import direct_bias_of, profession_bias
from tiltmeter.operators.psychophysics.forced_choice import flip_points
from tiltmeter.operators.text.wordsets import Association, GenderSurvey, WordSets

_GENDERS = ("feminine", "masculine", "neutral")
_CUES = ("she", "he")
_MIN_WORDS = 2


class Quantity(NamedTuple):
    """A number of every model of a sample.

    Attributes:
        kind: ``pse``, ``weat``, ``direct_bias`` or ``bias``.
        name: the occupation, test or profession.
        values: ``[models]``; NaN where a model lacks a word.
        errors: ``[models]`` standard error by the spread over the words, NaN where there is none.
        limit: the largest that it can be, where sizes of sets decide that; NaN elsewhere.
    """

    kind: str
    name: str
    values: FloatArray
    errors: FloatArray
    limit: float = np.nan


class Listed:
    """Vectors by word: ``[models, words, dims]`` of a list, NaN for a word that a model lacks."""

    def __init__(self, models: Models) -> None:
        self.counts = dict(zip(models.words.tolist(), models.counts.tolist(), strict=True))
        missing = np.full_like(models.vectors[:, :1], np.nan)
        self._vectors = np.concatenate([models.vectors, missing], axis=1)
        self._rows = {word: row for row, word in enumerate(self.counts)}

    def __call__(self, words: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors[:, [self._rows.get(word, -1) for word in words]]

    def present(self, words: Sequence[str]) -> list[str]:
        """Those of the words that the sample has."""
        return [word for word in dict.fromkeys(words) if word in self._rows]


def measured(models: Models, wordset: WordSets) -> list[Quantity]:
    """Every quantity whose words the sample has."""
    listed = Listed(models)
    tests = (_effect(listed, name, test) for name, test in wordset.associations.items())
    survey = _Survey(listed, wordset.gender_survey) if wordset.gender_survey else None
    found = [*_flips(listed, wordset), *(test for test in tests if test), *(survey.quantities() if survey else ())]
    return [quantity for quantity in found if np.isfinite(quantity.values[0])]


def frame(quantities: Sequence[Quantity], models: Models) -> pl.DataFrame:
    """A row for each quantity and model: ``replica``, ``kind``, ``name``, ``value``, ``error`` and ``limit``."""
    parts = [
        pl.DataFrame({"replica": models.replica, "value": quantity.values, "error": quantity.errors}).with_columns(
            kind=pl.lit(quantity.kind), name=pl.lit(quantity.name), limit=pl.lit(quantity.limit, pl.Float64)
        )
        for quantity in quantities
    ]
    return pl.concat(parts)


def _flips(listed: Listed, wordset: WordSets) -> Iterator[Quantity]:
    """Of occupations between she and he, or of profession forms between the first defining pair."""
    if wordset.occupations:
        cues, words = _CUES, sorted(wordset.occupations.percent_women)
    elif survey := wordset.gender_survey:
        cues, words = next(iter(survey.defining.values())).words, _all_forms(survey)
    else:
        return
    female, male = (listed([cue]) for cue in cues)
    for word, flips in zip(words, flip_points(listed(words), female, male).T, strict=True):
        yield Quantity("pse", word, flips, np.full_like(flips, np.nan))


def _all_forms(survey: GenderSurvey) -> list[str]:
    return sorted({word for forms in survey.professions.values() for word in forms.words})


def _effect(listed: Listed, name: str, test: Association) -> Quantity | None:
    sides = (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
    x, y, a, b = (listed.present(side.words) for side in sides)
    if min(map(len, (x, y, a, b))) < _MIN_WORDS:
        return None
    targets = listed([*x, *y])
    near_a, near_b = (pairwise(targets, listed(words), "cosine") for words in (a, b))
    effects = effect_size(associations(near_a, near_b, "mean", "cosine"), len(x))
    error, scale = effect_error(effects, len(x), len(y)), effect_scale(len(x), len(y))
    return Quantity("weat", name, effects, error, scale.high)


def effect_error(effects: FloatArray, num_x: int, num_y: int) -> FloatArray:
    """Standard error of Cohen's d (Hedges and Olkin 1985, section 5.E).

    >>> effect_error(np.array([0.0, 2.0]), 8, 8).round(4)
    array([0.5   , 0.6124])
    """
    num = num_x + num_y
    return np.asarray(np.sqrt(num / (num_x * num_y) + effects**2 / (2.0 * num)))


class _Survey:
    """The gender direction of all defining pairs, and biases along it."""

    def __init__(self, listed: Listed, words: GenderSurvey) -> None:
        self._listed, self._words = listed, words

    def quantities(self) -> Iterator[Quantity]:
        """The direct bias, and the bias of each profession weighted by the counts of its forms."""
        sizes = np.abs(np.stack(list(self._biases.values())))
        known = np.isfinite(sizes).sum(axis=0)
        error = np.nanstd(sizes, axis=0, ddof=1) / np.sqrt(known)
        yield Quantity("direct_bias", "professions", direct_bias_of(sizes.T), error)
        for name, biases in self._biases.items():
            yield Quantity("bias", name, biases, np.full_like(biases, np.nan))

    @cached_property
    def _biases(self) -> dict[str, FloatArray]:
        forms_by_name = {name: self._present(name) for name in self._words.professions}
        return {name: self._bias(forms) for name, forms in forms_by_name.items() if forms}

    def _present(self, profession: str) -> list[tuple[str, str]]:
        forms = self._words.professions[profession]
        return [(word, side) for side in _GENDERS for word in self._listed.present(getattr(forms, side))]

    def _bias(self, forms: Sequence[tuple[str, str]]) -> FloatArray:
        words, genders = zip(*forms, strict=True)
        counts = [self._listed.counts[word] for word in words]
        return profession_bias(projection(self._listed(words), self._direction), genders, counts).by_count

    @cached_property
    def _direction(self) -> FloatArray:
        pairs = [pair.words for pair in self._words.defining.values() if len(self._listed.present(pair.words)) == 2]
        female, male = zip(*pairs, strict=True)
        return gender_direction(self._listed(female), self._listed(male)).direction

"""What is measured in every model: flips, effect sizes, direct bias and biases of professions, by the operators.

Values of all models are a table, and a part of it arrays.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.coverage.training import ALL_SAMPLES, CORPORA, Models, Settings, Variant, trained, word_sets
from tiltmeter.operators.association.scores import associations, effect_scale, effect_size
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.direction import gender_direction, projection
from tiltmeter.operators.embedding.similarity import pairwise
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


# --- values -----------------------------------------------------------------------------------------------------------


class Values(NamedTuple):
    """Of one kind, in the samples of one corpus; NaN where a sample lacks a quantity.

    Attributes:
        names: of the quantities.
        starts: ``[starts, samples, quantities]`` of the samples themselves.
        replicas: ``[samples, quantities, replicas]``.
        errors: ``[samples, quantities, 1 + replicas]`` standard errors, that of the sample first.
        limits: ``[samples, quantities]``, the largest that each can be; NaN where sizes of sets don't decide that.
    """

    names: Sequence[str]
    starts: FloatArray
    replicas: FloatArray
    errors: FloatArray
    limits: FloatArray

    @property
    def estimates(self) -> FloatArray:
        """``[samples, quantities]`` from the first start, as replicas have one."""
        return np.asarray(self.starts[0])

    def narrowed(self, names: Sequence[str]) -> "Values":
        """Some quantities."""
        chosen = [self.names.index(name) for name in names]
        parts = self.starts[..., chosen], self.replicas[:, chosen], self.errors[:, chosen], self.limits[:, chosen]
        return Values(names, *parts)

    def first(self, num_replicas: int) -> "Values":
        """The first replicas."""
        replicas, errors = self.replicas[..., :num_replicas], self.errors[..., : 1 + num_replicas]
        return self._replace(replicas=replicas, errors=errors)


def measure(folder: Path, names: Mapping[str, list[Variant]], settings: Settings) -> pl.DataFrame:
    """Train what is missing, and measure; the rows of :class:`.study.Study`."""
    parts = []
    for name, chosen in names.items():
        wordset = word_sets(CORPORA[name].language)
        for variant in [*chosen, ALL_SAMPLES]:
            rows = table(trained(folder, name, variant, settings), wordset)
            parts.append(rows.with_columns(corpus=pl.lit(name), variant=pl.lit(variant.name)))
    return pl.concat(parts)


def table(files: Sequence[Path], wordset: WordSets) -> pl.DataFrame:
    """Every quantity of every model: ``sample``, ``start``, ``replica``, ``kind``, ``name``, ``value``, ``error``,
    ``limit``.
    """
    parts: list[pl.DataFrame] = []
    for file in files:
        models = Models.load(file)
        parts += [_rows(file.stem, models, quantity) for quantity in measured(models, wordset)]
    return pl.concat(parts)


def _rows(sample: str, models: Models, quantity: Quantity) -> pl.DataFrame:
    values = {"replica": models.replica, "value": quantity.values, "error": quantity.errors}
    named = {"sample": pl.lit(sample), "kind": pl.lit(quantity.kind), "name": pl.lit(quantity.name)}
    # A further start has a negative number.
    numbers = {"start": pl.min_horizontal("replica", 0).neg(), "replica": pl.max_horizontal("replica", 0)}
    return pl.DataFrame(values).with_columns(**named, **numbers, limit=pl.lit(quantity.limit, pl.Float64))


def arrays(rows: pl.DataFrame) -> Values:
    """Rows of one corpus, variant and kind."""
    axes = {axis: _codes(rows[axis]) for axis in ("sample", "name", "replica", "start")}
    first, original = axes["start"] == 0, axes["replica"] == 0

    def filled(column: str, chosen: NDArray[np.bool_], *names: str) -> FloatArray:
        array = np.full([1 + int(axes[name].max(initial=0)) for name in names], np.nan)
        array[tuple(axes[name][chosen] for name in names)] = rows[column].to_numpy()[chosen]
        return array

    return Values(
        sorted(rows["name"].unique()),
        filled("value", original, "start", "sample", "name"),
        filled("value", first, "sample", "name", "replica")[..., 1:],
        filled("error", first, "sample", "name", "replica"),
        filled("limit", first & original, "sample", "name"),
    )


def _codes(column: pl.Series) -> NDArray[np.int64]:
    """Numbers as they are, and the places of words in their order."""
    if column.dtype.is_integer():
        return column.to_numpy().astype(np.int64)
    return np.unique(column.to_numpy(), return_inverse=True)[1]

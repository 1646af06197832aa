"""The rows of the gender tables: words, professions, defining pairs and the language as a whole, in all replicas."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.embedding.lookup import Lookup, OfReplicas, missing_words
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.gender.tables import GenderLanguages, GenderPairs, GenderProfessions, GenderWords, Weighted
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.direction import GenderDirection, gender_direction, projection
from tiltmeter.operators.gender.direction import DOMINANCE, dominates, scale, without_each_pair
from tiltmeter.operators.gender.professions import (
    WEIGHTS,
    ProfessionBias,
    Weights,
    direct_bias_of,
    mean_bias,
    profession_bias,
    sizes,
)
from tiltmeter.operators.text.wordsets import GenderSurvey, WordForms

_GENDERS = ("feminine", "masculine", "neutral")
_FEW_PAIRS = 3
_AGREEMENT = 2 / 3

_NO_COUNTS = failed("no_counts", "how often the forms occur is not known: set job.weights=form or job.weights=gender")

Biases = NDArray[np.float64]
"""``[embeddings]``, or ``[..., embeddings]``."""


@dataclass(frozen=True)
class GenderRows:
    """One language in all replicas.

    Attributes:
        key: which model it is.
        lookup: the vectors.
        words: the lists of the language.
        config: how.
        num_tokens: running words of the corpus; None where that is not known.
    """

    key: Row
    lookup: Lookup
    words: GenderSurvey
    config: GenderConfig
    num_tokens: int | None = None

    @cached_property
    def pairs(self) -> dict[str, tuple[str, str]]:
        """The defining pairs of which both words have a vector."""
        pairs = {name: (pair.feminine, pair.masculine) for name, pair in self.words.defining.items()}
        return {name: pair for name, pair in pairs.items() if not self.lookup.missing(pair)}

    @cached_property
    def direction(self) -> GenderDirection | None:
        """None without a pair."""
        return gender_direction(*self._sides()) if self.pairs else None

    def _sides(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        female, male = zip(*self.pairs.values(), strict=True)
        return self.lookup(female), self.lookup(male)

    @property
    def _no_direction(self) -> Row:
        reason = "no defining pair has both words in the vocabulary, so there is no gender direction"
        return {"num_replicas": 0, **failed("no_direction", reason)}

    # --- words ---

    def word_rows(self) -> Iterator[GenderWords]:
        """A row for each defining word and each form of a profession."""
        for pair, defining in self.words.defining.items():
            for side in _GENDERS[:2]:
                yield self._word_row("defining", pair, getattr(defining, side), side, defining.note)
        for profession, forms in self.words.professions.items():
            for side in _GENDERS:
                for word in getattr(forms, side):
                    yield self._word_row("professions", profession, word, side, forms.note)

    def _word_row(self, listed: str, item: str, word: str, side: str, note: str) -> GenderWords:
        row = self.key | {"word": word, "list": listed, "item": item, "gender": side, "note": note}
        row["count"] = self.lookup.counts.get(word)
        if word not in self.lookup:
            return GenderWords(**row, num_replicas=0, **missing_words([word]))
        if self.direction is None:
            return GenderWords(**row, **self._no_direction)
        [bias] = projection(self.lookup([word]), self.direction.direction).T
        return GenderWords(**row, bias=self._number("bias", bias), **self.lookup.basis(bias))

    def _number(self, name: str, values: Biases) -> OfReplicas:
        return OfReplicas(self.lookup.taken_apart(values), self.config, scale(name))

    def _weighted(self, name: str, values: Mapping[Weights, Biases]) -> Weighted:
        return Weighted(self.config.weights, {weights: self._number(name, values[weights]) for weights in WEIGHTS})

    # --- professions ---

    @cached_property
    def professions(self) -> dict[str, "_Forms"]:
        """The forms that have a vector, of each profession that has any."""
        forms_by_name = {name: self._forms(forms) for name, forms in self.words.professions.items()}
        return {name: forms for name, forms in forms_by_name.items() if forms.words}

    def _forms(self, forms: WordForms) -> "_Forms":
        present = [(word, side) for side in _GENDERS for word in getattr(forms, side) if word in self.lookup]
        return _Forms([word for word, _ in present], [side for _, side in present])

    def _lacks_counts(self, forms: "_Forms") -> bool:
        """Whether its forms would be weighted by counts that are not known."""
        counts = [self.lookup.counts[word] for word in forms.words]
        return self.config.weights == "count" and len(counts) > 1 and None in counts

    def _biases(self, direction: NDArray[np.float64], *, in_size: bool = False) -> dict[Weights, Biases]:
        """Of every profession ``[professions, embeddings]``, by all weights; in size: means of its forms' sizes."""
        measured = [self._bias(forms, direction, in_size) for forms in self.professions.values()]
        if not measured:
            return self._no_biases
        return dict(zip(WEIGHTS, map(np.stack, zip(*measured, strict=True)), strict=True))

    @property
    def _no_biases(self) -> dict[Weights, Biases]:
        return dict.fromkeys(WEIGHTS, np.full((len(self.professions), self.lookup.num_embeddings), np.nan))

    def _bias(self, forms: "_Forms", direction: NDArray[np.float64], in_size: bool) -> ProfessionBias:
        counts = [self.lookup.counts[word] for word in forms.words]
        biases = projection(self.lookup(forms.words), direction)
        return profession_bias(sizes(biases, self.config.exponent) if in_size else biases, forms.genders, counts)

    @cached_property
    def biases(self) -> dict[Weights, Biases]:
        """Along the direction of all pairs."""
        return self._no_biases if self.direction is None else self._biases(self.direction.direction)

    def profession_rows(self) -> Iterator[GenderProfessions]:
        """A row for each profession of the list."""
        for name, listed in self.words.professions.items():
            words = [word for side in _GENDERS for word in getattr(listed, side)]
            has_forms = name in self.professions
            yield GenderProfessions(
                **self.key,
                profession=name,
                weights=self.config.weights,
                missing_words=self.lookup.missing(words),
                count=self._count(words),
                forms=self.professions[name].words if has_forms else [],
                **(self._profession(name) if has_forms else {"num_replicas": 0, **_nothing_of(words)}),
            )

    def _count(self, words: Sequence[str]) -> int | None:
        """Occurrences of all of them, those too rare for a vector as well."""
        counts = [count for word in words if (count := self.lookup.counts.get(word)) is not None]
        return sum(counts) if counts else None

    def _profession(self, name: str) -> Row:
        if self.direction is None:
            return self._no_direction
        place = list(self.professions).index(name)
        biases = {weights: values[place] for weights, values in self.biases.items()}
        row: Row = {"bias": self._weighted("bias", biases)}
        if self._lacks_counts(self.professions[name]):
            return row | {"num_replicas": 0, **_NO_COUNTS}
        return row | self.lookup.basis(biases[self.config.weights])

    # --- the language ---

    def language_row(self) -> GenderLanguages:
        """What holds of the language as a whole."""
        missing = self.lookup.missing([word for pair in self.words.defining.values() for word in pair.words])
        return GenderLanguages(
            **self.key,
            script=self.words.script,
            exponent=self.config.exponent,
            weights=self.config.weights,
            num_pairs=len(self.pairs),
            num_professions=self._num_measurable,
            profession_share=self._profession_share(),
            missing_words=missing,
            **({"warning": "", **self._no_direction} if self.direction is None else self._language(self.direction)),
        )

    def _language(self, direction: GenderDirection) -> Row:
        female, male = (mean_bias(projection(side, direction.direction)) for side in self._sides())
        of_forms = self._biases(direction.direction, in_size=True)[self.config.weights]
        numbers = {
            "direct_bias_of_forms": mean_bias(of_forms.T),
            "female_words": female,
            "male_words": male,
            **{name: getattr(direction, name) for name in ("first_share", "second_share", "gap", "agreement")},
        }
        row: Row = {name: self._number(name, values) for name, values in numbers.items()}
        direct = {weights: self._direct_bias(biases) for weights, biases in self.biases.items()}
        means = {weights: mean_bias(biases.T) for weights, biases in self.biases.items()}
        row |= {"direct_bias": self._weighted("direct_bias", direct), "mean_bias": self._weighted("mean_bias", means)}
        row |= {"warning": self._warning(direction), **self.lookup.basis(female)}
        return row if self._num_measurable else row | self._no_profession

    def _direct_bias(self, biases: Biases) -> Biases:
        return direct_bias_of(biases.T, self.config.exponent)

    @property
    def _num_measurable(self) -> int:
        return sum(not self._lacks_counts(forms) for forms in self.professions.values())

    @property
    def _no_profession(self) -> Row:
        return (
            _NO_COUNTS if self.professions else failed("no_professions", "no profession has a form in the vocabulary")
        )

    def _profession_share(self) -> float | None:
        """Of all words of the corpus; a word that is a form of two professions counts once."""
        words = dict.fromkeys(word for forms in self.words.professions.values() for word in forms.words)
        count = self._count([*words])
        return count / self.num_tokens if self.num_tokens and count is not None else None

    def _warning(self, direction: GenderDirection) -> str:
        warnings = []
        if len(self.pairs) < _FEW_PAIRS:
            warnings.append(f"the gender direction rests on {len(self.pairs)} of {len(self.words.defining)} pairs")
        if not dominates(direction)[ORIGINAL]:
            warnings.append(
                f"the first component of the pairs carries less than {DOMINANCE:g} times the second's variance"
            )
        if direction.agreement[ORIGINAL] < _AGREEMENT:
            warnings.append(
                f"only {direction.agreement[ORIGINAL]:.0%} of the pairs have their female word on its female side"
            )
        return "; ".join(warnings)

    # --- sensitivity ---

    def pair_rows(self) -> Iterator[GenderPairs]:
        """What becomes of the language without each defining pair."""
        names = {name: index for index, name in enumerate(self.pairs)}
        without = self._without(self.direction) if self.direction is not None and len(self.pairs) > 1 else None
        for name, pair in self.words.defining.items():
            row = self.key | {"pair": name, "feminine": pair.feminine, "masculine": pair.masculine, "num_replicas": 0}
            if name not in names:
                row |= missing_words(self.lookup.missing([pair.feminine, pair.masculine]))
            elif without is None:
                row |= failed("nothing_left", "without it there is no other pair")
            else:
                values = {key: numbers[names[name]] for key, numbers in without.items()}
                row |= {key: self._number(key, numbers) for key, numbers in values.items()}
                row |= self.lookup.basis(values["similarity"])
            yield GenderPairs(**row)

    def _without(self, complete: GenderDirection) -> dict[str, Biases]:
        """``[pairs, embeddings]`` each."""
        # The direct bias of single words, which it gives too, is not that of professions.
        result = without_each_pair(*self._sides(), self._sides()[0])
        weights = self.config.weights
        direct = np.stack([self._direct_bias(self._biases(direction)[weights]) for direction in result.direction])
        return {
            "direct_bias": direct,
            "change": direct - self._direct_bias(self.biases[weights]),
            "similarity": result.similarity,
            "first_share": result.first_share,
            "gap": result.gap,
            "gap_change": result.gap - complete.gap,
        }


@dataclass(frozen=True)
class _Forms:
    """Words of a profession with the gender of each."""

    words: list[str]
    genders: list[str]


def _nothing_of(words: Sequence[str]) -> Row:
    return missing_words(words) if words else failed("no_form", "the word list has no form of it in this language")

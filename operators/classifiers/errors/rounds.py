"""Rounds of labelling: which texts of a new domain to label next, and how much a model learns of them.

The loop that Misra et al. 2021 plan (section 5): of texts of the new domain some are labelled; a model that is trained
with them and with the old domain is applied to the rest; a strategy names the K texts that are labelled next. Every
strategy has the same labels to start with and as many after each round, those that train its own models included.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.errors.forest import ForestConfig, train_forest
from tiltmeter.operators.classifiers.errors.splits import folds_of, is_tested, shuffled_groups
from tiltmeter.operators.classifiers.errors.uncertainty import least_confidence
from tiltmeter.operators.classifiers.errors.word_model import WordModel, disagreement, train_word_model
from tiltmeter.operators.compute.arrays import FloatArray, IntArray

VERSION = "labelling_rounds/1"

Strategy = Literal["errors", "random", "least_confidence", "in_domain_disagreement"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class RoundsConfig:
    """Attributes:
    number: of rounds; 0: none are played.
    size: texts that are labelled in each.
    start: texts that are labelled before the first.
    num_seeds: that the rounds are repeated with.
    test: share of the new texts that tells how much is learnt, and is never labelled.
    surely_right: texts that the strategy ``errors`` takes besides, with their predicted labels, of the lowest scores.
    num_folds: by which the strategy ``errors`` learns what errors are.
    """

    number: Annotated[int, Field(ge=0)] = 5
    size: Annotated[int, Field(ge=1)] = 100
    start: Annotated[int, Field(ge=10)] = 200
    num_seeds: Annotated[int, Field(ge=1)] = 10
    test: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.3
    surely_right: Annotated[int, Field(ge=0)] = 0
    num_folds: Annotated[int, Field(ge=2)] = 3


class Domain(NamedTuple):
    """Attributes:
    texts, labels: of the domain.
    groups: texts of one are never in two parts.
    features: ``[texts, features]``; empty where they are not needed.
    """

    texts: Sequence[str]
    labels: Sequence[str]
    groups: Sequence[str]
    features: FloatArray


class Played(NamedTuple):
    """Attributes:
    round: number, from 0: before the first choice.
    num_labels: that have been paid for.
    accuracy: on texts that are never labelled.
    errors_found: share of errors of the model among those that were chosen last; NaN before the first choice.
    """

    round: int
    num_labels: int
    accuracy: float
    errors_found: float


def play(
    strategy: Strategy, old: Domain, new: Domain, config: RoundsConfig, forest: ForestConfig, seed: int
) -> list[Played]:
    """Play all rounds with one strategy.

    Args:
        old: that the model is trained with from the start.
        new: whose texts are labelled bit by bit.
        seed: of the parts and the draws; parts are the same for all strategies.

    Raises:
        ValueError: if there are too few texts for the rounds.
    """
    is_test = is_tested(new.groups, config.test, seed, 1)
    order = np.argsort(shuffled_groups(new.groups, seed, 2), kind="stable")
    pool = order[~is_test[order]]
    needed = config.start + config.number * config.size
    if len(pool) < needed:
        raise ValueError(
            f"{len(pool)} texts can be labelled: must be at least {needed}, by rounds.start, number and size"
        )
    game = _Game(strategy, old, new, config, forest, seed)
    labelled, left = pool[: config.start], pool[config.start :]
    taken, wrong = np.zeros(0, dtype=np.int64), np.nan
    played = []
    for number in range(config.number + 1):
        model = game.trained(labelled, taken)
        played.append(Played(number, len(labelled), game.accuracy(model, np.flatnonzero(is_test)), wrong))
        if number < config.number:
            scores = game.scores(model, labelled, left, number)
            ranked = left[np.argsort(-scores, kind="stable")]
            chosen = ranked[: config.size]
            wrong = 1.0 - game.accuracy(model, chosen)
            taken = game.self_labelled(model, ranked[config.size :])
            labelled, left = np.concatenate([labelled, chosen]), np.setdiff1d(left, chosen)
    return played


class _Game:
    def __init__(
        self, strategy: Strategy, old: Domain, new: Domain, config: RoundsConfig, forest: ForestConfig, seed: int
    ) -> None:
        self._strategy, self._old, self._new = strategy, old, new
        self._config, self._forest, self._seed = config, forest, seed
        self._classes = sorted({*old.labels, *new.labels})
        self._guesses: dict[int, str] = {}

    def trained(self, labelled: IntArray, guessed: IntArray) -> WordModel:
        """With the old texts, those that are labelled, and those whose labels are guessed."""
        texts, labels = self._part(labelled)
        more, guesses = self._part(guessed)[0], [self._guesses[row] for row in guessed.tolist()]
        return train_word_model([*self._old.texts, *texts, *more], [*self._old.labels, *labels, *guesses])

    def accuracy(self, model: WordModel, rows: IntArray) -> float:
        """Share of the rows whose label the model predicts."""
        _, labels = self._part(rows)
        return float(
            np.mean([first == second for first, second in zip(self._predicted(model, rows), labels, strict=True)])
        )

    def self_labelled(self, model: WordModel, ranked: IntArray) -> IntArray:
        """Those that are surely right, as many as are asked for, whose guesses are kept."""
        num = self._config.surely_right if self._strategy == "errors" else 0
        rows = ranked[len(ranked) - num :]
        self._guesses = dict(zip(rows.tolist(), self._predicted(model, rows), strict=True))
        return rows

    def scores(self, model: WordModel, labelled: IntArray, left: IntArray, number: int) -> FloatArray:
        """By which the strategy chooses, the highest first."""
        match self._strategy:
            case "random":
                return -shuffled_groups(self._new.groups, self._seed, 10 + number)[left].astype(np.float64)
            case "least_confidence":
                return least_confidence(model.probabilities(self._part(left)[0], self._classes))
            case "in_domain_disagreement":
                judge = train_word_model(*self._part(labelled))
                probabilities = judge.probabilities(self._part(left)[0], self._classes)
                return disagreement(probabilities, self._predicted(model, left), self._classes)
            case "errors":
                return self._error_scores(model, labelled, left, number)

    def _error_scores(self, model: WordModel, labelled: IntArray, left: IntArray, number: int) -> FloatArray:
        """By a forest that learns from the errors of models that were trained without the text."""
        groups = [self._new.groups[row] for row in labelled]
        folds = folds_of(groups, self._config.num_folds, self._seed, number)
        predicted = np.empty(len(labelled), dtype=object)
        for fold in range(self._config.num_folds):
            without = self.trained(labelled[folds != fold], np.zeros(0, dtype=np.int64))
            predicted[folds == fold] = self._predicted(without, labelled[folds == fold])
        errors = np.array([guess != self._new.labels[row] for guess, row in zip(predicted, labelled, strict=True)])
        if errors.all() or not errors.any():
            return np.zeros(len(left))
        inside = self._features(labelled, predicted.tolist())
        judge = train_forest(inside, errors, groups, self._forest, self._seed, number)
        return judge.scores(self._features(left, self._predicted(model, left)))

    def _features(self, rows: IntArray, predicted: Sequence[str]) -> FloatArray:
        """The readable ones, and which class is predicted."""
        classes = np.array([[guess == name for name in self._classes] for guess in predicted], dtype=np.float64)
        return np.concatenate([self._new.features[rows], classes.reshape(len(rows), len(self._classes))], axis=1)

    def _predicted(self, model: WordModel, rows: IntArray) -> list[str]:
        if not len(rows):
            return []
        probabilities = model.probabilities(self._part(rows)[0], self._classes)
        return [self._classes[place] for place in probabilities.argmax(axis=1)]

    def _part(self, rows: IntArray) -> tuple[list[str], list[str]]:
        return [self._new.texts[row] for row in rows], [self._new.labels[row] for row in rows]

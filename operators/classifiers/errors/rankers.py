"""What ranks the errors among texts that it has not seen: forests of errors, and what these are compared with."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from tiltmeter.operators.classifiers.errors.examples import FULL, PUBLISHED, READABLE, WITH_CLASS, Examples
from tiltmeter.operators.classifiers.errors.forest import Forest, ForestConfig, train_forest
from tiltmeter.operators.classifiers.errors.uncertainty import UNCERTAINTIES, class_rates, rated
from tiltmeter.operators.classifiers.errors.word_model import disagreement, train_word_model
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream

CLASS, IN_DOMAIN, RANDOM = "predicted_class", "in_domain_disagreement", "random"
BASELINES = (*UNCERTAINTIES, CLASS, IN_DOMAIN, RANDOM)

_CHANCE = 5
"""What random scores are drawn about; the second number of a key."""


class Ranked(NamedTuple):
    """Attributes:
    scores: of the texts, by what each ranks.
    forest: of readable features.
    """

    scores: Mapping[str, FloatArray]
    forest: Forest


def rank_texts(
    data: Examples, inside: IntArray, outside: IntArray, config: ForestConfig, min_share: float, seed: int, split: int
) -> Ranked:
    """Scores of some texts by what learns others: the higher, the more likely an error.

    The leaf size that suits readable features is taken for the forests that see the prediction as well.

    Args:
        inside, outside: numbers of the texts that are learnt, and of those that are ranked.
        min_share: of the texts that must have a feature.
        seed, split: of the draws.
    """
    everywhere = data.column("group")
    groups, settings = [everywhere[row] for row in inside], config
    forests, scores = dict[str, Forest](), dict[str, FloatArray]()
    for kind in (PUBLISHED, READABLE, WITH_CLASS, *([FULL] if data.classes else [])):
        columns = data.columns(data.column_names(kind, min_share))
        if not columns.shape[1]:
            continue
        forests[kind] = train_forest(columns[inside], data.errors[inside], groups, settings, seed, split)
        scores[kind] = forests[kind].scores(columns[outside])
        if kind == READABLE:
            settings = replace(settings, leaf_sizes=(forests[kind].leaf_size,))
    if data.probabilities is not None:
        scores |= {name: measure(data.probabilities[outside]) for name, measure in UNCERTAINTIES.items()}
    scores[CLASS] = _by_class(data, inside, outside)
    labels = data.column("label")
    if len({labels[row] for row in inside}) > 1:  # which a model of words has to tell apart
        scores[IN_DOMAIN] = _by_words(data, inside, outside)
    chance = keyed_generator(seed, Stream.ERROR_CHARACTERISATION, _CHANCE, split)
    scores[RANDOM] = chance.random(len(outside))
    return Ranked(scores, forests[READABLE])


def _by_class(data: Examples, inside: IntArray, outside: IntArray) -> FloatArray:
    """The error rate that the predicted class has among the training texts."""
    rates = class_rates([data.predicted[row] for row in inside], data.errors[inside])
    return rated([data.predicted[row] for row in outside], rates)


def _by_words(data: Examples, inside: IntArray, outside: IntArray) -> FloatArray:
    """How far a model of words, of the training texts' labels, is from the prediction."""
    texts, labels = data.column("text"), data.column("label")
    judge = train_word_model([texts[row] for row in inside], [labels[row] for row in inside])
    guesses = judge.probabilities([texts[row] for row in outside], data.all_classes)
    return disagreement(guesses, [data.predicted[row] for row in outside], data.all_classes)

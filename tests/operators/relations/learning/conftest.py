"""Sizes of a small network and of its training, and made-up sentences as it reads them."""

import numpy as np
import pytest

from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.learning.readers import InstanceReader
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.operators.relations.learning.training import Labelled
from tiltmeter.operators.relations.learning.vocabularies import vocabulary_of
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import rule_symbols
from tiltmeter.operators.relations.synthetic import synthetic_instances, synthetic_rules

ENCODER = EncoderConfig(words=12, pos=2, ner=6, min_count=1, lstm=10, gcn=12, ffn=12)
DECODER = DecoderConfig(hidden=12, embedding=10, ffn=12, max_length=12)
TRAINING = TrainingConfig(rate=0.01, dropout=0.1, max_epochs=12, patience=None, batch=20)


@pytest.fixture(scope="session")
def rules():
    """Symbols of the rules by relation."""
    return [(relation, rule_symbols(parsed(text))) for _, relation, text in synthetic_rules()]


def says(instance, symbols):
    """Whether the words of a rule stand between the arguments."""
    words = [symbol.strip('"') for symbol in symbols if symbol.startswith('"')]
    start, end = instance.between
    tokens = [*instance.sentence.tokens[start:end], *instance.sentence.tokens[end:][1:2]]
    return instance.is_subject_first and tokens[: len(words)] == words


@pytest.fixture(scope="session")
def made(rules):
    """Vocabulary, training and development parts."""
    parts = [synthetic_instances(number, part, seed=0) for part, number in enumerate((120, 40))]
    known = [symbols for _, symbols in rules]
    vocabulary = vocabulary_of(parts[0], [one.relation for one in parts[0]], known, min_count=1)
    assert vocabulary.relations[0] == NO_RELATION
    return vocabulary, *(labelled(InstanceReader(vocabulary), part, rules) for part in parts)


def labelled(reader, instances, rules):
    vocabulary = reader.vocabulary
    numbers = vocabulary.numbers["relations"]
    of_each = [
        [vocabulary.rule(symbols) for relation, symbols in rules if relation == one.relation and says(one, symbols)]
        for one in instances
    ]
    relations = np.array([numbers[one.relation] for one in instances])
    return Labelled([reader.example(one) for one in instances], relations, of_each)

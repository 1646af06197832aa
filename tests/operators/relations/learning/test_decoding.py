"""Rules that decoders write: their bits depend on nobody else, they obey their automaton, and known ones are ranked."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from tests.fixtures.relations import DECODER, ENCODER, TRAINING
from tiltmeter.operators.relations.learning.decoding import Writer
from tiltmeter.operators.relations.learning.examples import END
from tiltmeter.operators.relations.learning.training import build, train


@dataclass(frozen=True)
class Listed:
    """An automaton of a list of rules."""

    rules: tuple[tuple[str, ...], ...]
    read: tuple[str, ...] = ()

    def _left(self):
        return [rule for rule in self.rules if rule[: len(self.read)] == self.read]

    reason = None

    @property
    def is_complete(self):
        return self.read in self.rules

    def allowed(self):
        return {rule[len(self.read)] for rule in self._left() if len(rule) > len(self.read)}

    def advance(self, symbol):
        return Listed(self.rules, (*self.read, symbol))


@pytest.fixture(scope="module")
def writer(made):
    vocabulary, data, development = made
    config = replace(TRAINING, rate=0.03, dropout=0.0, word_dropout=0.0, max_epochs=30)
    network = build(ENCODER, DECODER, config, vocabulary.sizes, 0, classifies=False)
    train(network, data, development, config, 0)
    return Writer(network, vocabulary.symbols, DECODER.max_length)


def test_instance_gets_the_same_bits_alone_and_among_49_others(made, writer):
    rows = made[2].examples[:50]
    known = tuple(rule for rule in product(writer.symbols[4:8], repeat=2))
    among = [(writer.free(row), writer.constrained(row, Listed(known), 5)) for row in rows]
    for place in (0, 17, 49):
        assert writer.free(rows[place]) == among[place][0]
        assert writer.constrained(rows[place], Listed(known), 5) == among[place][1]


def test_constrained_rule_is_the_likeliest_of_its_automaton(made, writer):
    """With a beam as wide as all rules, by brute force over them."""
    symbols = writer.symbols[4:9]
    known = tuple(rule for length in (1, 2, 3) for rule in product(symbols, repeat=length))
    for row in made[2].examples[:5]:
        written = writer.constrained(row, Listed(known), beam=len(known))
        scores = writer.scores(row, known)
        assert written.symbols == known[int(np.argmax(scores))]
        assert written.log_probability / (len(written.symbols) + 1) == pytest.approx(max(scores), abs=1e-5)


def test_free_decoder_learns_the_rules_of_made_up_sentences(made, writer):
    _, data, _ = made
    with_rules = [place for place, rules in enumerate(data.rules) if rules]
    right = [made[0].rule(writer.free(data.examples[place]).symbols) in data.rules[place] for place in with_rules]
    assert np.mean(right) > 0.5


def test_padding_is_never_written_however_likely_it_is(made):
    """Nor what is unknown, or the start: no target in training, but an output of the network."""
    network = build(ENCODER, DECODER, TRAINING, made[0].sizes, 0)
    network.decoder.output[-1].bias.data[:END] = 50.0
    writer = Writer(network, made[0].symbols, DECODER.max_length)
    for row in made[2].examples[:5]:
        assert not {"<padding>", "<unknown>", "<start>", "<end>"} & {*writer.free(row).symbols}
        assert writer.free(row).log_probability > -50.0
        assert max(writer.scores(row, [(symbol,) for symbol in writer.symbols[4:]])) > -10.0


def test_without_a_rule_there_is_a_reason(made, writer):
    row = made[2].examples[0]
    assert writer.scores(row, [("unseen",), ()]) == [-np.inf, -np.inf]
    for automaton in (Listed(()), Listed((("unseen",),))):
        written = writer.constrained(row, automaton, 5)
        assert written.symbols is None
        assert "no rule of symbols that training has seen" in written.reason


def test_no_rule_is_longer_than_the_limit(made):
    vocabulary, _, development = made
    network = build(ENCODER, DECODER, TRAINING, vocabulary.sizes, 0)  # not trained: it hardly ever ends
    short = Writer(network, vocabulary.symbols, 3)
    assert max(len(short.free(row).symbols) for row in development.examples[:20]) <= 4
    endless = Listed(tuple((vocabulary.symbols[4],) * length for length in range(5, 9)))
    assert short.constrained(development.examples[0], endless, 2).symbols is None

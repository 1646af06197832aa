"""Training: the same bits, what it learns, when it stops, what it refuses; and the rules that decoders write then."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
import torch

from tiltmeter.operators.relations.learning import training
from tiltmeter.operators.relations.learning.decoding import Writer
from tiltmeter.operators.relations.learning.examples import END
from tiltmeter.operators.relations.learning.training import (
    Epoch,
    Labelled,
    _shorten,
    best_epoch,
    build,
    held_out,
    micro_f1,
    relation_probabilities,
    train,
)

from .conftest import DECODER, ENCODER, TRAINING

QUICK = replace(TRAINING, max_epochs=2)


def trained(made, config=QUICK, seed=0, decoder=DECODER, **settings):
    vocabulary, data, development = made
    network = build(ENCODER, decoder, config, vocabulary.sizes, seed, **settings)
    return network, train(network, data, development, config, seed)


@pytest.mark.long
def test_same_seed_gives_the_same_bits_and_another_seed_others(made):
    (one, first), (two, second), (three, _) = trained(made), trained(made), trained(made, seed=1)
    assert first == second
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, two.state_dict()[name])
    assert not torch.equal(one.encoder.words.weight, three.encoder.words.weight)


@pytest.mark.long
def test_relations_of_made_up_sentences_are_learnt_and_the_best_epoch_is_kept(made):
    network, history = trained(made, TRAINING)
    _, _, development = made
    assert history[-1].relation_loss < history[0].relation_loss / 3
    assert history[-1].rule_loss < history[0].rule_loss / 2
    predicted = relation_probabilities(network, development.examples).argmax(axis=1)
    best = history[best_epoch(history)]
    assert micro_f1(development.relations, predicted) == best.f1
    assert best.f1 > 0.8
    assert held_out(network, development) == pytest.approx((best.f1, best.development_rule_loss))
    assert best.score == pytest.approx(best.f1 + np.exp(-best.development_rule_loss))
    assert best.score == max(epoch.score for epoch in history)


def test_epochs_of_one_f1_are_told_apart_by_the_loss_of_rules_and_equal_ones_by_the_later():
    epochs = [Epoch(0.1, 0.1, *values, 0.1) for values in ((1.0, 2.0), (1.0, 0.5), (1.0, 1.0), (0.9, 0.45))]
    assert best_epoch(epochs) == 1, "the first of them was kept once"
    assert best_epoch([epochs[1], epochs[2], epochs[1]]) == 2
    assert best_epoch([Epoch(0.1, 0.0, 1.0, np.nan, 0.1)] * 3) == 2


@pytest.mark.long
def test_weights_of_the_later_of_equal_epochs_are_kept(made, monkeypatch):
    """As if each were better than the one before; and a tie is nothing to wait for."""

    def kept(*scores, patience=None):
        told = iter(scores)
        monkeypatch.setattr(training, "held_out", lambda *_: (next(told), np.nan))
        network, history = trained(made, replace(TRAINING, max_epochs=len(scores), patience=patience), decoder=None)
        return len(history), network.state_dict()

    (_, tied), (_, rising), (_, falling) = kept(0.5, 0.5, 0.5), kept(0.1, 0.2, 0.3), kept(0.3, 0.2, 0.1)
    assert all(torch.equal(weight, rising[name]) for name, weight in tied.items())
    assert not all(torch.equal(weight, falling[name]) for name, weight in tied.items())
    assert kept(0.5, 0.5, 0.5, 0.5, patience=2)[0] == 3


@pytest.mark.long
def test_training_ends_after_epochs_without_a_better_score_but_not_while_no_relation_has_been_told_right(made):
    history = trained(made, replace(TRAINING, rate=1e-9, patience=2, max_epochs=5), classifies=False)[1]
    assert len(history) == 3
    vocabulary, data, development = made
    without = Labelled(development.examples, np.zeros_like(development.relations), development.rules)
    config = replace(TRAINING, patience=1, max_epochs=3)
    history = train(build(ENCODER, DECODER, config, vocabulary.sizes, 0), data, without, config, 0)
    assert [epoch.f1 for epoch in history] == [0.0] * 3


def test_published_recipe_lowers_the_rate_where_the_score_does_not_rise(made):
    config = replace(QUICK, optimizer="adagrad", rate=1e-9, decay=0.9, max_epochs=3)
    rates = [epoch.rate for epoch in trained(made, config)[1]]
    np.testing.assert_allclose(rates, [1e-9, 1e-9, 0.9e-9])


def test_ablations_have_one_part_alone(made):
    network, [first, *_] = trained(made, decoder=None)
    assert network.decoder is None
    assert (first.rule_loss, first.score) == (0.0, first.f1)
    network, [first, *_] = trained(made, classifies=False)
    assert network.classifier is None
    assert (first.relation_loss, first.score) == (0.0, pytest.approx(np.exp(-first.development_rule_loss)))


def test_gradients_are_shortened_to_the_limit(made):
    network = build(ENCODER, DECODER, TRAINING, made[0].sizes, 0)
    for parameter in network.parameters():
        parameter.grad = torch.full_like(parameter, 3.0)
    _shorten(network, 1.0)
    norm = torch.cat([parameter.grad.flatten() for parameter in network.parameters()]).norm()
    assert norm.item() == pytest.approx(1.0, rel=1e-3)


def test_what_cannot_be_trained_is_refused(made):
    vocabulary, data, development = made
    network = build(ENCODER, DECODER, QUICK, vocabulary.sizes, 0, classifies=False)
    bare = Labelled(data.examples, data.relations, [[] for _ in data.examples])
    with pytest.raises(ValueError, match="an instance with a rule"):
        train(network, bare, development, QUICK, 0)
    with pytest.raises(ValueError, match="an instance each"):
        train(network, Labelled([], np.array([], dtype=np.int64), []), development, QUICK, 0)


def test_f1_without_no_relation_by_hand():
    assert micro_f1(np.array([0, 1, 1, 2]), np.array([1, 1, 0, 2])) == pytest.approx(2 * 2 / (3 + 3))
    assert micro_f1(np.array([0]), np.array([0])) == 0.0


# --- rules that are written -------------------------------------------------------------------------------------------


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


@pytest.mark.long
def test_instance_gets_the_same_bits_alone_and_among_49_others(made, writer):
    rows = made[2].examples[:50]
    known = tuple(rule for rule in product(writer.symbols[4:8], repeat=2))
    among = [(writer.free(row), writer.constrained(row, Listed(known), 5)) for row in rows]
    for place in (0, 17, 49):
        assert writer.free(rows[place]) == among[place][0]
        assert writer.constrained(rows[place], Listed(known), 5) == among[place][1]


@pytest.mark.long
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

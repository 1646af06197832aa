"""The network by hand: graph convolution, pooling, states that are each instance's own, and masked arguments."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.fixtures.relations import DECODER, ENCODER
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.learning.examples import Example, batch_of
from tiltmeter.operators.relations.learning.networks import RelationNetwork, Sizes
from tiltmeter.operators.relations.learning.settings import DecoderConfig
from tiltmeter.operators.relations.learning.training import rule_losses
from tiltmeter.operators.relations.learning.vocabularies import vocabulary_of

TREE = (1, -1, 1, 4, 2)
"""Heads of: he says that Smith left"""


def network(**settings):
    torch.manual_seed(0)
    return RelationNetwork(ENCODER, DECODER, Sizes(50, 4, 6, 3, 20), **settings).eval()


def examples(lengths, seed=0):
    draws = np.random.default_rng(seed)
    return [
        Example(
            *(draws.integers(1, size, length) for size in (50, 6, 4)),
            (0, 1),
            (length - 1, length),
            None,
            np.ones(length, dtype=bool),
        )
        for length in lengths
    ]


def test_padding_and_other_instances_change_no_state_and_no_probability_of_a_rule():
    net, rows = network(), examples([6, 3, 9, 5])
    rules = [[[5, 6, 7]], [[8]], [], [[4, 4, 4, 4, 9]]]
    together = net.encoder(batch_of(rows))
    losses = iter(rule_losses(net, together, rules))
    for place, row in enumerate(rows):
        alone = net.encoder(batch_of([row]))
        torch.testing.assert_close(together.pooled[place], alone.pooled[0], atol=1e-6, rtol=0)
        if rules[place]:
            torch.testing.assert_close(next(losses), rule_losses(net, alone, [rules[place]])[0], atol=1e-6, rtol=0)


def test_decoder_starts_from_the_arguments_of_its_own_instance():
    net, rows = network(), examples([4, 4, 4])
    encoded = net.encoder(batch_of(rows))
    hidden, cell = net.decoder.start(encoded)
    for place in range(3):
        torch.testing.assert_close(hidden[0, place], encoded.subject[place])
        torch.testing.assert_close(hidden[1, place], encoded.object[place])
    assert not cell.any()


@pytest.mark.parametrize("output", ["context", "context_and_state"])
def test_next_symbol_is_told_by_attention_over_all_tokens_that_are_kept(output):
    """Equations 7 to 9 by hand: a token that is not kept counts for nothing, each of the others for its share."""
    torch.manual_seed(0)
    decoder = replace(DECODER, output=output)
    net = RelationNetwork(ENCODER, decoder, Sizes(50, 4, 6, 3, 20)).eval()
    [row] = examples([6])
    kept = np.array([True, True, False, True, True, True])
    encoded = net.encoder(batch_of([replace(row, kept=kept)]))
    scores, _ = net.decoder(torch.tensor([[2]]), net.decoder.start(encoded), encoded)
    state = net.decoder.lstm(net.decoder.symbols(torch.tensor([[2]])), net.decoder.start(encoded))[0][0, 0]
    tokens = encoded.tokens[0][torch.from_numpy(kept)]
    shares = torch.softmax(tokens @ (net.decoder.attention.weight @ state), dim=0)
    context = (shares[:, None] * tokens).sum(dim=0)
    seen = context if output == "context" else torch.cat([context, state])
    torch.testing.assert_close(scores[0, 0], net.decoder.output(seen))
    assert (context - encoded.tokens[0, 0]).abs().max() > 1e-3, "not the first token alone"


def test_loss_of_a_rule_is_divided_by_its_own_length_and_the_number_of_rules():
    net, rows = network(), examples([6])
    encoded = net.encoder(batch_of(rows))
    one, two = (rule_losses(net, encoded, [[rule]])[0] for rule in ([5], [6, 7, 8]))
    both = rule_losses(net, encoded, [[[5], [6, 7, 8]]])
    torch.testing.assert_close(both, torch.stack([one, two]) / 2)
    scores, _ = net.decoder(torch.tensor([[2, 5]]), net.decoder.start(encoded), encoded)
    by_hand = -torch.log_softmax(scores[0], dim=1)[[0, 1], [5, 3]].mean()
    torch.testing.assert_close(one, by_hand)


def test_graph_convolution_is_the_mean_over_a_token_and_its_neighbours():
    arcs = np.array([[0, 1], [1, 2]])
    tree = examples([4])[0]
    tree = Example(tree.words, tree.ner, tree.pos, (0, 1), (1, 2), arcs, np.array([True, True, True, False]))
    batch = batch_of([tree])
    expected = [[1 / 2, 1 / 2, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0], [0, 1 / 2, 1 / 2, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(batch.adjacency[0].numpy(), expected, rtol=1e-6)
    net = network()
    states = net.encoder._recurrent(net.encoder._embedded(batch, net.encoder.words), batch.reversed_places)
    by_hand = torch.relu(net.encoder.graph[0](batch.adjacency @ states))
    encoded = net.encoder(batch)
    torch.testing.assert_close(encoded.tokens, by_hand)
    torch.testing.assert_close(encoded.pooled[0, :12], by_hand[0, :3].amax(dim=0))
    assert not torch.allclose(encoded.pooled[0, :12], by_hand[0].amax(dim=0))


def test_backward_lstm_reads_each_sentence_from_its_own_end():
    net, [row] = network(), examples([5])
    batch, turned = batch_of([row, *examples([8], seed=1)]), batch_of([row])
    right = net.encoder.backwards[0](net.encoder._embedded(turned, net.encoder.words).flip(1))[0].flip(1)
    states = net.encoder._recurrent(net.encoder._embedded(batch, net.encoder.words), batch.reversed_places)
    torch.testing.assert_close(states[0, :5, ENCODER.lstm :], right[0], atol=1e-6, rtol=0)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"set decoder\.hidden to 12"):
        RelationNetwork(ENCODER, DecoderConfig(hidden=7), Sizes(5, 3, 3, 2, 6))


def told(heads=TREE, subject=(0, 1), object_=(3, 4)):
    deprels = None if heads is None else ("x",) * 5
    sentence = Sentence(("he", "says", "that", "Smith", "left"), heads=heads, deprels=deprels)
    return Instance(sentence, Span(*subject), Span(*object_), "r", "PERSON", None)


@pytest.mark.parametrize(("reads_untyped", "word", "role"), [(False, "OBJ-?", ""), (True, "Smith", "OBJ-?")])
def test_arguments_are_masked_by_type_and_those_without_read_with_their_role_if_asked(reads_untyped, word, role):
    vocabulary = vocabulary_of([told()], ["r"], [("a",)], min_count=1, reads_untyped=reads_untyped)
    example = vocabulary.example(told(), hidden=[1])
    words = [vocabulary.words[number] for number in example.words]
    assert words == ["SUBJ-PERSON", "<unknown>", "that", word, "left"]
    assert [vocabulary.ner[number] for number in example.ner][1:] == ["", "", role, ""]
    assert vocabulary.rule(["a", "b"]) == [4, 1]


@pytest.mark.parametrize(
    ("end", "prune", "kept"),
    [
        *((1, 0, [1, 1, 0, 0, 0]), (1, 1, [1, 1, 1, 0, 0]), (1, 2, [1, 1, 1, 0, 1])),
        *((3, 0, [1] * 5), (3, None, [1] * 5)),  # from he over says, that and left to Smith: all there is
    ],
)
def test_tree_is_pruned_by_the_distance_from_the_path(end, prune, kept):
    one = told(object_=(end, end + 1))
    example = vocabulary_of([one], ["r"], [], min_count=1).example(one, prune)
    assert example.kept.tolist() == [bool(place) for place in kept]
    assert all(example.kept[arc].all() for arc in example.neighbours)


def test_without_a_tree_all_tokens_are_kept():
    vocabulary = vocabulary_of([told(None)], ["r"], [], min_count=1)
    example = vocabulary.example(told(None), 1)
    assert example.neighbours is None
    assert example.kept.all()

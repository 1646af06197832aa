"""The network by hand, what it reads, and what it starts from: vectors of words, or a transformer."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.learning.examples import Example, batch_of
from tiltmeter.operators.relations.learning.networks import RelationNetwork, Sizes
from tiltmeter.operators.relations.learning.readers import InstanceReader
from tiltmeter.operators.relations.learning.settings import DecoderConfig, TrainingConfig
from tiltmeter.operators.relations.learning.training import build, relation_probabilities, rule_losses, train
from tiltmeter.operators.relations.learning.vocabularies import HIDDEN, vocabulary_of
from tiltmeter.operators.relations.synthetic import synthetic_instances
from tiltmeter.storage.models.load import load_encoder

from .conftest import DECODER, ENCODER, labelled

TREE = (1, -1, 1, 4, 2)
"""Heads of: he says that Smith left"""


def network(**settings):
    torch.manual_seed(0)
    return RelationNetwork(ENCODER, DECODER, Sizes(50, 4, 6, 3, 20), **settings).eval()


def examples(lengths, seed=0):
    draws, made = np.random.default_rng(seed), []
    for length in lengths:
        columns = (draws.integers(1, size, length) for size in (50, 6, 4))
        made.append(Example(*columns, (0, 1), (length - 1, length), None, np.ones(length, dtype=bool)))
    return made


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
def test_tree_is_pruned_by_the_distance_from_the_path_and_without_one_all_tokens_are_kept(end, prune, kept):
    one = told(object_=(end, end + 1))
    example = vocabulary_of([one], ["r"], [], min_count=1).example(one, prune)
    assert example.kept.tolist() == [bool(place) for place in kept]
    assert all(example.kept[arc].all() for arc in example.neighbours)
    bare = vocabulary_of([told(None)], ["r"], [], min_count=1).example(told(None), prune)
    assert (bare.neighbours, bare.kept.all()) == (None, True)


# --- what it starts from ----------------------------------------------------------------------------------------------

INSTANCE = Instance(
    Sentence(("Ada", "married", "King", "in", "Rome")), Span(0, 1), Span(2, 3), "spouse", "PERSON", "PERSON"
)


@pytest.fixture(scope="module")
def tokenizer_and_model(write_bert, tmp_path_factory):
    letters = [chr(ord("a") + place) for place in range(26)]
    words = ["married", "in", "[UNK]", *letters, *(f"##{letter}" for letter in letters), "-", "##-"]
    folder = write_bert(tmp_path_factory.mktemp("bert"), words, max_position_embeddings=128)
    model, tokenizer = load_encoder(str(folder), "cpu", "encoder.checkpoint")
    return tokenizer, model


def test_words_of_a_file_start_from_its_vectors_and_are_looked_for_in_lower_case():
    vectors = {"rome": np.arange(12, dtype=np.float32), "unseen": np.ones(12, dtype=np.float32)}
    vocabulary = vocabulary_of([INSTANCE], ["spouse"], [], min_count=1, vectors=vectors)
    numbers = vocabulary.numbers["words"]
    known = {numbers[word]: vector for word, vector in vectors.items()}
    network = build(ENCODER, DECODER, TrainingConfig(), vocabulary.sizes, seed=0, vectors=known)
    weights = network.encoder.words.weight.detach().numpy()
    assert weights[numbers["rome"]].tolist() == list(range(12))
    [unseen] = vocabulary.example(Instance(Sentence(("UNSEEN", "x", "y")), Span(1, 2), Span(2, 3))).words[:1]
    assert weights[unseen].tolist() == [1.0] * 12
    drawn = build(ENCODER, DECODER, TrainingConfig(), vocabulary.sizes, seed=0).encoder.words.weight.detach().numpy()
    others = [number for number in range(len(numbers)) if number not in known]
    np.testing.assert_array_equal(weights[others], drawn[others])
    plain = vocabulary_of([INSTANCE], ["spouse"], [], min_count=1)  # without vectors case tells words apart
    assert (
        plain.words[plain.example(Instance(Sentence(("MARRIED", "x", "y")), Span(1, 2), Span(2, 3))).words[0]] == HIDDEN
    )


def test_a_sentence_without_parts_of_speech_has_their_absence_and_not_what_is_unknown():
    tagged, other = (
        replace(INSTANCE, sentence=replace(INSTANCE.sentence, pos=tuple(tags))) for tags in ("NVNPN", "XVNPN")
    )
    vocabulary = vocabulary_of([tagged, INSTANCE], ["spouse"], [], min_count=1)
    assert vocabulary.pos == ("<padding>", "<unknown>", "", "N", "P", "V")
    read = [vocabulary.example(one).pos.tolist() for one in (INSTANCE, tagged, other)]
    assert read == [[2] * 5, [3, 5, 3, 4, 3], [1, 5, 3, 4, 3]]


def test_a_token_is_read_at_its_first_piece(tokenizer_and_model):
    tokenizer, _ = tokenizer_and_model
    vocabulary = vocabulary_of([INSTANCE], ["spouse"], [], min_count=1)
    example = InstanceReader(vocabulary, tokenizer=tokenizer).example(INSTANCE, hidden=[4])
    pieces = tokenizer.convert_ids_to_tokens(example.pieces.tolist())
    assert pieces[0] == "[CLS]"
    assert pieces[-1] == "[SEP]"
    first = [pieces[place] for place in example.first_pieces]
    assert first == ["s", "married", "o", "in", "[MASK]"]
    short = InstanceReader(vocabulary, tokenizer=tokenizer, most_pieces=4).example(INSTANCE)
    assert short.pieces.size == 4 > short.first_pieces.max()


def test_states_of_a_transformer_are_those_that_it_gives(tokenizer_and_model):
    """By the model itself, sentence by sentence, without padding."""
    tokenizer, model = tokenizer_and_model
    instances = [INSTANCE, *synthetic_instances(2, part=0, seed=1)]
    vocabulary = vocabulary_of(instances, ["spouse"], [], min_count=1)
    examples = [InstanceReader(vocabulary, tokenizer=tokenizer).example(one) for one in instances]
    network = build(ENCODER, None, TrainingConfig(), vocabulary.sizes, seed=0, transformer=model).eval()
    with torch.inference_mode():
        together = network.encoder(batch_of(examples))
        for place, example in enumerate(examples):
            states = model(input_ids=torch.from_numpy(example.pieces)[None]).last_hidden_state[0]
            read = network.encoder._read(batch_of([example]))[0]
            torch.testing.assert_close(read[:, : states.shape[1]], states[torch.from_numpy(example.first_pieces)])
            alone = network.encoder(batch_of([example]))
            torch.testing.assert_close(together.pooled[place], alone.pooled[0], atol=1e-5, rtol=0)


@pytest.mark.slow
def test_a_transformer_learns_what_is_made_up(tokenizer_and_model, rules):
    tokenizer, model = tokenizer_and_model
    parts = [synthetic_instances(number, part, seed=0) for part, number in enumerate((120, 40))]
    vocabulary = vocabulary_of(parts[0], [one.relation for one in parts[0]], [each for _, each in rules], min_count=1)
    reader = InstanceReader(vocabulary, tokenizer=tokenizer)
    config = TrainingConfig(rate=0.01, transformer_rate=0.003, max_epochs=12, dropout=0.0, batch=20, patience=None)
    before = model.embeddings.word_embeddings.weight.detach().clone()
    network = build(ENCODER, None, config, vocabulary.sizes, seed=0, transformer=model)
    history = train(network, *(labelled(reader, part, rules) for part in parts), config, seed=0)
    assert max(epoch.score for epoch in history) > 0.5
    assert not torch.equal(before, model.embeddings.word_embeddings.weight)
    shares = relation_probabilities(network, [reader.example(one) for one in parts[1]])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)

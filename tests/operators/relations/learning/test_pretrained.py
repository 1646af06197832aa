"""What an encoder starts from: vectors of words, and a transformer that reads in place of the BiLSTM."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.fixtures.relations import DECODER, ENCODER
from tests.operators.relations.learning.conftest import labelled
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.learning.examples import batch_of
from tiltmeter.operators.relations.learning.readers import InstanceReader
from tiltmeter.operators.relations.learning.settings import TrainingConfig
from tiltmeter.operators.relations.learning.training import build, relation_probabilities, train
from tiltmeter.operators.relations.learning.vocabularies import HIDDEN, vocabulary_of
from tiltmeter.operators.relations.synthetic import synthetic_instances
from tiltmeter.storage.models.load import load_encoder

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

"""Students and teachers: the folded form against equation 3 as it stands, the local teacher against the whole one."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from tiltmeter.operators.classifiers.influence import folded, student_training
from tiltmeter.operators.classifiers.influence.exact import LocalTeacher
from tiltmeter.operators.classifiers.influence.folded import Folded, margin_labels, margin_logits
from tiltmeter.operators.classifiers.influence.records import MASK, Context, Spaced, StudentConfig
from tiltmeter.operators.classifiers.influence.student import Student, StudentNetwork
from tiltmeter.operators.classifiers.influence.student_training import (
    Lesson,
    base_states,
    draw_lessons,
    margin_errors,
    train_student,
)
from tiltmeter.operators.classifiers.influence.teachers import small_teacher, transformers_teacher, word_vectors
from tiltmeter.operators.classifiers.networks import small_network
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary, initial_vectors
from tiltmeter.operators.compute.generators import torch_random

WORDS = ("a", "fine", "film", "dull", "lovely", "not", "plot", "the", "awful", ".")
CONFIG = StudentConfig(dimensions=6, hidden=5, width=3, max_epochs=3, batch_size=16, random_words=3)


def encoder(width=3):
    return SmallEncoderConfig(dimensions=6, hidden=7, width=width, dropout=0.0)


def drawn_texts(num=40, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(rng.choice(WORDS, size=rng.integers(1, 9)).tolist()) for _ in range(num)]


def teacher_of(num_classes=2, width=3):
    vocabulary = Vocabulary(WORDS, encoder(width))
    head = {"label": Head(tuple("xyz"[:num_classes]))}
    network = small_network(vocabulary, encoder(width), head, 0)
    with torch_random(0, 99, 1), torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.5 * torch.randn_like(weight))
        network.encoder.embedding.weight[0] = 0.0
    network.train(False)
    return small_teacher(network, vocabulary, tuple("xyz"[:num_classes])), network, vocabulary


def random_word(_, share):
    return WORDS[int(share * len(WORDS))]


def contexts_of(texts):
    return [Context(text, place) for text in texts for place in range(len(text))]


def untrained(vocabulary, size):
    with torch_random(0, 99, 2):
        network = StudentNetwork(initial_vectors(vocabulary, encoder(), 3) * 10, size, CONFIG)
    return Student(network.train(False), vocabulary)


def test_states_are_those_of_the_classifier():
    teacher, network, vocabulary = teacher_of()
    texts = drawn_texts()
    for text, logits in zip(texts, teacher.logits(teacher.states(texts)), strict=True):
        [tokenised] = vocabulary.tokenise([" ".join(text)])
        inputs = {"input_ids": torch.tensor([tokenised.inputs["input_ids"]])}
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        np.testing.assert_allclose(network(**inputs)[0].detach().numpy(), logits, atol=1e-5)


def test_a_word_that_is_left_out_has_the_vector_of_padding():
    teacher, network, vocabulary = teacher_of()
    ids = torch.tensor([[vocabulary.number("a"), 0, vocabulary.number("film")]])
    state = network.representation(input_ids=ids, attention_mask=torch.ones_like(ids))
    np.testing.assert_allclose(teacher.states([("a", MASK, "film")]), state.detach().numpy(), atol=1e-6)
    assert (teacher.is_known("Fine"), teacher.is_known("unheard")) == (True, False)


@pytest.mark.parametrize(("num_classes", "width"), [(2, 1), (3, 5), (2, 7)])
def test_the_local_teacher_is_the_teacher(num_classes, width):
    teacher, network, vocabulary = teacher_of(num_classes, width)
    contexts = contexts_of(drawn_texts(6))
    words = [*WORDS, "unheard"]
    for context, logits in zip(contexts, LocalTeacher(network, vocabulary, words).logits(contexts), strict=True):
        whole = teacher.logits(teacher.states([context.replaced(word) for word in words]))
        np.testing.assert_allclose(logits, whole, atol=2e-5)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_folded_student_is_equation_three_in_blocks_of_words_too(num_classes, monkeypatch):
    teacher, _, vocabulary = teacher_of(num_classes)
    student = untrained(vocabulary, 7)
    contexts = contexts_of(drawn_texts(8))
    states, vectors, words = base_states(teacher, contexts, CONFIG), student.contexts(contexts), student.words(WORDS)
    whole = np.array(list(Folded(student.network, teacher).margins(vectors, states, words)))
    for row, margins in enumerate(whole):
        changes = student.changes(np.tile(vectors[row], (len(WORDS), 1)), words)
        direct = teacher.logits(states[row] + changes)
        np.testing.assert_allclose(margins, direct[:, 1:] - direct[:, :1], atol=1e-5)
        np.testing.assert_array_equal(margin_labels(margins), direct.argmax(axis=1))
        np.testing.assert_allclose(margin_logits(margins)[:, 0], 0.0)
    monkeypatch.setattr(folded, "_MAX_UNITS", 3 * 15)
    monkeypatch.setattr(folded, "_MIN_WORDS", 2)
    in_blocks = np.array(list(Folded(student.network, teacher).margins(vectors, states, words)))
    np.testing.assert_allclose(in_blocks, whole, atol=1e-6)


def test_whoever_takes_only_some_contexts_can_train_afterwards():
    teacher, network, vocabulary = teacher_of()
    student, contexts = untrained(vocabulary, 7), contexts_of(drawn_texts(3))
    states = base_states(teacher, contexts, CONFIG)
    margins = Folded(student.network, teacher).margins(student.contexts(contexts), states, student.words(WORDS))
    truth = LocalTeacher(network, vocabulary, WORDS).logits(contexts)
    next(margins), next(truth)
    assert not torch.is_inference_mode_enabled()


def test_the_combination_is_the_equation_in_numpy():
    _, _, vocabulary = teacher_of()
    student = untrained(vocabulary, 7)
    rng = np.random.default_rng(0)
    c, t = rng.normal(size=(2, 4, 5)).astype(np.float32)
    first, second = student.network.first, student.network.second
    q = np.concatenate([c + t, c - t, c * t], axis=1)
    hidden = np.tanh(q @ first.weight.detach().numpy().T + first.bias.detach().numpy())
    expected = hidden @ second.weight.detach().numpy().T + second.bias.detach().numpy()
    np.testing.assert_allclose(student.changes(c, t), expected, atol=1e-5)
    assert first.weight.shape == (15, 15)


def test_a_context_knows_neither_its_word_nor_padding():
    student = untrained(teacher_of()[2], 7)
    texts = Context(("a", "fine"), 1), Context(("a", "dull"), 1), Context(("the",) * 9, 4)
    one, other, _ = student.contexts(texts)
    [alone] = student.contexts(texts[:1])
    np.testing.assert_allclose([one, other], [alone, alone], atol=1e-6)


def test_a_context_knows_how_much_there_is_to_attend_to():
    vocabulary = Vocabulary(WORDS, encoder())
    network = StudentNetwork(initial_vectors(vocabulary, encoder(), 3), 7, StudentConfig(hidden=5, width=1))
    with torch.no_grad():
        network.embedding.weight[network.mask] = network.embedding.weight[vocabulary.number("the")]
    student = Student(network.train(False), vocabulary)
    contexts = [Context(("the",) * length, 0) for length in (2, 9)]
    short, long = student.contexts(contexts)
    assert np.abs(long - short).max() > 1e-3
    with torch.no_grad():
        network.context[0].weight[:, -2:] = 0.0
    short, long = student.contexts(contexts)
    np.testing.assert_allclose(long, short, atol=1e-6)


def trained(seed=0, epochs=2, held_out=()):
    teacher, _, vocabulary = teacher_of()
    config = replace(CONFIG, max_epochs=epochs, batch_size=32, learning_rate=0.02)
    texts = drawn_texts(120)
    lessons = draw_lessons(texts, random_word, config, seed, 0)
    vectors = initial_vectors(vocabulary, encoder(), 3)
    return train_student(teacher, vocabulary, vectors, lambda _: lessons, config, seed, held_out), teacher, config


@pytest.mark.long
def test_a_student_knows_how_wrong_it_is():
    (student, losses), teacher, config = trained(epochs=10)
    assert losses[-1] < 0.3 * losses[0]
    texts = drawn_texts(30, seed=9)
    lessons = draw_lessons(texts, random_word, config, 0, 1)
    contexts, words = [lesson.context for lesson in lessons], [lesson.words[2] for lesson in lessons]
    second = [Lesson(lesson.context, lesson.words[2:3]) for lesson in lessons]
    wrong = margin_errors(teacher, student, second, config)
    base = base_states(teacher, contexts, config)
    predicted = teacher.logits(base + student.changes(student.contexts(contexts), student.words(words)))
    moved = teacher.states([context.replaced(word) for context, word in zip(contexts, words, strict=True)])
    truth = teacher.logits(moved)
    errors = (predicted - truth) @ np.array([-1.0, 1.0])
    assert wrong.rms == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-6)
    np.testing.assert_allclose(wrong.changes, (predicted - teacher.logits(base)) @ np.array([-1.0, 1.0]), atol=1e-6)
    assert (float(student.network.margin_error), *student.error_growth) == (0.0, 0.0, 0.0)
    # Of lessons with random words, these count, and their own does not.
    every = margin_errors(teacher, student, lessons, config)
    told = trained(epochs=10, held_out=lessons)[0][0].network
    assert [float(told.margin_error), *told.error_growth.tolist()] == pytest.approx([every.rms, *every.growth])
    assert every.errors.size == 3 * len(lessons)
    np.testing.assert_allclose(every.errors[len(lessons) : 2 * len(lessons)], wrong.errors, atol=1e-6)


@pytest.mark.parametrize(("share", "weight"), [(0.2, 0.0), (0.2, 1.5), (0.0, 0.5)])
def test_the_loss_is_that_of_the_paper_and_margins_weigh_more(share, weight):
    """Of a student that does not learn: its errors with each word, own and random ones, by the formula."""
    changed = {"max_epochs": 1, "margin_weight": weight, "replacements": share, "learning_rate": 1e-12, "dropout": 0.0}
    config = replace(CONFIG, **changed)
    teacher, _, vocabulary = teacher_of(3)
    lessons = draw_lessons(drawn_texts(4), random_word, config, 0, 0)
    vectors = initial_vectors(vocabulary, encoder(), 3)
    student, [loss] = train_student(teacher, vocabulary, vectors, lambda _: lessons, config, 0)
    contexts = [lesson.context for lesson in lessons]
    margins = teacher.weight[1:] - teacher.weight[0]
    margins = margins / np.linalg.norm(margins, axis=1, keepdims=True)
    expected = 0.0
    for column, part in enumerate([1 - share, *[share / 3] * (3 if share else 0)]):
        words = [lesson.words[column] for lesson in lessons]
        moved = teacher.states([context.replaced(word) for context, word in zip(contexts, words, strict=True)])
        base = teacher.states([context.replaced() for context in contexts])
        errors = moved - base - student.changes(student.contexts(contexts), student.words(words))
        expected += part * (np.mean(errors**2) + weight * np.mean((errors @ margins.T) ** 2))
    assert loss == pytest.approx(expected, rel=1e-4)


def test_one_seed_gives_one_student_whose_steps_become_shorter(monkeypatch):
    rates, keys, step, keyed = [], [], torch.optim.Adam.step, student_training.keyed_generator
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self: rates.append(self.param_groups[0]["lr"]) or step(self))
    monkeypatch.setattr(student_training, "keyed_generator", lambda *key: keys.append(key) or keyed(*key))
    first, again, other = (trained(seed)[0][0].network.first.weight.detach().numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (other != first).any()
    num = len(rates) // 3
    assert rates[:num] == pytest.approx([0.02 * (1 - done / num) for done in range(num)])
    orders = [(seed, epoch) for seed, _, kind, epoch in keys if kind == student_training._ORDER]
    assert orders == [(seed, epoch) for seed in (1, 1, 2) for epoch in (0, 1)]


def test_lessons_are_different_places_of_each_text():
    texts = drawn_texts(30)
    lessons = draw_lessons(texts, random_word, CONFIG, 0, 0)
    places = [(lesson.context.text, lesson.context.place) for lesson in lessons]
    assert len(lessons) == sum(min(2, len(text)) for text in texts)
    assert all(lesson.words[0] == lesson.context.word and len(lesson.words) == 4 for lesson in lessons)
    for seed, epoch in ((0, 1), (1, 0)):
        again = draw_lessons(texts, random_word, CONFIG, seed, epoch)
        assert [(lesson.context.text, lesson.context.place) for lesson in again] != places


@pytest.fixture(scope="module")
def bert(tmp_path_factory, write_bert):
    from transformers import BertForSequenceClassification, BertTokenizer

    folder = write_bert(tmp_path_factory.mktemp("bert"), WORDS, "BertForSequenceClassification")
    return BertForSequenceClassification.from_pretrained(folder).train(False), BertTokenizer.from_pretrained(folder)


def test_a_transformer_teaches_what_enters_its_last_layer(bert):
    model, tokenizer = bert
    teacher = transformers_teacher(model, tokenizer)
    texts = [("a", "fine", "film"), ("a", MASK, "film", "."), ("dull",)]
    written = ["a fine film", "a [MASK] film .", "dull"]
    for logits, text in zip(teacher.logits(teacher.states(texts)), written, strict=True):
        expected = model(**tokenizer(text, return_tensors="pt")).logits[0].detach().numpy()
        np.testing.assert_allclose(logits, expected, atol=1e-5)
    assert (teacher.is_known("film"), teacher.is_known("qqq")) == (True, False)
    maskless = deepcopy(tokenizer)
    maskless.mask_token = None
    with pytest.raises(ValueError, match="has no mask token"):
        transformers_teacher(model, maskless)


def test_a_transformer_reads_texts_as_they_stand(bert):
    model, tokenizer = bert
    read = []

    def recorded(texts, **settings):
        read.extend([texts] if isinstance(texts, str) else texts)
        return tokenizer(texts, **settings)

    for name in ("mask_token", "is_fast", "pad_token_id", "model_max_length"):
        setattr(recorded, name, getattr(tokenizer, name))
    context = Context(Spaced.of(["a", "fine", "film", "."], "a fine   film."), 1)
    transformers_teacher(model, recorded).states([context.text, context.replaced(), context.replaced("dull")])
    assert set(read) == {"a fine   film.", "a [MASK]   film.", "a dull   film."}


def test_words_begin_from_the_mean_of_their_pieces(bert):
    model, tokenizer = bert
    weight = model.get_input_embeddings().weight.detach().double().numpy()
    weight = weight - weight.mean(axis=0)
    ids = tokenizer.convert_tokens_to_ids
    whole = word_vectors(model, tokenizer, ["film", "fine film", "qqq"], 12)
    assert list(whole) == ["film", "fine film"]  # no vector of an unknown one
    np.testing.assert_allclose(whole["film"], weight[ids("film")])
    np.testing.assert_allclose(whole["fine film"], (weight[ids("fine")] + weight[ids("film")]) / 2)
    few = word_vectors(model, tokenizer, list(WORDS), 3)
    left, sizes, _ = np.linalg.svd(weight, full_matrices=False)
    expected = (left[:, :3] * sizes[:3])[ids(list(WORDS))]
    np.testing.assert_allclose(np.abs([few[word] for word in WORDS]), np.abs(expected), atol=1e-9)

"""Quality of vectors: by hand, by plain loops, and as gensim has it on the same vectors."""

import re
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import datapath
from scipy.stats import spearmanr

from tiltmeter.operators.embedding import quality
from tiltmeter.operators.embedding.quality import NO_ANSWER, accuracies, analogies, word_similarity

_TOY = np.array([[3.0, 1, 0], [2, 1, 1], [-1, 2, 0], [-1, 1, 2], [0, 2, 1], [-1, 3, 1], [2, 0, 1], [1, 1, 3]])
_MAN, _WOMAN, _HOME, _CARE = 1, 3, 4, 5


def _circle(cosines: list[float]) -> np.ndarray:
    """One embedding, whose first word is as near to the others as given."""
    angles = np.arccos([1.0, *cosines])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)[np.newaxis]


def _questions(num: int, words: int, seed: int = 0) -> np.ndarray:
    return np.stack([np.random.default_rng(seed + row).permutation(words)[:4] for row in range(num)])


def test_similarity_is_spearmans_rho_with_midranks() -> None:
    pairs = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    made = word_similarity(_circle([0.9, 0.5, 0.5, 0.1]), pairs, np.array([4.0, 3, 2, 1]))
    assert made.rho == pytest.approx([0.948683298], abs=1e-9)
    assert made.rho_of_all == pytest.approx(made.rho)
    assert made.num_missing.tolist() == [0]


def test_a_missing_pair_is_left_out_or_lies_at_the_mean_of_the_others() -> None:
    # By hand: cosines .9, .3, .6 of three pairs, and a fourth that people find the nearest lies at their mean, .6.
    vectors = np.concatenate([_circle([0.9, 0.3, 0.6, 0.0])] * 3)
    vectors[1, 4], vectors[2, 0] = 0.0, np.nan
    pairs, human = np.array([[0, 1], [0, 2], [0, 3], [0, 4]]), np.array([3.0, 1.0, 2.0, 9.0])
    made = word_similarity(vectors, pairs, human)
    assert made.num_missing.tolist() == [0, 1, 4]
    assert made.rho[1] == pytest.approx(1.0)
    assert made.rho_of_all[1] == pytest.approx(spearmanr([0.9, 0.3, 0.6, 0.6], human).statistic)
    assert made.rho[0] == pytest.approx(spearmanr([0.9, 0.3, 0.6, 0.0], human).statistic)
    assert np.isnan([made.rho[2], made.rho_of_all[2]]).all()
    unknown = word_similarity(vectors[:1], np.where(pairs == 4, -1, pairs), human)
    assert unknown.rho == pytest.approx(made.rho[1:2])
    assert unknown.num_missing.tolist() == [1]


def test_equal_cosines_have_no_order() -> None:
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    assert np.isnan(word_similarity(_circle([0.5, 0.5, 0.5]), pairs, np.array([1.0, 2, 3])).rho).all()


def test_woman_is_to_man_as_the_examples_have_it() -> None:
    """With inputs allowed 218 of the 336 questions of three words are answered by one of the three."""
    asked = np.array([[_MAN, _HOME, _WOMAN, _CARE]])
    made = analogies(_TOY[np.newaxis], asked)
    assert (made.with_inputs.item(), made.without_inputs.item()) == (_WOMAN, _CARE)
    triples = np.array([(a, b, c, 0) for a in range(8) for b in range(8) for c in range(8) if len({a, b, c}) == 3])
    every = analogies(_TOY[np.newaxis], triples).with_inputs[0]
    assert (len(triples), int((every[:, np.newaxis] == triples[:, :3]).any(axis=1).sum())) == (336, 218)


@pytest.mark.parametrize(("tile", "block"), [(7, 5), (1024, 512)])
def test_analogies_are_a_plain_loop_whatever_the_tiles(tile: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "_TILE_WORDS", tile)
    monkeypatch.setattr(quality, "_BLOCK_QUESTIONS", block)
    vectors = np.random.default_rng(1).normal(size=(2, 30, 4))
    vectors[1, 3], vectors[1, 8] = 0.0, np.nan
    questions = _questions(40, 30)
    questions[7, 3] = -1
    made = analogies(vectors, questions)
    with np.errstate(invalid="ignore"):
        unit = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
    for embedding, row in np.ndindex(made.with_inputs.shape):
        a, b, c, expected = questions[row]
        if expected == -1 or (embedding == 1 and {3, 8} & set(questions[row])):
            assert made.with_inputs[embedding, row] == made.without_inputs[embedding, row] == NO_ANSWER
            continue
        near = np.nan_to_num(unit[embedding] @ (unit[embedding, b] - unit[embedding, a] + unit[embedding, c]), nan=-9)
        assert made.with_inputs[embedding, row] == near.argmax()
        near[[a, b, c]] = -9
        assert made.without_inputs[embedding, row] == near.argmax()


def test_accuracies_are_by_section_and_count_what_could_not_be_asked() -> None:
    answers = np.array([[5, 6, NO_ANSWER, 1, NO_ANSWER], [5, 7, 7, 2, NO_ANSWER]])
    shares, missing = accuracies(answers, np.array([5, 7, 7, 2, 4]), np.array([0, 0, 0, 1, 2]), 3)
    assert np.array_equal(shares, [[0.5, 0.0, np.nan], [1.0, 1.0, np.nan]], equal_nan=True)
    assert missing.tolist() == [[1, 0, 1], [0, 0, 1]]


def test_vectors_of_chance_are_near_no_judgement_and_answer_nothing() -> None:
    """The null: over 200 embeddings rho is 0 in the mean and as wide as chance makes it; 1 answer in 97 is right."""
    rng = np.random.default_rng(3)
    vectors, pairs = rng.normal(size=(200, 100, 10)), np.arange(100).reshape(50, 2)
    rho = word_similarity(vectors, pairs, rng.normal(size=50)).rho
    assert abs(rho.mean()) < 3 / np.sqrt(200 * 49)
    assert rho.std() == pytest.approx(1 / 7, rel=0.2)
    questions = _questions(100, 100)
    right = analogies(vectors, questions).without_inputs == questions[:, 3]
    assert right.mean() == pytest.approx(1 / 97, abs=0.004)


def test_planted_relations_are_found() -> None:
    rng = np.random.default_rng(4)
    bases, offset = rng.normal(size=(20, 50)), rng.normal(size=50)
    vectors = np.concatenate([bases, bases + 2 * offset + 0.01 * rng.normal(size=bases.shape)])[np.newaxis]
    questions = np.array([(a, a + 20, c, c + 20) for a in range(20) for c in range(20) if a != c])
    made = analogies(vectors, questions)
    assert (made.without_inputs == questions[:, 3]).all()


def test_gensims_numbers_on_the_same_vectors(tmp_path: Path) -> None:
    """Equal where its words are folded to one case; what it makes of missing words is a choice of its own."""
    pairs = [line.split("\t") for line in Path(datapath("wordsim353.tsv")).read_text().splitlines() if line[0] != "#"]
    lists = Path(datapath("questions-words.txt")).read_text().splitlines()[:400]
    questions = [line.split() for line in lists if line[0] != ":"]
    words = sorted({word.lower() for pair in pairs[:300] for word in pair[:2]} | {"greece", "Greece", "athens", "iraq"})
    words += sorted({word.lower() for row in questions for word in row} - set(words) - {"germany", "berlin"})
    vectors = np.random.default_rng(5).normal(size=(len(words), 8)).astype(np.float32)
    places = {word.lower(): place for place, word in reversed([*enumerate(words)])}
    keyed = KeyedVectors(8)
    keyed.add_vectors(words, vectors)

    places_of_pairs = np.array([[places.get(word.lower(), -1) for word in pair[:2]] for pair in pairs])
    made = word_similarity(vectors[np.newaxis], places_of_pairs, np.array([float(pair[2]) for pair in pairs]))
    _, rho, missing = keyed.evaluate_word_pairs(datapath("wordsim353.tsv"))
    assert made.rho.item() == pytest.approx(rho.statistic, abs=1e-6)
    assert made.num_missing.item() / len(pairs) == pytest.approx(missing / 100)
    # Its dummies lie at a cosine of 0, ours at the mean of the others.
    _, with_dummies, _ = keyed.evaluate_word_pairs(datapath("wordsim353.tsv"), dummy4unknown=True)
    assert abs(with_dummies.statistic - made.rho_of_all.item()) > 1e-4

    (tmp_path / "questions.txt").write_text("\n".join(lists))
    asked = np.array([[places.get(word.lower(), -1) for word in row] for row in questions])
    answers = analogies(vectors[np.newaxis], asked)
    share, skipped = accuracies(answers.without_inputs, asked[:, 3], np.zeros(len(asked), int), 1)
    accuracy, sections = keyed.evaluate_word_analogies(str(tmp_path / "questions.txt"))
    total = sections[-1]
    assert share.item() == pytest.approx(accuracy)
    assert len(asked) - skipped.item() == len(total["correct"]) + len(total["incorrect"]) < len(asked)
    all_questions, _ = keyed.evaluate_word_analogies(str(tmp_path / "questions.txt"), dummy4unknown=True)
    assert all_questions == pytest.approx(share.item() * (1 - skipped.item() / len(asked)))


def test_places_that_are_none_are_refused() -> None:
    vectors = _circle([0.9, 0.5, 0.5, 0.1])
    shapes = "vectors (1, 5, 2) and places (1, 2): must be [embeddings, words, dims] and [items, 4]"
    with pytest.raises(ValueError, match=f"^{re.escape(shapes)}$"):
        analogies(vectors, np.array([[0, 1]]))
    with pytest.raises(ValueError, match=re.escape("places from 0 to 5: must lie in [-1, 5)")):
        analogies(vectors, np.array([[0, 1, 2, 5]]))
    with pytest.raises(ValueError, match="1 pairs and 2 similarities: must be as many"):
        word_similarity(vectors, np.array([[0, 1]]), np.zeros(2))

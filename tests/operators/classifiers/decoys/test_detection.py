"""What it takes to find a decoy, and in which order instances are looked at."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.classifiers.decoys.debugging import identified, suspects
from tiltmeter.operators.classifiers.decoys.detection import (
    Explained,
    detection_at_random,
    expected_instances,
    identification_success,
    order_of,
    relevance_matrix,
    shows,
    top_words,
)
from tiltmeter.operators.classifiers.decoys.kinds import InsertedDecoy
from tiltmeter.operators.classifiers.decoys.selection import cosines, relevance_clusters, submodular_pick
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary

ZQ = InsertedDecoy(("zq",))
WORDS = ["zq", "a", "film", "of", "some", "charm"]
SENTENCES = ["a film of zq charm", "zq some film", "of some zq", "a charm zq film"]


class OnlyTheDecoy(nn.Module):
    """Logits are +-3 times how often the word zq is there, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2 + len(WORDS), 1, padding_idx=0)
        nn.init.zeros_(self.embedding.weight)
        self.embedding.weight.data[2] = 1.0

    def get_input_embeddings(self) -> nn.Module:
        return self.embedding

    def forward(self, input_ids, attention_mask):
        seen = (self.embedding(input_ids)[:, :, 0] * attention_mask).sum(dim=1)
        return torch.stack([-3.0 * seen, 3.0 * seen], dim=1)


@pytest.fixture(scope="module")
def classifier():
    network = OnlyTheDecoy().eval()
    return TextClassifier(network, Vocabulary(WORDS, SmallEncoderConfig()).tokenise, 0, ("0", "1"))


def explained_by(classifier, method, texts, seed=0):
    config = AttributionConfig(method, num_steps=5, num_samples=60)
    found = attribute(classifier, texts, config, seed=seed)
    return [Explained([word.lower() for word in of.words], of.values) for of in found]


@pytest.mark.parametrize("method", ["integrated_gradients", "gradient_x_input", "occlusion", "lime", "kernel_shap"])
def test_of_a_model_that_uses_nothing_else_the_decoy_comes_first_and_is_found_at_once(classifier, method):
    instances = explained_by(classifier, method, SENTENCES)
    showing = np.array([shows(instance, ZQ, 1) for instance in instances])
    assert showing.all()
    budgets = np.arange(1, len(SENTENCES) + 1)
    assert (detection_at_random(int(showing.sum()), len(showing), budgets) == 1).all()
    relevance = relevance_matrix(instances, 1)
    for selection in ("random", "submodular_pick", "clustering"):
        ordered = [instances[row] for row in order_of(relevance, selection, 4)]
        assert identified(suspects(ordered, ZQ, 1, "recognition"), ZQ).tolist() == [1.0] * len(ordered)


def test_random_attributions_find_it_as_their_closed_form_says(classifier):
    texts = [f"zq a film of some {number}" for number in range(1200)]
    k, num, size = 2, 6, 20
    showing = np.array([shows(found, ZQ, k) for found in explained_by(classifier, "random", texts)])
    budgets = np.array([1, 2, 5, 10])
    pools = showing.reshape(-1, size)
    found = np.mean([detection_at_random(int(pool.sum()), size, budgets) for pool in pools], axis=0)
    assert found == pytest.approx(1 - (1 - k / num) ** budgets, abs=4 * math.sqrt(0.25 / len(pools) / 4))


def test_the_probability_at_random_is_that_of_all_subsets():
    showing = [True, False, False, True, False]
    for budget in range(1, 6):
        hits = [any(showing[row] for row in rows) for rows in combinations(range(5), budget)]
        assert detection_at_random(2, 5, np.array([budget])) == pytest.approx([np.mean(hits)])
    assert detection_at_random(0, 3, np.array([1, 3])).tolist() == [0.0, 0.0]
    # Of one among n, the mean place in a random order is (n + 1) / 2.
    assert expected_instances(detection_at_random(1, 7, np.arange(1, 8))) == pytest.approx(4.0)


@settings(max_examples=40)
@given(
    arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.sampled_from([0.0, 0.5, 1.0, 4.0])),
    st.integers(1, 3),
)
def test_submodular_pick_covers_nearly_as_much_as_the_best_choice(relevance, num):
    num = min(num, len(relevance))
    importance = np.sqrt(relevance.sum(axis=0))

    def coverage(rows):
        return float(importance[(relevance[list(rows)] > 0).any(axis=0)].sum())

    picked = submodular_pick(relevance, len(relevance))
    assert sorted(picked.tolist()) == list(range(len(relevance)))
    best = max(coverage(rows) for rows in combinations(range(len(relevance)), num))
    assert coverage(picked[:num]) >= (1 - 1 / math.e) * best - 1e-9


def test_clusters_are_of_instances_in_which_the_same_words_matter():
    relevance = np.zeros((9, 3))
    groups = np.array([0, 1, 2, 0, 1, 0, 0, 1, 2])
    relevance[np.arange(9), groups] = np.arange(1.0, 10.0)
    clusters = relevance_clusters(relevance, 6)
    assert (cosines(clusters[:, None] == np.arange(9)) == cosines(groups[:, None] == np.arange(9))).all()
    order = order_of(relevance, "clustering", 6)
    assert groups[order].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 0]  # the largest first, one of each in turn
    assert relevance_clusters(relevance[:2], 6).tolist() == [0, 0]


def test_words_that_say_nothing_are_never_among_the_top():
    assert top_words(Explained(["a", "b", "c"], np.array([0.0, np.nan, -1.0])), 3) == [2]
    relevance = relevance_matrix([Explained(["a", "b", "a"], np.array([1.0, 0.5, -2.0]))], 3)
    assert relevance.tolist() == [[3.0, 0.5]]


def test_models_are_told_apart_by_the_word_that_stands_out():
    decoy, plain = Explained(["zq", "good"], np.array([3.0, 1.0])), Explained(["zq", "good"], np.array([0.0, 1.0]))
    other = Explained(["zq", "dull"], np.array([0.1, -1.0]))
    budgets = np.array([1, 2])
    assert identification_success([decoy, decoy], [plain, other], 1, budgets).tolist() == [0.5, 1.0]
    assert identification_success([plain, other], [decoy, decoy], 1, budgets).tolist() == [0.5, 0.0]

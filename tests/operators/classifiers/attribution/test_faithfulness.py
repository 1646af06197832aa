"""Measures of faithfulness by hand and by the formulas of captum, ferret and quantus; Shapley values by all orders."""

from itertools import permutations

import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from captum.attr import DeepLift, FeatureAblation, GradientShap, KernelShap, Lime, Saliency
from captum.attr._core.lime import get_exp_kernel_similarity_function
from captum.metrics import infidelity as captum_infidelity
from scipy.stats import kendalltau
from torch import nn

from tiltmeter.operators.classifiers.attribution import changes, faithfulness, games
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, GradientConfig, TextClassifier
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.compute.generators import keyed_generator, torch_random
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.tokenised import word_spans

WORDS = [f"w{number}" for number in range(12)]
VOCABULARY = Vocabulary(WORDS, SmallEncoderConfig())
WEIGHTS = np.random.default_rng(0).normal(0.0, 1.0, len(WORDS))


class Layered(nn.Module):
    """Two layers of ReLU over the sum of word vectors, all of which DeepLift sees."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(2 + len(WORDS), 4)
        self.first, self.relu, self.second = nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)

    def get_input_embeddings(self):
        return self.embedding

    def forward(self, input_ids, attention_mask):
        return self.top((self.embedding(input_ids) * attention_mask[:, :, None]).sum(dim=1))

    def top(self, summed):
        return self.second(self.relu(self.first(summed)))


NETWORK = TextClassifier(Layered(), VOCABULARY.tokenise, 0, ("no", "yes"))
TEXT = "w1 w4 w0 w7"
NONE = np.empty((0, len(WORDS)), dtype=np.int64)


def bag(texts):
    """Logits of a bag of words, with products of two and of three words."""
    rows = [[word in text.split() for word in WORDS] for text in texts]
    present = np.array(rows, dtype=float)
    score = present @ WEIGHTS + present[:, 0] * present[:, 1] * (2.0 + 3.0 * present[:, 5])
    return np.stack([np.zeros_like(score), score], axis=1)


def game_of(text, removal="delete", mask=None, logits=bag):
    return games.Game(text, word_spans(text), removal, mask, logits)


def test_parts_of_a_text_keep_their_words_apart():
    game = game_of("w1-w2, w3")
    assert game.part(np.array([True, False, True, False, True])) == "w1 w2 w3"
    masked = games.Game("w1 w2 w3", word_spans("w1 w2 w3"), "mask", "[M]", bag)
    assert masked.part(np.array([True, False, True])) == "w1 [M] w3"


def captum_inputs():
    embedded = NETWORK.network.embedding(torch.tensor([VOCABULARY.tokenise([TEXT])[0].inputs["input_ids"]])).detach()
    baseline = NETWORK.network.embedding(torch.zeros(1, 4, dtype=torch.int64)).detach()
    return embedded, baseline


class Top(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = NETWORK.network

    def forward(self, embedded):
        return self.network.top(embedded.sum(dim=1))


@pytest.mark.parametrize("method", ["saliency", "deep_lift", "gradient_shap"])
def test_gradients_are_those_of_captum(method):
    config = GradientConfig(method=method, output="logit", num_samples=16)
    found = changes.gradient_values(NETWORK, TEXT, config, 1, 3)
    embedded, baseline = captum_inputs()
    if method == "saliency":
        made = Saliency(Top()).attribute(embedded.requires_grad_(), target=1)
    elif method == "deep_lift":
        made = DeepLift(Top()).attribute(embedded.requires_grad_(), baseline, target=1)
    else:
        # captum draws its places from numpy: it is given ours.
        places = keyed_generator(3, Stream.ATTRIBUTION, document_key(TEXT), 1).uniform(size=16)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.random, "uniform", lambda *_: places)
            made = GradientShap(Top()).attribute(embedded, baseline, n_samples=16, stdevs=0.0, target=1)
    np.testing.assert_allclose(found, made.detach().sum(dim=2)[0], atol=1e-6)


@pytest.mark.parametrize("method", ["occlusion", "lime", "kernel_shap"])
def test_methods_that_ask_are_those_of_captum(method):
    game, config = game_of(TEXT), AttributionConfig(method=method, num_samples=40)
    found = changes.word_values(config, lambda present: game.values(present, 1, "logit"), 4, 5, 77)

    def forward(present):
        texts = [
            " ".join(word for word, there in zip(TEXT.split(), row, strict=True) if there) for row in present > 0.5
        ]
        return torch.from_numpy(bag(texts)[:, 1]).float()

    nearness = get_exp_kernel_similarity_function("cosine", 0.25)
    made = {
        "occlusion": lambda: FeatureAblation(forward),
        "lime": lambda: Lime(forward, SkLearnLinearRegression(), nearness),
        "kernel_shap": lambda: KernelShap(forward),
    }[method]()
    settings = {} if method == "occlusion" else {"n_samples": 40}
    with torch_random(5, Stream.ATTRIBUTION, 77):
        theirs = made.attribute(torch.ones(1, 4), **settings)
    np.testing.assert_allclose(found, theirs[0], atol=1e-6)


def test_shapley_values_are_those_of_all_orders():
    game = game_of("w0 w1 w5 w9 w3")
    found = games.shapley(game.values(games.all_parts(5), 1, "log_odds"))
    value = {bits: game.values(np.array([[bits >> i & 1 for i in range(5)]], dtype=bool), 1, "log_odds")[0]
             for bits in range(32)}  # fmt: skip
    by_orders = np.zeros(5)
    for order in permutations(range(5)):
        bits = 0
        for word in order:
            by_orders[word] += (value[bits | 1 << word] - value[bits]) / 120
            bits |= 1 << word
    np.testing.assert_allclose(found, by_orders, atol=1e-12)
    # Products are shared among their words.
    np.testing.assert_allclose(found, WEIGHTS[[0, 1, 5, 9, 3]] + [2, 2, 1, 0, 0], atol=1e-9)
    assert found.sum() == pytest.approx(value[31] - value[0], abs=1e-9)
    drawn, errors = games.sampled_shapley(
        lambda present: game.values(present, 1, "log_odds"), 5, np.random.default_rng(0), 1e-9, 200
    )
    assert (np.abs(drawn - found) <= 4 * errors + 1e-9).all()


def test_comprehensiveness_by_hand_and_of_any_constant_added():
    game = game_of("w0 w1 w5 w9 w3 w2 w6 w8 w10 w11")
    values = np.arange(10.0)[::-1]

    def chance(*words):
        return 1 / (1 + np.exp(-bag([" ".join(words)])[0, 1]))

    words = game.text.split()
    falls = [chance(*words) - chance(*words[size:]) for size in (1, 1, 1, 2, 5)]
    keeps = [chance(*words) - chance(*words[:size]) for size in (1, 1, 1, 2, 5)]
    parts, rng = np.eye(10, dtype=bool), np.random.default_rng(1)
    orders = np.stack([rng.permutation(10) for _ in range(3)])
    for moved in (0.0, -4.5):
        asked = faithfulness.with_random(values + moved, orders)
        found = faithfulness.measured(game, asked, 1, "log_odds", 5, parts)
        assert found["comprehensiveness"][0] == pytest.approx(np.mean(falls))
        assert found["sufficiency"][0] == pytest.approx(np.mean(keeps))
        curve = [chance(*words[size:]) for size in (0, 2, 4, 6, 8, 10)]
        assert found["deletion"][0] == pytest.approx(np.trapezoid(curve, dx=0.2))
        assert np.sort(asked.values[1:], axis=1).tolist() == [sorted(values + moved)] * 3
        alone = WEIGHTS[[int(word[1:]) for word in words]] + [5, 5, 3, *[0] * 7]
        assert found["tau"][0] == pytest.approx(kendalltau(values, alone).statistic)


def test_ferret_is_met_with_its_bins_where_all_scores_are_positive_and_differs_by_its_cut_at_zero():
    """ferret 0.4.2 takes floor(q n) words of q = 10, 20, ..., 100 %, those with a positive score alone."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        words = rng.permutation(WORDS)[:10].tolist()
        game, values = game_of(" ".join(words)), rng.uniform(0.1, 1.0, 10)
        order = np.argsort(-values)
        whole, rows = np.ones((1, 10), dtype=bool), []
        for size in range(1, 11):
            present = whole[0].copy()
            present[order[:size]] = False
            rows.append(present)
        ferret = float((game.values(whole, 1, "probability")[0] - game.values(np.array(rows), 1, "probability")).mean())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(faithfulness, "SHARES", tuple(q / 10 for q in range(1, 11)))
            asked = faithfulness.with_random(values, NONE[:, :10])
            ours = faithfulness.measured(game, asked, 1, "log_odds", 5, whole)["comprehensiveness"][0]
        assert ours == pytest.approx(ferret, abs=1e-12)


def test_infidelity_is_that_of_captum_and_its_exact_value_of_all_parts():
    game = game_of("w0 w1 w5 w9")
    values = np.array([[0.4, -0.3, 1.0, 0.2]])
    parts = games.all_parts(4)
    fall = game.values(np.ones((1, 4), dtype=bool), 1, "logit")[0] - game.values(~parts, 1, "logit")
    drawn = torch.from_numpy(parts).float()
    for place, is_scaled in enumerate((False, True)):
        theirs = captum_infidelity(
            lambda present: torch.from_numpy(game.values(present.numpy() > 0.5, 1, "logit")).float(),
            lambda inputs: (drawn, inputs - drawn),
            torch.ones(1, 4),
            torch.from_numpy(values).float(),
            n_perturb_samples=16,
            normalize=is_scaled,
        )
        ours = faithfulness.infidelity(values, parts, fall)[place]
        assert ours[0] == pytest.approx(float(theirs[0]), abs=1e-5)


def test_plausibility_by_hand():
    named = np.array([False, True, True, False, True])
    asked = faithfulness.with_random(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), NONE[:, :5])
    found = faithfulness.plausibility(asked, named, 3)
    assert found["auprc"][0] == pytest.approx((1 / 2 + 2 / 3 + 3 / 5) / 3)
    assert found["token_f1"][0] == pytest.approx(2 * 2 / (3 + 3))
    # The first three words meet words 1 and 2 by two thirds; the last word is missed.
    assert found["iou_f1"][0] == pytest.approx(2 * 1 * 0.5 / 1.5)


def test_the_best_words_are_those_of_all_sets_and_greedily_no_more():
    game = game_of("w0 w1 w5 w9 w3 w2")
    best, greedy = (faithfulness.best_falls(game, 1, most) for most in (1000, 1))
    assert greedy <= best + 1e-12
    full = game.values(np.ones((1, 6), dtype=bool), 1, "probability")[0]
    single = max(full - game.values(~np.eye(6, dtype=bool), 1, "probability"))
    # One word for the shares up to 10 %, two for 20 %, three for 50 %.
    assert faithfulness.sizes_of(6).tolist() == [1, 1, 1, 2, 3]
    assert best >= single * 3 / 5


def test_sensitivity_is_none_of_what_is_linear_and_bounded_by_more_draws():
    config = GradientConfig(method="saliency", output="logit")
    few, more = (changes.sensitivity(NETWORK, TEXT, config, 1, 0, 0.5, num)[0] for num in (2, 12))
    assert 0.0 <= few <= more
    assert changes.sensitivity(NETWORK, TEXT, config, 1, 0, 1e-9, 3)[0] == pytest.approx(0.0, abs=1e-6)


def test_layers_are_lost_one_by_one_and_the_network_stays_as_it_is():
    before = {name: weight.clone() for name, weight in NETWORK.network.state_dict().items()}
    assert changes.forgotten_layers(NETWORK) == ["second", "first", "embedding"]
    last, _ = changes.forgetting(NETWORK, ["second"], 0)
    same = {name for name, weight in last.network.state_dict().items() if torch.equal(weight, before[name])}
    assert same == {"embedding.weight", "first.weight", "first.bias"}
    other, _ = changes.forgetting(NETWORK, ["second"], 0, key=1)
    assert not torch.equal(other.network.second.weight, last.network.second.weight)
    assert all(torch.equal(weight, before[name]) for name, weight in NETWORK.network.state_dict().items())

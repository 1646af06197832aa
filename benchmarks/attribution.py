"""Faithfulness beside ferret-xai 0.4.2 and quantus 0.6.0, on 50 texts of ten words, by a small BERT.

    <a virtual environment of its own>/bin/pip install ferret-xai==0.4.2 quantus==0.6.0 torch==2.13.0 'pyarrow<21'
    python -m benchmarks.attribution <its python>

Theirs run in a process of their own, on the same checkpoint, texts and attributions; in the first rows with the same
sizes, signs, noise, parts and weights. Prints means over texts, the largest difference, and why there is one.
"""

import argparse
import subprocess
import tempfile
from copy import deepcopy
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from tiltmeter.operators.classifiers.attribution import changes, faithfulness
from tiltmeter.operators.classifiers.attribution.attribute import Networked, attribute, transformers_classifier
from tiltmeter.operators.classifiers.attribution.games import Game, all_parts, logits_by
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, GradientConfig, TextClassifier
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.text.tokenised import word_spans

TEXTS, LENGTH, WIDTH, RADIUS, DRAWS = 50, 10, 16, 0.02, 10
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz"]
Pairs = list[tuple[str, int]]
SALIENCY = GradientConfig(method="saliency", output="logit")
THEIRS = """
import sys
import numpy as np, quantus, torch
from ferret.evaluators import faithfulness_measures as ferret
from ferret.explainers.explanation import Explanation
from transformers import BertForSequenceClassification, BertTokenizer
folder = sys.argv[1]
bert = BertForSequenceClassification.from_pretrained(folder).eval()
tokenizer, given, out = BertTokenizer(f"{folder}/vocab.txt"), np.load(f"{folder}/ours.npz"), {}
targets, ids = given["targets"], given["ids"]
for kind in ("positive", "signed", "less"):
    explained = [Explanation(text, ["[CLS]", *text.split(), "[SEP]"], np.array([0, *row, 0]), "", int(target))
                 for text, row, target in zip(given["texts"].tolist(), given[kind], targets)]
    for name in ("AOPC_Comprehensiveness", "AOPC_Sufficiency", "TauLOO"):
        judge = getattr(ferret, f"{name}_Evaluation")(bert, tokenizer)
        out[f"{name} {kind}"] = [judge.compute_evaluation(one, target=one.target).score for one in explained]

class Network(torch.nn.Module):  # of embeddings [n, dims, words], ids [n, 1, words], which are there [n, 1, 1, words]
    def __init__(self):
        super().__init__()
        self.bert = bert
    def embedded(self, x):
        return self.bert.get_input_embeddings()(x[:, 0].long()) if x.shape[1] == 1 else x.transpose(1, 2)
    def of(self, words):
        ends = self.bert.get_input_embeddings()(torch.tensor([2, 3]))[:, None, None].expand(2, len(words), 1, -1)
        return self.bert(inputs_embeds=torch.cat([ends[0], words, ends[1]], 1)).logits
    def forward(self, x):
        if x.ndim < 4:
            return self.of(self.embedded(x))
        parts = [[2, *row[there], 3] for row, there in zip(ids, x[:, 0, 0].numpy() > 0.5)]
        return torch.cat([self.bert(torch.tensor([part])).logits for part in parts])

def saliency(model, inputs, targets, **_):
    words = model.embedded(torch.as_tensor(inputs).float()).detach().requires_grad_()
    output = model.of(words)[torch.arange(len(targets)), torch.as_tensor(targets)].sum()
    return torch.autograd.grad(output, words)[0].abs().sum(2).numpy()[:, None]

network, noise = Network().eval(), iter(given["noise"])
spaces, there = ids[:, None].astype(float), np.ones((len(ids), 1, 1, ids.shape[1]), np.float32)
embedded = network.embedded(torch.as_tensor(spaces)).detach().numpy().transpose(0, 2, 1).copy()
handed = lambda arr, indices, **_: arr + next(noise).transpose(0, 2, 1).reshape(len(arr), -1)
asked = {"model": network, "y_batch": targets, "explain_func": saliency, "channel_first": True}
plain = {"abs": False, "normalise": False, "disable_warnings": True}
for name, settings in {"ours": {"nr_samples": len(given["noise"]), "perturb_func": handed}, "theirs": {}}.items():
    out[f"sensitivity {name}"] = quantus.MaxSensitivity(**settings, **plain)(x_batch=embedded, **asked)
infidelity = quantus.Infidelity(perturb_patch_sizes=[1], n_perturb_samples=1, perturb_baseline=0.0, **plain)
out["infidelity"] = infidelity(x_batch=there, a_batch=given["signed"][:, None, None], **asked)
for name in ("last", "average"):
    out[name] = quantus.MPRT(**{f"return_{name}_correlation": True}, **plain)(x_batch=spaces, **asked)
np.savez(f"{folder}/theirs.npz", **out)
"""
ROWS = """
comprehensiveness: positive values, their ten sizes | AOPC_Comprehensiveness positive
sufficiency: the same | AOPC_Sufficiency positive
tau, of probabilities | TauLOO signed
max-sensitivity by the size of a: our noise | sensitivity ours
infidelity: their parts | infidelity
randomisation, all layers: their weights | last
comprehensiveness | AOPC_Comprehensiveness signed | ferret counts words of positive value alone, and 10 to 100 % of all
comprehensiveness, a less a constant | AOPC_Comprehensiveness less | two words are positive; ours ranks as before
sufficiency | AOPC_Sufficiency signed | as for comprehensiveness
max-sensitivity | sensitivity theirs | quantus has 200 draws within 0.2, and divides by the size of a
infidelity | infidelity | quantus takes words out in their order, and puts none back
randomisation, mean of steps | average | quantus has the network as it is among the steps
"""


def checkpoint(folder: str, texts: list[str]) -> TextClassifier:
    """A BERT of two layers that learnt whether the numbers of a text's words add up to more than usual."""
    torch.manual_seed(0)
    Path(folder, "vocab.txt").write_text("\n".join(WORDS) + "\n")
    tokenizer = BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)})
    sizes = {"hidden_size": WIDTH, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = BertForSequenceClassification(BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **sizes))
    inputs, optimizer = tokenizer(texts, return_tensors="pt"), torch.optim.Adam(model.parameters(), lr=0.01)
    sums = inputs["input_ids"].sum(dim=1)
    for _ in range(12):
        optimizer.zero_grad()
        model(**inputs, labels=(sums > sums.median()).long()).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    return transformers_classifier(model, tokenizer)


def faithful(network: TextClassifier, pairs: Pairs, values: FloatArray, parts: BoolArray) -> FloatArray:
    """``[4, texts]``: our comprehensiveness, sufficiency and tau of probabilities, and infidelity of logits."""
    rows = []
    for (text, target), row in zip(pairs, values, strict=True):
        game = Game(text, word_spans(text), "delete", None, logits_by(Networked(network)))
        asked = faithfulness.with_random(row, np.empty((0, LENGTH), dtype=np.int64))
        logits, made = (faithfulness.measured(game, asked, target, name, 5, parts) for name in ("logit", "probability"))
        rows.append([made["comprehensiveness"], made["sufficiency"], made["tau"], logits["infidelity"]])
    return np.array(rows)[:, :, 0].T


def randomised(network: TextClassifier, pairs: Pairs) -> FloatArray:
    """``[steps, texts]``: our correlations after each module is drawn anew as quantus does it, from the last one."""
    model, steps = deepcopy(network.network), []
    forgot = network._replace(network=model)
    for module in [None, *reversed([one for one in model.modules() if hasattr(one, "reset_parameters")])]:
        torch.manual_seed(43)
        if module is not None:
            module.reset_parameters()
        steps.append([changes.gradient_values(forgot, text, SALIENCY, target, 0) for text, target in pairs])
    return np.array([[changes.spearman(*both) for both in zip(steps[0], step, strict=True)] for step in steps[1:]])


def main() -> None:
    """Measure by all three, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    python, rng = parser.parse_args().python, np.random.default_rng(0)
    ids = rng.permuted(np.tile(np.arange(5, len(WORDS)), (TEXTS, 1)), axis=1)[:, :LENGTH]
    texts = [" ".join(WORDS[number] for number in row) for row in ids]
    with tempfile.TemporaryDirectory() as folder:
        network = checkpoint(folder, texts)
        made = attribute(network, texts, AttributionConfig())
        signed, targets = np.array([one.values for one in made]), [one.target for one in made]
        positive, less = signed - signed.min(axis=1)[:, None] + 0.01, signed - np.sort(signed, axis=1)[:, -3, None]
        shape = (LENGTH, WIDTH)
        noise = [[changes.noise(text, 0, draw, shape, RADIUS).numpy() for text in texts] for draw in range(DRAWS)]
        values = {"signed": signed, "positive": positive, "less": less, "noise": noise}
        np.savez(f"{folder}/ours.npz", **values, texts=texts, targets=targets, ids=ids)
        subprocess.check_call([python, "-c", THEIRS, folder], stdout=subprocess.DEVNULL)
        theirs = dict(np.load(f"{folder}/theirs.npz"))
    pairs, prefixes = list(zip(texts, targets, strict=True)), np.tril(np.ones((LENGTH, LENGTH), dtype=bool))
    of_all = faithful(network, pairs, signed, all_parts(LENGTH))
    cumulative = faithful(network, pairs, signed, prefixes)[3]
    with patch.object(faithfulness, "SHARES", [q / 10 for q in range(1, 11)]):
        tenths = faithful(network, pairs, positive, prefixes)
    moved = [changes.sensitivity(network, text, SALIENCY, target, 0, RADIUS, DRAWS) for text, target in pairs]
    (absolute, relative), steps = np.array(moved).T, randomised(network, pairs)
    mean, num = steps.mean(axis=0), len(steps)
    handed = [tenths[0], tenths[1], of_all[2], relative, cumulative, steps[-1]]
    unasked = [of_all[0], of_all[0], of_all[1], absolute, of_all[3], mean]
    print("| measure | theirs | ours | largest difference | why |\n|---|---|---|---|---|")
    for line, numbers in zip(ROWS.strip().splitlines(), handed + unasked, strict=True):
        name, key, *why = line.split(" | ")
        means = f"{theirs[key].mean():.4f} | {numbers.mean():.4f} | {np.abs(theirs[key] - numbers).max():.1e}"
        print(f"| {name} | {means} | {''.join(why)} |")
    away = np.abs(theirs["average"] - (1 + num * mean) / (num + 1)).max()
    print(f"\nOf {num} steps with mean m, quantus has (1 + {num} m) / {num + 1}, within {away:.1e}.")


if __name__ == "__main__":
    main()

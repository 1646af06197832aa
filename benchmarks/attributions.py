"""How many sentences a second integrated gradients explain: plain calls of captum, and in `tiltmeter`.

    python -m benchmarks.attributions [--models small tiny] [--sentences 256] [--rounds 3] [--threads 2]

The sentences are those of SST-2's test part. A plain call takes one sentence at a time, in one process of two threads;
`tiltmeter` has the same two cores, as two workers of one thread. Both are given the same weights (random ones), 50
steps of the Gauss-Legendre rule, and the predicted class, and give the convergence delta as well. `tiltmeter` takes
fewer steps where its tolerance of 1e-4 allows it and, in a line of its own, all of them. Rounds alternate, and the best
of each counts; models are loaded before. Values must agree within 1e-4 of the largest one. On a machine that is busy
otherwise, threads that wait for each other are slow by no fault of theirs: compare CPU time there, with one thread for
both, which is as if captum's second thread came for free.

Then the small model explains up to four times as many sentences, to tell how time and memory grow.
"""

import argparse
import multiprocessing
import os
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import DATA

NUM_CORES = 2
NUM_STEPS = 50
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TOLERANCE = 1e-4
SIZES = {"tiny": (2, 128, 0.05), "sharp": (2, 128, 0.15), "mini": (4, 256, 0.05), "distil": (6, 768, 0.05)}
"""Layers and dimensions of BERT models, and the spread of their weights: wider weights bend the path more. ``small`` is
the small encoder over word vectors."""


class Measured(NamedTuple):
    """Attributes:
    seconds: of the round, with models loaded.
    cpu_seconds: of all its threads and processes.
    values: of each sentence's words.
    """

    seconds: float
    cpu_seconds: float
    values: list[NDArray[np.float64]]


@cache
def sentences() -> list[str]:
    """Of the test part, less those without a word."""
    lines = (DATA / "sentiment/sst2/test.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines]


@cache
def classifier(name: str) -> Any:
    """The same weights in every process."""
    return small() if name == "small" else bert(*SIZES[name])


def small() -> Any:
    """The small encoder as `privacy_metrics` and `decoy_benchmark` take it by default."""
    from tiltmeter.operators.classifiers.networks import small_network, text_classifier
    from tiltmeter.operators.classifiers.records import Head
    from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary

    config, heads = SmallEncoderConfig(), {"label": Head(("negative", "positive"))}
    vocabulary = Vocabulary.of(sentences(), config)
    return text_classifier(small_network(vocabulary, config, heads, 0), vocabulary.tokenise, heads)


def bert(num_layers: int, dimensions: int, spread: float) -> Any:
    """A BERT of some size whose tokenizer knows the words of the sentences."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    from tiltmeter.operators.classifiers.attribution.attribute import transformers_classifier

    words = sorted({word for text in sentences() for word in text.split()})
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words])}
    sizes = {"hidden_size": dimensions, "num_hidden_layers": num_layers, "num_attention_heads": dimensions // 64}
    sizes |= {"intermediate_size": 4 * dimensions, "vocab_size": len(vocabulary)}
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(initializer_range=spread, **sizes)).eval()
    return transformers_classifier(model, BertTokenizer(vocab=vocabulary))


def plain(name: str, texts: list[str], num_threads: int) -> Measured:
    """One sentence after the other, by captum alone."""
    import torch
    from captum.attr import LayerIntegratedGradients

    torch.set_num_threads(num_threads)
    of, (network, tokenise, padding, *_) = classifier(name), classifier(name)
    network.eval()

    def logits(ids: Any, mask: Any) -> Any:
        found = network(input_ids=ids, attention_mask=mask)
        return getattr(found, "logits", found)

    method = LayerIntegratedGradients(logits, of.network.get_input_embeddings())
    values = []
    started, cpu = time.perf_counter(), time.process_time()
    for read in tokenise(texts):
        ids = torch.tensor([read.inputs["input_ids"]])
        mask, is_word = torch.ones_like(ids), torch.from_numpy(read.word_of >= 0)
        with torch.no_grad():
            target = int(logits(ids, mask).argmax())
        found, _ = method.attribute(
            ids,
            baselines=ids.masked_fill(is_word, padding),
            target=target,
            additional_forward_args=mask,
            n_steps=NUM_STEPS,
            return_convergence_delta=True,
        )
        tokens = found.sum(dim=2)[0].double().numpy()
        values.append(np.bincount(read.word_of[read.word_of >= 0], tokens[read.word_of >= 0], len(read.words)))
    return Measured(time.perf_counter() - started, time.process_time() - cpu, values)


def part(name: str, texts: list[str], tolerance: float | None) -> tuple[list[NDArray[np.float64]], float, int]:
    """In a worker: values, CPU seconds, and the peak of its memory in bytes."""
    import torch

    from tiltmeter.operators.classifiers.attribution.attribute import attribute
    from tiltmeter.operators.classifiers.attribution.records import AttributionConfig

    torch.set_num_threads(1)
    of = classifier(name)
    cpu = time.process_time()
    found = attribute(of, texts, AttributionConfig(output="logit", num_steps=NUM_STEPS, tolerance=tolerance))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return [one.values for one in found], time.process_time() - cpu, peak


def ours(
    pool: ProcessPoolExecutor, name: str, texts: list[str], unit: int, tolerance: float | None = TOLERANCE
) -> tuple[Measured, int]:
    """In units of so many sentences, by all workers; and the largest peak of a worker's memory."""
    units = [texts[first : first + unit] for first in range(0, len(texts), unit)]
    started = time.perf_counter()
    found = list(pool.map(part, [name] * len(units), units, [tolerance] * len(units)))
    seconds = time.perf_counter() - started
    values = [value for some, _, _ in found for value in some]
    return Measured(seconds, sum(cpu for _, cpu, _ in found), values), max(peak for *_, peak in found)


def compare(pool: ProcessPoolExecutor, name: str, num: int, rounds: int, num_threads: int) -> bool:
    """Print how fast both are; whether values agree."""
    texts = sentences()[:num]
    unit = max(1, num // NUM_CORES)
    ours(pool, name, texts[: 4 * NUM_CORES], 1)  # loads the model in every worker
    plain(name, texts[:4], num_threads)
    rows = [
        (plain(name, texts, num_threads), *(ours(pool, name, texts, unit, of)[0] for of in (TOLERANCE, None)))
        for _ in range(rounds)
    ]
    by_captum, *by_us = (min(of, key=lambda measured: measured.seconds) for of in zip(*rows, strict=True))
    agree = []
    for who, of in zip(("captum", "tiltmeter", "all steps"), (by_captum, *by_us), strict=True):
        pairs = zip(by_captum.values, of.values, strict=True)
        apart = max(np.abs(one - other).max() / np.abs(one).max() for one, other in pairs)
        agree.append(bool(apart <= TOLERANCE))
        print(
            f"{name:7} {who:10} {num / of.seconds:8.2f} sentences/s {1000 * of.cpu_seconds / num:8.1f} ms of CPU each, "
            f"{by_captum.seconds / of.seconds:.2f} times as fast ({by_captum.cpu_seconds / of.cpu_seconds:.2f} by CPU "
            f"time), values within {apart:.1e}",
            flush=True,
        )
    return all(agree)


def grow(pool: ProcessPoolExecutor, num: int) -> None:
    """Print time and memory of ever more sentences."""
    for times in (1, 2, 4):
        texts = (sentences() * times)[: times * num]
        distinct = [f"{text} {number}" for number, text in enumerate(texts)]
        measured, peak = ours(pool, "small", distinct, num // NUM_CORES)
        per_sentence = 1000 * measured.cpu_seconds / len(distinct)
        print(f"{len(distinct):6,} sentences: {per_sentence:.2f} ms of CPU each, {peak / 1e6:,.0f} MB in a worker")


def main() -> None:
    """Compare all models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["small", "tiny"], choices=["small", *SIZES])
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=NUM_CORES)
    known = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:NUM_CORES])
    with ProcessPoolExecutor(NUM_CORES, multiprocessing.get_context("spawn")) as pool:
        agree = [compare(pool, name, known.sentences, known.rounds, known.threads) for name in known.models]
        if "small" in known.models:
            grow(pool, known.sentences)
    if not all(agree):
        sys.exit(f"values differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()

"""Private texts beside pypantera 1.0.2: words per second, and three things that it does, on made-up words and vectors.

    <a virtual environment of its own>/bin/pip install pypantera==1.0.2
    python -m benchmarks.private_text <its python>

Theirs runs in a process of its own, on the same texts and vectors (normal, more spread in some directions than in
others); reading these counts for neither; seconds of one core. One word of a text in ten is a name without a vector.
``kept`` is the share of others that came out as they were, ``exact`` its expectation where that is known, ``far`` that
of words beyond gamma; ``in clear`` the share of names that came out. The epsilon of Mahalanobis is of its own metric
here, as in its paper.
"""

import argparse
import json
import subprocess
import tempfile
import time
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np

from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, Texts
from tiltmeter.jobs.embedding.private_vectors.texts import TextSecret
from tiltmeter.operators.embedding.private_release.projections import mahalanobis_map
from tiltmeter.operators.embedding.private_release.word_laws import Law, distances

WORDS, TEXTS, LENGTH, WIDTH, BETA, EPSILONS, WEIGHT, THRESHOLD = 400, 50, 20, 20, 0.5, (2.0, 6.0), 0.9, 0.5
THEIRS = """
import json, sys, time
import numpy, pandas
from src.EmbeddingPerturbationMechanism.cmp import CMP
from src.EmbeddingPerturbationMechanism.mahalanobis import Mahalanobis
from src.EmbeddingPerturbationMechanism.vickrey import VickreyCMP
from src.SamplingPerturbationMechanism.santext import SanText
from src.SamplingPerturbationMechanism.tem import TEM
path, texts, epsilons, more = json.loads(sys.argv[1])
numpy.random.seed(0)
kinds = {"SanText": SanText, "TEM": TEM, "CMP": CMP, "Vickrey": VickreyCMP, "Mahalanobis": Mahalanobis}
for name, epsilon in [(name, epsilon) for epsilon in epsilons for name in kinds]:
    mechanism = kinds[name]({"embPath": path, "epsilon": epsilon} | more[name])
    table, start = pandas.DataFrame({"id": range(len(texts)), "text": texts}), time.process_time()
    written = mechanism.obfuscateText(table, 1)["obfuscatedText"]
    print(json.dumps([time.process_time() - start, [row[0] for row in written]]))
"""
MORE = {"SanText": {}, "TEM": {"beta": BETA}, "CMP": {}, "Vickrey": {"t": THRESHOLD}, "Mahalanobis": {"lam": WEIGHT}}


def asked(kind: str, epsilon: float) -> dict[str, Any]:
    """What defines a release of ours that is of the same law, by what its paper says."""
    gamma = 2 * log((1 - BETA) * (WORDS - 1) / BETA) / epsilon if kind == "TEM" else None
    if kind in ("SanText", "TEM"):
        return {"law": "exponential", "mechanism": kind, "epsilon": epsilon, "gamma": gamma}
    about = {"law": "norm", "mechanism": kind.lower(), "scale": 1 / epsilon, "step": 2.0**-20 / epsilon}
    return about | ({"vickrey": THRESHOLD} if kind == "Vickrey" else {})


def ours(
    texts: list[str], public: list[str], vectors: np.ndarray, about: dict[str, Any], projection: np.ndarray | None
) -> tuple[float, list[str]]:
    """As a release does it, with the streams of ChaCha20; without what it reads and describes."""
    start = time.process_time()
    places = {word: row for row, word in enumerate(public)}
    rows = [np.array([places.get(word, -1) for word in text.split()]) for text in texts]
    secret = TextSecret(Path(), PrivateSources(), "", "", about, None)
    written = secret.written(bytes(32), Texts(public, vectors, rows), projection, 0, len(rows))
    out = [" ".join(public[row] if row >= 0 else "_" for row in part.tolist()) for part in written]
    return time.process_time() - start, out


def main() -> None:
    """Write texts by both, without gamma and with that of their rule, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    known, rng, is_name = parser.parse_args(), np.random.default_rng(0), np.arange(LENGTH) % 10 == 0
    vectors = rng.standard_normal((WORDS, WIDTH)) * np.linspace(0.4, 1.6, WIDTH)
    public = [f"w{number}" for number in range(WORDS)]
    drawn = np.array(public)[rng.integers(0, WORDS, (TEXTS, LENGTH))]
    before = np.where(is_name, [[f"name{row}"] for row in range(TEXTS)], drawn)
    texts, apart = [" ".join(words) for words in before.tolist()], distances(vectors, vectors)
    # What is imported at the first draw counts for neither.
    ours(texts[:1], public, vectors, asked("SanText", 1.0), None)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(public, vectors, strict=True))
        file.flush()
        command = [known.python, "-c", THEIRS, json.dumps([file.name, texts, EPSILONS, MORE])]
        lines = subprocess.check_output(command, text=True).splitlines()
    print("| mechanism | epsilon | far | exact | by | kept | in clear | words/s |\n|---|---|---|---|---|---|---|---|")
    kinds = [(epsilon, kind) for epsilon in EPSILONS for kind in MORE]
    for (epsilon, kind), line in zip(kinds, lines, strict=True):
        about, far, exact = asked(kind, epsilon), np.nan, np.nan
        if about["law"] == "exponential":
            law = Law(epsilon, about["gamma"] or inf)
            chances = law.weights(apart) / law.weights(apart).sum(axis=1, keepdims=True)
            far, exact = (chances * (apart > law.gamma)).sum(axis=1).mean(), np.diag(chances).mean()
        made = ours(texts, public, vectors, about, mahalanobis_map(vectors, WEIGHT) if kind == "Mahalanobis" else None)
        for name, (seconds, out) in {"pypantera": json.loads(line), "ours": made}.items():
            same = before == np.array([text.split(" ")[:LENGTH] for text in out])
            kept, clear = same[:, ~is_name].mean(), same[:, is_name].mean()
            start = f"| {kind} | {epsilon:g} | {far:.2f} | {exact:.3f} | {name}"
            print(f"{start} | {kept:.3f} | {clear:.3f} | {before.size / seconds:,.0f} |")


if __name__ == "__main__":
    main()

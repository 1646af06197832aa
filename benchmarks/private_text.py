"""Private texts beside pypantera 1.0.2: words per second, and two things that it does, on made-up words and vectors.

    <a virtual environment of its own>/bin/pip install pypantera==1.0.2
    python -m benchmarks.private_text <its python>

Theirs runs in a process of its own, on the same texts and (normal) vectors; reading these counts for neither; seconds
of one core. One word of a text in ten is a name without a vector. ``kept`` is the share of others that came out as they
were, ``exact`` its expectation, ``far`` that of words beyond gamma; ``in clear`` the share of names that came out.
"""

import argparse
import json
import subprocess
import tempfile
import time
from math import inf, log
from pathlib import Path

import numpy as np

from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, Texts
from tiltmeter.jobs.embedding.private_vectors.texts import TextSecret
from tiltmeter.operators.embedding.private_release.word_laws import Law, distances

WORDS, TEXTS, LENGTH, WIDTH, BETA, EPSILONS = 400, 50, 20, 20, 0.5, (2.0, 6.0)
THEIRS = """
import json, sys, time
import numpy, pandas
from src.SamplingPerturbationMechanism.santext import SanText
from src.SamplingPerturbationMechanism.tem import TEM
path, texts, epsilons, beta = json.loads(sys.argv[1])
numpy.random.seed(0)
for made, epsilon in [(made, epsilon) for epsilon in epsilons for made in (SanText, TEM)]:
    mechanism = made({"embPath": path, "epsilon": epsilon, "beta": beta})
    table, start = pandas.DataFrame({"id": range(len(texts)), "text": texts}), time.process_time()
    written = mechanism.obfuscateText(table, 1)["obfuscatedText"]
    print(json.dumps([time.process_time() - start, [row[0] for row in written]]))
"""


def ours(texts: list[str], public: list[str], vectors: np.ndarray, law: Law) -> tuple[float, list[str]]:
    """As a release does it, with the streams of ChaCha20; without what it reads and describes."""
    start, about = time.process_time(), {"law": "exponential", **law._asdict()}
    places = {word: row for row, word in enumerate(public)}
    rows = [np.array([places.get(word, -1) for word in text.split()]) for text in texts]
    secret = TextSecret(Path(), PrivateSources(), "", "", about, None)
    written = secret.written(bytes(32), Texts(public, vectors, rows), 0, len(rows))
    out = [" ".join(public[row] if row >= 0 else "_" for row in part.tolist()) for part in written]
    return time.process_time() - start, out


def main() -> None:
    """Write texts by both, without gamma and with that of their rule, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    known, rng, is_name = parser.parse_args(), np.random.default_rng(0), np.arange(LENGTH) % 10 == 0
    vectors, public = rng.standard_normal((WORDS, WIDTH)), [f"w{number}" for number in range(WORDS)]
    drawn = np.array(public)[rng.integers(0, WORDS, (TEXTS, LENGTH))]
    before = np.where(is_name, [[f"name{row}"] for row in range(TEXTS)], drawn)
    texts, apart = [" ".join(words) for words in before.tolist()], distances(vectors, vectors)
    ours(texts[:1], public, vectors, Law(1.0))  # what is imported at the first draw counts for neither
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(public, vectors, strict=True))
        file.flush()
        asked = [known.python, "-c", THEIRS, json.dumps([file.name, texts, EPSILONS, BETA])]
        lines = subprocess.check_output(asked, text=True).splitlines()
    print("| mechanism | epsilon | far | exact | by | kept | in clear | words/s |\n|---|---|---|---|---|---|---|---|")
    gammas = [inf, 2 * log((1 - BETA) * (WORDS - 1) / BETA)]
    laws = [Law(epsilon, gamma / epsilon) for epsilon in EPSILONS for gamma in gammas]
    for law, line in zip(laws, lines, strict=True):
        chances = law.weights(apart) / law.weights(apart).sum(axis=1, keepdims=True)
        far, exact = (chances * (apart > law.gamma)).sum(axis=1).mean(), np.diag(chances).mean()
        made = ours(texts, public, vectors, law)
        for name, (seconds, out) in {"pypantera": json.loads(line), "ours": made}.items():
            same = before == np.array([text.split(" ")[:LENGTH] for text in out])
            start = f"| {'SanText' if law.gamma == inf else 'TEM'} | {law.epsilon:g} | {far:.2f} | {exact:.3f} | {name}"
            kept, clear = same[:, ~is_name].mean(), same[:, is_name].mean()
            print(f"{start} | {kept:.3f} | {clear:.3f} | {before.size / seconds:,.0f} |")


if __name__ == "__main__":
    main()

"""Bootstrapped GloVe against the reference program of GloVe, on the same lines and cores, in one sitting.

    python -m benchmarks.reference_glove [--program <folder>] [--corpus <JSON lines>] [cluster.key=value ...]

The folder has the four programs of Pennington et al. (`vocab_count`, `cooccur`, `shuffle`, `glove`), built as their
makefile says. They run once, with two threads, and are counted once for each replica, but for the vocabulary, which all
share. Ours is the whole command, from the text file to published tables, for 32 replicas and the original corpus, by
AdaGrad as published and with one sum for each vector. All read the corpus in lines of 25 tokens: window 10, x_max 10,
100 dimensions, 15 epochs, minimum count 5. Without a folder, ours runs alone.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from gensim.models import KeyedVectors

from benchmarks.command import NUM_CORES, SIMPLEWIKI, print_stages, quality, read_corpus, run_command
from tiltmeter.operators.text.tokens import Tokenizer

NUM_REPLICAS = 32
TOKENS_PER_LINE = 25
SETTINGS = [
    *("job=bootstrap", "corpus=file", "corpus.language=en", "corpus.format=text", f"cluster.num_cpus={NUM_CORES}"),
    *(f"embedding.num_replicas={NUM_REPLICAS}", "embedding.min_count=5", "embedding.cooccurrence.window=10"),
    *("embedding.trainer.x_max=10", "embedding.trainer.dimensions=100", "embedding.trainer.epochs=15"),
]
VOCABULARY = "vocab_count -min-count 5 < lines.txt > vocab.txt"
REPLICA = {
    "count": "cooccur -window-size 10 -memory 4 -vocab-file vocab.txt < lines.txt > pairs.bin",
    "shuffle": "shuffle -memory 4 < pairs.bin > shuffled.bin",
    "train": f"glove -threads {NUM_CORES} -vector-size 100 -iter 15 -x-max 10 -binary 0 -input-file shuffled.bin"
    " -vocab-file vocab.txt -save-file vectors",
}
"""What one replica takes; arguments as in the program's own demo but for the settings above."""


def write_lines(corpus: str, target: Path) -> int:
    """The corpus as lines of 25 tokens, none of which crosses from one article into the next; returns the tokens."""
    tokenize, num_tokens = Tokenizer("en"), 0
    with target.open("w", encoding="utf-8") as lines:
        for _, page in read_corpus(corpus):
            tokens = [token for line in page.text.split("\n") for token in tokenize(line)]
            num_tokens += len(tokens)
            for start in range(0, len(tokens), TOKENS_PER_LINE):
                print(*tokens[start : start + TOKENS_PER_LINE], file=lines)
    return num_tokens


def run_ours(adagrad: str, folder: Path, *cluster: str) -> float:
    """Seconds of the command, with an empty store."""
    own = folder / adagrad
    own.mkdir()
    words = [*SETTINGS, f"corpus.path={folder}/lines.txt", f"embedding.trainer.adagrad={adagrad}", *cluster]
    ours = run_command(own, *words)
    print_stages(ours)
    print(f"ours, by {adagrad}: {ours.seconds:.1f} s, {ours.peak_bytes / 1e9:.2f} GB at the peak of all processes")
    print(f"WordSim-353 of the original corpus: {ours.quality():.3f}", flush=True)
    return ours.seconds


def run_theirs(program: Path, folder: Path) -> tuple[float, float]:
    """Seconds that 32 replicas take if each takes as long as one, and the quality of its vectors."""
    shared = _timed(program, VOCABULARY, folder)
    seconds = {step: _timed(program, command, folder) for step, command in REPLICA.items()}
    print("reference, one replica: " + ", ".join(f"{step} {taken:.1f} s" for step, taken in seconds.items()))
    vectors = KeyedVectors.load_word2vec_format(str(folder / "vectors.txt"), no_header=True)
    return shared + NUM_REPLICAS * sum(seconds.values()), quality(vectors)


def _timed(program: Path, command: str, folder: Path) -> float:
    print(command)
    started = time.monotonic()
    subprocess.run(f"{program.resolve()}/{command}", shell=True, cwd=folder, check=True)
    return time.monotonic() - started


def main() -> None:
    """Run and print the ratio and the quality."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default=str(SIMPLEWIKI))
    parser.add_argument("--program", type=Path, help="the folder with the reference programs")
    parser.add_argument("cluster", nargs="*", help="settings of the cluster for ours; others would change the work")
    known = parser.parse_args()
    if others := [setting for setting in known.cluster if not setting.startswith("cluster.")]:
        parser.error(f"{others[0]}: only cluster.<key>=<value>, so that both sides do the same work")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        num_tokens = write_lines(known.corpus, folder / "lines.txt")
        print(f"{num_tokens:,} tokens of {known.corpus}; {' '.join([*SETTINGS, *known.cluster])}")
        seconds = {adagrad: run_ours(adagrad, folder, *known.cluster) for adagrad in ("element", "row")}
        if known.program:
            theirs, reached = run_theirs(known.program, folder)
            print(f"reference: {theirs:,.0f} s for {NUM_REPLICAS} runs, WordSim-353 {reached:.3f}")
            print("ratio " + ", ".join(f"{theirs / taken:.1f} by {adagrad}" for adagrad, taken in seconds.items()))


if __name__ == "__main__":
    main()

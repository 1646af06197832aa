"""Our side of a comparison with the reference program of GloVe, run once per replica.

    python -m benchmarks.reference_glove [--corpus <JSON lines>] [key=value ...]

The program (Pennington et al., C, two threads) took 11 s for counting and shuffling and 12.6 s per epoch on the Simple
English Wikipedia on two cores, which is 200 s for 15 epochs and 6,400 s for 32 replicas; on WordSim-353 its vectors
reach a Spearman correlation of 0.41. It read the corpus in lines of 25 tokens, and so does ours here: window 10,
x_max 10, 100 dimensions, 15 epochs, minimum count 5. Our time is that of the whole command, from the text file to
published tables, for 32 replicas and the original corpus.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.command import DATA, print_stages, run_command
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora.corpora import CorpusConfig, find_sources, read_pages, split

SECONDS_PER_REPLICA = 11 + 15 * 12.6
TOKENS_PER_LINE = 25
SETTINGS = [
    "job=bootstrap",
    "corpus=file",
    "corpus.language=en",
    "corpus.format=text",
    "embedding.num_replicas=32",
    "embedding.min_count=5",
    "embedding.cooccurrence.window=10",
    "embedding.trainer.x_max=10",
    "embedding.trainer.dimensions=100",
    "embedding.trainer.epochs=15",
    "cluster.num_cpus=2",
]


def write_lines(corpus: str, target: Path) -> int:
    """The corpus as lines of 25 tokens, none of which crosses from one article into the next; returns the tokens."""
    tokenize = Tokenizer("en")
    num_tokens = 0
    with target.open("w", encoding="utf-8") as lines:
        for source in find_sources(CorpusConfig("simplewiki", "en", corpus)):
            for span in split(source, 1e6):
                for page in read_pages(source, span):
                    tokens = [token for line in page.text.split("\n") for token in tokenize(line)]
                    num_tokens += len(tokens)
                    for start in range(0, len(tokens), TOKENS_PER_LINE):
                        print(*tokens[start : start + TOKENS_PER_LINE], file=lines)
    return num_tokens


def main() -> None:
    """Run and print the ratio and the quality."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default=str(DATA / "corpora/en/simplewiki.jsonl.bz2"))
    known, overrides = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        text = Path(name) / "lines.txt"
        num_tokens = write_lines(known.corpus, text)
        print(f"{num_tokens:,} tokens of {known.corpus}; {' '.join([*SETTINGS, *overrides])}")
        outcome = run_command(Path(name), *SETTINGS, f"corpus.path={text}", *overrides)
        print_stages(outcome)
        theirs = 32 * SECONDS_PER_REPLICA
        print(f"ours: {outcome.seconds:.1f} s, {outcome.peak_bytes / 1e9:.2f} GB at the peak of all processes")
        print(f"reference: {theirs:,.0f} s for 32 runs; ratio {theirs / outcome.seconds:.1f}")
        print(f"WordSim-353 of the original corpus: {outcome.quality():.3f} (reference 0.41)")


if __name__ == "__main__":
    main()

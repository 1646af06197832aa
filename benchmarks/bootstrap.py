"""The whole path to 32 bootstrapped embeddings, against gensim's Word2Vec times 32, in one run on the same two cores.

    python -m benchmarks.bootstrap [--corpus <file>] [--language <code>] [--check] [key=value ...]

Ours is the command as a user runs it, in a process of its own with an empty store: start of Ray, reading, counting,
training of the original and all replicas, and publishing. Theirs is the one call that builds the vocabulary and trains
(skip-gram, 100 dimensions, window 5, 5 negatives, 5 epochs, 2 workers) on the same text in memory, tokenised
beforehand and not counted, times the number of replicas. Memory is the largest sum of the proportional set sizes of all
our processes, Ray's own included. With ``--check`` the exit status is 1 if a bar below is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pyarrow.parquet as pq
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import datapath

from operators.tokens import tokenize
from operators.wikitext import plain_lines, text_lines
from storage.corpora import CorpusConfig, read_pages
from storage.runs import read_run_table

NUM_CORES = 2
BARS = "ratio at least 5, 20 M pair updates per second, at most 6 GB: on the Simple English Wikipedia, 6.0 M tokens"
DATA = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[1] / "../shared/data"))
SIMPLEWIKI = DATA / "corpora/en/simplewiki.jsonl.bz2"
SAMPLE = "package://gensim/test/test_data/enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"


class PeakMemory(threading.Thread):
    """Samples the memory of a process and all its descendants until it ends."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.peak_bytes = 0

    def run(self) -> None:
        while self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE:
            self.peak_bytes = max(self.peak_bytes, self._sum())
            time.sleep(0.5)

    def _sum(self) -> int:
        total = 0
        for process in [self.process, *self.process.children(recursive=True)]:
            try:
                total += process.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
        return total


def run_ours(corpus: str, language: str, folder: Path, overrides: list[str]) -> tuple[float, int]:
    """Seconds and peak memory of the command."""
    settings = ["job=bootstrap", "corpus=file", f"corpus.path={corpus}", f"corpus.language={language}"]
    places = [f"store={folder}/store", f"run_dir={folder}/run", f"cluster.num_cpus={NUM_CORES}"]
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "jobs.app", *settings, *places, *overrides])
    memory = PeakMemory(process.pid)
    memory.start()
    if process.wait():
        sys.exit("the command failed; see above")
    seconds = time.monotonic() - started
    memory.join()
    return seconds, memory.peak_bytes


def run_theirs(corpus: str, language: str) -> tuple[float, int]:
    """Seconds of one Word2Vec call, and the number of tokens it was given."""
    source = read_pages(CorpusConfig("benchmark", language, corpus))
    articles = (page.text for page in source.pages if page.kind == "article")
    lines = (
        line
        for text in articles
        for line in (plain_lines(text, source.media_prefixes) if source.markup == "wikitext" else text_lines(text))
    )
    tokens = [words for line in lines if (words := tokenize(line))]
    started = time.monotonic()
    Word2Vec(tokens, sg=1, vector_size=100, window=5, negative=5, epochs=5, workers=NUM_CORES, min_count=5)
    return time.monotonic() - started, sum(map(len, tokens))


def count_updates(store: Path, epochs: int) -> int:
    """Steps of AdaGrad that all replicas took: one per ordered pair that occurs, per epoch."""
    total = 0
    for file in (store / "units/merge").rglob("pairs.parquet"):
        table = pq.read_table(file)
        beside_itself = np.equal(table["first"].to_numpy(), table["second"].to_numpy())
        for column in table.columns[2:]:
            present = column.to_numpy() > 0
            total += 2 * int(present.sum()) - int((present & beside_itself).sum())
    return total * epochs


def quality(run_dir: Path) -> float:
    """Spearman correlation of the original corpus's embedding on WordSim-353."""
    embedding = pl.read_parquet(run_dir / "embeddings/replica_0000.parquet").drop_nulls("vector")
    vectors = embedding["vector"].to_numpy()
    keyed = KeyedVectors(vectors.shape[1])
    keyed.add_vectors(embedding["word"].to_list(), vectors)
    return float(keyed.evaluate_word_pairs(datapath("wordsim353.tsv"))[1].statistic)


def print_ours(record: dict[str, Any], seconds: float, peak_bytes: int, updates: int) -> float:
    """What our side did, stage by stage; returns pair updates per second."""
    for stage in record["stages"]:
        print(f"  {stage['name']:<14} {stage['seconds']:8.1f} s  {stage['num_done']:5d} units")
    train = next(stage for stage in record["stages"] if stage["name"] == "train")
    num_replicas = train["num_done"] - 1
    print(f"ours: {seconds:.1f} s for {num_replicas} replicas and the original, {peak_bytes / 1e9:.2f} GB at the peak")
    rate = float(updates / train["seconds"])
    print(f"training: {updates / 1e9:.2f} G pair updates in {train['seconds']:.1f} s, {rate / 1e6:.1f} M per second")
    return rate


def main() -> None:
    """Run both sides and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default=str(SIMPLEWIKI) if SIMPLEWIKI.exists() else SAMPLE)
    parser.add_argument("--language", default="en")
    parser.add_argument("--check", action="store_true", help=f"fail below the bars: {BARS}")
    known, overrides = parser.parse_known_args()
    print(f"{known.corpus}, {NUM_CORES} of {os.cpu_count()} cores, {' '.join(overrides) or 'usual settings'}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds, peak_bytes = run_ours(known.corpus, known.language, folder, overrides)
        record = json.loads((folder / "run/run.json").read_text())
        training = pq.read_table(folder / "run/training.parquet")
        epochs, num_replicas = (int(training[column].to_numpy().max()) for column in ("epoch", "replica"))
        rate = print_ours(record, seconds, peak_bytes, count_updates(folder / "store", epochs))
        [corpus] = read_run_table(folder / "run", "corpora").to_pylist()
        print(f"corpus: {corpus['num_tokens']:,} tokens; WordSim-353, original corpus: {quality(folder / 'run'):.3f}")
    theirs, num_tokens = run_theirs(known.corpus, known.language)
    ratio = num_replicas * theirs / seconds
    print(f"theirs: {theirs:.1f} s for one Word2Vec on {num_tokens:,} tokens, {num_replicas * theirs:.0f} s for all")
    print(f"ratio: {ratio:.1f}")
    if known.check and (ratio < 5 or rate < 20e6 or peak_bytes > 6e9):
        sys.exit(f"a bar was missed: {BARS}")


if __name__ == "__main__":
    main()

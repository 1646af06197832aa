"""Running `tiltmeter` as a user does, and reading off what it took: 32 embeddings against gensim's Word2Vec times 32.

    python -m benchmarks.command [--corpus <file>] [--language <code>] [--check] [key=value ...]

Ours is the command with an empty store: start of Ray, reading, counting, training of the original and all replicas, and
publishing. Theirs is the one call that builds the vocabulary and trains (skip-gram, 100 dimensions, window 5, 5
negatives, 5 epochs, 2 workers) on the same text in memory, tokenised beforehand and not counted, times the number of
replicas. Both have the same two cores. With ``--check`` the exit status is 1 if a bar below is missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pyarrow.parquet as pq
from gensim.models import KeyedVectors, Word2Vec
from gensim.test.utils import datapath

from tiltmeter.operators.embedding.cooccurrence import CooccurrenceConfig
from tiltmeter.operators.embedding.tiles import Tiling, tiled_pairs
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wikitext import plain_lines, text_lines
from tiltmeter.storage.corpora.corpora import CorpusConfig, Page, Source, find_sources, read_pages, split
from tiltmeter.storage.store.runs import read_run_table

DATA = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[1] / "../shared/data"))
NUM_CORES = 2
BARS = "ratio at least 5, 20 M pair updates per second, at most 6 GB: on the Simple English Wikipedia, 6.0 M tokens"
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


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes:
        seconds: of the whole command, from its start to its end.
        peak_bytes: the largest sum of the proportional set sizes of all its processes, Ray's own included.
        run_dir, store: where its tables and units are.
    """

    seconds: float
    peak_bytes: int
    run_dir: Path
    store: Path

    @property
    def record(self) -> dict[str, Any]:
        """``run.json``."""
        record: dict[str, Any] = json.loads((self.run_dir / "run.json").read_text())
        return record

    def stage(self, name: str) -> dict[str, Any]:
        """The account of one stage."""
        stage: dict[str, Any] = next(stage for stage in self.record["stages"] if stage["name"] == name)
        return stage

    def quality(self, language: str = "en") -> float:
        """:func:`quality` of the original corpus's embedding."""
        [place] = (self.run_dir / "embeddings").glob(f"*/{language}_replica_0000.parquet")
        embedding = pl.read_parquet(place, hive_partitioning=False).drop_nulls("vector")
        vectors = embedding["vector"].to_numpy()
        keyed = KeyedVectors(vectors.shape[1])
        keyed.add_vectors(embedding["word"].to_list(), vectors)
        return quality(keyed)


def quality(vectors: KeyedVectors) -> float:
    """Spearman correlation of cosines with people's judgements, WordSim-353."""
    return float(vectors.evaluate_word_pairs(datapath("wordsim353.tsv"))[1].statistic)


def run_command(folder: Path, *settings: str, store: Path | None = None) -> Outcome:
    """Run `tiltmeter` with an empty store in a folder, or another one; ends this program if the command fails."""
    store, run_dir, started = store or folder / "store", folder / "run", time.monotonic()
    command = [sys.executable, "-m", "tiltmeter.jobs.app", *settings, f"store={store}", f"run_dir={run_dir}"]
    process = subprocess.Popen(command)
    memory = PeakMemory(process.pid)
    memory.start()
    if process.wait():
        sys.exit("the command failed; see above")
    seconds = time.monotonic() - started
    memory.join()
    return Outcome(seconds, memory.peak_bytes, run_dir, store)


def read_corpus(file: str, language: str = "en") -> Iterator[tuple[Source, Page]]:
    """Every page of a file of texts, with the source that it is of."""
    for source in find_sources(CorpusConfig("benchmark", language, file)):
        for span in split(source, 1e6):
            yield from ((source, page) for page in read_pages(source, span))


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    return "".join(f"| {' | '.join(line)} |\n" for line in (headings, ["---"] * len(headings), *rows))


def print_stages(outcome: Outcome) -> None:
    """Seconds and units of each stage."""
    for stage in outcome.record["stages"]:
        peak = stage["peak_worker_memory_bytes"] / 1e9
        print(f"  {stage['name']:<14} {stage['seconds']:8.1f} s  {stage['num_done']:5d} units  {peak:5.2f} GB so far")


# --- beside Word2Vec --------------------------------------------------------------------------------------------------


def run_theirs(corpus: str, language: str) -> tuple[float, int]:
    """Seconds of one Word2Vec call, and the number of tokens it was given."""
    tokenize = Tokenizer(language)
    tokens = [words for line in _lines(corpus, language) if (words := tokenize(line))]
    started = time.monotonic()
    Word2Vec(tokens, sg=1, vector_size=100, window=5, negative=5, epochs=5, workers=NUM_CORES, min_count=5)
    return time.monotonic() - started, sum(map(len, tokens))


def _lines(corpus: str, language: str) -> Iterator[str]:
    for source, page in read_corpus(corpus, language):
        if page.kind == "article" and source.markup == "wikitext":
            yield from plain_lines(page.text, source.media_prefixes)
        elif page.kind == "article":
            yield from text_lines(page.text)


def count_updates(store: Path, epochs: int) -> int:
    """Steps of AdaGrad that all replicas took: one per ordered pair that occurs, per epoch."""
    total = 0
    for file in (store / "units/merge").rglob("pairs.parquet"):
        table = pq.read_table(file)
        num_words = pq.read_metadata(next((store / "units/vocabulary").rglob("words.parquet"))).num_rows
        pairs = tiled_pairs(table["name"].to_numpy(), Tiling(num_words, CooccurrenceConfig.tile_words))
        beside_itself = np.equal(pairs.rows, pairs.columns)
        for column in table.columns[1:]:
            present = column.to_numpy() > 0
            total += 2 * int(present.sum()) - int((present & beside_itself).sum())
    return total * epochs


def print_ours(outcome: Outcome) -> float:
    """What our side did, stage by stage; returns pair updates per second."""
    print_stages(outcome)
    train = outcome.stage("train")
    training = pq.read_table(outcome.run_dir / "training.parquet")
    updates = count_updates(outcome.store, int(training["epoch"].to_numpy().max()))
    peak = outcome.peak_bytes / 1e9
    num_replicas = train["num_done"] - 1
    print(f"ours: {outcome.seconds:.1f} s for {num_replicas} replicas and the original, {peak:.2f} GB at the peak")
    rate = float(updates / train["seconds"])
    print(f"training: {updates / 1e9:.2f} G pair updates in {train['seconds']:.1f} s, {rate / 1e6:.1f} M per second")
    [corpus] = read_run_table(outcome.run_dir, "corpora").to_pylist()
    print(f"corpus: {corpus['num_tokens']:,} tokens; WordSim-353, original corpus: {outcome.quality():.3f}")
    return rate


def main() -> None:
    """Run both sides and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default=str(SIMPLEWIKI) if SIMPLEWIKI.exists() else SAMPLE)
    parser.add_argument("--language", default="en")
    parser.add_argument("--check", action="store_true", help=f"fail below the bars: {BARS}")
    known, overrides = parser.parse_known_args()
    print(f"{known.corpus}, {NUM_CORES} of {os.cpu_count()} cores, {' '.join(overrides) or 'usual settings'}")
    corpus = ["job=bootstrap", "corpus=file", f"corpus.path={known.corpus}", f"corpus.language={known.language}"]
    with tempfile.TemporaryDirectory() as name:
        outcome = run_command(Path(name), *corpus, f"cluster.num_cpus={NUM_CORES}", *overrides)
        rate = print_ours(outcome)
        num_replicas = outcome.stage("train")["num_done"] - 1
    theirs, num_tokens = run_theirs(known.corpus, known.language)
    ratio = num_replicas * theirs / outcome.seconds
    print(f"theirs: {theirs:.1f} s for one Word2Vec on {num_tokens:,} tokens, {num_replicas * theirs:.0f} s for all")
    print(f"ratio: {ratio:.1f}")
    if known.check and (ratio < 5 or rate < 20e6 or outcome.peak_bytes > 6e9):
        sys.exit(f"a bar was missed: {BARS}")


if __name__ == "__main__":
    main()

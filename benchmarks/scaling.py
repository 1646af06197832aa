"""How time and memory grow with the corpus, and what a whole Wikipedia would take.

    python -m benchmarks.scaling [key=value ...] [--sizes 1 3 10] [--workers 1 2]

Runs the command on the first 1, 3 and 10 million tokens of an English Wikipedia extract, with one and with two workers,
all 32 replicas and the original, but fewer epochs: training is as many times longer as it has more of them. Prints, in
Markdown, what each run took, and a model fitted to these runs: the work of a stage in core-seconds is a constant times
what the stage goes through (text, tokens, rows of pair counts, steps of training), and the number of different pairs
and words is a power of the number of tokens. The last table is what this model says of the full English Wikipedia.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.bootstrap import count_updates
from benchmarks.command import DATA, Outcome, run_command
from operators.tokens import Tokenizer
from storage.corpora import CorpusConfig, find_sources, read_pages, split
from storage.runs import read_run_table

EPOCHS = 3
FULL_EPOCHS = 15
STAGES = {"read": "text_bytes", "tokens": "tokens", "co-occurrence": "tokens", "merge": "rows", "train": "updates"}
"""What the work of each stage is proportional to; the others take no time that counts."""


@dataclass(frozen=True)
class Measured:
    """One run: what it went through, and what it took."""

    num_workers: int
    tokens: int
    text_bytes: int
    words: int
    rows: int
    pairs: int
    updates: int
    seconds: float
    peak_bytes: int
    peak_worker_bytes: dict[str, int]
    core_seconds: dict[str, float]
    stored_bytes: dict[str, int]


def write_corpus(source: str, num_tokens: int, target: Path) -> None:
    """Whole articles from the start of a corpus, as JSON lines, until they have so many tokens."""
    tokenize, written = Tokenizer("en"), 0
    with target.open("w", encoding="utf-8") as lines:
        for file in find_sources(CorpusConfig("source", "en", source)):
            for page in read_pages(file, *split(file, 1e6)):
                if written >= num_tokens:
                    return
                print(json.dumps({"id": page.id, "title": page.title, "text": page.text}), file=lines)
                written += sum(len(tokenize(line)) for line in page.text.split("\n"))


def measure(corpus: Path, num_workers: int, overrides: list[str]) -> Measured:
    """Run the command on one corpus."""
    settings = ["job=bootstrap", "corpus=file", "corpus.language=en", f"corpus.path={corpus}"]
    with tempfile.TemporaryDirectory() as folder:
        outcome = run_command(
            Path(folder), *settings, f"cluster.num_cpus={num_workers}", f"embedding.trainer.epochs={EPOCHS}", *overrides
        )
        return _measured(outcome, corpus, num_workers)


def _measured(outcome: Outcome, corpus: Path, num_workers: int) -> Measured:
    [row] = read_run_table(outcome.run_dir, "corpora").to_pylist()
    stages = {stage["name"]: stage for stage in outcome.record["stages"]}
    return Measured(
        num_workers,
        row["num_tokens"],
        corpus.stat().st_size,
        row["num_words"],
        _num_rows(outcome.store / "units/cooccurrence"),
        _num_rows(outcome.store / "units/merge"),
        count_updates(outcome.store, EPOCHS),
        outcome.seconds,
        outcome.peak_bytes,
        {name: stage["peak_worker_memory_bytes"] for name, stage in stages.items()},
        {name: stage["worker_seconds"] for name, stage in stages.items()},
        {name: stage["num_bytes"] for name, stage in stages.items()},
    )


def _num_rows(folder: Path) -> int:
    return sum(pq.read_metadata(file).num_rows for file in folder.rglob("pairs*.parquet"))


def print_runs(runs: list[Measured]) -> None:
    """One line for each run; counting is co-occurrence and merge, in core-microseconds per token."""
    print("\n| tokens | workers | seconds | tokens per second and core | counting | its worker peak | all processes |")
    print("|---|---|---|---|---|---|---|")
    for run in runs:
        counting = 1e6 * (run.core_seconds["co-occurrence"] + run.core_seconds["merge"]) / run.tokens
        rate = run.tokens / (run.seconds * run.num_workers)
        peaks = f"{run.peak_worker_bytes['merge'] / 1e9:.2f} GB | {run.peak_bytes / 1e9:.2f} GB"
        print(f"| {run.tokens:,} | {run.num_workers} | {run.seconds:.0f} | {rate:,.0f} | {counting:.2f} µs | {peaks} |")


def constants(runs: list[Measured]) -> dict[str, float]:
    """Core-seconds of each stage per unit of what it goes through: least squares through the origin."""
    fitted = {}
    for stage, quantity in STAGES.items():
        amount = np.array([getattr(run, quantity) for run in runs], float)
        fitted[stage] = float(amount @ [run.core_seconds[stage] for run in runs] / (amount @ amount))
    return fitted


def power_law(runs: list[Measured], quantity: str) -> tuple[float, float]:
    """``quantity = factor * tokens ** exponent``, fitted to the logarithms."""
    tokens = np.log([run.tokens for run in runs])
    exponent, factor = np.polyfit(tokens, np.log([getattr(run, quantity) for run in runs]), 1)
    return float(np.exp(factor)), float(exponent)


def print_model(runs: list[Measured]) -> None:
    """The constants and the laws of growth, with the largest error of the model on the runs themselves."""
    fitted = constants(runs)
    print("\n| stage | grows with | core-seconds per million | largest error on these runs | bytes stored per unit |")
    print("|---|---|---|---|---|")
    for stage, quantity in STAGES.items():
        errors = [fitted[stage] * getattr(run, quantity) / run.core_seconds[stage] - 1 for run in runs]
        stored = np.mean([run.stored_bytes[stage] / getattr(run, quantity) for run in runs])
        worst = max(map(abs, errors))
        print(f"| {stage} | {quantity} | {1e6 * fitted[stage]:.3f} | {worst:.0%} | {stored:.2f} |")
    for quantity in ("words", "rows", "pairs", "updates"):
        factor, exponent = power_law(runs, quantity)
        print(f"\n{quantity} = {factor:.3g} x tokens^{exponent:.3f}")


def print_projection(runs: list[Measured], tokens: float, dump_bytes: float, parse_rate: float) -> None:
    """What the model says of a corpus far larger than any that was measured."""
    fitted = constants(runs)
    amounts = {name: factor * tokens**exponent for name, (factor, exponent) in _laws(runs).items()}
    amounts |= {"tokens": tokens, "text_bytes": tokens * np.mean([run.text_bytes / run.tokens for run in runs])}
    hours = {stage: fitted[stage] * amounts[quantity] / 3600 for stage, quantity in STAGES.items()}
    hours["train"] *= FULL_EPOCHS / EPOCHS
    hours["documents (markup)"] = dump_bytes / parse_rate / 3600
    print(f"\n{tokens:,.0f} tokens; {dump_bytes / 1e9:.0f} GB of XML at {parse_rate / 1e6:.1f} MB per core-second:")
    print("\n| stage | core-hours | share | stored |")
    print("|---|---|---|---|")
    for stage, spent in sorted(hours.items(), key=lambda item: -item[1]):
        stored = (
            np.mean([run.stored_bytes[stage] / getattr(run, STAGES[stage]) for run in runs]) if stage in STAGES else 0
        )
        size = stored * amounts.get(STAGES.get(stage, ""), 0.0) / 1e9
        print(f"| {stage} | {spent:,.1f} | {spent / sum(hours.values()):.0%} | {size:,.0f} GB |")
    print(
        f"\n{amounts['words']:,.0f} words, {amounts['pairs']:,.0f} pairs, {sum(hours.values()):,.0f} core-hours in all"
    )


def _laws(runs: list[Measured]) -> dict[str, tuple[float, float]]:
    return {quantity: power_law(runs, quantity) for quantity in ("words", "rows", "pairs", "updates")}


def main() -> None:
    """Measure, fit, project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default=str(DATA / "corpora/en/enwiki.wikiextractor.txt.bz2"))
    parser.add_argument("--sizes", nargs="+", type=float, default=[1, 3, 10], help="millions of tokens")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--tokens", type=float, default=4.9e9, help="of the corpus to project to")
    parser.add_argument("--dump-bytes", type=float, default=105e9, help="of its XML")
    parser.add_argument(
        "--parse-rate", type=float, default=4e6, help="bytes of XML per second and core: benchmarks/reading.py"
    )
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="further settings, before the options")
    known = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for size, num_workers in product(known.sizes, known.workers):
            corpus = Path(folder) / f"{size}.jsonl"
            if not corpus.exists():
                write_corpus(known.corpus, int(size * 1e6), corpus)
            runs.append(measure(corpus, num_workers, known.overrides))
    print_runs(runs)
    print_model(runs)
    print_projection(runs, known.tokens, known.dump_bytes, known.parse_rate)


if __name__ == "__main__":
    main()

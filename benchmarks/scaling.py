"""How time and memory grow with the corpus, and what a whole Wikipedia would take.

    python -m benchmarks.scaling [key=value ...] [--sizes 1 3 10] [--check-sizes 6] [--workers 1 2]

Runs the command on the first 1, 3 and 10 million tokens of an English Wikipedia extract, with one and with two workers,
all 32 replicas and the original, but fewer epochs: training is as many times longer as it has more of them. Prints, in
Markdown, what each run took, and a model fitted to these runs: the work of a stage in core-seconds is a constant times
what the stage goes through (text, tokens, rows of pair counts, steps of training), the number of different pairs and
words is a power of the number of tokens, and the units of a stage are dealt to workers as a run deals them. The model
is held against these runs and against others, to which it is not fitted. The last table is what it says of the full
English Wikipedia. There a step of training takes longer, since its vectors are less often in cache: its rate is
measured at the number of words and of pairs in a tile that the model expects.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.command import DATA, Outcome, count_updates, markdown, read_corpus, run_command
from benchmarks.dealing import unit_seconds, waiting_unit
from tiltmeter.cluster.scheduling import Queue, longest_first, simulate
from tiltmeter.operators.embedding.cooccurrence import UNITS_PER_PAIR, CooccurrenceConfig
from tiltmeter.operators.embedding.glove import BYTES_PER_PAIR, GloveConfig, GloveTraining, vector_bytes
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.runs import read_run_table

EPOCHS = 3
FULL_EPOCHS = 15
STAGES = {"read": "text_bytes", "tokens": "tokens", "co-occurrence": "tokens", "merge": "rows", "train": "updates"}
"""What the work of each stage is proportional to; the others take no time that counts."""

STORED = {"read": "text_bytes", "tokens": "tokens", "co-occurrence": "rows", "merge": "pairs", "train": "words"}
"""What the size of its tables is proportional to."""

TEXT_BYTES_PER_PART = 2e6
"""A shard of 4 MB gives two tables of pair counts in a worker of 1500 MB."""
MERGED_AT_ONCE = 32


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
    num_units: dict[str, int]
    stage_seconds: dict[str, float]
    core_seconds: dict[str, float]
    stored_bytes: dict[str, int]


def write_corpus(source: str, num_tokens: int, target: Path) -> None:
    """Whole articles from the start of a corpus, as JSON lines, until they have so many tokens."""
    tokenize, written = Tokenizer("en"), 0
    with target.open("w", encoding="utf-8") as lines:
        for _, page in read_corpus(source):
            if written >= num_tokens:
                return
            print(json.dumps({"id": page.id, "title": page.title, "text": page.text}), file=lines)
            written += sum(len(tokenize(line)) for line in page.text.split("\n"))


def measure(corpus: Path, num_workers: int, overrides: list[str]) -> Measured:
    """Run the command on one corpus."""
    settings = ["job=bootstrap", "corpus=file", "corpus.language=en", f"corpus.path={corpus}"]
    settings += [f"cluster.num_cpus={num_workers}", f"embedding.trainer.epochs={EPOCHS}", *overrides]
    with tempfile.TemporaryDirectory() as folder:
        return _measured(run_command(Path(folder), *settings), corpus, num_workers)


def _measured(outcome: Outcome, corpus: Path, num_workers: int) -> Measured:
    [row] = read_run_table(outcome.run_dir, "corpora").to_pylist()
    columns = ("peak_worker_memory_bytes", "num_done", "seconds", "worker_seconds", "num_bytes")
    by_stage = [{stage["name"]: stage[column] for stage in outcome.record["stages"]} for column in columns]
    counted = [_num_rows(outcome.store / f"units/{operator}") for operator in ("cooccurrence", "merge")]
    sizes = [row["num_tokens"], corpus.stat().st_size, row["num_words"], *counted, count_updates(outcome.store, EPOCHS)]
    return Measured(num_workers, *sizes, outcome.seconds, outcome.peak_bytes, *by_stage)


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
    print("\n| stage | grows with | core-seconds per million | largest error on these runs | bytes stored |")
    print("|---|---|---|---|---|")
    for stage, quantity in STAGES.items():
        worst = max(abs(fitted[stage] * getattr(run, quantity) / run.core_seconds[stage] - 1) for run in runs)
        stored = f"{stored_per_unit(runs, stage):,.2f} per unit of {STORED[stage]}"
        print(f"| {stage} | {quantity} | {1e6 * fitted[stage]:.3f} | {worst:.0%} | {stored} |")
    for quantity in ("words", "rows", "pairs", "updates"):
        factor, exponent = power_law(runs, quantity)
        print(f"\n{quantity} = {factor:.3g} x tokens^{exponent:.3f}")


def dealt_seconds(core_seconds: float, num_units: int, num_workers: int) -> float:
    """How long a stage takes whose units are alike, dealt as a run deals them.

    >>> dealt_seconds(33.0, 33, 16), dealt_seconds(33.0, 33, 40)
    (3.0, 1.0)
    """
    units = [waiting_unit(str(number), core_seconds / num_units) for number in range(num_units)]
    return simulate(Queue(longest_first([units], 1)), num_workers, unit_seconds).seconds


def num_units(runs: list[Measured], stage: str, amount: float) -> int:
    """Units of a stage that goes through so much: as large as in the largest run, or as many as in all runs."""
    largest = max(runs, key=lambda run: run.tokens)
    if len({run.num_units[stage] for run in runs}) == 1:
        return largest.num_units[stage]
    return int(np.ceil(amount / getattr(largest, STAGES[stage]) * largest.num_units[stage]))


def other_seconds(runs: list[Measured]) -> float:
    """What a run takes beside its long stages, such as starting workers: the mean over runs."""
    return float(np.mean([run.seconds - sum(run.stage_seconds[stage] for stage in STAGES) for run in runs]))


def modelled_seconds(runs: list[Measured], tokens: float, text_bytes: float, num_workers: int) -> float:
    """How long the model that is fitted to some runs expects another one to take."""
    fitted, amounts = constants(runs), expected_amounts(runs, tokens, text_bytes)
    stages = {stage: (fitted[stage] * amounts[quantity], amounts[quantity]) for stage, quantity in STAGES.items()}
    return other_seconds(runs) + sum(
        dealt_seconds(spent, num_units(runs, stage, amount), num_workers) for stage, (spent, amount) in stages.items()
    )


def expected_amounts(runs: list[Measured], tokens: float, text_bytes: float) -> dict[str, float]:
    """What the stages of a run go through, by the laws of growth."""
    laws = {quantity: power_law(runs, quantity) for quantity in ("words", "rows", "pairs", "updates")}
    amounts = {quantity: factor * tokens**exponent for quantity, (factor, exponent) in laws.items()}
    return {"tokens": tokens, "text_bytes": text_bytes, **amounts}


def print_check(runs: list[Measured], others: list[Measured]) -> None:
    """The model beside the runs that it is fitted to, and beside others."""
    print("\n| tokens | workers | fitted to | seconds | by the model | error |")
    print("|---|---|---|---|---|---|")
    for run in [*runs, *others]:
        expected = modelled_seconds(runs, run.tokens, run.text_bytes, run.num_workers)
        known, times = "yes" if run in runs else "no", f"{run.seconds:.0f} | {expected:.0f}"
        print(f"| {run.tokens:,} | {run.num_workers} | {known} | {times} | {expected / run.seconds - 1:+.0%} |")


def stored_per_unit(runs: list[Measured], stage: str) -> float:
    """Bytes of a stage's tables for one unit of what they grow with."""
    return float(np.mean([run.stored_bytes[stage] / getattr(run, STORED[stage]) for run in runs]))


def combined_rows(tokens: float, text_bytes: float, pairs: tuple[float, float]) -> float:
    """Rows that the rounds before the merge write: each makes one part of up to 32, with its different pairs."""
    factor, exponent = pairs
    num_parts, rows = text_bytes / TEXT_BYTES_PER_PART, 0.0
    while num_parts > MERGED_AT_ONCE:
        num_parts = np.ceil(num_parts / MERGED_AT_ONCE)
        rows += num_parts * factor * (tokens / num_parts) ** exponent
    return rows


def updates_per_second(num_words: float, num_pairs: float, num_distances: int = 5) -> float:
    """Pair updates that one core does in a second on some rounds of a training of this size.

    Counts are all 1; words within a block are drawn by Zipf's law.
    """
    rng, tiling = np.random.default_rng(0), Tiling(int(num_words), CooccurrenceConfig.tile_words)
    distances = np.linspace(0, tiling.num_blocks - 1, num_distances + 1)[:-1].astype(np.int64)
    tiles = np.concatenate([d * tiling.num_blocks + np.arange(tiling.num_blocks - d) for d in np.unique(distances)])
    per_tile = max(1, int(2 * num_pairs / tiling.num_blocks / (tiling.num_blocks + 1)))
    places = np.exp(rng.random((2, tiles.size * per_tile)) * np.log(tiling.tile_words)).astype(np.int64) - 1
    words_in_last = (tiling.num_words - 1) // tiling.num_blocks
    row, column = np.minimum(places, words_in_last - 1)
    names = np.unique((np.repeat(tiles, per_tile) * tiling.tile_words + row) * tiling.tile_words + column)
    names = names[shuffled_in_tiles(names, tiling, 0)]
    counts = np.full(names.size, UNITS_PER_PAIR)
    training = GloveTraining(tiled_pairs(names, tiling), [counts], tiling, 0, 0, GloveConfig())
    training.advance()
    started = time.perf_counter()
    training.advance()
    return 2 * names.size / (time.perf_counter() - started)


def print_projection(
    runs: list[Measured], tokens: float, dump_bytes: float, parse_rate: float, num_workers: int
) -> None:
    """What the model says of a corpus far larger than any that was measured."""
    fitted, largest, markup = constants(runs), max(runs, key=lambda run: run.tokens), "documents (markup)"
    text_bytes = float(tokens * np.mean([run.text_bytes / run.tokens for run in runs]))
    amounts = expected_amounts(runs, tokens, text_bytes)
    combined = combined_rows(tokens, text_bytes, power_law(runs, "pairs"))
    here = updates_per_second(largest.words, largest.pairs)
    there = updates_per_second(amounts["words"], amounts["pairs"])
    hours = {stage: fitted[stage] * amounts[quantity] / 3600 for stage, quantity in STAGES.items()}
    hours["train"] *= FULL_EPOCHS / EPOCHS * here / there
    hours |= {markup: dump_bytes / parse_rate / 3600, "combine": fitted["merge"] * combined / 3600}
    stored = {stage: stored_per_unit(runs, stage) * amounts[STORED[stage]] for stage in STAGES}
    stored[markup] = stored.pop("read")
    # Between those of the parts and those of all: rows have more zeros the smaller the part.
    stored["combine"] = combined * max(stored_per_unit(runs, stage) for stage in ("co-occurrence", "merge"))
    counts = {stage: num_units(runs, stage, amounts[quantity]) for stage, quantity in STAGES.items()}
    counts |= {markup: counts["tokens"], "combine": int(np.ceil(counts["merge"] * combined / amounts["rows"]))}
    walls = {stage: dealt_seconds(spent, counts[stage], num_workers) for stage, spent in hours.items()}
    total, rows = sum(hours.values()), []
    for stage, spent in sorted(hours.items(), key=lambda item: -item[1]):
        size = f"{stored.get(stage, 0.0) / 1e9:,.0f} GB"
        rows.append([stage, f"{spent:,.1f}", f"{spent / total:.0%}", f"{counts[stage]:,}", f"{walls[stage]:.2f}", size])
    in_all = f"{sum(stored.values()) / 1e12:.1f} TB"
    rows.append(["all", f"{total:,.0f}", "", "", f"{sum(walls.values()):.1f}", in_all])
    print(f"\n{tokens:,.0f} tokens; {dump_bytes / 1e9:.0f} GB of XML at {parse_rate / 1e6:.1f} MB per core-second:\n")
    print(markdown(["stage", "core-hours", "share", "units", f"hours on {num_workers} workers", "stored"], rows))
    print(f"{amounts['words']:,.0f} words, {amounts['pairs']:,.0f} pairs, {total:,.0f} core-hours in all\n")
    print(f"million updates per second, one core by itself: {here / 1e6:.1f} at {largest.tokens:,} tokens,", end=" ")
    print(f"{there / 1e6:.1f} there; {1e-6 / fitted['train']:.1f} in the runs\n")
    vectors = vector_bytes(int(amounts["words"]), GloveConfig())
    print(f"a worker: {vectors / 1e9:.1f} GB of vectors, {BYTES_PER_PAIR * amounts['pairs'] / 1e9:.0f} GB of scratch")


def main() -> None:
    """Measure, fit, project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default=str(DATA / "corpora/en/enwiki.wikiextractor.txt.bz2"))
    parser.add_argument("--sizes", nargs="+", type=float, default=[1, 3, 10], help="millions of tokens")
    parser.add_argument("--check-sizes", nargs="*", type=float, default=[6], help="the same, not fitted to")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--full-workers", type=int, default=40, help="of the cluster to project to")
    parser.add_argument("--tokens", type=float, default=4.9e9, help="of the corpus to project to")
    parser.add_argument("--dump-bytes", type=float, default=105e9, help="of its XML")
    parser.add_argument("--parse-rate", type=float, default=4e6, help="bytes of XML per second and core: docs/scale.md")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="further settings, before the options")
    known = parser.parse_args()
    runs: dict[float, list[Measured]] = {size: [] for size in [*known.sizes, *known.check_sizes]}
    with tempfile.TemporaryDirectory() as folder:
        for size, num_workers in product(runs, known.workers):
            corpus = Path(folder) / f"{size}.jsonl"
            if not corpus.exists():
                write_corpus(known.corpus, int(size * 1e6), corpus)
            runs[size].append(measure(corpus, num_workers, known.overrides))
    fitted, others = (list(chain(*(runs[size] for size in sizes))) for sizes in (known.sizes, known.check_sizes))
    print_runs([*fitted, *others])
    print_model(fitted)
    print_check(fitted, others)
    print_projection(fitted, known.tokens, known.dump_bytes, known.parse_rate, known.full_workers)


if __name__ == "__main__":
    main()

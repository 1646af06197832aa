"""The control of the first run over many seeds, and how intervals shrink with the text.

    tiltmeter store=<store>                                          # once: the survey of the built-in sample
    python -m benchmarks.first_run <store> [--seeds 100] [--replicas 8] [--min-count 50]
    python -m benchmarks.first_run <store> --lengths [--replicas 12]

Each seed deals one word with a lean and four without anew, in a copy of the sample's tokens, counts and trains original
and replicas, and asks for the difference of the halves' pooled PSE, by the operators that the survey's units call. It
prints a line for each seed, and then in how many seeds the lean was found, and how many words without one were taken
for leaning, at p <= 0.01. With ``--lengths`` it prints the smallest difference of two frequent words on halves of the
sample's documents and on all of them, and what the square root of the length predicts from the former.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tiltmeter.jobs.composing import compose
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import Resampling, line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.psychophysics.planted_lean import CodedLines, Deal, deal_word
from tiltmeter.operators.psychophysics.pooling import mean_flips
from tiltmeter.operators.statistics.designs.contrasts import apart, contrasts

PLANTED, NULLS, FOUND, WINDOW, TILE_WORDS = "time", ("number", "century", "world", "form"), 0.01, 10, 2048

RANKS = slice(100, 160)
"""Of the words whose differences are taken as those of occupations, which are too rare in half a text."""


class Coded(NamedTuple):
    """Attributes:
    words: by their codes.
    """

    lines: CodedLines
    words: Sequence[str]


def read_tokens(store: Path) -> Coded:
    """The tokens of the only corpus of a store."""
    codes: dict[str, int] = {}
    parts: list[tuple[NDArray[np.generic], ...]] = []
    for shard in sorted((store / "units/tokens/3").iterdir()):
        table = pq.read_table(shard / "lines.parquet")
        words = pq.read_table(shard / "words.parquet")["word"].to_pylist()
        own = np.array([codes.setdefault(word, len(codes)) for word in words], np.int32)
        coded = table["tokens"].combine_chunks()
        lengths = coded.value_lengths().to_numpy().astype(np.int64)
        keys = (table[name].to_numpy() for name in ("document", "line"))
        parts.append((own[coded.flatten().to_numpy()], lengths, *keys))
    return Coded(CodedLines(*map(np.concatenate, zip(*parts, strict=True))), list(codes))


def train(coded: Coded, seed: int, num_replicas: int, min_count: int) -> dict[str, NDArray[np.float32]]:
    """``[embeddings, dimensions]`` of each frequent word."""
    lines, config = coded.lines, GloveConfig()
    counts = np.bincount(lines.tokens, minlength=len(coded.words))
    order = np.lexsort((coded.words, -counts))[: int((counts >= min_count).sum())]
    index = np.full(len(coded.words), -1, np.int32)
    index[order] = np.arange(order.size)
    tokens = index[lines.tokens]
    offsets = np.append(0, np.cumsum(tokens >= 0))[np.append(0, np.cumsum(lines.lengths))]
    drawn = line_multiplicities(seed, lines.documents, lines.numbers, num_replicas, Resampling("document"))
    tiling = Tiling(order.size, TILE_WORDS)
    pairs = count_pairs(tokens[tokens >= 0], offsets, drawn, tiling, WINDOW)
    shuffled = shuffled_in_tiles(pairs.names, tiling, seed)
    tiled, vectors = tiled_pairs(pairs.names[shuffled], tiling), []
    for replica, column in enumerate(pairs.counts):
        training = GloveTraining(tiled, [column[shuffled]], tiling, replica, seed, config)
        while training.epochs_done < config.epochs:
            training.advance()
        vectors.append(training.result().vectors)
    return {coded.words[code]: np.stack([one[rank] for one in vectors]) for rank, code in enumerate(order)}


def flips(
    vectors: Mapping[str, NDArray[np.float32]], words: Sequence[str], pairs: Sequence[Sequence[str]]
) -> NDArray[np.float64]:
    """``[embeddings, words]`` over the cue pairs that are frequent."""
    known = [[vectors[cue][:, np.newaxis] for cue in pair] for pair in pairs if all(cue in vectors for cue in pair)]
    return mean_flips(np.stack([vectors[word] for word in words], axis=1), [(one, other) for one, other in known])


def dealt(coded: Coded, seed: int, pairs: Sequence[Sequence[str]], min_count: int) -> Coded:
    """A copy with a lean in one word and none in the others."""
    counts = np.bincount(coded.lines.tokens, minlength=len(coded.words))
    code = {word: number for number, word in enumerate(coded.words)}
    known = [pair for pair in pairs if min(counts[code[cue]] if cue in code else 0 for cue in pair) >= min_count]
    cues = [[code[cue] for cue in side] for side in zip(*known, strict=True)]
    lines, words = coded.lines, list(coded.words)
    for word in (PLANTED, *NULLS):
        halves = len(words), len(words) + 1
        words += [f"{word}/1", f"{word}/2"]
        deal = Deal(code[word], document_key(word), halves, (cues[0], cues[1]), 0.5 if word == PLANTED else 0.0)
        lines = deal_word(lines, deal, seed)
    return Coded(lines, words)


def control(
    coded: Coded, seed: int, pairs: Sequence[Sequence[str]], num_replicas: int, min_count: int
) -> Iterator[tuple[str, float, float]]:
    """Each word, the difference of its halves, and p."""
    vectors = train(dealt(coded, seed, pairs, min_count), seed, num_replicas, min_count)
    for word in (PLANTED, *NULLS):
        of_word = flips(vectors, [f"{word}/1", f"{word}/2"], pairs)
        value, judged = contrasts(of_word[0], of_word[1:].T, np.array([[1.0, -1.0]]))
        yield word, float(value[0]), float(judged.p[0])


def smallest(
    coded: Coded, seed: int, pairs: Sequence[Sequence[str]], words: Sequence[str], num_replicas: int, min_count: int
) -> float:
    """The middle smallest difference of two words."""
    vectors = train(coded, seed, num_replicas, min_count)
    known = [word for word in words if word in vectors and np.isfinite(vectors[word]).all()]
    draws = flips(vectors, known, pairs)[1:].T
    return float(np.median(apart(draws)[2]))


def part_of(coded: Coded, is_kept: NDArray[np.bool_]) -> Coded:
    """The lines of some documents."""
    lines = coded.lines
    tokens = lines.tokens[np.repeat(is_kept, lines.lengths)]
    return Coded(
        CodedLines(tokens, lines.lengths[is_kept], lines.documents[is_kept], lines.numbers[is_kept]), coded.words
    )


def compare_lengths(coded: Coded, seeds: int, pairs: Sequence[Sequence[str]], num_replicas: int) -> None:
    """Halves of the documents against all of them, on the same words."""
    counts = np.bincount(coded.lines.tokens, minlength=len(coded.words))
    frequent = [coded.words[code] for code in np.lexsort((coded.words, -counts))[RANKS]]
    whole = smallest(coded, 0, pairs, frequent, num_replicas, 20)
    for seed in range(seeds):
        draws = line_multiplicities(seed, coded.lines.documents, np.zeros_like(coded.lines.numbers), 1)[:, 1]
        half = part_of(coded, draws % 2 == 1)
        share = half.lines.tokens.size / coded.lines.tokens.size
        seen = smallest(half, seed, pairs, frequent, num_replicas, 10)
        print(
            f"half {seed}: {share:.0%} of the words, {seen:.3f}; predicted of all {seen * share**0.5:.3f}, "
            f"seen {whole:.3f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--min-count", type=int, default=50)
    parser.add_argument("--lengths", action="store_true")
    asked = parser.parse_args()
    coded, wordset = read_tokens(asked.store), compose(["job=survey"]).wordset["en"]
    if asked.lengths:
        compare_lengths(coded, asked.seeds, wordset.cue_pairs, asked.replicas)
        return
    num_found = num_false = 0
    for seed in range(asked.seeds):
        rows = list(control(coded, seed, wordset.cue_pairs, asked.replicas, asked.min_count))
        num_found += rows[0][1] > 0.0 and rows[0][2] <= FOUND
        num_false += sum(p <= FOUND for _, _, p in rows[1:])
        said = ", ".join(f"{word} {value:.3f} (p = {p:.2g})" for word, value, p in rows)
        print(
            f"{seed}: {said}; found {num_found} of {seed + 1}, {num_false} of {len(NULLS) * (seed + 1)} without",
            flush=True,
        )


if __name__ == "__main__":
    main()

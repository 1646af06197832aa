"""How often nights without a change are said to have moved, and how small a planted change is found.

    python -m benchmarks.differences CORPUS [--pairs 200] [--planted 24] [--replicas 16] [--first 0] [--folder PLACE]

A night is a sample of whole articles from JSON lines (``text``), counted, resampled and trained by the operators of
``job=bootstrap`` (GloVe), and its numbers are the associations of listed words with words for women and men. Each
sample is held against four nights without a change: another seed; a share of its articles under another name, and so
drawn anew, by the same seed; the same share exchanged for others; articles that are all others, by another seed. And
against nights in which a change is planted: in a share of its articles, each of eight frequent words is followed by
words for women. All nights are trained twice, with draws keyed by the rank of a word, which a changed corpus moves, and
by the word (``embedding.keyed_by``).

Each pair is judged by three rules: whether a number leaves the interval that it had; whether its difference is unlikely
by chance, over draws that both share or not, corrected for the numbers of the night ("moved"); and where both nights
share draws that are keyed by words, whether the mean over replicas of these texts is another one, corrected in the same
way ("in texts"). What was measured of a pair stays in the folder, and several commands (``--first``) may fill it.
"""

import argparse
import bz2
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import polars as pl
import psutil
import yaml
from numpy.typing import NDArray
from scipy.special import stdtrit

from tiltmeter.operators.association.scores import associations
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import KeyedBy, keyed_words, roomy_tiling
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.statistics.differences import paired_difference, paired_means, unpaired_difference
from tiltmeter.operators.statistics.intervals import bootstrap_interval
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg

WORDSETS = Path(__file__).parents[1] / "conf/wordset"
WOMEN = ("she", "her", "woman", "women", "mother", "daughter", "wife", "queen")
MEN = ("he", "his", "man", "men", "father", "son", "husband", "king")
PLANTED = ("city", "people", "world", "time", "made", "first", "years", "states")
EXCHANGED = 0.02
SHARES = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
TRAINING = GloveConfig(dimensions=20, epochs=6)
WINDOW, VOCABULARY, TOKENS, TILE_WORDS, LEVEL = 5, 800, 80_000, 256, 0.05
RULES = ("outside", "moved", "in texts")

Lines = tuple[tuple[str, ...], ...]


class Article(NamedTuple):
    """An article by its key, and the words of its lines."""

    key: int
    lines: Lines


@cache
def wordset() -> tuple[str, ...]:
    """Words of the English lists."""
    text = (WORDSETS / "shared/english.yaml").read_text(encoding="utf-8")
    sides = ("target_x", "target_y", "attribute_a", "attribute_b")
    tests = yaml.safe_load(text)["associations"].values()
    return tuple(sorted({word for test in tests for side in sides for word in test[side]["words"]} - {*WOMEN, *MEN}))


def articles(path: Path) -> list[Article]:
    """Those of JSON lines that have some text."""
    with bz2.open(path, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    split = ([tuple(re.findall(r"[a-z]+", line.lower())) for line in text.split("\n")] for text in texts)
    kept = ((number, tuple(line for line in lines if line)) for number, lines in enumerate(split))
    return [Article(document_key(str(number)), lines) for number, lines in kept if sum(map(len, lines)) >= 20]


def planted(article: Article) -> Article:
    """The same, with words for women behind each of the words."""
    put = {word: (word, *WOMEN[:3], *WOMEN[4:7:2]) for word in PLANTED}
    return article._replace(
        lines=tuple(tuple(w for word in line for w in put.get(word, (word,))) for line in article.lines)
    )


class Night(NamedTuple):
    """Attributes:
    words: those that it has numbers of.
    values: ``[words, 1 + replicas]``, the corpus itself first.
    """

    words: tuple[str, ...]
    values: NDArray[np.float64]


def night(sample: Sequence[Article], seed: int, num_replicas: int, keyed_by: KeyedBy) -> Night:
    """Count, resample, train and measure."""
    counts = Counter(word for article in sample for line in article.lines for word in line)
    listed = {*WOMEN, *MEN, *PLANTED, *wordset()}
    least = sorted(counts.values(), reverse=True)[: VOCABULARY + 1][-1]
    known = [word for word, num in counts.items() if num >= 8 and (word in listed or num >= least)]
    ordered = sorted(known, key=lambda word: (-counts[word], word))
    tiling = (Tiling if keyed_by == "rank" else roomy_tiling)(len(ordered), TILE_WORDS)
    keyed = keyed_words(ordered, tiling) if keyed_by == "word" else None
    index = {word: place for place, word in enumerate(ordered)}
    numbers_of = index if keyed is None else dict(zip(ordered, keyed.slots.tolist(), strict=True))
    lines = [[numbers_of[word] for word in line if word in index] for article in sample for line in article.lines]
    keys = np.array([article.key for article in sample for _ in article.lines], np.uint64)
    numbers = np.array([number for article in sample for number in range(len(article.lines))], np.int32)
    tokens = np.array([word for line in lines for word in line], np.int32)
    offsets = np.append(0, np.cumsum([len(line) for line in lines]))
    counted = count_pairs(tokens, offsets, line_multiplicities(seed, keys, numbers, num_replicas), tiling, WINDOW)
    shuffled = shuffled_in_tiles(counted.names, tiling, seed, None if keyed is None else keyed.slot_keys(tiling))
    pairs = tiled_pairs(counted.names[shuffled], tiling)
    measured = [word for word in (*PLANTED, *wordset()) if word in index]
    sides = [[index[word] for word in side if word in index] for side in (measured, WOMEN, MEN)]
    trainings = (
        GloveTraining(pairs, [counts[shuffled]], tiling, replica, seed, TRAINING, words=keyed)
        for replica, counts in enumerate(counted.counts)
    )
    return Night(tuple(measured), np.stack([_associations(_vectors(one), *sides) for one in trainings], axis=1))


def _vectors(training: GloveTraining) -> NDArray[np.float32]:
    for _ in range(TRAINING.epochs):
        training.advance()
    return training.result().vectors


def _associations(
    vectors: NDArray[np.float32], words: Sequence[int], women: Sequence[int], men: Sequence[int]
) -> NDArray[np.float64]:
    to_women, to_men = (
        pairwise(vectors[np.newaxis, words], vectors[np.newaxis, side], "cosine") for side in (women, men)
    )
    return np.asarray(associations(to_women, to_men, "mean", "cosine")[0])


# --- pairs of nights ------------------------------------------------------------------------------------------------


def judged(before: Night, after: Night, *, is_paired: bool, trains_alike: bool) -> pl.DataFrame:
    """Of each word of both nights: its difference, and what the rules say of it."""
    words = [word for word in before.words if word in after.words]
    b, a = (side.values[[side.words.index(word) for word in words]] for side in (before, after))
    low, high, _ = bootstrap_interval(b[:, 0], b[:, 1:])
    judge = paired_difference if is_paired else unpaired_difference
    difference = judge(a[:, 0] - b[:, 0], b[:, 1:], a[:, 1:])
    columns = {"word": words, "difference": a[:, 0] - b[:, 0], "half_width": (high - low) / 2.0, "p": difference.p}
    columns |= {"mean": (a - b)[:, 1:].mean(axis=1), "sd": (a - b)[:, 1:].std(axis=1, ddof=1)}
    is_outside = (a[:, 0] < low) | (a[:, 0] > high)
    in_texts = paired_means(a[:, 0] - b[:, 0], b[:, 1:], a[:, 1:]) if trains_alike else np.ones(len(words))
    has_moved, has_in_texts = (benjamini_hochberg(p) <= LEVEL for p in (difference.p, in_texts))
    return pl.DataFrame(columns | {"outside": is_outside, "moved": has_moved, "in texts": has_moved | has_in_texts})


def pair(corpus: Sequence[Article], number: int, num_replicas: int, *, with_planted: bool) -> pl.DataFrame:
    """A sample beside the nights without a change, and beside those with one."""
    rng = random.Random(number)
    order = rng.sample(range(len(corpus)), len(corpus))
    sample, rest = _cut([corpus[place] for place in order])
    other, _ = _cut(rest)
    num = round(EXCHANGED * len(sample))
    seed, another = 2 * number, 2 * number + 1
    nights = {
        ("seed", 0.0): (sample, another),
        ("renamed", EXCHANGED): ([*map(_renamed, sample[:num]), *sample[num:]], seed),
        ("exchanged", EXCHANGED): ([*sample[num:], *rest[:num]], seed),
        ("others", 0.0): (other, another),
    }
    for share in SHARES if with_planted else ():
        changed = round(share * len(sample))
        nights["planted", share] = [*map(planted, sample[:changed]), *sample[changed:]], seed
    parts = []
    for keyed_by in get_args(KeyedBy):
        before = night(sample, seed, num_replicas, keyed_by)
        for (kind, share), (texts, seed_after) in nights.items():
            is_paired = seed_after == seed
            after = night(texts, seed_after, num_replicas, keyed_by)
            rows = judged(before, after, is_paired=is_paired, trains_alike=is_paired and keyed_by == "word")
            parts.append(rows.with_columns(pair=number, kind=pl.lit(kind), share=share, keyed_by=pl.lit(keyed_by)))
    return pl.concat(parts)


def _renamed(article: Article) -> Article:
    return article._replace(key=article.key ^ 1)


def _cut(corpus: Sequence[Article]) -> tuple[list[Article], list[Article]]:
    """As many of the first articles as have so many words, and the others."""
    sizes = np.cumsum([sum(map(len, article.lines)) for article in corpus])
    num = int(np.searchsorted(sizes, TOKENS)) + 1
    return list(corpus[:num]), list(corpus[num:])


# --- tables ---------------------------------------------------------------------------------------------------------


def report(pairs: pl.DataFrame, num_replicas: int) -> None:
    """Print false moves, and the power of the rules.

    "Means differ" is the t-test of pairs alone, which no rule takes where training is not alike, or where the numbers
    themselves don't differ that way.
    """
    error = pl.col("sd") / num_replicas**0.5
    limit = stdtrit(num_replicas - 1, 1 - LEVEL / 2)
    means_differ = (pl.col("mean").abs() > limit * error).alias("means differ")
    without = pairs.filter(pl.col("kind") != "planted").with_columns(means_differ)
    by_pair = without.group_by("keyed_by", "kind", "pair").agg(
        pl.len().alias("numbers"),
        pl.col("outside", "in texts", "means differ").mean(),
        (pl.col("p") <= LEVEL).mean().alias("p at most 0.05"),
        pl.col("moved").any().alias("pairs with a move"),
        pl.col("in texts").any().alias("pairs with a move in texts"),
    )
    with pl.Config(tbl_cols=-1, tbl_width_chars=200):
        print(
            by_pair.group_by("keyed_by", "kind")
            .agg(pl.len().alias("pairs"), pl.exclude("pair").mean())
            .sort("keyed_by", "kind")
        )
    targets = pairs.filter(pl.col("word").is_in(PLANTED), kind="planted")
    half_widths = (pl.col("difference").abs() / pl.col("half_width")).median().alias("half-widths")
    power = targets.group_by("keyed_by", "share").agg(pl.len(), pl.col(*RULES).mean(), half_widths)
    for (keyed_by,), rows in power.sort("keyed_by", "share").group_by("keyed_by", maintain_order=True):
        print(keyed_by, rows.drop("keyed_by"))
        needed = {rule: _needed(rows["share"].to_numpy(), rows[rule].to_numpy()) for rule in RULES}
        ratios = {rule: f"{share:.4f} ({share / needed['outside']:.3f} of the first)" for rule, share in needed.items()}
        print(f"half of them are found at a share of {ratios}")


def _needed(shares: NDArray[np.float64], power: NDArray[np.float64]) -> float:
    """The share at which half of the numbers are found, between the measured ones on a scale of logarithms."""
    return float(np.exp(np.interp(0.5, np.maximum.accumulate(power), np.log(shares))))


def main() -> None:
    """Measure the pairs that the folder lacks, and print what there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--planted", type=int, default=24, help="so many of the first pairs have planted changes")
    parser.add_argument("--replicas", type=int, default=16)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("differences"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    corpus = articles(arguments.corpus) if arguments.pairs else []
    for number in range(arguments.first, arguments.first + arguments.pairs):
        place = arguments.folder / f"{number:04d}.parquet"
        if not place.exists():
            rows = pair(corpus, number, arguments.replicas, with_planted=number < arguments.planted)
            rows.write_parquet(place)
    times = psutil.Process().cpu_times()
    print(f"{times.user + times.system:.0f} seconds of CPU time")
    report(pl.read_parquet(arguments.folder / "*.parquet"), arguments.replicas)


if __name__ == "__main__":
    main()

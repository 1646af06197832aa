"""How often nights without a change are said to have moved, and how small a planted change is found.

    python -m benchmarks.differences CORPUS [--pairs 200] [--planted 24] [--replicas 16] [--first 0] [--folder PLACE]

A night is a sample of whole articles from JSON lines (``text``), counted, resampled and trained by the operators of
``job=bootstrap`` (GloVe on words as they rank in this night), and its numbers are the associations of listed words with
words for women and men. Each sample is held against three nights without a change: another seed; a share of its
articles exchanged for others, by the same seed; articles that are all others, by another seed. And against nights in
which a change is planted: in a share of its articles, each of eight frequent words is followed by words for women.
Random starts of training are keyed by the rank of a word, which a changed corpus moves; these nights are trained once
more with the words in the order of the earlier night ("in order"), so that both start alike.

Each pair is judged by both rules: whether a number leaves the interval that it had, and whether its difference is
unlikely by chance, over draws that both share or not, corrected for the numbers of the night. What was measured of a
pair stays in the folder, and several commands (``--first``) may fill it.
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
from typing import NamedTuple

import numpy as np
import polars as pl
import psutil
import yaml
from numpy.typing import NDArray

from tiltmeter.operators.association.scores import associations
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.embedding.tiles import TiledPairs, Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.statistics.differences import paired_difference, unpaired_difference
from tiltmeter.operators.statistics.intervals import bootstrap_interval
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg

WORDSETS = Path(__file__).parents[1] / "conf/wordset"
WOMEN = ("she", "her", "woman", "women", "mother", "daughter", "wife", "queen")
MEN = ("he", "his", "man", "men", "father", "son", "husband", "king")
PLANTED = ("city", "people", "world", "time", "made", "first", "years", "states")
EXCHANGED = 0.02
SHARES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
TRAINING = GloveConfig(dimensions=20, epochs=6)
WINDOW, VOCABULARY, TOKENS, LEVEL = 5, 800, 80_000, 0.05

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
    order: all words, in the order of training.
    """

    words: tuple[str, ...]
    values: NDArray[np.float64]
    order: tuple[str, ...]


def night(sample: Sequence[Article], seed: int, num_replicas: int, order: Sequence[str] = ()) -> Night:
    """Count, resample, train and measure.

    Args:
        sample: the articles.
        seed: of all draws.
        num_replicas: how many.
        order: words that come first, as they stood in another night; the others follow by their counts.
    """
    counts = Counter(word for article in sample for line in article.lines for word in line)
    listed = {*WOMEN, *MEN, *PLANTED, *wordset()}
    least = sorted(counts.values(), reverse=True)[: VOCABULARY + 1][-1]
    known = [word for word, num in counts.items() if num >= 8 and (word in listed or num >= least)]
    ranks = {word: place for place, word in enumerate(order)}
    ordered = [*order, *sorted(set(known) - ranks.keys(), key=lambda word: (-counts[word], word))]
    places, kept = {word: place for place, word in enumerate(ordered)}, set(known)
    index = {word: place for word, place in places.items() if word in kept}
    lines = [[index[word] for word in line if word in index] for article in sample for line in article.lines]
    keys = np.array([article.key for article in sample for _ in article.lines], np.uint64)
    numbers = np.array([number for article in sample for number in range(len(article.lines))], np.int32)
    tokens = np.array([word for line in lines for word in line], np.int32)
    offsets = np.append(0, np.cumsum([len(line) for line in lines]))
    tiling = Tiling(len(ordered), 2048)
    drawn = line_multiplicities(seed, keys, numbers, num_replicas)
    counted = count_pairs(tokens, offsets, drawn, tiling, WINDOW)
    shuffled = shuffled_in_tiles(counted.names, tiling, seed)
    pairs = tiled_pairs(counted.names[shuffled], tiling)
    measured = [word for word in (*PLANTED, *wordset()) if word in index]
    sides = [[index[word] for word in side if word in index] for side in (measured, WOMEN, MEN)]
    vectors = (_trained(pairs, counts[shuffled], tiling, number, seed) for number, counts in enumerate(counted.counts))
    values = [_associations(vector, *sides) for vector in vectors]
    return Night(tuple(measured), np.stack(values, axis=1), tuple(ordered))


def _trained(
    pairs: TiledPairs, counts: NDArray[np.int64], tiling: Tiling, replica: int, seed: int
) -> NDArray[np.float32]:
    training = GloveTraining(pairs, [counts], tiling, replica, seed, TRAINING)
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


def judged(before: Night, after: Night, is_paired: bool) -> pl.DataFrame:
    """Of each word of both nights: its difference, and what both rules say of it."""
    words = [word for word in before.words if word in after.words]
    b, a = (side.values[[side.words.index(word) for word in words]] for side in (before, after))
    low, high, _ = bootstrap_interval(b[:, 0], b[:, 1:])
    judge = paired_difference if is_paired else unpaired_difference
    difference = judge(a[:, 0] - b[:, 0], b[:, 1:], a[:, 1:])
    columns = {"word": words, "difference": a[:, 0] - b[:, 0], "half_width": (high - low) / 2.0, "p": difference.p}
    columns |= {"mean": (a - b)[:, 1:].mean(axis=1), "sd": (a - b)[:, 1:].std(axis=1, ddof=1)}
    is_outside = (a[:, 0] < low) | (a[:, 0] > high)
    return pl.DataFrame(columns | {"old": is_outside, "new": benjamini_hochberg(difference.p) <= LEVEL})


def pair(corpus: Sequence[Article], number: int, num_replicas: int, *, with_planted: bool) -> pl.DataFrame:
    """A sample beside the nights without a change, and beside those with one."""
    rng = random.Random(number)
    order = rng.sample(range(len(corpus)), len(corpus))
    sample, rest = _cut([corpus[place] for place in order])
    other, _ = _cut(rest)
    num = round(EXCHANGED * len(sample))
    seed, another = 2 * number, 2 * number + 1
    before = night(sample, seed, num_replicas)
    nights = {
        ("seed", 0.0): (sample, another),
        ("exchanged", EXCHANGED): ([*sample[num:], *rest[:num]], seed),
        ("others", 0.0): (other, another),
    }
    for share in SHARES if with_planted else ():
        changed = round(share * len(sample))
        for kind in ("planted", "planted in order"):
            nights[kind, share] = [*map(planted, sample[:changed]), *sample[changed:]], seed
    parts = []
    for (kind, share), (texts, seed_after) in nights.items():
        words = before.order if kind == "planted in order" else ()
        rows = judged(before, night(texts, seed_after, num_replicas, words), seed_after == seed)
        parts.append(rows.with_columns(pair=number, kind=pl.lit(kind), share=share))
    return pl.concat(parts)


def _cut(corpus: Sequence[Article]) -> tuple[list[Article], list[Article]]:
    """As many of the first articles as have so many words, and the others."""
    sizes = np.cumsum([sum(map(len, article.lines)) for article in corpus])
    num = int(np.searchsorted(sizes, TOKENS)) + 1
    return list(corpus[:num]), list(corpus[num:])


# --- tables ---------------------------------------------------------------------------------------------------------


def report(pairs: pl.DataFrame) -> None:
    """Print false moves, and the power of both rules."""
    is_planted = pl.col("kind").str.starts_with("planted")
    without = pairs.filter(~is_planted)
    by_pair = without.group_by("kind", "pair").agg(
        pl.col("old").mean(), pl.len().alias("numbers"), (pl.col("p") <= LEVEL).mean().alias("raw"), pl.col("new").any()
    )
    print(
        by_pair.group_by("kind").agg(
            pl.len().alias("pairs"),
            pl.col("numbers").mean(),
            pl.col("old").mean().alias("outside the earlier interval"),
            pl.col("raw").mean().alias("p at most 0.05"),
            pl.col("new").mean().alias("pairs with a false move"),
        )
    )
    targets = pairs.filter(is_planted, pl.col("word").is_in(PLANTED))
    power = targets.group_by("kind", "share").agg(
        pl.len(),
        pl.col("old").mean(),
        pl.col("new").mean(),
        (pl.col("difference").abs() / pl.col("half_width")).median().alias("half-widths"),
    )
    for (kind,), rows in power.sort("kind", "share").group_by("kind", maintain_order=True):
        print(kind, rows.drop("kind"))
        needed = [_needed(rows["share"].to_numpy(), rows[rule].to_numpy()) for rule in ("old", "new")]
        print(f"half of them are found at {needed[0]:.4f} and {needed[1]:.4f}, a ratio of {needed[1] / needed[0]:.3f}")


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
    report(pl.read_parquet(arguments.folder / "*.parquet"))


if __name__ == "__main__":
    main()

"""How long it takes to find slices, of tweets, of a million rows and beside SliceLine; how often promises are kept.

    python -m benchmarks.errors texts [--all] [--sliceline PYTHON] [--min-size 100] [--predicates 3]
    python -m benchmarks.errors rows [--rows 1000000]
    python -m benchmarks.errors guarantees [--calibration 1000] [--resplits 200]

``texts`` takes the half of the tweets that explores, or all of them, with the errors of a model of words that was
trained on film reviews, and the predicates of their readable features. ``--sliceline`` names a Python that has
sliceline 0.3.0, which then searches the same predicates of the same rows with the same length and support. ``rows``
draws 60 predicates of many rows, and tests all their pairs. ``guarantees`` trains a forest on half of the tweets; of
the others it draws some, chooses a threshold by them, and looks at the rest, again and again.

Everything runs in one process and one thread; times are processor seconds, and those of the first time include what
numba compiles or loads. Peak memory is that of the whole process.
"""

import argparse
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import yaml

from benchmarks.command import DATA
from tiltmeter.operators.classifiers.errors.forest import ForestConfig, train_forest
from tiltmeter.operators.classifiers.errors.guarantees import holds_most_errors
from tiltmeter.operators.classifiers.errors.readable import DENSE, Readable, ReadableFeatures, matrix
from tiltmeter.operators.classifiers.errors.slices.confirmation import sliceline_score
from tiltmeter.operators.classifiers.errors.slices.max_t import adjusted
from tiltmeter.operators.classifiers.errors.slices.predicates import Predicate, predicates_of
from tiltmeter.operators.classifiers.errors.slices.search import SliceConfig, candidates_of, hits_of, plain
from tiltmeter.operators.classifiers.errors.splits import is_tested
from tiltmeter.operators.classifiers.errors.word_model import train_word_model
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.statistics.units import each

NUM_PERMUTATIONS = 1000
CLASSES = {"0": "negative", "1": "negative", "2": "neutral", "3": "positive", "4": "positive"}
LISTS = Path(__file__).parents[1] / "conf/readable_words/english.yaml"
SLICELINE = """
import json, sys, time
import numpy as np
from sliceline.slicefinder import Slicefinder
data, settings = np.load(sys.argv[1]), json.loads(sys.argv[2])
for _ in range(2):
    start, wall = time.process_time(), time.perf_counter()
    finder = Slicefinder(alpha=0.95, k=10, **settings)
    finder.fit(data["features"], data["errors"])
    print(json.dumps({"seconds": time.process_time() - start, "wall": time.perf_counter() - wall,
        "top": [None if value is None else int(value) for value in finder.top_slices_[0]],
        "score": float(finder.top_slices_statistics_[0]["slice_score"])}))
"""


class Rows(NamedTuple):
    """What is searched: ``[predicates, rows]`` members, and of each row its error and the number of its class."""

    members: BoolArray
    predicates: list[Predicate]
    errors: BoolArray
    strata: IntArray


class Tweets(NamedTuple):
    """What is known of each: its features, and its predicted class by name."""

    features: list[Readable]
    predicted: list[str]
    errors: BoolArray


def tweets(*, takes_all: bool) -> Tweets:
    """Airline tweets, with what a model of words says that has read film reviews."""
    lines = (DATA / "sentiment/sst5/stsa.fine.train").read_text(encoding="utf-8").splitlines()
    labels, reviews = zip(*(line.split(" ", 1) for line in lines), strict=True)
    table = pl.read_parquet(DATA / "sentiment/airline/tweets.parquet")
    if not takes_all:
        table = table.filter(pl.Series(~is_tested(table["text"].to_list(), 0.5, seed=0, about=1)))
    texts, classes = table["text"].to_list(), sorted(set(CLASSES.values()))
    model = train_word_model(reviews, [CLASSES[label] for label in labels])
    predicted = [classes[place] for place in model.probabilities(texts, classes).argmax(axis=1)]
    readable = ReadableFeatures(yaml.safe_load(LISTS.read_text(encoding="utf-8")), tags=False)
    errors = np.array(predicted) != table["label"].to_numpy()
    return Tweets([readable(text) for text in texts], predicted, errors)


def searched(tweets: Tweets, min_size: int) -> Rows:
    """Their predicates."""
    features, classes = tweets.features, sorted(set(tweets.predicted))
    names = sorted({name for text in features for name in text.counts})
    counts = {name: np.array([text.counts.get(name, 0) for text in features]) for name in names}
    dense = {name: np.array([getattr(text, name) for text in features]) for name in DENSE}
    made = predicates_of(counts, dense, tweets.predicted, min_size)
    strata = np.array([classes.index(name) for name in tweets.predicted], dtype=np.int64)
    return Rows(made.members, list(made.predicates), tweets.errors, strata)


def scored(tweets: Tweets) -> tuple[FloatArray, BoolArray]:
    """Scores of half of them, by a forest that the other half has trained."""
    names = sorted({name for text in tweets.features for name in text.counts})
    counts = matrix([text.counts for text in tweets.features], names)
    lengths = np.array([[max(text.num_tokens, 1)] for text in tweets.features])
    dense = np.array([[getattr(text, name) for name in DENSE] for text in tweets.features])
    classes = [[name == guess for name in sorted(set(tweets.predicted))] for guess in tweets.predicted]
    values = np.concatenate([counts / lengths, dense, np.array(classes)], axis=1)
    rows = [str(row) for row in range(len(values))]
    outside = is_tested(rows, 0.5, seed=0, about=2)
    inside = [row for row, out in zip(rows, outside, strict=True) if not out]
    forest = train_forest(values[~outside], tweets.errors[~outside], inside, ForestConfig(leaf_sizes=(10,)), seed=0)
    return forest.scores(values[outside]), tweets.errors[outside]


def promises(num_calibration: int, num_resplits: int, delta: float = 0.1) -> None:
    """How often a threshold breaks its promise on the tweets that have not chosen it."""
    scores, errors = scored(tweets(takes_all=True))
    print(f"{len(errors):,} tweets, of which {num_calibration:,} choose; {num_resplits} resplits, delta {delta}")
    for alpha in (0.05, 0.1, 0.2):
        shares = []
        for resplit in range(num_resplits):
            chosen = np.random.default_rng(resplit).permutation(len(errors)) < num_calibration
            part, texts = (scores[chosen], errors[chosen]), each(num_calibration, "text")
            value = holds_most_errors(*part, texts, alpha=alpha, delta=delta, joint=1, seed=resplit).threshold
            shares.append(float((scores[~chosen] < value)[errors[~chosen]].mean()))
        missed = np.array(shares)
        print(
            f"  alpha {alpha}: missed {missed.mean():.3f} on average, more than alpha in {(missed > alpha).mean():.3f}"
        )


def drawn(num_rows: int, num_predicates: int = 60) -> Rows:
    """Rows whose predicates hold for a tenth to a half of them, with errors by chance."""
    rng = np.random.default_rng(0)
    shares = rng.uniform(0.1, 0.5, num_predicates)
    members = np.stack([rng.random(num_rows) < share for share in shares])
    strata = rng.integers(0, 3, num_rows)
    predicates = [Predicate(f"f{number}", "present") for number in range(num_predicates)]
    return Rows(members, predicates, rng.random(num_rows) < np.array([0.2, 0.3, 0.5])[strata], strata)


def search(rows: Rows, config: SliceConfig) -> tuple[int, int, float]:
    """How many slices there are, how many of them are significant, and the best score of SliceLine."""
    texts = each(len(rows.errors), "text")
    candidates = candidates_of(rows.members, rows.predicates, rows.errors, rows.strata, texts, config)
    statistics = candidates.statistics
    hits = hits_of(candidates, 0, range(config.num_permutations))
    p_values = adjusted(hits, statistics.value, config.num_permutations)
    scores = sliceline_score(statistics.errors, statistics.size, int(rows.errors.sum()), len(rows.errors))
    best = plain(candidates.conjunctions[int(scores.argmax())])
    print(f"  best by SliceLine's score: {' and '.join(rows.predicates[number].name for number in best)}")
    return len(p_values), int((p_values <= config.alpha).sum()), float(scores.max())


def timed(function: Callable[[], tuple[int, int, float]], what: str) -> float:
    """Processor seconds of the second time."""
    for time_ in ("first", "second"):
        start, wall = time.process_time(), time.perf_counter()
        num, significant, score = function()
        seconds, wall = time.process_time() - start, time.perf_counter() - wall
        print(
            f"{what}, the {time_} time: {seconds:.2f} s of the processor, {wall:.2f} s on the clock; {num:,} slices, "
            f"{significant:,} significant, best score of SliceLine {score:.4f}"
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  peak memory {peak:.2f} GiB")
    return seconds


def coded(rows: Rows) -> tuple[IntArray, list[str], list[dict[int, str]]]:
    """Features as SliceLine wants them: a code from 1 for each predicate of a feature, 0 where a row has none."""
    names = list(dict.fromkeys(predicate.feature for predicate in rows.predicates))
    codes: list[dict[int, str]] = [{} for _ in names]
    features = np.zeros((rows.members.shape[1], len(names)), dtype=np.int64)
    for predicate, members in zip(rows.predicates, rows.members, strict=True):
        column = names.index(predicate.feature)
        codes[column][len(codes[column]) + 1] = predicate.name
        features[members, column] = len(codes[column])
    return features, names, codes


def beside_sliceline(python: str, rows: Rows, config: SliceConfig) -> list[dict[str, Any]]:
    """What the other command says of both times."""
    features, _, codes = coded(rows)
    settings = {"max_l": config.max_predicates, "min_sup": config.min_size, "verbose": False}
    print(f"sliceline: {features.shape[0]:,} rows, {features.shape[1]} features, {settings}, alpha 0.95, k 10")
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file, features=features, errors=rows.errors.astype(np.float64))
        file.flush()
        command = [python, "-c", SLICELINE, file.name, json.dumps(settings)]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    outcomes = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    for outcome in outcomes:
        top = [codes[column].get(code, "?") for column, code in enumerate(outcome["top"]) if code is not None]
        print(
            f"  {outcome['seconds']:.2f} s of the processor, {outcome['wall']:.2f} s on the clock; best: "
            f"{' and '.join(top)}, score {outcome['score']:.4f}"
        )
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("texts", "rows", "guarantees"))
    parser.add_argument("--all", action="store_true", help="tweets, not a half of them")
    parser.add_argument("--sliceline", metavar="PYTHON")
    parser.add_argument("--min-size", type=int, default=100)
    parser.add_argument("--predicates", type=int, default=3, choices=(1, 2, 3), help="of a slice; rows has pairs")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calibration", type=int, default=1000, help="tweets that choose a threshold")
    parser.add_argument("--resplits", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.part == "guarantees":
        promises(arguments.calibration, arguments.resplits)
        return
    is_texts = arguments.part == "texts"
    rows = searched(tweets(takes_all=arguments.all), arguments.min_size) if is_texts else drawn(arguments.rows)
    config = SliceConfig(
        max_predicates=arguments.predicates if is_texts else 2,
        min_size=arguments.min_size,
        num_permutations=NUM_PERMUTATIONS,
    )
    what = f"{len(rows.errors):,} rows, {len(rows.predicates)} predicates, {NUM_PERMUTATIONS:,} permutations"
    seconds = timed(lambda: search(rows, config), what)
    if arguments.sliceline:
        outcomes = beside_sliceline(arguments.sliceline, rows, config)
        print(f"SliceLine takes {outcomes[-1]['seconds'] / seconds:.1f} times as long, the second time")


if __name__ == "__main__":
    main()

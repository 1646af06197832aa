"""GloVe's AdaGrad by element, as published, against one sum of squares for each row: quality in pairs of replicas.

    python -m benchmarks.adagrad <folder> [key=value ...] [--corpora simplewiki enwiki] [--replicas 12] [--starts 5]

For each corpus `tiltmeter job=bootstrap` runs with either in one store, so that a replica's lines, counts, initial
vectors and order of steps are the same and the optimiser alone differs. Printed are means over replicas of both, the
mean of their difference in each replica with an interval for more replicas of this corpus, and that mean in standard
deviations of the published one: over replicas, and over random starts, which is what training does by itself.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
from gensim.test.utils import datapath
from numpy.typing import NDArray

from benchmarks.command import markdown
from tiltmeter.jobs.composing import compose
from tiltmeter.operators.association.scores import associations, effect_size
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.quality import accuracies, analogies, word_similarity
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.psychophysics.pooling import mean_flips
from tiltmeter.operators.statistics.intervals import student_reach
from tiltmeter.operators.statistics.replicas import spread, taken_apart
from tiltmeter.operators.text.wordsets import WordSets

KINDS, MIN_WORDS, MOST_FREQUENT, RARE, LEVEL = ("element", "row"), 3, 30_000, 0.5, 0.95
HEADINGS = ("number", *KINDS, "row − element", "95 %", "in sd of replicas", "in sd of starts")


class Embeddings(NamedTuple):
    """Attributes:
    places: of words, the most frequent first.
    vectors: ``[embeddings, words, dims]``, NaN where a word is not there; of the original, its replicas, its starts.
    losses: ``[embeddings]`` of the last epoch.
    """

    places: Mapping[str, int]
    vectors: NDArray[np.float32]
    losses: FloatArray

    def common(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Places of those that all embeddings have."""
        known = np.array([self.places[word] for word in words if word in self.places], np.int64)
        return known[np.isfinite(self.vectors[:, known, 0]).all(axis=0)]


def run(run_dir: Path, corpus: str, adagrad: str, *settings: str) -> Embeddings:
    """What a run trains, or has in its store."""
    chosen = [f"corpus={corpus}", f"embedding.trainer.adagrad={adagrad}", f"run_dir={run_dir}", *settings]
    subprocess.run([sys.executable, "-m", "tiltmeter.jobs.app", "job=bootstrap", *chosen], check=True)
    tables = [
        pl.read_parquet(place, hive_partitioning=False)
        for kind in ("replica", "start")
        for place in sorted((run_dir / "embeddings").glob(f"*/*_{kind}_*.parquet"))
    ]
    words, vectors = tables[0]["word"], np.stack([table["vector"].to_numpy() for table in tables])
    losses = pl.read_parquet(run_dir / "training.parquet").filter(pl.col("epoch") == pl.col("epoch").max())
    of = dict(losses.select("replica", "loss").iter_rows())
    ordered = [of[number] for number in sorted(of, key=lambda number: (number < 0, abs(number)))]
    return Embeddings({word: place for place, word in enumerate(words)}, vectors, np.array(ordered))


def numbers(found: Embeddings) -> Iterator[tuple[str, FloatArray]]:
    """``[embeddings]`` of each thing that is compared."""
    yield "loss", found.losses
    yield from similarities(found, "WordSim-353", "wordsim353.tsv")
    yield from similarities(found, "SimLex-999", "simlex999.txt")
    yield "analogies", analogy_accuracy(found)
    for name, test in _words("association").associations.items():
        sides = [
            found.common(side.words) for side in (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
        ]
        if min(side.size for side in sides) >= MIN_WORDS:
            targets = found.vectors[:, np.concatenate(sides[:2])]
            to_a, to_b = (_cosines(targets, found.vectors[:, side]) for side in sides[2:])
            yield f"d of {name}", effect_size(associations(to_a, to_b, "mean", "cosine"), sides[0].size)
    wordset = _words("survey")
    pairs = [places for pair in wordset.cue_pairs if (places := found.common(pair)).size == 2]
    words = found.common(list(wordset.occupations.percent_women) if wordset.occupations else [])
    cues = [(found.vectors[:, [one]], found.vectors[:, [other]]) for one, other in pairs]
    points = mean_flips(found.vectors[:, words], cues)
    yield "PSE, mean of occupations", points.mean(axis=1)
    yield "PSE, their spread", points.std(axis=1, ddof=1)


def _words(job: str) -> WordSets:
    english: WordSets = cast(Any, compose([f"job={job}"])).wordset["en"]
    return english


def _cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> FloatArray:
    return np.asarray(cosine(one[:, :, np.newaxis], other[:, np.newaxis]))


def similarities(found: Embeddings, name: str, file: str) -> Iterator[tuple[str, FloatArray]]:
    """Of all pairs, and of those whose rarer word is among the rarer half."""
    lines = Path(datapath(file)).read_text(encoding="utf-8").lower().splitlines()
    items = [line.split("\t") for line in lines if line and not line.startswith("#")]
    known = [(found.places.get(one, -1), found.places.get(other, -1), float(score)) for one, other, score in items]
    pairs, human = np.array([item[:2] for item in known], np.int64), np.array([item[2] for item in known])
    yield name, word_similarity(found.vectors, pairs, human).rho
    rarest = np.where((pairs >= 0).all(axis=1), pairs.max(axis=1), -1)
    rare = rarest > np.quantile(rarest[rarest >= 0], RARE)
    yield f"{name}, rarer half", word_similarity(found.vectors, pairs[rare], human[rare]).rho


def analogy_accuracy(found: Embeddings) -> FloatArray:
    """Over all questions of Google's set whose words are frequent."""
    lines = Path(datapath("questions-words.txt")).read_text(encoding="utf-8").lower().splitlines()
    asked = [[found.places.get(word, -1) for word in line.split()] for line in lines if not line.startswith(":")]
    questions = np.where(np.array(asked) < MOST_FREQUENT, asked, -1)
    answers = analogies(found.vectors[:, :MOST_FREQUENT], questions).without_inputs
    return accuracies(answers, questions[:, 3], np.zeros(len(questions), np.int64), 1)[0][:, 0]


def compared(found: Sequence[Embeddings], num_replicas: int) -> Iterator[list[str]]:
    """A row for each number."""
    for (name, one), (_, other) in zip(*map(numbers, found), strict=True):
        difference, published = taken_apart(other - one, num_replicas), taken_apart(one, num_replicas)
        mean = float(difference.replicas.mean())
        reach = student_reach(LEVEL, num_replicas) * float(difference.replicas.std(ddof=1)) / num_replicas**0.5
        over_starts, over_replicas = spread(published).training, float(published.replicas.std(ddof=1))
        ends = f"[{mean - reach:.4f}, {mean + reach:.4f}]"
        values = [f"{values[1 : 1 + num_replicas].mean():.4f}" for values in (one, other)]
        yield [name, *values, f"{mean:.4f}", ends, f"{mean / over_replicas:.2f}", f"{mean / over_starts:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpora", nargs="+", default=["simplewiki", "enwiki"])
    parser.add_argument("--replicas", type=int, default=12)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("settings", nargs="*", help="of the corpora")
    asked = parser.parse_args()
    sizes = [f"embedding.num_replicas={asked.replicas}", f"embedding.num_starts={asked.starts}"]
    for corpus in asked.corpora:
        settings = [*asked.settings, *sizes, f"store={asked.folder / 'store'}"]
        found = [run(asked.folder / f"{corpus}_{kind}", corpus, kind, *settings) for kind in KINDS]
        print(f"{corpus}: {len(found[0].places):,} words, {asked.replicas} replicas, {asked.starts} starts")
        print(markdown(HEADINGS, compared(found, asked.replicas)), flush=True)


if __name__ == "__main__":
    main()

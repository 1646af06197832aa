"""The sweep of association tests on one embedding: all tests, measures of similarity and statistics, with p-values.

    python -m benchmarks.associations [--words 26000] [--dimensions 300] [key=value ...]

The vectors are made up: Gaussian noise with correlated dimensions, and on top of it associations of all strengths, so
that p-values range from 1e-10 to 1. The time is that of the whole command, from the file to tables and report.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray
from pyarrow import fs

from benchmarks.command import print_stages, run_command
from tiltmeter.storage.vectors.files import EmbeddingFile, write_embedding

SETTINGS = ["job=association", "embedding=file", "cluster.num_cpus=2"]
WORDSETS = Path(__file__).parents[1] / "conf/wordset"
_FILES = "shared/english.yaml", "english.yaml"


def listed_words() -> tuple[list[str], list[dict[str, dict[str, list[str]]]]]:
    """Every word of the English lists that a file can hold, and the association tests."""
    shared, wordset = (yaml.safe_load((WORDSETS / name).read_text(encoding="utf-8")) for name in _FILES)
    tests = list(shared["associations"].values())
    sides = ("target_x", "target_y", "attribute_a", "attribute_b")
    words = {word for test in tests for side in sides for word in test[side]["words"]}
    return sorted(words | {word for word in wordset["occupations"]["percent_women"] if " " not in word}), tests


def make_up(num_words: int, dimensions: int) -> EmbeddingFile:
    """Vectors of all listed words and of fillers."""
    rng = np.random.default_rng(0)
    listed, tests = listed_words()
    words = [*listed, *(f"filler{number}" for number in range(num_words - len(listed)))]
    mixing = rng.normal(size=(dimensions, dimensions)) / np.sqrt(dimensions)
    vectors = rng.normal(size=(num_words, dimensions)) @ mixing
    row = {word: at for at, word in enumerate(words)}
    for number, test in enumerate(tests):
        lean(vectors, row, test, strength=0.2 * number)
    return EmbeddingFile(words, vectors.astype(np.float32))


def lean(
    vectors: NDArray[np.float64], row: dict[str, int], test: dict[str, dict[str, list[str]]], strength: float
) -> None:
    """Move each target towards the middle of the attributes that it is expected to go with."""
    for targets, attributes in (("target_x", "attribute_a"), ("target_y", "attribute_b")):
        middle = vectors[[row[word] for word in test[attributes]["words"]]].mean(axis=0)
        vectors[[row[word] for word in test[targets]["words"]]] += strength * middle


def main() -> None:
    """Run and print the time and what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=26_000)
    parser.add_argument("--dimensions", type=int, default=300)
    known, overrides = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        path = str(Path(name) / "made_up.bin")
        embedding = make_up(known.words, known.dimensions)
        write_embedding(fs.LocalFileSystem(), path, embedding, "word2vec_binary", setting="path")
        print(f"{known.words:,} words of {known.dimensions} dimensions; {' '.join([*SETTINGS, *overrides])}")
        outcome = run_command(Path(name), *SETTINGS, f"embedding.path={path}", *overrides)
        print_stages(outcome)
        rows = pl.read_parquet(outcome.run_dir / "associations.parquet")
        width = (rows["p_high"] - rows["p_low"]) / rows["p_high"]
        print(f"{rows.height} results, p from {rows['p_value'].min():.1g} to {rows['p_value'].max():.2g}")
        print(f"methods: {rows['p_method'].value_counts().rows()}; widest interval {width.max():.2%}")
        print(f"the whole command: {outcome.seconds:.1f} s, {outcome.peak_bytes / 1e9:.2f} GB at the peak")


if __name__ == "__main__":
    main()

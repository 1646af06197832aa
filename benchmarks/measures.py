"""Every measure of bias on every query of nine languages: a model with replicas, and WEFE's of one model beside it.

    python -m benchmarks.measures [--replicas 32] [--dims 300] [--workers 2] [--wefe <python>]

Vectors are random and of all listed words, so that no word is lost. What is timed is what the units of `association`
do after training: numbers of the original and each replica, intervals and p-values; a worker reads the vectors of a
language once. WEFE 1.0.1 (``pip install wefe==1.0.1`` into an environment of its own, whose python is given) takes
its six metrics of the same queries on the first model, without p-values, which it has for WEAT alone.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, cast

import hydra
import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf
from pydantic import TypeAdapter

from benchmarks.calibration.registry import Held
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.directions import directions, measured_along
from tiltmeter.jobs.association.measures import find_measure, is_along, measured
from tiltmeter.jobs.association.weat import SIDES
from tiltmeter.jobs.embedding.lookup import Lookup
from tiltmeter.jobs.embedding.vectors import vectors_table
from tiltmeter.operators.association.direction_measures import OF_DIRECTIONS
from tiltmeter.operators.association.known_measures import KNOWN
from tiltmeter.operators.text.wordsets import WordSets, word_lists

NAMES = ("arabic", "chinese", "farsi", "french", "german", "spanish", "urdu")
LISTS = "[english,english_papers," + ",".join(f"weat_{name}" for name in NAMES) + "]"
"""Beside the gender surveys of nine languages, which are always there."""

WEFE = """
import json, sys, time
import numpy as np
from gensim.models import KeyedVectors
from wefe.metrics import ECT, MAC, RIPA, RND, RNSB, WEAT
from wefe.query import Query
from wefe.word_embedding_model import WordEmbeddingModel
folder, seconds, num = sys.argv[1], {}, 0
for language, tests in json.load(open(folder + "/queries.json")).items():
    vectors = KeyedVectors(np.load(folder + f"/{language}.npy").shape[1])
    vectors.add_vectors(json.load(open(folder + f"/{language}.json")), np.load(folder + f"/{language}.npy"))
    model = WordEmbeddingModel(vectors, language)
    for x, y, a, b in tests:
        both, each = Query([x, y], [a, b]), [Query([x, y], [a]), Query([x, y], [b])]
        for metric, queries in ((WEAT, [both]), (RNSB, [both]), (MAC, [both]), (RND, each), (ECT, each), (RIPA, each)):
            if metric is RIPA and len(x) != len(y):
                continue
            begun = time.perf_counter()
            for query in queries:
                metric().run_query(query, model)
                num += 1
            seconds[metric.__name__] = seconds.get(metric.__name__, 0.0) + time.perf_counter() - begun
print(json.dumps({"numbers": num, "seconds": {name: round(taken, 2) for name, taken in seconds.items()}}))
"""


class Task(NamedTuple):
    """A measure of a query of a language, on so many replicas of so many dimensions."""

    language: str
    query: str
    measure: str
    num_replicas: int
    dims: int


@cache
def wordsets() -> Mapping[str, WordSets]:
    """The lists of all languages, as the command composes them."""
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        composed = hydra.compose("tiltmeter", ["job=association", f"wordset={LISTS}"]).wordset
    plain = cast(Any, OmegaConf.to_container(composed, resolve=True))
    return {language: TypeAdapter(WordSets).validate_python(lists) for language, lists in plain.items()}


@cache
def words_of(language: str) -> list[str]:
    """All that its lists have."""
    return sorted({word for words in word_lists(wordsets()[language]).values() for word in words})


def vectors_of(language: str, number: int, dims: int) -> NDArray[np.float32]:
    """Of the original, 0, or a replica."""
    rng = np.random.default_rng([number, len(language), ord(language[0]), ord(language[1])])
    return rng.standard_normal((len(words_of(language)), dims), dtype=np.float32)


@cache
def _lookup(language: str, num_replicas: int, dims: int) -> Lookup:
    spelling = {word: word for word in words_of(language)}
    tables = [vectors_table(spelling, vectors_of(language, number, dims)) for number in range(1 + num_replicas)]
    return Lookup(cast(Any, Held(dict(enumerate(tables)))), {"vectors": cast(Any, range(1 + num_replicas))})


def tasks(num_replicas: int, dims: int) -> Iterator[Task]:
    """Of each language by itself, so that a worker reads few."""
    for language, lists in wordsets().items():
        queries = [*product(lists.associations, KNOWN), *product(directions(lists), OF_DIRECTIONS)]
        yield from (Task(language, query, measure, num_replicas, dims) for query, measure in queries)


def number_of_rows(task: Task) -> int:
    """That the unit makes."""
    lookup, brought = _lookup(task.language, task.num_replicas, task.dims), find_measure(task.measure)
    key = {"model": "random", "language": task.language, "measure": task.measure, "query": task.query}
    lists, config = wordsets()[task.language], AssociationConfig()
    if is_along(brought):
        return len([*measured_along(lookup, key, brought, directions(lists)[task.query], config, 0)])
    return len([*measured(lookup, key, brought, lists.associations[task.query], config, 0)])


def wefe(python: str, dims: int) -> str:
    """What WEFE took, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        queries = {}
        for language, lists in wordsets().items():
            np.save(f"{folder}/{language}.npy", vectors_of(language, 0, dims))
            Path(folder, f"{language}.json").write_text(json.dumps(words_of(language)))
            tests = lists.associations.values()
            queries[language] = [[getattr(test, side).words for side in SIDES] for test in tests]
        Path(folder, "queries.json").write_text(json.dumps(queries))
        done = subprocess.run([python, "-c", WEFE, folder], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=32)
    parser.add_argument("--dims", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--wefe", default="")
    given = parser.parse_args()
    todo = [*tasks(given.replicas, given.dims)]
    queries = {(task.language, task.query) for task in todo}
    begun = time.perf_counter()
    with ProcessPoolExecutor(given.workers) as pool:
        rows = sum(pool.map(number_of_rows, todo, chunksize=8))
    taken = time.perf_counter() - begun
    languages, measures = {task.language for task in todo}, {*KNOWN, *OF_DIRECTIONS}
    print(
        f"{len(languages)} languages, {len(queries)} queries, {len(measures)} measures, {given.replicas} replicas of "
        f"{given.dims} dimensions: {len(todo)} units, {rows} rows in {taken:.1f} s on {given.workers} cores"
    )
    if given.wefe:
        begun = time.perf_counter()
        print(f"WEFE: {wefe(given.wefe, given.dims)}; {time.perf_counter() - begun:.1f} s in all, one model")


if __name__ == "__main__":
    main()

"""Instances for a study with people: what a model said of each, and the words that explain it."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from tiltmeter.jobs.classifiers.decoys.config import BenchmarkSources, DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.explaining import ExplainedPair
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.compute.keys import document_key

_FILE, _KEY = "study.csv", "study_key.csv"
_COLUMNS = ("model", "method", "pool", "place", "text", "label", "predicted", "words")


def export_study(
    run: Run[DecoyBenchmarkRun, BenchmarkSources], explained: Mapping[str, Sequence[ExplainedPair]]
) -> None:
    """Write ``exports/study.csv``, in which models have names that do not tell them apart, and which is which."""
    rows: list[dict[str, Any]] = []
    key: dict[str, tuple[str, str, str, int]] = {}
    for decoy, pairs in explained.items():
        triples = [(pair, kind, refs) for pair in pairs for kind, refs in pair.attributions.items()]
        for pair, kind, refs in triples:
            name = _blind(run.config.seed, decoy, kind, pair.model)
            key[name] = (name, decoy, kind, pair.model)
            for pool, ref in enumerate(refs):
                about = {"model": name, "method": pair.method, "pool": pool}
                rows += _instances(run.runner.store.read(ref).to_pylist(), about, run.config)
    ordered = sorted(rows, key=lambda row: (row["model"], row["method"], row["pool"], row["place"]))
    run.directory.export_bytes(_FILE, _csv(_COLUMNS, [[row[name] for name in _COLUMNS] for row in ordered]))
    run.directory.export_bytes(_KEY, _csv(("model", "decoy", "trained", "number"), sorted(key.values())))


def _blind(seed: int, decoy: str, kind: str, model: int) -> str:
    return f"model {document_key(f'{seed}/{decoy}/{kind}/{model}') % 2**32:08x}"


def _instances(
    lines: Sequence[Mapping[str, Any]], about: Mapping[str, Any], config: DecoyBenchmarkRun
) -> Iterator[dict[str, Any]]:
    for place, (_, group) in enumerate(groupby(lines, key=lambda line: line["sentence"])):
        words = list(group)
        values = np.array([line["attribution"] for line in words], dtype=np.float64)
        top = top_words(Explained([line["word"] for line in words], values), config.explanations.top_words)
        shown = "; ".join(f"{words[index]['word']} ({values[index]:+.3f})" for index in top)
        labels = {"label": words[0]["gold"], "predicted": words[0]["predicted"]}
        text = " ".join(line["word"] for line in words)
        yield {**about, **labels, "place": place + 1, "text": text, "words": shown}


def _csv(heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows([heading, *rows])
    return sink.getvalue().encode()

"""Texts as words with their parts of speech, in parts of which no sentence is in two."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence.tables import PREPARED
from tiltmeter.operators.classifiers.influence import nested_texts, parts_of_speech
from tiltmeter.operators.classifiers.influence.nested_texts import containment_clusters
from tiltmeter.operators.classifiers.influence.parts_of_speech import tagged
from tiltmeter.operators.classifiers.small import words_of
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_SHARES = {"test": 0.2, "development": 0.1}
"""Of the sentences, where no file is given for a part."""

_MIN_TEXTS = 20


def divide(runner: Runner, labelled: TableRef, max_words: int, seed: int) -> TableRef:
    """Texts that have a class and a word, of the schema ``PREPARED``.

    Args:
        max_words: of a text; the rest is left out.

    Raises:
        UnitsFailed: if there are too few, or all are of one class.
    """
    operators = [nested_texts.VERSION, parts_of_speech.VERSION]
    config = {"seed": seed, "shares": _SHARES, "max_words": max_words, "operators": operators}
    unit = Unit("influence_texts/1", "texts as words", config, {"texts": [labelled]})
    [finished] = runner.run_whole(Stage("divide texts", each(_divide), {"data": [unit]}))["data"]
    return finished.tables["prepared"]


def _divide(store: Store, unit: Unit) -> Tables:
    rows = store.read(unit.input("texts")).to_pylist()
    given = {row["part"] for row in rows}
    texts = [words_of(row["text"])[: unit.config["max_words"]] for row in rows]
    kept = [number for number, row in enumerate(rows) if row["status"] == "ok" and texts[number]]
    clusters = _clusters([rows[number] for number in kept], [texts[number] for number in kept])
    tags = tagged(texts[number] for number in kept)
    shares = {part: share for part, share in unit.config["shares"].items() if part not in given}
    prepared = [
        {
            "row": number,
            "part": _part(rows[number]["part"], cluster, shares, unit.config["seed"]),
            "label": rows[number]["label"],
            "words": texts[number],
            "tags": row_tags,
            "cluster": kept[cluster],
        }
        for number, cluster, row_tags in zip(kept, clusters, tags, strict=True)
    ]
    _check(prepared)
    yield "prepared", pa.Table.from_pylist(prepared, PREPARED)


def _clusters(rows: Sequence[Mapping[str, Any]], texts: Sequence[Sequence[str]]) -> list[int]:
    """By the group that the file gives, or by which texts are parts of others."""
    if all(row["group"] is None for row in rows):
        return [int(number) for number in containment_clusters(texts)]
    names = [row["group"] or f"\n{number}" for number, row in enumerate(rows)]
    first: dict[str, int] = {}
    return [first.setdefault(name, number) for number, name in enumerate(names)]


def _part(part: str, cluster: int, shares: Mapping[str, float], seed: int) -> str:
    if part != "training":
        return part
    place = document_key(f"{seed}\nsentence\n{cluster}") / 2**64
    for name, share in shares.items():
        if place < share:
            return name
        place -= share
    return part


def _check(rows: Sequence[Mapping[str, Any]]) -> None:
    if len(rows) < _MIN_TEXTS:
        raise ValueError(
            f"{len(rows)} texts have a class: must be at least {_MIN_TEXTS}; set data.path to a file with more, or "
            "raise data.limit"
        )
    classes = {row["label"] for row in rows if row["part"] == "training"}
    if len(classes) < 2:
        raise ValueError(
            f"the training texts are of the class {', '.join(sorted(classes))!r} alone: must be of two at least; set "
            "data.label to another column"
        )
    for part in ("development", "test"):
        labels = {row["label"] for row in rows if row["part"] == part}
        if unknown := sorted(labels - classes) or (not labels and ["any class"]):
            raise ValueError(f"the {part} texts and the training texts share not {unknown[0]!r}; set data.{part}")


def part_rows(store: Store, ref: TableRef, part: str) -> list[dict[str, Any]]:
    """The texts of a part."""
    return [row for row in store.read(ref).to_pylist() if row["part"] == part]


def drawn_order(keys: Sequence[str], seed: int, about: str) -> list[int]:
    """Places in an order that depends on what stands there."""
    numbers = [document_key(f"{seed}\n{about}\n{key}") for key in keys]
    return [int(place) for place in np.argsort(np.array(numbers, dtype=np.uint64), kind="stable")]

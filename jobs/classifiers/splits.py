"""Labelled texts by the part that they belong to: what models learn, when they stop, and what they are asked about."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.tables import SPLIT
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

SHARES = {"test": 0.2, "development": 0.1}
"""Of the texts, where no file is given for a part."""

_MIN_TEXTS = 20


def split_texts(runner: Runner, labelled: TableRef, seed: int) -> TableRef:
    """The texts that have a class, by the part that they belong to.

    Raises:
        UnitsFailed: if there are too few, or all are of one class.
    """
    unit = Unit("decoy_split/1", "parts", {"seed": seed, "shares": SHARES}, {"texts": [labelled]})
    [finished] = runner.run_whole(Stage("divide texts", each(_split), {"data": [unit]}))["data"]
    return finished.tables["texts"]


def _split(store: Store, unit: Unit) -> Tables:
    rows = store.read(unit.input("texts")).to_pylist()
    given = {row["part"] for row in rows}
    taken = [{**row, "row": number} for number, row in enumerate(rows) if row["status"] == "ok"]
    shares = {part: share for part, share in unit.config["shares"].items() if part not in given}
    seed = unit.config["seed"]
    # Equal texts belong to one part.
    parts = [row | {"part": part_of(row["part"], f"{seed}\n{row['text']}", shares)} for row in taken]
    check_parts(parts)
    yield "texts", pa.Table.from_pylist(parts, SPLIT)


def part_of(given: str, key: str, shares: Mapping[str, float]) -> str:
    """The part that a text is given in; one for training falls into another by chance, as its key says.

    Args:
        shares: of the texts for training that each other part takes.

    >>> part_of("test", "0\\na text", {})
    'test'
    """
    if given != "training":
        return given
    position = document_key(key) / 2**64
    for part, share in shares.items():
        if position < share:
            return part
        position -= share
    return given


def check_parts(rows: Sequence[Mapping[str, Any]]) -> None:
    """Of texts with their ``label`` and ``part``.

    Raises:
        ValueError: if there are too few, those for training are of one class, or another part has none of theirs or a
            class that they lack; with the setting to change.
    """
    if len(rows) < _MIN_TEXTS:
        raise ValueError(
            f"{len(rows)} texts have a class: must be at least {_MIN_TEXTS}; set data.path to a file with more, or "
            "raise data.limit"
        )
    classes = {row["label"] for row in rows if row["part"] == "training"}
    if len(classes) < 2:
        raise ValueError(
            f"the training texts are of the class {', '.join(classes)!r} alone: must be of two at least; set "
            "data.label to another column"
        )
    for part in ("development", "test"):
        labels = {row["label"] for row in rows if row["part"] == part}
        if unknown := sorted(labels - classes) or (not labels and ["any class"]):
            raise ValueError(f"the {part} texts and the training texts share not {unknown[0]!r}; set data.{part}")

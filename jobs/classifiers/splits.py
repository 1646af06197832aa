"""Labelled texts by the part that they belong to: what models learn, when they stop, and what they are asked about."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.tables import GROUPED, SPLIT, Split
from tiltmeter.jobs.runtime.work import Work, do
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.units import Units, units_of
from tiltmeter.storage.errors import choices
from tiltmeter.storage.store.ledger import Store, TableRef

SHARES = {"test": 0.2, "development": 0.1}
"""Of the texts, where no file is given for a part."""

_MIN_TEXTS = 20


class DivideTexts(Work, unit="decoy_split/2", stage="divide texts", makes=[Split]):
    """The texts that have a class, by the part that they belong to: of the schema ``SPLIT``, or ``GROUPED``."""

    texts: TableRef
    seed: int
    shares: Mapping[str, float] = field(default_factory=lambda: SHARES)

    def tables(self, store: Store) -> Tables:
        """The table ``texts``.

        Raises:
            ValueError: if there are too few, all are of one class, or a group is in files of two parts.
        """
        rows = store.read(self.texts).to_pylist()
        given = {row["part"] for row in rows}
        taken = [{**row, "row": number} for number, row in enumerate(rows) if row["status"] == "ok"]
        shares = {part: share for part, share in self.shares.items() if part not in given}
        parts = [row | {"part": part_of(row["part"], f"{self.seed}\n{_tie(row)}", shares)} for row in taken]
        check_groups(parts)
        check_parts(parts)
        yield "texts", pa.Table.from_pylist(parts, split_schema(parts))


def split_texts(runner: Runner, labelled: TableRef, seed: int) -> TableRef:
    """The texts that have a class, divided; see :class:`DivideTexts`.

    Raises:
        UnitsFailed: if there are too few, all are of one class, or a group is in files of two parts.
    """
    return do(runner, [DivideTexts(label="parts", texts=labelled, seed=seed)]).one(Split)


def _tie(row: Mapping[str, Any]) -> str:
    """What keeps a text in one part with others: its group, or else what it says."""
    return str(row["text"]) if row["group"] is None else f"group\n{row['group']}"


def split_schema(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """``GROUPED`` of rows of which one has a group, otherwise ``SPLIT``."""
    return SPLIT if all(row.get("group") is None for row in rows) else GROUPED


def units_of_texts(rows: Sequence[Mapping[str, Any]]) -> Units:
    """What was drawn independently: groups, and each text that has none.

    >>> units_of_texts([{"group": "ann"}, {"group": None}, {"group": "ann"}])
    Units(codes=array([0, 1, 0]), num=2, kind='group')
    >>> units_of_texts([{"text": "so"}, {"text": "it is"}]).kind
    'text'
    """
    groups = [row.get("group") for row in rows]
    return units_of(groups, "text" if all(group is None for group in groups) else "group")


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


def drawn_order(keys: Sequence[str], seed: int, about: str) -> list[int]:
    """Numbers of texts in an order that depends on what their keys say, and not on where they stand."""
    numbers = [document_key(f"{seed}\n{about}\n{key}") for key in keys]
    return [int(number) for number in np.argsort(np.array(numbers, dtype=np.uint64), kind="stable")]


def check_groups(rows: Sequence[Mapping[str, Any]]) -> None:
    """Of texts with their ``group`` and ``part``.

    Raises:
        ValueError: if texts of one group are in two parts, which files may have been given for.
    """
    seen: dict[str, str] = {}
    for row in rows:
        if row["group"] is not None and seen.setdefault(row["group"], row["part"]) != row["part"]:
            raise ValueError(
                f"the group {row['group']!r} is in the parts {seen[row['group']]} and {row['part']}: must be in one; "
                "leave out data.development and data.test, and texts are divided by their groups"
            )


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
        check_known(labels, classes, part)


def check_known(labels: set[str], classes: set[str], part: str) -> None:
    """Of the labels of a part, which must be classes of the training texts.

    Raises:
        ValueError: naming both, and the setting to change.
    """
    if not labels or labels - classes:
        unknown = min(labels - classes, default="")
        there = f"{len(labels)} classes, among them {unknown!r}" if labels else "no text with a class"
        raise ValueError(
            f"data.{part}: has {there}, and the training texts have {choices(unknown, sorted(classes), repr)}; set "
            f"data.{part} or data.label, or write the labels of both alike"
        )

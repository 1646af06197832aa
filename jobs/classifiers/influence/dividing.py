"""Texts as words with their parts of speech, in parts of which no sentence is in two."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.influence.tables import PREPARED
from tiltmeter.jobs.classifiers.splits import SHARES, check_parts, part_of
from tiltmeter.jobs.classifiers.tables import TAGGED
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.operators.classifiers.influence import nested_texts, parts_of_speech
from tiltmeter.operators.classifiers.influence.nested_texts import containment_clusters
from tiltmeter.operators.classifiers.influence.parts_of_speech import brought_tags, tagged, tags_fault
from tiltmeter.operators.classifiers.influence.records import Context, Spaced
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.tokenised import word_spans
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


class Divided(NamedTuple):
    """Attributes:
    texts: all, with what is wrong with some, of the schema ``TAGGED``.
    prepared: those that have a class and a word, of the schema ``PREPARED``.
    """

    texts: TableRef
    prepared: TableRef


def divide(runner: Runner, labelled: TableRef, max_words: int, seed: int) -> Divided:
    """Texts as words with their parts of speech.

    Args:
        max_words: of a text; the rest is left out.

    Raises:
        UnitsFailed: if there are too few, or all are of one class.
    """
    operators = [nested_texts.VERSION, parts_of_speech.VERSION]
    config = {"seed": seed, "shares": SHARES, "max_words": max_words, "operators": operators}
    unit = Unit("influence_texts/3", "texts as words", config, {"texts": [labelled]})
    [finished] = runner.run_whole(Stage("divide texts", each(_divide), {"data": [unit]}))["data"]
    return Divided(finished.tables["texts"], finished.tables["prepared"])


def _divide(store: Store, unit: Unit) -> Tables:
    rows = [_judged(row) for row in store.read(unit.input("texts")).to_pylist()]
    given = {row["part"] for row in rows}
    spans = [word_spans(row["text"])[: unit.config["max_words"]] for row in rows]
    texts = [[row["text"][start:end] for start, end in places] for row, places in zip(rows, spans, strict=True)]
    kept = [number for number, row in enumerate(rows) if row["status"] == "ok" and texts[number]]
    clusters = _clusters([rows[number] for number in kept], [texts[number] for number in kept])
    tags = _tags([rows[number] for number in kept], [texts[number] for number in kept])
    shares = {part: share for part, share in unit.config["shares"].items() if part not in given}
    seed = unit.config["seed"]
    prepared = [
        {
            "row": number,
            "part": part_of(rows[number]["part"], f"{seed}\nsentence\n{cluster}", shares),
            "label": rows[number]["label"],
            "text": rows[number]["text"][spans[number][0][0] : spans[number][-1][1]],
            "words": texts[number],
            "tags": row_tags,
            "cluster": kept[cluster],
        }
        for number, cluster, row_tags in zip(kept, clusters, tags, strict=True)
    ]
    check_parts(prepared)
    yield "prepared", pa.Table.from_pylist(prepared, PREPARED)
    yield "texts", pa.Table.from_pylist(rows, TAGGED)


def _judged(row: Row) -> Row:
    """A row whose file has parts of speech, with what is wrong with these."""
    if row["status"] != "ok" or "tags" not in row:
        return row
    fault = tags_fault(row["text"], row["tags"] or "")
    return row | failed("tags", fault) if fault else row


def _tags(rows: Sequence[Row], texts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Those of the file, or, if it has none, of a tagger."""
    if not any("tags" in row for row in rows):
        return tagged(texts)
    brought = [brought_tags(row["text"], row["tags"]) for row in rows]
    return [tags[: len(words)] for tags, words in zip(brought, texts, strict=True)]


def _clusters(rows: Sequence[Mapping[str, Any]], texts: Sequence[Sequence[str]]) -> list[int]:
    """By the group that the file gives, or by which texts are parts of others."""
    if all(row["group"] is None for row in rows):
        return [int(number) for number in containment_clusters(texts)]
    names = [row["group"] or f"\n{number}" for number, row in enumerate(rows)]
    first: dict[str, int] = {}
    return [first.setdefault(name, number) for number, name in enumerate(names)]


def part_rows(store: Store, ref: TableRef, part: str) -> list[dict[str, Any]]:
    """The texts of a part, whose words know how they stand."""
    rows = [row for row in store.read(ref).to_pylist() if row["part"] == part]
    return [row | {"words": Spaced.of(row["words"], row["text"])} for row in rows]


def context_of(row: Row) -> Context:
    """Of a row with a text, its words and a place."""
    return Context(Spaced.of(row["words"], row["text"]), row["place"])


def drawn_order(keys: Sequence[str], seed: int, about: str) -> list[int]:
    """Places in an order that depends on what stands there."""
    numbers = [document_key(f"{seed}\n{about}\n{key}") for key in keys]
    return [int(place) for place in np.argsort(np.array(numbers, dtype=np.uint64), kind="stable")]

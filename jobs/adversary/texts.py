"""The texts that are attacked, in parts for the units of work, and the words of them that may be replaced."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.config import GenderAdversaryRun
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.operators.classifiers.adversary import words as adversary_words
from tiltmeter.operators.classifiers.adversary.words import folded, replaceable_word
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_PART = "part_"
_PART_TEXTS = 200
"""Whose replacements are looked for together, which takes longer to begin than to do."""


class AttackedTexts(NamedTuple):
    """Attributes:
    parts: of the schema ``PART``.
    words: those that may be replaced, in small letters, sorted: the column ``word``.
    counts: how often each word is in the texts that can be used, whatever their part: the columns ``word`` and
        ``count``.
    left_out: rows of the data without a text or a class, of the schema ``TEXTS``.
    """

    parts: Sequence[TableRef]
    words: TableRef
    counts: TableRef
    left_out: TableRef


def stop_words() -> frozenset[str]:
    """That nothing replaces: scikit-learn's, as released, and what marks a tweet that is passed on."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset({*ENGLISH_STOP_WORDS, "rt"})


def cut_texts(runner: Runner, config: GenderAdversaryRun, labelled: TableRef, texts: TableRef) -> AttackedTexts:
    """The test texts.

    Args:
        labelled: all rows of the data.
        texts: those that can be used, by part.
    """
    settings = {
        "operator": adversary_words.VERSION,
        "unit_texts": config.unit_texts or _PART_TEXTS,
        "max_texts": config.max_texts,
        "seed": None if config.max_texts is None else config.seed,
    }
    unit = Unit("adversary_texts/2", "texts", settings, {"labelled": [labelled], "texts": [texts]})
    [finished] = runner.run_whole(Stage("cut texts", each(_cut), {"data": [unit]}))["data"]
    parts = [ref for name, ref in finished.tables.items() if name.startswith(_PART)]
    return AttackedTexts(parts, *(finished.tables[name] for name in ("words", "counts", "left_out")))


def _cut(store: Store, unit: Unit) -> Tables:
    labelled, config = store.read(unit.input("labelled")).to_pylist(), unit.config
    texts = store.read(unit.input("texts")).to_pylist()
    rows = [row for row in texts if row["part"] == "test"]
    if config["max_texts"] is not None:
        rows.sort(key=lambda row: (document_key(f"{config['seed']}\n{row['text']}"), row["row"]))
    rows = sorted(rows[: config["max_texts"]], key=lambda row: row["row"])
    for number, start in enumerate(range(0, len(rows), config["unit_texts"])):
        part = [{**row, "group": labelled[row["row"]]["group"]} for row in rows[start : start + config["unit_texts"]]]
        yield f"{_PART}{number:05d}", pa.Table.from_pylist(part, tables.PART)
    words = {replaceable_word(token, stop_words()) for row in rows for token in row["text"].split()} - {None}
    yield "words", pa.table({"word": pa.array(sorted(map(str, words)), pa.string())})
    counts = Counter(word for row in texts for word in folded(row["text"].split()))
    yield "counts", pa.table({"word": pa.array(sorted(counts)), "count": pa.array([counts[w] for w in sorted(counts)])})
    failed = [{**row, "row": number, "victim": ""} for number, row in enumerate(labelled) if row["status"] != "ok"]
    yield "left_out", table_of([_shown(row) for row in failed], tables.TEXTS)


def _shown(row: dict[str, object]) -> dict[str, object]:
    return {name: row[name] for name in ("row", "victim", "text", "label", "group", "status", "reason")}

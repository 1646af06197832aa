"""The texts of a run: read or made up, with two labels, cut into words and dealt to folds."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.tables import LABELLED
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.rows import OK
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.sources import positive_label
from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.sentiment.posterior import made_up
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

LANGUAGE = "en"

_NUM_WORDS = 25
"""Of a review that is made up."""


class Texts(NamedTuple):
    """Attributes:
    rows: the table ``row``, ``text``, ``is_positive``, ``fold`` and ``tokens``, numbers of words.
    vocabulary: the table ``word`` and ``count``, the most frequent first.
    """

    rows: TableRef
    vocabulary: TableRef


class Tokens(NamedTuple):
    """Texts one after the other.

    Attributes:
        words: ``[tokens]``, numbers of words.
        starts: ``[texts + 1]``, where each text begins.
        is_positive, folds: ``[texts]``.
    """

    words: IntArray
    starts: IntArray
    is_positive: BoolArray
    folds: IntArray


def read_texts(runner: Runner, config: SentimentPosteriorRun, sources: Files) -> Texts:
    """Texts and their vocabulary.

    Raises:
        InputError: unless there are two labels, one of which is positive.
    """
    labelled = _labelled(runner, config, sources)
    positive = _positive_label(runner.store, labelled, config.data.positive)
    settings = {
        "tokens": Tokenizer(LANGUAGE).identity,
        "min_count": config.vectors.min_count,
        "folds": config.classifier.folds,
        "positive": positive,
        "seed": config.seed,
    }
    unit = Unit("posterior_texts/1", "words of texts", settings, {"texts": [labelled]})
    [done] = runner.run_whole(Stage("cut texts", each(_cut), {"texts": [unit]}))["texts"]
    return Texts(done.tables["rows"], done.tables["vocabulary"])


def tokens_of(store: Store, ref: TableRef) -> Tokens:
    """The texts of the table ``rows``."""
    table = store.read(ref.select("is_positive", "fold", "tokens"))
    lists = table["tokens"].combine_chunks()
    lengths = lists.value_lengths().to_numpy()
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = lists.flatten().to_numpy().astype(np.int64)
    return Tokens(words, starts, np.asarray(table["is_positive"]).astype(bool), np.asarray(table["fold"], np.int64))


def _labelled(runner: Runner, config: SentimentPosteriorRun, sources: Files) -> TableRef:
    """The rows of the file, or of reviews that are made up, of the schema ``LABELLED``."""
    data = config.data
    if data.path is not None:
        texts = Files({"training": sources.files["training"]})
        return read_labelled_data(runner, data.labelled(data.path), texts, config.seed)
    unit = Unit(made_up.VERSION, "reviews", {"number": data.made_up, "words": _NUM_WORDS, "seed": config.seed})
    [done] = runner.run_whole(Stage("make up texts", each(_make_up), {"texts": [unit]}))["texts"]
    return done.tables["rows"]


def _make_up(_: Store, unit: Unit) -> Tables:
    reviews = made_up.reviews(unit.config["number"], unit.config["words"], unit.config["seed"])
    rows = [{"part": "training", "row": row} | review._asdict() | OK for row, review in enumerate(reviews)]
    yield "rows", pa.Table.from_pylist(rows, LABELLED)


def _positive_label(store: Store, labelled: TableRef, given: str | None) -> str:
    table = pl.DataFrame(store.read(labelled.select("label", "status")))
    return positive_label(table.filter(status="ok")["label"].unique(), given)


def _cut(store: Store, unit: Unit) -> Tables:
    config, tokenizer = unit.config, Tokenizer(LANGUAGE)
    table = store.read(unit.input("texts"))
    rows = [row for row in table.select(["row", "text", "label", "status"]).to_pylist() if row["status"] == "ok"]
    words = [tokenizer(" ".join(row["text"].splitlines())) for row in rows]
    counts = Counter(word for text in words for word in text)
    kept = sorted(
        (word for word in counts if counts[word] >= config["min_count"]), key=lambda word: (-counts[word], word)
    )
    numbers = {word: number for number, word in enumerate(kept)}
    yield "vocabulary", pa.table({"word": pa.array(kept, pa.string()), "count": [counts[word] for word in kept]})
    yield "rows", _rows(rows, words, numbers, config)


def _rows(
    rows: Sequence[dict[str, Any]], words: Sequence[Sequence[str]], numbers: dict[str, int], config: dict[str, Any]
) -> pa.Table:
    """Equal texts belong to one fold."""
    folds = [document_key(f"{config['seed']}\n{row['text']}") % config["folds"] for row in rows]
    tokens = [[numbers[word] for word in text if word in numbers] for text in words]
    return pa.table(
        {
            "row": pa.array([row["row"] for row in rows], pa.int64()),
            "text": pa.array([row["text"] for row in rows], pa.string()),
            "is_positive": pa.array([row["label"] == config["positive"] for row in rows], pa.bool_()),
            "fold": pa.array(folds, pa.int32()),
            "tokens": pa.array(tokens, pa.list_(pa.int32())),
        }
    )

"""Readable features of all texts, and the texts with their features and predictions, as later stages load them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.errors.tables import Features, LexiconWords, Parsed
from tiltmeter.jobs.classifiers.errors.texts import SCORED, OfTexts
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.classifiers.errors import dependencies, readable
from tiltmeter.operators.classifiers.errors.dependencies import dependency_counts, sentences
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.readable import DENSE, ReadableFeatures, lexicon_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef


def _text_of(file: Mapping[str, Any]) -> str:
    with opened(file["uri"]) as content:
        return content.read().decode("utf-8")


class ReadLexicon(Work, unit="lexicon_file/1", stage="read lexicon", makes=[LexiconWords]):
    """Words with their categories."""

    file: Mapping[str, Any]
    operator: str = readable.VERSION

    def rows(self, _: Store) -> Iterator[LexiconWords]:
        """One for each word."""
        lines = [line.split("\t") for line in _text_of(self.file).splitlines() if line.strip()]
        try:
            words = lexicon_of(lines)
        except ValueError as error:
            raise InputError(f"features.lexicon: {redacted(self.file['uri'])}: {error}") from error
        return (LexiconWords(word=word, categories=list(names)) for word, names in words.items())


class ReadParses(Work, unit="conllu_file/1", stage="read conllu", makes=[Parsed]):
    """Dependencies and entities of texts."""

    file: Mapping[str, Any]
    operator: str = dependencies.VERSION

    def rows(self, _: Store) -> Iterator[Parsed]:
        """One for each that a text has."""
        counts: dict[tuple[str, str], int] = {}
        try:
            for sentence in sentences(_text_of(self.file)):
                for feature, num in dependency_counts(sentence).items():
                    counts[sentence.text_id, feature] = counts.get((sentence.text_id, feature), 0) + num
        except ValueError as error:
            raise InputError(f"features.conllu: {redacted(self.file['uri'])}: {error}") from error
        return (Parsed(id=name, feature=feature, count=num) for (name, feature), num in counts.items())


class CountFeatures(OfTexts, unit="readable_features/2", stage="features", makes=[Features]):
    """Features of a part of the texts.

    Attributes:
        lexicon, conllu: what was read of these files; None without one.
        identity: versions of what counts.
        start, size: of the part.
    """

    texts: TableRef
    lexicon: TableRef | None
    conllu: TableRef | None
    lists: Mapping[str, Sequence[str]]
    tags: bool
    identity: Mapping[str, str]
    start: int
    size: int
    operators: Sequence[str] = (readable.VERSION,)

    def tables(self, store: Store) -> Tables:
        """Those that each text has; there are many."""
        part = store.read(self.texts).slice(self.start, self.size).to_pylist()
        rows = [row for row in part if row["status"] in SCORED]
        words = [] if self.lexicon is None else LexiconWords.read(store, self.lexicon)
        count = ReadableFeatures(self.lists, {row.word: row.categories for row in words}, tags=self.tags)
        parsed = self._parsed(store, {row["id"] for row in rows})
        columns: dict[str, list[Any]] = {name: [] for name in Features.schema().names}
        for row in rows:
            readings = count(row["text"])
            num_tokens = max(readings.num_tokens, 1)
            counts: dict[str, float] = {**readings.counts, **parsed.get(row["id"], {})}
            dense = {name: float(getattr(readings, name)) for name in DENSE}
            columns["row"] += [row["row"]] * (len(counts) + len(dense))
            columns["feature"] += [*counts, *dense]
            columns["count"] += [*counts.values(), *dense.values()]
            columns["value"] += [*(num / num_tokens for num in counts.values()), *dense.values()]
        yield "features", pa.table(columns, Features.schema())

    def _parsed(self, store: Store, ids: set[str]) -> dict[str, dict[str, int]]:
        parsed: dict[str, dict[str, int]] = {}
        for row in [] if self.conllu is None else Parsed.read(store, self.conllu):
            if row.id in ids:
                parsed.setdefault(row.id, {})[row.feature] = row.count
        return parsed


# --- texts with their features and predictions ------------------------------------------------------------------------


@dataclass(frozen=True)
class DataSet(Subject):
    """What was read, predicted and counted: tables ``Read``, ``Predicted`` and parts of ``Features``.

    Attributes:
        columns: losses and the user's own columns; None without any.
        edges: that are given, by the column that they cut.
    """

    texts: TableRef
    predicted: TableRef
    features: Sequence[TableRef]
    columns: TableRef | None = None
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The edges, where there are any."""
        return {"edges": dict(self.edges)} if self.edges else {}

    @property
    def inputs(self) -> Mapping[str, Sequence[TableRef]]:
        """All of them."""
        always = {"texts": [self.texts], "predicted": [self.predicted], "features": self.features}
        return always if self.columns is None else always | {"columns": [self.columns]}

    @property
    def digest(self) -> str:
        """Of what was read: rows, and losses."""
        losses = {} if self.columns is None else {"loss": self.columns.columns.get("loss", "")}
        return digest(dict(self.texts.columns) | losses)

    def load(self, store: Store, *statuses: str) -> Examples:
        """Side by side, of texts with one of these statuses, which is usually ok; there may be none."""
        texts, predicted, features, *more = (read_frame(store, refs) for refs in self.inputs.values())
        chosen = texts.filter(pl.col("status").is_in(statuses or ["ok"]))
        return Examples.of(chosen, predicted, features, more[0] if more else None, self.edges)

    def one_kind(self, store: Store) -> str:
        """Why nothing tells errors from other predictions; empty if there are both.

        Raises:
            InputError: if no row can be judged, with what rows lack.
        """
        texts = read_frame(store, [self.texts.select("row", "label", "status", "reason")])
        predicted = read_frame(store, [self.predicted.select("row", "predicted")]).drop_nulls()
        judged = texts.filter(status="ok").join(predicted, on="row")
        if judged.is_empty():
            lacks = texts.filter(pl.col("status") != "ok").group_by("reason").len()
            lacks = lacks.sort("len", "reason", descending=True)
            reasons = [f"{reason} ({num:,} of {texts.height:,})" for reason, num in lacks.rows()]
            raise InputError(f"data.path: no row can be judged: {'; '.join(reasons) or 'no text has a token'}")
        num = judged.filter(pl.col("predicted") != pl.col("label")).height
        if 0 < num < judged.height:
            return ""
        return (
            f"{num:,} of {judged.height:,} predictions are errors, so that nothing tells them from the others; "
            "data.classes renames labels and predictions"
        )


def read_frame(store: Store, refs: Sequence[TableRef]) -> pl.DataFrame:
    """Tables of one schema, one after the other."""
    return pl.concat([pl.DataFrame(pl.from_arrow(store.read(ref))) for ref in refs])

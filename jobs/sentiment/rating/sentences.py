"""The sentences of a run: made from templates or read from a file, described, and cut into chunks of texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.chunks import chunks
from tiltmeter.operators.sentiment import protected_words, sentences
from tiltmeter.operators.sentiment.protected_words import with_proxies
from tiltmeter.operators.sentiment.sentences import make_sentences
from tiltmeter.operators.sentiment.templates import SyntheticSentences
from tiltmeter.operators.text import lengths as text_statistics
from tiltmeter.operators.text.lengths import text_statistics as statistics_of
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, read_records
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_Name = Annotated[str, Field(min_length=1)]
_ATTRIBUTES = ("group", "dataset", "gender", "race", "emotion", "conversation", "speaker")


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Columns:
    """What a file calls its columns; None: it has none such."""

    text: _Name = "text"
    gender: _Name | None = None
    race: _Name | None = None
    emotion: _Name | None = None
    group: _Name | None = None
    dataset: _Name | None = None
    conversation: _Name | None = None
    speaker: _Name | None = None

    def named(self) -> dict[str, str]:
        """Those that the file has, by what they are called here."""
        return {name: called for name, called in asdict(cast(Any, self)).items() if called is not None}


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class FileSentences:
    """Texts in a CSV, TSV or Parquet file.

    Attributes:
        path: of one file, local or a URI.
        columns: what the file calls them.
        speakers: whose turns to take; None: everyone's.
        proxies: by gender, what to put before a text that does not tell it. A file with a gender gets the proxy of each
            text's gender; one without gets what ``proxies_per`` says. None: texts stay as they are.
        proxies_per: ``text`` takes each text once with every proxy; ``conversation`` deals the conversations, in the
            order in which they begin, to the proxies in even runs, as Lakkaraju et al. 2023 did.
    """

    kind: Literal["file"]
    path: Annotated[str, Field(min_length=1)]
    columns: Columns = Field(default_factory=Columns)
    speakers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    proxies: Annotated[dict[str, str], Field(min_length=2)] | None = None
    proxies_per: Literal["text", "conversation"] = "text"

    @pydantic.model_validator(mode="after")
    def _can_be_rated(self) -> Self:
        if self.columns.gender is None and self.columns.race is None and self.proxies is None:
            raise ValueError(
                "sentences.columns: the file gives neither gender nor race: name a column (sentences.columns.gender="
                "<name>), or take sentences=human, which puts words before texts that tell a gender"
            )
        for needed, setting in (
            (self.speakers is not None and self.columns.speaker is None, "speakers needs sentences.columns.speaker"),
            (
                self.proxies_per == "conversation" and self.columns.conversation is None,
                "proxies_per=conversation needs sentences.columns.conversation",
            ),
        ):
            if needed:
                raise ValueError(f"sentences.{setting}=<name of the column>")
        return self

    def file(self) -> FoundFile:
        """The file, which has the columns.

        Raises:
            InputError: if it is missing, can't be read, or lacks a column.
        """
        file = find_file(self.path, "sentences.path")
        check_columns(file.uri, list(self.columns.named().values()), "sentences.columns")
        return file


Sentences = SyntheticSentences | FileSentences


@dataclass(frozen=True)
class Texts:
    """Sentences, and their different texts in chunks.

    Attributes:
        sentences: table ``sentences``.
        descriptions: table ``descriptions``.
        chunks: tables with the column ``text``.
    """

    sentences: TableRef
    descriptions: TableRef
    chunks: Sequence[TableRef]


def find_texts(runner: Runner, config: Sentences, file: FoundFile | None, seed: int, unit_texts: int) -> Texts:
    """Make or read the sentences.

    Args:
        file: of a config that names one.
        unit_texts: texts of a chunk, on average.

    Raises:
        UnitsFailed: if they could not be read.
    """
    done = runner.run_whole(Stage("sentences", each(_find), {"sentences": [_unit(config, file, seed, unit_texts)]}))
    [finished] = done["sentences"]
    return Texts(finished.tables["sentences"], finished.tables["descriptions"], _chunks(finished))


def _chunks(finished: Finished) -> list[TableRef]:
    return [ref for name, ref in sorted(finished.tables.items()) if name.startswith("texts")]


def _unit(config: Sentences, file: FoundFile | None, seed: int, unit_texts: int) -> Unit:
    settings: dict[str, Any] = {"unit_texts": unit_texts, "statistics": text_statistics.VERSION}
    if file is None:
        return Unit(sentences.VERSION, "synthetic", settings | {"sentences": config, "seed": seed})
    settings |= file.identity | {"sentences": config, "proxies": protected_words.VERSION}
    return Unit("sentence_file/1", redacted(file.uri), settings)


def _find(_: Store, unit: Unit) -> Tables:
    config: Sentences = unit.config["sentences"]
    if isinstance(config, SyntheticSentences):
        made = [sentence._asdict() for sentence in make_sentences(config, unit.config["seed"])]
        rows = pl.DataFrame(made, infer_schema_length=None)
    else:
        rows = _of_file(config, unit.config["uri"])
    rows = rows.with_row_index("sentence")
    missing = [field.name for field in tables.SENTENCES if field.name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in missing)
    yield "sentences", rows.select(tables.SENTENCES.names).to_arrow().cast(tables.SENTENCES)
    yield "descriptions", pa.Table.from_pylist(list(_descriptions(rows)), tables.DESCRIPTIONS)
    for number, chunk in enumerate(chunks(rows["text"], unit.config["unit_texts"])):
        yield f"texts_{number:06d}", pa.table({"text": pa.array(chunk, pa.string())})


def _of_file(config: FileSentences, uri: str) -> pl.DataFrame:
    """A row for each text; more for a text that gets several proxies."""
    named = config.columns.named()
    read = read_records(uri, list(dict.fromkeys(named.values())))
    rows = read.select(pl.col(called).cast(pl.String).alias(name) for name, called in named.items())
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in _ATTRIBUTES if name not in named)
    if config.speakers is not None:
        rows = rows.filter(pl.col("speaker").is_in(config.speakers))
    rows = rows.filter(pl.col("text").str.strip_chars() != "")
    if rows.is_empty():
        raise InputError(f"sentences.path={redacted(uri)}: has no text to rate (sentences.speakers={config.speakers})")
    rows = rows.with_columns(pl.col("group").fill_null("texts"), pl.col("dataset").fill_null("all"))
    return rows if config.proxies is None else _with_proxies(rows, config, config.proxies)


def _with_proxies(rows: pl.DataFrame, config: FileSentences, proxies: Mapping[str, str]) -> pl.DataFrame:
    genders = rows["gender"].to_list() if config.columns.gender else None
    if genders is None and config.proxies_per == "conversation":
        genders = _dealt(rows["conversation"].to_list(), list(proxies))
    versions = with_proxies(rows["text"].to_list(), proxies, genders)
    texts = pl.DataFrame(
        [{"text": one.text, "gender": one.gender, "protected_words": one.protected_words} for one in versions]
    )
    return rows[[one.row for one in versions]].drop("text", "gender").hstack(texts)


def _dealt(conversations: Sequence[str | None], genders: Sequence[str]) -> list[str | None]:
    """A gender for each text: conversations in the order in which they begin, in runs as even as possible."""
    runs = np.array_split(list(dict.fromkeys(conversations)), len(genders))
    gender_of = {conversation: gender for gender, run in zip(genders, runs, strict=True) for conversation in run}
    return [gender_of[conversation] for conversation in conversations]


def _descriptions(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for (group, dataset, speaker), part in rows.group_by("group", "dataset", "speaker", maintain_order=True):
        conversations = part["conversation"]
        known = None if conversations.is_null().all() else conversations.to_list()
        statistics = statistics_of(part["text"].to_list(), known)
        yield {"group": group, "dataset": dataset, "speaker": speaker, **statistics._asdict()}

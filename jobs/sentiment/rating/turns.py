"""Texts that a user brings, such as turns of conversations: read from a file, and made to tell a gender."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
import polars as pl
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.operators.sentiment.protected_words import GENDERS, with_proxies
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, labels, look_through, read_records
from tiltmeter.storage.records.cells import TEXT, Rule, Rules, one_of, spelled

VERSION = "sentence_file/2"

EVERY = "every"
"""Instead of a gender: a text whose gender is not known comes once with every proxy."""

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


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid", coerce_numbers_to_str=True))
class FileSentences:
    """Texts in a CSV, TSV or Parquet file.

    Attributes:
        path: of one file, local or a URI.
        columns: what the file calls them. Texts of a file with speakers but no group are grouped by speaker.
        genders: what the codes in the column of genders mean, with null for one that is not disclosed; any other is
            refused. None: the column has the genders that ``proxies`` have, or male, female and neutral.
        speakers: whose turns to take; None: everyone's.
        proxies: by gender, what to put before a text that does not tell it. A file with a gender gets the proxy of each
            text's gender; one without gets what ``proxies_per`` says. None: texts stay as they are.
        proxy_speakers: whose turns get a proxy. The turns of others stay as they are, and have the gender of those whom
            they speak with. None: everyone's, in a file of one speaker.
        proxies_per: ``text`` takes each text once with every proxy; ``conversation`` deals the conversations, in the
            order in which they begin, to the proxies in even runs, as the program does that was published with
            Lakkaraju et al. 2023, for the second chatbot, whose users' gender was not known (the paper: "uniformly").
        unknown_gender: of texts whose gender the column does not tell: one of ``proxies``, or ``every``.
    """

    kind: Literal["file"]
    path: Annotated[str, Field(min_length=1)]
    columns: Columns = Field(default_factory=Columns)
    genders: Annotated[dict[str, str | None], Field(min_length=1)] | None = None
    speakers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    proxies: Annotated[dict[str, str], Field(min_length=2)] | None = None
    proxy_speakers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    proxies_per: Literal["text", "conversation"] = "text"
    unknown_gender: str = "neutral"

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
                self.proxy_speakers is not None and self.columns.speaker is None,
                "proxy_speakers needs sentences.columns.speaker",
            ),
            (
                self.proxies_per == "conversation" and self.columns.conversation is None,
                "proxies_per=conversation needs sentences.columns.conversation",
            ),
            (
                self.genders is not None and self.columns.gender is None,
                "genders needs sentences.columns.gender",
            ),
        ):
            if needed:
                raise ValueError(f"sentences.{setting}=<name of the column>")
        return self

    @pydantic.model_validator(mode="after")
    def _proxies_have_their_place(self) -> Self:
        if self.proxies is None:
            if self.proxy_speakers is not None:
                raise ValueError("sentences.proxy_speakers needs sentences.proxies, as sentences=human has them")
            return self
        has_sides = self.columns.speaker is not None and len(self.speakers or (None, None)) > 1
        if has_sides and self.proxy_speakers is None:
            raise ValueError(
                "sentences.proxy_speakers: must name the speakers whose turns get a proxy, for example [user]: turns "
                "of the others, such as a chatbot's, are rated by the gender of those whom they speak with"
            )
        allowed = [*self.proxies, EVERY]
        if self.columns.gender is not None and self.unknown_gender not in allowed:
            raise ValueError(f"sentences.unknown_gender={self.unknown_gender}: must be one of {', '.join(allowed)}")
        if unknown := sorted({gender for gender in (self.genders or {}).values() if gender} - self.proxies.keys()):
            raise ValueError(
                f"sentences.genders: {', '.join(unknown)} must be one of {', '.join(self.proxies)}, or null; or give "
                "it a prefix in sentences.proxies"
            )
        return self

    @property
    def rules(self) -> Rules:
        """Of the cells of its columns."""
        rules: dict[str, list[Rule]] = {self.columns.text: [TEXT]}
        if self.columns.gender is not None:
            known = one_of([*_meanings(self)])
            advice = (
                "sentences.genders={0: null, 1: male, 2: female} says what codes mean, null of what is not disclosed"
            )
            rules[self.columns.gender] = [known._replace(reason=f"a gender that is {known.reason} ({advice})")]
        return rules

    def file(self) -> FoundFile:
        """The file, which has the columns, and in them no gender and no speaker that is not known.

        Raises:
            InputError: if it is missing, can't be read, lacks a column, or has such a value.
        """
        file = find_file(self.path, "sentences.path")
        columns = list(dict.fromkeys(self.columns.named().values()))
        check_columns(file.uri, columns, "sentences.columns")
        look_through(file.uri, columns, "sentences.path", rules=self.rules)
        if self.proxy_speakers is not None and self.columns.speaker is not None:
            _check_speakers(_column(file.uri, self.columns.speaker), self.proxy_speakers, file.uri)
        return file


def read_turns(config: FileSentences, uri: str) -> pl.DataFrame:
    """The texts of a file, as they are.

    Raises:
        InputError: if there is none, or the speakers with a proxy do not tell whom others speak with.
    """
    read = config.columns.named()
    records = read_records(uri, list(dict.fromkeys(read.values())), rules=config.rules)
    rows = records.select(
        records[called].cast(pl.String).alias(name) if name == "text" else labels(records[called]).alias(name)
        for name, called in read.items()
    )
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in _ATTRIBUTES if name not in read)
    meanings = _meanings(config)
    genders = spelled(rows["gender"], [*meanings]).replace_strict(meanings, default=None, return_dtype=pl.String)
    rows = rows.with_columns(genders)
    if config.proxy_speakers is not None:
        rows = rows.with_columns(_partners(rows, config, uri))
    if config.speakers is not None:
        rows = rows.filter(pl.col("speaker").is_in(config.speakers))
    if rows.is_empty():
        raise InputError(f"sentences.path={redacted(uri)}: has no text to rate (sentences.speakers={config.speakers})")
    group = pl.col("group") if config.columns.group else pl.col("speaker")
    return rows.with_columns(group.fill_null("texts").alias("group"), pl.col("dataset").fill_null("all"))


def _column(uri: str, name: str) -> pl.Series:
    return labels(read_records(uri, [name])[name])


def _meanings(config: FileSentences) -> Mapping[str, str | None]:
    return config.genders or {gender: gender for gender in config.proxies or GENDERS}


def _check_speakers(column: pl.Series, proxy_speakers: Sequence[str], uri: str) -> None:
    known = column.drop_nulls().unique().sort().to_list()
    if unknown := sorted(set(proxy_speakers) - set(known)):
        raise InputError(
            f"sentences.proxy_speakers: {redacted(uri)} has no turn of {', '.join(map(repr, unknown))}; its speakers "
            f"are {choices(unknown[0], known, repr)}"
        )


def _partners(rows: pl.DataFrame, config: FileSentences, uri: str) -> pl.Series:
    """Genders, with those of the speakers who get a proxy for the other turns of their conversations."""
    proxy_speakers = config.proxy_speakers or ()
    users = rows.filter(pl.col("speaker").is_in(proxy_speakers)).drop_nulls(["conversation", "gender"])
    by_conversation = users.group_by("conversation", maintain_order=True).agg(pl.col("gender").unique().sort())
    for conversation, genders in by_conversation.filter(pl.col("gender").list.len() > 1).rows():
        raise InputError(
            f"sentences.path={redacted(uri)}: the speakers with a proxy are {' and '.join(genders)} in conversation "
            f"{conversation!r}, so that nothing tells whom the others speak with; give every turn a gender"
        )
    partners = rows.select("conversation").join(
        by_conversation.explode("gender"), on="conversation", how="left", maintain_order="left"
    )
    return rows["gender"].fill_null(partners["gender"]) if users.height else rows["gender"]


def with_words(rows: pl.DataFrame, config: FileSentences, proxies: Mapping[str, str]) -> pl.DataFrame:
    """Turns that tell a gender by words before them; several of a text that gets every proxy."""
    takes_proxy = pl.lit(value=True)
    if config.proxy_speakers is not None:
        takes_proxy = pl.col("speaker").is_in(config.proxy_speakers).fill_null(value=False)
    rows = rows.with_columns(takes_proxy.alias("takes_proxy"))
    genders = _assigned(rows, config, list(proxies))
    versions = with_proxies(rows["text"].to_list(), proxies, genders, rows["takes_proxy"].to_list())
    texts = pl.DataFrame(
        [{"text": one.text, "gender": one.gender, "protected_words": one.protected_words} for one in versions],
        schema={"text": pl.String, "gender": pl.String, "protected_words": pl.List(pl.String)},
    )
    return rows[[one.row for one in versions]].drop("text", "gender").hstack(texts)


def _assigned(rows: pl.DataFrame, config: FileSentences, genders: Sequence[str]) -> list[str | None]:
    """The gender of each text, None for one that is to come with every proxy.

    In a file with genders, the partner of somebody who did not disclose theirs has the same.
    """
    if config.columns.gender is not None and config.unknown_gender != EVERY:
        is_assigned = pl.col("takes_proxy") | pl.col("conversation").is_not_null()
        unknown = pl.when(is_assigned).then(pl.lit(config.unknown_gender))
        return rows.select(pl.col("gender").fill_null(unknown))["gender"].to_list()
    if config.columns.gender is None and config.proxies_per == "conversation":
        return _dealt(rows["conversation"].to_list(), genders)
    return rows["gender"].to_list()


def _dealt(conversations: Sequence[str | None], genders: Sequence[str]) -> list[str | None]:
    """A gender for each text: conversations in the order in which they begin, in runs as even as possible."""
    runs = np.array_split(list(dict.fromkeys(conversations)), len(genders))
    gender_of = {conversation: gender for gender, run in zip(genders, runs, strict=True) for conversation in run}
    return [gender_of[conversation] for conversation in conversations]

"""The sentences of a run: made from templates or read from a file, described, and cut into chunks of texts."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import InputFile
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.sentiment.rating.config import EVERY, FileSentences, RatingRun
from tiltmeter.jobs.sentiment.rating.tables import Descriptions, Sentences, arrow_table
from tiltmeter.operators.sentiment import protected_words, sentences
from tiltmeter.operators.sentiment.protected_words import with_proxies
from tiltmeter.operators.sentiment.sentences import make_sentences
from tiltmeter.operators.sentiment.templates import SyntheticSentences
from tiltmeter.operators.text import lengths
from tiltmeter.operators.text.lengths import text_statistics
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, labels, look_through, read_records
from tiltmeter.storage.records.cells import spelled
from tiltmeter.storage.store.ledger import Store, TableRef

_FILE_VERSION = "sentence_file/2"
_ATTRIBUTES = ("group", "dataset", "gender", "race", "emotion", "conversation", "speaker")
_HASH_VALUES = 2**64


class Texts(NamedTuple):
    """Sentences, as a table, and their different texts in chunks: tables with the column ``text``."""

    sentences: TableRef
    chunks: Sequence[TableRef]


class MakeSentences(Work, unit=sentences.VERSION, stage="sentences", makes=[Sentences, Descriptions]):
    """Sentences from templates."""

    sentences: SyntheticSentences
    seed: int
    unit_texts: int
    statistics: str = lengths.VERSION

    def tables(self, store: Store) -> Tables:  # noqa: ARG002
        """Sentences, what they are like, and their texts in chunks."""
        made = [sentence._asdict() for sentence in make_sentences(self.sentences, self.seed)]
        rows = pl.DataFrame(made, infer_schema_length=None).with_columns(speaker=None, conversation=None)
        return _described(rows, rows, self.unit_texts)


class ReadSentences(Work, unit=_FILE_VERSION, stage="sentences", makes=[Sentences, Descriptions]):
    """Sentences of a file."""

    file: InputFile
    sentences: FileSentences
    unit_texts: int
    statistics: str = lengths.VERSION
    proxies: str = protected_words.VERSION

    def tables(self, store: Store) -> Tables:  # noqa: ARG002
        """Sentences, what they are like without words before them, and their texts in chunks."""
        plain = read_turns(self.sentences, self.file.file.uri)
        proxies = self.sentences.proxies
        rows = plain if proxies is None else with_words(plain, self.sentences, proxies)
        return _described(rows, plain, self.unit_texts)


def find_texts(run: Run[RatingRun, Any], file: FoundFile | None) -> Texts:
    """Make or read the sentences, and publish them with what they are like.

    Args:
        file: of a config that names one.

    Raises:
        UnitsFailed: if they could not be read.
    """
    config = run.config
    if isinstance(config.sentences, SyntheticSentences):
        work: Work = MakeSentences(
            label="synthetic",
            group="sentences",
            sentences=config.sentences,
            seed=config.seed,
            unit_texts=config.unit_texts,
        )
    else:
        there = cast(FoundFile, file)
        work = ReadSentences(
            label=redacted(there.uri),
            group="sentences",
            file=InputFile(there),
            sentences=config.sentences,
            unit_texts=config.unit_texts,
        )
    [(_, finished)] = run.do([work]).pairs
    parts = [ref for name, ref in sorted(finished.tables.items()) if name.startswith("texts")]
    return Texts(finished.tables["sentences"], parts)


def _described(rows: pl.DataFrame, plain: pl.DataFrame, unit_texts: int) -> Tables:
    """Tables of sentences, of which others may be described: they lack the words that were put before them."""
    rows = rows.with_row_index("sentence")
    missing = [name for name in Sentences.schema().names if name not in rows.columns]
    yield "sentences", arrow_table(Sentences, rows.with_columns(pl.lit(None).alias(name) for name in missing))
    yield "descriptions", pa.Table.from_pylist(list(_descriptions(plain)), Descriptions.schema())
    for number, chunk in enumerate(chunks(rows["text"], unit_texts)):
        yield f"texts_{number:06d}", pa.table({"text": pa.array(chunk, pa.string())})


def _descriptions(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Of the texts as they are, without words that were put before them."""
    for (group, dataset, speaker), part in rows.group_by("group", "dataset", "speaker", maintain_order=True):
        conversations = part["conversation"]
        known = None if conversations.is_null().all() else conversations.to_list()
        statistics = text_statistics(part["text"].to_list(), known)
        yield {"group": group, "dataset": dataset, "speaker": speaker, **statistics._asdict()}


def chunks(texts: Iterable[str], mean_size: int) -> list[list[str]]:
    """Each text once, in chunks of ``mean_size`` on average: units of work that are found again after texts were added.

    Texts are ordered by one half of their digest; the other half says after which of them a chunk may end, once it has
    half the mean size. It ends at twice that size at the latest. So a text that is added changes its own chunk, and
    some after it until one ends where it did before.

    >>> [len(chunk) for chunk in chunks(map(str, range(100)), mean_size=20)]
    [40, 14, 10, 13, 13, 10]
    """
    smallest, largest = max(1, mean_size // 2), 2 * mean_size
    parts: list[list[str]] = [[]]
    for _, end, text in sorted((*_halves(text), text) for text in set(texts)):
        parts[-1].append(text)
        may_end = end < _HASH_VALUES // max(1, mean_size - smallest)
        if len(parts[-1]) >= smallest and (may_end or len(parts[-1]) >= largest):
            parts.append([])
    return [chunk for chunk in parts if chunk]


def _halves(text: str) -> tuple[int, int]:
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")


# --- texts of a file ------------------------------------------------------------------------------------------------


def find_turns(config: FileSentences) -> FoundFile:
    """The file, which has the columns, and in them no gender and no speaker that is not known.

    Raises:
        InputError: if it is missing, can't be read, lacks a column, or has such a value.
    """
    file = find_file(config.path, "sentences.path")
    columns = list(dict.fromkeys(config.columns.named.values()))
    check_columns(file.uri, columns, "sentences.columns")
    look_through(file.uri, columns, "sentences.path", rules=config.rules)
    if config.proxy_speakers is not None and config.columns.speaker is not None:
        column = config.columns.speaker
        known = labels(read_records(file.uri, [column])[column]).drop_nulls().unique().sort().to_list()
        if unknown := sorted(set(config.proxy_speakers) - set(known)):
            raise InputError(
                f"sentences.proxy_speakers: {redacted(file.uri)} has no turn of {', '.join(map(repr, unknown))}; its "
                f"speakers are {choices(unknown[0], known, repr)}"
            )
    return file


def read_turns(config: FileSentences, uri: str) -> pl.DataFrame:
    """The texts of a file, as they are.

    Raises:
        InputError: if there is none, or the speakers with a proxy do not tell whom others speak with.
    """
    read = config.columns.named
    records = read_records(uri, list(dict.fromkeys(read.values())), rules=config.rules)
    rows = records.select(
        records[called].cast(pl.String).alias(name) if name == "text" else labels(records[called]).alias(name)
        for name, called in read.items()
    )
    rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in _ATTRIBUTES if name not in read)
    meanings = config.meanings
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

"""The sentences of a run: made from templates or read from a file, described, and cut into chunks of texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.sentiment.rating import tables, turns
from tiltmeter.jobs.sentiment.rating.chunks import chunks
from tiltmeter.jobs.sentiment.rating.turns import FileSentences, read_turns, with_words
from tiltmeter.operators.sentiment import protected_words, sentences
from tiltmeter.operators.sentiment.sentences import make_sentences
from tiltmeter.operators.sentiment.templates import SyntheticSentences
from tiltmeter.operators.text import lengths as text_statistics
from tiltmeter.operators.text.lengths import text_statistics as statistics_of
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

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
    return Unit(turns.VERSION, redacted(file.uri), settings)


def _find(_: Store, unit: Unit) -> Tables:
    config: Sentences = unit.config["sentences"]
    if isinstance(config, SyntheticSentences):
        made = [sentence._asdict() for sentence in make_sentences(config, unit.config["seed"])]
        rows = plain = pl.DataFrame(made, infer_schema_length=None).with_columns(speaker=None, conversation=None)
    else:
        plain = read_turns(config, unit.config["uri"])
        rows = plain if config.proxies is None else with_words(plain, config, config.proxies)
    rows = rows.with_row_index("sentence")
    missing = [field.name for field in tables.SENTENCES if field.name not in rows.columns]
    rows = rows.with_columns(pl.lit(None).alias(name) for name in missing)
    yield "sentences", rows.select(tables.SENTENCES.names).to_arrow().cast(tables.SENTENCES)
    yield "descriptions", pa.Table.from_pylist(list(_descriptions(plain)), tables.DESCRIPTIONS)
    for number, chunk in enumerate(chunks(rows["text"], unit.config["unit_texts"])):
        yield f"texts_{number:06d}", pa.table({"text": pa.array(chunk, pa.string())})


def _descriptions(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Of the texts as they are, without words that were put before them."""
    for (group, dataset, speaker), part in rows.group_by("group", "dataset", "speaker", maintain_order=True):
        conversations = part["conversation"]
        known = None if conversations.is_null().all() else conversations.to_list()
        statistics = statistics_of(part["text"].to_list(), known)
        yield {"group": group, "dataset": dataset, "speaker": speaker, **statistics._asdict()}

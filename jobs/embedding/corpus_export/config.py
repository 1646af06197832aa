"""Settings of `corpus_export`, which ``conf/job/corpus_export.yaml`` explains, and what a run starts from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.embedding.config import CorporaRun, check_language
from tiltmeter.jobs.embedding.corpus_export.tables import LEVELS, Level
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.jobs.runtime.config import each_once
from tiltmeter.jobs.runtime.settings.fields import settings
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora import corpora
from tiltmeter.storage.corpora.corpora import Source, check_any_readable, downloaded
from tiltmeter.storage.corpora.datasets import DatasetFormat
from tiltmeter.storage.corpora.formats.mediawiki import read_header
from tiltmeter.storage.store.ledger import Store

WIKIPEDIA = ("cc-by-sa-4.0", "gfdl")
"""Under which its text is, both at once."""

_DATE = re.compile(r"(?<!\d)([12]\d{3})-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)")

_License = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]


def _a_date(text: str) -> str:
    if dump_date(text) != text:
        raise ValueError("must be a date such as 2026-05-01")
    return text


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@settings
class CorpusExportJob:
    name: Literal["corpus_export"]


@settings
class Export:
    levels: Annotated[tuple[Level, ...], Field(min_length=1), AfterValidator(each_once)]
    format: DatasetFormat
    shard_megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    license: Annotated[tuple[_License, ...], Field(min_length=1), AfterValidator(each_once)] | None
    dump_date: Annotated[str, AfterValidator(_a_date)] | None

    @property
    def ordered(self) -> list[Level]:
        """The levels in their own order, by which the first is what opens without a name."""
        return [level for level in LEVELS if level in self.levels]


@settings
class CorpusExportRun(CorporaRun):
    job: CorpusExportJob
    export: Export

    @pydantic.model_validator(mode="after")
    def _has_one_corpus(self) -> Self:
        if len(self.corpora) > 1:
            names = ", ".join(corpus.name for corpus in self.corpora)
            raise ValueError(
                f"corpus: job=corpus_export makes a data set of one corpus, not of {names}; run it for each"
            )
        if "tokens" in self.export.levels:
            check_language(self.corpora[0])
        return self


@dataclass(frozen=True)
class ExportSources:
    """Attributes:
    text: the corpus.
    license: of its text, as the hub names it; empty where it is not known.
    dump_date: as YYYY-MM-DD; None where no file says it, or files differ.
    is_wikipedia: whether its dumps are of a Wikipedia.
    """

    text: Text
    license: Sequence[str]
    dump_date: str | None
    is_wikipedia: bool

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        files = [{"name": one.name, "bytes": one.num_bytes, "version": one.version} for one in self.text.sources]
        return {self.text.name: files}


def find_sources(config: CorpusExportRun) -> ExportSources:
    """Look for the files; those to be downloaded are copied into the store.

    Raises:
        InputError: if a file is missing or in no known format, or none can be read.
    """
    [corpus], export = config.corpora, config.export
    sources = corpora.find_sources(downloaded(corpus, Store(config.store).root))
    check_any_readable(sources)
    # Without words there is nothing to tell apart, in a language of whatever script.
    tokenizer = Tokenizer(corpus.language if "tokens" in export.levels else "und", fold_case=False)
    of_wikipedia = all(is_wikipedia(source) for source in sources)
    license = export.license or (WIKIPEDIA if of_wikipedia else ())
    dates = {dump_date(source.name) for source in sources}
    only = dates.pop() if len(dates) == 1 else None
    text = Text(corpus.name, corpus, sources, tokenizer, {})
    return ExportSources(text, license, export.dump_date or only, of_wikipedia)


def is_wikipedia(source: Source) -> bool:
    """Whether a file is a dump of a Wikipedia, by the address that it gives for its wiki."""
    if source.format != "mediawiki":
        return False
    header = read_header(source.uri, source.compression, source.encoding)
    return (urlsplit(header.base).hostname or "").endswith(".wikipedia.org")


def dump_date(name: str) -> str | None:
    """The date in the name of a file.

    >>> dump_date("simplewiki-20260501-pages-articles.xml.bz2"), dump_date("enwiki-latest-pages-articles.xml")
    ('2026-05-01', None)
    """
    dates = ("-".join(match.groups()) for match in _DATE.finditer(name))
    return next(filter(_is_date, dates), None)

"""Settings of `corpus_export`, which ``conf/job/corpus_export.yaml`` explains, and what a run starts from."""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.embedding.config import CorporaRun, check_language
from tiltmeter.jobs.embedding.corpus_export.tables import LEVELS, Level
from tiltmeter.jobs.embedding.sources import Sources, Text
from tiltmeter.jobs.runtime.config import each_once
from tiltmeter.jobs.runtime.settings.fields import settings
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.corpora import corpora
from tiltmeter.storage.corpora.cards import dump_date
from tiltmeter.storage.corpora.corpora import Source, check_any_readable, downloaded
from tiltmeter.storage.corpora.datasets import DatasetFormat
from tiltmeter.storage.store.ledger import Store

_License = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]


def _a_date(text: str) -> str:
    if dump_date([text]) != text:
        raise ValueError("must be a date such as 2026-05-01")
    return text


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

    def date(self, sources: Iterable[Source]) -> str | None:
        """Of the dump: what is set, or what the names of all its files say."""
        return self.dump_date or dump_date(source.name for source in sources)


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


def find_sources(config: CorpusExportRun) -> Sources:
    """Look for the files; those to be downloaded are copied into the store.

    Raises:
        InputError: if a file is missing or in no known format, or none can be read.
    """
    [corpus] = config.corpora
    sources = corpora.find_sources(downloaded(corpus, Store(config.store).root))
    check_any_readable(sources)
    # Without words there is nothing to tell apart, in a language of whatever script.
    tokenizer = Tokenizer(corpus.language if "tokens" in config.export.levels else "und", fold_case=False)
    return Sources(texts=[Text(corpus.name, corpus, sources, tokenizer, {})])

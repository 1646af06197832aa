"""What one unit reads of a corpus: a span of a file, or many small files, of which each by itself would cost a unit of
every stage.

Which small files are together depends on their names and sizes alone, and a run of them ends behind a file whose name
says so: one file more or less moves the ends of one run.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.storage.corpora.corpora import Page, Source, Span, pages_of, split
from tiltmeter.storage.corpora.pages import Repairs
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Unit

_SMALL_SHARE = 1 / 4
"""Of a shard, below which a file is small."""

_NUM_FILES = 512
"""Of almost no size, that one unit reads on average: each takes a request or two to open."""

_MOST_SHARES = 2
"""Of what a run has on average."""


@dataclass(frozen=True)
class Part:
    """What one unit reads: a span of a file, or the whole of several that have markup and prefixes in common."""

    sources: Sequence[Source]
    span: Span

    @property
    def identity(self) -> dict[str, Any]:
        """What a unit says of it; of one file, what was said before files shared units."""
        if len(self.sources) == 1:
            return {"source": self.sources[0], "span": self.span}
        return {"sources": list(self.sources)}

    @property
    def title(self) -> str:
        """For people."""
        first, *others = self.sources
        return f"{first.name} from {self.span.start:,}" + (f" and {plural(len(others), 'more file')}" if others else "")


def parts_of(sources: Sequence[Source], span_megabytes: float, shard_megabytes: float) -> Iterator[Part]:
    """The parts of a corpus, in its order; arguments as of :func:`runs_of`."""
    for run in runs_of(sources, span_megabytes, shard_megabytes):
        spans = [Span(0, run[0].num_bytes)]
        if len(run) == 1:
            # Where it fails, reading fails in the same way, as a unit, and so alone.
            with suppress(InputError):
                spans = split(run[0], span_megabytes)
        yield from (Part(run, span) for span in spans)


def runs_of(sources: Sequence[Source], span_megabytes: float, shard_megabytes: float) -> Iterator[tuple[Source, ...]]:
    """Small files that are read together, and each large one by itself; no file is opened.

    Args:
        sources: of a corpus.
        span_megabytes: size of the spans of a file that can be cut.
        shard_megabytes: of text that later stages take together; what is far smaller is a small file.
    """
    small_bytes = min(shard_megabytes * _SMALL_SHARE, span_megabytes) * 1e6
    for kind, group in groupby(sources, partial(_kind, small_bytes)):
        alike = list(group)
        yield from [(source,) for source in alike] if kind is None else _runs(alike, shard_megabytes * 1e6)


def _kind(small_bytes: float, source: Source) -> tuple[str, tuple[str, ...]] | None:
    """What small files need to have in common; None for a large one, and for one that fails when it is read."""
    is_small = source.num_bytes < small_bytes and source.format != "unreadable"
    return (source.markup, source.media_prefixes) if is_small else None


def _runs(sources: Sequence[Source], shard_bytes: float) -> Iterator[tuple[Source, ...]]:
    run: list[Source] = []
    shares = 0.0
    for source in sources:
        share = source.num_bytes / shard_bytes + 1 / _NUM_FILES
        run.append(source)
        shares += share
        if document_key(source.name) / 2**64 < share or shares > _MOST_SHARES:
            yield tuple(run)
            run, shares = [], 0.0
    if run:
        yield tuple(run)


class PartPages(Repairs):
    """The pages of what a unit reads, to be iterated once, and what was replaced or left out of them so far."""

    def __init__(self, unit: Unit, document_bytes: int, field: str | None = None) -> None:
        super().__init__()
        self._sources = unit.config.get("sources") or [unit.config["source"]]
        self._span, self._document_bytes, self._field = unit.config.get("span"), document_bytes, field

    @property
    def described(self) -> dict[str, Any]:
        """What the table of the sources says of all of them."""
        return {"markup": self._sources[0].markup, "media_prefixes": self._sources[0].media_prefixes}

    def __iter__(self) -> Iterator[Page]:
        """The pages, file after file.

        Raises:
            InputError: naming each file that is damaged.
        """
        problems: list[InputError] = []
        for source in self._sources:
            span = self._span or Span(0, source.num_bytes)
            try:
                yield from pages_of(source, span, self, self._document_bytes, self._field)
            except InputError as error:
                problems.append(error)
        if problems:
            more = f"; and {plural(len(problems) - 1, 'more file')}" if problems[1:] else ""
            raise InputError(f"{problems[0]}{more}", is_unreadable=problems[0].is_unreadable) from problems[0]

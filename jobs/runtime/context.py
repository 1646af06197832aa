"""What a job has at hand: its config, the stages' runner, and the run directory to publish in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from rich.console import Console

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.runtime import work
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.work import Done, SomeWork
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.store.ledger import TableRef
from tiltmeter.storage.store.runs import RunDirectory
from tiltmeter.storage.store.streaming import pieces


class Sources(Protocol):
    """What a run starts from, found before any work."""

    def record(self) -> dict[str, Any]:
        """Every input with its version, for ``run.json``."""


Config = TypeVar("Config", bound=CommonConfig, covariant=True)
Found = TypeVar("Found", bound=Sources, covariant=True)


@dataclass
class Run(Generic[Config, Found]):
    """One execution of one job.

    Attributes:
        sources: what it starts from, found before any work.
        published: what each published table is made of.
        lead: what its page says first, for the terminal; None before there is a page.
        bad_records: those of its files that were left out so far.
    """

    config: Config
    sources: Found
    runner: Runner
    directory: RunDirectory
    console: Console
    published: dict[str, list[TableRef]] = field(default_factory=dict)
    lead: Any = None
    bad_records: BadRecords = field(default_factory=BadRecords)

    def __post_init__(self) -> None:
        self.runner.leave_out = self.leave_out

    def leave_out(self, bad: BadRecords) -> None:
        """Count records that were left out, for ``run.json``, the page, the terminal and the mail of a night."""
        self.bad_records.merge(bad)
        self.directory.record["left_out"] = self.bad_records.rows()

    def do(self, works: Iterable[SomeWork], *, publish: bool = True, **options: Any) -> Done[SomeWork]:
        """Have the work of a stage done, and publish what it makes; options as of :func:`.work.do`.

        Args:
            publish: whether its public tables are published; otherwise :meth:`publish` does that, such as of a table
                that several stages make.

        Raises:
            UnitsFailed: if there was work, and no group is complete.
        """
        done = work.do(self.runner, works, **options)
        if publish:
            made = dict.fromkeys(table for one, _ in done.pairs for table in one.makes if table.is_public)
            self.publish_all({table.table_name: done.refs(table) for table in made})
        return done

    def publish(self, name: str, refs: Sequence[TableRef]) -> None:
        """Publish tables of one schema, one after the other, as the table ``name``."""
        self.directory.write_pieces(name, lambda: pieces(self.runner.store, refs))
        self.published[name] = list(refs)

    def publish_all(self, tables: Mapping[str, Sequence[TableRef]]) -> None:
        """Publish tables by name, those of which there is a part."""
        for name, refs in tables.items():
            if refs:
                self.publish(name, refs)

    def publish_parts(self, name: str, parts: Sequence[tuple[str, TableRef]]) -> None:
        """Publish a large table as a folder of parts, each with the name of its file."""
        self.directory.link_table(name, self.runner.store, parts)
        self.published[name] = [ref for _, ref in parts]

"""Records that readers leave out: counted by file and reason, with the first place of each."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from tiltmeter.storage.errors import InputError

SETTING = "reading.max_bad_share"
MOST_BAD = 10
"""Bad records that a file may have, whatever their share."""

Kind = Literal["bad", "empty", "kept"]
"""``bad`` and ``empty`` records are left out, of which only bad ones count against a file; a ``kept`` one lacks a value
that it can do without, such as a title."""


@dataclass(frozen=True)
class LeftOut:
    """Records of one file with one reason.

    Attributes:
        file: its name, without credentials.
        reason: a short phrase that is the same for all, such as ``no JSON``; it holds no part of a record.
        num: how many.
        first: where in the file the first is, such as ``line 12, column 'title'``.
    """

    file: str
    reason: str
    kind: Kind
    num: int
    first: str


@dataclass
class BadRecords:
    """Records that were left out, of any number of files.

    >>> bad = BadRecords()
    >>> bad.read("a.jsonl", 400)
    >>> for line in range(3, 23):
    ...     bad.add("a.jsonl", "no JSON", f"line {line}")
    >>> bad.check(0.05)
    >>> bad.rows()[0]["num"], bad.rows()[0]["first"]
    (20, 'line 3')
    """

    num_records: dict[str, int] = field(default_factory=dict)
    left_out: dict[tuple[str, str, Kind], LeftOut] = field(default_factory=dict)

    def read(self, file: str, num_records: int) -> None:
        """Note that so many records of a file, bad ones among them, were read besides those noted before."""
        self.num_records[file] = self.num_records.get(file, 0) + num_records

    def add(self, file: str, reason: str, first: str, num: int = 1, kind: Kind = "bad") -> None:
        """Count records; of those with one reason, the place that is given first stays."""
        key = (file, reason, kind)
        known = self.left_out.get(key, LeftOut(file, reason, kind, 0, first))
        self.left_out[key] = replace(known, num=known.num + num)

    def merge(self, later: "BadRecords") -> None:
        """Add what was read of later records, or of other files."""
        for file, num_records in later.num_records.items():
            self.read(file, num_records)
        self.add_rows(later.rows())

    def add_rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add what :meth:`rows` gave, such as from a table or from JSON."""
        for row in rows:
            self.add(row["file"], row["reason"], row["first"], row["num"], row["kind"])

    def rows(self) -> list[dict[str, Any]]:
        """A plain row for each file and reason, with the names of :class:`LeftOut`, in the order of their first use."""
        return [asdict(left_out) for left_out in self.left_out.values()]

    def renamed(self, file: str) -> "BadRecords":
        """The same as of one file of this name."""
        one = BadRecords({file: sum(self.num_records.values())})
        one.add_rows(row | {"file": file} for row in self.rows())
        return one

    def reasons(self, file: str) -> str:
        """Why records of a file were left out, with their numbers and first places."""
        rows = [row for row in self.left_out.values() if row.file == file and row.kind != "kept"]
        return "; ".join(f"{row.reason} ({row.num:,}, first at {row.first})" for row in rows)

    def refusals(self, max_share: float) -> Iterator[tuple[str, InputError]]:
        """The files of which more than ten records and more than this share are bad; why, and where each reason is."""
        for file, num_records in self.num_records.items():
            bad = [row for row in self.left_out.values() if row.file == file and row.kind == "bad"]
            num_bad = sum(row.num for row in bad)
            if num_bad > max(MOST_BAD, max_share * num_records):
                counts = f"{num_bad:,} of {num_records:,} records are bad ({100 * num_bad / num_records:.3g}%)"
                too_many = f"{counts}, more than {SETTING}={max_share:g} allows: {self.reasons(file)}"
                yield file, InputError(f"{file}: {too_many}; repair the file, or raise {SETTING}")

    def check(self, max_share: float) -> None:
        """Refuse the first of these files.

        Raises:
            InputError: naming it.
        """
        for _, refusal in self.refusals(max_share):
            raise refusal


_COLLECTED: ContextVar[BadRecords | None] = ContextVar("collected", default=None)


@contextmanager
def collected() -> Iterator[BadRecords]:
    """What is left out of the files that are looked through inside of the block."""
    bad = BadRecords()
    token = _COLLECTED.set(bad)
    try:
        yield bad
    finally:
        _COLLECTED.reset(token)


def note(file: str, reason: str, first: str, num: int) -> None:
    """Hand on what is said of records of a file that are kept."""
    if (collection := _COLLECTED.get()) is not None:
        collection.add(file, reason, first, num, "kept")


def collect(bad: BadRecords) -> None:
    """Hand on what was left out of whole files, in place of what was handed on of the same files before."""
    if (collection := _COLLECTED.get()) is not None:
        for file in bad.num_records:
            collection.num_records.pop(file, None)
            collection.left_out = {key: row for key, row in collection.left_out.items() if key[0] != file}
        collection.merge(bad)

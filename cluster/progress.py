"""Progress of stages: a live table on a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_SECONDS_BETWEEN_LINES = 5.0


@dataclass
class Display:
    """Shows stages as they run; use as a context manager.

    On a terminal every stage keeps its row: a bar, done / total, units per second, time spent and time left. Elsewhere,
    such as in a log file or with TERM=dumb, a stage prints a line when it ends, and one every few seconds until then.

    Attributes:
        meanings: what stages do, in words, by their names; a stage says it while it has not done any unit.
    """

    console: Console
    meanings: Mapping[str, str] = field(default_factory=dict)
    _stage: str = ""
    _total: int = 0
    _reused: int = 0
    _done: int = 0
    _failed: int = 0
    _started: float = 0.0
    _printed: float = 0.0
    _task: TaskID | None = None
    _live: Progress | None = field(default=None)

    def __enter__(self) -> Self:
        if self.console.is_interactive:
            spinner = "dots" if self.console.encoding.startswith("utf") else "line"
            self._live = Progress(
                SpinnerColumn(spinner, finished_text="[green]✓"),
                TextColumn("{task.description:<14}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]:>12}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("[dim]{task.fields[note]}"),
                console=self.console,
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def start(self, stage: str, total: int, reused: int) -> None:
        """Begin a stage of ``total`` units, ``reused`` of which are done already."""
        self._stage, self._total, self._reused, self._done, self._failed = stage, total, reused, 0, 0
        self._started = self._printed = time.monotonic()
        if self._live:
            # Rich derives the time left from the steps it saw, so that reused units must not count as steps.
            note = self._note() or self.meanings.get(stage, "")
            self._task = self._live.add_task(stage, total=total - reused, rate="", note=note)

    def advance(self, failed: bool = False) -> None:
        """One more unit is done, or has failed."""
        self._done += 1
        self._failed += failed
        if self._live and self._task is not None:
            self._live.update(self._task, advance=1, rate=self._rate(), note=self._note())

    def tick(self) -> None:
        """Time has passed: off a terminal, print a line if the last one is a few seconds old."""
        if not self._live and time.monotonic() - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            meaning = "" if self._done else self.meanings.get(self._stage, "")
            line = ": ".join(filter(None, [f"{self._counts()}, {self._time_left()}", meaning]))
            self.console.print(line, highlight=False, soft_wrap=True)

    def end(self) -> None:
        """The stage is over."""
        if not self._live:
            self.console.print(f"{self._counts()} in {time.monotonic() - self._started:.1f} s", highlight=False)

    def _counts(self) -> str:
        rate = f", {rate}" if (rate := self._rate()) else ""
        note = f", {note}" if (note := self._note()) else ""
        return f"{self._stage:<14} {self._done:>4} / {self._total - self._reused} done{note}{rate}"

    def _note(self) -> str:
        notes = [f"{self._reused} reused"] if self._reused else []
        return ", ".join(notes + ([f"{self._failed} failed"] if self._failed else []))

    def _rate(self) -> str:
        seconds = time.monotonic() - self._started
        return f"{self._done / seconds:.2g} units/s" if self._done and seconds > 0 else ""

    def _time_left(self) -> str:
        if not self._done:
            return f"for {time.monotonic() - self._started:.0f} s"
        seconds = (time.monotonic() - self._started) / self._done * (self._total - self._reused - self._done)
        return f"about {seconds:.0f} s left"

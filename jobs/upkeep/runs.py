"""``tiltmeter runs FOLDER``: one page of all runs below a folder, made of their records alone: no table is read."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pyarrow import fs

from tiltmeter.jobs.report.grids import grid
from tiltmeter.jobs.report.html.elements import Bullets, Grid, Page, Paragraph, Part, Section, render
from tiltmeter.jobs.report.wording import listed, plural, verb
from tiltmeter.storage.errors import Refusal, meant_path
from tiltmeter.storage.files.locks import examined
from tiltmeter.storage.store.ledger import FOLDERS, MARK
from tiltmeter.storage.store.runs import EXPORTS, LOCK, RECORD, REPORT, is_record
from tiltmeter.storage.store.tables import write_bytes

INDEX = "runs.html"

_COMMAND = "tiltmeter runs"
_OURS = b'<meta name="generator" content="tiltmeter">'
_HEAD_BYTES = 2000
_RUNS = "runs"
"""The folder of a store that has runs."""

_TEXTS = ("job", "status", "started", "headline", "changes")
_KILLED = "killed"
"""Of a run whose record says that it is running, and which no process holds."""


class ListedRun(NamedTuple):
    """A run, as its record says.

    Attributes:
        place: its directory, as its path from the folder.
        started: in UTC; None where the record does not say.
        headline: what was found first, or else what the run failed with.
        changes: since the run before that asked the same.
        has_report: whether its page is there.
    """

    place: str
    job: str
    started: datetime | None
    status: str
    headline: str
    changes: str
    has_report: bool


class Unreadable(ValueError):
    """A record can't be read; the message says why."""


def write_index(words: Sequence[str]) -> Path:
    """Write ``runs.html`` into a folder; returns its path.

    Args:
        words: of the command line, after ``runs``.

    Raises:
        Refusal: if they are not one folder, if there is no run below it, or if another program wrote ``runs.html``.
        StorageError: if it can't be written.
    """
    if len(words) != 1:
        raise Refusal(f"{_COMMAND}: needs one folder, and has {len(words)}; as in {_COMMAND} store/runs")
    folder = Path(words[0]).expanduser()
    if not folder.is_dir():
        hint = meant_path(str(folder))
        raise Refusal(f"{_COMMAND} {words[0]}: there is no such folder; name one that has runs below it{hint}")
    target = folder / INDEX
    if os.path.lexists(target) and not _is_ours(target):
        raise Refusal(
            f"{_COMMAND} {words[0]}: its {INDEX} was not written by tiltmeter; move it, or choose another folder"
        )
    runs, problems = read_runs(folder)
    if not runs and not problems:
        raise Refusal(f"{_COMMAND} {words[0]}: there is no {RECORD} below it; name a folder that has runs below it")
    content = render(page_of_runs(str(folder), runs, problems, datetime.now(UTC)))
    write_bytes(
        fs.LocalFileSystem(), str(target), content.encode(errors="replace"), setting=f"{_COMMAND} <another folder>"
    )
    return target


def read_runs(folder: Path) -> tuple[list[ListedRun], list[str]]:
    """The runs below a folder, the latest first, and what is said of records that can't be read."""
    runs, problems = [], []
    for place in _places(folder):
        name = place.relative_to(folder).as_posix()
        try:
            runs.append(_listed(place, name, _record(place / RECORD)))
        except Unreadable as error:
            problems.append(f"{name}/{RECORD}: {error}")
    runs.sort(key=lambda run: run.place)
    runs.sort(key=lambda run: run.started or datetime.min.replace(tzinfo=UTC), reverse=True)
    return runs, problems


def _places(folder: Path) -> Iterator[Path]:
    """Folders with a record; no link is followed. Below one there may be those of a night's jobs."""
    for root, folders, files in os.walk(folder):
        place = Path(root)
        # A store's register has records of another kind.
        skipped = {EXPORTS, *FOLDERS} - {_RUNS} if MARK in files else {EXPORTS}
        folders[:] = sorted(name for name in folders if name not in skipped and not name.startswith("."))
        if RECORD in files and not (place / RECORD).is_symlink():
            yield place


def _record(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise Unreadable("is no file")
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise Unreadable(f"can't be read: {error.strerror}") from error
    except (RecursionError, ValueError) as error:
        raise Unreadable("is no JSON, or not all of it") from error
    if not is_record(record):
        raise Unreadable("is not the record of a run")
    if wrong := [name for name in _TEXTS if not isinstance(record.get(name, ""), str)]:
        raise Unreadable(f"{listed(wrong)} {verb(len(wrong), 'be')} no text")
    return dict(record)


def _listed(place: Path, name: str, record: Mapping[str, Any]) -> ListedRun:
    job, status, started, headline, changes = (record.get(key, "") for key in _TEXTS)
    error = record.get("error")
    if not headline and isinstance(error, dict) and isinstance(error.get("error"), str):
        headline = error["error"]
    if status == "running":
        with examined(place / LOCK) as is_held:
            status = _KILLED if is_held is False else status
    report = place / REPORT
    has_report = report.is_file() and not report.is_symlink()
    return ListedRun(name, job, _moment(started), status, headline, changes, has_report)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_ours(path: Path) -> bool:
    if not path.is_file() or path.is_symlink():
        return False
    with path.open("rb") as file:
        return _OURS in file.read(_HEAD_BYTES)


# --- the page -------------------------------------------------------------------------------------------------------


def page_of_runs(folder: str, runs: Sequence[ListedRun], problems: Sequence[str], now: datetime) -> Page:
    """All runs in a table, which can be searched and sorted, with links to their pages.

    Args:
        folder: as it is called.
        problems: records that can't be read, and why not.
        now: when the page is made.
    """
    statuses = sorted({run.status for run in runs}, key=lambda status: (status != "succeeded", status))
    counts = listed([f"{sum(run.status == status for run in runs):,} {status}" for status in statuses])
    lead = [Part("What there is", [Paragraph(f"{plural(len(runs), 'run')}{': ' if runs else ''}{counts}.")])]
    if problems:
        lead.append(Part("What can't be read", [Bullets(problems)]))
    facts = {"below": folder, "made": f"{now:%Y-%m-%d %H:%M} UTC"}
    sections = [Section("runs", "Runs, the latest first", [_table(runs)])] if runs else []
    return Page("Runs", facts, lead, sections)


def _table(runs: Sequence[ListedRun]) -> Grid:
    caption = (
        "Times are in UTC and lead to the page of a run. What changed is since the run before that asked the same. A "
        f"run is {_KILLED} if its record says that it is running, and no process on this machine is at work there."
    )
    rows = [run._asdict() for run in runs]
    made = grid(caption, rows, "started", "job", "status", "headline", "changes", "place")
    links = [f"{quote(os.fsencode(run.place))}/{REPORT}" if run.has_report else "" for run in runs]
    return replace(made, links={"started": links}, is_list=True)

"""What attackers have: payloads that leave a trace, files that grow, and a look at what that costs."""

import gzip
import io
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.runs import opened


@pytest.fixture(scope="session")
def grown():
    """gzip of a beginning, a piece so many times, and an end."""

    def pack(beginning: bytes, piece: bytes, times: int, end: bytes = b"") -> bytes:
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="w", compresslevel=1) as file:
            file.write(beginning)
            for _ in range(times):
                file.write(piece)
            file.write(end)
        return packed.getvalue()

    return pack


@dataclass(frozen=True)
class Cost:
    """
    Attributes:
        steps: the processors' time, of which this machine needs one step to write and read 300,000 numbers as JSON.
        megabytes: the most memory beyond what was held before.
    """

    steps: float
    megabytes: float


def _kilobytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1])


def _processor_seconds(action: Callable[[], Any]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


@pytest.fixture(scope="session")
def cost():
    """What an action costs, on a fast machine and on a slow or busy one."""
    step = min(_processor_seconds(lambda: json.loads(json.dumps([*range(300_000)]))) for _ in range(3))

    def measure(action: Callable[[], Any]) -> Cost:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
        before = _kilobytes("VmRSS")
        seconds = _processor_seconds(action)
        return Cost(seconds / step, (_kilobytes("VmHWM") - before) / 1024)

    return measure


@pytest.fixture
def outside(tmp_path):
    """A folder that nobody may touch; looked at in the end."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    files = [folder / "thesis.parquet", folder / "thesis.json", folder / "deep/thesis.txt"]
    for file in files:
        file.write_text("years of work")
    yield folder
    assert sorted(path for path in folder.rglob("*") if path.is_file()) == sorted(files)
    assert {file.read_text() for file in files} == {"years of work"}


@pytest.fixture
def run_dir(tmp_path):
    """A run directory whose record someone else has written."""
    folder = tmp_path / "run"
    folder.mkdir()

    def write(**entries):
        (folder / "run.json").write_text(json.dumps({"job": "j", "versions": {}, "tables": {}} | entries))
        return folder

    return write


@pytest.fixture
def done(store):
    """A finished unit."""
    unit = Unit("count/1", "numbers", {})
    return unit, store.commit(unit, [("numbers", pa.table({"n": [1, 2]}))])


@pytest.fixture
def begin():
    """Begins a run in a folder."""

    def start(folder):
        with opened(folder) as directory:
            directory.begin(["words"], job="survey", versions={})

    return start

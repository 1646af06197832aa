"""Readers on mutated files: whatever a file holds, it is read or refused in a sentence, soon, within bounds of memory.

``python -m tests.fuzz.trying [--number 10000] [--processes 2] [words of readers]`` tries each reader so many times and
prints what came of it; ``--only 17`` tries one file again, with its traceback, and says where it lies.
"""

import argparse
import faulthandler
import hashlib
import multiprocessing
import resource
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.mutations import mutated, packed
from tests.fuzz.readers import READERS, seeds_of
from tiltmeter.storage.errors import Refusal

SECONDS, LONGEST_MESSAGE, MORE_BYTES = 20, 2000, 2**31


class Finding(NamedTuple):
    """What went wrong, on which of a reader's files, at which line of the code."""

    number: int
    place: str
    what: str


def written(name: str, number: int, folder: Path) -> Path:
    """The file of a number, the same in every process but for the folder; it has the name of no other."""
    rng = Random(int.from_bytes(hashlib.sha256(f"{name}/{number}".encode()).digest()[:8]))
    reader = READERS[name]
    ending, content = packed(rng, mutated(rng, seeds_of(name)))
    path = folder / f"file{number}{rng.choice(reader.endings)}{ending}"
    path.write_bytes(content)
    return path


def outcome(name: str, path: Path) -> str:
    """``read`` or ``refused``, after which the file is gone.

    Raises:
        AssertionError: if a refusal does not name its file, or can't be shown.
        Exception: whatever the reader raises that is no refusal.
    """
    try:
        with _limited(SECONDS):
            READERS[name].read(str(path))
    except Refusal as refusal:
        message = str(refusal)
        message.encode()
        assert path.name in message, f"a refusal does not name its file: {message[:500]}"
        assert len(message) < LONGEST_MESSAGE, f"a refusal has {len(message)} characters: {message[:500]}"
        assert not any(ord(character) < 32 or ord(character) == 127 for character in message), repr(message[:500])
        return "refused"
    finally:
        path.unlink()
    return "read"


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def late(*_):
        raise TimeoutError(f"took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tried(name: str, number: int, folder: Path) -> str | Finding:
    """The outcome of one file, or what goes wrong on it."""
    try:
        return outcome(name, written(name, number, folder))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Polars' panics are no Exception
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
        return Finding(number, place, repr(str(error)[:300]))


def all_tried(name: str, num_files: int) -> list[str | Finding]:
    """Of each file what came of it; each time that a reader takes its process with it, the next file has a new one."""
    results: list[str | Finding] = []
    context = multiprocessing.get_context("spawn")
    while len(results) < num_files:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_try_from, args=(name, len(results), num_files, sender))
        process.start()
        sender.close()
        with suppress(EOFError):
            while len(results) < num_files:
                results.append(receiver.recv())
        process.join()
        if len(results) < num_files:
            results.append(Finding(len(results), "the process", f"ended with {process.exitcode}"))
    return results


def _try_from(name: str, start: int, stop: int, sender: Connection) -> None:
    """Within bounds that memory has, and ended with a traceback where nothing comes any more."""
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + MORE_BYTES, limits[1]))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(start, stop):
            faulthandler.dump_traceback_later(3 * SECONDS, exit=True)
            sender.send(tried(name, number, Path(folder)))


def _data_bytes() -> int:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData")]
    return int(line.split()[1]) * 1024


def main() -> int:
    """1 if anything was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    names = [name for name in READERS if all(word in name for word in options.words)]
    if options.only is not None:
        path = written(names[0], options.only, Path(tempfile.mkdtemp()))
        print(path)
        READERS[names[0]].read(str(path))
        return 0
    total = 0
    with ThreadPoolExecutor(options.processes) as threads:
        for name, results in zip(names, threads.map(partial(all_tried, num_files=options.number), names), strict=True):
            total += _shown(name, results)
    print(f"{total} findings")
    return 1 if total else 0


def _shown(name: str, results: Sequence[str | Finding]) -> int:
    """Print what came of a reader's files; returns the number of findings."""
    findings = [result for result in results if isinstance(result, Finding)]
    counts = Counter(result for result in results if isinstance(result, str))
    print(f"{name}: {len(results)} tried, {counts['read']} read, {counts['refused']} refused", flush=True)
    firsts = {finding.place: finding for finding in reversed(findings)}
    for place, num in Counter(finding.place for finding in findings).most_common():
        print(f"  {num} times {place}, first {firsts[place].number}: {firsts[place].what}", flush=True)
    return len(findings)


if __name__ == "__main__":
    sys.exit(main())

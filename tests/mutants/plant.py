"""Plants each mistake of the lists in a copy of the project, and says which of them the tests named there notice.

``python -m tests.mutants.plant`` tries all; names choose some of them, ``--lists`` other files of mistakes.
"""

import argparse
import gc
import itertools
import json
import math
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import pytest
from numba.core.config import reload_config

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FORKS = multiprocessing.get_context("forkserver")
LIBRARIES = [
    "boto3",
    "hydra",
    "hypothesis",
    "mwparserfromhell",
    "networkx",
    "numba",
    "plotly",
    "polars",
    "pulp",
    "pyarrow.parquet",
    "pydantic",
    "pytest",
]
LIBRARIES += ["ray", "scipy.optimize", "scipy.stats", "sklearn.linear_model", "torch", "transformers"]
"""That take longer to import than most tests: each run begins as a fork of a process that has them."""

HOUR = 3600.0
UNCOPIED = (".venv", ".git", "*_cache", ".hypothesis", "__pycache__", "outputs", "gallery", "site")


@dataclass(frozen=True)
class Mutant:
    """A mistake: the text that stands in a file, the one that would, the tests that notice, or why none can."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    list: str
    because: str = ""


def read_mutants(paths: list[Path]) -> list[Mutant]:
    """The mistakes of lists; the `tests` at the top of a list are those of each mistake without its own."""
    mutants = []
    for path in paths:
        entries = tomllib.loads(path.read_text())
        usual = entries.pop("tests", [])
        for name, entry in entries.items():
            mutants.append(Mutant(name, **entry | {"tests": tuple(entry.get("tests", usual)), "list": path.stem}))
    return mutants


def _tested(copy: Path, words: list[str], kernels: Path, log: Path, durations: Path) -> None:
    """Run tests of a copy in a process that has the libraries and nothing of the project; ends with pytest's status."""
    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(copy)
    sys.path[:] = [f"{copy}/src", *(path for path in sys.path if Path(path) not in (ROOT, ROOT / "src", Path()))]
    for module in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[module]
    sys.dont_write_bytecode = True  # a mistake of the same length within a second has the same .pyc
    os.environ |= {"PYTHONPATH": f"{copy}/src", "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(kernels)}
    reload_config()
    gc.freeze()  # what the libraries have made is not looked at again
    options = ["-m", "not slow", "-p", "no:cacheprovider", f"--basetemp={copy.with_suffix('.tmp')}"]
    noted = Durations()
    status = pytest.main([*options, *words], plugins=[noted])
    durations.write_text(json.dumps(noted.seconds))
    sys.exit(status)


class Durations:
    """A plugin of pytest that notes how long each test took, with its fixtures, or that it failed (infinitely long)."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += math.inf if report.failed else report.duration


@dataclass
class Copy:
    """A copy of the project, with a folder for compiled kernels beside it."""

    path: Path

    def __post_init__(self) -> None:
        shutil.copytree(ROOT, self.path, symlinks=True, ignore=shutil.ignore_patterns(*UNCOPIED))

    def run(
        self, tests: Sequence[str], limit: float, options: Sequence[str] = ("-x",), kernels: str = "kernels"
    ) -> int:
        """The exit status of pytest, or that of a process that was killed.

        Raises:
            TimeoutError: if it took longer than the limit.
        """
        places = (self.path.with_suffix(f".{kernels}"), self.path.with_suffix(".log"), self.path.with_suffix(".json"))
        process = FORKS.Process(target=_tested, args=(self.path, [*options, *tests], *places))
        process.start()
        process.join(limit)
        if process.exitcode is None:
            os.killpg(process.pid or 0, signal.SIGKILL)  # the keeper of a Ray cluster sees that its tests are gone
            process.join()
            raise TimeoutError
        return process.exitcode

    def durations(self, tests: Sequence[str]) -> dict[str, float]:
        """How long tests take without a mistake, by their ids; those that fail take for ever.

        Raises:
            ValueError: with what pytest says, if it can't run them: of one that isn't there none are run.
        """
        if (status := self.run(tests, HOUR, options=())) not in (0, 1):
            raise ValueError(f"status {status}: {self.path.with_suffix('.log').read_text()[-500:]}")
        seconds: dict[str, float] = json.loads(self.path.with_suffix(".json").read_text())
        return seconds

    def try_out(self, mutant: Mutant, limit: float) -> str:
        """What the tests of a mistake say of it; the copy is as before afterwards, the times of its files too."""
        path = self.path / mutant.file
        text = path.read_text() if path.exists() else ""
        if (number := text.count(mutant.old)) != 1:
            return f"not planted: its text stands there {number} times"
        times, kernels = path.stat(), "kernels"
        if "numba" in text:  # kernels of other files may have inlined this one
            kernels = "fresh"
            shutil.rmtree(self.path.with_suffix(".fresh"), ignore_errors=True)
        try:
            path.write_text(text.replace(mutant.old, mutant.new))
            status = self.run(mutant.tests, limit, kernels=kernels)
        except TimeoutError:
            return "killed (hung)"
        finally:
            path.write_text(text)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if status in (0, 1):
            return ("survived", "killed")[status]
        last = self.path.with_suffix(".log").read_text().strip().splitlines()[-1]
        return "killed (died)" if status < 0 else f"not run: {last}"


def verdict(mutant: Mutant, outcome: str) -> bool:
    """Whether it is as it should be: noticed, or unnoticed where the list says why."""
    return outcome == "survived" if mutant.because else outcome.startswith("killed")


def _outcomes(mutants: list[Mutant], num_copies: int) -> Iterator[tuple[Mutant, str]]:
    """Of each mistake, as it is known; the tests of each list are run without any before."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        mine, numbers = threading.local(), itertools.count()

        def copy() -> None:
            mine.copy = Copy(Path(folder) / f"copy{next(numbers)}")

        def durations(mutants: list[Mutant]) -> dict[str, float]:
            return mine.copy.durations(sorted({test for mutant in mutants for test in mutant.tests}))

        def outcome(mutant: Mutant, seconds: dict[str, float]) -> str:
            own = [time for test, time in seconds.items() if test.startswith(mutant.tests)]
            if not own or math.inf in own:
                return f"not run: {' '.join(mutant.tests)} {'fail without it' if own else 'are none'}"
            return mine.copy.try_out(mutant, 60 + 2 * sum(filter(math.isfinite, seconds.values())))

        lists = [[*group] for _, group in itertools.groupby(mutants, lambda mutant: mutant.list)]
        with ThreadPoolExecutor(num_copies, initializer=copy) as pool:
            futures = {}
            for group, seconds in zip(lists, pool.map(durations, lists), strict=True):
                futures |= {pool.submit(outcome, mutant, seconds): mutant for mutant in group}
            for future in as_completed(futures):
                yield futures[future], future.result()


def main(words: list[str]) -> int:
    """Tries mistakes and prints what became of each; 1 if any is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.plant", description=__doc__)
    parser.add_argument("names", nargs="*", help="of mistakes; all without any")
    parser.add_argument("--lists", nargs="+", type=Path, default=sorted(HERE.glob("*.toml")), metavar="FILE")
    parser.add_argument("--copies", type=int, default=os.cpu_count(), help="tried at a time (%(default)s)")
    options = parser.parse_args(words)
    mutants = read_mutants(options.lists)
    if unknown := set(options.names) - {mutant.name for mutant in mutants}:
        parser.error(f"no list has {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants if not options.names or mutant.name in options.names]
    os.environ |= {"TILTMETER_DATA": os.environ.get("TILTMETER_DATA", str(ROOT / "../shared/data"))}
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "NUMBA")}
    FORKS.set_forkserver_preload(LIBRARIES)
    start, outcomes = time.monotonic(), Counter[str]()
    for mutant, outcome in _outcomes(chosen, options.copies):
        right = verdict(mutant, outcome)
        outcomes["as it should be" if right else "wrong"] += 1
        outcomes[outcome.split(":")[0]] += 1
        print("ok   " if right else "WRONG", f"{mutant.name}: {outcome}", mutant.because, flush=True)
    said = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
    print(f"{len(chosen)} mistakes in {time.monotonic() - start:.0f} s: {said}")
    return int(outcomes["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Running `tiltmeter` as a user does, and reading off what it took."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import psutil
from gensim.models import KeyedVectors
from gensim.test.utils import datapath

DATA = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[1] / "../shared/data"))


class PeakMemory(threading.Thread):
    """Samples the memory and the CPU time of a process and all its descendants until it ends."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.peak_bytes = 0
        self._cpu_seconds: dict[int, float] = {}

    def run(self) -> None:
        while self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE:
            self.peak_bytes = max(self.peak_bytes, self._sum())
            time.sleep(0.5)

    @property
    def cpu_seconds(self) -> float:
        """Of all processes that were seen, up to when each was seen last."""
        return sum(self._cpu_seconds.values())

    def _sum(self) -> int:
        total = 0
        for process in [self.process, *self.process.children(recursive=True)]:
            try:
                total += process.memory_full_info().pss
                times = process.cpu_times()
                self._cpu_seconds[process.pid] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        return total


@dataclass(frozen=True)
class Outcome:
    """A finished run.

    Attributes:
        seconds: of the whole command, from its start to its end.
        peak_bytes: the largest sum of the proportional set sizes of all its processes, Ray's own included.
        run_dir, store: where its tables and units are.
        cpu_seconds: of all these processes.
    """

    seconds: float
    peak_bytes: int
    run_dir: Path
    store: Path
    cpu_seconds: float = 0.0

    @property
    def record(self) -> dict[str, Any]:
        """``run.json``."""
        record: dict[str, Any] = json.loads((self.run_dir / "run.json").read_text())
        return record

    def stage(self, name: str) -> dict[str, Any]:
        """The account of one stage."""
        stage: dict[str, Any] = next(stage for stage in self.record["stages"] if stage["name"] == name)
        return stage

    def quality(self, language: str = "en") -> float:
        """:func:`quality` of the original corpus's embedding."""
        [place] = (self.run_dir / "embeddings").glob(f"*/{language}_replica_0000.parquet")
        embedding = pl.read_parquet(place, hive_partitioning=False).drop_nulls("vector")
        vectors = embedding["vector"].to_numpy()
        keyed = KeyedVectors(vectors.shape[1])
        keyed.add_vectors(embedding["word"].to_list(), vectors)
        return quality(keyed)


def quality(vectors: KeyedVectors) -> float:
    """Spearman correlation of cosines with people's judgements, WordSim-353."""
    return float(vectors.evaluate_word_pairs(datapath("wordsim353.tsv"))[1].statistic)


def run_command(folder: Path, *settings: str, store: Path | None = None, name: str = "run") -> Outcome:
    """Run `tiltmeter` with an empty store in a folder, or another one, and a run directory of a name beside it.

    Ends this program if the command fails.
    """
    store = store or folder / "store"
    places = [f"store={store}", f"run_dir={folder}/{name}"]
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "tiltmeter.jobs.app", *settings, *places])
    memory = PeakMemory(process.pid)
    memory.start()
    if process.wait():
        sys.exit("the command failed; see above")
    seconds = time.monotonic() - started
    memory.join()
    return Outcome(seconds, memory.peak_bytes, folder / name, store, memory.cpu_seconds)


def print_stages(outcome: Outcome) -> None:
    """Seconds and units of each stage."""
    for stage in outcome.record["stages"]:
        peak = stage["peak_worker_memory_bytes"] / 1e9
        print(f"  {stage['name']:<14} {stage['seconds']:8.1f} s  {stage['num_done']:5d} units  {peak:5.2f} GB so far")

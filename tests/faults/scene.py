"""One run of a tiny job on a cluster, to which something is going to happen, and the account of what came of it."""

import json
import os
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.storage.files.filesystems import files_below
from tiltmeter.storage.store.identity import table_digest
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.runs import read_run_table

ROOT = Path(__file__).parents[2]
SECONDS = 1500
"""Only a command that hangs takes so long, on however busy a machine."""

# Five articles, in 51 units of ten stages.
TINY = [
    "job=bootstrap",
    "corpus=file",
    "corpus.language=en",
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2",
    "reading.shard_megabytes=0.02",
    "reading.span_megabytes=0.02",
    "embedding.num_replicas=30",
    "embedding.trainer.dimensions=4",
    "embedding.trainer.epochs=5",
]


class Missed(Exception):
    """The run was over before the fault could happen."""


@dataclass
class Scene:
    """A command on a cluster, and where it works.

    Attributes:
        machines: the cluster.
        folder: for its output.
        rng: decides when and whom it hits.
        store: as the command is told.
        seen: the same store, reached by a way that no fault touches.
        name: of the run directory.
        program: what the command runs.
        proxy: the connection to a store in a bucket.
    """

    machines: object
    folder: Path
    rng: random.Random
    store: str
    seen: Store
    name: str = "run"
    program: tuple[str, ...] = ("-m", "tiltmeter.jobs.app")
    proxy: object = None
    process: subprocess.Popen | None = None
    statuses: list[int] = field(default_factory=list)

    @property
    def run_dir(self):
        return self.folder / self.name

    def words(self):
        """What the command is told."""
        cluster = ["cluster=existing", f"cluster.address={self.machines.address}", "cluster.num_cpus=2"]
        return [*TINY, *cluster, f"store='{self.store}'", f"run_dir={self.run_dir}"]

    def start(self):
        with self._log(len(self.statuses)).open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, *self.words()],
                cwd=self.folder,
                env=os.environ | self.machines.environment | {"PYTHONPATH": str(ROOT / "src")},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def end(self):
        """Wait for the command; returns its status."""
        self.statuses.append(self.process.wait(SECONDS))
        return self.statuses[-1]

    def output(self, number=-1):
        """What the command printed when it was started for the n-th time."""
        return self._log(range(len(self.statuses))[number]).read_text()

    def _log(self, number):
        return self.folder / f"{self.name}-{number}.txt"

    def rows(self):
        """The ledger: when each row was written."""
        files = files_below(self.seen.filesystem, f"{self.seen.path}/ledger")
        return {file.path: file.mtime_ns for file in files if file.path.endswith(".json")}

    def wait_for(self, num_rows, found=lambda: True):
        """Until so many units are in the ledger, and something is found; returns that."""
        while len(self.rows()) < num_rows or not (what := found()):
            if self.process.poll() is not None:
                raise Missed(self._log(len(self.statuses)).read_text())
            time.sleep(0.01)
        return what

    def record(self):
        return json.loads((self.run_dir / "run.json").read_text())

    def tables(self):
        """Digests of what is in the files."""
        written = [name for name, entry in self.record()["tables"].items() if entry]
        return {name: table_digest(read_run_table(self.run_dir, name)) for name in written}

    def leftovers(self):
        """Half-written files, and states of finished units."""
        files = [file.path for file in files_below(self.seen.filesystem, self.seen.path) if file.is_file]
        return [path for path in files if re.search(r"\.partial$|/\.leases/|/states/|/probe-", path)]

"""How busy workers are whose units only wait: a stage by itself, dealt by the code that deals units in a run.

    python -m benchmarks.dealing [--workers 4 16 40]

Prints, in Markdown, what a simulation says, whose workers wait on a clock of their own, and what as many real workers
did, all on this machine: they wait in earnest, so that a core can have many of them.
"""

import argparse
import io
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.connection import connected
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.scheduling import Queue, longest_first, simulate
from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.cluster.workers import Pool
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

REPLICA_SECONDS = 8.0
NUM_REPLICAS = 33
UNITS_PER_WORKER, UNIT_SECONDS = 30, 1.0


def waiting_unit(name: str, seconds: float) -> Unit:
    """A unit that waits, and reads as many rows as it has milliseconds."""
    rows = TableRef("made/up", "rows", round(1000 * seconds), {})
    return Unit("wait/1", name, {"name": name, "seconds": seconds}, {"rows": [rows]})


def unit_seconds(unit: Unit) -> float:
    """How long a waiting unit waits."""
    return float(unit.config["seconds"])


def stages(num_workers: int) -> Iterator[tuple[str, list[Unit], int | None]]:
    """Names, units and batch sizes of what is dealt."""
    replicas = [waiting_unit(f"replica {number}", REPLICA_SECONDS) for number in range(NUM_REPLICAS)]
    yield f"{NUM_REPLICAS} of one length", replicas, 1
    rng = random.Random(0)
    lengths = [UNIT_SECONDS * rng.lognormvariate(-0.5, 1.0) for _ in range(UNITS_PER_WORKER * num_workers)]
    for name, batch_size in (("one by one", 1), ("joined", None)):
        units = [waiting_unit(f"{name} {number}", seconds) for number, seconds in enumerate(lengths)]
        yield f"{len(units)} of different length, {name}", units, batch_size


def main() -> None:
    """Deal to simulated workers and to real ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", nargs="+", type=int, default=[4, 16, 40])
    known = parser.parse_args()
    print("| workers | units | seconds | busy: all | the least busy | simulated: seconds | all | the least busy |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with connected(ClusterConfig(num_cpus=max(known.workers))):
        for num_workers in known.workers:
            with tempfile.TemporaryDirectory() as folder:
                _print_stages(Store(folder), num_workers)


def _print_stages(store: Store, num_workers: int) -> None:
    pool = Pool(store, max_retries=0)
    with pool.started(num_workers), Display(Console(file=io.StringIO())) as display:
        runner = Runner(store, pool, display)
        numbers = [{"number": number, "num_workers": num_workers} for number in range(num_workers)]
        meetings = [Unit("meet/1", f"worker {config['number']}", config) for config in numbers]
        runner.run(Stage("start", each(_meet), {"all": meetings}))
        for name, units, batch_size in stages(num_workers):
            runner.run(Stage(name, each(_wait), {"all": units}, batch_size))
            record = runner.records[-1]
            queue = Queue(longest_first([units], batch_size or 1), joins=batch_size is None)
            simulated = simulate(queue, num_workers, unit_seconds)
            shares = [seconds / simulated.seconds for seconds in simulated.worker_seconds]
            cells = (record.seconds, record.busy_share or 0, record.least_busy_share or 0)
            other_cells = (simulated.seconds, sum(shares) / num_workers, min(shares))
            row = [f"{seconds:.1f} | {busy:.1%} | {least:.1%}" for seconds, busy, least in (cells, other_cells)]
            print(f"| {num_workers} | {name} | {' | '.join(row)} |", flush=True)


def _meet(store: Store, unit: Unit) -> Tables:
    """Wait for all workers, each of which has one of these."""
    Path(store.path, f"worker-{unit.config['number']}").touch()
    while len([*Path(store.path).glob("worker-*")]) < unit.config["num_workers"]:
        time.sleep(0.1)
    return []


def _wait(_: Store, unit: Unit) -> Tables:
    time.sleep(unit_seconds(unit))
    return []


if __name__ == "__main__":
    main()

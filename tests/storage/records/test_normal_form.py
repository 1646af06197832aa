"""Cells are in one form of Unicode, whatever the file's."""

from functools import partial

import polars as pl
import pytest

from tiltmeter.storage.records.cells import labels
from tiltmeter.storage.records.tables import check_columns, read_records, record_columns

WRITERS = {
    "csv": pl.DataFrame.write_csv,
    "tsv": partial(pl.DataFrame.write_csv, separator="\t"),
    "jsonl": pl.DataFrame.write_ndjson,
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
}


@pytest.mark.parametrize("ending", WRITERS)
def test_cells_and_names_of_columns_are_composed(ending, tmp_path):
    rows = pl.DataFrame({"id": ["re\u0301"], "cafe\u0301": ["un cafe\u0301"], "label": ["caf\u00e9"]})
    path = f"{tmp_path}/rows.{ending}"
    WRITERS[ending](rows, path)
    assert read_records(path).row(0) == ("ré", "un café", "café")
    assert record_columns(path) == ["id", "caf\u00e9", "label"]
    for asked in ("caf\u00e9", "cafe\u0301"):
        check_columns(path, [asked], "data.text")
        assert read_records(path, [asked]).to_dict(as_series=False) == {asked: ["un café"]}


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columns_that_would_be_called_alike_keep_their_names(ending, tmp_path):
    rows = pl.DataFrame({"cafe\u0301": ["one"], "caf\u00e9": ["other"]})
    path = f"{tmp_path}/rows.{ending}"
    WRITERS[ending](rows, path)
    assert record_columns(path) == ["cafe\u0301", "caf\u00e9"]


def test_labels_of_two_forms_are_one_class():
    assert labels(pl.Series(["cafe\u0301 ", "café"])).n_unique() == 1

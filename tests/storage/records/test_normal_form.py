"""Cells are in one form of Unicode, whatever the file's."""

import json

import polars as pl
import pytest

from tiltmeter.storage.records.cells import labels
from tiltmeter.storage.records.tables import check_columns, read_records, record_columns


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_cells_and_names_of_columns_are_composed(ending, tmp_path):
    rows = pl.DataFrame({"id": ["re\u0301"], "cafe\u0301": ["un cafe\u0301"], "label": ["caf\u00e9"]})
    path = f"{tmp_path}/rows.{ending}"
    match ending:
        case "jsonl":
            (tmp_path / "rows.jsonl").write_text(json.dumps(rows.to_dicts()[0]))
        case "parquet":
            rows.write_parquet(path)
        case "arrow":
            rows.write_ipc(path)
        case _:
            rows.write_csv(path, separator="," if ending == "csv" else "\t")
    assert read_records(path).row(0) == ("ré", "un café", "café")
    assert record_columns(path) == ["id", "caf\u00e9", "label"]
    for asked in ("caf\u00e9", "cafe\u0301"):
        check_columns(path, [asked], "data.text")
        assert read_records(path, [asked]).to_dict(as_series=False) == {asked: ["un café"]}


def test_labels_of_two_forms_are_one_class():
    assert labels(pl.Series(["cafe\u0301 ", "café"])).n_unique() == 1

"""Records that someone else has written lead nowhere, and never to an error that names no file."""

import json
from dataclasses import replace

import pytest

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.registry import Registry

NAMES = ["../../outside", "/etc", "..", ".", "a\0b", "a\n", "\n", " ", "-rf", "a" * 300 + "/", ""]
OTHERS = [*({field: name} for field in ("unit", "name") for name in NAMES), {"unit": "../../outside", "name": "thesis"}]


def test_exports_go_into_a_folder_and_not_where_a_link_leads(begin, run_dir, outside):
    folder = run_dir(exports=["thesis.json"])
    (folder / "exports").symlink_to(outside)
    for _ in range(2):
        with pytest.raises(StorageError, match="its exports is not one of ours"):
            begin(folder)
        (folder / "run.json").unlink(missing_ok=True)


@pytest.mark.parametrize("names", OTHERS)
def test_a_row_of_the_ledger_names_no_other_file(store, done, outside, names):
    """A unit whose row is not one of ours counts as not done, though the file is there."""
    unit, finished = done
    place = store.local_path / f"ledger/{unit.place}.json"
    row = json.loads(place.read_text())
    row["tables"]["numbers"] |= names
    place.write_text(json.dumps(row | ({"num_bytes": len("years of work")} if len(names) > 1 else {})))
    assert store.find(unit) is None
    with pytest.raises(ValueError, match="must be the place of a table within a store"):
        replace(finished.tables["numbers"], **names)


def test_tables_of_a_registered_run_lie_in_the_store(store, done, outside):
    entry = Registry(store).enter("survey", "nightly", run_dir="", settings={})
    entry.end("succeeded", {}, {"words": [done[1].tables["numbers"]]})
    row = store.local_path / "registry" / entry.run.key / "run.json"
    row.write_text(row.read_text().replace(done[0].place, "../../outside"))
    with pytest.raises(StorageError, match=r"run\.json: is damaged .*outside"):
        Registry(store).runs()

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.stores import damage, zeroed
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.local_copies import fetch

TABLE = pa.table({"n": list(range(1000))})
UNIT = Unit("count/1", "", {})


@pytest.fixture
def ref(store):
    return store.commit(UNIT, [("numbers", TABLE)]).tables["numbers"]


@pytest.mark.parametrize("is_allowed", [True, False])
def test_where_the_disk_allows_there_is_no_second_copy(store, ref, tmp_path, monkeypatch, is_allowed):
    def refuse(*_):
        raise OSError("not on this disk")

    if not is_allowed:
        monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "copy.parquet"
    assert fetch(store, ref, target) == target.stat().st_size
    assert target.samefile(store.location(ref)) == is_allowed
    assert pq.read_table(target) == TABLE


def test_what_is_damaged_is_not_published_and_its_unit_is_redone(store, ref, tmp_path):
    damage(store.location(ref), zeroed(1000, 1100))
    with pytest.raises(StorageError, match=r"numbers.parquet is damaged"):
        fetch(store, ref, tmp_path / "copy.parquet")
    assert store.find(UNIT) is None


def test_what_is_missing_is_named(store, ref, tmp_path):
    Path(store.location(ref)).unlink()
    with pytest.raises(StorageError, match=r"numbers.parquet is missing: was it removed"):
        fetch(store, ref, tmp_path / "copy.parquet")

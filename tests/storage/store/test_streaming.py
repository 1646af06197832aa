"""Tables of the store, piece by piece."""

import numpy as np
import pyarrow as pa
import pytest

from tests.fixtures.stores import damage, zeroed
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.streaming import pieces
from tiltmeter.storage.store.tables import column

SCHEMA = pa.schema([column("n", pa.int64(), "a number"), column("name", pa.string(), "its name")])


def committed(store, num_rows):
    table = pa.table([np.arange(num_rows), [str(n) for n in range(num_rows)]], SCHEMA)
    return store.commit(Unit("part/1", "", {"rows": num_rows}), [("t", table)]).tables["t"]


def test_rows_come_in_row_groups_of_one_reference_after_the_other(store):
    refs = [committed(store, num_rows) for num_rows in (40_000, 0, 3)]
    found = list(pieces(store, refs))
    assert [piece.num_rows for piece in found] == [32_768, 7_232, 0, 3]
    assert pa.concat_tables(found) == pa.concat_tables([store.read(ref) for ref in refs])
    assert {piece.schema.field("n").metadata[b"description"] for piece in found} == {b"a number"}
    for names in (["name", "n"], ["name"]):
        assert [piece.column_names for piece in pieces(store, [refs[2].select(*names)])] == [names]
    damage(store.location(refs[0]), zeroed(1000, 2000))
    with pytest.raises(StorageError, match=r"t\.parquet is damaged"):
        list(pieces(store, refs))
    assert store.find(Unit("part/1", "", {"rows": 40_000})) is None

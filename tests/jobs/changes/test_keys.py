"""Every public table says which of its columns tell its rows apart."""

import pyarrow as pa
import pytest

from tiltmeter.jobs.changes import tables as of_comparisons
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.measures import tables as of_measures
from tiltmeter.jobs.resolution import tables as of_resolutions
from tiltmeter.jobs.sentiment.rating import tables as of_ratings
from tiltmeter.storage.store.tables import key_columns

MODULES = (tables, of_comparisons, of_measures, of_ratings, of_resolutions)
SCHEMAS = {
    f"{module.__name__}.{name}": schema
    for module in MODULES
    for name, schema in vars(module).items()
    if isinstance(schema, pa.Schema)
} | {"embeddings": tables.embeddings(2)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_public_table_has_key_columns_and_values_beside_them(name):
    keys = key_columns(SCHEMAS[name])
    assert keys
    assert len(keys) < len(SCHEMAS[name])
    assert not {"status", "reason"} & set(keys)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_ends_of_an_interval_are_no_keys_and_come_in_pairs(name):
    names = SCHEMAS[name].names
    for column in names:
        if f"{column}_low" in names or f"{column}_high" in names:
            assert {f"{column}_low", f"{column}_high"} <= set(names) - set(key_columns(SCHEMAS[name]))

"""Every public table says which of its columns tell its rows apart; an interval is named after its number."""

import importlib
import pkgutil

import pyarrow as pa
import pytest

from tiltmeter import jobs
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.columns import OTHER_ENDS, interval_columns
from tiltmeter.storage.store.tables import key_columns

WITHOUT_ESTIMATE = {
    "p": "p_value is its upper end, unless it is a Monte Carlo estimate within",
}
"""Intervals that are not the interval of one column, with the reason."""


PUBLIC = {f"{job}: {name}": schema for job in catalogue.names() for name, schema in catalogue.job(job).tables.items()}


def declared():
    """All schemas in the modules of the jobs, by module and name: those between units as well."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(jobs.__path__, "tiltmeter.jobs.")]
    return {
        f"{module.__name__}.{name}": schema
        for module in modules
        for name, schema in vars(module).items()
        if isinstance(schema, pa.Schema)
    }


ALL = declared() | PUBLIC


def ends_of(schema):
    """The ends that each interval of a schema has."""
    ends = [name.rpartition("_") for name in schema.names if name.endswith(("_low", "_high"))]
    return {base: {end for other, _, end in ends if other == base} for base, _, _ in ends}


def plain_ends(schema):
    """The column before ``low`` and ``high``, and what stands in their places; nothing where neither is there."""
    if not {"low", "high"} & set(schema.names):
        return None, []
    place = schema.names.index("low")
    return schema.names[place - 1], schema.names[place : place + 2]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_table_has_key_columns_and_values_beside_them(name):
    keys = key_columns(PUBLIC[name])
    assert keys
    assert len(keys) < len(PUBLIC[name])
    assert not {"status", "reason"} & set(keys)


@pytest.mark.parametrize("name", ALL)
def test_the_ends_of_an_interval_come_in_pairs_of_numbers_beside_theirs(name):
    schema = ALL[name]
    found = ends_of(schema)
    plain, in_place = plain_ends(schema)
    assert in_place in ([], ["low", "high"])
    assert plain not in found
    assert all(ends == {"low", "high"} for ends in found.values())
    others = {base for base in found if base.endswith(tuple(f"_{kind}" for kind in OTHER_ENDS))}
    known = {low.removesuffix("_low") for low, _ in interval_columns(schema.names).values()} - {"low"}
    assert found.keys() - others - WITHOUT_ESTIMATE.keys() == known
    for base in others:
        assert any(base == f"{name}_{kind}" for name in interval_columns(schema.names) for kind in OTHER_ENDS)
    assert (plain is None) or (interval_columns(schema.names)[plain] == ("low", "high"))
    columns = [f"{base}_{end}" for base, ends in found.items() for end in ends] + [
        *in_place,
        *([plain] if plain else []),
    ]
    assert all(pa.types.is_floating(schema.field(column).type) for column in columns)
    assert not set(columns) & set(key_columns(schema))


def test_no_exception_is_made_for_what_is_not_there():
    assert {base for schema in ALL.values() for base in ends_of(schema)} >= WITHOUT_ESTIMATE.keys()

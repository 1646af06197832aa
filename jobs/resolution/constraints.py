"""What the user says of pairs and sources beside their scores: read, and refused where it contradicts itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.constraints import contradiction, groups_of
from tiltmeter.operators.resolution.ids import as_ids
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import NEEDED

ENDS = ("left", "right")
LINKS = ("must_link", "cannot_link")

Given = Mapping[str, Any]
"""Where constraints are: of ``must_link`` and ``cannot_link`` a list of pairs, or the identity of a file; of
``sources`` the identity of a file and its columns of ids and of sources."""


def given_constraints(config: ResolutionRun, files: Mapping[str, FoundFile]) -> Given:
    """What the config and its files say, as units know it."""
    given: dict[str, Any] = {}
    for name in LINKS:
        if (pairs := getattr(config, name)) is not None:
            given[name] = files[name].identity if name in files else [list(pair) for pair in pairs]
    if config.one_per_source is not None:
        file, key = ("sources", "record") if config.records is None else ("records", config.records.id)
        given["sources"] = {"file": files[file].identity, "columns": [key, config.one_per_source]}
    return given


def linked_pairs(given: Given, name: str) -> pl.DataFrame:
    """The pairs of ``must_link`` or ``cannot_link``: ``left, right``; none if it is not given.

    Raises:
        InputError: if an id can't be read.
    """
    listed = given.get(name, [])
    if isinstance(listed, Sequence):
        return pl.DataFrame(listed, schema=dict.fromkeys(ENDS, pl.String), orient="row")
    return _ids(listed["uri"], ENDS, name)


def record_sources(given: Given) -> pl.DataFrame:
    """``record, source`` of the records that have one.

    Raises:
        InputError: if a record has two sources.
    """
    if "sources" not in given:
        return pl.DataFrame(schema={"record": pl.String, "source": pl.String})
    uri, columns = given["sources"]["file"]["uri"], given["sources"]["columns"]
    rows = _ids(uri, columns, "one_per_source", needed=columns[:1]).rename(dict(zip(columns, _SOURCE, strict=True)))
    known = rows.drop_nulls().unique(maintain_order=True)
    if (twice := known.filter(pl.col("record").is_duplicated())).height:
        both = " and ".join(map(repr, twice.filter(record=twice["record"][0])["source"][:2]))
        raise InputError(f"one_per_source: {redacted(uri)} has record {twice['record'][0]!r} of source {both}")
    return known


_SOURCE = ("record", "source")


def _ids(uri: str, columns: Sequence[str], setting: str, needed: Sequence[str] | None = None) -> pl.DataFrame:
    rules = dict.fromkeys(columns if needed is None else needed, (NEEDED,))
    where, rows = f"{setting}={redacted(uri)}", read_records(uri, columns, rules=rules)
    try:
        return pl.DataFrame([as_ids(rows[name]) for name in columns])
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def check_constraints(config: ResolutionRun, files: Mapping[str, FoundFile]) -> None:
    """Whether there is a partition that obeys the constraints.

    Raises:
        ConfigError: naming two records that would be together and apart, and the pairs that say so.
        InputError: if a file can't be used.
    """
    given = given_constraints(config, files)
    must, cannot = (linked_pairs(given, name) for name in LINKS)
    if must.is_empty() and cannot.is_empty():
        return
    linked = pl.concat([must["left"], must["right"]]).unique()
    sources = record_sources(given).filter(pl.col("record").is_in(linked.implode()))
    ids = pl.concat([linked, cannot["left"], cannot["right"]]).unique().sort()
    together, apart = (numbered_pairs(ids, pairs) for pairs in (must, cannot))
    wrong = contradiction(groups_of(ids.len(), together), apart, numbered_sources(ids, sources))
    if wrong is not None:
        one, other = (ids[place] for place in wrong)
        raise ConfigError(_contradiction(must, one, other, sources))


def numbered_pairs(ids: pl.Series, pairs: pl.DataFrame) -> IntArray:
    """``[2, pairs]``, by the places of the records; pairs with another record are left out."""
    places = pl.DataFrame({"record": ids, "place": np.arange(ids.len())})
    places_of_ends = [
        pairs.join(places, left_on=end, right_on="record", how="left", maintain_order="left")["place"] for end in ENDS
    ]
    return pl.DataFrame(dict(zip(ENDS, places_of_ends, strict=True))).drop_nulls().to_numpy().T.astype(np.int64)


def numbered_sources(ids: pl.Series, sources: pl.DataFrame) -> IntArray:
    """``[records]``, a number for the source of each; -1 where there is none."""
    named = ids.to_frame("record").join(sources, on="record", how="left", maintain_order="left")["source"]
    return named.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()


def _contradiction(must: pl.DataFrame, one: str, other: str, sources: pl.DataFrame) -> str:
    if one == other:
        return f"cannot_link: record {one!r} with itself; leave the pair out"
    way = " - ".join(map(repr, _way(must, one, other)))
    named = dict(sources.iter_rows())
    if named.get(one) is not None and named.get(one) == named.get(other):
        return (
            f"must_link: {way} are to be one entity, but {one!r} and {other!r} are both of source {named[one]!r}, of "
            "which one_per_source allows one; leave a pair out"
        )
    return f"must_link: {way} are to be one entity, but cannot_link has {one!r} with {other!r}; leave a pair out"


def _way(must: pl.DataFrame, one: str, other: str) -> list[str]:
    """The records by whose pairs one is linked to another, the shortest way."""
    neighbours: dict[str, list[str]] = {}
    for left, right in must.iter_rows():
        neighbours.setdefault(left, []).append(right)
        neighbours.setdefault(right, []).append(left)
    before, reached = {one: one}, [one]
    for record in reached:
        for neighbour in neighbours[record]:
            if neighbour not in before:
                before[neighbour] = record
                reached.append(neighbour)
    way = [other]
    while way[-1] != one:
        way.append(before[way[-1]])
    return way[::-1]

"""What the user says of pairs and sources beside their scores: refused where it contradicts itself, and applied."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.graphs import END_RULES, ENDS, files_of, pair_columns, read_ids, record_rules
from tiltmeter.jobs.resolution.tables import ConstraintCounts
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution import constraints as partition_constraints
from tiltmeter.operators.resolution.constraints import Constraints, constrained, contradiction, groups_of
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef

_SOURCE = ("record", "source")
_LINKS = ("must_link", "cannot_link")

Given = Mapping[str, Any]
"""Where constraints are: of ``must_link`` and ``cannot_link`` a list of pairs, or the identity of a file; of
``sources`` the identity of a file and its columns of ids and of sources."""


def given_constraints(config: ResolutionRun, files: Mapping[str, FoundFile]) -> Given:
    """What the config and its files say, as units know it."""
    given: dict[str, Any] = {}
    for name in _LINKS:
        if (pairs := getattr(config, name)) is not None:
            given[name] = files[name].identity if name in files else [list(pair) for pair in pairs]
    if config.one_per_source is not None:
        file, key = ("sources", "record") if config.records is None else ("records", config.records.id)
        given["sources"] = {"file": files[file].identity, "columns": [key, config.one_per_source]}
        if "second" in files:
            given["sources"]["second"] = files["second"].identity
    return given


class Constrain(Work, unit=partition_constraints.VERSION, stage="apply constraints", makes=[ConstraintCounts]):
    """A graph as its constraints leave it: what is apart is forbidden, what is together has a group."""

    graph: str
    constraints: Given
    missing: Missing
    pairs: TableRef
    records: TableRef

    def tables(self, store: Store) -> Tables:
        """``pairs``, ``groups`` where records have to be one, and ``constraint_counts``.

        Raises:
            InputError: if no record of a constraint is in the graph, or it has too many pairs of one source.
        """
        ids = pl.Series(store.read(self.records)["record"])
        left, right, weights = pair_columns(store.read(self.pairs))
        links, origins = {name: _linked_pairs(self.constraints, name) for name in _LINKS}, _origins(self.constraints)
        known = {name: _numbered_pairs(ids, rows) for name, rows in links.items()}
        sources = _numbered_sources(ids, origins)
        given = {name: rows.height for name, rows in links.items()} | {"one_per_source": origins.height}
        used = {name: pairs.shape[1] for name, pairs in known.items()}
        used["one_per_source"] = int((sources >= 0).sum())
        for name, num in given.items():
            if not used[name] and (num or (name == "one_per_source" and "sources" in self.constraints)):
                raise InputError(f"{name}: names no records of the pairs: are their ids written alike?")
        constraints = Constraints(known["must_link"], known["cannot_link"], sources)
        try:
            changed = constrained(ids.len(), left, right, weights, constraints, self.missing)
        except ValueError as error:
            raise InputError(f"one_per_source, must_link: {error}; set threshold, or missing=forbid") from error
        yield "pairs", pa.table({"left": changed.left, "right": changed.right, "weight": changed.weights})
        if known["must_link"].size:
            yield "groups", pa.table({"group": changed.groups})
        same = (sources[left] == sources[right]) & (sources[left] >= 0)
        decisions = {
            "must_link": (changed.groups[left] == changed.groups[right], weights < 0),
            "cannot_link": (changed.kept_apart & ~same, weights > 0),
            "one_per_source": (same, weights > 0),
        }
        counts = [
            ConstraintCounts(
                graph=self.graph,
                constraint=name,
                num_given=given[name],
                num_unknown=given[name] - used[name],
                num_scored=int(decided.sum()),
                num_against=int((decided & against).sum()),
                weight_against=float(np.abs(weights[decided & against]).sum()),
            )
            for name, (decided, against) in decisions.items()
            if given[name]
        ]
        yield from tables_of(counts, [ConstraintCounts])


def check_constraints(config: ResolutionRun, files: Mapping[str, FoundFile]) -> None:
    """Whether there is a partition that obeys the constraints.

    Raises:
        ConfigError: naming two records that would be together and apart, and the pairs that say so.
        InputError: if a file can't be used.
    """
    given = given_constraints(config, files)
    must, cannot = (_linked_pairs(given, name) for name in _LINKS)
    if must.is_empty() and cannot.is_empty():
        return
    linked = pl.concat([must["left"], must["right"]]).unique()
    origins = _origins(given).filter(pl.col("record").is_in(linked.implode()))
    ids = pl.concat([linked, cannot["left"], cannot["right"]]).unique().sort()
    together, apart = (_numbered_pairs(ids, pairs) for pairs in (must, cannot))
    wrong = contradiction(groups_of(ids.len(), together), apart, _numbered_sources(ids, origins))
    if wrong is not None:
        one, other = (ids[place] for place in wrong)
        raise ConfigError(_contradiction(must, one, other, dict(origins.iter_rows())))


def _contradiction(must: pl.DataFrame, one: str, other: str, origins: Mapping[str, str]) -> str:
    import networkx

    if one == other:
        return f"cannot_link: record {one!r} with itself; leave the pair out"
    way = " - ".join(map(repr, networkx.shortest_path(networkx.Graph(must.rows()), one, other)))
    if one in origins and origins[one] == origins.get(other):
        return (
            f"must_link: {way} are to be one entity, but {one!r} and {other!r} are both of source {origins[one]!r}, of "
            "which one_per_source allows one; leave a pair out"
        )
    return f"must_link: {way} are to be one entity, but cannot_link has {one!r} with {other!r}; leave a pair out"


# --- what is given, read and numbered -------------------------------------------------------------------------------


def _linked_pairs(given: Given, name: str) -> pl.DataFrame:
    """The pairs of ``must_link`` or ``cannot_link``: ``left, right``; none if it is not given."""
    listed = given.get(name, [])
    if isinstance(listed, Sequence):
        return pl.DataFrame(listed, schema=dict.fromkeys(ENDS, pl.String), orient="row")
    return read_ids(listed["uri"], ENDS, name, END_RULES)


def _origins(given: Given) -> pl.DataFrame:
    """``record, source`` of the records that have one.

    Raises:
        InputError: if a record has two sources.
    """
    if "sources" not in given:
        return pl.DataFrame(schema=dict.fromkeys(_SOURCE, pl.String))
    uris, columns = files_of(given["sources"], "file"), given["sources"]["columns"]
    rows = read_ids(uris, columns, "one_per_source", record_rules(columns[0]))
    known = rows.rename(dict(zip(columns, _SOURCE, strict=True))).drop_nulls().unique(maintain_order=True)
    if (twice := known.filter(pl.col("record").is_duplicated())).height:
        both = " and ".join(map(repr, twice.filter(record=twice["record"][0])["source"][:2]))
        raise InputError(f"one_per_source: {redacted(uris[0])} has record {twice['record'][0]!r} of source {both}")
    return known


def _numbered_pairs(ids: pl.Series, pairs: pl.DataFrame) -> IntArray:
    """``[2, pairs]``, by the places of the records; pairs with another record are left out."""
    places = pl.DataFrame({"record": ids, "place": np.arange(ids.len())})
    places_of_ends = [
        pairs.join(places, left_on=end, right_on="record", how="left", maintain_order="left")["place"] for end in ENDS
    ]
    return pl.DataFrame(dict(zip(ENDS, places_of_ends, strict=True))).drop_nulls().to_numpy().T.astype(np.int64)


def _numbered_sources(ids: pl.Series, origins: pl.DataFrame) -> IntArray:
    """``[records]``, a number for the source of each; -1 where there is none."""
    named = ids.to_frame("record").join(origins, on="record", how="left", maintain_order="left")["source"]
    return named.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()

"""What is brought along to texts: mentions that arguments are told by, and facts that rules are judged by."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

COLUMNS: Mapping[str, list[str]] = {"mentions": ["text", "type"], "facts": ["subject", "relation", "object"]}
"""Of each list."""


def read_lists(runner: Runner, lists: Files) -> dict[str, TableRef]:
    """The lists that are given, each once, by name."""
    units = [Unit("text_list/1", name, {"file": file.identity, "list": name}) for name, file in lists.files.items()]
    done = runner.run_whole(Stage("read lists", each(_read), {"lists": units}))["lists"] if units else []
    return {unit.config["list"]: finished.tables["rows"] for unit, finished in zip(units, done, strict=True)}


def _read(_: Store, unit: Unit) -> Tables:
    columns = COLUMNS[unit.config["list"]]
    rows = read_records(unit.config["file"]["uri"], columns).cast(dict.fromkeys(columns, str)).drop_nulls()
    yield "rows", rows.unique().sort(columns).to_arrow().cast(pa.schema([(name, pa.string()) for name in columns]))


def known_facts(rows: list[dict[str, Any]]) -> dict[tuple[str, str], set[str]]:
    """Relations by the subject and the object, in lower case.

    >>> known_facts([{"subject": "Ada", "relation": "spouse", "object": "King"}])
    {('ada', 'king'): {'spouse'}}
    """
    facts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        facts.setdefault((row["subject"].lower(), row["object"].lower()), set()).add(row["relation"])
    return facts

"""Tables and pages of all runs of the tests, held against what they were when they were last recorded.

Tests say by hand what some numbers of a run must be; this says that none of the others has changed. A run that
succeeds is looked up by its settings, without places and layout, in the file of its job beside this one. A line there
is a table: its settings, name, number of rows, names of columns, and then, in the order of these, of each column a
checksum or, as processors differ in the last digits, of fractions their size (root mean square) and a weighted sum.
The line of a page has a mark of each section, with what its charts draw; a section that shows seconds is not held.
``*`` is a column that two recordings disagreed on, such as seconds.

A change that means to change numbers records them anew (``make golden``); the diff says which. Runs of new tests are
added by ``TILTMETER_GOLDEN=$PWD/tests/golden pytest <tests>``. Slow tests and random examples are not held.
"""

import base64
import hashlib
import html
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml

from tiltmeter.storage.store.runs import read_run_table

HERE = Path(__file__).parent
VARIABLE = "TILTMETER_GOLDEN"
TOLERANCE, AGREEMENT = 1e-3, 1e-5
"""Of the size of a column, what a run may differ by from what is recorded, and two recordings from each other."""
PLACES = ("cluster", "exports", "run_dir", "series", "store")
_CONTROL = {"min_count": 20, "num_replicas": 12, "share": 0.5, "words": "auto"}
ADDED = (("adagrad", "element"), ("canonical", None), ("control", _CONTROL), ("gates", []), ("within", None))
"""Settings that came later, and the values at which they are no part of what a run is known by."""
OF_MACHINES = ("plan",)
"""Jobs whose tables say what this machine would do."""
OF_OTHERS = ("account", "changes")
"""Sections of a page that are about how it was run, and about other runs of its store."""
_PATH = re.compile(r"(?<![\w.])/[\w./-]+")
_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-−]?\d+)?")
_SENTENCES, _SECONDS = re.compile(r"(?<=[.:!?]) "), re.compile(r"[\d,.]+ s\b")
_CHART_OR_TAG = re.compile(r'<script type="text/plain">([^<]*)</script>|<(?:[^>]*style="([^"]*)")?[^>]*>')

Marks = tuple[str, ...]
"""Of a table: rows, names, and a mark of each column."""


def _checksum(value: Any) -> str:
    return hashlib.md5(repr(value).encode()).hexdigest()[:6]


def _columns(name: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """A column, or those within it where it is a list or record."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if pa.types.is_struct(kind):
        for inner, field in zip(values.flatten(), kind, strict=True):
            yield from _columns(f"{name}.{field.name}", inner)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield f"{name}: lengths", pc.list_value_length(values)
        yield from _columns(f"{name}: items", values.flatten())
    else:
        yield name, values


def _mark(values: pa.Array) -> str:
    if not pa.types.is_floating(values.type):
        return _checksum([_PATH.sub("/", value) if isinstance(value, str) else value for value in values.to_pylist()])
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    rng, root = np.random.default_rng(0), np.sqrt(max(len(numbers), 1))
    weights = rng.choice([-1.0, 1.0], len(numbers)) * rng.uniform(1.0, 2.0, len(numbers))  # none is near 0
    size, weighted = np.linalg.norm(finite) / root, finite @ weights / root
    others = [(at, str(values[at])) for at in np.flatnonzero(~np.isfinite(numbers)).tolist()]
    return f"{size:.6g},{weighted:.6g}" + (f",{_checksum(others)}" if others else "")


def _marked(table: pa.Table) -> dict[str, str]:
    names = sorted(table.column_names)
    columns = (column for name in names for column in _columns(name, table[name].combine_chunks()))
    return {name: _mark(values) for name, values in columns}


def _text(markup: str) -> str:
    """What a page shows: text, bars and colours, and what its charts draw."""

    def shown(found: re.Match[str]) -> str:
        if not found[1]:
            return f" {found[2] or ''} "
        packed = base64.b64decode(found[1])
        return pa.decompress(packed[4:], int.from_bytes(packed[:4], "little"), "lz4_raw", asbytes=True).decode()

    return _PATH.sub("/", " ".join(html.unescape(_CHART_OR_TAG.sub(shown, markup)).split()))


def _page(report: str) -> dict[str, str]:
    """Of each section of a page a mark of its numbers, whose logarithms hide no small one, and of the words between."""
    content = f'<section id="lead">{report[report.index("<header>") : report.index("</main>")]}'
    _, *parts = re.split(r'<section id="([^"]+)">', content)
    return {name: _shown(markup) for name, markup in zip(parts[::2], parts[1::2], strict=True) if name not in OF_OTHERS}


def _shown(markup: str) -> str:
    text = _text(markup)
    if "seconds" in text:
        return "*"
    text = _SECONDS.sub("", " ".join(part for part in _SENTENCES.split(text) if "took " not in part))
    numbers = np.array([float(number.replace("−", "-").replace(",", "")) for number in _NUMBER.findall(text)])
    return f"{_mark(pa.array(np.sign(numbers) * np.log1p(np.abs(numbers))))},{_checksum(_NUMBER.sub('#', text))}"


def _named(value: Any) -> Any:
    """Settings without places, which are of this machine and process."""
    if isinstance(value, dict):
        return {str(key): _named(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_named(item) for item in value]
    return re.sub(r"\d+$", "", Path(value).name) if isinstance(value, str) and "/" in value else value


def _without_added(settings: dict[str, Any]) -> dict[str, Any]:
    inner = {k: _without_added(v) if isinstance(v, dict) else v for k, v in settings.items()}
    return {k: v for k, v in inner.items() if (k, v) not in ADDED}


def _tables(run_dir: Path) -> tuple[str, dict[str, dict[str, str]]] | None:
    """Job and settings of a run, and of its tables the marks by column; None of one that did not succeed."""
    record = json.loads((run_dir / "run.json").read_bytes())
    if record["status"] != "succeeded" or record["job"] in OF_MACHINES:
        return None
    settings = yaml.load((run_dir / "config.yaml").read_bytes(), yaml.CSafeLoader)
    # What goes to databases changes no table; what `corpus_export` exports are its tables.
    aside = [*PLACES, *(["export"] if record["job"] == "entity_resolution" else [])]
    known = _without_added({k: v for k, v in settings.items() if k not in aside})
    key = _checksum(json.dumps(_named(known), sort_keys=True))
    tables = {}
    for name in sorted(table for table, about in record["tables"].items() if about):
        table = read_run_table(run_dir, name)
        marks = _marked(table)
        tables[f"{key} {name}"] = {"rows": str(table.num_rows), "columns": _checksum(list(marks))} | marks
    tables[f"{key} -"] = {"tables": _checksum(sorted(tables))}
    if (run_dir / "report.html").exists():
        marks = _page((run_dir / "report.html").read_text())
        tables[f"{key} page"] = {"sections": _checksum(list(marks))} | marks
    return record["job"], tables


def _agree(one: str, other: str, tolerance: float) -> bool:
    """Whether two marks are the same but for rounding."""
    if one == other or "*" in (one, other):
        return True
    (size, *others), (other_size, *other_others) = one.split(","), other.split(",")
    if not (others and other_others) or others[1:] != other_others[1:]:
        return False
    gaps = (float(size) - float(other_size), float(others[0]) - float(other_others[0]))
    return all(abs(gap) <= tolerance * max(float(size), float(other_size)) for gap in gaps)


def _differing(marks: Sequence[str], others: Sequence[str], tolerance: float) -> list[int]:
    """The places of the marks that are not the same."""
    if len(marks) != len(others):
        return list(range(len(marks)))
    return [at for at, pair in enumerate(zip(marks, others, strict=True)) if not _agree(*pair, tolerance)]


def _read(file: Path) -> dict[str, list[Marks]]:
    """The tables that a file of a job has, by settings and name."""
    lines = defaultdict(list)
    for line in file.read_text().splitlines() if file.exists() else []:
        settings, name, *marks = line.split(" ")
        lines[f"{settings} {name}"].append(tuple(marks))
    return dict(lines)


_recorded = cache(_read)


def hold(run_dir: Path, folder: Path = HERE) -> None:
    """Fails where a table of a run that succeeded is none that was recorded, of a job that has been recorded."""
    if (found := _tables(run_dir)) and (known := _recorded(folder / f"{found[0]}.txt")):
        job, tables = found
        wrong = [_wrong(key, marks, known.get(key, [])) for key, marks in tables.items()]
        if any(wrong):
            raise AssertionError(f"{job}: {'; '.join(filter(None, wrong))} (see tests/golden/tables.py)")


def record(run_dir: Path, folder: Path) -> None:
    """Adds to the files of a folder the tables of a run that succeeded, but for what `hold` takes as recorded."""
    if found := _tables(run_dir):
        job, tables = found
        known = _read(folder / f"{job}.txt")
        new = {key: marks for key, marks in tables.items() if _wrong(key, marks, known.get(key, []))}
        with (folder / f"{job}.txt").open("a") as file:
            file.writelines(f"{key} {' '.join(marks.values())}\n" for key, marks in new.items())


def _wrong(key: str, marks: dict[str, str], known: list[Marks]) -> str:
    name = key.split(" ")[1]
    if not known:
        return f"no run with these settings was recorded that has the table {name}"
    nearest = min((_differing(list(marks.values()), other, TOLERANCE) for other in known), key=len)
    columns = [list(marks)[at] for at in nearest]
    return f"{name}: {', '.join(columns)} changed" if columns else ""


class Current:
    """The test that runs."""

    is_held = True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    is_random = item.get_closest_marker("hypothesis") and not hypothesis.settings.default.derandomize
    Current.is_held = not (item.get_closest_marker("slow") or is_random)


def look(run_dir: Path) -> None:
    """Holds a run of the test that runs, or records it, where it is one to be held and there is one."""
    if Current.is_held and (run_dir / "run.json").exists():
        folder = os.environ.get(VARIABLE)
        record(run_dir, Path(folder)) if folder else hold(run_dir)


def settle(folders: Sequence[Path]) -> None:
    """Makes the files beside this of recordings: what all of them have, ``*`` where they disagree."""
    for name in sorted({file.name for folder in folders for file in folder.glob("*.txt")}):
        first, *others = (_read(folder / name) for folder in folders)
        lines = {f"{key} {' '.join(marks)}" for key in first for marks in first[key]}
        for other in others:
            lines = {_settled(line, other) for line in lines}
        (HERE / name).write_text("".join(f"{line}\n" for line in sorted(lines)))


def _settled(line: str, other: dict[str, list[Marks]]) -> str:
    """A line, with ``*`` for what the nearest of another recording has not, or has ``*`` for."""
    settings, name, *marks = line.split(" ")
    others = sorted(other.get(f"{settings} {name}", []), key=lambda those: len(_differing(marks, those, AGREEMENT)))
    for nearest in others[:1]:
        differing = {*_differing(marks, nearest, AGREEMENT)} | {at for at, mark in enumerate(nearest) if mark == "*"}
        marks = ["*" if at in differing else mark for at, mark in enumerate(marks)]
    return " ".join([settings, name, *marks])


if __name__ == "__main__":
    settle([Path(folder) for folder in sys.argv[1:]])

"""Operators take arrays, frames and tables, and give such: they neither read nor write."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

OPERATORS = Path(__file__).parents[2] / "operators"
ACCESS = re.compile(r"(scan|read|write|sink)_\w+|open|loadtxt|genfromtxt|fromfile|tofile|memmap|savez?|savetxt")


def accesses(source: str) -> Iterator[str]:
    """Line and name of each call that reads or writes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if ACCESS.fullmatch(name):
                yield f"{node.lineno}: {name}"


def test_operators_neither_read_nor_write():
    files = list(OPERATORS.rglob("*.py"))
    assert len(files) > 80
    assert [f"{path.name}:{access}" for path in files for access in accesses(path.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        "pl.scan_parquet(a)",
        "frame.lazy().sink_csv(a)",
        "frame.write_ipc(a)",
        "pq.read_table(a)",
        "open(a)",
        "np.save(a)",
    ],
)
def test_what_reads_or_writes_is_seen(source):
    assert len(list(accesses(f"def function(frame):\n    return {source}\n"))) == 1


def test_names_that_only_sound_alike_are_left_alone():
    assert list(accesses("words_read(a); reading(b); frame.select(c); self._opened(d)")) == []

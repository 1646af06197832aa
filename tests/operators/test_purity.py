"""Operators take arrays, frames and tables, and give such: they neither read nor write."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

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


def test_what_reads_or_writes_is_seen_and_not_what_only_sounds_alike():
    seen = "pl.scan_parquet(a); frame.lazy().sink_csv(a); frame.write_ipc(a); pq.read_table(a); open(a); np.save(a)"
    assert len(list(accesses(seen))) == 6
    assert list(accesses("words_read(a); reading(b); frame.select(c); self._opened(d)")) == []


# --- kernels ---------------------------------------------------------------------------------------------------------


def kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(mark) for mark in node.decorator_list):
            yield node


def imports_of(tree: ast.Module) -> dict[str, str]:
    """Where names come from, of those that a module takes from others."""
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.asname or name.name: str(node.module) for node in taken for name in node.names}


def used_by_kernels(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names of our other modules in the bodies of kernels, and these modules."""
    modules = {name: module for name, module in imports_of(tree).items() if module.startswith("tiltmeter.")}
    for kernel in kernels(tree):
        words = {word.id for line in kernel.body for word in ast.walk(line) if isinstance(word, ast.Name)}
        yield from ((word, modules[word]) for word in words & modules.keys())


def test_kernels_take_what_they_use_from_files_that_mention_numba():
    """The cache of compiled kernels is kept as long as those files do not change (see the Makefile)."""
    paths = [path for path in OPERATORS.rglob("*.py") if "numba" in path.read_text()]
    mentioned = {".".join(("tiltmeter", *path.relative_to(OPERATORS.parent).with_suffix("").parts)) for path in paths}
    used = [use for path in paths for use in used_by_kernels(ast.parse(path.read_text()))]
    assert len(used) > 10
    assert [(name, module) for name, module in used if module not in mentioned] == []

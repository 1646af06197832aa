"""Names are nouns that say what they hold, and one word is used for one thing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tiltmeter

SOURCES = Path(tiltmeter.__file__).parent
PAGES = Path(__file__).parents[1] / "docs"
ROOMS = ("cluster", "jobs", "operators", "storage")
NO_NOUNS = {"at", "found", "how", "of", "own", "said", "several", "told"}
DIALECT = re.compile(r"\b(hangs? on|mend(s|ed|ing)?|are others)\b")
"""Of what depends on something, is fixed or repaired, or differs."""


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the name of each variable, parameter and function without a class; columns of tables are public."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    columns = {item.target for node in classes for item in node.body if isinstance(item, ast.AnnAssign)}
    for node in ast.walk(tree):
        match node:
            case ast.Name() if node in columns:
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Module(body=body):
                yield from ((item.lineno, item.name.lstrip("_")) for item in body if isinstance(item, ast.FunctionDef))


def test_names_are_those_that_are_bound():
    functions = "def f(a, *b, c=1, **d):\n    e = [g for g in a.h]\ndef _i():\n    return e\n"
    tree = ast.parse(f"{functions}class K:\n    found: int\n    def of(self): ...")
    assert {name for _, name in names(tree)} == {*"abcdefgi", "self"}


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_is_a_preposition_an_adverb_or_a_participle(room):
    lines = {
        f"{path.relative_to(SOURCES)}:{line}: {name}"
        for path in (SOURCES / room).rglob("*.py")
        for line, name in names(ast.parse(path.read_text(encoding="utf-8")))
        if name in NO_NOUNS
    }
    assert lines == set()


@pytest.mark.parametrize("folder", [*(SOURCES / room for room in ROOMS), PAGES], ids=[*ROOMS, "docs"])
def test_texts_use_the_usual_words(folder):
    files = [path for path in folder.rglob("*") if path.suffix in (".py", ".md")]
    lines = {
        f"{path.name}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if DIALECT.search(line)
    }
    assert (bool(files), lines) == (True, set())

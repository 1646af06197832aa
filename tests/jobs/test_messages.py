"""Settings that refusals name are there: every text of the code that names one, against the files of settings."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_settings import ENDINGS, is_known, settings_of
from tiltmeter.jobs import catalogue

ROOT = Path(__file__).parents[2]
ROOMS = ("jobs", "operators", "storage", "cluster")
ANY = "\0"
"""What a message puts in while it is written."""

NOT_SETTINGS: dict[str, str] = {}

_WORD = rf"[a-z_][a-z0-9_]*|<\w+>|{ANY}"
_KEY = re.compile(rf"(?<![\w./{ANY}:@<-])((?:{_WORD})(?:\.(?:{_WORD}))+)(?![\w/(@{ANY}-]|\.\w)")
_ASSIGNED = re.compile(r"\bset (?:it with )?([a-z_]+)=")
_OF_WORD_SETS = "operators/text/"
"""Its messages know no language, which a record's place adds: :func:`.composition._placed`."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The texts of a module that are no docstrings, with their lines."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Expr | ast.JoinedStr | ast.Constant)]
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if id(node) in docs or id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else ANY for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named(text: str) -> Iterator[str]:
    """The keys that a text may name."""
    if " " in text:
        yield from (match[1] for match in [*_KEY.finditer(text), *_ASSIGNED.finditer(text)])


@cache
def is_there(key: str) -> bool:
    """Whether a setting may be what a key names, whatever is put in where it is not yet written."""
    pattern = re.compile(r"\.".join(r"[\w.]+" if ANY in part or "<" in part else part for part in key.split(".")))
    return any(map(pattern.fullmatch, settings())) or is_known(key.replace(ANY, "x"), settings())


@cache
def settings() -> set[str]:
    return settings_of(catalogue.settings_folders())


def wrong_names(source: str) -> list[tuple[int, str]]:
    """The settings that the texts of a module name and that are not there, with their lines."""
    roots = {key for key in settings() if "." not in key}
    return [
        (line, key)
        for line, text in texts(ast.parse(source))
        for key in named(text)
        if (key.partition(".")[0] in roots or "." not in key) and key.rpartition(".")[2] not in ENDINGS
        if not is_there(key)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_each_setting_that_a_message_names_is_there(room):
    wrong = []
    for path in sorted((ROOT / room).rglob("*.py")):
        place = str(path.relative_to(ROOT))
        text = path.read_text()
        if place.startswith(_OF_WORD_SETS):
            text = text.replace("wordset.", "wordset.en.")
        wrong += [f"{place}:{line}: {key}" for line, key in wrong_names(text) if key not in NOT_SETTINGS]
    assert wrong == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("raise InputError(f'{x} is wrong: set classifier.labels to {y}')", ["classifier.labels"]),
        ("raise InputError('a ' f'corpus: set corpus.slyces=<field>')", ["corpus.slyces"]),
        ("x = f'set stoer=<path> for {y}'", ["stoer"]),
        ("x = f'set corpus.{name}.slice_by, or data.path'", []),
        ("x = f'set sentiment.<name>.classifier.label to {y}'", ["sentiment.<name>.classifier.label"]),
    ],
)
def test_one_that_is_not_there_is_noticed(code, names):
    assert [key for _, key in wrong_names(code)] == names

"""What is made of a set is in an order: strings of a set come otherwise in each process, and so would what is listed of
them: identities of units, classes of models, words of sentences."""

import ast
from pathlib import Path

import pytest

import tiltmeter

SOURCES = Path(tiltmeter.__file__).parent
LISTING = {"list", "tuple", "enumerate", "iter", "next", "zip", "map", "join"}


def is_set(node):
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")
    return called or isinstance(node, ast.Set | ast.SetComp)


def listed(node):
    """What a node takes the items of, one after the other."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments) if name in LISTING:
            return arguments
        case ast.ListComp(generators=parts) | ast.DictComp(generators=parts):
            return [part.iter for part in parts]
        case ast.For(iter=items):
            return [items]
        case ast.List(parts) | ast.Tuple(parts):
            return [part.value for part in parts if isinstance(part, ast.Starred)]
    return []


def unordered(source):
    return [node.lineno for node in ast.walk(ast.parse(source)) if any(map(is_set, listed(node)))]


@pytest.mark.parametrize("room", ["cluster", "jobs", "operators", "storage"])
def test_sets_are_sorted_before_they_are_listed(room):
    paths = [*SOURCES.joinpath(room).resolve().rglob("*.py")]
    assert len(paths) > 10
    assert not [(path.name, line) for path in paths for line in unordered(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("source", ["list({a})", "[b for b in {*a}]", "','.join(set(a))", "for b in {c for c in a}: b"])
def test_an_unordered_list_is_seen(source):
    assert unordered(source) == [1]

"""The values of nested mappings and lists, by the keys that lead to them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str, ...]


def leaves(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of nested mappings and lists with the keys that lead to it; mappings in a list go by their name.

    >>> list(leaves({"corpora": [{"name": "en", "path": ["a", "b"]}], "seed": 0}))
    [(('corpora', 'en', 'path'), ['a', 'b']), (('seed',), 0)]
    """
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from leaves(value, (*path, str(key)))
    elif isinstance(node, list) and node and all(isinstance(item, Mapping) for item in node):
        yield from leaves(_named(node), path)
    else:
        yield path, node


def _named(items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = [str(item.get("name")) for item in items]
    if len({*names} - {"None"}) < len(items):
        return {str(number): item for number, item in enumerate(items)}
    return {name: _without_name(item) for name, item in zip(names, items, strict=True)}


def _without_name(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "name"}

"""Lemmas, parts of speech and trees of sentences, in CoNLL-U, by their tokens."""

from collections.abc import Iterator, Sequence
from typing import Any

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.relations.content import text_of

_COLUMNS = 10
_NOTHING = "_"


def read_trees(uri: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """Of each sentence, by its tokens: ``lemma``, ``pos``, ``head`` (from 1, 0 of roots) and ``deprel``, each null
    where a token has none.

    The part of speech is the language's own where it is given, or else the universal one. Tokens of several words
    (``1-2``) and empty nodes (``1.1``) are left out; of two sentences with the same tokens the first counts.

    Raises:
        InputError: naming the line, if it has not ten columns, or heads or numbers are none; or without a sentence.
    """
    sentences: dict[tuple[str, ...], dict[str, Any]] = {}
    for first, rows in _blocks(text_of(uri), uri):
        tokens = tuple(row[1] for row in rows)
        sentences.setdefault(tokens, _annotations(rows, first, uri))
    if not sentences:
        raise InputError(f"{redacted(uri)} has no sentences of CoNLL-U: there must be one at least")
    return sentences


def with_trees(rows: Sequence[dict[str, Any]], uri: str) -> list[dict[str, Any]]:
    """Rows with what their sentences' trees say; a sentence that the file lacks keeps what it has.

    Args:
        rows: as :func:`.sentences.read_relations` has them.

    Raises:
        InputError: if the file has none of the sentences, or as :func:`read_trees`.
    """
    trees = read_trees(uri)
    known = [trees.get(tuple(row["tokens"])) for row in rows]
    if not any(known):
        raise InputError(f"data.trees: {redacted(uri)} has none of the sentences of its part, token for token")
    return [
        row | {name: value for name, value in (tree or {}).items() if value}
        for row, tree in zip(rows, known, strict=True)
    ]


def _blocks(text: str, uri: str) -> Iterator[tuple[int, list[list[str]]]]:
    """The number of the line behind each sentence, and its rows."""
    rows: list[list[str]] = []
    for number, line in enumerate((*text.splitlines(), ""), start=1):
        if line.startswith("#"):
            continue
        if line.strip():
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                raise InputError(
                    f"{redacted(uri)}, line {number}: has {len(columns)} columns between tabs: CoNLL-U has {_COLUMNS}"
                )
            rows += [columns] if columns[0].isdecimal() else []
        elif rows:
            yield number, rows
            rows = []


def _annotations(rows: Sequence[Sequence[str]], number: int, uri: str) -> dict[str, Any]:
    if [row[0] for row in rows] != [str(place) for place in range(1, len(rows) + 1)]:
        raise InputError(f"{redacted(uri)}: the tokens before line {number} are not numbered from 1")
    heads = [row[6] for row in rows]
    if wrong := [head for head in heads if head != _NOTHING and not (head.isdecimal() and int(head) <= len(rows))]:
        raise InputError(
            f"{redacted(uri)}: the head {wrong[0]!r:.60} before line {number} is no token of its sentence, "
            f"0 to {len(rows)}"
        )
    has_tree = _NOTHING not in heads
    return {
        "lemma": _column(rows, 2),
        "pos": _column(rows, 4) or _column(rows, 3),
        "head": [int(head) for head in heads] if has_tree else None,
        "deprel": [row[7] for row in rows] if has_tree else None,
    }


def _column(rows: Sequence[Sequence[str]], number: int) -> list[str] | None:
    values = [row[number] for row in rows]
    return None if all(value == _NOTHING for value in values) else values

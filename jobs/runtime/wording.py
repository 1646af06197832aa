"""Words that the whole of `jobs` writes alike: on pages, on a terminal, in tables of changes."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

_VERBS = {"be": ("is", "are"), "have": ("has", "have"), "do": ("does", "do"), "go": ("goes", "go")}
"""Of one and of any other number of things; the others take an s."""


def plural(num: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "pair"), plural(1204, "pair"), plural(0, "near miss")
    ('1 pair', '1,204 pairs', '0 near misses')
    """
    return f"{num:,} {noun if num == 1 else plural_form(noun)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed([])
    ('a', 'a, b and c', 'a or b', '')
    """
    return f" {last} ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def plural_form(noun: str) -> str:
    """A noun for any number of things but one.

    >>> plural_form("bias"), plural_form("effect size")
    ('biases', 'effect sizes')
    """
    return f"{noun}{'es' if noun.endswith('s') else 's'}"


def verb(num: int, infinitive: str) -> str:
    """A verb that agrees with a number of things.

    >>> verb(1, "lie"), verb(2, "lie"), verb(1, "be"), verb(0, "be"), verb(1, "go"), verb(1, "have")
    ('lies', 'lie', 'is', 'are', 'goes', 'has')
    """
    singular, others = _VERBS.get(infinitive, (f"{infinitive}s", infinitive))
    return singular if num == 1 else others


def left_out_sentences(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was left out of files, a sentence for each reason.

    Args:
        rows: ``left_out`` of ``run.json``, of the fields of ``storage.bad_records.LeftOut``.

    >>> row = {"file": "a.csv", "reason": "empty text", "kind": "empty", "num": 2, "first": "row 7"}
    >>> left_out_sentences([row, row | {"file": "b.csv"}, row | {"kind": "kept", "reason": "no title", "num": 1}])
    ['4 records left out: empty text; first in a.csv, row 7; 2 files', '1 record kept: no title; first in a.csv, row 7']
    """
    sentences = []
    by_reason = sorted(rows, key=_reason)
    for (kind, reason), group in groupby(by_reason, _reason):
        files = [*group]
        count = f"{plural(sum(row['num'] for row in files), 'record')} {'kept' if kind == 'kept' else 'left out'}"
        others = f"; {len(files):,} files" if len(files) > 1 else ""
        sentences.append(f"{count}: {reason}; first in {files[0]['file']}, {files[0]['first']}{others}")
    return sentences


def _reason(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["kind"], row["reason"]

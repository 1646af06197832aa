"""Between instances and rows of tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiltmeter.operators.relations.instances import Instance, InstanceError, Sentence, Span


def instance_of(row: Mapping[str, Any]) -> Instance:
    """The instance of a row.

    Args:
        row: ``tokens``; ``subject_start``, ``subject_end``, ``object_start``, ``object_end``, half-open from 0; and as
            far as known ``relation``, ``subject_type``, ``object_type``, ``document``, ``row``, ``lemma``, ``pos``,
            ``ner``, ``deprel`` and ``head``, which counts from 1 as in CoNLL-U, 0 of roots.

    Raises:
        InstanceError: naming what is wrong with it.

    >>> instance_of({"tokens": ["Ada", "King"], "subject_start": 0, "subject_end": 1, "object_start": 1,
    ...              "object_end": 2, "head": [2, 0], "deprel": ["compound", "root"]}).sentence.heads
    (1, -1)
    """
    heads = row.get("head")
    sentence = Sentence(
        tuple(row["tokens"]),
        _values(row, "lemma"),
        _values(row, "pos"),
        _values(row, "ner"),
        None if heads is None else tuple(head - 1 for head in heads),
        _values(row, "deprel"),
    )
    return Instance(
        sentence,
        Span(row["subject_start"], row["subject_end"]),
        Span(row["object_start"], row["object_end"]),
        row.get("relation"),
        row.get("subject_type"),
        row.get("object_type"),
        row.get("document") or "",
        row.get("row") or 0,
    )


def row_of(instance: Instance) -> dict[str, Any]:
    """The row of an instance that is made up, which has no tree."""
    sentence = instance.sentence
    spans = {"subject": instance.subject, "object": instance.object}
    return {
        **{f"{role}_{end}": getattr(span, end) for role, span in spans.items() for end in ("start", "end")},
        **{name: getattr(instance, name) for name in ("subject_type", "object_type", "relation", "document")},
        "tokens": list(sentence.tokens),
        "ner": list(sentence.ner or ()),
    }


def _values(row: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    values: Sequence[str] | None = row.get(name)
    if values is not None and any(value is None for value in values):
        raise InstanceError(f"{name} has a value that is missing")
    return None if values is None else tuple(values)

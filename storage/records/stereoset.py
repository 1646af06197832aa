"""The file of StereoSet (Nadeem, Bethke and Reddy 2021): a stereotype, its opposite and something else."""

import json
from typing import Any, NamedTuple

from tiltmeter.storage.bad_records import BadRecords, collect
from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted

_PART = "intrasentence"
"""The part whose sentences stand alone; those of the other continue a text, which takes a head of its own."""

_LABELS = ("stereotype", "anti-stereotype", "unrelated")


class Triple(NamedTuple):
    """Three sentences that fill one context, which is about a term: the target."""

    id: str
    target: str
    bias_type: str
    stereotype: str
    anti_stereotype: str
    unrelated: str


def read_stereoset(uri: str, setting: str = "") -> list[Triple]:
    """The contexts of single sentences; those without one sentence of each kind are left out.

    Args:
        setting: that names the file; what is left out is counted then, for the run and before its work.

    Raises:
        InputError: if it is no such file, or none of its contexts can be used.
    """
    name, bad, kept = redacted(uri), BadRecords(), []
    with opened(uri) as file:
        content = unpacked(file).read()
    entries = _entries(content)
    if entries is None:
        raise InputError(
            f"{setting or 'data.path'}: {name} is no file of StereoSet: must be JSON with a list "
            f"data.{_PART}; for other files set data.format to pairs or crows_pairs"
        )
    for number, entry in enumerate(entries, start=1):
        triple = _triple(entry)
        if triple is None:
            bad.add(name, "not one sentence for each label", f"data.{_PART}, item {number:,}")
        else:
            kept.append(triple)
    bad.read(name, len(entries))
    if not kept:
        raise InputError(f"{name}: none of its records can be used: {bad.reasons(name) or f'data.{_PART} is empty'}")
    if setting:
        collect(bad)
    return kept


def _entries(content: bytes) -> list[Any] | None:
    try:
        entries = json.loads(content)["data"][_PART]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return entries if isinstance(entries, list) else None


def _triple(entry: Any) -> Triple | None:
    """Of a context that has what it takes."""
    if not isinstance(entry, dict) or not isinstance(entry.get("sentences"), list):
        return None
    sentences = [one for one in entry["sentences"] if isinstance(one, dict)]
    by_label = {str(one.get("gold_label")): one.get("sentence") for one in sentences}
    cells: list[Any] = [entry.get(key) for key in ("id", "target", "bias_type")]
    cells += [by_label.get(label) for label in _LABELS]
    return Triple(*cells) if len(sentences) == len(_LABELS) and all(map(_is_text, cells)) else None


def _is_text(value: Any) -> bool:
    """Whether it is a string with something in it, and no half of a surrogate pair."""
    return isinstance(value, str) and bool(value.strip()) and not any("\ud800" <= one <= "\udfff" for one in value)

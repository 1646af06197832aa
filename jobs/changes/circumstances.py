"""Which settings, inputs and versions differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiltmeter.jobs.changes.inputs import Input, inputs, leaves
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.tables import Changes
from tiltmeter.jobs.changes.wording import as_text, change_text, value_text

_PLACES = {"exports", "run_dir", "series", "store"}
"""Settings that say where a run takes place and what it is called, or which files of results it leaves, and
nothing about what it does."""

_MOST_ITEMS = 5


def circumstances(before: PastRun, after: PastRun) -> list[Changes]:
    """Settings, inputs and versions that differ between two runs."""
    return [
        *_changes("setting", _settings(before), _settings(after)),
        *_changes("input", *(inputs(run.record.get("inputs", {})) for run in (before, after))),
        *_changes("version", _versions(before), _versions(after)),
    ]


def _settings(run: PastRun) -> dict[str, Any]:
    return {".".join(path): value for path, value in leaves(run.settings) if _PLACES.isdisjoint((path[0], path[-1]))}


def _versions(run: PastRun) -> dict[str, Any]:
    known = {name: run.record.get(name) for name in ("git_commit", "machine")}
    return {".".join(path): value for path, value in leaves(run.record["versions"] | known)}


def _changes(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Changes]:
    """One for each name whose value came, is gone or differs, in the order of the later run."""
    for name in dict.fromkeys([*after, *before]):
        if name in before and name in after and before[name] == after[name]:
            continue
        was, now = (_text(side[name]) if name in side else None for side in (before, after))
        sentence = f"{kind} {name} {_moved(name, before, after)}."
        yield Changes(kind=kind, item=name, text_before=was, text_after=now, sentence=sentence)


def _moved(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if name not in before:
        return f"is new: {_value_text(after[name])}"
    if name not in after:
        return f"is gone: it was {_value_text(before[name])}"
    one, other = before[name], after[name]
    if isinstance(one, Input) and isinstance(other, Input):
        return other.change_from(one)
    if isinstance(one, list) and isinstance(other, list):
        return _lists(one, other)
    if one is None or other is None:
        return f"was {_value_text(one)} and is {_value_text(other)} now"
    return change_text(one, other)


def _text(value: Any) -> str | None:
    # A setting that is null is there.
    return "null" if value is None else str(value) if isinstance(value, Input) else as_text(value)


def _value_text(value: Any) -> str:
    return "null" if value is None else str(value) if isinstance(value, Input) else value_text(value)


def _lists(before: Sequence[Any], after: Sequence[Any]) -> str:
    came, gone = ([item for item in one if item not in other] for one, other in ((after, before), (before, after)))
    parts = [f"{verb} {_some(items)}" for verb, items in (("gained", came), ("lost", gone)) if items]
    return " and ".join(parts) or "has its items in another order, or another number of times"


def _some(items: Sequence[Any]) -> str:
    shown = ", ".join(_value_text(item) for item in items[:_MOST_ITEMS])
    return shown if len(items) <= _MOST_ITEMS else f"{len(items):,} items ({shown}, ...)"

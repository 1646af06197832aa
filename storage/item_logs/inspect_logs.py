"""Logs of Inspect, by its documented format: ``.eval`` (a zip file of JSON) and ``.json``.

Of an ``.eval`` its summaries are read, which have item, epoch, scores, error and metadata, texts cut to some thousand
characters; samples only where their content is needed. A run that died has left no header, and summaries in its
journal.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.item_logs.archives import Archive
from tiltmeter.storage.item_logs.lines import label_in, value_in
from tiltmeter.storage.item_logs.scores import SCORES, ScoreColumns, ScoreLog

_HEADER, _START, _SUMMARIES = "header.json", "_journal/start.json", "summaries.json"
_JOURNAL = re.compile(r"_journal/summaries/(\d+)\.json")
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(/sample)?\.json")
_NEWEST = 2
_CUT_TO = 1_000
"""Characters of a text that every version leaves of it in summaries."""

_UNREAD = "Key removed from summary (> 1k)"


def read_archive(uri: str, name: str, wanted: ScoreColumns) -> ScoreLog:
    """The scores of an ``.eval``; of a sample that it has more than once the last counts.

    Raises:
        InputError: if it is damaged, of another program, or lacks a score or a key of metadata.
    """
    where = f"{name}: {redacted(uri)}"
    with opened(uri) as file:
        archive = Archive(file, where)
        start = next((member for member in (_HEADER, _START) if member in archive.members), None)
        if start is None:
            raise InputError(f"{where} is no log of Inspect: it has neither {_HEADER} nor {_START}")
        return _log(_json(archive.read(start), where), _samples(archive, wanted), where, wanted)


def read_json(uri: str, name: str, wanted: ScoreColumns) -> ScoreLog:
    """The scores of a ``.json``; errors as of :func:`read_archive`."""
    where = f"{name}: {redacted(uri)}"
    with opened(uri) as packed:
        log = _json(unpacked(packed).read(), where)
    return _log(log, log.get("samples") or [], where, wanted)


def _json(content: bytes, where: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is damaged, it has what is no JSON: {error}", is_unreadable=True) from error


def _samples(archive: Archive, wanted: ScoreColumns) -> Iterator[dict[str, Any]]:
    journal = {int(match[1]): name for name in archive.members if (match := _JOURNAL.fullmatch(name))}
    summaries = [_SUMMARIES] if _SUMMARIES in archive.members else [journal[number] for number in sorted(journal)]
    for member in [*filter(_SAMPLE.fullmatch, archive.members)] if wanted.whole or not summaries else summaries:
        content = _json(archive.read(member), member)
        yield from content if isinstance(content, list) else [content]


def _log(log: Any, samples: Iterable[Any], where: str, wanted: ScoreColumns) -> ScoreLog:
    if not (isinstance(log, dict) and isinstance(log.get("eval"), dict) and isinstance(log.get("version"), int)):
        raise InputError(f"{where} is no log of Inspect: it has no version, or does not say what was evaluated")
    if log["version"] > _NEWEST:
        raise InputError(f"{where} is of version {log['version']} of Inspect's logs; up to {_NEWEST} can be read")
    try:
        read = [sample for sample in samples if isinstance(sample, dict) and {"id", "epoch"} <= sample.keys()]
        # Of a sample that was written again, as after an edit, the later one counts.
        kept = {(json.dumps(sample["id"]), sample["epoch"]): sample for sample in read}
        chosen = [
            sample
            for sample in kept.values()
            if all(label_in(value_in(sample, path)) == value for path, value in wanted.only.items())
        ]
        rows, known = _rows(chosen, log["eval"], where, wanted)
    except (AttributeError, TypeError, UnicodeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{where}: a sample is not as Inspect writes it: {error}") from error
    return ScoreLog(
        "Inspect",
        rows,
        known,
        num_replaced=len(read) - len(kept),
        is_complete=log.get("status") == "success",
        version=f"version {log['eval'].get('task_version')} of {log['eval'].get('model')}",
    )


def _rows(
    samples: list[dict[str, Any]], task: Mapping[str, Any], where: str, wanted: ScoreColumns
) -> tuple[pl.DataFrame, list[str]]:
    scored = [dict(_values(sample)) for sample in samples]
    known = dict.fromkeys(score for values in scored for score in values)
    chosen = [score for score in known if wanted.takes(score)]
    if not known:
        raise InputError(f"{where} has no scores in the {len(samples):,} samples that logs.only leaves of it")
    rows, task_name, cluster = [], _task(task), f"metadata.{wanted.cluster}"
    for sample, values in zip(samples, scored, strict=True):
        none = "error" if sample.get("error") else "limit" if sample.get("limit") else "no score"
        shared = {
            "task": task_name,
            "item": label_in(value_in(sample, wanted.item or "id")),
            "repeat": str(sample["epoch"]),
            "sample": sample.get("uuid"),
            "content": json.dumps(_content(sample, wanted.whole)),
            "cluster": label_in(value_in(sample, cluster)) if wanted.cluster else None,
        }
        rows += [(*shared.values(), score, *values.get(score, (None, none, None))) for score in chosen]
    frame = pl.DataFrame(rows, SCORES | {"content": pl.String}, orient="row").with_columns(pl.col("content").hash())
    if wanted.cluster and (frame["cluster"].null_count() == frame.height or (frame["cluster"] == _UNREAD).any()):
        keys = choices(wanted.cluster, [*dict.fromkeys(key for one in samples for key in one.get("metadata") or {})])
        what = f"text or number {wanted.cluster!r} in metadata, which logs.cluster names; it has {keys}"
        raise InputError(f"{where} has no {what}")
    return frame.drop_nulls("item"), list(known)


def _task(task: Mapping[str, Any]) -> str:
    """Its name, with the arguments that it was given."""
    given = task.get("task_args_passed", task.get("task_args")) or {}
    words = ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in sorted(given.items())
    )
    return f"{task.get('task')}({words})" if words else str(task.get("task"))


def _values(sample: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str | None, str | None, bool | None]]]:
    """By score its value as text, the log's word for why there is none, and whether it was edited."""
    for scorer, score in (sample.get("scores") or {}).items():
        value, reason = score.get("value"), score.get("reason") or (score.get("metadata") or {}).get("unscored_reason")
        # Summaries leave out what a score was before it was edited, or have an empty list of it.
        edited = bool(score.get("history")) if "messages" in sample or "message_refs" in sample else None
        parts = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else None
        for key, one in ({"": value} if parts is None else parts).items():
            text = one if one is None or isinstance(one, str) else json.dumps(one)
            yield f"{scorer}.{key}" if parts is not None else scorer, (text, reason, edited)


def _content(sample: Mapping[str, Any], whole: bool) -> Any:
    """What the sample says; not whole, as much of it as every summary has."""
    messages, target = sample.get("input"), sample.get("target")
    texts = [message.get("content") for message in messages] if isinstance(messages, list) else [messages]
    if whole:
        return [texts, sample.get("choices"), target]
    texts += target if isinstance(target, list) else [target]
    return [text[:_CUT_TO] if isinstance(text, str) else None for text in texts]

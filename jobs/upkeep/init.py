"""``tiltmeter init PATH [PATH] [to=FILE]``: a small file of settings for a corpus, a table, logs or runs.

What is guessed says so, and the command that it names runs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from typing import Any, Literal, NamedTuple

import polars as pl
import yaml
from pyarrow import fs

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.corpora.recognition import UnknownFormat, recognised
from tiltmeter.storage.errors import InputError, Refusal, meant_path
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.tables import write_bytes

_COMMAND, _FOLDER = "tiltmeter init", "mine"
_READABLE = (
    "it reads corpora (dumps, .txt, JSON lines, Parquet), tables (CSV, TSV, JSON, Parquet, Arrow), the logs of two "
    "systems and the directories of two runs"
)
_HEAD_BYTES, _PACKINGS = 2**20, {".gz", ".bz2", ".xz", ".zst"}
_WORDS_OF_TEXT, _MOST_CLASSES, _COMMENT = 4.0, 20, 100
_LANGUAGE = re.compile(r"(?:^|[._-])(ar|de|en|es|fa|fr|ur|wo|zh)(?:wiki|[._-])")
_LABEL, _PREDICTION = re.compile("label|class|target|gold", re.I), re.compile("pred|guess|output", re.I)
_KINDS = {"number": "number", "day": "date", "class": "exact"}
"""Of columns of records, as ``records.fields`` calls them."""

_MATTER = {
    "survey": ("corpus.slices", "embedding.num_replicas", "job.num_resamples", "seed"),
    "error_characterisation": ("data.group", "data.probabilities", "data.limit", "slices.alpha", "seed"),
    "word_influence": ("data.group", "data.limit", "models.checkpoint", "num_students", "seed"),
    "entity_resolution": ("records.labelled", "records.clusters", "records.threshold", "missing", "gold", "solver"),
    "compare": ("logs.cluster", "logs.repeat", "logs.missing", "logs.level", "logs.question"),
}
"""Settings that somebody is likely to change, by job."""

Kind = Literal["id", "number", "day", "class", "text", "value"]


class Draft(NamedTuple):
    """What is to be written.

    Attributes:
        seen: what the files are, in words.
        values: settings by their keys.
        guesses: keys of those that the files do not say for sure.
        choices: lines of the defaults list.
    """

    job: str
    seen: str
    values: Mapping[str, Any]
    guesses: Sequence[str] = ()
    choices: Sequence[str] = ()


def write_settings(words: Sequence[str]) -> str:
    """Look at files, and write settings for them; returns what was seen and what to do next.

    Args:
        words: of the command line, after ``init``: a path, or two of logs or runs, and ``to=<file>``.

    Raises:
        Refusal: if nothing is there that a job reads, or if the file of settings is there already.
        StorageError: if it can't be written.
    """
    paths = [word for word in words if not word.startswith("to=")]
    if not 0 < len(paths) <= 2:
        raise Refusal(f"{_COMMAND}: needs a path, or two of logs or runs, and has {len(paths)}; {_READABLE}")
    if absent := next((path for path in paths if not Path(path).exists()), None):
        raise Refusal(f"{_COMMAND} {absent}: there is no such file or folder{meant_path(absent)}")
    name = re.sub(r"\W+", "_", Path(paths[0]).name.partition(".")[0]) or "settings"
    target = Path(next((word[3:] for word in words if word.startswith("to=")), f"{_FOLDER}/{name}.yaml"))
    if target.exists() or target.suffix != ".yaml" or target.stem == catalogue.CONFIG:
        reason = "is there already" if target.exists() else "is no name for them"
        raise Refusal(f"{_COMMAND}: to={target}: {reason}; name another file for the settings, to=<name>.yaml")
    draft = _of_two(*paths) if len(paths) == 2 else _of_one(paths[0])
    command = f"tiltmeter --config-dir {target.parent} --config-name {target.stem}"
    write_bytes(fs.LocalFileSystem(), str(target), _text(draft, command).encode(), setting="to=<name>.yaml")
    guesses = f"; guesses to check: {', '.join(draft.guesses)}" if draft.guesses else ""
    return f"{draft.seen}\n{target}: settings for job={draft.job}{guesses}\n  {command}"


# --- what the files are ---------------------------------------------------------------------------------------------


def _of_two(first: str, second: str) -> Draft:
    if all((Path(path) / "run.json").is_file() for path in (first, second)):
        return Draft("compare", "directories of two runs", {"runs": [first, second]})
    values: dict[str, Any] = {"logs.first": first, "logs.second": second}
    if Path(first).is_dir() or first.endswith((".eval", ".json")):
        return Draft("compare", "logs of two systems", values)
    kinds = kinds_of(_rows(first))
    if {"doc_id", "item"} & {*kinds} and {"acc", "score"} & {*kinds}:
        return Draft("compare", f"logs of two systems, {_seen(kinds)}", values)
    items = [name for name, kind in kinds.items() if kind == "id"]
    scores = [name for name, kind in kinds.items() if kind in ("number", "class", "id") and name not in items[:1]]
    if not items or not scores:
        raise Refusal(f"{_COMMAND} {first}: has no column that tells items apart, or none of scores: {_seen(kinds)}")
    guessed = {"logs.item": items[0], "logs.score": scores[:1]}
    return Draft("compare", f"logs of two systems, {_seen(kinds)}", values | guessed, [*guessed])


def _of_one(path: str) -> Draft:
    inside = sorted(place for place in Path(path).rglob("*") if place.is_file() and place.name[0] != ".")
    file = str(inside[0] if inside else path)
    try:
        form = recognised(file, None).format
    except UnknownFormat:
        form = None
    if form in ("mediawiki", "wikiextractor", "text", "archive"):
        return _corpus(path, form)
    rows = _rows(file)
    kinds = kinds_of(rows)
    classes = [name for name, kind in kinds.items() if kind == "class"]
    if form and "text" in kinds and not any(map(_LABEL.search, classes)):
        return _corpus(path, form)
    if {"left", "right"} <= {*kinds} and {"weight", "match_probability"} & {*kinds}:
        return Draft("entity_resolution", _seen(kinds), {"pairs": path})
    if "text" in kinds.values() and classes:
        return _texts(path, rows, kinds, classes)
    if "doc_id" in kinds:
        raise Refusal(f"{_COMMAND} {path}: is a log of items; name the log of a second system behind it")
    return _records(path, rows, kinds)


def _corpus(path: str, form: str) -> Draft:
    name, match = Path(path).name.partition(".")[0], _LANGUAGE.search(Path(path).name.lower())
    values = {"corpus.name": re.sub(r"\W+", "_", name) or "mine", "corpus.path": path}
    values |= {"corpus.language": match[1] if match else "en"}
    return Draft("survey", f"a corpus ({form})", values, ["corpus.language"], ["override corpus: file"])


def _texts(path: str, rows: pl.DataFrame, kinds: Mapping[str, Kind], classes: Sequence[str]) -> Draft:
    """A classifier's errors where there are predictions; what words do where there are labels alone."""
    label = next(filter(_LABEL.search, classes), classes[0])
    guessed = {"data.text": max(kinds, key=lambda name: _num_words(rows[name])), "data.label": label}
    same = [name for name in classes if name != label and {*rows[name]} <= {*rows[label], None}]
    prediction = next(filter(_PREDICTION.search, same), None)
    guessed |= {"data.prediction": prediction} if prediction else {}
    job = "error_characterisation" if prediction else "word_influence"
    return Draft(job, _seen(kinds), {"data.path": path} | guessed, [*guessed])


def _records(path: str, rows: pl.DataFrame, kinds: Mapping[str, Kind]) -> Draft:
    names = [name for name, kind in kinds.items() if kind != "id"]
    ids = sorted((name for name, kind in kinds.items() if kind == "id"), key=lambda name: "id" not in name.lower())
    if not ids or len(names) < 2:
        raise Refusal(f"{_COMMAND} {path}: is {_seen(kinds)}, of which none names records of two others; {_READABLE}")
    compared = [name for name in names if kinds[name] in ("value", "text")] or names
    # A strict rule that no two records share would teach nothing.
    rules = [compared[:2], *([name] for name in compared)]
    shared = [rule for rule in rules if rows.select(rule).drop_nulls().is_duplicated().any()]
    guessed = {
        "records.id": ids[0],
        "records.fields": {name: {"kind": _KINDS.get(kinds[name], "string")} for name in names},
        "records.blocking": [{name: 4} for name in compared[:3]],
        "records.unlabelled": {"rules": [dict.fromkeys((shared or rules)[0])], "recall": 0.6},
        "missing": "zero",
    }
    return Draft("entity_resolution", _seen(kinds), {"records.path": path} | guessed, [*guessed], ["records: csv"])


# --- tables ---------------------------------------------------------------------------------------------------------


def _rows(path: str) -> pl.DataFrame:
    """The first rows of a table of text, all of another one."""
    try:
        with opened(path) as file:
            head = unpacked(file).read(_HEAD_BYTES)
        if head.startswith((b"PAR1", b"ARROW1")) or head.lstrip()[:1] == b"[":
            rows = read_records(path)
        else:
            with TemporaryDirectory(prefix="tm-") as folder:
                part = Path(folder) / (Path(path).stem if Path(path).suffix in _PACKINGS else Path(path).name)
                part.write_bytes(head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n") + 1])
                rows = read_records(str(part))
    except InputError as error:
        raise Refusal(f"{_COMMAND} {path}: is nothing that a job reads; {_READABLE}") from error
    if not all(map(str.isprintable, rows.columns)):
        raise Refusal(f"{_COMMAND} {path}: is nothing that a job reads; {_READABLE}")
    return rows


def kinds_of(rows: pl.DataFrame) -> dict[str, Kind]:
    """What each column seems to hold: an id that tells rows apart, numbers, days, classes, texts, or other values.

    >>> kinds_of(pl.DataFrame({"n": ["1", "2"] * 9, "who": [*"abcdefghijklmnopqr"], "t": ["it rains a lot"] * 18}))
    {'n': 'class', 'who': 'id', 't': 'text'}
    """
    return {column.name: _kind(column.drop_nulls().cast(pl.String)) for column in rows if not column.dtype.is_nested()}


def _kind(cells: pl.Series) -> Kind:
    if _num_words(cells) >= _WORDS_OF_TEXT:
        return "text"
    if (num := cells.n_unique()) <= min(_MOST_CLASSES, len(cells) // 4):
        return "class"
    if cells.str.contains(r"^\d{4}-\d\d-\d\d$").all():
        return "day"
    if num == len(cells) and not cells.str.contains(r"\s|\.").any():
        return "id"
    return "value" if cells.cast(pl.Float64, strict=False).has_nulls() else "number"


def _num_words(cells: pl.Series) -> float:
    """On average."""
    counts = cells.drop_nulls().cast(pl.String).str.count_matches(r"\S+")
    return float(counts.sum() / max(len(counts), 1))


def _seen(kinds: Mapping[str, Kind]) -> str:
    return f"a table with the columns {listed([f'{name} ({kind})' for name, kind in kinds.items()])}"


# --- the file of settings -------------------------------------------------------------------------------------------


def _text(draft: Draft, command: str) -> str:
    lines = [f"# Written by {_COMMAND}, which saw {draft.seen}.", f"# {command}"]
    lines += ["# Guesses are to be checked; what stands behind # is the usual value.", "defaults:"]
    # Hydra wants what overrides last.
    choices = ["tiltmeter", *draft.choices, "_self_", f"override job: {draft.job}"]
    lines += [f"  - {line}" for line in sorted(choices, key=lambda line: line.startswith("override"))]
    return "\n".join([*lines, "", *_settings(draft), ""])


def _settings(draft: Draft) -> Iterator[str]:
    """Block by block, with the comments of their own files."""
    folders, files = catalogue.settings_folders(), {"corpus": ["file"], "records": ["csv"]}
    chosen = {group: names for group, names in files.items() if any(key.startswith(group) for key in draft.values)}
    blocks: dict[str, list[str]] = {}
    for key in dict.fromkeys([*draft.values, *_MATTER[draft.job]]):
        setting = folders.of_job(draft.job, chosen, key).get(key)
        if setting or key in draft.values:
            value = _written(draft.values[key]) if key in draft.values else str(setting and setting.value)
            meaning = shorten(setting.meaning, _COMMENT, placeholder=" ...") if setting else ""
            comment = "; ".join(filter(None, ["a guess" if key in draft.guesses else "", meaning]))
            block, _, name = key.rpartition(".")
            line = f"{name}: {value}{f' # {comment}' if comment else ''}"
            blocks.setdefault(block, []).append(line if key in draft.values else f"# {line}")
    for block, lines in blocks.items():
        is_usual = all(line.startswith("#") for line in lines)
        yield from [f"{'# ' if is_usual else ''}{block}:"] if block else []
        yield from (f"{'  ' if block else ''}{line}" for line in lines)


def _written(value: Any) -> str:
    """As YAML in a line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    return str(text).removesuffix("...\n").strip()

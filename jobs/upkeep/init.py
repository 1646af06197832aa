"""``tiltmeter init PATH [PATH] [to=FILE]``: a small file of settings for a corpus, a table, logs or runs, from a look at
them. What is guessed says so, and the command that it ends with runs.
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
from tiltmeter.storage.errors import InputError, Refusal, meant
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.tables import write_bytes

_COMMAND = "tiltmeter init"
_HEAD_BYTES, _PACKINGS = 2**20, {".gz", ".bz2", ".xz", ".zst"}
_DOCUMENTS = {"mediawiki": "a MediaWiki dump", "wikiextractor": "text of WikiExtractor", "text": "plain text"} | {
    "jsonl": "JSON lines of documents", "json": "JSON of documents", "parquet": "Parquet of documents",
    "arrow": "Arrow of documents", "archive": "an archive of documents",
}  # fmt: skip
_READABLE = "a corpus (MediaWiki dump, WikiExtractor's text, .txt, JSON lines, Parquet), a table (CSV, TSV, JSON, Parquet, Arrow), logs of two systems or directories of two runs"
_WORDS_OF_TEXT, _MOST_CLASSES, _COMMENT = 4.0, 20, 100
_LANGUAGE = re.compile(r"(?:^|[._-])(ar|de|en|es|fa|fr|ur|wo|zh)(?:wiki|[._-])")
_PREDICTED, _LABELLED = (
    re.compile("pred|guess|output|system", re.IGNORECASE),
    re.compile("label|class|target|gold", re.IGNORECASE),
)
_MATTER = {
    "survey": ("corpus.slices", "embedding.num_replicas", "job.num_resamples", "seed"),
    "error_characterisation": ("data.group", "data.probabilities", "data.limit", "slices.alpha", "seed"),
    "word_influence": ("data.group", "data.limit", "models.checkpoint", "num_students", "seed"),
    "entity_resolution": ("gold", "missing", "records.labelled", "records.clusters", "records.threshold", "solver"),
    "compare": ("logs.cluster", "logs.repeat", "logs.missing", "logs.level", "logs.question"),
}
"""Settings that somebody is likely to change, by job."""

Kind = Literal["id", "number", "day", "class", "text", "value"]


class Plan(NamedTuple):
    """What is written.

    Attributes:
        seen: what the files are, in words.
        values: settings by their keys.
        guesses: keys of those that the files do not say for sure.
        defaults: lines of the defaults list.
    """

    job: str
    seen: str
    values: Mapping[str, Any]
    guesses: Sequence[str] = ()
    defaults: Sequence[str] = ()


def write_settings(words: Sequence[str]) -> str:
    """Look at files, and write settings for them; returns what to do next.

    Args:
        words: of the command line, after ``init``: a path, or two of logs or runs, and ``to=<file>``.

    Raises:
        Refusal: if they are not there, or nothing that a job can read, or if the file of settings is there already.
        StorageError: if it can't be written.
    """
    paths = [word for word in words if not word.startswith("to=")]
    if not 0 < len(paths) <= 2:
        raise Refusal(
            f"{_COMMAND}: needs a path, or two of logs or runs, and has {len(paths)}: it can read {_READABLE}"
        )
    for path in paths:
        if not Path(path).expanduser().exists():
            beside = [place.name for place in Path(path).parent.iterdir()] if Path(path).parent.is_dir() else []
            raise Refusal(f"{_COMMAND} {path}: there is no such file or folder{meant(Path(path).name, beside)}")
    name = re.sub(r"\W+", "_", Path(paths[0]).name.partition(".")[0]).strip("_") or "settings"
    target = Path(next((word.removeprefix("to=") for word in words if word.startswith("to=")), f"mine/{name}.yaml"))
    if target.suffix != ".yaml" or target.exists() or target.stem == catalogue.CONFIG:
        reason = (
            "is there already, and is left as it is" if target.exists() else "must be a file of settings, <name>.yaml"
        )
        raise Refusal(f"{_COMMAND}: to={target}: {reason}; choose another with to=<file>.yaml")
    plan = _plan_of_two(paths) if len(paths) == 2 else _plan_of(paths[0])
    command = f"tiltmeter --config-dir {target.parent} --config-name {target.stem}"
    write_bytes(fs.LocalFileSystem(), str(target), _text(plan, command).encode(), setting="to=<file>.yaml")
    guesses = f"; guesses to check: {', '.join(plan.guesses)}" if plan.guesses else ""
    return f"{plan.seen}\n{target}: settings for job={plan.job}{guesses}\n  {command}"


# --- what the files are ---------------------------------------------------------------------------------------------


def _plan_of_two(paths: Sequence[str]) -> Plan:
    first, second = paths
    if all((Path(path) / "run.json").is_file() for path in paths):
        return Plan("compare", "directories of two runs", {"runs": [first, second]}, ["runs"])
    if any(Path(path).is_dir() for path in paths):
        return Plan("compare", "folders of logs", {"logs.first": first, "logs.second": second}, ["logs.first"])
    columns, values = _rows(first).columns, {"logs.first": first, "logs.second": second}
    is_known = {"doc_id", "item", "id"} & {*columns} and {"acc", "score"} & {*columns}
    guesses: list[str] = []
    if not is_known and not first.endswith((".eval", ".json")):
        kinds = kinds_of(_rows(first))
        numbers = [name for name, kind in kinds.items() if kind in ("number", "class")]
        ids = [name for name, kind in kinds.items() if kind == "id"]
        if not ids or not numbers:
            raise Refusal(
                f"{_COMMAND} {first}: has no column that tells items apart, or none with scores; {_seen(kinds)}"
            )
        guesses = ["logs.item", "logs.score"]
        values |= {"logs.item": ids[0], "logs.score": [numbers[0]]}
    return Plan("compare", f"logs of two systems with the columns {listed(columns)}", values, guesses)


def _plan_of(path: str) -> Plan:
    place = Path(path).expanduser()
    file = next((one for one in sorted(place.rglob("*")) if one.is_file()), place) if place.is_dir() else place
    form = _format(file)
    if form in ("mediawiki", "wikiextractor", "text", "archive"):
        return _corpus(path, form)
    rows = _rows(str(file))
    kinds = kinds_of(rows)
    classes, seen = [name for name, kind in kinds.items() if kind == "class"], _seen(kinds)
    if form and "text" in kinds and not any(map(_LABELLED.search, classes)):
        return _corpus(path, form)
    if {"left", "right"} <= {*kinds} and {"weight", "match_probability"} & {*kinds}:
        return Plan("entity_resolution", seen, {"pairs": path})
    if "text" in kinds.values():
        return _texts(path, rows, kinds, seen)
    if "doc_id" in kinds:
        raise Refusal(f"{_COMMAND} {path}: is a log of items; name the log of a second system behind it. {seen}")
    return _records(path, kinds, seen)


def _format(file: Path) -> str | None:
    try:
        return recognised(str(file), None).format
    except UnknownFormat:
        return None


def _corpus(path: str, form: str) -> Plan:
    match = _LANGUAGE.search(Path(path).name.lower())
    name = re.sub(r"[^\w.-]+", "_", Path(path).name.partition(".")[0]) or "mine"
    values = {"corpus.name": name, "corpus.path": path, "corpus.language": match[1] if match else "en"}
    return Plan("survey", _DOCUMENTS[form], values, ["corpus.language"], ["override corpus: file"])


def _texts(path: str, rows: pl.DataFrame, kinds: Mapping[str, Kind], seen: str) -> Plan:
    """A classifier's errors where there are predictions; what words do where there are labels alone."""
    classes = [name for name, kind in kinds.items() if kind == "class"]
    if not classes:
        raise Refusal(
            f"{_COMMAND} {path}: has texts and no column of a class; a corpus has its texts in 'text'. {seen}"
        )
    label = next(filter(_LABELLED.search, classes), classes[0])
    values = {"data.path": path, "data.text": max(kinds, key=lambda name: _num_words(rows[name])), "data.label": label}
    same = [name for name in classes if name != label and {*rows[name]} <= {*rows[label], None}]
    if predicted := next(filter(_PREDICTED.search, same), None):
        return Plan(
            "error_characterisation", seen, values | {"data.prediction": predicted}, [*values, "data.prediction"][1:]
        )
    return Plan("word_influence", seen, values, [*values][1:])


def _records(path: str, kinds: Mapping[str, Kind], seen: str) -> Plan:
    names = [name for name, kind in kinds.items() if kind != "id"]
    ids = [name for name, kind in kinds.items() if kind == "id"]
    if not ids or len(names) < 2:
        what = f"{seen}, of which none names records that two others tell apart"
        raise Refusal(f"{_COMMAND} {path}: {what}; it can read {_READABLE}")
    how = {"number": "number", "day": "date", "class": "exact"}
    strings = [name for name in names if kinds[name] == "value"] or names
    values = {
        "records.path": path,
        "records.id": min(ids, key=lambda name: (name.lower() not in ("id", "record"), ids.index(name))),
        "records.fields": {name: {"kind": how.get(kinds[name], "string")} for name in names},
        "records.blocking": [{name: 4} for name in strings[:3]],
        "records.unlabelled": {"rules": [dict.fromkeys(strings[:2])], "recall": 0.6},
    }
    return Plan("entity_resolution", seen, values | {"missing": "zero"}, [*values][1:] + ["missing"], ["records: csv"])


# --- tables ---------------------------------------------------------------------------------------------------------


def _rows(path: str) -> pl.DataFrame:
    """The first rows of a table, and all of one that has columns on its disk.

    Raises:
        Refusal: if it is no table.
    """
    try:
        with opened(path) as file:
            head = unpacked(file).read(_HEAD_BYTES)
        if head.startswith((b"PAR1", b"ARROW1")) or head.lstrip()[:1] == b"[":
            return read_records(path)
        with TemporaryDirectory(prefix="tm-") as folder:
            part = Path(folder) / (Path(path).stem if Path(path).suffix in _PACKINGS else Path(path).name)
            part.write_bytes(head if len(head) < _HEAD_BYTES else head[: head.rfind(b"\n") + 1])
            return read_records(str(part))
    except InputError as error:
        raise Refusal(f"{_COMMAND} {path}: is nothing that a job reads; it can read {_READABLE}") from error


def kinds_of(rows: pl.DataFrame) -> dict[str, Kind]:
    """What each column seems to hold: an id that tells rows apart, numbers, days, classes, texts, or other values.

    >>> kinds_of(pl.DataFrame({"n": ["1", "2"] * 9, "who": ["Ann", "Bob"] * 9, "t": ["it rains a lot here"] * 18}))
    {'n': 'class', 'who': 'class', 't': 'text'}
    """
    return {column.name: _kind(column.drop_nulls()) for column in rows if not column.dtype.is_nested()}


def _kind(cells: pl.Series) -> Kind:
    words, num = cells.cast(pl.String), cells.n_unique()
    if _num_words(words) >= _WORDS_OF_TEXT:
        return "text"
    if num <= min(_MOST_CLASSES, len(cells) // 4):
        return "class"
    if words.str.contains(r"^\d{4}-\d\d-\d\d$").all():
        return "day"
    if num == len(cells) and not words.str.contains(r"\s|\.").any():
        return "id"
    return "number" if words.cast(pl.Float64, strict=False).null_count() == 0 else "value"


def _num_words(cells: pl.Series) -> float:
    """On average."""
    mean = cells.drop_nulls().cast(pl.String).str.count_matches(r"\S+").mean()
    return float(mean) if isinstance(mean, int | float) else 0.0


def _seen(kinds: Mapping[str, Kind]) -> str:
    return f"a table with the columns {listed([f'{name} ({kind})' for name, kind in kinds.items()])}"


# --- the file -------------------------------------------------------------------------------------------------------


def _text(plan: Plan, command: str) -> str:
    head = [
        f"# Written by {_COMMAND}: {plan.seen}",
        f"# {command}",
        "# Guesses are marked; settings behind # have their usual values.",
    ]
    defaults = ["tiltmeter", *(line for line in plan.defaults if not line.startswith("override"))]
    overrides = [f"override job: {plan.job}", *(line for line in plan.defaults if line.startswith("override"))]
    # What overrides stands last, but for the file itself.
    lines = [*head, "defaults:", *(f"  - {line}" for line in [*defaults, "_self_", *overrides])]
    return "\n".join([*lines, "", *_settings(plan), ""])


def _settings(plan: Plan) -> Iterator[str]:
    """Block by block: what is set, and behind ``#`` what may be, with the comments of their own files."""
    folders, chosen = catalogue.settings_folders(), {"corpus": ["file"], "records": ["csv"]}
    chosen = {group: options for group, options in chosen.items() if any(key.startswith(group) for key in plan.values)}
    lines: dict[str, list[str]] = {}
    for key in dict.fromkeys([*plan.values, *_MATTER[plan.job]]):
        setting = folders.of_job(plan.job, chosen, key).get(key)
        block, _, name = key.rpartition(".")
        if key not in plan.values and setting is None:
            continue
        value = _written(plan.values[key]) if key in plan.values else str(setting and setting.value)
        meaning = shorten(setting.meaning, _COMMENT, placeholder=" ...") if setting else ""
        comment = "; ".join(filter(None, ["a guess" if key in plan.guesses else "", meaning]))
        mark = "" if key in plan.values else "# "
        lines.setdefault(block, []).append(f"{mark}{name}: {value}{f' # {comment}' if comment else ''}")
    for block, inside in lines.items():
        is_set = any(not line.startswith("#") for line in inside)
        yield from [f"{'' if is_set else '# '}{block}:"] if block else []
        yield from (f"{'  ' if block else ''}{line}" for line in inside)


def _written(value: Any) -> str:
    """As YAML in a line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    return str(text).removesuffix("...\n").strip()

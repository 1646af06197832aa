"""The texts of both files, with whatever predictions the file has."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.config import CharacterisedData, ErrorCharacterisationRun, LabelledFile
from tiltmeter.jobs.classifiers.errors.tables import READ, TEXTS
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.operators.classifiers.errors import splits
from tiltmeter.operators.classifiers.errors.splits import is_tested
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.normalisation import Normalizer
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import labels, numbers, one_spelling, read_records
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_REASONS = {
    "ok": "",
    "no_text": "the text is empty",
    "no_label": "the row has no label",
    "no_prediction": "the row has no prediction",
    "no_probability": "the row lacks the probability of a class",
}
_HALVES = ("exploration", "confirmation")
HALVES = 1
"""What halves are drawn about, beside other splits."""


def read_texts(runner: Runner, config: ErrorCharacterisationRun, files: Files) -> dict[str, TableRef]:
    """The rows of each file, of the schema ``READ``; those without what is needed say so.

    Raises:
        UnitsFailed: if a file can't be read.
    """
    units = [
        Unit(
            "characterised_texts/3",
            f"texts of {name}.path",
            _settings(part, files, name, config.seed)
            | {"spelling": _spelling(config, files) if name == "base" else []},
        )
        for name, part in (("data", config.data), ("base", config.base))
        if name in files.files
    ]
    done = runner.run_whole(Stage("read texts", each(_read), {"texts": units}))["texts"]
    return {name: unit.tables["rows"] for name, unit in zip(("data", "base"), done, strict=False)}


def publish_halves(runner: Runner, texts: TableRef, predicted: TableRef, seed: int | None) -> TableRef:
    """The table ``texts``: which half each is in; none of them without a seed."""
    inputs = {"texts": [texts], "predicted": [predicted]}
    unit = Unit("text_halves/2", "halves", {"operator": splits.VERSION, "seed": seed}, inputs)
    return runner.run_whole(Stage("halve", each(_halve), {"texts": [unit]}))["texts"][0].tables["texts"]


def _settings(part: LabelledFile, files: Files, name: str, seed: int) -> dict[str, Any]:
    return {
        "file": files.files[name].identity,
        "columns": part.columns,
        "header": part.header,
        "classes": part.classes,
        "probabilities": part.probabilities if isinstance(part, CharacterisedData) else None,
        "limit": part.limit,
        "seed": None if part.limit is None else seed,
    }


def _spelling(config: ErrorCharacterisationRun, files: Files) -> list[str]:
    """How the file of texts writes the classes."""
    name = config.data.label
    if name is None:
        return []
    given = labels(read_records(files.files["data"].uri, [name], header=config.data.header)[name])
    return [str(label) for label in given.drop_nulls().unique().sort()]


def _read(_: Store, unit: Unit) -> Tables:
    read = unit.config
    columns, probabilities = read["columns"], read["probabilities"] or {}
    names = list(dict.fromkeys([*columns.values(), *probabilities.values()]))
    rows = read_records(read["file"]["uri"], names, header=read["header"])
    cells = {name: labels(rows[called]) for name, called in columns.items()}
    classes = [name for name in ("label", "prediction", "previous") if name in cells]
    known = pl.Series([*(read["classes"] or {}), *probabilities, *read["spelling"]], dtype=pl.String)
    spelled = one_spelling(known, *(cells[name] for name in classes))
    cells |= dict(zip(classes, spelled[1:], strict=True))
    given = _probabilities(rows, probabilities)
    normal, renamed = Normalizer("en", fold_case=True), read["classes"] or {}
    lists, made = {name: values.to_list() for name, values in cells.items()}, []
    for number in range(rows.height):
        row = {name: values[number] for name, values in lists.items()}
        row |= {
            name: renamed.get(row[name], row[name]) for name in ("label", "prediction", "previous") if row.get(name)
        }
        row |= {"row": number, "probabilities": given[number]}
        row["group"] = row.get("group") or " ".join(normal(row["text"] or "").split())
        row["id"] = row.get("id") or str(number)
        made.append(_judged(row, columns, probabilities))
    yield "rows", pa.Table.from_pylist(_drawn(made, read["limit"], read["seed"]), READ)


def _probabilities(rows: pl.DataFrame, columns: Mapping[str, str]) -> list[list[float | None] | None]:
    if not columns:
        return [None] * rows.height
    return [list(row) for row in zip(*(numbers(rows, columns[name]) for name in sorted(columns)), strict=True)]


def _judged(row: dict[str, Any], columns: Mapping[str, str], probabilities: Mapping[str, str]) -> dict[str, Any]:
    lacks = {
        "no_text": row["text"] is None,
        "no_prediction": any(name in columns and row[name] is None for name in ("prediction", "previous")),
        "no_probability": bool(probabilities) and None in row["probabilities"],
        "no_label": row.get("label") is None,
    }
    status = next((name for name, holds in lacks.items() if holds), "ok")
    return row | {"text": row["text"] or "", "status": status, "reason": _REASONS[status]}


def _drawn(rows: list[dict[str, Any]], limit: int | None, seed: int | None) -> list[dict[str, Any]]:
    """So many, in their order; which ones is a matter of what they say."""
    if limit is None or limit >= len(rows):
        return rows
    by_key = sorted(rows, key=lambda row: (document_key(f"{seed}\n{row.get('label')}\n{row['text']}"), row["row"]))
    return sorted(by_key[:limit], key=lambda row: row["row"])


def _halve(store: Store, unit: Unit) -> Tables:
    rows, seed = store.read(unit.input("texts")), unit.config["seed"]
    guesses = store.read(unit.input("predicted")).to_pydict()
    predicted = {row for row, name in zip(guesses["row"], guesses["predicted"], strict=True) if name is not None}
    brief = rows.select(["row", "status", "group"]).to_pylist()
    used = [row for row in brief if seed is not None and row["status"] == "ok" and row["row"] in predicted]
    half = halves([row["group"] for row in used], seed).tolist() if used and seed is not None else []
    names = {row["row"]: _HALVES[confirms] for row, confirms in zip(used, half, strict=True)}
    column = pa.array([names.get(row["row"]) for row in brief], pa.string())
    yield "texts", pa.table([column if field.name == "half" else rows[field.name] for field in TEXTS], TEXTS)


def halves(groups: Sequence[str], seed: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each text is of the half that confirms.

    Raises:
        InputError: if all texts are of one group.
    """
    if len(set(groups)) < 2:
        raise InputError("data.path: all texts are of one group, so that none could confirm what others show")
    return is_tested(groups, 0.5, seed, HALVES)

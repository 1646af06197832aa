"""Logs of evaluation harnesses, item by item: two systems on the same items."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.columns import count, interval, number, text
from tiltmeter.jobs.runtime.wording import plural, verb
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg
from tiltmeter.operators.statistics.paired_items import clustered_p, mcnemar, paired_bootstrap
from tiltmeter.operators.statistics.text_intervals import resampled_interval
from tiltmeter.storage.corpora.packed import unpacked
from tiltmeter.storage.corpora.sources import FoundFile, find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted

_Path = Annotated[str, Field(min_length=1)]

SYSTEMS = pa.schema(
    [
        text("score", "column of the scores", key=True),
        count("num_items", "that both systems have a score for", "items"),
        count("num_clusters", "clusters of them, which are drawn as one; items, where they have none", "clusters"),
        number("first", "mean score of the first system"),
        number("second", "mean score of the second system"),
        number("difference", "second less first"),
        *interval("difference", "interval of difference over resamples of whole clusters, paired by item"),
        number("p", "two-sided p-value of the same: Student's t over the resamples"),
        number("q", "p adjusted for the number of scores, by Benjamini and Hochberg"),
        count("first_only", "items that the first system alone gets right; null unless all scores are 0 or 1", "items"),
        count("second_only", "items that the second system alone gets right", "items"),
        number("mcnemar_p", "two-sided, of McNemar's exact test, which takes items for independent"),
    ]
)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Logs:
    """Logs of two systems, as JSON lines; a column within others is named with dots, such as ``doc.template``.

    Attributes:
        first, second: files of each system; folders and wildcards too.
        item: column that tells items apart.
        score: columns of scores, which are numbers, true or false.
        cluster: column of what items share, such as their template; None: every item stands for itself.
        num_resamples: of the clusters.
        level: nominal coverage of the intervals.
    """

    first: tuple[_Path, ...] = ()
    second: tuple[_Path, ...] = ()
    item: str = "doc_id"
    score: Annotated[tuple[str, ...], Field(min_length=1)] = ("acc",)
    cluster: str | None = None
    num_resamples: Annotated[int, Field(ge=2)] = 1000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95

    @pydantic.field_validator("first", "second", "score", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else () if value is None else value

    @property
    def is_set(self) -> bool:
        """Whether there are logs to compare."""
        return bool(self.first or self.second)


@dataclass(frozen=True)
class TwoLogs:
    """The files of both systems."""

    first: Sequence[FoundFile]
    second: Sequence[FoundFile]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        sides = {"first": self.first, "second": self.second}
        return {side: {"files": [file.redacted for file in files]} for side, files in sides.items()}


def find_logs(logs: Logs) -> TwoLogs:
    """The files of both systems.

    Raises:
        InputError: if a path names none.
    """
    return TwoLogs(find_files(logs.first, "logs.first"), find_files(logs.second, "logs.second"))


def compare_logs(logs: Logs, files: TwoLogs, seed: int) -> pa.Table:
    """The table ``systems``: a row for each score.

    Raises:
        InputError: if a file is not of JSON lines or lacks a column; an item comes twice, or one of the systems lacks
            it; a score is no number.
    """
    first = _read(files.first, "first", logs)
    second = _read(files.second, "second", logs)
    _check_items(first, second)
    both = first.join(second.drop("cluster"), on="item", suffix="_second", maintain_order="left")
    rows = [_row(both, logs, place, seed) for place in range(len(logs.score))]
    q = benjamini_hochberg(np.array([row["p"] for row in rows], dtype=np.float64))
    return pa.Table.from_pylist([row | {"q": float(value)} for row, value in zip(rows, q, strict=True)], SYSTEMS)


# --- reading --------------------------------------------------------------------------------------------------------


def _read(files: Sequence[FoundFile], side: str, logs: Logs) -> pl.DataFrame:
    """Columns ``item``, ``cluster`` and ``score_<number>`` of one system, each item once."""
    rows = pl.concat([_columns(file, side, logs) for file in files])
    if repeated := rows.filter(pl.col("item").is_duplicated())["item"].unique().sort().to_list():
        names = f"{plural(len(repeated), 'item')} {verb(len(repeated), 'come')} more than once, such as {repeated[0]!r}"
        raise InputError(f"logs.{side}: {names}; give each item one score, or another logs.item than {logs.item}")
    return rows


def _columns(file: FoundFile, side: str, logs: Logs) -> pl.DataFrame:
    where = f"logs.{side}: {redacted(file.uri)}"
    rows = _lines(file, where)
    cluster = _column(rows, logs.cluster, "cluster", where) if logs.cluster else pl.lit(None)
    named = [_column(rows, logs.item, "item", where).cast(pl.String).alias("item")]
    named.append(cluster.cast(pl.String).alias("cluster"))
    scores = [_column(rows, name, "score", where).alias(f"score_{place}") for place, name in enumerate(logs.score)]
    chosen = rows.select(*named, *scores)
    for place, name in enumerate(logs.score):
        _check_score(chosen[f"score_{place}"], name, where)
    numbers = pl.col("^score_.*$").cast(pl.Float64)
    for name, setting in (("item", logs.item), ("cluster", logs.cluster)):
        if setting and chosen[name].has_nulls():
            raise InputError(f"{where}: a line has no {setting}, which logs.{name} names")
    return chosen.with_columns(numbers)


def _lines(file: FoundFile, where: str) -> pl.DataFrame:
    with opened(file.uri) as packed:
        content = unpacked(packed).read()
    try:
        rows = pl.read_ndjson(io.BytesIO(content), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{where}: cannot be read as JSON lines: {reason}") from error
    if rows.is_empty():
        raise InputError(f"{where}: has no lines: there must be one at least")
    return rows


def _column(rows: pl.DataFrame, path: str, setting: str, where: str) -> pl.Expr:
    """A column by its name, or within others by the names that lead there."""
    if path in rows.columns:
        return pl.col(path)
    expression, fields, kind = pl.lit(None), rows.columns, None
    for depth, part in enumerate(path.split(".")):
        if part not in fields:
            raise InputError(f"{where} has no column {path!r}, which logs.{setting} names; it has {', '.join(fields)}")
        expression = pl.col(part) if not depth else expression.struct.field(part)
        kind = rows.select(expression).to_series().dtype
        fields = [field.name for field in kind.fields] if isinstance(kind, pl.Struct) else []
    return expression


def _check_score(scores: pl.Series, name: str, where: str) -> None:
    if not (scores.dtype.is_numeric() or scores.dtype == pl.Boolean):
        raise InputError(f"{where}: {name}, which logs.score names, has {scores.dtype} where numbers belong")
    if not scores.cast(pl.Float64).fill_null(float("nan")).is_finite().all():
        raise InputError(f"{where}: a line has no number in {name}, which logs.score names")


def _check_items(first: pl.DataFrame, second: pl.DataFrame) -> None:
    for one, other, names in ((first, second, ("second", "first")), (second, first, ("first", "second"))):
        missing = one.join(other, on="item", how="anti")["item"]
        if missing.len():
            lacks = f"lacks {plural(missing.len(), 'item')} of logs.{names[1]}, such as {missing[0]!r}"
            raise InputError(f"logs.{names[0]}: {lacks}; only systems on the same items can be compared")


# --- comparing ------------------------------------------------------------------------------------------------------


def _row(both: pl.DataFrame, logs: Logs, place: int, seed: int) -> dict[str, Any]:
    first, second = (both[f"score_{place}{ending}"].to_numpy() for ending in ("", "_second"))
    has_clusters = logs.cluster is not None
    clusters = both["cluster"].rank("dense").cast(pl.Int64).to_numpy() - 1 if has_clusters else None
    estimate = paired_bootstrap(first, second, clusters, seed, document_key(logs.item), logs.num_resamples)
    are_right = bool(np.isin([first, second], (0.0, 1.0)).all())
    low, high, _ = resampled_interval(estimate, logs.level, scale=FISHER if are_right else LINEAR)
    test = mcnemar(first == 1.0, second == 1.0) if are_right else None
    return {
        "score": logs.score[place],
        "num_items": first.size,
        "num_clusters": first.size if clusters is None else int(clusters.max()) + 1,
        "first": float(first.mean()),
        "second": float(second.mean()),
        "difference": float(estimate.value),
        "difference_low": float(low),
        "difference_high": float(high),
        "p": clustered_p(estimate),
        "first_only": test and test.first_only,
        "second_only": test and test.second_only,
        "mcnemar_p": test and test.p,
    }

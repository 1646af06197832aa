"""Sample logs of lm-evaluation-harness: a line for each document and filter, with a column for each metric.

Which metrics these are each line says (``metrics``). A file is one run; ``repeats`` within it were reduced by its
filter before they were scored, so that a line has one score.
"""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.storage.errors import InputError, listing
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.item_logs.lines import LogColumns, read_cells, task_of
from tiltmeter.storage.item_logs.scores import NO_TASK, ScoreColumns, ScoreLog, score_rows

_FILTER, _METRICS, _HASH = "filter", "metrics", "doc_hash"


def is_harness(first: Mapping[str, Any]) -> bool:
    """Whether a line is of a version that writes filters and the names of its metrics."""
    return _FILTER in first and isinstance(first.get(_METRICS), list) and _HASH in first


def read_harness(uri: str, name: str, wanted: ScoreColumns, first: Mapping[str, Any]) -> ScoreLog:
    """Scores by metric, or by ``metric,filter`` where the task has several filters; of lines that come again the last.

    Raises:
        InputError: as :func:`.read_item_log`; if there is no such metric, or one is a list.
    """
    item, place, known = wanted.item or "doc_id", f"{name}: {redacted(uri)}", sorted(first[_METRICS])
    while True:
        metrics = [
            metric for metric in known if not wanted.score or metric in {one.partition(",")[0] for one in wanted.score}
        ]
        settings = wanted.settings(item, metrics) | {_FILTER: "logs.only", _METRICS: "logs.score", _HASH: "logs.match"}
        labels = [item, _FILTER, *([wanted.cluster] if wanted.cluster else [])]
        cells, num_left_out = read_cells(uri, name, LogColumns(settings, wanted.only, labels=labels))
        in_lines = {metric for line in cells[_METRICS].drop_nulls().unique() for metric in json.loads(line)}
        if in_lines <= set(known):
            break
        known = sorted(in_lines.union(known))
    for metric in metrics:
        if not (lists := cells.filter(pl.col(metric).str.contains(r"^[\[{]"))).is_empty():
            numbers = listing(metric, [other for other in known if other != metric])
            what = f"{metric} is {lists[metric][0]}, which is no number"
            raise InputError(f"{place}: {what}; choose others by logs.score: {numbers or 'it has no others'}")
    kept = cells.unique([item, _FILTER], keep="last", maintain_order=True)
    has_filters = kept[_FILTER].n_unique() > 1
    names = {
        metric: pl.concat_str(pl.lit(f"{metric},"), _FILTER) if has_filters else pl.lit(metric) for metric in metrics
    }
    others = {"task": pl.lit(task_of(uri) or NO_TASK), "item": pl.col(item), "content": pl.col(_HASH).hash()}
    others |= {"cluster": pl.col(wanted.cluster)} if wanted.cluster else {}
    rows = score_rows(kept, names, metrics, **others)
    scores = rows["score"].unique().sort().to_list()
    rows = rows.filter(pl.col("score").is_in([score for score in scores if wanted.takes(score)]))
    known = [*scores, *(metric for metric in known if metric not in metrics)]
    return ScoreLog("lm-eval", rows, known, num_left_out=num_left_out, num_replaced=cells.height - kept.height)

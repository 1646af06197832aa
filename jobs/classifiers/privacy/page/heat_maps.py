"""Attributions of one sentence by all models, side by side."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.plots.style import FEMALE, MALE, STYLE, plain
from tiltmeter.jobs.report.wording import number
from tiltmeter.operators.text.listed_words import WordList

_NUM_SENTENCES = 6
_SHORTEST, _LONGEST = 5, 16
_MIDDLE = "#fbfaf6"
_SEED = ", seed 0"


def heat_maps(frames: Frames, config: PrivacyMetricsRun) -> dict[str, go.Figure]:
    """By sentence, those first in which listed words weigh most with the first model."""
    if "samples" not in frames or "attributions" not in frames:
        return {}
    samples = frames["samples"].filter(pl.col("corpus") == "within", pl.col("status") == "ok")
    first = samples.filter(pl.col("model") == samples["model"][0]) if samples.height else samples
    fitting = first.filter(pl.col("num_words").is_between(_SHORTEST, _LONGEST))
    chosen = fitting.sort("ep", "sentence", descending=[True, False])["sentence"].head(_NUM_SENTENCES).to_list()
    listed = WordList([word for name in config.listed for word in config.explanation_words.lists[name]])
    lines = frames["attributions"].filter(pl.col("sentence").is_in(chosen))
    found = (lines.filter(sentence=sentence).sort("position") for sentence in chosen)
    return {_sentence(rows): _figure(rows, listed) for rows in found}


def _sentence(rows: pl.DataFrame) -> str:
    model = rows["model"][0]
    return " ".join(rows.filter(model=model)["word"])


def _figure(rows: pl.DataFrame, listed: WordList) -> go.Figure:
    by_model = rows.partition_by("model", maintain_order=True)
    words = by_model[0]["word"].to_list()
    shares = [_shares(own["attribution"].to_list()) for own in by_model]
    labels = [plain(f"{own['model'][0].removesuffix(_SEED)} ({own['predicted'][0]})") for own in by_model]
    limit = max((abs(share) for row in shares for share in row if share is not None), default=0.0) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=shares,
            text=[[number(share, 2) if share is not None else "" for share in row] for row in shares],
            texttemplate="%{text}",
            colorscale=[[0, MALE], [0.5, _MIDDLE], [1, FEMALE]],
            zmin=-limit,
            zmax=limit,
            xgap=2,
            ygap=2,
            hovertemplate="%{y}, word %{x}: %{z:.3f}<extra></extra>",
            colorbar={"title": {"text": "share"}, "thickness": 12, "outlinewidth": 0, "tickformat": ".2f"},
        )
    )
    return _ticks(figure, labels, _word_labels(words, listed))


def _shares(values: Sequence[float | None]) -> list[float | None]:
    total = sum(abs(value) for value in values if value is not None)
    return [None if value is None or not total else value / total for value in values]


def _word_labels(words: Sequence[str], listed: WordList) -> list[str]:
    entries = listed.found(words)
    return [f"<b>{plain(word)}</b>" if entry else plain(word) for word, entry in zip(words, entries, strict=True)]


def _ticks(figure: go.Figure, labels: Sequence[str], words: Sequence[str]) -> go.Figure:
    axis: dict[str, Any] = {"tickmode": "array", "showgrid": False}
    figure.update_layout(template=STYLE, height=110 + 34 * len(labels), margin={"t": 70, "b": 10})
    figure.update_xaxes(side="top", tickvals=list(range(len(words))), ticktext=list(words), **axis)
    return figure.update_yaxes(autorange="reversed", tickvals=list(range(len(labels))), ticktext=list(labels), **axis)

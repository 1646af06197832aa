"""Attributions of one sentence by all models, side by side."""

import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.heat import heat
from tiltmeter.jobs.report.plots.style import lines, plain
from tiltmeter.jobs.report.wording import number
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.text.listed_words import WordList

_NUM_SENTENCES = 6
_SHORTEST, _LONGEST = 5, 16
_SEED = ", seed 0"


def heat_maps(frames: Frames, config: PrivacyMetricsRun) -> dict[str, Figure]:
    """By sentence, those first in which listed words weigh most with the first model."""
    if "samples" not in frames or "attributions" not in frames:
        return {}
    samples = frames.scan("samples").filter(seed=0, corpus="within", status="ok").collect()
    first = samples.filter(pl.col("model") == pl.col("model").first())
    fitting = first.filter(pl.col("num_words").is_between(_SHORTEST, _LONGEST))
    chosen = fitting.sort("listed_share", "sentence", descending=[True, False])["sentence"].head(_NUM_SENTENCES)
    listed = WordList([word for name in config.listed for word in config.explanation_words.lists[name]])
    is_shown = pl.col("model").str.ends_with(_SEED) & pl.col("sentence").is_in(chosen.implode())
    rows = frames.scan("attributions").filter(is_shown).collect(engine="streaming")
    return dict(_heat_map(rows.filter(sentence=sentence), listed) for sentence in chosen)


def _heat_map(rows: pl.DataFrame, listed: WordList) -> tuple[str, Figure]:
    """The sentence, and the share of each model's attribution that falls on each of its words."""
    share = pl.col("attribution") / pl.col("attribution").abs().sum().over("model")
    model = pl.format("{} ({})", pl.col("model").str.strip_suffix(_SEED), "predicted")
    shown = rows.sort("position", maintain_order=True).with_columns(share=share.fill_nan(None), label=model)
    first = shown.unique("position", keep="first", maintain_order=True)
    entries = zip(first["word"], listed.entries(first["word"].to_list()), strict=True)
    marked = [f"<b>{plain(word)}</b>" if entry else plain(word) for word, entry in entries]
    names = dict(zip(first["position"], marked, strict=True))
    figure = heat(
        shown,
        "position",
        "label",
        "share",
        title="share",
        hover=lambda row: lines(plain(row["label"]), f"{names[row['position']]}: {number(row['share'], 3)}"),
        x_label=names.__getitem__,
    )
    return " ".join(first["word"]), figure

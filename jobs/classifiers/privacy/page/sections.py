"""The sections of the page of `privacy_metrics`: models, promises, explanations side by side, words, texts."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.page.findings import NAMES, stopped_words
from tiltmeter.jobs.classifiers.privacy.page.heat_maps import heat_maps
from tiltmeter.jobs.classifiers.privacy.tables import MEASURES
from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import estimate, number

_MOST_ROWS = 20


def sections(frames: Frames, config: PrivacyMetricsRun) -> list[Section]:
    """Those of which there is something to show."""
    found = [
        Section("models", "The models", list(_models(frames))),
        Section("orderings", "What the approaches promise", list(_orderings(frames))),
        Section("explanations", "Explanations side by side", list(_explanations(frames, config))),
        Section("words", "Words that models stopped using", list(_words(frames))),
        Section("texts", "The texts", [_texts(frames["texts"]), *_left_out(frames["texts"])]),
    ]
    return [section for section in found if section.blocks]


def _models(frames: Frames) -> Iterator[Block]:
    if "models" not in frames:
        return
    models = frames["models"]
    yield _model_grid(models.filter(pl.col("seed").is_null()), "Means over the seeds, with intervals over the texts.")
    by_seed = models.filter(pl.col("seed").is_not_null())
    yield Details("Each seed", [_model_grid(by_seed, "Models that differ in their random numbers alone.")])


def _model_grid(rows: pl.DataFrame, caption: str) -> Grid:
    has_seed = rows["seed"].is_not_null().any()
    measures = [name for name in MEASURES if rows[name].is_not_null().any()]
    headings = ["corpus", "model", *(["seed"] if has_seed else []), *map(NAMES.__getitem__, measures), "texts"]
    ordered = rows.sort("corpus", descending=True, maintain_order=True).to_dicts()
    cells = [
        [
            row["corpus"],
            row["model"],
            *([str(row["seed"])] if has_seed else []),
            *(estimate(row, name) for name in measures),
            f"{row['num_rows']:,}",
        ]
        for row in ordered
    ]
    return Grid(caption, headings, cells, headings[2:])


def _orderings(frames: Frames) -> Iterator[Block]:
    if "orderings" not in frames:
        return
    rows = frames["orderings"].filter(pl.col("expected").is_not_null()).to_dicts()
    if rows:
        headings = ["corpus", "model", "measure", "promised", "difference from General", "found"]
        caption = "Found: the interval of the difference lies on the promised side of 0, of resamples that are paired."
        yield Grid(caption, headings, [_ordering(row) for row in rows], headings[4:5])


def _ordering(row: dict[str, Any]) -> list[str]:
    found = "–" if row["found"] is None else "yes" if row["found"] else "no"
    measure = NAMES[row["measure"]]
    return [row["corpus"], row["model"], measure, row["expected"], estimate(row, "difference"), found]


def _explanations(frames: Frames, config: PrivacyMetricsRun) -> Iterator[Block]:
    figures = heat_maps(frames, config)
    if figures:
        yield Paragraph(
            "Each row is a model with the first seed and the class that it finds, each column a word of the sentence. "
            "Words in bold are on a list of words that give gender away."
        )
        yield Chart(
            "Heat maps, one for each of several sentences: models in rows, words in columns, and each cell the share "
            "of the model's attribution that falls on the word, negative where the word speaks against the class.",
            "Shares of the attribution add up to 1 in each row, without their signs. Sentences are those of the test "
            "part in which words that give gender away weigh most.",
            figures,
            "Sentence",
        )


def _words(frames: Frames) -> Iterator[Block]:
    headings = ["word", "list", "occurrences", "share in General", "share", "change"]
    for model, rows in stopped_words(frames).items():
        cells = [
            [
                row["word"],
                row["list"].replace("_", " "),
                f"{row['num_occurrences']:,}",
                number(row["share_general"], 4),
                number(row["share"], 4),
                estimate(row, "change", 4),
            ]
            for row in rows[:_MOST_ROWS]
        ]
        caption = f"{model}: words whose share of the attribution fell to half or less of that in General."
        yield Grid(caption, headings, cells, headings[2:])


def _texts(texts: pl.DataFrame) -> Grid:
    used = texts.filter(pl.col("status") == "ok")
    counted = used.group_by("part", "gender", maintain_order=True).agg(
        pl.len(), pl.col("group").n_unique().alias("speakers")
    )
    valences = used["valence"].unique(maintain_order=True).to_list()
    cells = [
        [
            row["part"],
            row["gender"] or "–",
            f"{row['len']:,}",
            f"{row['speakers']:,}",
            *(f"{_count(used, row, valence):,}" for valence in valences),
        ]
        for row in counted.sort("part", "gender").to_dicts()
    ]
    headings = ["part", "gender", "texts", "speakers", *valences]
    return Grid("Texts that were used, by part, gender and valence.", headings, cells, headings[2:])


def _count(texts: pl.DataFrame, row: dict[str, Any], valence: str) -> int:
    same = pl.col("gender").eq_missing(pl.lit(row["gender"]))
    return texts.filter(pl.col("part") == row["part"], same, pl.col("valence") == valence).height


def _left_out(texts: pl.DataFrame) -> Iterator[Block]:
    counts = texts.filter(pl.col("status") != "ok").group_by("file", "reason", maintain_order=True).len()
    if counts.height:
        rows = [[row["file"], row["reason"], f"{row['len']:,}"] for row in counts.to_dicts()]
        yield Grid("Texts that were left out.", ["file", "reason", "texts"], rows, ["texts"])

"""The sections of the page of `privacy_metrics`: models, what is expected, explanations side by side, words, texts."""

from collections.abc import Iterator, Sequence

import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.page.findings import NAMES, stopped_words, verdict
from tiltmeter.jobs.classifiers.privacy.page.heat_maps import heat_maps
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import Column, Row, cell, count, estimate, grid, number, optional, p_value, text, yes
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import phrase
from tiltmeter.jobs.runtime.published import Frames

_MOST_ROWS = 20


def sections(frames: Frames, config: PrivacyMetricsRun) -> list[Section]:
    """Those of which there is something to show."""
    candidates = [
        Section("models", "The models", list(_models(frames))),
        Section("orderings", "What the paper expects", list(_orderings(frames))),
        Section("explanations", "Explanations side by side", list(_explanations(frames, config))),
        Section("words", "Words that models stopped using", list(_words(frames))),
        Section("noise", "Artificial words", list(_noise(frames))),
        Section("texts", "The texts", [_texts(frames["texts"]), *_left_out(frames["texts"])]),
    ]
    return [section for section in candidates if section.blocks]


def _models(frames: Frames) -> Iterator[Block]:
    if "models" not in frames:
        return
    is_mean = pl.col("seed").is_null()
    ordered = frames["models"].sort("corpus", descending=True, maintain_order=True)
    means, by_seed = ordered.filter(is_mean), ordered.filter(~is_mean)
    yield _model_grid(
        means, _METRICS, "Means over the seeds, with intervals over speakers (texts, where nobody is named) and seeds."
    )
    missing = means.filter(pl.col("ep").is_null() | pl.col("eg").is_null())
    if missing.height:
        yield grid("Where there is no EP or no EG.", missing, "corpus", "model", *map(optional, _REASONS))
    counts = [count("num_explained", "explained"), count("num_ep", "with EP"), count("num_eg", "with EG")]
    shares = [_model_grid(means, _SHARES, "Of each model by itself, means over the seeds.", *counts)]
    yield Details("Shares of the attribution, and how many texts have a value", shares)
    seeds = [_model_grid(by_seed, _METRICS, "Models that differ in their random numbers alone.")]
    yield Details("Each seed", seeds)


_METRICS = ("valence_uar", "gender_uar", "ep", "ep_random", "eg")
_SHARES = ("listed_share", "right_sign_share", "lexicon_share")
_REASONS = ("ep_reason", "eg_reason")


def _model_grid(rows: pl.DataFrame, measures: Sequence[str], caption: str, *counts: Column) -> Grid:
    columns = [optional(estimate(name, NAMES[name])) for name in measures]
    texts = [count("num_rows", "texts"), *counts]
    return grid(caption, rows, "corpus", "model", optional(count("seed")), *columns, *texts)


def _orderings(frames: Frames) -> Iterator[Block]:
    rows = frames["orderings"].drop_nulls("expected") if "orderings" in frames else pl.DataFrame()
    if rows.height:
        yield grid(
            "Found: the difference and its whole interval, over speakers (texts, where nobody is named) and seeds, lie "
            "on the expected side of 0. p is of no difference: the larger of one by the signs of speakers, in each of "
            "whom the two may be interchanged, and one by t over speakers and seeds; after Holm for the tests of a "
            "corpus and measure.",
            rows,
            "corpus",
            text("measure", names=NAMES),
            "model",
            "expected",
            "against",
            estimate("difference"),
            count("num_units", "units"),
            p_value("p_holm", "p (Holm)"),
            cell("found", _answer),
        )


def _answer(row: Row) -> str:
    answers = {"found": "yes", "not found": "no"}
    return "" if row["difference"] is None else answers.get(verdict(row), verdict(row))


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
    for model, rows in stopped_words(frames).items():
        yield grid(
            f"{model}: words whose share of the attribution fell to half or less of that in General.",
            rows,
            "word",
            text("list", names=phrase),
            count("num_occurrences"),
            optional(number("part", "part of EP", 4)),
            number("share_general", "share in General", 4),
            number("share", digits=4),
            estimate("change", digits=4),
            most=_MOST_ROWS,
            table="ep_words",
        )


def _noise(frames: Frames) -> Iterator[Block]:
    if "noise" not in frames:
        return
    rows = frames["noise"].filter(pl.col("seed").is_null()).with_columns(pl.col("word").fill_null("all"))
    yield Paragraph(
        "ArtNoise is trained with words that mean nothing and tell class and gender; it and General, which does not "
        "know them, are explained on texts of the test part that have one. An explanation that says what a model goes "
        "by highlights them in ArtNoise."
    )
    yield grid(
        "Share of the attribution on artificial words, and of the texts in which they come first.",
        rows,
        "model",
        "word",
        estimate("share"),
        estimate("first"),
        number("even_share", "if all words had as much", 3),
        yes("highlighted"),
        count("num_texts", "texts"),
    )


def _texts(texts: pl.DataFrame) -> Grid:
    used = measured(texts)
    valences = used["valence"].unique(maintain_order=True)
    counted = used.group_by("part", "gender").agg(
        pl.len().alias("num_texts"),
        pl.col("group").n_unique().alias("num_speakers"),
        *((pl.col("valence") == valence).sum().alias(f"valence {valence}") for valence in valences),
    )
    return grid(
        "Texts that were used, by part, gender and valence.",
        counted.sort("part", "gender"),
        "part",
        "gender",
        count("num_texts"),
        count("num_speakers"),
        *(count(f"valence {valence}", valence) for valence in valences),
    )


def _left_out(texts: pl.DataFrame) -> Iterator[Block]:
    lost = texts.filter(pl.col("status") != "ok").group_by("file", "reason", maintain_order=True).len("num_texts")
    if lost.height:
        yield grid("Texts that were left out.", lost, "file", "reason", count("num_texts"))

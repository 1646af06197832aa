"""The page of `vector_quality`: each set on each model, and analogies by section."""

import polars as pl

from tiltmeter.jobs.embedding.page import Measure, page_of
from tiltmeter.jobs.embedding.sections import Compared
from tiltmeter.jobs.embedding.vector_quality.tables import WHOLE, Quality
from tiltmeter.jobs.report.findings import by_model, labelled, sentences
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph, Section
from tiltmeter.jobs.report.intervals import NamedSides
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Dots, Show
from tiltmeter.jobs.report.wording import estimate, percent, plural, verb
from tiltmeter.jobs.runtime.published import Frames

_HOW = (
    "Similarity: Spearman's ρ between cosines of pairs of words and what people said of them, over the pairs of which "
    "the embedding has both words. Analogies: a is to b as c is to the word nearest to b − a + c (3CosAdd), which may "
    "be no word of the question, as is published; beside it the share where it may be one. A small vocabulary leaves "
    "frequent words, which are easier: of all items, a pair that lacks a word lies at the mean cosine of the others, "
    "and a question is wrong."
)
_UNIT = (
    "Intervals are over replicas, where there are any; those over sections are for other sections "
    "like these, as questions of one section are combinations of few pairs of words. None is over pairs or questions, "
    "which share their words."
)

_COLUMNS = "value value_of_all value_with_inputs? by_section? num_items missing num_words reason?"
_SETS = Show(Quality, "Whole sets.", f"set task {_COLUMNS}")
_SECTIONS = Show(Quality, "Analogies by section.", "set section value value_with_inputs num_items missing reason?")


def _whole(rows: pl.DataFrame) -> pl.DataFrame:
    """Of whole sets, with the ends of intervals as charts and sentences look for them."""
    ends = [pl.col(end).alias(f"value_{end}") for end in ("low", "high")]
    return rows.filter(section=WHOLE).with_columns(ends)


def _dots(task: str, title: str) -> Dots:
    return Dots(
        Quality,
        "value",
        pl.format("{}, {}", "set", "model"),
        title,
        f"Dot plot of the {title} of each set and model, with their intervals.",
        "Lines: intervals over replicas, where there are any.",
        rows=lambda rows: _whole(rows).filter(task=task).drop_nulls("value"),
    )


_CHARTS = [_dots("similarity", "Spearman's ρ with people"), _dots("analogies", "share of analogies that are right")]


def _sentence(row: Row) -> str:
    num, missing = row["num_items"], row["num_missing"]
    items = plural(num, "pair" if row["task"] == "similarity" else "question")
    lacking = f"{items}, of which {missing:,} ({percent(row['missing'])}) {verb(missing, 'lack')} a word"
    if row["value"] is None:
        return f"{row['set']}: no score of {lacking}: {row['reason']}."
    score, of_all = estimate(row, "value"), estimate(row, "value_of_all")
    if row["task"] == "similarity":
        return f"{row['set']}: ρ = {score} of {lacking}; with these at the mean cosine {of_all}."
    inputs = estimate(row, "value_with_inputs")
    return (
        f"{row['set']}: a share of {score} is right, of {lacking}; {of_all} of all. Where a word of the question may "
        f"be answered it is {inputs}."
    )


def _measures(frames: Frames) -> list[Measure]:
    rows = frames["quality"]
    whole = _whole(rows)
    texts = {label: [_sentence(row) for row in part.to_dicts()] for label, part in by_model(whole, frames).items()}
    single = texts or {"": []}
    similarity = whole.filter(task="similarity").drop_nulls("value")
    sides = NamedSides("rank correlation", similarity, Lean("value"), lambda row: f"{row['set']} ({row['model']})")
    compared = [Compared("Scores of sets", "score", whole.drop_nulls("value"), "value", "set")]
    return [Measure(rows, [Bullets(sentences(single))], _sections(frames), sides, compared=compared)]


def _sections(frames: Frames) -> list[Section]:
    rows = frames["quality"]
    whole = labelled(by_model(_whole(rows), frames))
    charts = [block for chart in _CHARTS for block in chart.blocks(frames)]
    blocks: list[Block] = [Paragraph(_HOW), *charts, _SETS.grid(whole, "model"), Paragraph(_UNIT, "note")]
    parts = by_model(rows.filter(pl.col("section") != WHOLE), frames)
    if any(part.height for part in parts.values()):
        blocks.append(Details("Analogies by section", [_SECTIONS.grid(labelled(parts), "model")]))
    return [Section("quality", "Similarities and analogies", blocks)]


page = page_of(
    "Quality of word vectors",
    "How far do cosines of word vectors agree with what people say of pairs of words, and which analogies do they "
    "complete?",
    _measures,
)

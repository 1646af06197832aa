"""The sections of a report that every job with corpora has: what was read, its words, its training, its slices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.embedding.config import EmbeddingConfig
from tiltmeter.jobs.embedding.encoders.settings import ContextEmbedding, InSentences
from tiltmeter.jobs.embedding.tables import Corpora, CorpusSlices, WordContexts
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.findings import split
from tiltmeter.jobs.report.grids import count, grid, number, text
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Listing, Paragraph, Section
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import UNNAMED, Figure, Trace, line, merged
from tiltmeter.jobs.report.plots.style import INK, LOOKS, MALE, Look, Row, lines, plain
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import estimate, plural, some, verb
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.embedding.bootstrap import ADVISED_DOCUMENTS, MIN_DOCUMENTS, ORIGINAL

_TRAINERS = {
    "glove": "GloVe (Pennington et al. 2014)",
    "word2vec": "word2vec (Mikolov et al. 2013)",
    "fasttext": "fastText (Bojanowski et al. 2017)",
}


def trained(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> str:
    """What the vectors were trained on, and how."""
    return (
        f"{_sentence(corpora, embedding)} Word vectors of {embedding.trainer.dimensions} dimensions were trained with "
        f"{_TRAINERS[embedding.trainer.name]} on {'each' if corpora.height > 1 else 'it'}{_starts(embedding)} and on "
        f"{embedding.num_replicas} bootstrap replicas of it, in which every {_drawn(corpora, embedding)} "
        f"{_WEIGHTS[embedding.resampling.weights]} on average; their vocabulary is that of the corpus itself."
    )


_WEIGHTS = {"poisson": "occurs a random number of times, once", "exponential": "has a random weight, 1"}


def _drawn(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> str:
    """What is drawn as one, of which corpora."""
    units: dict[str, list[str]] = {}
    for row in corpora.to_dicts():
        unit = embedding.resampling.of(row["num_articles"], row["num_lines"]).unit
        units.setdefault(unit, []).append(row["corpus"])
    if len(units) == 1:
        return next(iter(units))
    return " or ".join(f"{unit} (of {some(names)})" for unit, names in units.items())


def _on_drawing(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> list[Block]:
    """What is to be said of the documents that were drawn, or of those that there were too few of."""
    too_few: list[str] = []
    few: list[str] = []
    chosen: list[str] = []
    for row in corpora.to_dicts():
        num, lines = row["num_articles"], row["num_lines"]
        named = (
            f"{row['corpus']} ({plural(num, 'document')} of {wording.number(lines / max(num, 1), 1)} lines on average)"
        )
        if embedding.resampling.is_too_few(num, lines):
            too_few.append(named)
        elif embedding.resampling.of(num, lines).unit == "document":
            (few if num < ADVISED_DOCUMENTS else chosen).append(named)
    without_intervals = (
        f"Numbers have no intervals in {some(too_few)}: lines of one document say the same things again, and these are "
        f"too few documents to draw from. {MIN_DOCUMENTS} are needed, and {ADVISED_DOCUMENTS} advised. With "
        "embedding.resampling.unit=line there are intervals, for other lines of these documents and no more."
    )
    rough = (
        f"Whole documents are drawn in {some(few)}; from {ADVISED_DOCUMENTS} on, intervals hold as often as they say."
    )
    warnings = {without_intervals: too_few, rough: few}
    blocks: list[Block] = [Paragraph(text, "warning") for text, names in warnings.items() if names]
    if chosen and embedding.resampling.unit == "auto":
        text = (
            f"Lines of one document say the same things again, so that whole documents are drawn in {some(chosen)}; "
            "embedding.resampling.unit=line draws lines."
        )
        blocks.append(Paragraph(text))
    return blocks


def _starts(embedding: EmbeddingConfig) -> str:
    return f" from {embedding.num_starts} random starts" if embedding.num_starts > 1 else ""


def _sentence(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> str:
    if corpora.height > 1:
        tokens, articles = (int(corpora[f"num_{name}"].sum()) for name in ("tokens", "articles"))
        return f"The {corpora.height} corpora have {_extent(articles, tokens)} in all."
    [row] = corpora.to_dicts()
    return (
        f"The corpus {row['corpus']} has {_extent(row['num_articles'], row['num_tokens'])}; "
        f"{plural(row['num_words'], 'different word')} {verb(row['num_words'], 'occur')} at least "
        f"{plural(embedding.min_count, 'time')}."
    )


def _extent(num_articles: int, num_tokens: int) -> str:
    return f"{plural(num_articles, 'article')} with {plural(num_tokens, 'running word')}"


def in_sentences(embedding: InSentences) -> str:
    """What the vectors of words in sentences are."""
    if isinstance(embedding, ContextEmbedding):
        given = (
            f"up to {plural(embedding.num_contexts, 'context')} of the corpus, {embedding.window} words on either side"
        )
        drawn = "documents of the contexts"
    else:
        given, drawn = f"{len(embedding.templates[embedding.language])} templates", "templates"
    pooled = {"word": "the tokens of the word", "text": "the tokens of the sentence"}[embedding.pooled]
    if embedding.encoder.pooling == "stated":
        pooled = "tokens as the model's own files state"
    return (
        f"The encoder was given each word in {given}. The word's vector is the mean of its sentences' vectors (over "
        f"{pooled}), each brought to length 1{', less the mean of all listed words' if embedding.centred else ''}. All "
        f"sentences of a word move together: p-values deal words, and replicas weigh {drawn} anew."
    )


def contexts(frames: Frames) -> list[Section]:
    """How many contexts the listed words have."""
    rows = frames["word_contexts"]
    present = rows.filter(status="ok").sort("num_drawn", "word")
    text = (
        f"Of {plural(rows.height, 'listed word')} {present.height} {verb(present.height, 'stand')} in the corpus. A "
        "word with fewer contexts than were asked for has all of them, and a vector that is known less well."
    )
    return [Section("contexts", "Contexts of words", [Paragraph(text), _CONTEXTS.grid(present)])]


_CONTEXTS = Show(
    WordContexts,
    "Words by their number of contexts, the fewest first; words without any are in the table.",
    "corpus language word num_contexts num_documents num_drawn",
    most=40,
)


def doubts(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> list[Block]:
    """The warnings of corpora, such as that they are too small, and whether lines or documents were drawn."""
    warned = corpora.filter(pl.col("warning") != "").to_dicts()
    warnings = [Paragraph(f"{row['corpus']}: {row['warning']}.", "warning") for row in warned]
    return [*warnings, *_on_drawing(corpora, embedding)]


def left_out(slices: pl.DataFrame | None) -> list[Block]:
    """A warning of each corpus that is too small to be measured, as the table ``corpus_slices`` says."""
    rows = [] if slices is None else slices.filter(pl.col("whole") == pl.col("corpus"), status="too_small").to_dicts()
    return [Paragraph(f"{row['corpus']} ({row['language']}) is left out: {row['reason']}.", "warning") for row in rows]


def corpora(rows: pl.DataFrame) -> list[Section]:
    """A table of several corpora; nothing of one, which the lead tells of."""
    if rows.height == 1:
        return []
    return [Section("corpora", "The corpora", [_CORPORA.grid(rows)])]


_CORPORA = Show(
    Corpora, "The corpora, each read and trained on its own.", "corpus language num_articles num_tokens num_words"
)


def word_lists(vocabulary: pl.DataFrame) -> list[Section]:
    """How many words of each list the corpora have, as section 3.2 of Matthews et al. 2021 asks; none without lists."""
    listed = vocabulary.explode("lists").drop_nulls("lists")
    if listed.is_empty():
        return []
    counts = listed.group_by("corpus", "language", "lists").agg(
        pl.len().alias("words"),
        *((pl.col("status") == status).sum().alias(status) for status in ("ok", "too_rare", "absent")),
        pl.col("count").median(),
    )
    numbers = [count("words"), count("ok", "with a vector"), count("too_rare"), count("absent")]
    words = grid(
        "Words of each list in every corpus of its language.",
        counts.sort("language", "corpus", "lists"),
        "corpus",
        "language",
        text("lists", "list"),
        *numbers,
        number("count", "median count", 0),
    )
    return [Section("words", "Words of the lists", [Paragraph(_LISTS), words, *_without_vector(listed)])]


_LISTS = (
    "Word lists are normalised like the text, so that an entry and the text cannot miss each other by spelling; an "
    "expression of several words is counted, and gets a vector, as one word. A listed word that is too rare or absent "
    "keeps its row in the table vocabulary."
)


def _without_vector(listed: pl.DataFrame) -> list[Block]:
    missing = listed.filter(pl.col("status") != "ok").unique(["corpus", "word"]).sort("corpus", "word")
    return [
        Details(
            f"{corpus}: {plural(rows.height, 'listed word')} without a vector",
            [Listing(", ".join(f"{word} ({num})" for word, num in rows.select("word", "count").iter_rows()))],
        )
        for corpus, rows in split(missing, "corpus").items()
    ]


def training(losses: pl.DataFrame, embedding: EmbeddingConfig) -> Section:
    """The loss by epoch, of each corpus."""
    what = f"Loss of {_TRAINERS[embedding.trainer.name]} in each pass over the corpus."
    known = losses.drop_nulls("loss")
    if known.is_empty():
        return Section("training", "Training", [Paragraph(f"{what} This trainer gives none.")])
    chart = Chart(
        "Line chart: the training loss falls from epoch to epoch, for the original corpus and for the replicas.",
        "Mean over the replicas with the range from the lowest to the highest of them; dashed: the original corpus, "
        "whose counts are not those of a resampled one.",
        {corpus: _losses(rows) for corpus, rows in split(known, "corpus").items()},
        "Corpus",
    )
    return Section("training", "Training", [Paragraph(what), chart])


def _losses(rows: pl.DataFrame) -> Figure:
    """Of the original corpus from its first start, and the mean and the range over the replicas."""
    rows = rows.filter(pl.col("replica") >= ORIGINAL)
    is_original, loss = pl.col("replica") == ORIGINAL, pl.col("loss")
    original, replicas = (
        "original corpus",
        f"mean and range of {plural(rows.filter(~is_original)['replica'].n_unique(), 'replica')}",
    )
    corpus = pl.when(is_original).then(pl.lit(original)).otherwise(pl.lit(replicas)).alias("corpus")
    range_and_mean = [loss.min().alias("loss_low"), loss.max().alias("loss_high"), loss.mean()]
    return curves(
        rows.group_by("epoch", corpus).agg(range_and_mean),
        "epoch",
        "loss",
        by="corpus",
        looks={replicas: Look(MALE), original: Look(dash="dash")},
        titles=("epoch", "mean loss"),
        hover=lambda row: lines(row["corpus"], f"epoch {row['epoch']}", f"mean loss {wording.number(row['loss'], 4)}"),
    )


# --- slices, and corpora of one language, against each other -------------------------------------------------------

_MOST_BESIDE = 4
"""Corpora whose dots stand on one line; of more, each has a line."""

_MOST_LABELS = 60
_ROW_HEIGHT = 16

_INTERVALS = "Lines or bands: intervals for each of them drawn again"
_HOW = (
    "Each was read and trained on its own, and has an interval of its own. Two intervals that overlap do not say that "
    "two of them are alike: that is for the interval of their difference to say."
)


@dataclass(frozen=True)
class Compared:
    """Numbers of corpora that can be held against each other.

    Attributes:
        title: what they are.
        axis: the same in a word or two.
        rows: with ``model``, ``language``, and a row of each corpus for each label.
        value: the column of the numbers, with ``_low`` and ``_high``.
        label: the column that says what a number is of.
        neutral: the number that leans to no side, if there is one.
    """

    title: str
    axis: str
    rows: pl.DataFrame
    value: str
    label: str
    neutral: float | None = None


def slice_sections(frames: Frames, compared: Sequence[Compared]) -> list[Section]:
    """What slices are there, and their numbers beside each other; nothing for corpora of different languages."""
    slices = frames["corpus_slices"].filter(pl.col("field") != "") if "corpus_slices" in frames else None
    groups = _groups(frames, slices)
    charts = [chart for group in groups for chart in _charts(_named(group, len(groups) > 1), compared)]
    blocks: list[Block] = [Paragraph(_HOW), *charts] if charts else []
    table = [] if slices is None or slices.is_empty() else [_table(slices)]
    title = "The slices beside each other" if table else "Corpora of one language beside each other"
    return [Section("slices", title, [*blocks, *table])] if blocks or table else []


def _groups(frames: Frames, slices: pl.DataFrame | None) -> list[pl.DataFrame]:
    """Corpora that can be held against each other, with ``model``, ``name``, ``place``, in their order."""
    if "corpora" not in frames:
        return []
    corpora = frames["corpora"].select("language", model="corpus", name="corpus")
    schema = {"model": pl.String, "whole": pl.String, "value": pl.String, "place": pl.Float64}
    known = pl.DataFrame(schema=schema) if slices is None else slices.rename({"corpus": "model"}).select(*schema)
    joined = corpora.join(known.drop_nulls("value"), on="model", how="left", maintain_order="left")
    named = joined.with_columns(name=pl.coalesce("value", "name"))
    groups = named.partition_by("language", "whole", maintain_order=True)
    return [group for group in groups if group.height > 1]


def _named(group: pl.DataFrame, is_one_of_several: bool) -> pl.DataFrame:
    """The group with ``title``, what its corpora are slices of or their language; names have that too if asked for."""
    whole, language = group["whole"][0], group["language"][0]
    title = f"slices of {whole} ({language})" if whole else f"corpora in {language}"
    name = pl.col("model") if whole else pl.format("{} ({})", "name", "language")
    name = name if is_one_of_several else pl.col("name")
    return group.with_columns(name=name, title=pl.lit(title), tick="name")


def _charts(group: pl.DataFrame, compared: Sequence[Compared]) -> list[Chart]:
    parts = [(numbers, _numbers(group, numbers)) for numbers in compared]
    return [_chart(group, numbers, rows) for numbers, rows in parts if rows.drop_nulls("value").height]


def _numbers(group: pl.DataFrame, numbers: Compared) -> pl.DataFrame:
    """``label``, ``name``, ``place``, ``value``, ``value_low``, ``value_high`` of every corpus and label."""
    values = {f"value{end}": f"{numbers.value}{end}" for end in ("", "_low", "_high")}
    rows = numbers.rows.select("model", label=numbers.label, **values)
    measured = rows.filter(pl.col("model").is_in(group["model"].implode()) & pl.col("value").is_not_null())
    labels = measured.select("label").unique(maintain_order=True)
    every = labels.head(_MOST_LABELS).join(group.select("model", "name", "tick", "place"), how="cross")
    return every.join(rows, on=["model", "label"], how="left", maintain_order="left")


def _chart(group: pl.DataFrame, numbers: Compared, rows: pl.DataFrame) -> Chart:
    title = f"{numbers.title}: {group.height} {group['title'][0]}"
    if group["place"].null_count() == 0:
        figures = {label: _over(part, numbers) for label, part in split(rows, "label").items()}
        return Chart(f"Line chart: {title}.", f"{title}. {_INTERVALS}; a gap has no result.", figures)
    if group.height <= _MOST_BESIDE:
        figures = {numbers.title: _beside(rows, numbers, group["name"].to_list())}
    else:
        figures = {label: _below(part, numbers) for label, part in split(rows, "label").items()}
    return Chart(f"Dot plot: {title}.", f"{title}. {_INTERVALS}.", figures)


def _over(rows: pl.DataFrame, numbers: Compared) -> Figure:
    """A line over the places of slices, with its band, and their names below."""
    # From 0 on, as a page keeps so few digits that months of a year would fall together.
    ordered = rows.sort("place").with_columns(pl.col("place") - pl.col("place").min())
    drawn = curves(ordered, "place", "value", titles=("", numbers.axis), hover=_hover)
    places, names = _ticks(ordered)
    below = {"tickvals": places, "ticktext": [plain(name) for name in names]}
    dotted = [trace | {"mode": "lines+markers"} if "customdata" in trace else trace for trace in drawn.data]
    layout = merged(drawn.layout, {"xaxis": below, "yaxis": {"rangemode": "normal"}})
    return Figure([*dotted, _stems(ordered)], layout)


def _stems(rows: pl.DataFrame) -> Trace:
    """The interval of each slice, as a band shows none between two gaps."""
    known = rows.drop_nulls("value")
    x = [place for place in known["place"] for place in (place, place, None)]
    y = [end for ends in known.select("value_low", "value_high").iter_rows() for end in (*ends, None)]
    return line(x, y, {"width": 1, "color": INK}, **UNNAMED)


def _ticks(rows: pl.DataFrame, most: int = 8) -> tuple[list[float], list[str]]:
    """Places and names of some slices, from the first to the last."""
    known = rows.select("place", "tick").unique(maintain_order=True)
    chosen = known[np.unique(np.linspace(0, known.height - 1, min(most, known.height)).round().astype(int)).tolist()]
    return chosen["place"].to_list(), chosen["tick"].to_list()


def _beside(rows: pl.DataFrame, numbers: Compared, names: Sequence[str]) -> Figure:
    """A line for each label, with a dot of each corpus on it."""
    shifts = np.linspace(0.3, -0.3, len(names))
    looks = {name: look._replace(shift=float(shift)) for name, look, shift in zip(names, LOOKS, shifts, strict=False)}
    height = _ROW_HEIGHT * (1 + len(names))
    look: dict[str, Any] = {"by": "name", "looks": looks, "row_height": height}
    return dots(rows, "value", "label", neutral=numbers.neutral, title=numbers.axis, hover=_hover, **look)


def _below(rows: pl.DataFrame, numbers: Compared) -> Figure:
    return dots(rows, "value", "name", neutral=numbers.neutral, title=numbers.axis, hover=_hover)


def _hover(row: Row) -> str:
    return lines(plain(f"{row['label']}, {row['name']}"), estimate(row, "value", 3))


def _table(slices: pl.DataFrame) -> Details:
    rows = slices.with_columns(pl.col("value").fill_null("(in no slice)"))
    return Details(f"{plural(slices['value'].count(), 'slice')}, and what is in none", [_SLICES.grid(rows)])


_SLICES = Show(
    CorpusSlices,
    "Every slice; one that is too small has no vectors.",
    "whole field value num_documents status reason=why",
)

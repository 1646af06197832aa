"""The sections of a report that every job with corpora has: what was read, its words, its training."""

import polars as pl

from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.findings import split
from tiltmeter.jobs.report.grids import count, grid, number, text
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Listing, Paragraph, Section
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import MALE, Look, lines
from tiltmeter.jobs.report.wording import plural, some, verb
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
    table = grid(
        "The corpora, each read and trained on its own.",
        rows,
        "corpus",
        "language",
        count("num_articles"),
        count("num_tokens", "running words"),
        count("num_words", "words in the vocabulary"),
    )
    return [Section("corpora", "The corpora", [table])]


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

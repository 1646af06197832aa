"""The sections of a report that every job with corpora has: what was read, its words, its training."""

import polars as pl

from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.report.html.elements import Block, Chart, Details, Grid, Listing, Paragraph, Section
from tiltmeter.jobs.report.plots import style as figures

_TRAINERS = {
    "glove": "GloVe (Pennington et al. 2014)",
    "word2vec": "word2vec (Mikolov et al. 2013)",
    "fasttext": "fastText (Bojanowski et al. 2017)",
}


def trained(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> str:
    """What the vectors were trained on, and how."""
    return (
        f"{_sentence(corpora, embedding)} Word vectors of {embedding.trainer.dimensions} dimensions were trained with "
        f"{_TRAINERS[embedding.trainer.name]} on {'each' if corpora.height > 1 else 'it'} and on "
        f"{embedding.num_replicas} bootstrap replicas of it, in which every line occurs a random number of times, once "
        "on average."
    )


def _sentence(corpora: pl.DataFrame, embedding: EmbeddingConfig) -> str:
    if corpora.height > 1:
        tokens, articles = (int(corpora[f"num_{name}"].sum()) for name in ("tokens", "articles"))
        return f"The {corpora.height} corpora have {articles:,} articles with {tokens:,} running words in all."
    [row] = corpora.to_dicts()
    return (
        f"The corpus {row['corpus']} has {row['num_articles']:,} articles with {row['num_tokens']:,} running words; "
        f"{row['num_words']:,} different words occur at least {embedding.min_count} times."
    )


def doubts(corpora: pl.DataFrame) -> list[Block]:
    """The warnings of corpora, such as that they are too small."""
    warned = corpora.filter(pl.col("warning") != "").to_dicts()
    return [Paragraph(f"{row['corpus']}: {row['warning']}.", "warning") for row in warned]


def corpora(rows: pl.DataFrame) -> list[Section]:
    """A table of several corpora; nothing of one, which the lead tells of."""
    if rows.height == 1:
        return []
    numeric = ["articles", "running words", "words in the vocabulary"]
    keys = ["num_articles", "num_tokens", "num_words"]
    cells = [[row["corpus"], row["language"], *(f"{row[key]:,}" for key in keys)] for row in rows.to_dicts()]
    grid = Grid("The corpora, each read and trained on its own.", ["corpus", "language", *numeric], cells, numeric)
    return [Section("corpora", "The corpora", [grid])]


def word_lists(vocabulary: pl.DataFrame) -> Section | None:
    """How many words of each list the corpora have, as section 3.2 of Matthews et al. 2021 asks; None without lists."""
    listed = vocabulary.explode("lists").drop_nulls("lists")
    if listed.is_empty():
        return None
    counts = (
        listed.group_by("language", "lists", maintain_order=True)
        .agg(
            pl.len().alias("words"),
            *((pl.col("status") == status).sum().alias(status) for status in ("ok", "too_rare", "absent")),
            pl.col("count").median().alias("median count"),
        )
        .sort("language", "lists")
    )
    numeric = ["words", "with a vector", "too rare", "absent", "median count"]
    cells = [[*row[:2], *(f"{number:,.0f}" for number in row[2:])] for row in counts.iter_rows()]
    grid = Grid("Words of each list in the corpus of its language.", ["language", "list", *numeric], cells, numeric)
    text = (
        "Word lists are normalised like the text, so that an entry and the text cannot miss each other by spelling; an "
        "expression of several words is counted, and gets a vector, as one word. A listed word that is too rare or "
        "absent keeps its row in the table vocabulary."
    )
    return Section("words", "Words of the lists", [Paragraph(text), grid, *_without_vector(listed)])


def _without_vector(listed: pl.DataFrame) -> list[Block]:
    missing = listed.filter(pl.col("status") != "ok").unique(["language", "word"]).sort("language", "word")
    return [
        Details(
            f"{language}: {rows.height:,} listed words without a vector",
            [Listing(", ".join(f"{word} ({count})" for word, count in rows.select("word", "count").iter_rows()))],
        )
        for (language,), rows in missing.group_by("language", maintain_order=True)
    ]


def training(losses: pl.DataFrame, embedding: EmbeddingConfig) -> Section:
    """The loss by epoch, of each language."""
    text = f"Loss of {_TRAINERS[embedding.trainer.name]} in each pass over the corpus."
    known = losses.drop_nulls("loss")
    if known.is_empty():
        return Section("training", "Training", [Paragraph(f"{text} This trainer gives none.")])
    chart = Chart(
        "Line chart: the training loss falls from epoch to epoch, for the original corpus and for the replicas.",
        "Mean over the replicas with the range from the lowest to the highest of them; dashed: the original corpus, "
        "whose counts are not those of a resampled one.",
        {language: figures.training(rows) for (language,), rows in known.group_by("language", maintain_order=True)},
        "Language",
    )
    return Section("training", "Training", [Paragraph(text), chart])

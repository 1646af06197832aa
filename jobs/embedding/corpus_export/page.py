"""The page of `corpus_export`: how much there is, what was left out, and what the texts look like."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.embedding.corpus_export.config import CorpusExportRun
from tiltmeter.jobs.embedding.corpus_export.tables import Account, DocumentSlices, Levels, Omitted, Samples, Shards
from tiltmeter.jobs.report.views import Page, Show, section
from tiltmeter.jobs.report.wording import plural

_MOST = 40

_QUESTION = (
    "Which documents does the data set have, what became of the other pages of the corpus, and what do the texts look "
    "like? The package datasets opens the folder dataset of this run; its card says the same as this page."
)
_DOUBTS = (
    "Texts of markup are the running text: tables, templates and references are left out with all they hold. Sentences "
    "are cut by punctuation, as a treebank of news would be, and by no model. A license is what dumps of Wikipedia "
    "are under, or what export.license says; nothing here can check it."
)


def _facts(config: CorpusExportRun) -> dict[str, str]:
    export = config.export
    return {
        "job": config.job.name,
        "corpus": config.corpora[0].name,
        "levels": ", ".join(export.ordered),
        "format": export.format,
    }


def _extent(rows: pl.DataFrame) -> Iterator[str]:
    for row in rows.to_dicts():
        things = "documents" if row["level"] == "documents" else "sentences"
        measured = "words" if row["level"] == "tokens" else "characters"
        extent = f"{row['num_rows']:,} {things} with {row['total']:,} {measured}"
        yield f"{row['level']}: {extent}, in {plural(row['num_shards'], 'file')}."


def _left_out(rows: pl.DataFrame) -> Iterator[str]:
    others = rows.filter((pl.col("what") != "exported") & (pl.col("num_pages") > 0))
    if others.height:
        why = ", ".join(f"{row['what']} {row['num_pages']:,}" for row in others.to_dicts())
        yield f"{plural(int(others['num_pages'].sum()), 'page')} of the files are not in it: {why}."


page = Page[CorpusExportRun](
    "A corpus as a data set",
    _QUESTION,
    _facts,
    {Levels: _extent, Account: _left_out},
    lambda _: _DOUBTS,
    [
        section(
            "levels",
            "How much, and how long",
            Show(
                Levels,
                "Lengths are characters of documents and sentences, and words of tokens.",
                "level num_rows total median ninth_decile largest num_shards",
            ),
        ),
        section("pages", "What became of each page", Show(Account, "Pages of all files.", "what num_pages")),
        section(
            "slices",
            "Slices",
            Show(DocumentSlices, "A document may be in several.", "slice num_documents", most=_MOST),
        ),
        section("samples", "First lines", Show(Samples, "Of the first documents.", "title first_line id")),
        section("omitted", "Left out", Show(Omitted, "Pages without redirects.", "title why problem? id", most=_MOST)),
        section("files", "Files", Show(Shards, "In the folder dataset.", "file num_rows", most=_MOST)),
    ],
)

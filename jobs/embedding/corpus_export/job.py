"""Job `corpus_export`: a corpus as a data set of documents, sentences or words, with its card."""

import json
from collections.abc import Sequence

from tiltmeter.jobs.embedding.corpora import Tokens, pages_of_parts, read_parts
from tiltmeter.jobs.embedding.corpus_export.config import CorpusExportRun, find_sources
from tiltmeter.jobs.embedding.corpus_export.dataset import card, provenance, write_files
from tiltmeter.jobs.embedding.corpus_export.documents import CutDocuments, MakeDocuments, ReadWithSlices, SumUp
from tiltmeter.jobs.embedding.corpus_export.tables import TABLES, Account, Level, Omitted, level_schema
from tiltmeter.jobs.embedding.pages import file_digests, find_repeated
from tiltmeter.jobs.embedding.sources import Sources, Text
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import TableRef

_NO_ROWS: dict[Level, str] = {
    "documents": "all pages are empty without their markup, unreadable, or in none of corpus.slice_values",
    "sentences": "no document has a sentence: leave sentences out of export.levels",
    "tokens": "no document has a word: leave tokens out of export.levels",
}
"""Of a data set without rows, which no reader opens."""

ExportRun = Run[CorpusExportRun, Sources]


def run(run: ExportRun) -> None:
    """Read the corpus, make its rows on workers, write the files, and say what became of every page."""
    [text], export, store, directory = run.sources.texts, run.config.export, run.runner.store, run.directory
    sliced = ["slices"] if text.slicing else []
    digests = file_digests(run.runner, text.sources, text.name)
    made, sources = _documents(run, text)
    documents = made.refs("documents")
    levels = {level: _rows(run, text, level, documents, sliced) for level in export.ordered}
    for level, refs in levels.items():
        if not any(ref.num_rows for ref in refs):
            raise InputError(f"{text.name}: there is nothing to export, as {_NO_ROWS[level]}")
    schemas = {level: level_schema(level, sliced=bool(sliced)) for level in levels}
    with directory.dataset() as folder:
        files = write_files(store, folder, export, made.refs("extents"), levels, schemas)
        account = SumUp(
            group=text.name,
            language=text.corpus.language,
            levels=export.ordered,
            files=[{name: file[name] for name in ("file", "level", "num_rows", "digest")} for file in files],
            sizes=[ref.select("size") for refs in levels.values() for ref in refs],
            documents=[ref.select("id", "title", *sliced, "text") for ref in documents],
            sources=sources,
            omitted=[ref.select("why") for ref in made.refs(Omitted)],
        )
        summed = run.do([account], publish=False)
        pages = {row.what: row.num_pages for row in Account.read(store, summed.one(Account))}
        facts = provenance(run.config, text, digests, files, pages, directory.record["git_commit"])
        (folder / "README.md").write_text(card(facts, schemas), encoding="utf-8")
        lines = json.dumps(facts, indent=2, ensure_ascii=False)
        (folder / "provenance.json").write_text(f"{lines}\n", encoding="utf-8")
    for table in TABLES:
        refs = summed.refs(table) or made.refs(table)
        run.publish(table, [ref.labelled(corpus=text.name) for ref in refs])
    run.console.print(f"data set: {directory.path / 'dataset'}", soft_wrap=True, highlight=False)


def _documents(run: ExportRun, text: Text) -> tuple[Done[MakeDocuments], Sequence[TableRef]]:
    """The documents of all shards of pages, and what describes the files' pages."""
    config, runner, name = run.config, run.runner, text.name
    worker_bytes, date = config.cluster.worker_data_bytes, config.export.date(text.sources)
    parts = read_parts(runner, [text], config.reading, worker_bytes, ReadWithSlices)
    # A data set without some of its files would look like a whole one.
    runner.check()
    pages = pages_of_parts(text, parts[name])
    repeated = find_repeated(runner, {name: pages}, worker_bytes)
    runner.check()
    done = run.do(
        (
            MakeDocuments(
                group=name,
                label=f"{name} shard {number}",
                language=text.corpus.language,
                dump_date=date and date.replace("-", ""),
                only_in_slices=bool(text.corpus.slice_values),
                repeated=repeated[name].get(number, []),
                pages=ref.select(*(one for one in ref.columns if one not in ("key", "content"))),
                source=source.select("markup", "media_prefixes"),
            )
            for number, (ref, source) in enumerate(pages.pages)
        ),
        publish=False,
    )
    return done, pages.sources


def _rows(
    run: ExportRun, text: Text, level: Level, documents: Sequence[TableRef], sliced: Sequence[str]
) -> Sequence[TableRef]:
    """The tables of a level, one for each of the documents'."""
    if level == "documents":
        return documents
    tokens = Tokens(text.tokenizer.identity) if level == "tokens" else None
    read = [ref.select("row", "id", "title", "language", *sliced, "text") for ref in documents]
    works = (CutDocuments(group=text.name, label=f"{text.name} {level}", tokens=tokens, documents=ref) for ref in read)
    return run.do(works, stage=level).refs(level)


JOB = Job(CorpusExportRun, find_sources, run, TABLES, "tiltmeter.jobs.embedding.corpus_export.page:page")

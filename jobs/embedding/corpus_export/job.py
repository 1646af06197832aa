"""Job `corpus_export`: a corpus as a data set of documents, sentences or words, with its card."""

import json
from collections.abc import Sequence
from typing import Any

from tiltmeter.jobs.embedding.corpora import Tokens, pages_of_parts, read_parts
from tiltmeter.jobs.embedding.corpus_export.config import CorpusExportRun, ExportSources, find_sources
from tiltmeter.jobs.embedding.corpus_export.dataset import card, provenance, write_files
from tiltmeter.jobs.embedding.corpus_export.documents import CutDocuments, MakeDocuments, ReadWithSlices, SumUp
from tiltmeter.jobs.embedding.corpus_export.tables import TABLES, Account, Level, Omitted, level_schema
from tiltmeter.jobs.embedding.pages import file_digests, find_repeated
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.storage.store.ledger import TableRef

ExportRun = Run[CorpusExportRun, ExportSources]


def run(run: ExportRun) -> None:
    """Read the corpus, make its rows on workers, write the files, and say what became of every page."""
    text, export, store, directory = run.sources.text, run.config.export, run.runner.store, run.directory
    digests = file_digests(run.runner, text.sources, text.name)
    documents, sources = _documents(run)
    levels = {level: _rows(run, level, documents.refs("documents")) for level in export.ordered}
    schemas = {level: level_schema(level, sliced=text.slicing is not None) for level in levels}
    with directory.dataset() as folder:
        extents = documents.refs("extents")
        files = write_files(store, folder, export.format, export.shard_megabytes, extents, levels, schemas)
        summed = run.do([_summing(run, levels, files, documents, sources)], publish=False)
        account = {row.what: row.num_pages for row in Account.read(store, summed.one(Account))}
        read = [digests[source.uri] for source in text.sources]
        facts = provenance(run.config, run.sources, read, files, account, directory.record["git_commit"])
        (folder / "README.md").write_text(card(facts, run.sources, schemas), encoding="utf-8")
        said = json.dumps(facts, indent=2, ensure_ascii=False)
        (folder / "provenance.json").write_text(f"{said}\n", encoding="utf-8")
    for table, refs in [*((table, summed.refs(table)) for table in SumUp.makes), (Omitted, documents.refs(Omitted))]:
        run.publish(table.table_name, [ref.labelled(corpus=text.name) for ref in refs])
    run.console.print(f"data set: {directory.path / 'dataset'}", soft_wrap=True, highlight=False)


def _documents(run: ExportRun) -> tuple[Done[MakeDocuments], Sequence[TableRef]]:
    """The documents of all shards of pages, and what describes the files' pages."""
    config, text, runner = run.config, run.sources.text, run.runner
    worker_bytes, name, date = config.cluster.worker_data_bytes, text.name, run.sources.dump_date
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


def _rows(run: ExportRun, level: Level, documents: Sequence[TableRef]) -> Sequence[TableRef]:
    """The tables of a level, one for each of the documents'."""
    if level == "documents":
        return documents
    text = run.sources.text
    sliced = ["slices"] if text.slicing else []
    works = (
        CutDocuments(
            group=text.name,
            label=f"{text.name} {level}",
            level=level,
            tokens=Tokens(text.tokenizer.identity),
            documents=ref.select("row", "id", "title", "language", *sliced, "text"),
        )
        for ref in documents
    )
    return run.do(works, stage=level).refs(level)


def _summing(
    run: ExportRun,
    levels: dict[Level, Sequence[TableRef]],
    files: Sequence[dict[str, Any]],
    documents: Done[MakeDocuments],
    sources: Sequence[TableRef],
) -> SumUp:
    text = run.sources.text
    sliced = ["slices"] if text.slicing else []
    shown = ("file", "level", "num_rows", "digest")
    return SumUp(
        group=text.name,
        label=f"{text.name} account",
        language=text.corpus.language,
        levels=list(levels),
        files=[{name: file[name] for name in shown} for file in files],
        sizes=[ref.select("size") for tables in levels.values() for ref in tables],
        documents=[ref.select("id", "title", *sliced, "text") for ref in documents.refs("documents")],
        sources=sources,
        omitted=[ref.select("why") for ref in documents.refs(Omitted)],
    )


JOB = Job(CorpusExportRun, find_sources, run, TABLES, "tiltmeter.jobs.embedding.corpus_export.page:page")

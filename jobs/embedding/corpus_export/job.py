"""Job `corpus_export`: a corpus as a data set of documents, sentences or words, with its card."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tiltmeter.jobs.embedding.corpora import Tokens, pages_of_parts, read_parts
from tiltmeter.jobs.embedding.corpus_export.config import CorpusExportRun, ExportSources, find_sources
from tiltmeter.jobs.embedding.corpus_export.dataset import (
    ListShards,
    Rows,
    card,
    language_tag,
    plan_shards,
    provenance,
    write_shards,
)
from tiltmeter.jobs.embedding.corpus_export.documents import (
    DigestFile,
    MakeDocuments,
    MakeSentences,
    MakeTokens,
    ReadWithSlices,
    SumUp,
    read_by_sentences,
)
from tiltmeter.jobs.embedding.corpus_export.tables import TABLES, Account, Level, Omitted, Shards, level_schema
from tiltmeter.jobs.embedding.pages import find_repeated
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.table import Table
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.storage.store.ledger import TableRef

ExportRun = Run[CorpusExportRun, ExportSources]


def run(run: ExportRun) -> None:
    """Read the corpus, make its rows on workers, say what became of every page, and write the files."""
    text, store = run.sources.text, run.runner.store
    digested = run.do(DigestFile(group=text.name, label=one.name, source=one) for one in text.sources)
    documents, sources = _documents(run)
    levels = _levels(run, documents.refs("documents"))
    shards = plan_shards(store, documents.refs("documents"), run.config.export.shard_megabytes)
    summed = run.do([_summing(run, levels, len(shards), documents, sources)], publish=False)
    _publish(run, {table: summed.refs(table) for table in SumUp.makes} | {Omitted: documents.refs(Omitted)})
    files = [row for ref in digested.refs("digest") for row in store.read(ref).to_pylist()]
    _write(run, levels, shards, files, {row.what: row.num_pages for row in Account.read(store, summed.one(Account))})


def _publish(run: ExportRun, tables: Mapping[type[Table], Sequence[TableRef]]) -> None:
    for table, refs in tables.items():
        run.publish(table.table_name, [ref.labelled(corpus=run.sources.text.name) for ref in refs])


def _documents(run: ExportRun) -> tuple[Done[MakeDocuments], Sequence[TableRef]]:
    """The documents of all shards of pages, and what describes the files' pages."""
    config, text, runner = run.config, run.sources.text, run.runner
    worker_bytes, name = config.cluster.worker_data_bytes, text.name
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
                language=language_tag(text.corpus.language),
                code=text.corpus.language,
                dump_date=run.sources.dump_date and run.sources.dump_date.replace("-", ""),
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


def _levels(run: ExportRun, documents: Sequence[TableRef]) -> dict[Level, Sequence[TableRef]]:
    """The tables of each level that is asked for, one for each of the documents'."""
    text, wanted, sliced = run.sources.text, run.config.export.ordered, _is_sliced(run)
    made: dict[Level, Sequence[TableRef]] = {"documents": documents}
    if wanted != ["documents"]:
        refs = [ref.select("row", *read_by_sentences(sliced=sliced)) for ref in documents]
        cut = run.do(MakeSentences(group=text.name, label=f"{text.name} sentences", documents=ref) for ref in refs)
        made["sentences"] = cut.refs("sentences")
    if "tokens" in wanted:
        tokens, names = Tokens(text.tokenizer.identity), level_schema("sentences", sliced=sliced).names
        refs = [ref.select("row", *names) for ref in made["sentences"]]
        works = (MakeTokens(group=text.name, label=f"{text.name} words", tokens=tokens, sentences=ref) for ref in refs)
        made["tokens"] = run.do(works).refs("tokens")
    return {level: made[level] for level in wanted}


def _is_sliced(run: ExportRun) -> bool:
    return run.sources.text.corpus.slices is not None


def _summing(
    run: ExportRun,
    levels: Mapping[Level, Sequence[TableRef]],
    num_shards: int,
    documents: Done[MakeDocuments],
    sources: Sequence[TableRef],
) -> SumUp:
    text, refs = run.sources.text, documents.refs("documents")
    return SumUp(
        group=text.name,
        label=f"{text.name} account",
        num_shards=num_shards,
        levels=list(levels),
        sizes=[ref.select("size") for tables in levels.values() for ref in tables],
        slices=[ref.select("slices") for ref in refs] if _is_sliced(run) else [],
        sources=sources,
        omitted=[ref.select("why") for ref in documents.refs(Omitted)],
        samples=[ref.select("id", "title", "text") for ref in refs],
        language=text.corpus.language,
    )


def _write(
    run: ExportRun,
    levels: Mapping[Level, Sequence[TableRef]],
    shards: Sequence[Rows],
    files: Sequence[Mapping[str, Any]],
    account: Mapping[str, int],
) -> None:
    """The folder ``dataset``, and the table of its files."""
    config, directory, sliced = run.config, run.directory, _is_sliced(run)
    schemas = {level: level_schema(level, sliced=sliced) for level in levels}
    with directory.dataset() as folder:
        written = write_shards(run.runner.store, folder, config.export.format, shards, levels, schemas)
        facts = provenance(config, run.sources, files, written, account, directory.record["git_commit"])
        (folder / "README.md").write_text(card(facts, run.sources, schemas), encoding="utf-8")
        (folder / "provenance.json").write_text(
            f"{json.dumps(facts, indent=2, ensure_ascii=False)}\n", encoding="utf-8"
        )
    listed = [
        {"file": place, "level": level, "num_rows": file.num_rows, "digest": file.digest}
        for level, places in written.items()
        for place, file in places.items()
    ]
    done = run.do(
        [ListShards(group=run.sources.text.name, label="files", language=config.corpora[0].language, files=listed)],
        publish=False,
        in_driver=True,
    )
    _publish(run, {Shards: done.refs(Shards)})
    run.console.print(f"data set: {directory.path / 'dataset'}", soft_wrap=True, highlight=False)


JOB = Job(CorpusExportRun, find_sources, run, TABLES, "tiltmeter.jobs.embedding.corpus_export.page:page")

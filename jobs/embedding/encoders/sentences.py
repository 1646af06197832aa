"""Words in sentences: templates that are filled, contexts that are drawn from a corpus, and vectors of both."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpora import Tokens, read_texts
from tiltmeter.jobs.embedding.encoders.settings import SLOT, ContextEmbedding, InSentences, TemplateEmbedding
from tiltmeter.jobs.embedding.pages import extract_lines
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.tables import WordContexts
from tiltmeter.jobs.embedding.vectors import Encoder, Selection, encoders_of, neighbours, vector_column
from tiltmeter.jobs.embedding.vectors import vectors_table as table_of
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding import bootstrap
from tiltmeter.operators.embedding.bootstrap import Resampling, ResamplingSettings, replica_multiplicities, replica_name
from tiltmeter.operators.embedding.encoders import sentences
from tiltmeter.operators.embedding.encoders.sentences import (
    Pooled,
    Sentence,
    by_few_templates,
    context_keys,
    word_means,
)
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.spelling import normalised
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.store.ledger import Store, TableRef

_PER_UNIT = 2048
"""Sentences that one unit encodes, about."""

_CONTEXTS = pa.schema(
    [
        *(("word", pa.string()), ("cluster", pa.uint64()), ("line", pa.int32()), ("draw", pa.uint64())),
        *(("text", pa.string()), ("start", pa.int32()), ("end", pa.int32())),
    ]
)
"""A sentence with its word's place; ``cluster``: its document or template, by key; ``draw``: their order for a word."""

_COUNTS = pa.schema([("word", pa.string()), ("num_contexts", pa.int64()), ("num_documents", pa.int64())])
_TEMPLATES = ResamplingSettings("document", "exponential")


def _table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = pl.DataFrame(_CONTEXTS.empty_table()).schema
    return pl.DataFrame(rows, columns, orient="row").to_arrow().cast(_CONTEXTS)


class FillTemplates(Work, unit="filled_templates/1", stage="fill templates"):
    """Each word in each template."""

    words: Sequence[str]
    templates: Sequence[str]

    def tables(self, _: Store) -> Tables:
        rows = [
            (word, document_key(text), 0, number, text.replace(SLOT, word), start, start + len(word))
            for word in self.words
            for number, text in enumerate(self.templates)
            for start in [text.index(SLOT)]
        ]
        yield "contexts", _table(rows)


class FindContexts(Work, unit="contexts/1", stage="find contexts"):
    """Of the lines of a shard, as many contexts of each word as are asked for in all, and how many there are."""

    tokens: Tokens
    words: Sequence[str]
    num_contexts: int
    window: int
    seed: int
    lines: TableRef

    def tables(self, store: Store) -> Tables:
        table, tokenize = store.read(self.lines), self.tokens.tokenizer()
        language, keys = self.tokens.settings["language"], {word: document_key(word) for word in self.words}
        read = [tokenize(text) for text in table["text"].to_pylist()]
        rows = [(word, row, place) for row, line in enumerate(read) for place, word in enumerate(line) if word in keys]
        occurrences = pl.DataFrame(rows, {"word": pl.String, "row": pl.Int64, "place": pl.Int32}, orient="row")
        names = [document_key(f"{language}:{name}") for name in table["document"].to_pylist()]
        row = occurrences["row"].to_numpy()
        clusters, lines = np.array(names, np.uint64)[row], table["line"].to_numpy().astype(np.int32)[row]
        words = np.array([keys[word] for word in occurrences["word"]], np.uint64)
        draws = context_keys(self.seed, words, clusters, lines, occurrences["place"].to_numpy())
        occurrences = occurrences.with_columns(
            cluster=pl.Series(clusters), line=pl.Series(lines), draw=pl.Series(draws)
        )
        joint = " " if spaced(language) == language else ""
        rows = [
            self._context(one, read[one["row"]], joint) for one in _first(occurrences, self.num_contexts).to_dicts()
        ]
        yield "contexts", _table(rows)
        counts = occurrences.group_by("word").agg(num_contexts=pl.len(), num_documents=pl.col("cluster").n_unique())
        yield "counts", counts.sort("word").to_arrow().cast(_COUNTS)

    def _context(self, one: Mapping[str, Any], line: Sequence[str], joint: str) -> tuple[Any, ...]:
        place, word = one["place"], one["word"]
        before = "".join(other + joint for other in line[max(place - self.window, 0) : place])
        after = "".join(joint + other for other in line[place + 1 : place + 1 + self.window])
        text, start = before + word + after, len(before)
        return word, one["cluster"], one["line"], one["draw"], text, start, start + len(word)


def _first(contexts: pl.DataFrame, num: int) -> pl.DataFrame:
    return contexts.sort("word", "draw").group_by("word", maintain_order=True).head(num)


class DrawContexts(Work, unit="drawn_contexts/1", stage="draw contexts", makes=[WordContexts]):
    """The contexts of each word of a corpus."""

    corpus: str
    language: str
    words: Sequence[str]
    num_contexts: int
    contexts: Sequence[TableRef]
    counts: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        drawn = _first(_together(store, self.contexts), self.num_contexts)
        yield "contexts", drawn.to_arrow().cast(_CONTEXTS)
        sums = {row["word"]: row for row in _together(store, self.counts).group_by("word").sum().to_dicts()}
        used = dict(drawn.group_by("word").len().iter_rows())
        yield from tables_of((self._account(word, sums.get(word), used) for word in self.words), self.makes)

    def _account(self, word: str, counts: Mapping[str, int] | None, used: Mapping[str, int]) -> WordContexts:
        sums = counts or {"num_contexts": 0, "num_documents": 0}
        num, documents = sums["num_contexts"], sums["num_documents"]
        row = WordContexts(corpus=self.corpus, language=self.language, word=word, num_drawn=used.get(word, 0))
        row.num_contexts, row.num_documents = num, documents
        return row if counts else row.fail("no_context", "the corpus does not have the word")


def _together(store: Store, refs: Sequence[TableRef]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(store.read(ref)) for ref in refs])


class EncodeSentences(Work, unit=sentences.VERSION, stage="encode"):
    """The vectors of the sentences of some words; those without one are left out."""

    encoder: Encoder
    pooled: Pooled
    special: bool
    part: int
    num_parts: int
    contexts: TableRef

    def tables(self, store: Store) -> Tables:
        contexts = pl.DataFrame(store.read(self.contexts))
        chosen = [word for word in contexts["word"].unique() if document_key(word) % self.num_parts == self.part]
        rows = contexts.filter(pl.col("word").is_in(chosen)).sort("word", "draw")
        texts = [Sentence(*row) for row in rows.select("text", "start", "end").iter_rows()]
        vectors = self.encoder.encode(texts, self.pooled, special=self.special)
        known = np.flatnonzero(np.isfinite(vectors).all(axis=1))
        kept = rows[known].to_arrow().cast(_CONTEXTS).select(["word", "cluster", "line", "draw"])
        yield "sentences", kept.append_column("vector", vector_column(vectors[known]))


class MeanWords(Work, unit="word_means/1", stage="word vectors"):
    """Each word's mean over its sentences, in the original or in a replica that weighs documents or templates anew."""

    replica: int
    resampling: Resampling
    weights: str = bootstrap.VERSION
    seed: int
    centred: bool
    selection: Selection
    near_by: str | None
    sentences: Sequence[TableRef]
    counts: TableRef | None

    def tables(self, store: Store) -> Tables:
        table = encoded(store, self.sentences)
        words = table["word"].unique(maintain_order=True).to_list()
        numbers = np.unique(table["word"].to_numpy(), return_inverse=True)[1]
        clusters, lines = (table[name].to_numpy() for name in ("cluster", "line"))
        weights = replica_multiplicities(self.seed, clusters, lines, self.replica, self.resampling)
        rows = table["vector"].to_numpy()
        means = word_means(rows, numbers, weights, len(words))
        if self.replica and self.counts is None:
            original = word_means(rows, numbers, np.ones_like(weights), len(words))
            means = by_few_templates(original, means, np.unique(clusters).size)
        means = means.astype(np.float32)
        if self.centred:
            means -= np.nanmean(means, axis=0)
        known = np.flatnonzero(np.isfinite(means).all(axis=1))
        kept = [words[row] for row in known]
        vectors = table_of(dict(zip(kept, kept, strict=True)), means[known])
        if self.counts is not None:
            counts = store.read(self.counts)
            of_word = dict(zip(counts["word"].to_pylist(), counts["num_contexts"].to_pylist(), strict=True))
            place, column = vectors.schema.get_field_index("count"), [of_word[word] for word in kept]
            vectors = vectors.set_column(place, "count", pa.array(column, pa.int64()))
        yield "vectors", vectors
        yield from neighbours(self.selection, {word: row for row, word in enumerate(kept)}, means[known])


def encoded(store: Store, refs: Sequence[TableRef]) -> pl.DataFrame:
    """What :class:`EncodeSentences` made of all words of a model, by word and draw."""
    return _together(store, refs).sort("word", "draw")


# --- the stages -----------------------------------------------------------------------------------------------------


class Given(NamedTuple):
    """What encoders are given: the words of a language in templates, or in contexts of a corpus."""

    corpus: str
    wordset: WordSets
    selection: Selection
    contexts: TableRef
    counts: TableRef | None = None


class Made(NamedTuple):
    """What an encoder made of them: vectors of sentences, and means in the original and its replicas."""

    name: str
    given: Given
    sentences: Sequence[TableRef]
    means: Done[MeanWords]
    scheme: Scheme | None


Select = Callable[[WordSets], Selection]


def in_templates(run: Run[EmbeddingsRun, Sources], embedding: TemplateEmbedding, select: Select) -> Given:
    """The words of the lists in the templates of their language."""
    wordset = run.config.wordset[embedding.language]
    words, templates = select(wordset).words, embedding.templates[embedding.language]
    made = run.do([FillTemplates(group="templates", words=words, templates=templates)], in_driver=True)
    return Given("", wordset, select(wordset), made.one("contexts"))


def in_contexts(run: Run[EmbeddingsRun, Sources], embedding: ContextEmbedding, select: Select) -> list[Given]:
    """The words of the lists in contexts of each corpus; publishes the table ``word_contexts``."""
    runner, worker_bytes = run.runner, run.config.cluster.worker_data_bytes
    read, _ = read_texts(runner, run.sources.texts, run.config.reading, worker_bytes)
    lines = extract_lines(runner, read, worker_bytes).groups
    wordsets = {
        name: normalised(run.config.wordset[pages.language], pages.text.tokenizer) for name, pages in read.items()
    }
    words, num = {name: select(wordset).words for name, wordset in wordsets.items()}, embedding.num_contexts
    parts = run.do(
        FindContexts(
            group=name,
            label=f"{name} shard {number}",
            tokens=Tokens(read[name].text.tokenizer.identity),
            words=words[name],
            num_contexts=num,
            window=embedding.window,
            seed=run.config.seed,
            lines=ref,
        )
        for name, done in lines.items()
        for number, ref in enumerate(done.refs("lines"))
    )
    drawn = run.do(
        DrawContexts(
            group=name,
            label=f"{name} contexts",
            corpus=name,
            language=read[name].language,
            words=words[name],
            num_contexts=num,
            contexts=done.refs("contexts"),
            counts=done.refs("counts"),
        )
        for name, done in parts.groups.items()
    )
    return [
        Given(name, wordsets[name], select(wordsets[name]), done.one("contexts"), done.one(WordContexts))
        for name, done in drawn.groups.items()
    ]


def encode_words(run: Run[EmbeddingsRun, Sources], embedding: InSentences, given: Sequence[Given]) -> list[Made]:
    """The vectors of the words of each encoder in each corpus, in the original and in replicas."""
    seed = run.config.seed
    models = {
        name if len(given) == 1 else f"{name} in {one.corpus}": (encoder, one)
        for name, encoder in encoders_of(run.runner, embedding, run.sources.checkpoints).items()
        for one in given
    }
    done = run.do(
        EncodeSentences(
            group=name,
            label=f"{name} {part}",
            encoder=encoder,
            pooled=embedding.pooled,
            special=embedding.special,
            part=part,
            num_parts=num_parts,
            contexts=one.contexts,
        )
        for name, (encoder, one) in models.items()
        for num_parts in [1 + one.contexts.num_rows // _PER_UNIT]
        for part in range(num_parts)
    )
    vectors = {name: part.refs("sentences") for name, part in done.groups.items()}
    drawn = {name: _resampling(run.runner.store, embedding, refs) for name, refs in vectors.items()}
    means = run.do(
        MeanWords(
            group=name,
            label=f"{name} {replica_name(replica)}",
            replica=replica,
            resampling=drawn[name] or bootstrap.LINES,
            seed=seed,
            centred=embedding.centred,
            selection=models[name][1].selection,
            near_by=models[name][1].selection.near_by,
            sentences=refs,
            counts=models[name][1].counts,
        )
        for name, refs in vectors.items()
        for replica in range(1 + (embedding.num_replicas if drawn[name] else 0))
    )
    schemes = {
        name: {"paired_by": "replicas", "seed": seed, "operator": bootstrap.VERSION, "sentences": embedding.kind}
        | {"unit": one.unit, "weights": one.weights}
        for name, one in drawn.items()
        if one
    }
    return [Made(name, models[name][1], vectors[name], part, schemes.get(name)) for name, part in means.groups.items()]


def _resampling(store: Store, embedding: InSentences, refs: Sequence[TableRef]) -> Resampling | None:
    """How replicas are drawn; None where too few documents or templates have a sentence to draw from."""
    clusters = _together(store, [ref.select("cluster") for ref in refs])["cluster"]
    settings = embedding.resampling if isinstance(embedding, ContextEmbedding) else _TEMPLATES
    extent = clusters.n_unique(), clusters.len()
    return None if settings.is_too_few(*extent) else settings.of(*extent)

"""From what a run was given to what it measures: embeddings trained, read from files, or taken from encoders."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import each
from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.counting import keyed, tiling_of
from tiltmeter.jobs.embedding.corpus.texts import WordSetError
from tiltmeter.jobs.embedding.corpus.vocabulary import TokenisedCorpus
from tiltmeter.jobs.embedding.embed import EmbeddingConfig, Embeddings, extent, resampling_of
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.trained import publish_slices, read, train, without_small
from tiltmeter.jobs.embedding.vectors.encoding import encode
from tiltmeter.jobs.embedding.vectors.models import Model, Needs
from tiltmeter.jobs.embedding.vectors.selection import VERSION, Selection, select
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding, read_vector_files
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import ORDER, Scheme
from tiltmeter.operators.embedding import bootstrap
from tiltmeter.operators.embedding.bootstrap import LINES, ORIGINAL, Resampling, replica_name
from tiltmeter.operators.text.spelling import normalised
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit
from tiltmeter.storage.store.streaming import pieces


def find_models(run: Run[EmbeddingsRun, Sources], needs: Needs) -> list[Model]:
    """Train, read or load what the run measures; publishes the tables of what was trained.

    Raises:
        UnitsFailed: if no model is whole.
        WordSetError: if word lists can't measure anything in a corpus.
    """
    embedding, sources = run.config.embedding, run.sources
    if isinstance(embedding, EmbeddingConfig):
        return _trained(run, needs)
    language, wordset = embedding.language, run.config.wordset[embedding.language]
    selection = needs.selection(wordset)
    if isinstance(embedding, FileEmbedding):
        done = read_vector_files(run.runner, embedding, sources.files, selection, run.config.reading.max_bad_share)
    else:
        # An encoder has no vocabulary in which a word has neighbours: its covariances rest on the sets, with their
        # synonyms if these are asked for.
        alone = replace(selection, num_neighbours=0)
        done = encode(run.runner, embedding, sources.checkpoints, alone)
    originals = [replicas[ORIGINAL].tables["vectors"] for replicas in done.values()]
    where = "any of the embeddings"
    _check_coverage([_uncovered(run.runner.store, originals, where, needs.lists(wordset), language)])
    return [_model(name, language, wordset, needs, finished, len(finished) - 1) for name, finished in done.items()]


def _model(
    name: str,
    language: str,
    wordset: WordSets,
    needs: Needs,
    finished: Sequence[Finished],
    num_replicas: int,
    num_tokens: int | None = None,
    scheme: Scheme | None = None,
) -> Model:
    vectors = [unit.tables["vectors"] for unit in finished]
    neighbours = [unit.tables["neighbours"] for unit in finished if "neighbours" in unit.tables]
    sets = needs.attribute_sets(wordset)
    return Model(name, language, wordset, vectors, num_replicas, sets, neighbours, num_tokens, scheme)


def _trained(run: Run[EmbeddingsRun, Sources], needs: Needs) -> list[Model]:
    everything = read(run)
    wordsets = {
        name: normalised(run.config.wordset[corpus.language], corpus.text.tokenizer)
        for name, corpus in everything.tokenised.items()
    }
    problems = {name: _lack(run, corpus, needs.lists(wordsets[name])) for name, corpus in everything.tokenised.items()}
    lacking = {name: reason for name, reason in problems.items() if reason}
    if len(lacking) == len(problems) and not everything.cuts:
        _check_coverage([*lacking.values()])
    large = without_small(everything, lacking)
    corpora = large.tokenised
    publish_slices(run, large)
    embeddings = train(run, corpora)
    units = {
        name: _select_units(name, corpora[name], trained, needs.selection(wordsets[name]))
        for name, trained in embeddings.items()
    }
    done = run.runner.run_whole(Stage("select words", each(select), units, None))
    embedding, store = cast(EmbeddingConfig, run.config.embedding), run.runner.store
    drawn = {
        name: 0 if embedding.resampling.is_too_few(*extent(store, corpora[name])) else embedding.num_replicas
        for name in done
    }
    return [
        _model(
            name,
            corpora[name].language,
            wordsets[name],
            needs,
            _with_intervals(finished, embedding.num_replicas, drawn[name]),
            drawn[name],
            _num_tokens(store, corpora[name]),
            replica_scheme(
                run.config.seed, embedding, corpora[name].vocabulary, resampling_of(store, corpora[name], embedding)
            ),
        )
        for name, finished in done.items()
    ]


def _with_intervals(finished: Sequence[Finished], num_replicas: int, drawn: int) -> list[Finished]:
    """The original, its replicas if they were drawn from enough documents, and further starts."""
    return [finished[ORIGINAL], *finished[1 : 1 + drawn], *finished[1 + num_replicas :]]


def replica_scheme(
    seed: int, embedding: EmbeddingConfig, vocabulary: TableRef, resampling: Resampling = LINES
) -> Scheme:
    """What the lines of replicas are drawn by: two runs of one scheme draw the lines that both have alike.

    Where draws are keyed by words, they also train alike what both have; but not in another number of blocks.
    """
    drawn = {"unit": resampling.unit, "weights": resampling.weights}
    scheme = {"paired_by": "replicas", "seed": seed, "operator": bootstrap.VERSION} | drawn
    if embedding.keyed_by == "rank":
        return scheme
    tiling = tiling_of(vocabulary, embedding.cooccurrence, embedding.keyed_by)
    return scheme | keyed(embedding.keyed_by) | {ORDER: tiling.num_blocks}


def _lack(run: Run[EmbeddingsRun, Sources], corpus: TokenisedCorpus, lists: Mapping[str, Sequence[str]]) -> str:
    """Why word lists can't measure anything in a corpus; nothing if they can."""
    where = f"the vocabulary of {corpus.vocabulary.num_rows} words of {corpus.text.name} ({corpus.language})"
    return _uncovered(run.runner.store, [corpus.vocabulary], where, lists, corpus.language)


def _num_tokens(store: Store, corpus: TokenisedCorpus) -> int:
    [num] = store.read(corpus.summary.select("num_tokens"))["num_tokens"].to_pylist()
    return int(num)


def _select_units(name: str, corpus: TokenisedCorpus, embeddings: Embeddings, selection: Selection) -> list[Unit]:
    vocabulary = [corpus.listed.select("word", "count")]
    return [
        Unit(
            VERSION,
            f"{name} {replica_name(replica)}",
            {"selection": selection},
            {"embedding": [ref.select("word", "vector")], "vocabulary": vocabulary},
        )
        for replica, ref in embeddings.vectors.items()
    ]


def _check_coverage(problems: Sequence[str]) -> None:
    for problem in filter(None, problems):
        raise WordSetError(problem)


def _uncovered(
    store: Store, vocabularies: Sequence[TableRef], where: str, lists: Mapping[str, Sequence[str]], language: str
) -> str:
    """Which list has no word in the vocabularies; nothing if all have."""
    known = _known_words(store, vocabularies, {word for words in lists.values() for word in words})
    for name, words in lists.items():
        if words and known.isdisjoint(words):
            return (
                f"wordset.{language}.{name}: none of its {len(words)} words ({', '.join(words[:3])}, ...) is in "
                f"{where}: choose a word set in the language of the words (wordset=[<name>]), a larger corpus, or a "
                "lower embedding.min_count"
            )
    return ""


def _known_words(store: Store, vocabularies: Sequence[TableRef], words: Collection[str]) -> set[str]:
    """Those of the words that a vocabulary has."""
    wanted, columns = pa.array(words, pa.string()), [table.select("word") for table in vocabularies]
    parts = (piece["word"].filter(pc.is_in(piece["word"], wanted)) for piece in pieces(store, columns))
    return {word for part in parts for word in part.to_pylist()}

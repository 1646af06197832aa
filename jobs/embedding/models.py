"""From what a run was given to what it measures: embeddings trained, read from files, or taken from encoders."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.embedding.config import EmbeddingConfig, EmbeddingsRun, FileEmbedding, WordSetError
from tiltmeter.jobs.embedding.corpora import Corpus, read_corpora
from tiltmeter.jobs.embedding.encoders.sentences import encode_words, in_contexts, in_templates
from tiltmeter.jobs.embedding.encoders.settings import ContextEmbedding, InSentences, TemplateEmbedding
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.embedding.replicas import TrainReplica, replica_scheme, train
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors import FrequentSelection, Selection, SelectWords, encode, select_from_files
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import ORDER, Scheme
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.embedding.bootstrap import ORIGINAL, replica_name
from tiltmeter.operators.text.spelling import normalised
from tiltmeter.operators.text.wordsets import WordSets, word_lists
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.streaming import pieces


@dataclass(frozen=True)
class Model:
    """An embedding, as far as the word lists of its language reach; units are about its vectors, which travel.

    Attributes:
        wordset: lists of its language, spelled as in the vectors.
        attribute_sets: whose covariance is needed.
        neighbours: of these sets, in each embedding; empty if there are none.
        num_tokens: running words of the corpus; None where that is not known.
        corpus: that it was trained on; None of models that were there before.
        sentences: vectors of the sentences that a word's vector is the mean of, if it is one.
    """

    vectors: Vectors
    wordset: WordSets
    attribute_sets: Sequence[tuple[str, ...]] = ()
    neighbours: Sequence[TableRef] = ()
    num_tokens: int | None = None
    corpus: Corpus | None = None
    sentences: Sequence[TableRef] = ()

    @property
    def name(self) -> str:
        """Of its corpus, its file or its encoder."""
        return self.vectors.name

    @property
    def language(self) -> str:
        """Whose word lists are measured on it."""
        return self.vectors.language


def common_scheme(models: Sequence[Model]) -> Scheme | None:
    """Of a number of several models of one run, which draw alike; each is trained in an order of its own."""
    schemes = [model.vectors.scheme for model in models]
    orders = [scheme[ORDER] for scheme in schemes if scheme and ORDER in scheme]
    return {**schemes[0], ORDER: orders} if schemes[0] and orders else schemes[0]


def whole(runner: Runner, models: Sequence[Model]) -> list[Model]:
    """The models of which nothing has failed so far."""
    return [model for model in models if not runner.failures.get(model.name)]


@dataclass(frozen=True)
class Needs:
    """What a job needs of every model.

    Attributes:
        lists: the word lists that it measures, by name; in a corpus each must have a word in the vocabulary, which is
            looked at before anything is trained.
        attribute_sets: sets of words whose covariance it needs.
        num_neighbours: of each of their words, to estimate the covariance from.
        by_synonyms: whether it is estimated from the synonyms of the word lists, and not from neighbours.
        num_frequent: of the most frequent words, that it needs as well; 0: none, None: all.
    """

    lists: Callable[[WordSets], Mapping[str, Sequence[str]]]
    attribute_sets: Callable[[WordSets], tuple[tuple[str, ...], ...]] = lambda _: ()
    num_neighbours: int = 0
    by_synonyms: bool = False
    num_frequent: int | None = 0

    def selection(self, wordset: WordSets) -> Selection:
        """What is taken out of an embedding: all listed words, so that other jobs find the same unit."""
        listed = {word for words in word_lists(wordset).values() for word in words}
        sets, words = self.attribute_sets(wordset), tuple(sorted(listed))
        if self.num_frequent != 0:
            return FrequentSelection(words, num_frequent=self.num_frequent)
        if self.by_synonyms and wordset.synonyms:
            return Selection(words, tuple(map(wordset.synonyms.added_to, sets)))
        return Selection(words, sets, self.num_neighbours if sets else 0)


def find_models(run: Run[EmbeddingsRun, Sources], needs: Needs) -> list[Model]:
    """Train, read or load what the run measures; publishes the tables of what was trained.

    Raises:
        UnitsFailed: if no model is whole.
        WordSetError: if word lists can't measure anything in a corpus.
    """
    embedding, sources, runner = run.config.embedding, run.sources, run.runner
    if isinstance(embedding, EmbeddingConfig):
        return _trained(run, needs)
    if isinstance(embedding, TemplateEmbedding | ContextEmbedding):
        return list(_in_sentences(run, embedding, needs))
    language, wordset = embedding.language, run.config.wordset[embedding.language]
    selection = needs.selection(wordset)
    done: Done[Any]
    if isinstance(embedding, FileEmbedding):
        done = select_from_files(runner, embedding, sources.files, selection, run.config.reading.max_bad_share)
    else:
        # An encoder has no vocabulary in which a word has neighbours: its covariances rest on the sets, with their
        # synonyms if these are asked for.
        done = encode(runner, embedding, sources.checkpoints, replace(selection, num_neighbours=0))
    originals = [model.refs("vectors")[ORIGINAL] for model in done.groups.values()]
    _check_coverage([_uncovered(runner.store, originals, "any of the embeddings", needs.lists(wordset), language)])
    return [
        _model(Vectors(name, language, made.refs("vectors")), wordset, needs, made)
        for name, made in done.groups.items()
    ]


def _in_sentences(run: Run[EmbeddingsRun, Sources], embedding: InSentences, needs: Needs) -> Iterator[Model]:
    """An encoder has no vocabulary of neighbours: as :func:`.vectors.encode`."""

    def select(wordset: WordSets) -> Selection:
        return replace(needs.selection(wordset), num_neighbours=0)

    if isinstance(embedding, ContextEmbedding):
        given = in_contexts(run, embedding, select)
    else:
        given = [in_templates(run, embedding, select)]
    for made in encode_words(run, embedding, given):
        wordset, refs = made.given.wordset, made.means.refs("vectors")
        where = f"the sentences that {made.name} was given"
        _check_coverage([_uncovered(run.runner.store, refs[:1], where, needs.lists(wordset), wordset.language)])
        vectors = Vectors(made.name, wordset.language, refs, scheme=made.scheme)
        yield replace(_model(vectors, wordset, needs, made.means), sentences=made.sentences)


def _model(vectors: Vectors, wordset: WordSets, needs: Needs, made: Done[Any], num_tokens: int | None = None) -> Model:
    return Model(vectors, wordset, needs.attribute_sets(wordset), made.refs("neighbours"), num_tokens)


def _trained(run: Run[EmbeddingsRun, Sources], needs: Needs) -> list[Model]:
    read, store = read_corpora(run), run.runner.store
    wordsets = {
        name: normalised(run.config.wordset[corpus.language], corpus.text.tokenizer)
        for name, corpus in read.corpora.items()
    }
    problems = {name: _lack(store, corpus, needs.lists(wordsets[name])) for name, corpus in read.corpora.items()}
    lacking = {name: reason for name, reason in problems.items() if reason}
    if len(lacking) == len(problems) and not read.cuts:
        _check_coverage([*lacking.values()])
    large = read.without(lacking)
    large.publish_slices(run)
    corpora, models = large.corpora, []
    selections = {name: needs.selection(wordsets[name]) for name in corpora}
    for name, selected in select_words(run, train(run, corpora), corpora, selections).items():
        corpus = corpora[name]
        vectors, done = trained_vectors(run, corpus, selected)
        model = _model(vectors, wordsets[name], needs, done, *corpus.numbers(store, "num_tokens"))
        models.append(replace(model, corpus=corpus))
    return models


def trained_vectors(
    run: Run[EmbeddingsRun, Sources], corpus: Corpus, selected: Done[SelectWords]
) -> tuple[Vectors, Done[SelectWords]]:
    """What was selected of a corpus, as units read it; without replicas that were drawn from too few documents."""
    store, embedding = run.runner.store, cast(EmbeddingConfig, run.config.embedding)
    num_drawn = 0 if embedding.resampling.is_too_few(*corpus.extent(store)) else embedding.num_replicas
    done = _with_intervals(selected, embedding.num_replicas, num_drawn)
    scheme = replica_scheme(run.config.seed, embedding, corpus.vocabulary, corpus.resampling(store, embedding))
    refs = done.refs("vectors")
    return Vectors(corpus.text.name, corpus.language, refs[: 1 + num_drawn], refs[1 + num_drawn :], scheme), done


def select_words(
    run: Run[EmbeddingsRun, Sources],
    trained: Done[TrainReplica],
    corpora: Mapping[str, Corpus],
    selections: Mapping[str, Selection],
) -> dict[str, Done[SelectWords]]:
    """The listed words of each replica and start, by corpus."""
    works = (
        SelectWords(
            group=work.group,
            label=f"{work.group} {replica_name(work.replica)}",
            selection=selections[work.group],
            embedding=unit.tables["embedding"].select("word", "vector"),
            vocabulary=corpora[work.group].listed.select("word", "count"),
        )
        for work, unit in trained.pairs
    )
    return run.do(works, batch_size=None).groups


def _with_intervals(done: Done[SelectWords], num_replicas: int, num_drawn: int) -> Done[SelectWords]:
    """The original, its replicas if they were drawn from enough documents, and further starts."""
    pairs = done.pairs
    return Done([pairs[ORIGINAL], *pairs[1 : 1 + num_drawn], *pairs[1 + num_replicas :]])


def _lack(store: Store, corpus: Corpus, lists: Mapping[str, Sequence[str]]) -> str:
    """Why word lists can't measure anything in a corpus; nothing if they can."""
    where = f"the vocabulary of {corpus.vocabulary.num_rows} words of {corpus.text.name} ({corpus.language})"
    return _uncovered(store, [corpus.vocabulary], where, lists, corpus.language)


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

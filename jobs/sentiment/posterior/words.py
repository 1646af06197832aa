"""The words that are asked about, how far they are from the two posteriors of each classifier, and what they say
without draws."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.work import Done, Subject, Work
from tiltmeter.jobs.sentiment.posterior.classifiers import load_network
from tiltmeter.jobs.sentiment.posterior.config import FrequentWords
from tiltmeter.jobs.sentiment.posterior.draws import LABELS, Drawn, Posterior, evidence_of, load_draws, load_prior
from tiltmeter.jobs.sentiment.posterior.tables import Asked, Evidence
from tiltmeter.jobs.sentiment.posterior.texts import WHOLE, PosteriorRun, Texts, entry_of, tokenizer, word_vectors
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.sentiment.posterior import distances, made_up
from tiltmeter.operators.sentiment.posterior import words as word_posteriors
from tiltmeter.operators.sentiment.posterior.distances import Distance, identity, mean_distances
from tiltmeter.operators.sentiment.posterior.networks import Network
from tiltmeter.operators.sentiment.posterior.priors import generator_of
from tiltmeter.operators.sentiment.posterior.words import WordPosterior, context_scores, word_posterior
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import read_records
from tiltmeter.storage.records.cells import GIVEN, Rules, one_of
from tiltmeter.storage.store.ledger import Store, TableRef

ABSENT = -1
"""In the place of a word's number in the vocabulary."""


@dataclass(frozen=True)
class LexiconSource(Subject):
    """Words with their polarities: of a file with two such columns, or those that made-up reviews are made of."""

    file: FoundFile | None
    columns: tuple[str, str]

    @property
    def identity(self) -> Mapping[str, Any]:
        """The file, or the version of what is made up."""
        given = None if self.file is None else {"file": self.file.identity, "columns": self.columns}
        return {"lexicon": given or made_up.VERSION}

    def entries(self) -> Iterator[tuple[str, str]]:
        """Words in lower case, with their polarities; rows without a word are none."""
        if self.file is None:
            for polarity, listed in (("positive", made_up.POSITIVE), ("negative", made_up.NEGATIVE)):
                yield from ((word, polarity) for word in listed)
            return
        word, polarity = self.columns
        table = read_records(self.file.uri, [word, polarity], rules=lexicon_rules(word, polarity)).cast(pl.String)
        for entry, side in zip(table[word].to_list(), table[polarity].to_list(), strict=True):
            yield entry.strip().lower(), side.strip()

    def polarities(self) -> dict[str, set[str]]:
        """By word."""
        sides: dict[str, set[str]] = {}
        for word, polarity in self.entries():
            sides.setdefault(word, set()).add(polarity)
        return sides

    def check(self, store: Store, vocabulary: TableRef) -> None:
        """Refuse a lexicon of which no word is in the texts, before vectors are trained on these.

        Raises:
            InputError: if a polarity has no word.
        """
        known = set(store.read(vocabulary.select("word"))["word"].to_pylist())
        listed = {word: next(iter(sides)) for word, sides in self.polarities().items() if len(sides) == 1}
        _refuse((word, side, entry_of(word) in known) for word, side in listed.items())


def lexicon_rules(word: str, polarity: str) -> Rules:
    """Of the cells of a lexicon with these columns."""
    return {word: [GIVEN], polarity: [GIVEN, one_of(tuple(LABELS))]}


def _refuse(entries: Iterable[tuple[str, str, bool]]) -> None:
    """Of words, their polarities, and whether there is a vector."""
    every = list(entries)
    for polarity in LABELS:
        listed = [(word, is_known) for word, side, is_known in every if side == polarity]
        if not any(is_known for _, is_known in listed):
            names = ", ".join(word for word, _ in listed[:3]) or "there is none"
            raise InputError(
                f"lexicon.path: none of the {len(listed)} {polarity} words ({names}) has a vector; take a lexicon in "
                "the language of the texts, or lower vectors.min_count"
            )


class FindWords(Work, unit="posterior_asked/1", stage="find words", makes=[Asked]):
    """Words of the lexicon and of groups, and the frequent ones."""

    lexicon: LexiconSource
    tokens: Mapping[str, Any]
    frequent: FrequentWords
    groups: Sequence[str]
    vocabulary: TableRef
    vectors: TableRef

    def rows(self, store: Store) -> Iterator[Asked]:
        vocabulary = store.read(self.vocabulary).to_pydict()
        is_known = np.asarray(store.read(self.vectors)["vector"].is_valid())
        numbers = {word: number for number, word in enumerate(vocabulary["word"])}
        counts = dict(zip(vocabulary["word"], vocabulary["count"], strict=True))  # the most frequent first
        frequent = [word for word, count in counts.items() if count >= self.frequent.min_count][
            : self.frequent.max_words
        ]
        lexicon = self.lexicon.polarities()
        for word in sorted({*lexicon, *self.groups, *frequent}):
            entry, sides = entry_of(word), lexicon.get(word, set())
            row = Asked(word=word, number=numbers.get(entry, ABSENT), count=counts.get(entry, 0))
            row.polarity = next(iter(sides)) if len(sides) == 1 else None
            if len(sides) > 1:
                row.fail("both_sides", f"the lexicon has {word!r} as positive and as negative")
            elif row.number == ABSENT:
                row.fail("no_vector", f"{word!r} occurs less often in the texts than vectors.min_count says")
            elif not is_known[row.number]:
                row.fail("no_vector", f"the vectors have none for {word!r}")
            yield row


def find_words(run: PosteriorRun, lexicon: LexiconSource, texts: Texts) -> TableRef:
    """The table of :class:`Asked`.

    Raises:
        InputError: if no word of the lexicon has a vector.
    """
    words = sorted({word for groups in run.config.groups.values() for side in groups.values() for word in side})
    work = FindWords(
        group="words",
        label="words",
        lexicon=lexicon,
        tokens=tokenizer().identity,
        frequent=run.config.words,
        groups=words,
        vocabulary=texts.vocabulary,
        vectors=texts.word_vectors[WHOLE],
    )
    asked = run.do([work]).one(Asked)
    rows = Asked.read(run.runner.store, asked)
    _refuse((row.word, row.polarity, row.status == "ok") for row in rows if row.polarity)
    return asked


class CountWords(Work, unit="posterior_unigram/1", stage="count words", makes=[Evidence]):
    """The evidence of a classifier under the unigram prior, which needs no draws."""

    operator: str = word_posteriors.VERSION
    seed: int
    power: float
    vocabulary: TableRef
    words: TableRef
    model: TableRef

    def rows(self, store: Store) -> Iterator[Evidence]:
        network, vectors = load_network(store, self.model), word_vectors(store, self.words)
        posterior = _posterior(store, network, vectors, self.vocabulary, self.power)
        for label, share in (("positive", posterior.evidence), ("negative", posterior.counter_evidence)):
            row = Evidence(seed=self.seed, prior="unigram", label=label)
            row.probability, row.standard_error, row.method = share, 0.0, "enumeration"
            yield row


def count_words(run: PosteriorRun, models: Sequence[TableRef], texts: Texts) -> list[TableRef]:
    """Of every classifier its rows of the table ``evidence``."""
    works = [
        CountWords(
            group="words",
            label=f"classifier {seed}",
            seed=seed,
            power=run.config.power,
            vocabulary=texts.vocabulary,
            words=texts.word_vectors[WHOLE],
            model=model,
        )
        for seed, model in enumerate(models)
    ]
    return run.do(works, publish=False).refs(Evidence)


def _posterior(
    store: Store, network: Network, vectors: FloatArray, vocabulary: TableRef, power: float
) -> WordPosterior:
    """Of the words that have a vector."""
    is_known = np.isfinite(vectors).all(axis=1)
    counts = np.asarray(store.read(vocabulary)["count"], dtype=np.float64)
    return word_posterior(network, vectors[is_known], counts[is_known], power)


class MeasureWords(Work, unit="posterior_distances/1", stage="measure words"):
    """The table ``distances`` of each word that is asked about and has a vector."""

    operators: Sequence[str] = (distances.VERSION, word_posteriors.VERSION)
    posterior: Posterior
    distance: Distance
    power: float
    seed: int
    asked: TableRef
    vocabulary: TableRef
    words: TableRef
    texts: TableRef
    model: TableRef
    prior: TableRef
    positive: Sequence[TableRef]
    negative: Sequence[TableRef]
    evidence: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        asked, every = pl.DataFrame(store.read(self.asked)), word_vectors(store, self.words)
        # Each once: two spellings may be one word.
        numbers = asked.filter(status="ok")["number"].unique().sort().to_numpy()
        vectors = every[numbers]
        positive, negative = (
            mean_distances(load_draws(store, refs), vectors, self.distance) for refs in (self.positive, self.negative)
        )
        evidence = {row.label: row for ref in self.evidence for row in Evidence.read(store, ref)}["positive"]
        before = mean_distances(self._prior_draws(store)[np.newaxis], vectors, self.distance)
        held = identity(positive, negative, before, evidence.probability, evidence.standard_error)
        columns = {
            "number": numbers,
            "distance_positive": positive.mean,
            "distance_negative": negative.mean,
            "contrast": negative.mean - positive.mean,
            "contrast_se": np.hypot(positive.standard_error, negative.standard_error),
            # Powers of p(y | s) don't add up to 1.
            "identity_gap": held.gap if self.power == 1.0 else np.full(len(numbers), np.nan),
            "identity_se": held.standard_error,
        }
        yield "distances", pl.DataFrame(columns | self._without_draws(store, every, numbers)).to_arrow()

    def _prior_draws(self, store: Store) -> FloatArray:
        """As many as of the posterior."""
        name, seed = self.posterior.prior, self.posterior.seed
        generator = generator_of(self.seed, f"{name} prior", seed)
        return load_prior(store, name, self.prior).draws(generator, sum(ref.num_rows for ref in self.positive))

    def _without_draws(self, store: Store, every: FloatArray, numbers: IntArray) -> dict[str, FloatArray]:
        network = load_network(store, self.model)
        posterior = _posterior(store, network, every, self.vocabulary, self.power)
        places = np.cumsum(np.isfinite(every).all(axis=1)) - 1
        texts = word_vectors(store, self.texts)
        num_words = float(np.asarray(store.read(self.texts.select("num_words"))["num_words"]).mean())
        context = context_scores(network, every[numbers], np.nanmean(texts, axis=0), max(1.0, num_words))
        return {"log_odds": posterior.log_odds[places[numbers]], "in_context": context}


def measure(
    run: PosteriorRun, drawn: Drawn, diagnosed: Mapping[Posterior, TableRef], texts: Texts, asked: TableRef
) -> Done[MeasureWords]:
    """Distances by classifier, prior and sampler, for which both labels were drawn."""
    positive = [key for key in diagnosed if key.label == "positive" and negative_of(key) in diagnosed]
    chains = {key: drawn[key].pairs[0][0] for key in positive}
    return run.do(
        MeasureWords(
            group="words",
            label=f"classifier {key.seed}, {key.prior}, {key.sampler}",
            posterior=key,
            distance=run.config.distance,
            power=chain.power,
            seed=chain.seed,
            asked=asked.select("number", "status"),
            vocabulary=texts.vocabulary.select("count"),
            words=texts.word_vectors[WHOLE],
            texts=texts.vectors[WHOLE],
            model=chain.model,
            prior=chain.prior,
            positive=drawn[key].refs("vectors"),
            negative=drawn[negative_of(key)].refs("vectors"),
            evidence=evidence_of(drawn, key.seed, key.prior),
        )
        for key, chain in chains.items()
    )


def negative_of(key: Posterior) -> Posterior:
    """The posterior of the other label."""
    return replace(key, label="negative")

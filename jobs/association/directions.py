"""What is measured along the direction of pairs of words, and the analogies that their first pair makes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeVar, cast

import numpy as np

from tiltmeter.jobs.association.config import AssociationConfig, MeasuredRun
from tiltmeter.jobs.association.measures import ANALOGIES, MeasureBias, find_measure, is_along, measure_bias, of_query
from tiltmeter.jobs.association.tables import Analogies, Measures
from tiltmeter.jobs.association.weat import num_needed
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, Vectors
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.association import analogies, exchange
from tiltmeter.operators.association.analogies import answer, generated
from tiltmeter.operators.association.exchange import ExchangeP, Others, direction_p, of_like_frequency
from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.text.wordsets import WordSets, word_lists
from tiltmeter.storage.store.ledger import Store

MOST_DIRECTIONS = 199
"""That are drawn for a p-value."""

LEAST_OTHERS = 20
"""Words that directions are drawn from."""

NUM_ANALOGIES = 20
"""That each model lists."""

_LEAST_WORDS = 4
"""Three that are asked by, and one to answer."""

Measured = TypeVar("Measured", bound=MeasuredRun)
Pair = tuple[str, str]


@dataclass(frozen=True)
class Direction:
    """Pairs of words, words to hold against what they have in common, and all others that are listed, sorted."""

    pairs: tuple[Pair, ...]
    words: tuple[str, ...]
    others: tuple[str, ...]


def directions(wordset: WordSets) -> dict[str, Direction]:
    """Those that the lists of a language give, by the name of the list: of definitional pairs, with professions."""
    lists: dict[str, tuple[tuple[Pair, ...], tuple[str, ...]]] = {}
    if wordset.gender:
        lists["gender"] = wordset.gender.definitional_pairs, wordset.gender.professions
    if survey := wordset.gender_survey:
        forms = chain.from_iterable(forms.words for forms in survey.professions.values())
        lists["gender_survey"] = tuple(pair.words for pair in survey.defining.values()), tuple(dict.fromkeys(forms))
    listed = set(chain.from_iterable(word_lists(wordset).values()))
    return {
        name: Direction(pairs, words, tuple(sorted(listed.difference(words, chain.from_iterable(pairs)))))
        for name, (pairs, words) in lists.items()
        if words
    }


class MeasureDirection(Work, unit="bias_direction/1", stage="measures along directions", makes=[Measures]):
    """One measure of one direction in one model; ``seed``: of the directions that are drawn."""

    model: Vectors
    measure: str
    version: str
    query: str
    direction: Direction
    settings: AssociationConfig
    p_values: str = exchange.VERSION
    seed: int

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def rows(self, store: Store) -> Iterator[Measures]:
        lookup, brought = Lookup(store, self.model.inputs), find_measure(self.measure, self.version)
        key = self.model.key | {"measure": self.measure, "query": self.query}
        yield from measured_along(lookup, key, brought, self.direction, self.settings, self.seed)


def measured_along(
    lookup: Lookup, key: Row, brought: BiasMeasure, direction: Direction, settings: AssociationConfig, seed: int
) -> Iterator[Measures]:
    """The row of a measure along a direction, or one for each of its words.

    Args:
        lookup: the vectors.
        key: the model, its language, the measure and the query.
        brought: the measure.
        direction: its words; what has no vector is left out, of pairs both words.
        settings: how many must be left, and how intervals and p-values are made.
        seed: of directions that are drawn.
    """
    pairs = [pair for pair in direction.pairs if all(word in lookup for word in pair)]
    words, others = lookup.present(direction.words), lookup.present(direction.others)
    null = brought.null.of if isinstance(brought.null, Exchange) else brought.null
    if null == "directions" and len(others) < LEAST_OTHERS:
        null = f"{len(others)} other listed words have a vector, and {LEAST_OTHERS} are needed to draw directions from"
    row = key | {
        "groups": ", ".join(direction.pairs[0]),
        "attributes": "professions",
        "larger": brought.larger,
        "neutral": brought.neutral,
        "null": null,
        "num_words": 2 * len(pairs) + len(words),
        "num_replicas": 0,
        "missing_words": lookup.missing([*chain.from_iterable(direction.pairs), *direction.words]),
    }
    for left, listed, what in ((pairs, direction.pairs, "pairs"), (words, direction.words, "words")):
        needed = num_needed(len(listed), settings)
        if len(left) < needed:
            reason = f"{len(left)} of {len(listed)} {what} are left, and {needed} are needed"
            yield Measures(**row | failed("too_few_words", reason))
            return
    near = _nearest(lookup, words) if brought.takes == "nearest" else []
    labels = [{"word": word, "attributes": other} for word, other in zip(words, near, strict=False)]
    targets = labels if brought.of_words else [{}]
    generator = keyed_generator(seed, Stream.DIRECTIONS, document_key(row["query"]))
    p = partial(_among_directions, lookup, brought, pairs, others, min(settings.num_draws, MOST_DIRECTIONS), generator)
    first, second = zip(*pairs, strict=True)
    yield from of_query(lookup, row, brought, [first, second, words, near], targets, settings, p)


def _nearest(lookup: Lookup, words: Sequence[str]) -> list[str]:
    """The word that is nearest to each in the original, by the cosine."""
    original = lookup(words)[ORIGINAL : ORIGINAL + 1]
    [near] = pairwise(original, original, "cosine")
    np.fill_diagonal(near, -np.inf)
    return [words[place] for place in near.argmax(axis=1)]


def _among_directions(
    lookup: Lookup,
    brought: BiasMeasure,
    pairs: Sequence[Pair],
    others: Sequence[str],
    num_draws: int,
    generator: np.random.Generator,
    original: Groups,
) -> ExchangeP | None:
    if len(others) < LEAST_OTHERS:
        return None
    pool = lookup(others)[ORIGINAL : ORIGINAL + 1].astype(np.float64)
    near = (of_like_frequency(_counts(lookup, side), _counts(lookup, others)) for side in zip(*pairs, strict=True))
    return direction_p(brought, original, cast(Exchange, brought.null), Others(pool, *near), num_draws, generator)


def _counts(lookup: Lookup, words: Sequence[str]) -> FloatArray:
    return np.array([lookup.counts[word] for word in words], dtype=np.float64)


def take_measures(run: Run[Measured, Sources], models: Sequence[Model], config: AssociationConfig) -> Done[MeasureBias]:
    """Take each measure of each query and along each direction of every model, and publish the table ``measures``.

    Returns:
        What was made of the queries.

    Raises:
        UnitsFailed: if no model is whole.
    """
    of_queries = measure_bias(run, models, config)
    works = (
        MeasureDirection(
            group=model.name,
            label=f"{model.name} {query} {measure}",
            model=model.vectors,
            measure=measure,
            version=find_measure(measure).version,
            query=query,
            direction=direction,
            settings=narrowed(AssociationConfig, config),
            seed=run.config.seed,
        )
        for measure in run.config.measures
        if measure != ANALOGIES and is_along(find_measure(measure))
        for model in models
        for query, direction in directions(model.wordset).items()
    )
    along = run.do(works, publish=False)
    run.publish_all({Measures.table_name: [*of_queries.refs(Measures), *along.refs(Measures)]})
    return of_queries


# --- analogies ------------------------------------------------------------------------------------------------------


class GenerateAnalogies(Work, unit=analogies.VERSION, stage="analogies", makes=[Analogies]):
    """Those of one model between all of its listed words, by the first of the pairs that it has."""

    model: Vectors
    query: str
    direction: Direction
    num_analogies: int

    def rows(self, store: Store) -> Iterator[Analogies]:
        lookup, direction = Lookup(store, self.model.inputs), self.direction
        every = [*chain.from_iterable(direction.pairs), *direction.words, *direction.others]
        words, pairs = lookup.present(every), [pair for pair in direction.pairs if all(word in lookup for word in pair)]
        key = self.model.key | {"query": self.query, "num_words": len(words), "num_replicas": lookup.num_replicas}
        if not pairs or len(words) < _LEAST_WORDS:
            lacking = (
                f"{len(pairs)} pairs and {len(words)} listed words have a vector, and 1 and {_LEAST_WORDS} are needed"
            )
            yield Analogies(**key).fail("too_few_words", lacking)
            return
        vectors, (a, b) = lookup(words), (words.index(word) for word in pairs[0])
        made = [generated(embedding, (a, b), self.num_analogies) for embedding in vectors]
        named = [{(one.first, one.second) for one in each} for each in made]
        for rank, one in enumerate(made[ORIGINAL], start=1):
            has_it = lookup.taken_apart(np.array([(one.first, one.second) in each for each in named])).replicas
            reply = answer(vectors[ORIGINAL], a, b, one.first)
            yield Analogies(
                **key,
                seeds=", ".join(pairs[0]),
                first=words[one.first],
                second=words[one.second],
                rank=rank,
                parallel=one.score,
                distance=one.distance,
                share=float(has_it.mean()) if has_it.size else None,
                answer=words[reply.word],
                any_answer=words[reply.any_word],
                input_rank=reply.input_rank,
            )


def generate_analogies(run: Run[Measured, Sources], models: Sequence[Model]) -> None:
    """Publish the table ``analogies``, where any are asked for.

    Raises:
        UnitsFailed: if no model is whole.
    """
    run.do(
        GenerateAnalogies(
            group=model.name,
            label=f"{model.name} {query}",
            model=model.vectors,
            query=query,
            direction=direction,
            num_analogies=NUM_ANALOGIES,
        )
        for model in (models if ANALOGIES in run.config.measures else [])
        for query, direction in _by_first_pair(directions(model.wordset)).items()
    )


def _by_first_pair(lists: Mapping[str, Direction]) -> dict[str, Direction]:
    """Without lists whose first pair is that of one before: they would have its analogies."""
    firsts = [direction.pairs[0] for direction in lists.values()]
    return {name: one for place, (name, one) in enumerate(lists.items()) if one.pairs[0] not in firsts[:place]}

"""Measures of bias: those that are known, and those that packages bring as entry points of ``tiltmeter.measures``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

import numpy as np

from tiltmeter.jobs.association.config import AssociationConfig, MeasuredRun
from tiltmeter.jobs.association.tables import Measures
from tiltmeter.jobs.association.weat import SIDES, chosen_tests, num_needed, unusable
from tiltmeter.jobs.embedding import sources
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, OfReplicas, Vectors
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.association import exchange
from tiltmeter.operators.association.direction_measures import OF_DIRECTIONS
from tiltmeter.operators.association.exchange import ExchangeP, exchange_p
from tiltmeter.operators.association.known_measures import KNOWN
from tiltmeter.operators.association.measures import BiasMeasure, Exchange, Groups
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.text.wordsets import Association, NamedWords
from tiltmeter.storage import extensions
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store

Measured = TypeVar("Measured", bound=MeasuredRun)

GROUP, SETTING = "tiltmeter.measures", "measures"

ANALOGIES = "analogies"
"""Named among measures, and none: see :mod:`.directions`."""


def find_measure(name: str, version: str = "") -> BiasMeasure:
    """The measure of a name, one that is known or is brought; errors as of :func:`.extensions.load`."""
    known = {**KNOWN, **OF_DIRECTIONS}
    return known.get(name) or extensions.load(GROUP, name, BiasMeasure, SETTING, version, known)


def is_along(brought: BiasMeasure) -> bool:
    """Whether a measure is of words along the direction of pairs, and not of an association test."""
    return brought.takes in ("direction", "nearest")


class MeasureBias(Work, unit="bias_measure/2", stage="measures", makes=[Measures]):
    """One measure of one query on one model; ``seed``: of partitions that are drawn."""

    model: Vectors
    measure: str
    version: str
    query: str
    test: Association
    settings: AssociationConfig
    p_values: str = exchange.VERSION
    seed: int

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def rows(self, store: Store) -> Iterator[Measures]:
        lookup, brought = Lookup(store, self.model.inputs), find_measure(self.measure, self.version)
        key = self.model.key | {"measure": self.measure, "query": self.query}
        yield from measured(lookup, key, brought, self.test, self.settings, self.seed)


def measured(
    lookup: Lookup, key: Row, brought: BiasMeasure, test: Association, settings: AssociationConfig, seed: int
) -> Iterator[Measures]:
    """The rows of a measure: one, or one for each set that two others are compared by, or for each target.

    Args:
        lookup: the vectors.
        key: the model, its language, the measure and the query.
        brought: the measure.
        test: the sets of words of the query.
        settings: how many words of a set must be left, and how intervals and p-values are made.
        seed: of partitions that are drawn.

    Raises:
        ValueError: if the measure gives another number of numbers than there are embeddings.
    """
    present = [lookup.present(getattr(test, side).words) for side in SIDES]
    lack = unusable(lookup, test, present, settings)
    for sides in _ROLES[brought.takes]:
        listed = [getattr(test, SIDES[side]) for side in sides]
        words, reason = [present[side] for side in sides], lack
        if brought.in_pairs and not reason:
            words[:2], reason = _pairs(lookup, listed[0], listed[1], settings)
        if not reason and (shared := lookup.shared(*words[:2])):
            reason = failed("same_words", f"the embedding spells {shared} of {listed[0].name} like words of the other")
        row = key | {
            "groups": f"{listed[0].name}, {listed[1].name}",
            "attributes": ", ".join(named.name for named in listed[2:]),
            "larger": brought.larger,
            "neutral": brought.neutral,
            "null": brought.null.of if isinstance(brought.null, Exchange) else brought.null,
            "num_words": sum(map(len, words)),
            "num_replicas": 0,
            "missing_words": lookup.missing([word for named in listed for word in named.words]),
        }
        if reason:
            yield Measures(**row | reason)
        else:
            generator = keyed_generator(seed, Stream.EXCHANGE, document_key(row["query"]))
            # The same query draws the same partitions, whatever else is measured.
            p = partial(_exchanged, brought, settings.num_draws, generator)
            targets = [{"word": word} for word in (*words[0], *words[1])] if brought.of_words else [{}]
            yield from of_query(lookup, row, brought, [*words, []][:4], targets, settings, p)


_ROLES: Mapping[str, Sequence[tuple[int, ...]]] = {
    "both": [(0, 1, 2, 3)],
    "each": [(0, 1, 2), (0, 1, 3), (2, 3, 0), (2, 3, 1)],
}
"""Which two of :data:`.weat.SIDES` are compared, and then by which."""


def _pairs(
    lookup: Lookup, x: NamedWords, y: NamedWords, settings: AssociationConfig
) -> tuple[Sequence[list[str]], Row]:
    """Both words of each pair that is there; or why there are too few."""
    if len(x.words) != len(y.words):
        lengths = f"{x.name} has {len(x.words)} words and {y.name} {len(y.words)}"
        return ([], []), failed("no_pairs", f"{lengths}: a pair is what stands in one place of both")
    pairs = [pair for pair in zip(x.words, y.words, strict=True) if all(word in lookup for word in pair)]
    needed = num_needed(len(x.words), settings)
    if len(pairs) < needed:
        few = f"{len(pairs)} of {len(x.words)} pairs of {x.name} and {y.name} are left, and {needed} are needed"
        return ([], []), failed("too_few_words", few)
    return [list(words) for words in zip(*pairs, strict=True)], {}


def of_query(
    lookup: Lookup,
    row: Row,
    brought: BiasMeasure,
    words: Sequence[Sequence[str]],
    targets: Sequence[Row],
    settings: AssociationConfig,
    p_of: Callable[[Groups], ExchangeP | None],
) -> Iterator[Measures]:
    """The rows of a measure of words that are there.

    Args:
        lookup: the vectors.
        row: what its rows have in common.
        brought: the measure.
        words: of :class:`.measures.Groups`.
        targets: what tells its rows apart, in the order of its numbers.
        settings: how intervals are made.
        p_of: the p-values of the vectors of the original; none of a measure without a null hypothesis.

    Raises:
        ValueError: if the measure gives another number of numbers than there are embeddings.
    """
    groups = Groups(*map(lookup, words))
    values = np.asarray(brought.measure(groups), dtype=np.float64)
    needed = (lookup.num_embeddings, *([len(targets)] if brought.of_words else []))
    if values.shape != needed:
        raise ValueError(
            f"{SETTING}={row['measure']}: gives numbers of shape {list(values.shape)} for {lookup.num_embeddings} "
            f"embeddings, and must give one for each{' and target' if brought.of_words else ''}"
        )
    numbers = values.reshape(len(values), -1)
    p = None
    if isinstance(brought.null, Exchange) and np.isfinite(numbers[ORIGINAL]).all():
        p = p_of(Groups(*(vectors[ORIGINAL : ORIGINAL + 1].astype(np.float64) for vectors in groups)))
    for place, target in enumerate(targets):
        number = OfReplicas(lookup.taken_apart(numbers[:, place]), settings, brought.scale_of(groups))
        cells = _p_cells(p, place) if p else {}
        yield Measures(**row | target | {"value": number} | cells | lookup.basis(numbers[:, place]))


def _p_cells(p: ExchangeP, place: int) -> Row:
    adjusted = float(p.adjusted[place]) if len(p.value) > 1 else None
    cells = {"p_value": float(p.value[place]), "p_max_t": adjusted}
    return cells | {"p_method": p.method, "num_partitions": p.num_partitions}


def _exchanged(brought: BiasMeasure, num_draws: int, generator: np.random.Generator, original: Groups) -> ExchangeP:
    return exchange_p(brought, original, cast(Exchange, brought.null), num_draws, generator)


def find_sources(config: MeasuredRun) -> Sources:
    """As :func:`.embedding.sources.find_sources`.

    Raises:
        InputError: for a measure that is not known, and one along a direction that no word list gives, too.
    """
    wordsets = [config.wordset[language] for language in config.languages if language in config.wordset]
    has_pairs = any(wordset.gender or wordset.gender_survey for wordset in wordsets)
    for name in config.measures:
        if (name == ANALOGIES or is_along(find_measure(name))) and not has_pairs:
            raise InputError(
                f"{SETTING}={name}: is along the direction of pairs of words, and no word list of {config.languages} "
                "has any (gender, or gender_survey): choose one (wordset=[<name>,...]), or leave it out"
            )
    return sources.find_sources(config)


def measure_bias(run: Run[Measured, Sources], models: Sequence[Model], config: AssociationConfig) -> Done[MeasureBias]:
    """The parts of the table ``measures``: each measure of each query on every model.

    Raises:
        UnitsFailed: if no model is whole.
    """
    works = (
        MeasureBias(
            group=model.name,
            label=f"{model.name} {query} {measure}",
            model=model.vectors,
            measure=measure,
            version=find_measure(measure).version,
            query=query,
            test=test,
            settings=narrowed(AssociationConfig, config),
            seed=run.config.seed,
        )
        for measure in run.config.measures
        if measure != ANALOGIES and not is_along(find_measure(measure))
        for model in models
        for query, test in chosen_tests(model.wordset, run.config.tests).items()
    )
    return run.do(works, publish=False)

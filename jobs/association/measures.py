"""Measures of bias that other packages bring, as entry points of the group ``tiltmeter.measures``."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from tiltmeter.jobs.association.config import AssociationConfig, MeasuredRun
from tiltmeter.jobs.association.tables import Measures
from tiltmeter.jobs.association.weat import SIDES, chosen_tests, unusable
from tiltmeter.jobs.embedding import sources
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, OfReplicas, Vectors
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.association.measures import BiasMeasure, Groups
from tiltmeter.operators.text.wordsets import Association
from tiltmeter.storage import extensions
from tiltmeter.storage.store.ledger import Store

Measured = TypeVar("Measured", bound=MeasuredRun)

GROUP, SETTING = "tiltmeter.measures", "measures"


def find_measure(name: str, version: str = "") -> BiasMeasure:
    """The measure of a name; arguments and errors as of :func:`.extensions.load`."""
    return extensions.load(GROUP, name, BiasMeasure, SETTING, version)


class MeasureBias(Work, unit="bias_measure/1", stage="measures", makes=[Measures]):
    """One measure of one query on one model."""

    model: Vectors
    measure: str
    version: str
    query: str
    test: Association
    settings: AssociationConfig

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def rows(self, store: Store) -> Iterator[Measures]:
        lookup, brought = Lookup(store, self.model.inputs), find_measure(self.measure, self.version)
        key = self.model.key | {"measure": self.measure, "query": self.query}
        yield measured(lookup, key, brought, self.test, self.settings)


def measured(
    lookup: Lookup, key: Row, brought: BiasMeasure, test: Association, settings: AssociationConfig
) -> Measures:
    """The row of a measure.

    Args:
        lookup: the vectors.
        key: the model, its language, the measure and the query.
        brought: the measure.
        test: the sets of words of the query.
        settings: how many words of a set must be left, and how intervals are made.

    Raises:
        ValueError: if the measure gives another number of numbers than there are embeddings.
    """
    present = [lookup.present(getattr(test, side).words) for side in SIDES]
    row = Measures(
        **key,
        larger=brought.larger,
        neutral=brought.neutral,
        num_words=sum(map(len, present)),
        num_replicas=0,
        missing_words=lookup.missing([word for side in SIDES for word in getattr(test, side).words]),
    )
    if reason := unusable(lookup, test, present, settings):
        return row.fail(**reason)
    values = np.asarray(brought.measure(Groups(*map(lookup, present))), dtype=np.float64)
    if values.shape != (lookup.num_embeddings,):
        raise ValueError(
            f"{SETTING}={row.measure}: gives numbers of shape {list(values.shape)} for {lookup.num_embeddings} "
            "embeddings, and must give one for each"
        )
    row.value = OfReplicas(lookup.taken_apart(values), settings, brought.scale)
    for column, cell in lookup.basis(values).items():
        setattr(row, column, cell)
    return row


def find_sources(config: MeasuredRun) -> Sources:
    """As :func:`.embedding.sources.find_sources`.

    Raises:
        InputError: for a measure that no package brings, too.
    """
    for name in config.measures:
        find_measure(name)
    return sources.find_sources(config)


def measure_bias(run: Run[Measured, Sources], models: Sequence[Model], config: AssociationConfig) -> None:
    """Take each measure of each query on every model, and publish the table ``measures``.

    Raises:
        UnitsFailed: if no model is whole.
    """
    run.do(
        MeasureBias(
            group=model.name,
            label=f"{model.name} {query} {measure}",
            model=model.vectors,
            measure=measure,
            version=find_measure(measure).version,
            query=query,
            test=test,
            settings=narrowed(AssociationConfig, config),
        )
        for measure in run.config.measures
        for model in models
        for query, test in chosen_tests(model.wordset, run.config.tests).items()
    )

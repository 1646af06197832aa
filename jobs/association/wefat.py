"""Word association tests (WEFAT) of the occupations, held against the share of women in them."""

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.tables import Validation, WordAssociations
from tiltmeter.jobs.association.weat import num_needed
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, OfReplicas, Vectors, missing_words
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.jobs.runtime.work import Work, do
from tiltmeter.operators.association import scores as association
from tiltmeter.operators.association.scores import effect_scale, wefat
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics import correlation as correlations
from tiltmeter.operators.statistics.correlation import Kind, correlation, replicated
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, IntervalSettings
from tiltmeter.operators.statistics.replicas import Replicated
from tiltmeter.operators.text.wordsets import Occupations, Wefat
from tiltmeter.storage.store.ledger import Store, TableRef

_MIN_OCCUPATIONS = 3


_MAKES = (WordAssociations, Validation)


class AssociateWords(Work, unit=f"word_{association.VERSION}", stage="word associations", makes=_MAKES):
    """One test of all occupations on one model."""

    model: Vectors
    test_name: str
    test: Wefat
    occupations: Occupations
    settings: AssociationConfig
    correlation: str = correlations.VERSION

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def rows(self, store: Store) -> Iterator[WordAssociations | Validation]:
        lookup = Lookup(store, self.model.inputs)
        for similarity in self.settings.similarities:
            if similarity != "mahalanobis":
                key = self.model.key | {"test": self.test_name, "similarity": similarity}
                yield from associate_words(lookup, key, self.test, self.occupations, similarity, self.settings)


def associate_words(
    lookup: Lookup, key: Row, test: Wefat, occupations: Occupations, similarity: Measure, config: AssociationConfig
) -> Iterator[WordAssociations | Validation]:
    """A row for each occupation, and how they go with the share of women."""
    percents, ddof = occupations.percent_women, config.ddof
    a, b = (lookup.present(named.words) for named in (test.attribute_a, test.attribute_b))
    lack, words = _too_few(test, a, b, config), list(percents)
    effects, scale = np.full((lookup.num_embeddings, len(words)), np.nan), LINEAR
    if not lack:
        to_a, to_b = (pairwise(lookup(words), lookup(side), similarity) for side in (a, b))
        effects, scale = wefat(to_a, to_b, similarity, ddof), effect_scale(len(a), len(b), ddof)
    for index, (word, percent) in enumerate(percents.items()):
        row = {
            "attribute_a": test.attribute_a.name,
            "attribute_b": test.attribute_b.name,
            "word": word,
            "effect_size": OfReplicas(lookup.taken_apart(effects[:, index]), config, scale),
            "ddof": ddof,
            "percent_women": percent,
            "num_attributes": len(a) + len(b),
            "num_replicas": 0,
        }
        verdict = lack or (lookup.basis(effects[:, index]) if word in lookup else missing_words([word]))
        yield WordAssociations(**key | row | verdict)
    women = np.array(list(percents.values())) / 100.0
    against = key | {"measure": "wefat", "against": "share_women"}
    validation = validated(against, lookup.taken_apart(effects), women, config)
    yield validation.fail(**lack) if lack else validation


def _too_few(test: Wefat, a: Sequence[str], b: Sequence[str], config: AssociationConfig) -> Row:
    """Why the attributes that are left are too few; empty if they are enough."""
    for named_words, words in ((test.attribute_a, a), (test.attribute_b, b)):
        needed = num_needed(len(named_words.words), config)
        if len(words) < needed:
            left = f"{named_words.name} has {len(words)} of its {len(named_words.words)} words left"
            return failed("too_few_words", f"{left}, and needs {needed}")
    return {}


def validated(
    key: Row,
    values: NDArray[np.float64] | Replicated,
    against: NDArray[np.float64] | Replicated,
    intervals: IntervalSettings,
) -> Validation:
    """Both correlations over occupations.

    Args:
        key: ``measure``, ``against`` and the other columns that identify the row; those that are missing are null.
        values: ``[occupations]``, the point estimates, or with those of each embedding ``[embeddings, occupations]``,
            from which intervals come; NaN where an occupation has none.
        against: the same of the other side, or ``[occupations]`` where it is the same in all embeddings.
        intervals: how they are made.
    """
    result = correlation(_original(values), _original(against))
    row: Row = dict.fromkeys(("test", "cue_1", "cue_2", "similarity")) | key | result._asdict()
    row["num_occupations"] = row.pop("num")
    if isinstance(values, Replicated):
        kinds: tuple[Kind, ...] = ("pearson", "spearman")
        row |= {kind: _of_replicas(row[kind], kind, values, against, intervals) for kind in kinds}
    validation = Validation(**row)
    if result.num < _MIN_OCCUPATIONS:
        few = f"{result.num} occupations have both, {_MIN_OCCUPATIONS} are needed"
        return validation.fail("too_few_occupations", few)
    if np.isnan(result.pearson):
        return validation.fail("constant", "all occupations have the same value on one side")
    return validation


def _original(values: NDArray[np.float64] | Replicated) -> NDArray[np.float64]:
    return values.original if isinstance(values, Replicated) else values


def _of_replicas(
    value: float, kind: Kind, values: Replicated, against: NDArray[np.float64] | Replicated, intervals: IntervalSettings
) -> OfReplicas:
    other = against if isinstance(against, Replicated) else Replicated(against, against, against)
    replicas, starts = (
        replicated(getattr(values, part), getattr(other, part), kind) for part in ("replicas", "starts")
    )
    return OfReplicas(Replicated(np.array(value), replicas, starts), intervals, FISHER)


def measure_words(
    runner: Runner, models: Sequence[Model], config: AssociationConfig, tests: Sequence[str] | None
) -> dict[str, list[TableRef]]:
    """The tables ``word_associations`` and ``validation``, a part for each model and test; empty without tests.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(AssociationConfig, config)
    # One covariance for each attribute set leaves no common scale for the spread over both, which WEFAT divides by.
    measurable = any(similarity != "mahalanobis" for similarity in config.similarities)
    works = (
        AssociateWords(
            group=model.name,
            label=f"{model.name} {name}",
            model=model.vectors,
            test_name=name,
            test=test,
            occupations=cast(Occupations, model.wordset.occupations),
            settings=config,
        )
        for model in models
        for name, test in model.wordset.wefats.items()
        if measurable and (tests is None or name in tests)
    )
    done = do(runner, works)
    return {table.table_name: done.refs(table) for table in _MAKES}

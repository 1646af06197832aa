"""Association tests of groups of words (WEAT): covariances, one unit for each test, and their summary."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.tables import Associations, AssociationSummary
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, OfReplicas, Vectors
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.jobs.runtime.work import Work, do
from tiltmeter.operators.association import covariance
from tiltmeter.operators.association import scores as association
from tiltmeter.operators.association.covariance import Estimator, precision
from tiltmeter.operators.association.scores import Statistic, associations, effect_scale, effect_size, weat_score
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics.partitions import permutation
from tiltmeter.operators.statistics.partitions.permutation import MAX_WORDS, monte_carlo_p_value, permutation_p_value
from tiltmeter.operators.text.wordsets import Association, WordSets
from tiltmeter.storage.store.ledger import Store, TableRef

SIDES = ("target_x", "target_y", "attribute_a", "attribute_b")

Words = tuple[str, ...]
_Scores = NDArray[np.float64]


# --- what is asked --------------------------------------------------------------------------------------------------


def chosen_tests(wordset: WordSets, tests: Sequence[str] | None) -> dict[str, Association]:
    """The association tests of a word set by name: all, or those asked for, in the order they are asked for."""
    names = wordset.associations if tests is None else [name for name in tests if name in wordset.associations]
    return {name: wordset.associations[name] for name in names}


def listed_words(wordset: WordSets, tests: Sequence[str] | None) -> list[str]:
    """Every word of the chosen tests."""
    chosen = chosen_tests(wordset, tests).values()
    return [word for test in chosen for side in SIDES for word in getattr(test, side).words]


def attribute_sets(wordset: WordSets, config: AssociationConfig) -> tuple[Words, ...]:
    """The attribute sets whose covariance is needed, of all tests: another choice finds the same neighbours."""
    if "mahalanobis" not in config.similarities:
        return ()
    return tuple(sorted({words for test in wordset.associations.values() for words in _attributes(test)}))


def _attributes(test: Association) -> tuple[Words, Words]:
    """Both attribute sets, each sorted."""
    a, b = (tuple(sorted(named.words)) for named in (test.attribute_a, test.attribute_b))
    return a, b


def num_needed(num_words: int, config: AssociationConfig) -> int:
    """Words that must be left of a set of so many."""
    # The product of a share such as 0.28 and 25 may lie a rounding error above 7.
    return max(config.min_words, math.ceil(config.min_share * num_words - 1e-9))


# --- covariances, for the Mahalanobis distance ----------------------------------------------------------------------


class EstimatePrecision(Work, unit=covariance.VERSION, stage="covariances"):
    """The rows of an attribute set's precision matrix in one embedding, or a row with the reason why there is none."""

    number: int
    estimator: Estimator
    neighbours: TableRef

    def tables(self, store: Store) -> Tables:
        table = store.read(self.neighbours)
        vectors = matrix(table.filter(pc.equal(table["set"], self.number))["vector"])
        try:
            rows = precision(vectors, self.estimator)
        except (ValueError, ArithmeticError) as error:
            nothing = pa.nulls(1, pa.list_(pa.float64(), vectors.shape[1]))
            yield "precision", pa.table({"row": nothing, "problem": [str(error)]})
        else:
            yield "precision", pa.table({"row": vector_column(rows), "problem": [""] * len(rows)})


class Precisions(NamedTuple):
    """Of both attribute sets, ``[embeddings, dims, dims]``, NaN where there is none, and why the original has none."""

    of_a: NDArray[np.float64] | None = None
    of_b: NDArray[np.float64] | None = None
    problem: str = ""


_NO_PRECISIONS = Precisions()


def _read_precisions(store: Store, refs: Sequence[TableRef]) -> Precisions:
    """Of attributes A in the original and each replica, and then of B; none if no covariance is needed."""
    if not refs:
        return _NO_PRECISIONS
    parts, half = [store.read(ref) for ref in refs], len(refs) // 2
    dims = parts[0].schema.field("row").type.list_size
    missing = np.full((dims, dims), np.nan)
    problems = [table["problem"][0].as_py() for table in parts]
    matrices = [missing if problem else matrix(part["row"]) for part, problem in zip(parts, problems, strict=True)]
    return Precisions(np.stack(matrices[:half]), np.stack(matrices[half:]), problems[ORIGINAL] or problems[half])


# --- tests ----------------------------------------------------------------------------------------------------------


class Associate(Work, unit=association.VERSION, stage="association tests", makes=[Associations]):
    """One test on one model, by every measure of similarity and statistic; ``seed``: of Monte Carlo p-values."""

    model: Vectors
    test_name: str
    test: Association
    settings: AssociationConfig
    p_values: str = permutation.VERSION
    seed: int | None = None
    precisions: Sequence[TableRef]

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def rows(self, store: Store) -> Iterator[Associations]:
        lookup, precisions = Lookup(store, self.model.inputs), _read_precisions(store, self.precisions)
        return associate(lookup, self.model.key, self.test_name, self.test, self.settings, precisions, self.seed)


def associate(
    lookup: Lookup,
    key: Row,
    name: str,
    test: Association,
    config: AssociationConfig,
    precisions: Precisions = _NO_PRECISIONS,
    seed: int | None = None,
) -> Iterator[Associations]:
    """A row for every measure of similarity and statistic.

    Args:
        lookup: the vectors.
        key: which model they are of.
        name: of the test.
        test: its word sets.
        config: how it is made.
        precisions: for the Mahalanobis distance.
        seed: for Monte Carlo p-values.
    """
    sets = [getattr(test, side).words for side in SIDES]
    present = [lookup.present(words) for words in sets]
    same = key | {
        "test": name,
        **{side: getattr(test, side).name for side in SIDES},
        "ddof": config.ddof,
        "alternative": config.alternative,
        "num_targets": len(present[0]) + len(present[1]),
        "num_attributes": len(present[2]) + len(present[3]),
        "missing_words": lookup.missing([word for words in sets for word in words]),
    }
    if reason := unusable(lookup, test, present, config):
        for similarity, statistic in product(config.similarities, config.statistics):
            yield Associations(**same, **_method(similarity, statistic, config), num_replicas=0, **reason)
        return
    for row, scores in _sweep(lookup, present, config, precisions):
        yield Associations(**same | row | _p_value(scores, len(present[0]), name, config, seed))


def unusable(lookup: Lookup, test: Association, present: Sequence[list[str]], config: AssociationConfig) -> Row:
    """Why the words that are left can't be tested; empty if they can."""
    for side, words in zip(SIDES, present, strict=True):
        listed = getattr(test, side)
        needed = num_needed(len(listed.words), config)
        if len(words) < needed:
            left = f"{side} ({listed.name}) has {len(words)} of its {len(listed.words)} words left"
            return failed("too_few_words", f"{left}, and needs {needed}")
    if shared := lookup.shared(present[0], present[1]):
        return failed("same_words", f"the embedding spells {shared} of target_x like words of target_y")
    return {}


def _sweep(
    lookup: Lookup, present: Sequence[Sequence[str]], config: AssociationConfig, precisions: Precisions
) -> Iterator[tuple[Row, _Scores]]:
    """What every measure of similarity and statistic gives, with the original's associations ``[targets]``."""
    x, y, a, b = present
    targets, to_a, to_b = lookup([*x, *y]), lookup(a), lookup(b)
    for similarity in config.similarities:
        near = precisions if similarity == "mahalanobis" else _NO_PRECISIONS
        near_a = pairwise(targets, to_a, similarity, near.of_a)
        near_b = pairwise(targets, to_b, similarity, near.of_b)
        for statistic in config.statistics:
            scores = associations(near_a, near_b, statistic, similarity)
            row = {**_method(similarity, statistic, config), **_result(lookup, scores, len(x), config)}
            yield row | (failed("no_covariance", near.problem) if near.problem else {}), scores[ORIGINAL]


def _method(similarity: Measure, statistic: Statistic, config: AssociationConfig) -> Row:
    covariance = config.covariance if similarity == "mahalanobis" else None
    return {"similarity": similarity, "statistic": statistic, "covariance": covariance}


def _result(lookup: Lookup, scores: _Scores, num_x: int, config: AssociationConfig) -> Row:
    effects = effect_size(scores, num_x, config.ddof)
    scale = effect_scale(num_x, scores.shape[1] - num_x, config.ddof)
    row = {
        "score": OfReplicas(lookup.taken_apart(weat_score(scores, num_x)), config),
        "effect_size": OfReplicas(lookup.taken_apart(effects), config, scale),
        "absolute_effect_size": abs(float(effects[ORIGINAL])),
        **lookup.basis(effects),
    }
    if np.isfinite(scores[ORIGINAL]).all() and np.isnan(effects[ORIGINAL]):
        row |= failed("no_spread", "all target words are associated alike, so there is no effect size")
    return row


def _p_value(scores: _Scores, num_x: int, name: str, config: AssociationConfig, seed: int | None) -> Row:
    if not np.isfinite(scores).all():
        return {}
    most = MAX_WORDS[config.p_value]
    if scores.size > most:
        advice = "draw some instead (job.p_value=monte_carlo)" if config.p_value == "certified" else "take fewer"
        return failed("too_many_words", f"the partitions of over {most} targets are too many for a p-value: {advice}")
    x, y = scores[:num_x], scores[num_x:]
    if config.p_value == "monte_carlo":
        # The same test draws the same partitions, whatever else is measured.
        key = document_key(name)
        p = monte_carlo_p_value(x, y, config.num_draws, cast(int, seed), key, config.alternative)
    else:
        p = permutation_p_value(x, y, config.relative_width, config.alternative)
    names = ("p_value", "p_low", "p_high", "p_method", "p_standard_error")
    return dict(zip(names, p, strict=True))


class Summarise(Work, unit="association_summary/1", stage="summary", makes=[AssociationSummary]):
    """Table 3 of Azarpanah and Farhadloo 2021, of one model."""

    significance: float
    associations: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        measured = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.associations])
        is_ok = pl.col("status") == "ok"
        effect, size = (pl.col(name).filter(is_ok) for name in ("effect_size", "absolute_effect_size"))
        summary = measured.group_by("model", "language", "similarity", "statistic", maintain_order=True).agg(
            is_ok.sum().alias("num_tests"),
            (is_ok & (pl.col("p_value") < self.significance)).sum().alias("num_significant"),
            pl.lit(self.significance).alias("significance"),
            effect.mean().alias("mean_effect_size"),
            effect.std().alias("sd_effect_size"),
            size.mean().alias("mean_absolute_effect_size"),
            size.std().alias("sd_absolute_effect_size"),
            pl.col("ddof").first(),
        )
        schema = AssociationSummary.schema()
        yield AssociationSummary.table_name, summary.select(schema.names).to_arrow().cast(schema)


# --- the stages -----------------------------------------------------------------------------------------------------


def measure_associations(
    runner: Runner, models: Sequence[Model], config: AssociationConfig, tests: Sequence[str] | None, seed: int
) -> dict[str, list[TableRef]]:
    """The tables ``associations`` and ``association_summary``, a part for each model.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(AssociationConfig, config)
    chosen = {model.name: chosen_tests(model.wordset, tests) for model in models}
    precisions = _precisions(runner, models, chosen, config)
    tested = do(
        runner,
        (
            Associate(
                group=model.name,
                label=f"{model.name} {name}",
                model=model.vectors,
                test_name=name,
                test=test,
                settings=config,
                seed=seed if config.p_value == "monte_carlo" else None,
                precisions=[ref for words in _attributes(test) for ref in precisions.get((model.name, words), ())],
            )
            for model in models
            for name, test in chosen[model.name].items()
        ),
    )
    summaries = (
        Summarise(group=name, label=name, significance=config.significance, associations=done.refs(Associations))
        for name, done in tested.groups.items()
    )
    summed = do(runner, summaries, in_driver=True)
    return {"associations": tested.refs(Associations), "association_summary": summed.refs(AssociationSummary)}


def _precisions(
    runner: Runner, models: Sequence[Model], chosen: Mapping[str, Mapping[str, Association]], config: AssociationConfig
) -> dict[tuple[str, Words], list[TableRef]]:
    """By model and attribute set, of every embedding in the order of the model's vectors."""
    needed = {name: {words for test in tests.values() for words in _attributes(test)} for name, tests in chosen.items()}
    done = do(
        runner,
        (
            EstimatePrecision(
                group=model.name,
                label=f"{model.name} replica {replica} {', '.join(words[:2])}...",
                number=number,
                estimator=config.covariance,
                neighbours=neighbours,
            )
            for model in models
            for number, words in enumerate(model.attribute_sets)
            if words in needed[model.name]
            for replica, neighbours in enumerate(model.neighbours)
        ),
    )
    sets = {model.name: model.attribute_sets for model in models}
    refs: dict[tuple[str, Words], list[TableRef]] = {}
    for work, unit in done.pairs:
        refs.setdefault((work.group, sets[work.group][work.number]), []).append(unit.tables["precision"])
    return refs

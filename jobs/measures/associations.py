"""Association tests on models: each test with every measure of similarity and statistic, in a unit of its own."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Annotated, Literal, NamedTuple, cast

import numpy as np
import polars as pl
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from cluster.stages import Runner, Stage
from cluster.workers import Tables, each
from jobs.measures import tables
from jobs.measures.covariances import PrecisionTables, covariances, read_precisions
from jobs.measures.lookup import Lookup, Row, failed, narrowed, table_of
from jobs.models import Model
from operators import association, permutation
from operators.association import Statistic, associations, effect_size, weat_score
from operators.bootstrap import ORIGINAL, document_key
from operators.covariance import Estimator
from operators.permutation import monte_carlo_p_value, permutation_p_value
from operators.similarity import Measure, pairwise
from operators.wordsets import Association, WordSets
from storage.ledger import Store, TableRef, Unit

_SIDES = ("target_x", "target_y", "attribute_a", "attribute_b")


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AssociationConfig:
    """How association tests are made.

    Attributes:
        similarities: measures between words.
        statistics: what is taken over the words of an attribute set.
        ddof: 1 for the sample standard deviation in effect sizes (as published), 0 for the population's.
        level: coverage of the intervals over replicas.
        significance: p-values below it count as significant in summaries.
        p_value: ``certified`` counts partitions and gives bounds that hold; ``monte_carlo`` draws some.
        relative_width: of certified bounds, at most.
        num_draws: of a Monte Carlo p-value.
        min_words: a word set with fewer words left is too small for a test.
        min_share: a word set of which a smaller share is left is too small for a test.
        covariance: how that of an attribute set is estimated for the Mahalanobis distance; ``graphical_lasso`` as in
            the paper, with an l1 penalty chosen by 3-fold cross-validation.
        num_neighbours: nearest neighbours of each attribute word by which the set is enlarged for that.
    """

    similarities: Annotated[tuple[Measure, ...], Field(min_length=1)] = ("cosine",)
    statistics: Annotated[tuple[Statistic, ...], Field(min_length=1)] = ("mean",)
    ddof: Annotated[int, Field(ge=0, le=1)] = 1
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    significance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    p_value: Literal["certified", "monte_carlo"] = "certified"
    relative_width: Annotated[float, Field(gt=0, lt=1)] = 0.005
    num_draws: Annotated[int, Field(ge=1)] = 10_000
    min_words: Annotated[int, Field(ge=1)] = 2
    min_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    covariance: Estimator = "shrinkage"
    num_neighbours: Annotated[int, Field(ge=1)] = 20


def chosen_tests(wordset: WordSets, tests: Sequence[str] | None) -> dict[str, Association]:
    """The association tests of a word set by name: all, or those asked for, in this order."""
    names = wordset.associations if tests is None else [name for name in tests if name in wordset.associations]
    return {name: wordset.associations[name] for name in names}


def listed_words(wordset: WordSets, tests: Sequence[str] | None) -> list[str]:
    """Every word of the chosen tests."""
    chosen = chosen_tests(wordset, tests).values()
    return [word for test in chosen for side in _SIDES for word in getattr(test, side).words]


def attribute_sets(
    wordset: WordSets, config: AssociationConfig, tests: Sequence[str] | None
) -> tuple[tuple[str, ...], ...]:
    """The attribute sets whose covariance the chosen tests need, each sorted."""
    if "mahalanobis" not in config.similarities:
        return ()
    chosen = chosen_tests(wordset, tests).values()
    return tuple(sorted({tuple(sorted(getattr(test, side).words)) for test in chosen for side in _SIDES[2:]}))


def measure_associations(
    runner: Runner, models: Sequence[Model], config: AssociationConfig, tests: Sequence[str] | None, seed: int
) -> dict[str, list[TableRef]]:
    """The tables ``associations`` and ``association_summary``, a part for each model.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(AssociationConfig, config)
    precisions = covariances(runner, models, config.covariance)
    units = {model.name: _units(model, config, tests, seed, precisions.get(model.name, {})) for model in models}
    done = runner.run_whole(Stage("association tests", each(_measure_test), units))
    measured = {name: [unit.tables["associations"] for unit in finished] for name, finished in done.items()}
    summaries = {
        model.name: [_summary_unit(model, measured[model.name], config)] for model in models if model.name in measured
    }
    reduced = runner.run_whole(Stage("summary", each(_summarise), summaries))
    return {
        "associations": [ref for refs in measured.values() for ref in refs],
        "association_summary": [unit.tables["association_summary"] for [unit] in reduced.values()],
    }


def _units(
    model: Model,
    config: AssociationConfig,
    tests: Sequence[str] | None,
    seed: int,
    precisions: PrecisionTables,
) -> list[Unit]:
    vectors = [ref.select("word", "count", "vector") for ref in model.vectors]
    draws = {"seed": seed} if config.p_value == "monte_carlo" else {}
    same = {"model": model.name, "language": model.language, "config": config, "p_values": permutation.VERSION, **draws}
    return [
        Unit(
            association.VERSION,
            f"{model.name} {name}",
            same | {"name": name, "test": test},
            {"vectors": vectors}
            | {side: precisions.get(tuple(sorted(getattr(test, side).words)), ()) for side in _SIDES[2:]},
        )
        for name, test in chosen_tests(model.wordset, tests).items()
    ]


# --- one test -------------------------------------------------------------------------------------------------------


class Precisions(NamedTuple):
    """Of both attribute sets, ``[1 + replicas, dims, dims]``, or why there are none."""

    of_a: NDArray[np.float64] | None
    of_b: NDArray[np.float64] | None
    problem: str


def _measure_test(store: Store, unit: Unit) -> Tables:
    config: AssociationConfig = unit.config["config"]
    lookup = Lookup(store, unit.inputs["vectors"])
    precisions = None
    if "mahalanobis" in config.similarities:
        (of_a, problem_a), (of_b, problem_b) = (read_precisions(store, unit.inputs[side]) for side in _SIDES[2:])
        precisions = Precisions(of_a, of_b, problem_a or problem_b)
    rows = associate(lookup, unit.config["name"], unit.config["test"], config, precisions, unit.config.get("seed"))
    of = {key: unit.config[key] for key in ("model", "language")}
    yield "associations", table_of([of | row for row in rows], tables.ASSOCIATIONS)


def associate(
    lookup: Lookup,
    name: str,
    test: Association,
    config: AssociationConfig,
    precisions: Precisions | None = None,
    seed: int | None = None,
) -> list[Row]:
    """A row for every measure of similarity and statistic.

    Args:
        lookup: the vectors.
        name: of the test.
        test: its word sets.
        config: how it is made.
        precisions: for the Mahalanobis distance.
        seed: for Monte Carlo p-values.
    """
    sets = [getattr(test, side).words for side in _SIDES]
    present = [lookup.present(words) for words in sets]
    row = {
        "test": name,
        **{side: getattr(test, side).name for side in _SIDES},
        "ddof": config.ddof,
        "num_targets": len(present[0]) + len(present[1]),
        "num_attributes": len(present[2]) + len(present[3]),
        "missing_words": lookup.missing([word for words in sets for word in words]),
    }
    reason = _too_small(test, present, config)
    found = _without_result(config, reason) if reason else _sweep(lookup, present, config, precisions)
    return [row | measured | _p_value(scores, len(present[0]), name, config, seed) for measured, scores in found]


def _too_small(test: Association, present: Sequence[Sequence[str]], config: AssociationConfig) -> str:
    """Why the words that are left are too few; empty if they are enough."""
    for side, words in zip(_SIDES, present, strict=True):
        listed = getattr(test, side)
        needed = max(config.min_words, math.ceil(config.min_share * len(listed.words)))
        if len(words) < needed:
            return f"{side} ({listed.name}) has {len(words)} of its {len(listed.words)} words left, and needs {needed}"
    return ""


_Scores = NDArray[np.float64]


def _without_result(config: AssociationConfig, reason: str) -> Iterator[tuple[Row, _Scores]]:
    for similarity, statistic in product(config.similarities, config.statistics):
        row = {"similarity": similarity, "statistic": statistic, "num_replicas": 0}
        yield row | failed("too_few_words", reason), np.array([np.nan])


def _sweep(
    lookup: Lookup, present: Sequence[Sequence[str]], config: AssociationConfig, precisions: Precisions | None
) -> Iterator[tuple[Row, _Scores]]:
    """A row for every measure of similarity and statistic, with the original's associations ``[targets]``."""
    x, y, a, b = present
    targets, to_a, to_b = lookup([*x, *y]), lookup(a), lookup(b)
    for similarity in config.similarities:
        near = precisions if similarity == "mahalanobis" and precisions else Precisions(None, None, "")
        near_a = pairwise(targets, to_a, similarity, near.of_a)
        near_b = pairwise(targets, to_b, similarity, near.of_b)
        for statistic in config.statistics:
            scores = associations(near_a, near_b, statistic, similarity)
            row = {"similarity": similarity, "statistic": statistic, **_result(lookup, scores, len(x), config)}
            yield row | (failed("no_covariance", near.problem) if near.problem else {}), scores[ORIGINAL]


def _result(lookup: Lookup, scores: _Scores, num_x: int, config: AssociationConfig) -> Row:
    effects = effect_size(scores, num_x, config.ddof)
    row = {
        **lookup.estimate("score", weat_score(scores, num_x), config.level),
        **lookup.estimate("effect_size", effects, config.level),
        "absolute_effect_size": abs(float(effects[ORIGINAL])),
        **lookup.basis(effects),
    }
    if np.isnan(effects[ORIGINAL]):
        row |= failed("no_spread", "all target words are associated alike, so there is no effect size")
    return row


def _p_value(scores: _Scores, num_x: int, name: str, config: AssociationConfig, seed: int | None) -> Row:
    if not np.isfinite(scores).all():
        return {}
    x, y = scores[:num_x], scores[num_x:]
    if config.p_value == "monte_carlo":
        # The same test draws the same partitions, whatever else is measured.
        p = monte_carlo_p_value(x, y, config.num_draws, cast(int, seed), document_key(name))
    else:
        p = permutation_p_value(x, y, config.relative_width)
    names = ("p_value", "p_low", "p_high", "p_method", "p_standard_error")
    return dict(zip(names, p, strict=True))


# --- over the tests of a model --------------------------------------------------------------------------------------


def _summary_unit(model: Model, measured: Sequence[TableRef], config: AssociationConfig) -> Unit:
    same = {"significance": config.significance}
    return Unit("association_summary/1", model.name, same, {"associations": measured})


def _summarise(store: Store, unit: Unit) -> Tables:
    """Table 3 of Azarpanah and Farhadloo 2021."""
    measured = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["associations"]])
    found = pl.col("status") == "ok"
    effect, size = (pl.col(name).filter(found) for name in ("effect_size", "absolute_effect_size"))
    significance = unit.config["significance"]
    summary = measured.group_by("model", "language", "similarity", "statistic", maintain_order=True).agg(
        found.sum().alias("num_tests"),
        (found & (pl.col("p_value") < significance)).sum().alias("num_significant"),
        pl.lit(significance).alias("significance"),
        effect.mean().alias("mean_effect_size"),
        effect.std().alias("sd_effect_size"),
        size.mean().alias("mean_absolute_effect_size"),
        size.std().alias("sd_absolute_effect_size"),
        pl.col("ddof").first(),
    )
    schema = tables.ASSOCIATION_SUMMARY
    yield "association_summary", summary.select(schema.names).to_arrow().cast(schema)

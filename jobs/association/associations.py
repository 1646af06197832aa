"""Association tests on models, each test in a unit of its own, and their summary."""

from collections.abc import Mapping, Sequence

import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.association import tables
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.covariances import PrecisionTables, covariances, read_precisions
from tiltmeter.jobs.association.rows import SIDES, Precisions, associate
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup
from tiltmeter.jobs.embedding.models import Model, whole
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.operators.association import scores as association
from tiltmeter.operators.statistics.partitions import permutation
from tiltmeter.operators.text.wordsets import Association, WordSets
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def chosen_tests(wordset: WordSets, tests: Sequence[str] | None) -> dict[str, Association]:
    """The association tests of a word set by name: all, or those asked for, in the order they are asked for."""
    names = wordset.associations if tests is None else [name for name in tests if name in wordset.associations]
    return {name: wordset.associations[name] for name in names}


def listed_words(wordset: WordSets, tests: Sequence[str] | None) -> list[str]:
    """Every word of the chosen tests."""
    chosen = chosen_tests(wordset, tests).values()
    return [word for test in chosen for side in SIDES for word in getattr(test, side).words]


def attribute_sets(wordset: WordSets, config: AssociationConfig) -> tuple[tuple[str, ...], ...]:
    """The attribute sets whose covariance is needed, of all tests: another choice finds the same neighbours."""
    if "mahalanobis" not in config.similarities:
        return ()
    return tuple(sorted({words for test in wordset.associations.values() for words in _attributes(test)}))


def _attributes(test: Association) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both attribute sets, each sorted."""
    a, b = (tuple(sorted(named.words)) for named in (test.attribute_a, test.attribute_b))
    return a, b


def measure_associations(
    runner: Runner, models: Sequence[Model], config: AssociationConfig, tests: Sequence[str] | None, seed: int
) -> dict[str, list[TableRef]]:
    """The tables ``associations`` and ``association_summary``, a part for each model.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(AssociationConfig, config)
    chosen = {model.name: chosen_tests(model.wordset, tests) for model in models}
    models = [model for model in whole(runner, models) if chosen[model.name]]
    if not models:
        return {}
    needed = {
        name: {words for test in associations.values() for words in _attributes(test)}
        for name, associations in chosen.items()
    }
    precisions = covariances(runner, models, needed, config.covariance)
    units = {
        model.name: _units(model, chosen[model.name], config, seed, precisions.get(model.name, {}))
        for model in whole(runner, models)
    }
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
    tests: Mapping[str, Association],
    config: AssociationConfig,
    seed: int,
    precisions: PrecisionTables,
) -> list[Unit]:
    draws = {"seed": seed} if config.p_value == "monte_carlo" else {}
    same = {"model": model.name, "language": model.language, "config": config, "p_values": permutation.VERSION, **draws}
    same["draws"] = model.vectors.scheme
    return [
        Unit(
            association.VERSION,
            f"{model.name} {name}",
            same | {"name": name, "test": test},
            {**model.vectors.inputs} | {"precisions": _precisions_of(test, precisions)},
        )
        for name, test in tests.items()
    ]


def _precisions_of(test: Association, precisions: PrecisionTables) -> list[TableRef]:
    """Of attributes A in the original and each replica, and then of B; none if no covariance is needed."""
    return [ref for words in _attributes(test) for ref in precisions.get(words, ())]


def _measure_test(store: Store, unit: Unit) -> Tables:
    config: AssociationConfig = unit.config["config"]
    lookup = Lookup(store, unit.inputs)
    precisions = None
    if refs := unit.inputs["precisions"]:
        half = len(refs) // 2
        first, first_problem = read_precisions(store, refs[:half])
        second, second_problem = read_precisions(store, refs[half:])
        precisions = Precisions(first, second, first_problem or second_problem)
    rows = associate(lookup, unit.config["name"], unit.config["test"], config, precisions, unit.config.get("seed"))
    key = {name: unit.config[name] for name in ("model", "language")}
    yield from with_draws(
        {"associations": ([key | row for row in rows], tables.Associations.schema())}, unit.config["draws"]
    )


def _summary_unit(model: Model, measured: Sequence[TableRef], config: AssociationConfig) -> Unit:
    same = {"significance": config.significance}
    return Unit("association_summary/1", model.name, same, {"associations": measured})


def _summarise(store: Store, unit: Unit) -> Tables:
    """Table 3 of Azarpanah and Farhadloo 2021."""
    measured = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["associations"]])
    is_ok = pl.col("status") == "ok"
    effect, size = (pl.col(name).filter(is_ok) for name in ("effect_size", "absolute_effect_size"))
    significance = unit.config["significance"]
    summary = measured.group_by("model", "language", "similarity", "statistic", maintain_order=True).agg(
        is_ok.sum().alias("num_tests"),
        (is_ok & (pl.col("p_value") < significance)).sum().alias("num_significant"),
        pl.lit(significance).alias("significance"),
        effect.mean().alias("mean_effect_size"),
        effect.std().alias("sd_effect_size"),
        size.mean().alias("mean_absolute_effect_size"),
        size.std().alias("sd_absolute_effect_size"),
        pl.col("ddof").first(),
    )
    schema = tables.AssociationSummary.schema()
    yield "association_summary", summary.select(schema.names).to_arrow().cast(schema)

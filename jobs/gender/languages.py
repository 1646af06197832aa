"""How languages go together: correlations of their professions' biases (Matthews et al. 2021, figure 6)."""

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import estimate
from tiltmeter.jobs.embedding.models import Model, common_scheme
from tiltmeter.jobs.gender import tables
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.runtime import draws
from tiltmeter.jobs.runtime.draws import rekeyed, with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.gender.professions import WEIGHTS
from tiltmeter.operators.statistics import correlation
from tiltmeter.operators.statistics.correlation import cluster_order, correlation_matrix
from tiltmeter.operators.statistics.intervals import FISHER, IntervalSettings
from tiltmeter.operators.statistics.replicas import taken_apart
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_MIN_PROFESSIONS = 3


def correlate_languages(
    runner: Runner, models: Sequence[Model], biases: Sequence[TableRef], config: GenderConfig
) -> dict[str, list[TableRef]]:
    """The table ``language_correlation``.

    Args:
        runner: of the stages.
        models: what is correlated.
        biases: their tables ``profession_biases``, in the same order.
        config: how.

    Raises:
        UnitsFailed: if it fails.
    """
    settings = {"languages": _names(models), "intervals": narrowed(IntervalSettings, config), "weights": config.weights}
    settings["draws"] = common_scheme(models)
    unit = Unit(f"language_{correlation.VERSION}", "languages", settings, {"biases": biases})
    [correlated] = runner.run_whole(Stage("languages", each(_correlate), {"languages": [unit]}))["languages"]
    # Apart from the numbers, which do not depend on what corpora are called where each has its own language.
    named = {"models": [{"model": model.name, "language": model.language} for model in models]}
    inputs = {"correlations": [correlated.tables[_CORRELATIONS]]}
    inputs |= {"draws": [correlated.tables[_DRAWS]]} if _DRAWS in correlated.tables else {}
    unit = Unit("correlated_models/1", "names of languages", named, inputs)
    [done] = runner.run_whole(Stage("names of languages", each(_name), {"languages": [unit]}))["languages"]
    return {"language_correlation": [done.tables["language_correlation"]]}


def _names(models: Sequence[Model]) -> list[str]:
    """The language of each model; of several models in one language, their own names."""
    times = Counter(model.language for model in models)
    names = [model.language if times[model.language] == 1 else model.name for model in models]
    return names if len(set(names)) == len(names) else [model.name for model in models]


def _name(store: Store, unit: Unit) -> Tables:
    """The correlations, which are in the order of the models, with model and language of both."""
    correlations, models = store.read(unit.input("correlations")), unit.config["models"]
    names = [
        {f"{name}_{side}": value for side, model in ((1, one), (2, other)) for name, value in model.items()}
        for one, other in product(models, repeat=2)
    ]
    rows = [row | both for row, both in zip(correlations.to_pylist(), names, strict=True)]
    table = table_of(rows, tables.LANGUAGE_CORRELATION)
    yield _CORRELATIONS, table
    for ref in unit.inputs.get("draws", ()):
        yield draws.NAME, rekeyed(store.read(ref), correlations, table)


def _correlate(store: Store, unit: Unit) -> Tables:
    parts = [pl.DataFrame(store.read(ref)) for ref in unit.inputs["biases"]]
    languages, weights, intervals = (unit.config[name] for name in ("languages", "weights", "intervals"))
    shared = _shared(parts)
    biases = {by: _aligned(parts, f"bias_by_{by}", shared) for by in WEIGHTS}
    matrices = {by: correlation_matrix(values) for by, values in biases.items()}
    places = np.argsort(cluster_order(matrices[weights][ORIGINAL]).order)
    known = np.isfinite(biases[weights][ORIGINAL])
    num_replicas = sum(number > ORIGINAL for number in shared)
    rows = []
    for one, other in product(range(len(languages)), repeat=2):
        num = int((known[one] & known[other]).sum())
        row = {
            "language_1": languages[one],
            "language_2": languages[other],
            "weights": weights,
            "num_professions": num,
            "position_1": int(places[one]),
            "position_2": int(places[other]),
        }
        row |= estimate("correlation", taken_apart(matrices[weights][:, one, other], num_replicas), intervals, FISHER)
        for by, matrix in matrices.items():
            row |= estimate(f"correlation_by_{by}", taken_apart(matrix[:, one, other], num_replicas), intervals, FISHER)
        rows.append(row | _verdict(num, row["correlation"]))
    for name, table in with_draws({_CORRELATIONS: (rows, _CORRELATED)}, unit.config["draws"]):
        # Their keys are not those of the table that is published.
        yield name if name == _CORRELATIONS else _DRAWS, table


_CORRELATIONS, _DRAWS = "language_correlation", "unnamed_draws"
_CORRELATED = pa.schema([field for field in tables.LANGUAGE_CORRELATION if not field.name.startswith("model_")])


def _aligned(parts: Sequence[pl.DataFrame], column: str, shared: Sequence[int]) -> NDArray[np.float64]:
    """``[embeddings, languages, professions]``, of the embeddings that all languages have; NaN for what is missing."""
    professions = sorted({name for part in parts for name in part["profession"]})
    aligned = np.full((len(shared), len(parts), max(len(professions), 1)), np.nan)
    for language, part in enumerate(parts):
        kept = part.filter(pl.col("replica").is_in(shared))
        items = np.searchsorted(professions, kept["profession"].to_numpy()) if kept.height else np.empty(0, np.int64)
        aligned[[shared.index(replica) for replica in kept["replica"]], language, items] = kept[column].to_numpy()
    return aligned


def _shared(parts: Sequence[pl.DataFrame]) -> list[int]:
    """The original, its replicas, and further starts, as far as all languages with a profession have them."""
    numbers = [set(part["replica"]) for part in parts if part.height]
    return sorted(set.intersection(*numbers) if numbers else {ORIGINAL}, key=lambda number: (number < 0, abs(number)))


def _verdict(num: int, coefficient: float) -> Row:
    if num < _MIN_PROFESSIONS:
        return failed("too_few_professions", f"both have {num} professions, and {_MIN_PROFESSIONS} are needed")
    return OK if np.isfinite(coefficient) else failed("constant", "all professions have the same bias in one of them")

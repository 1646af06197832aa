"""Precision matrices of attribute sets for the Mahalanobis distance, one unit for each set and replica."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.operators.association import covariance
from tiltmeter.operators.association.covariance import Estimator, precision
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

PrecisionTables = Mapping[tuple[str, ...], Sequence[TableRef]]
"""By attribute set, of every embedding in the order of the model's vectors."""


def covariances(
    runner: Runner, models: Sequence[Model], needed: Mapping[str, Collection[tuple[str, ...]]], estimator: Estimator
) -> dict[str, PrecisionTables]:
    """Estimate the precision matrices of the needed attribute sets of every model that has neighbours, by its name.

    Raises:
        UnitsFailed: if there are such models and all fail.
    """
    units = {model.name: _units(model, needed[model.name], estimator) for model in models if model.neighbours}
    if not units:
        return {}
    done = runner.run_whole(Stage("covariances", each(_estimate), units))
    return {
        name: _by_set(needed[name], [unit.tables["precision"] for unit in finished]) for name, finished in done.items()
    }


def _units(model: Model, needed: Collection[tuple[str, ...]], estimator: Estimator) -> list[Unit]:
    return [
        Unit(
            covariance.VERSION,
            f"{model.name} replica {replica} {', '.join(words[:2])}...",
            {"set": number, "estimator": estimator},
            {"neighbours": [neighbours]},
        )
        for number, words in enumerate(model.attribute_sets)
        if words in needed
        for replica, neighbours in enumerate(model.neighbours)
    ]


def _by_set(needed: Collection[tuple[str, ...]], refs: Sequence[TableRef]) -> PrecisionTables:
    """The units are in the order of the sets, which is sorted, and within a set of the replicas."""
    num = len(refs) // len(needed)
    return {words: refs[index * num : (index + 1) * num] for index, words in enumerate(sorted(needed))}


def _estimate(store: Store, unit: Unit) -> Tables:
    """The rows of the matrix, or a row with the reason why there is none."""
    table = store.read(unit.input("neighbours"))
    vectors = matrix(table.filter(pc.equal(table["set"], unit.config["set"]))["vector"])
    try:
        rows = precision(vectors, unit.config["estimator"])
    except (ValueError, ArithmeticError) as error:
        nothing = pa.nulls(1, pa.list_(pa.float64(), vectors.shape[1]))
        yield "precision", pa.table({"row": nothing, "problem": [str(error)]})
    else:
        yield "precision", pa.table({"row": vector_column(rows), "problem": [""] * len(rows)})


def read_precisions(store: Store, refs: Sequence[TableRef]) -> tuple[NDArray[np.float64], str]:
    """The matrices ``[embeddings, dims, dims]``, NaN where there is none, and why that of the original is missing."""
    parts = [store.read(ref) for ref in refs]
    dims = parts[0].schema.field("row").type.list_size
    missing = np.full((dims, dims), np.nan)
    matrices = [missing if table["problem"][0].as_py() else matrix(table["row"]) for table in parts]
    return np.stack(matrices), parts[0]["problem"][0].as_py()

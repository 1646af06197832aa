"""Values of all models as a table, and a part of it as arrays."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.coverage.quantities import frame, measured
from benchmarks.coverage.training import Models
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.text.wordsets import WordSets

WHOLE = "whole"
"""The name of all samples of a corpus together, beside the numbers of the samples."""


class Values(NamedTuple):
    """Of one kind, in the samples of one corpus; NaN where a sample lacks a quantity.

    Attributes:
        names: of the quantities.
        starts: ``[starts, samples, quantities]`` of the samples themselves.
        replicas: ``[samples, quantities, replicas]``.
        errors: ``[samples, quantities, 1 + replicas]`` standard errors, that of the sample first.
        limits: ``[samples, quantities]``, the largest that each can be; NaN where sizes of sets don't decide that.
    """

    names: Sequence[str]
    starts: FloatArray
    replicas: FloatArray
    errors: FloatArray
    limits: FloatArray

    @property
    def estimates(self) -> FloatArray:
        """``[samples, quantities]`` from the first start, as replicas have one."""
        return np.asarray(self.starts[0])

    def narrowed(self, names: Sequence[str]) -> "Values":
        """Some quantities."""
        chosen = [self.names.index(name) for name in names]
        parts = self.starts[..., chosen], self.replicas[:, chosen], self.errors[:, chosen], self.limits[:, chosen]
        return Values(names, *parts)

    def first(self, num_replicas: int) -> "Values":
        """The first replicas."""
        replicas, errors = self.replicas[..., :num_replicas], self.errors[..., : 1 + num_replicas]
        return self._replace(replicas=replicas, errors=errors)


def table(files: Sequence[Path], wordset: WordSets) -> pl.DataFrame:
    """Every quantity of every model: ``sample``, ``start``, ``replica``, ``kind``, ``name``, ``value``, ``error``,
    ``limit``.
    """
    return pl.concat(list(_parts(files, wordset)))


def _parts(files: Sequence[Path], wordset: WordSets) -> Iterator[pl.DataFrame]:
    for file in files:
        models = Models.load(file)
        values = frame(measured(models, wordset), models).with_columns(sample=pl.lit(file.stem))
        # A further start has a negative number.
        start = pl.min_horizontal("replica", 0).neg()
        yield values.with_columns(start=start, replica=pl.max_horizontal("replica", 0))


def arrays(rows: pl.DataFrame) -> Values:
    """Rows of one corpus, variant and kind."""
    axes = {axis: _codes(rows[axis]) for axis in ("sample", "name", "replica", "start")}
    sizes = {axis: 1 + int(codes.max(initial=0)) for axis, codes in axes.items()}
    first, original = axes["start"] == 0, axes["replica"] == 0
    values, errors = rows["value"].to_numpy(), rows["error"].to_numpy()
    replicas = _filled(axes, sizes, ("sample", "name", "replica"), first, values)
    return Values(
        sorted(rows["name"].unique()),
        _filled(axes, sizes, ("start", "sample", "name"), original, values),
        replicas[..., 1:],
        _filled(axes, sizes, ("sample", "name", "replica"), first, errors),
        _filled(axes, sizes, ("sample", "name"), first & original, rows["limit"].to_numpy()),
    )


def _codes(column: pl.Series) -> NDArray[np.int64]:
    """Numbers as they are, and the places of words in their order."""
    if column.dtype.is_integer():
        return column.to_numpy().astype(np.int64)
    return np.unique(column.to_numpy(), return_inverse=True)[1]


def _filled(
    axes: dict[str, NDArray[np.int64]],
    sizes: dict[str, int],
    names: Sequence[str],
    chosen: NDArray[np.bool_],
    values: FloatArray,
) -> FloatArray:
    array = np.full([sizes[name] for name in names], np.nan)
    array[tuple(axes[name][chosen] for name in names)] = values[chosen]
    return array

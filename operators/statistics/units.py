"""What was drawn independently: the unit of every test and interval, said by whoever asks for one.

Texts of one speaker, contexts of one sentence and pairs of one document vary together, so that a hundred of them know
less than a hundred units do. There is no default: :func:`each` says aloud that every item is a unit.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray, IntArray


class TooFew(NamedTuple):
    """Why there is no number: fewer units than its method needs.

    Attributes:
        have, need: units, or how many units of one size would spread as much.
        kind: in the singular, such as ``speaker``.

    >>> TooFew(4.0, 6, "speaker that differs").reason
    'there is too little to go by: 4 of the unit "speaker that differs", and 6 are needed'
    """

    have: float
    need: int
    kind: str

    @property
    def reason(self) -> str:
        """A sentence for the row and the page."""
        return f'there is too little to go by: {self.have:.3g} of the unit "{self.kind}", and {self.need} are needed'


class Inferred(NamedTuple):
    """A number with its interval and p-value.

    Attributes:
        value: of the items.
        low, high: ends of the interval; NaN of too few units.
        variance: of the value.
        df: degrees of freedom of Student's t.
        num_units: that it rests on.
        p: two-sided; NaN where there is none.
        too_few: why there is no interval, or no p-value where one belongs here; None where all is there.
    """

    value: float
    low: float
    high: float
    variance: float
    df: float
    num_units: int
    p: float = float("nan")
    too_few: TooFew | None = None

    @property
    def status(self) -> str:
        """For the row."""
        return "too_few_units" if self.too_few else "ok"

    @property
    def reason(self) -> str:
        """For the row; empty where all is there."""
        return self.too_few.reason if self.too_few else ""


class Units(NamedTuple):
    """Which unit each item belongs to.

    Attributes:
        codes: ``[items]``, numbers from 0.
        num: of units.
        kind: what they are, in the singular.
    """

    codes: IntArray
    num: int
    kind: str

    def sums(self, values: NDArray[np.generic]) -> FloatArray:
        """Of the values of each unit, ``[items]`` to ``[units]``, or ``[series, items]`` to ``[series, units]``.

        >>> units_of(["a", "b", "a"], "speaker").sums(np.array([1, 2, 3]))
        array([4., 2.])
        """
        numbers = np.asarray(values, dtype=np.float64)
        if numbers.ndim == 1:
            return np.asarray(np.bincount(self.codes, weights=numbers, minlength=self.num), dtype=np.float64)
        return np.stack([self.sums(series) for series in numbers])

    @property
    def sizes(self) -> IntArray:
        """Items of each unit."""
        return np.bincount(self.codes, minlength=self.num)

    def part(self, chosen: NDArray[np.bool_] | NDArray[np.integer]) -> "Units":
        """Of some of the items; units without any of these are gone.

        >>> units_of(["a", "b", "a", "c"], "speaker").part(np.array([False, True, False, True]))
        Units(codes=array([0, 1]), num=2, kind='speaker')
        """
        names, codes = np.unique(self.codes[chosen], return_inverse=True)
        return Units(codes.astype(np.int64), names.size, self.kind)


def units_of(values: Sequence[Hashable | None] | NDArray[np.integer], kind: str) -> Units:
    """Units by the name that each item gives; an item without one is a unit of its own.

    >>> units_of(["ann", None, "bob", "ann", None], "speaker")
    Units(codes=array([0, 1, 2, 0, 3]), num=4, kind='speaker')
    """
    if isinstance(values, np.ndarray):
        return Units(*_numbered(values), kind)
    numbers: dict[Hashable, int] = {}
    codes = [
        numbers.setdefault(("item", place) if value is None else ("unit", value), len(numbers))
        for place, value in enumerate(values)
    ]
    return Units(np.array(codes, dtype=np.int64), len(numbers), kind)


def each(num_items: int, kind: str) -> Units:
    """Every item is a unit, such as a text where nothing is known of who wrote it.

    >>> each(2, "text")
    Units(codes=array([0, 1]), num=2, kind='text')
    """
    return Units(np.arange(num_items, dtype=np.int64), num_items, kind)


def kish(sizes: NDArray[np.generic]) -> float:
    """How many units of one size have a mean that spreads as much (Kish 1965, *Survey sampling*, section 11.7).

    (sum_k n_k)^2 / sum_k n_k^2; 0 without any.

    >>> kish(np.array([1.0, 1.0, 0.5, 0.5]))
    3.6
    """
    numbers = np.asarray(sizes, dtype=np.float64)
    squares = float(np.square(numbers).sum())
    return float(numbers.sum()) ** 2 / squares if squares else 0.0


def _numbered(values: NDArray[np.integer]) -> tuple[IntArray, int]:
    names, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), names.size

"""What the controls, setup III and setup IV of a run of `decoy_benchmark` found, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.decoys.names import CHANCE, METHODS, ORDERS, is_explained
from tiltmeter.jobs.report.wording import interval, listed, number, percent, plural, quoted

_AS_THEY_COME = pl.col("selection") == CHANCE


def without_explanations(utility: pl.DataFrame) -> Iterator[str]:
    """What it takes to find decoys that are adopted without an explanation, and at least."""
    rows = utility.filter("adopted", _AS_THEY_COME, ~is_explained())
    if rows.is_empty():
        return
    means = rows.group_by("method", maintain_order=True).agg(pl.col("num_instances").mean())
    parts = [f"{number(num, 2)} with {METHODS[method]}" for method, num in means.sort("num_instances").iter_rows()]
    yield f"Without explanations, over the same decoys and instances, it takes {listed(parts)}."


def improvement(rows: pl.DataFrame) -> Iterator[str]:
    """What models gain by the removal of words after the largest budget, instances looked at as they come."""
    largest = rows.filter(_AS_THEY_COME, pl.col("budget") == pl.col("budget").max())
    for (decoy,), part in largest.group_by("decoy", maintain_order=True):
        where = "gain" if part["gain_on_decoy_rows"].null_count() else "gain_on_decoy_rows"
        ordered = part.sort(where, "gain", descending=True, maintain_order=True)
        best = [*ordered.filter(is_explained()).iter_rows(named=True), *ordered.iter_rows(named=True)][0]
        others = ordered.filter(~is_explained() & (pl.col("method") != best["method"]))
        yield (
            f"Setup III, {quoted(str(decoy))}: once the words are removed that are taken for wrong reasons in "
            f"{plural(best['budget'], 'instance')}, accuracy changes by {_gain(best, where)} with "
            f"{METHODS[best['method']]}{_controls(others, where)}."
        )


def _gain(row: Mapping[str, Any], where: str) -> str:
    everywhere = f"{_points(row, 'gain')} on all test texts"
    return everywhere if where == "gain" else f"{_points(row, where)} where the decoy misleads and by {everywhere}"


def _controls(rows: pl.DataFrame, where: str) -> str:
    gains = [f"{_signed(100 * row[where])} with {METHODS[row['method']]}" for row in rows.iter_rows(named=True)]
    place = "" if where == "gain" else "where it misleads, "
    return f"; {place}by {listed(gains)}" if gains else ""


def _signed(value: float) -> str:
    """A difference with its sign.

    >>> _signed(12.5), _signed(0.0), _signed(-5.0)
    ('+12.5', '0.0', '−5.0')
    """
    return f"{'+' if value > 0 else ''}{number(value, 1)}"


def _points(row: Mapping[str, Any], name: str) -> str:
    """A difference of two shares with its interval, where it has one.

    >>> _points({"gain": 0.125, "gain_low": -0.05, "gain_high": 0.25}, "gain")
    '+12.5 points [−5.0, 25.0]'
    >>> _points({"gain": 0.125, "gain_low": None, "gain_high": None}, "gain")
    '+12.5 points'
    """
    return f"{_signed(100 * row[name])} points {interval(_hundredfold(row, name), name, 1)}".rstrip()


def _hundredfold(row: Mapping[str, Any], name: str) -> dict[str, float]:
    """The ends of an interval of a share, those that there are, in hundredths."""
    return {key: 100 * row[key] for key in (f"{name}_low", f"{name}_high") if row[key] is not None}


def contamination(rows: pl.DataFrame) -> Iterator[str]:
    """How many wrong labels are uncovered within the smallest budget, and what it gains."""
    if rows.is_empty():
        return
    part = rows.filter(pl.col("share") == pl.col("share").min()).sort("uncovered", descending=True, maintain_order=True)
    first = part.row(0, named=True)
    shares = "; ".join(f"{ORDERS[row['order']]} {_uncovered(row)}" for row in part.iter_rows(named=True))
    lost = first["accuracy_clean"] - first["accuracy_contaminated"]
    yield (
        f"Setup IV: of {plural(first['num_flipped'], 'flipped label')}, so many are uncovered in the "
        f"{percent(first['share'], 0)} of the training texts that are looked at first: {shares}."
    )
    explained = part.filter(~pl.col("order").is_in([CHANCE, "oracle", "loss"]))
    named = [*explained.head(1).iter_rows(named=True), *part.filter(order="oracle").iter_rows(named=True)]
    gains = " and ".join(f"{_points(row, 'gain')} with {ORDERS[row['order']]}" for row in named)
    if gains:
        cost = number(100 * lost, 1)
        yield f"Wrong labels cost {cost} points of accuracy; once those are corrected, models gain {gains}."


def _uncovered(row: Mapping[str, Any]) -> str:
    ends = _hundredfold(row, "uncovered")
    return f"{percent(row['uncovered'], 0)} {interval(ends, 'uncovered', 0)}".rstrip()

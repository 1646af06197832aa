"""The charts of setups III and IV: what is gained, by what was looked at, with intervals."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.decoys.names import METHODS, ORDERS
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import LOOKS, SHARES, Look, Row, lines
from tiltmeter.jobs.report.wording import estimate, percent, plural

_DOT_HEIGHT, _ROW_GAP = 14, 10
"""In pixels: of each dot that shares a row, and between rows."""

_GAINS = {"gain_on_decoy_rows": "where it misleads", "gain": "all test texts"}


def gains(rows: pl.DataFrame) -> dict[str, Figure]:
    """The difference in test performance of Idahl et al. 2021, section 2.3, by the decoy and the texts that it is on.

    Args:
        rows: of ``improvement``, of one selection.
    """
    parts = rows.partition_by("decoy", maintain_order=True, as_dict=True)
    return {
        f"{decoy}, {place}": _gains(part, name)
        for (decoy,), part in parts.items()
        for name, place in _GAINS.items()
        if part[name].null_count() < part.height
    }


def _gains(rows: pl.DataFrame, name: str) -> Figure:
    budgets = [plural(budget, "instance") for budget in rows["budget"]]
    return _dots(rows, name, "method", METHODS, ("budget", budgets), "accuracy gained", neutral=0.0)


def contamination(rows: pl.DataFrame) -> dict[str, Figure]:
    """What section 2.4 measures by: how many flipped labels are uncovered, and what it gains to correct them.

    Args:
        rows: of ``contamination``.
    """
    if rows.is_empty():
        return {}
    shares = [f"{percent(share, 0)} of the texts" for share in rows["share"]]
    title = "flipped labels uncovered"
    uncovered = _dots(rows, "uncovered", "order", ORDERS, ("share", shares), title, ends=SHARES["range"])
    return {
        "labels uncovered": uncovered.with_layout(xaxis={"tickformat": SHARES["tickformat"]}),
        "accuracy gained": _dots(rows, "gain", "order", ORDERS, ("share", shares), "accuracy gained", neutral=0.0),
    }


def _dots(
    rows: pl.DataFrame,
    x: str,
    y: str,
    names: Mapping[str, str],
    budget: tuple[str, Sequence[str]],
    title: str,
    **settings: Any,
) -> Figure:
    """A row for each method or order with a dot for each budget, the smallest on top; first what is largest at last.

    Args:
        names: of the methods or orders.
        budget: the column with it, and what it is called in each row.
    """
    labelled = rows.with_columns(label=pl.Series(budget[1], dtype=pl.String))
    ordered = labelled.sort(budget[0], x, descending=True, nulls_last=True, maintain_order=True)
    budgets = ordered["label"].unique(maintain_order=True).reverse().to_list()
    height = _ROW_GAP + _DOT_HEIGHT * len(budgets)
    looks, hover = _looks(budgets, _DOT_HEIGHT / height), _hover(x, y, names, title)
    return dots(
        ordered,
        x,
        y,
        by="label",
        looks=looks,
        title=title,
        hover=hover,
        label=names.__getitem__,
        row_height=height,
        **settings,
    )


def _hover(x: str, y: str, names: Mapping[str, str], title: str) -> Callable[[Row], str]:
    return lambda row: lines(names[row[y]], f"looked at: {row['label']}", f"{title}: {estimate(row, x)}")


def _looks(budgets: Sequence[str], step: float) -> dict[str, Look]:
    """One below the other within their row."""
    middle = (len(budgets) - 1) / 2
    looks = zip(budgets, cycle(LOOKS), strict=False)
    return {budget: look._replace(shift=step * (middle - number)) for number, (budget, look) in enumerate(looks)}

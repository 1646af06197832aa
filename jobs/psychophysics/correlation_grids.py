"""Tables of correlations over occupations."""

from collections.abc import Mapping, Sequence
from typing import Any

from tiltmeter.jobs.report.html.elements import Grid
from tiltmeter.jobs.report.wording import estimate, p_value

_NUMBERS = ["Pearson's r", "p of r", "Spearman's ρ", "p of ρ", "occupations"]


def correlation_grid(
    caption: str, headings: Sequence[str], rows: Sequence[tuple[Sequence[str], Mapping[str, Any]]]
) -> Grid:
    """Rows of ``validation`` with what each is about; a last column says why rows have no result, where some have none.

    Args:
        caption: what is correlated.
        headings: of what a row is about.
        rows: what each is about, and the row.
    """
    why = ["why there is none"] if any(row["reason"] for _, row in rows) else []
    cells = [[*about, *_numbers(row), *[row["reason"] or "" for _ in why]] for about, row in rows]
    return Grid(caption, [*headings, *_NUMBERS, *why], cells, numeric=_NUMBERS)


def _numbers(row: Mapping[str, Any]) -> list[str]:
    """A row without a result keeps its count alone: two occupations would have r = 1."""
    shown = row if row["status"] == "ok" else {}
    cells = [
        cell for name in ("pearson", "spearman") for cell in (estimate(shown, name, 2), p_value(shown.get(f"{name}_p")))
    ]
    return [*cells, "–" if row["num_occupations"] is None else f"{row['num_occupations']:,}"]

"""Tables of what differs between slices of one corpus, and their section of a page."""

from collections.abc import Mapping

import polars as pl

from tiltmeter.jobs.report.html.elements import Paragraph, Section
from tiltmeter.jobs.report.views import Draw, Show, section, shown
from tiltmeter.jobs.report.wording import SIGNIFICANCE, p_value, plural
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, schemas

_MOST_SHOWN = 20
_INTERVAL = "the interval of the {} at 95 %, by the draws that slices share"


class OfSlices(Table):
    whole: str = key("corpus whose slices they are", heading="corpus")
    table: str = key("table of the number")
    column: str = key("its column")
    row: str = doc("its row's key columns in words, without the model and its language")
    key: str = key("all its key columns but the model, as a JSON object")


class SliceDifferences(OfSlices, name="slice_differences", has_status=False):
    """Two slices, or one and the mean of all others, by every number that has draws in both."""

    first: str | None = key("slice that the other is held against; null: the mean of all others that have the number")
    second: str = key("slice, such as 'letters/1999'")
    first_value: float = doc("number of the first", heading="first is", digits=3)
    second_value: float = doc("number of the second", heading="second is", digits=3)
    difference: Estimate = doc("second less first", interval=_INTERVAL.format("difference"))
    p: float = doc("p-value of no difference but by chance", show="p_value")
    q: float = doc("the same adjusted for all numbers of this table, by Benjamini and Hochberg", show="p_value")
    num_draws: int = doc("replicas that the interval rests on", "draws")
    paired_by: str = doc(
        "'replicas': slices draw documents that they share alike, and others each for itself; 'unpaired': each slice "
        "has draws of its own"
    )


class SliceTrends(OfSlices, name="slice_trends", has_status=False):
    """Slopes over slices that have an order (column ``place`` of ``corpus_slices``), of numbers that 3 of them have."""

    first: str = doc("slice with the lowest place that has the number")
    last: str = doc("slice with the highest place that has it")
    num_slices: int = doc("slices that have it", "slices")
    slope: Estimate = doc(
        "of least squares over the slices, all alike, for each 1 of their place: a year where slices are dates, else 1 "
        "of the number, or one range of corpus.slice_cuts",
        interval=_INTERVAL.format("slope"),
        show="small",
    )
    p: float = doc("p-value of no slope but by chance", show="p_value")
    q: float = doc("the same adjusted for all numbers of this table, by Benjamini and Hochberg", show="p_value")
    num_draws: int = doc("replicas that the interval rests on", "draws")
    paired_by: str = doc("as in slice_differences")


TABLES = schemas(SliceDifferences, SliceTrends)


def slice_sentences(frames: Mapping[str, pl.DataFrame]) -> list[str]:
    """How many differences and slopes chance does not explain, of how many that were tested."""
    kinds = {"slice_differences": ("difference", "between slices"), "slice_trends": ("slope", "over slices")}
    return [_sentence(frames[name], *kind) for name, kind in kinds.items() if name in frames and frames[name].height]


def _sentence(rows: pl.DataFrame, noun: str, rest: str) -> str:
    num = rows.filter(pl.col("q") <= SIGNIFICANCE).height
    least = "" if num else f"; the smallest q is {p_value(min(rows['q']))}"
    has = f"{num:,} {'has' if num == 1 else 'have'} q ≤ {SIGNIFICANCE}"
    return f"Of {plural(rows.height, noun)} {rest}, {has} after correction for all of them{least}."


def slice_difference_sections(frames: Mapping[str, pl.DataFrame]) -> list[Section]:
    """What differs between slices and what rises or falls over them; none without the tables."""
    filled = {name: frames[name] for name in TABLES if name in frames and frames[name].height}
    return list(shown([section("within", "Differences between slices", *_SHOWN)], filled))


def _surest(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort("q", "p", maintain_order=True).with_columns(pl.col("first").fill_null("mean of the others"))


_HOW = (
    "A difference is judged replica by replica: its interval is for other documents like those of each slice. The "
    "correction is over all numbers of a table; of those with q ≤ 0.05, one in twenty at most is expected to be chance."
)
_DIFFERENCES = "Differences, second less first, with their intervals; those with the smallest q first."
_TRENDS = (
    "Slopes over ordered slices, for each 1 of their place, with their intervals; those with the smallest q first."
)
_COLUMNS = "table column row first second first_value second_value difference p q"
_SHOWN = (
    Draw(SliceDifferences, lambda _: [Paragraph(_HOW)]),
    Show(SliceDifferences, _DIFFERENCES, _COLUMNS, _surest, most=_MOST_SHOWN),
    Show(SliceTrends, _TRENDS, "table column row first last num_slices slope p q", _surest, most=_MOST_SHOWN),
)

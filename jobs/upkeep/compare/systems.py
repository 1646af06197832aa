"""The table of `compare` of two systems on the same items, or of several in pairs."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from tiltmeter.jobs.runtime.settings.fields import Count, settings
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, table_from
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.operators.statistics.flips import flips_max_t
from tiltmeter.operators.statistics.items.paired_items import PairedItems, Tasks, paired_items
from tiltmeter.operators.statistics.items.power import Error, smallest_detectable
from tiltmeter.operators.statistics.items.repeats import Noise, are_right_or_wrong, noise_of, sampled_anew
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.units import Units, units_of
from tiltmeter.storage.errors import InputError, meant

_Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]

_SINGLE = "no item has two repeats of each system, which logs.question=samples needs; set logs.question=items"


@settings
class Inference:
    """What is inferred of two systems on the same items; the settings of `logs` that are not of files."""

    cluster: str | None = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    question: Literal["items", "samples"] = "items"
    mid_p: bool = False
    weights: Literal["equal", "items"] | dict[str, _Size] = "equal"
    wanted: _Size | None = None
    items: Count | None = None


class OfPair(Table):
    """Keys of what is said of two systems."""

    task: str = key("that the items are of, by the names of files of lm-evaluation-harness; items; or their mean")
    score: str = key("column of the scores")
    first_system: str = key("name of the first")
    second_system: str = key("name of the second")


class Systems(OfPair, name="systems"):
    num_items: int = doc("that both systems have a score for", "items")
    num_clusters: int = doc("clusters of them, which are the units; items, where they have none", "clusters")
    question: str = doc(
        "items: of items like these; samples: of these items, answered anew, where repeats are the units"
    )
    first_repeats: float = doc("scores of an item by the first system, in the mean", "repeats")
    second_repeats: float = doc("the same of the second", "repeats")
    num_unscored: int = doc("repeats of these items, by either system, that have no score", "repeats")
    first: Estimate = doc("mean score of the first system")
    second: Estimate = doc("mean score of the second system")
    difference: Estimate = doc("second less first", interval="the interval of difference, paired by item, over units")
    p: float = doc(
        "two-sided, by signs of clusters: either system is as likely to be ahead in each; null if under 6 differ; of "
        "samples by Student's t: repeats without end would give both the same mean",
        show="p_value",
    )
    q: float = doc(
        "p adjusted for the number of rows of tasks, or of means of tasks, by Benjamini and Hochberg", show="p_value"
    )
    p_family: float | None = doc(
        "p corrected over the pairs of systems on this task: max-T, of samples Holm", show="p_value"
    )
    smallest_detectable: float | None = doc(
        "true difference that this comparison alone finds in 4 of 5 cases; null where shares would have to differ by "
        "more than 1"
    )
    noise_share: float | None = doc("share of the difference's variance that more repeats take away", show="percent")
    first_only: int | None = doc("items that the first alone gets right; null unless all scores are 0 or 1", "items")
    second_only: int | None = doc("items that the second system alone gets right", "items")
    mcnemar_p: float | None = doc("p where all scores of a task are 0 or 1, which is McNemar's test; null elsewhere")


class Result(NamedTuple):
    """What is inferred of two systems on one task, or on several whose means are weighted.

    Attributes:
        keys: of its row.
        items: of all pairs, with the column ``task``.
        shares: ``[items]``, what each counts for.
        noises: of the first mean, the second and their difference.
        are_shares: whether all scores are 0 or 1, or means of repeats that are.
    """

    keys: dict[str, Any]
    items: pl.DataFrame
    shares: NDArray[np.float64]
    units: Units
    paired: PairedItems
    noises: Sequence[Noise]
    num_unscored: int
    are_shares: bool


def compared(pairs: Sequence[Pair], inference: Inference) -> list[Result]:
    """Each pair, then the mean of the tasks that two systems have by one score.

    Raises:
        InputError: for a weight of a task that no log has.
    """
    tasks = list(dict.fromkeys(pair.task for pair in pairs))
    given = inference.weights if isinstance(inference.weights, dict) else dict.fromkeys(tasks, 1.0)
    if unknown := [name for name in given if name not in tasks]:
        hint = meant(unknown[0], tasks) or f"; there are {listed(tasks[:10])}"
        raise InputError(f"logs.weights.{unknown[0]}: the logs have no such task{hint}")
    groups: dict[tuple[str, ...], list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.task in given:
            groups[pair.score, pair.first, pair.second].append(pair)
    is_by_items = inference.weights == "items"
    return [_inferred([pair], [1.0], inference) for pair in pairs] + [
        _inferred(group, [pair.items.height if is_by_items else given[pair.task] for pair in group], inference)
        for group in groups.values()
        if len(group) > 1
    ]


def _inferred(pairs: Sequence[Pair], weights: Sequence[float], inference: Inference) -> Result:
    items = pl.concat([pair.items.with_columns(task=pl.lit(pair.task)) for pair in pairs])
    sizes = [pair.items.height for pair in pairs]
    tasks = Tasks(np.repeat(np.arange(len(sizes)), sizes), np.array(weights) / sum(weights))
    means, variances, repeats = (
        [items[f"{side}{part}"].cast(pl.Float64).fill_null(np.nan).to_numpy() for side in ("first", "second")]
        for part in ("", "_variance", "_repeats")
    )
    systems = [*zip(means, variances, repeats, strict=True)]
    are_shares = all(are_right_or_wrong(*system) for system in systems)
    multiple = math.lcm(*np.unique(repeats).astype(int).tolist()) if are_shares else None
    units, level, mid_p = _units(items, inference), inference.level, inference.mid_p
    paired = paired_items(means[0], means[1], units, level, tasks=tasks, mid_p=mid_p, denominator=multiple)
    one, other = (noise_of(variance, counts, tasks.shares) for _, variance, counts in systems)
    noises = one, other, one.plus(other)
    if inference.question == "samples":
        first, second, difference = (
            sampled_anew(mean.value, noise, level) for mean, noise in zip(paired[:3], noises, strict=True)
        )
        paired = paired._replace(first=first, second=second, difference=difference, mcnemar_p=None)
    [pair, *more] = pairs
    task = f"mean of {len(pairs)} tasks" if more else pair.task
    keys = {"task": task, "score": pair.score, "first_system": pair.first, "second_system": pair.second}
    num_unscored = sum(sum(counts.values()) for pair in pairs for counts in pair.num_unscored)
    return Result(keys, items, tasks.shares, units, paired, noises, num_unscored, are_shares)


def _units(items: pl.DataFrame, inference: Inference) -> Units:
    """Clusters, or items by their names; one name in several tasks is one unit, but for numbers."""
    in_task = pl.concat_str("task", pl.lit(" "), "item")
    item = pl.when(pl.col("item").str.contains(r"^\d+$")).then(in_task).otherwise("item")
    named = pl.coalesce(pl.lit("cluster ") + pl.col("cluster"), pl.lit("item ") + item)
    names = items.select(named if inference.cluster else item).to_series()
    codes = names.cast(pl.Categorical).to_physical().cast(pl.Int64).to_numpy()
    return units_of(codes, f"value of {inference.cluster}" if inference.cluster else "item")


def systems_table(pairs: Sequence[Pair], inference: Inference) -> pa.Table:
    """The table ``systems``: a row for each pair, then the means of tasks.

    Raises:
        InputError: as :func:`compared`.
    """
    results = compared(pairs, inference)
    rows = [_row(result, inference) for result in results]
    for part in (rows[: len(pairs)], rows[len(pairs) :]):
        for row, q in zip(part, benjamini_hochberg(np.array([row.p for row in part], dtype=np.float64)), strict=True):
            row.q = float(q)
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        families[row.task, row.score].append(place)
    for places in families.values():
        if len(places) > 1:
            for place, p in zip(places, _family([results[place] for place in places], inference), strict=True):
                rows[place].p_family = float(p)
    return table_from(rows, Systems)


def _family(results: Sequence[Result], inference: Inference) -> NDArray[np.float64]:
    """p of several pairs of systems, corrected; none is less than by itself."""
    alone = np.array([result.paired.difference.p for result in results])
    if inference.question == "samples":
        return holm(alone)
    difference = pl.col("second") - pl.col("first")
    rows = [
        result.items.select("task", "item", "cluster", pl.lit(str(place)).alias("pair"), value=difference * share)
        for place, (result, share) in enumerate((one, pl.Series(one.shares * one.shares.size)) for one in results)
    ]
    wide = pl.concat(rows).pivot("pair", index=["task", "item", "cluster"], values="value")
    values = [wide[str(place)].fill_null(np.nan).to_numpy() for place in range(len(results))]
    return np.asarray(np.maximum(flips_max_t(np.stack(values), _units(wide, inference)), alone))


def _row(result: Result, inference: Inference) -> Systems:
    items, paired, difference, noise = result.items, result.paired, result.paired.difference, result.noises[2]
    row = Systems(
        **result.keys,
        num_items=items.height,
        num_clusters=result.units.num if inference.question == "items" else items.height,
        question=inference.question,
        first_repeats=float(items["first_repeats"].to_numpy().mean()),
        second_repeats=float(items["second_repeats"].to_numpy().mean()),
        num_unscored=result.num_unscored,
        first=Estimate(*paired.first[:3]),
        second=Estimate(*paired.second[:3]),
        difference=Estimate(*difference[:3]),
        p=difference.p,
        first_only=paired.first_only,
        second_only=paired.second_only,
        mcnemar_p=paired.mcnemar_p,
    )
    if difference.variance > 0.0:
        error = Error(difference.variance**0.5, difference.df)
        smallest = smallest_detectable(error, inference.level)
        row.smallest_detectable = None if result.are_shares and smallest > 1.0 else smallest
        has_share = inference.question == "items" and noise.df > 0.0
        row.noise_share = min(1.0, noise.variance / difference.variance) if has_share else None
    if inference.question == "samples" and not noise.df:
        return row.fail("single_repeats", _SINGLE)
    return row.fail("too_few_units", difference.reason) if difference.too_few else row

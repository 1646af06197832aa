"""The table of `compare` of two systems on the same items, or of several in pairs."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pydantic
from numpy.typing import NDArray
from pydantic import Field

from tiltmeter.jobs.runtime.settings.fields import Count
from tiltmeter.jobs.runtime.settings.known import meant
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, table_from
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.operators.statistics.items.paired_items import PairedItems, corrected, influences, paired_items
from tiltmeter.operators.statistics.items.power import Error, smallest_detectable
from tiltmeter.operators.statistics.items.repeats import Noise, Repeats, are_right_or_wrong, noise_of, sampled_anew
from tiltmeter.operators.statistics.items.task_means import Tasks
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.units import Inferred, Units, units_of
from tiltmeter.storage.errors import InputError

_SINGLE = "no item has two repeats of each system, which logs.question=samples needs; set logs.question=items"


@pydantic.dataclasses.dataclass(frozen=True)
class Inference:
    """What is inferred of two systems on the same items; the settings of `logs` that are not of files."""

    cluster: str | None = None
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    question: Literal["items", "samples"] = "items"
    mid_p: bool = False
    weights: Literal["equal", "items"] | dict[str, Annotated[float, Field(gt=0)]] = "equal"
    wanted: Annotated[float, Field(gt=0)] | None = None
    items: Count | None = None


class Systems(Table, name="systems"):
    task: str = key("that the items are of, by the names of files of lm-evaluation-harness; items; or their mean")
    score: str = key("column of the scores")
    first_system: str = key("name of the first")
    second_system: str = key("name of the second")
    question: str = doc("items: of items like these; samples: of these items, when systems answer them anew")
    num_items: int = doc("that both systems have a score for", "items")
    num_clusters: int = doc("clusters of them, which are the units of the question items; items, where they have none")
    first_repeats: float = doc("scores of an item by the first system, in the mean", "repeats")
    second_repeats: float = doc("the same of the second", "repeats")
    first_unscored: int = doc("repeats of these items by the first system that have no score", "repeats")
    second_unscored: int = doc("the same of the second", "repeats")
    first: Estimate = doc("mean score of the first system")
    second: Estimate = doc("mean score of the second system")
    difference: Estimate = doc(
        "second less first", interval="the interval of difference, paired by item, over clusters or over repeats"
    )
    p: float = doc(
        "two-sided: of items by signs of clusters, as if either system were as likely to be ahead in each, null if "
        "under 6 differ; of samples by Student's t, as if repeats without end gave both the same mean"
    )
    q: float = doc("p adjusted for all rows of tasks, or all means of tasks, by Benjamini and Hochberg")
    p_family: float | None = doc(
        "p corrected over the pairs of systems on this task: of items by max-T with the same signs of clusters for "
        "all, of samples by Holm; null of one pair"
    )
    smallest_detectable: float | None = doc(
        "true difference that this comparison alone would find in 4 of 5 cases, at the level of its interval"
    )
    noise_share: float | None = doc(
        "share of the difference's variance that more repeats take away; null without repeats, and of samples"
    )
    first_only: int | None = doc(
        "items that the first system alone gets right; null unless all scores are 0 or 1", "items"
    )
    second_only: int | None = doc("items that the second system alone gets right", "items")
    mcnemar_p: float | None = doc(
        "p, which is that of McNemar's exact test where all scores of a task are 0 or 1; null elsewhere"
    )


class Compared(NamedTuple):
    """Two systems on one task, or on several whose means are weighted.

    Attributes:
        pairs: a pair for each task.
        weights: ``[tasks]``, which sum to 1.
    """

    pairs: Sequence[Pair]
    weights: NDArray[np.float64]

    @property
    def task(self) -> str:
        """As the table names it."""
        return self.pairs[0].task if len(self.pairs) == 1 else f"mean of {len(self.pairs)} tasks"


class Result(NamedTuple):
    """Attributes:
    noises: of the means of both systems.
    noise: of their difference.
    values: ``[items]``, of which the difference is the mean.
    """

    paired: PairedItems
    noises: tuple[Noise, Noise]
    noise: Noise
    units: Units
    items: pl.DataFrame
    values: NDArray[np.float64]


def compared_tasks(pairs: Sequence[Pair], settings: Inference) -> list[Compared]:
    """Each pair, and the mean of the tasks that two systems have by one score.

    Raises:
        InputError: for a weight of a task that no log has.
    """
    tasks = list(dict.fromkeys(pair.task for pair in pairs))
    if isinstance(settings.weights, dict) and (unknown := [name for name in settings.weights if name not in tasks]):
        hint = meant(unknown[0], tasks) or f"; there are {listed(tasks[:10])}"
        raise InputError(f"logs.weights.{unknown[0]}: the logs have no such task{hint}")
    return [*(Compared([pair], np.ones(1)) for pair in pairs), *_means(pairs, settings)]


def _means(pairs: Sequence[Pair], settings: Inference) -> Iterator[Compared]:
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for pair in pairs:
        if not isinstance(settings.weights, dict) or pair.task in settings.weights:
            groups.setdefault((pair.score, pair.first, pair.second), []).append(pair)
    for group in groups.values():
        if isinstance(settings.weights, dict):
            weights = np.array([settings.weights[pair.task] for pair in group])
        else:
            weights = np.array([pair.items.height if settings.weights == "items" else 1.0 for pair in group])
        if len(group) > 1:
            yield Compared(group, weights / weights.sum())


def systems_table(pairs: Sequence[Pair], settings: Inference) -> pa.Table:
    """The table ``systems``: a row for each pair, then the means of tasks.

    Raises:
        InputError: as :func:`compared_tasks`.
    """
    compared = compared_tasks(pairs, settings)
    results = [infer(one, settings) for one in compared]
    rows = [_row(one, result, settings) for one, result in zip(compared, results, strict=True)]
    for part in (rows[: len(pairs)], rows[len(pairs) :]):
        for row, q in zip(part, benjamini_hochberg(np.array([row.p for row in part], dtype=np.float64)), strict=True):
            row.q = float(q)
    families: dict[tuple[str, str], list[int]] = {}
    for place, row in enumerate(rows):
        families.setdefault((row.task, row.score), []).append(place)
    for places in families.values():
        if len(places) > 1:
            p_values = _family([results[place] for place in places], settings)
            for place, p in zip(places, p_values.tolist(), strict=True):
                rows[place].p_family = p
    return table_from(rows, Systems)


def infer(compared: Compared, settings: Inference) -> Result:
    """What the items, or their repeats, say of the difference."""
    items = pl.concat([pair.items.with_columns(task=pl.lit(pair.task)) for pair in compared.pairs])
    sizes = [pair.items.height for pair in compared.pairs]
    tasks = Tasks(np.repeat(np.arange(len(sizes)), sizes), compared.weights)
    first, second = (items[side].to_numpy() for side in ("first", "second"))
    repeats = [
        Repeats(items[f"{side}_variance"].fill_null(np.nan).to_numpy(), items[f"{side}_repeats"].to_numpy())
        for side in ("first", "second")
    ]
    are_shares = all(are_right_or_wrong(*one) for one in zip((first, second), repeats, strict=True))
    units = _units(items, settings.cluster)
    usual = {"tasks": tasks, "mid_p": settings.mid_p, "are_shares": are_shares}
    paired = paired_items(first, second, units, settings.level, **usual)
    one, other = (noise_of(side, tasks.shares) for side in repeats)
    noise = one.plus(other)
    if settings.question == "samples":
        means = zip((paired.first, paired.second, paired.difference), (one, other, noise), strict=True)
        sampled = [sampled_anew(mean.value, spread, settings.level) for mean, spread in means]
        paired = PairedItems(*sampled, paired.first_only, paired.second_only, None)
    return Result(paired, (one, other), noise, units, items, influences(first, second, tasks))


def _units(items: pl.DataFrame, cluster: str | None) -> Units:
    """Clusters, or items by their names: one name in several tasks is one unit."""
    names = pl.coalesce(pl.lit("cluster ") + pl.col("cluster"), pl.lit("item ") + pl.col("item"))
    known = names if cluster else pl.col("item")
    codes = items.select(known.cast(pl.Categorical).to_physical()).to_series().cast(pl.Int64)
    return units_of(codes.to_numpy(), f"value of {cluster}" if cluster else "item")


def _family(results: Sequence[Result], settings: Inference) -> NDArray[np.float64]:
    p_values = np.array([result.paired.difference.p for result in results])
    if settings.question == "samples":
        return holm(p_values)
    rows = [
        result.items.select("task", "item", "cluster", value=pl.Series(result.values), pair=pl.lit(str(place)))
        for place, result in enumerate(results)
    ]
    wide = pl.concat(rows).pivot("pair", index=["task", "item", "cluster"], values="value")
    values = [wide[str(place)].fill_null(np.nan).to_numpy() for place in range(len(results))]
    return corrected(values, _units(wide, settings.cluster), p_values)


def _row(compared: Compared, result: Result, settings: Inference) -> Systems:
    pair, paired, items = compared.pairs[0], result.paired, result.items
    unscored = [sum(sum(pair.num_unscored[side].values()) for pair in compared.pairs) for side in (0, 1)]
    difference, is_of_items = paired.difference, settings.question == "items"
    error = Error(difference.variance**0.5, difference.df)
    share = min(1.0, result.noise.variance / difference.variance) if is_of_items and difference.variance > 0.0 else None
    row = Systems(
        task=compared.task,
        score=pair.score,
        first_system=pair.first,
        second_system=pair.second,
        question=settings.question,
        num_items=items.height,
        num_clusters=result.units.num,
        first_repeats=items["first_repeats"].mean(),
        second_repeats=items["second_repeats"].mean(),
        first_unscored=unscored[0],
        second_unscored=unscored[1],
        first=_estimate(paired.first),
        second=_estimate(paired.second),
        difference=_estimate(difference),
        p=difference.p,
        smallest_detectable=smallest_detectable(error, settings.level) if error.sd > 0.0 else None,
        noise_share=share,
        first_only=paired.first_only,
        second_only=paired.second_only,
        mcnemar_p=paired.mcnemar_p,
    )
    if not (is_of_items or result.noise.df):
        return row.fail("single_repeats", _SINGLE)
    return row.fail("too_few_units", difference.reason) if difference.too_few else row


def _estimate(inferred: Inferred) -> Estimate:
    return Estimate(inferred.value, inferred.low, inferred.high)

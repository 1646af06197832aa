"""Which items of two systems are the same, and what both score on each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import polars as pl

from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.log_systems import System, with_contents
from tiltmeter.jobs.upkeep.compare.pairs import ITEMS, Pair
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.item_logs import NO_TASK

_Tasks = Mapping[str, pl.DataFrame]
_ENDS = {"first": "", "second": "_second"}


def pairs_between(systems: Sequence[System], logs: Logs) -> list[Pair]:
    """A pair for each task and score, of each system with the first or of all with each other.

    A task or score of which no item has a score in both systems has none.

    Raises:
        InputError: if two systems have other items, tasks or scores.
    """
    places = [*combinations(range(len(systems)), 2)] if logs.all_pairs else [(0, at) for at in range(1, len(systems))]
    tasks = [_by_task(system) for system in systems]
    ways = [_ways(*_of_one_task(tasks[one], tasks[other]), logs) for one, other in places]
    if "content" in {way for of_pair in ways for way in of_pair.values()}:
        systems = [with_contents(system, logs) for system in systems]
        tasks = [_by_task(system) for system in systems]
    made = [
        _pairs((systems[one], systems[other]), _of_one_task(tasks[one], tasks[other]), way, logs)
        for (one, other), way in zip(places, ways, strict=True)
    ]
    if not (pairs := [pair for of_two in made for pair in of_two]):
        raise InputError(
            "logs.first: no item has a score in two systems that are compared; see logs.values for which are"
        )
    return pairs


def _by_task(system: System) -> _Tasks:
    return {
        str(task): rows for (task,), rows in system.rows.partition_by("task", as_dict=True, maintain_order=True).items()
    }


def _of_one_task(first: _Tasks, second: _Tasks) -> tuple[_Tasks, _Tasks]:
    """Systems of one task each are compared whatever it is called."""
    if len(first) == len(second) == 1 and first.keys() != second.keys():
        [one], [other] = first.values(), second.values()
        return {NO_TASK: one}, {NO_TASK: other}
    return first, second


def _ways(first: _Tasks, second: _Tasks, logs: Logs) -> dict[str, str]:
    """By task that both have, how its items are matched."""
    return {task: logs.match or _way(first[task], second[task]) for task in first if task in second}


def _way(first: pl.DataFrame, second: pl.DataFrame) -> str:
    """By item, unless no item is in both, or one says something else in the other."""
    one, other = (
        rows.select("item", "content").unique("item", keep="first", maintain_order=True) for rows in (first, second)
    )
    shared = one.join(other, on="item")
    has_contents = one["content"].null_count() + other["content"].null_count() == 0
    differ = (shared["content"] != shared["content_right"]).any()
    return "content" if has_contents and (shared.is_empty() or differ) else "item"


def _pairs(
    systems: tuple[System, System], tasks: tuple[_Tasks, _Tasks], ways: Mapping[str, str], logs: Logs
) -> Iterator[Pair]:
    _check_tasks(systems, tasks, logs)
    keyed = {
        task: [_keyed(system, side[task], way) for system, side in zip(systems, tasks, strict=True)]
        for task, way in ways.items()
    }
    missing = {task: [_lacking(rows[at], rows[1 - at]) for at in (0, 1)] for task, rows in keyed.items()}
    _check_items(systems, missing, ways, logs)
    for task, (first, second) in keyed.items():
        num_missing = (missing[task][1].len(), missing[task][0].len())
        for score in _scores(systems, task, first, second, logs):
            pair = _pair(systems, task, score, [side.filter(pl.col("score") == score) for side in (first, second)])
            if not pair.items.is_empty():
                yield pair._replace(matched_by=ways[task], num_missing=num_missing)


def _keyed(system: System, rows: pl.DataFrame, way: str) -> pl.DataFrame:
    """With what is the same of the same item; of items that say the same the first of a repeat is the other's first."""
    if way == "item":
        return rows.with_columns(key=pl.col("item"))
    if rows["content"].null_count():
        raise InputError(f"logs.match=content: {system.setting} does not tell what items say; set logs.match=item")
    nth = pl.int_range(pl.len()).over("score", "repeat", "content")
    return rows.with_columns(key=pl.concat_str("content", nth, separator="."))


def _lacking(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    """Items of the other that are not in one."""
    return other.join(one, on="key", how="anti").unique("key", maintain_order=True)["item"]


def _check_tasks(systems: tuple[System, System], tasks: tuple[_Tasks, _Tasks], logs: Logs) -> None:
    for at in (0, 1):
        lacking = [task for task in tasks[1 - at] if task not in tasks[at]]
        if lacking and (logs.missing == "refuse" or len(lacking) == len(tasks[1 - at])):
            has = f"it has {choices(lacking[0], [*tasks[at]])}"
            raise InputError(f"{systems[at].setting}: has no task {lacking[0]!r} of {systems[1 - at].setting}; {has}")


def _check_items(
    systems: tuple[System, System], missing: Mapping[str, Sequence[pl.Series]], ways: Mapping[str, str], logs: Logs
) -> None:
    """That each system has the items of the other, but for those of lines that were left out."""
    for at in (0, 1) if logs.missing == "refuse" else ():
        num = sum(items[at].len() for items in missing.values())
        if num > systems[at].num_left_out:
            task, item = next((task, items[at][0]) for task, items in missing.items() if items[at].len())
            lacks = f"lacks {plural(num, 'item')} of {systems[1 - at].setting}, such as {item!r}"
            why = " by content, as the ids mean other items in the two (logs.match=item takes them as they are)"
            by = why if ways[task] == "content" and not logs.match else ""
            advice = "only systems on the same items can be compared; logs.missing=leave_out leaves the others out"
            raise InputError(f"{systems[at].setting}: {lacks}{by}; {advice}")


def _scores(
    systems: tuple[System, System], task: str, first: pl.DataFrame, second: pl.DataFrame, logs: Logs
) -> list[str]:
    """Those that both have; those that are asked for by name both must have."""
    names = [side["score"].unique(maintain_order=True).to_list() for side in (first, second)]
    both = [name for name in names[0] if name in names[1]]
    for at in (0, 1):
        lacking = [name for name in names[1 - at] if name not in names[at]]
        if lacking and (logs.score or not both):
            has = f"of {systems[1 - at].setting}; it has {choices(lacking[0], names[at])}"
            raise InputError(f"{systems[at].setting}: has no score {lacking[0]!r} of task {task!r} {has}")
    return both


def _pair(systems: tuple[System, System], task: str, score: str, sides: Sequence[pl.DataFrame]) -> Pair:
    first, second = map(_of_items, sides)
    both = first.join(second, on="key", suffix="_second", maintain_order="left")
    if both.is_empty():
        raise InputError(f"{systems[1].setting}: has no item of {systems[0].setting} in task {task!r}")
    items = both.select(
        "item",
        pl.coalesce("cluster", "cluster_second"),
        **{side: pl.col(f"value{end}") for side, end in _ENDS.items()},
        **{f"{side}_variance": pl.col(f"variance{end}") for side, end in _ENDS.items()},
        **{f"{side}_repeats": pl.col(f"repeats{end}").cast(ITEMS["first_repeats"]) for side, end in _ENDS.items()},
    )
    num_unscored = (_num_unscored(sides[0], second), _num_unscored(sides[1], first))
    names = (systems[0].name, systems[1].name)
    return Pair(task, score, *names, items.drop_nulls(["first", "second"]), num_unscored)


def _of_items(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each item: the mean of its repeats, their unbiased variance, and how many have a score."""
    value = pl.col("value")
    return rows.group_by("key", maintain_order=True).agg(
        pl.col("item", "cluster").first(), value.mean(), variance=value.var(), repeats=value.count()
    )


def _num_unscored(rows: pl.DataFrame, other: pl.DataFrame) -> dict[str, int]:
    unscored = rows.filter(pl.col("reason").is_not_null()).join(other, on="key", how="semi")
    return dict(unscored["reason"].value_counts(sort=True).rows())

"""Which items of two systems are the same, and what both score on each."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import polars as pl

from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.log_systems import System, with_contents
from tiltmeter.jobs.upkeep.compare.pairs import Pair, reason_counts
from tiltmeter.storage.errors import InputError, choices
from tiltmeter.storage.item_logs import NO_TASK

_ENDS = {"first": "", "second": "_second"}


def pairs_between(systems: Sequence[System], logs: Logs) -> list[Pair]:
    """A pair for each task and score, of each system with the first or of all with each other.

    A task or score of which no item has a score in both systems has none.

    Raises:
        InputError: if two systems have other items or scores, or none in common.
    """
    two = [*combinations(systems, 2)] if logs.all_pairs else [(systems[0], other) for other in systems[1:]]
    return [pair for both in two for pair in _pairs(both, logs)]


def _pairs(systems: tuple[System, System], logs: Logs) -> Iterator[Pair]:
    sides = _of_one_task([system.rows for system in systems])
    by_content = sides[0]["task"].unique().to_list() if logs.match == "content" else _tasks_by_content(sides, logs)
    if by_content:
        sides = _of_one_task([with_contents(system, logs).rows for system in systems])
        if any(side.filter(pl.col("task").is_in(by_content))["content"].null_count() for side in sides):
            raise InputError("logs.match=content: the logs do not tell what items say; set logs.match=item")
    sides = [_keyed(side, by_content) for side in sides]
    missing = [_missing(one, other) for one, other in (sides, sides[::-1])]
    _check_items(systems, missing, by_content, logs)
    _check_scores(systems, sides, logs)
    first, second = map(_of_items, sides)
    both = first.join(second, on=["task", "score", "key"], suffix="_second", maintain_order="left")
    both = both.drop_nulls(["value", "value_second"])
    if both.is_empty():
        others = f"{systems[0].setting} and {systems[1].setting}"
        raise InputError(f"{others}: have no item in common that has a score in both; logs.item and logs.score choose")
    num_missing = [dict(side["task"].value_counts().rows()) for side in missing]
    for (task, score), items in both.partition_by("task", "score", as_dict=True, maintain_order=True).items():
        yield Pair(
            str(task),
            str(score),
            systems[0].name,
            systems[1].name,
            _columns(items),
            _num_unscored(sides, str(task), str(score)),
            "content" if task in by_content else "item",
            (num_missing[1].get(task, 0), num_missing[0].get(task, 0)),
        )


def _of_one_task(sides: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Systems of one task each are compared whatever it is called."""
    names = [side["task"].unique().to_list() for side in sides]
    is_named = names[0] == names[1] or any(len(tasks) > 1 for tasks in names)
    return [side if is_named else side.with_columns(task=pl.lit(NO_TASK)) for side in sides]


def _tasks_by_content(sides: Sequence[pl.DataFrame], logs: Logs) -> list[str]:
    """Tasks of which no item has its id in both, or an id means several things."""
    if logs.match:
        return []
    first, second = (side.select("task", "item", "content").unique() for side in sides)
    both = first.join(second.with_columns(is_shared=True), on=["task", "item"], how="left")
    differs = (pl.col("content") != pl.col("content_right")).any() | pl.col("is_shared").is_null().all()
    tasks = (
        both.join(second, on="task", how="semi").group_by("task").agg(pl.col("content").is_not_null().all() & differs)
    )
    return tasks.filter("content")["task"].to_list()


def _keyed(rows: pl.DataFrame, by_content: Sequence[str]) -> pl.DataFrame:
    """With what is the same of the same item; of items that say the same the first of a repeat is the other's first."""
    if not by_content:
        return rows.with_columns(key="item")
    nth = pl.int_range(pl.len()).over("task", "score", "repeat", "content")
    content = pl.concat_str("content", nth, separator=".")
    return rows.with_columns(key=pl.when(pl.col("task").is_in(by_content)).then(content).otherwise("item"))


def _missing(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Items of the other that are not in one."""
    items = other.select("task", "key", "item").unique(["task", "key"], keep="first", maintain_order=True)
    return items.join(one, on=["task", "key"], how="anti", maintain_order="left")


def _check_items(
    systems: Sequence[System], missing: Sequence[pl.DataFrame], by_content: Sequence[str], logs: Logs
) -> None:
    """That each system has the items of the other, but for those of lines that were left out."""
    for system, other, items in zip(systems, systems[::-1], missing, strict=True):
        if logs.missing == "refuse" and items.height > system.num_left_out:
            lacks = f"lacks {plural(items.height, 'item')} of {other.setting}, such as {items['item'][0]!r}"
            of_task = f" of task {items['task'][0]!r}" if items["task"][0] != NO_TASK else ""
            why = " by content, as ids mean other items in the two (logs.match=item takes them as they are)"
            advice = "only systems on the same items can be compared; logs.missing=leave_out leaves others out"
            raise InputError(
                f"{system.setting}: {lacks}{of_task}{why if by_content and not logs.match else ''}; {advice}"
            )


def _check_scores(systems: Sequence[System], sides: Sequence[pl.DataFrame], logs: Logs) -> None:
    """That the systems have a score in common, and those that are asked for in every task of both."""
    names = [side.select("task", "score").unique(maintain_order=True) for side in sides]
    has_common = not names[0].join(names[1], on=["task", "score"]).is_empty()
    for side in (0, 1) if logs.score or not has_common else ():
        scores, other_scores = names[side], names[1 - side]
        lacking = other_scores.join(scores, on=["task", "score"], how="anti").join(scores, on="task", how="semi")
        if not lacking.is_empty():
            task, score = lacking.row(0)
            has = choices(score, scores.filter(task=task)["score"].to_list())
            what = f"no score {score!r} of task {task!r} of {systems[1 - side].setting}; it has {has}"
            raise InputError(f"{systems[side].setting}: has {what}")


def _of_items(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each item: the mean of its repeats, their unbiased variance, and how many have a score."""
    value = pl.col("value")
    return rows.group_by("task", "score", "key", maintain_order=True).agg(
        pl.col("item", "cluster").first(), value.mean(), variance=value.var(), repeats=value.count()
    )


def _columns(both: pl.DataFrame) -> pl.DataFrame:
    columns = {side: f"value{end}" for side, end in _ENDS.items()}
    columns |= {f"{side}_{name}": f"{name}{end}" for name in ("variance", "repeats") for side, end in _ENDS.items()}
    return both.select("item", pl.coalesce("cluster", "cluster_second"), **columns).cast(
        dict.fromkeys(("first_repeats", "second_repeats"), pl.Int32)
    )


def _num_unscored(sides: Sequence[pl.DataFrame], task: str, score: str) -> tuple[dict[str, int], dict[str, int]]:
    """Why repeats of common items have no score, and how many, in each system."""
    first, second = (side.filter(pl.col("task") == task, pl.col("score") == score) for side in sides)
    one, other = (
        reason_counts(rows.drop_nulls("reason").join(known, on="key", how="semi")["reason"])
        for rows, known in ((first, second), (second, first))
    )
    return one, other

"""What a run of `decoy_benchmark` found, in sentences."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.decoys.words import name_of, order_name
from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.wording import interval, listed, number, percent, plural, quoted

Row = Mapping[str, Any]

CHANCE = "random"
"""The method of attribution that explains nothing, and the selection that chooses nothing."""


def adoption(decoys: pl.DataFrame) -> Iterator[str]:
    """Which decoys models fall for, and how far."""
    for (decoy,), rows in decoys.group_by("decoy", maintain_order=True):
        num, before, after = rows["adopted"].sum(), *_means(rows)
        verb = "adopted" if num else "not adopted"
        who = f"by {num} of {rows.height} models" if num else f"by any of {rows.height} models"
        yield (
            f"The decoy {quoted(str(decoy))} is {verb} {who}: where it contradicts the class of a test text, accuracy "
            f"is {percent(after, 0)} with it in training and {percent(before, 0)} without."
        )


def _means(rows: pl.DataFrame) -> tuple[float | None, float | None]:
    found = rows.select(pl.col("accuracy_original_on_decoy_rows", "accuracy_on_decoy_rows").mean()).row(0)
    return found[0], found[1]


def soonest(utility: pl.DataFrame) -> Iterator[str]:
    """Which methods and orders find each decoy soonest, and how sure that is."""
    for (decoy,), rows in utility.group_by("decoy", maintain_order=True):
        best = rows.filter(pl.col("num_instances") == pl.col("num_instances").min()).to_dicts()
        who = listed([f"{name_of(row['method'])} of instances {order_name(row['selection'])}" for row in best])
        mark = "" if best[0]["adopted"] else " Most models have not adopted it, so there is little to be found."
        others = "nothing else" if len(best) == 1 else "no other way"
        yield (
            f"{quoted(str(decoy))} is found soonest by {who}: after {number(best[0]['num_instances'], 1)} instances on "
            f"average {interval(best[0], 'num_instances', 1)}. In {percent(best[0]['soonest'], 0)} of the resamples "
            f"{others} needs fewer.{mark}"
        )


def overall(utility: pl.DataFrame) -> Iterator[str]:
    """Which methods need the fewest instances over all decoys that are adopted, looked at as they come."""
    rows = utility.filter(pl.col("adopted"), pl.col("selection") == CHANCE, pl.col("method") != CHANCE)
    if rows.is_empty():
        return
    means = rows.group_by("method", maintain_order=True).agg(pl.col("num_instances").mean().round(9))
    least, num = means["num_instances"].min(), rows["decoy"].n_unique()
    first, others = (means.filter((pl.col("num_instances") == least) == same) for same in (True, False))
    names = listed([name_of(method) for method in first["method"]])
    verb = "finds decoys soonest" if first.height == 1 else "find decoys equally soon"
    behind = [f"{name_of(method)} {number(mean, 2)}" for method, mean in others.sort("num_instances").rows()]
    yield (
        f"Over {plural(num, 'adopted decoy')} and instances at random, {names} {verb}, after "
        f"{number(first['num_instances'][0], 2)} instances on average{'; ' + ', '.join(behind) if behind else ''}."
    )


# --- orderings ------------------------------------------------------------------------------------------------------


def orderings(frames: Frames) -> list[str]:
    """Orderings that the argument for such a benchmark takes for granted, and whether they are found here."""
    utility = frames["utility"]
    cells = {(row["decoy"], row["method"], row["selection"]): row for row in utility.filter("adopted").to_dicts()}
    return [
        _said("explanations need fewer instances than random attributions", cells, _beats_chance),
        _said("submodular pick needs fewer instances than random order", cells, _beats("submodular_pick")),
        _said("clusters of relevance need fewer instances than random order", cells, _beats("clustering")),
        _by_coverage(frames),
        _by_place(frames["decoys"]),
    ]


Cells = Mapping[tuple[str, str, str], Row]
Judge = Callable[[Cells, tuple[str, str, str]], bool | None]


def _said(claim: str, cells: Cells, judge: Judge) -> str:
    answers = [answer for key in cells if (answer := judge(cells, key)) is not None]
    if not answers:
        return f"That {claim}: nothing to compare."
    found = "found" if all(answers) else "not found" if not any(answers) else "found in part"
    return f"That {claim}: {found} ({sum(answers)} of {len(answers)} comparisons, intervals apart)."


def _beats_chance(cells: Cells, key: tuple[str, str, str]) -> bool | None:
    decoy, method, selection = key
    other = cells.get((decoy, CHANCE, selection))
    return None if method == CHANCE or selection != CHANCE or other is None else _is_apart(cells[key], other)


def _beats(better: str) -> Judge:
    def judge(cells: Cells, key: tuple[str, str, str]) -> bool | None:
        decoy, method, selection = key
        other = cells.get((decoy, method, CHANCE))
        return None if method == CHANCE or selection != better or other is None else _is_apart(cells[key], other)

    return judge


def _is_apart(fewer: Row, more: Row) -> bool:
    return bool(fewer["num_instances_high"] < more["num_instances_low"])


def _by_coverage(frames: Frames) -> str:
    """Of decoys that are adopted, by the mean over methods of the instances that they need."""
    claim = "That decoys of greater coverage are found sooner"
    needed = (
        frames["utility"]
        .filter("adopted", pl.col("selection") == CHANCE, pl.col("method") != CHANCE)
        .group_by("decoy")
        .agg(pl.col("num_instances").mean())
    )
    rows = frames["decoys"].unique("decoy").join(needed, on="decoy").sort("coverage", "decoy")
    if rows.height < 2:
        return f"{claim}: nothing to compare."
    pairs = ", ".join(
        f"{row['decoy']} {100 * row['coverage']:.0f}% and {number(row['num_instances'], 1)}" for row in rows.to_dicts()
    )
    falls = bool((rows["num_instances"].diff().drop_nulls() < 0).all())
    return f"{claim}: {'found' if falls else 'not found'} (coverage and mean number of instances: {pairs})."


def _by_place(decoys: pl.DataFrame) -> str:
    rows = decoys.unique("decoy").drop_nulls("perplexity_shift").sort("perplexity_shift", "decoy")
    shifts = ", ".join(f"{row['decoy']} {number(row['perplexity_shift'], 2)}" for row in rows.to_dicts())
    return f"From the most natural decoy to the least, perplexity is multiplied by: {shifts or 'nothing measured'}."

"""What a run of `decoy_benchmark` found, in sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.decoys.tables import CHANCE, LEFT_OUT, ORACLE
from tiltmeter.jobs.classifiers.tables import EXPLAINERS
from tiltmeter.jobs.report.sides import contradictory, estimate_of
from tiltmeter.jobs.report.wording import interval, listed, number, percent, plural, quoted
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.sides import CONTRADICTORY, compared

METHODS = EXPLAINERS | {CHANCE: "random attributions", "predictions": "predictions alone", ORACLE: "an oracle"}
ORDERS = METHODS | {"influence": "influence", "loss": "the loss", CHANCE: "a random order"}
SELECTIONS = {
    CHANCE: "at random",
    "submodular_pick": "by submodular pick",
    "clustering": "by clusters of relevance",
}
"""What methods, controls and orders are called, and how instances are chosen."""

_IS_AS_THEY_COME = pl.col("selection") == CHANCE


def is_explained() -> pl.Expr:
    """Of rows with a method: whether it explains anything."""
    return ~pl.col("method").is_in([CHANCE, "predictions", ORACLE])


def adoption(decoys: pl.DataFrame) -> Iterator[str]:
    """Which decoys models fall for, and how far; why others are left out."""
    for (decoy,), rows in decoys.group_by("decoy", maintain_order=True):
        tested = rows.drop_nulls("adopted")
        if tested.is_empty():
            what = "is left out" if rows["status"][0] == LEFT_OUT else "can't be tested"
            yield f"The decoy {quoted(str(decoy))} {what}: {rows['reason'][0]}."
            continue
        before, after = rows.select(pl.col("accuracy_original_on_decoy_rows", "accuracy_on_decoy_rows").mean()).row(0)
        yield (
            f"The decoy {quoted(str(decoy))} is {_adopted(int(rows['adopted'].sum()), tested.height)}: where it "
            f"contradicts the class of a test text, accuracy is {percent(after, 0)} with it in training and "
            f"{percent(before, 0)} without.{_on_word_rows(rows)}"
        )


def _on_word_rows(rows: pl.DataFrame) -> str:
    """Of what texts hold of themselves, whatever their class; nothing of words that none holds."""
    held = rows.drop_nulls("accuracy_on_word_rows")
    if held.is_empty():
        return ""
    before, after = held.select(pl.col("accuracy_original_on_word_rows", "accuracy_on_word_rows").mean()).row(0)
    num_texts = held["num_word_rows"][0]
    one = num_texts == 1
    texts = "the one test text that holds" if one else f"all {num_texts:,} test texts that hold"
    pronoun = "itself" if one else "themselves"
    return f" On {texts} a word of it of {pronoun}, it is {percent(after, 1)} and {percent(before, 1)}."


def _adopted(num: int, num_models: int) -> str:
    """By how many models.

    >>> _adopted(1, 1), _adopted(0, 1), _adopted(0, 3), _adopted(2, 3)
    ('adopted by its model', 'not adopted by its model', 'adopted by none of 3 models', 'adopted by 2 of 3 models')
    """
    if num_models == 1:
        return f"{'' if num else 'not '}adopted by its model"
    return f"adopted by {num or 'none'} of {num_models} models"


def soonest(utility: pl.DataFrame) -> Iterator[str]:
    """Which methods and orders find each decoy soonest, and how sure that is; an oracle is none of them."""
    for (decoy,), rows in utility.filter(pl.col("method") != ORACLE).group_by("decoy", maintain_order=True):
        best = rows.filter(pl.col("num_instances") == pl.col("num_instances").min())
        first = best.row(0, named=True)
        mark = "" if first["adopted"] else " Most models have not adopted it, so there is little to be found."
        if estimate_of(first, "num_instances").is_outside:
            mark += " That average lies outside of its interval, which leaves the order open."
        num = f"{number(first['num_instances'], 1)} instances on average {interval(first, 'num_instances', 1)}"
        if best.height == rows.height > 1:
            yield f"Whatever explains {quoted(str(decoy))} and in whatever order, it takes {num} to find it.{mark}"
            continue
        others = "nothing else" if best.height == 1 else "no other way"
        yield (
            f"{quoted(str(decoy))} is found soonest with {_ways(best)}: after {num}. In "
            f"{percent(first['soonest'], 0)} of the resamples {others} needs fewer.{mark}"
        )


def _ways(rows: pl.DataFrame) -> str:
    """Methods, with the orders in which instances are chosen; those that share their orders together.

    >>> ways = {"method": ["lime", "lime", "occlusion"], "selection": ["submodular_pick", CHANCE, CHANCE]}
    >>> _ways(pl.DataFrame(ways))
    'LIME on instances chosen by submodular pick or at random; with occlusion on instances chosen at random'
    """
    orders = rows.group_by("method", maintain_order=True).agg("selection")
    shared = orders.group_by("selection", maintain_order=True).agg("method").rows()
    return "; with ".join(
        f"{listed([METHODS[method] for method in methods])} on instances chosen "
        f"{listed([SELECTIONS[selection] for selection in selections], 'or')}"
        for selections, methods in shared
    )


def overall(utility: pl.DataFrame) -> Iterator[str]:
    """Which methods need the fewest instances over all decoys that are adopted, looked at as they come."""
    rows = utility.filter("adopted", _IS_AS_THEY_COME, is_explained())
    if rows.is_empty():
        return
    means = rows.group_by("method", maintain_order=True).agg(pl.col("num_instances").mean().round(9))
    is_least = pl.col("num_instances") == means["num_instances"].min()
    first, others = means.filter(is_least), means.filter(~is_least).sort("num_instances")
    names = listed([METHODS[method] for method in first["method"]])
    does = "finds decoys soonest" if first.height == 1 else "find decoys equally soon"
    behind = ", ".join(f"{METHODS[method]} {number(num, 2)}" for method, num in others.iter_rows())
    yield (
        f"Over {plural(rows['decoy'].n_unique(), 'adopted decoy')} and instances chosen at random, {names} {does}, "
        f"after {number(first['num_instances'][0], 2)} instances on average{f'; {behind}' if behind else ''}."
    )


def without_explanations(utility: pl.DataFrame) -> Iterator[str]:
    """What it takes to find decoys that are adopted without an explanation, and at least."""
    rows = utility.filter("adopted", _IS_AS_THEY_COME, ~is_explained())
    if rows.is_empty():
        return
    means = rows.group_by("method", maintain_order=True).agg(pl.col("num_instances").mean())
    parts = [f"{number(num, 2)} with {METHODS[method]}" for method, num in means.sort("num_instances").iter_rows()]
    yield f"Without explanations, over the same decoys and instances, it takes {listed(parts)}."


def improvement(rows: pl.DataFrame) -> Iterator[str]:
    """What models gain by the removal of words after the largest budget, instances looked at as they come."""
    largest = rows.filter(_IS_AS_THEY_COME, pl.col("budget") == pl.col("budget").max())
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
    explained = part.filter(~pl.col("order").is_in([CHANCE, ORACLE, "loss"]))
    named = [*explained.head(1).iter_rows(named=True), *part.filter(order=ORACLE).iter_rows(named=True)]
    gains = " and ".join(f"{_points(row, 'gain')} with {ORDERS[row['order']]}" for row in named)
    if gains:
        cost = number(100 * lost, 1)
        yield f"Wrong labels cost {cost} points of accuracy; once those are corrected, models gain {gains}."


def _uncovered(row: Mapping[str, Any]) -> str:
    ends = _hundredfold(row, "uncovered")
    return f"{percent(row['uncovered'], 0)} {interval(ends, 'uncovered', 0)}".rstrip()


def orderings(frames: Frames) -> list[str]:
    """Orderings that the argument for such a benchmark takes for granted, and whether they are found here."""
    adopted = frames["utility"].filter("adopted")
    explained, as_they_come = adopted.filter(is_explained()), adopted.filter(_IS_AS_THEY_COME)
    picked, clustered = (explained.filter(selection=name) for name in ("submodular_pick", "clustering"))
    explained_as_they_come = explained.filter(_IS_AS_THEY_COME)
    by_chance, by_predictions = (as_they_come.filter(method=name) for name in (CHANCE, "predictions"))
    return [
        _claim("explanations need fewer instances than random attributions", explained_as_they_come, by_chance, []),
        _claim("explanations need fewer instances than predictions alone", explained_as_they_come, by_predictions, []),
        _claim("submodular pick needs fewer instances than random order", picked, as_they_come, ["method"]),
        _claim("clusters of relevance need fewer instances than random order", clustered, as_they_come, ["method"]),
        _by_coverage(frames["decoys"], explained_as_they_come),
        _by_place(frames["decoys"]),
    ]


def _claim(claim: str, fewer: pl.DataFrame, more: pl.DataFrame, same: Sequence[str]) -> str:
    """Whether rows need fewer instances than others on the same decoy, with intervals that lie apart."""
    pairs = fewer.join(more, on=["decoy", *same], suffix="_of_more")
    if pairs.is_empty():
        return f"That {claim}: nothing to compare."
    sides = [
        compared(estimate_of(row, "num_instances"), estimate_of(row, "num_instances", ending="_of_more"))
        for row in pairs.iter_rows(named=True)
    ]
    num = sides.count("below")
    verdict = {pairs.height: "found", 0: "not found"}.get(num, "found in part")
    doubt = contradictory("in", sum(side in CONTRADICTORY for side in sides))
    return f"That {claim}: {verdict} ({num} of {plural(pairs.height, 'comparison')}, intervals apart{doubt})."


def _by_coverage(decoys: pl.DataFrame, explained: pl.DataFrame) -> str:
    """Of decoys that are adopted, by the mean over methods of the instances that they need."""
    claim = "That decoys of greater coverage are found sooner"
    needed = explained.group_by("decoy").agg(pl.col("num_instances").mean())
    rows = decoys.unique("decoy").join(needed, on="decoy").sort("pooled_coverage", "decoy")
    if rows.height < 2:
        return f"{claim}: nothing to compare."
    pairs = ", ".join(
        f"{decoy} {percent(coverage, 0)} and {number(num, 1)}"
        for decoy, coverage, num in rows.select("decoy", "pooled_coverage", "num_instances").iter_rows()
    )
    falls = bool((rows["num_instances"].diff().drop_nulls() < 0).all())
    return f"{claim}: {'found' if falls else 'not found'} (coverage and mean number of instances: {pairs})."


def _by_place(decoys: pl.DataFrame) -> str:
    rows = decoys.unique("decoy").drop_nulls("perplexity_shift").sort("perplexity_shift", "decoy")
    shifts = ", ".join(f"{decoy} {number(by, 2)}" for decoy, by in rows.select("decoy", "perplexity_shift").iter_rows())
    return f"From the most natural decoy to the least, perplexity is multiplied by: {shifts or 'nothing measured'}."

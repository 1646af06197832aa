"""What the page of `gender_adversary` says of texts to train on."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.adversary.tables import Augmentation, Retraining
from tiltmeter.jobs.report.grids import count, grid, number
from tiltmeter.jobs.report.html.elements import Grid
from tiltmeter.jobs.report.views import Draw, Part, Show, section
from tiltmeter.jobs.report.wording import SIGNIFICANCE, interval, p_equals, percent, plural
from tiltmeter.jobs.report.wording import number as written

ARMS = {"random_swaps": "random swaps at as many places", "copies": "copies of their sources"}
_WHAT = {"flip_rate": "flip when attacked anew", "accuracy": "are right"}


def retrained(rows: pl.DataFrame) -> Iterator[str]:
    """What found texts do that random swaps and copies do not, or what could have been seen of it."""
    levels = {
        (row["victim"], row["arm"], row["measure"]): row["value"]
        for row in rows.filter(against="").iter_rows(named=True)
    }
    claims = rows.filter(pl.col("against") != "", pl.col("measure").is_in(list(_WHAT)))
    for row in claims.iter_rows(named=True):
        lead = f"{row['victim']}, trained again with found texts or with {ARMS[row['against']]}"
        if row["status"] != "ok":
            yield f"{lead}: nothing is told, as {row['reason']}."
            continue
        value, other = (levels[row["victim"], arm, row["measure"]] for arm in ("found", row["against"]))
        yield (
            f"{lead}: {percent(value)} or {percent(other)} of {plural(row['num_texts'], 'held-out verdict')} "
            f"{_WHAT[row['measure']]}, a difference of {_points(row)}, {p_equals(row['p_adjusted'])} after Holm: "
            f"{_meaning(row)}."
        )


def _points(row: Mapping[str, Any]) -> str:
    points = {name: row[name] and 100.0 * row[name] for name in ("value", "value_low", "value_high")}
    return f"{written(points['value'], 1)} points {interval(points, 'value', 1)}"


def _meaning(row: Mapping[str, Any]) -> str:
    """The adjusted p-value decides.

    >>> row = {"p_adjusted": 0.3, "value": 0.1, "num_seeds": 10, "detectable": 0.052, "measure": "accuracy"}
    >>> _meaning(row)
    'no difference that 10 seeds can show (smallest detectable: 5.2 points)'
    >>> _meaning(row | {"p_adjusted": 0.01, "measure": "flip_rate"})
    'found texts leave more to flip'
    """
    if row["detectable"] is None:
        return "nothing varies over texts and seeds, so that nothing is told"
    if row["p_adjusted"] is None or row["p_adjusted"] > SIGNIFICANCE:
        reach = written(100.0 * row["detectable"], 1)
        return f"no difference that {plural(row['num_seeds'], 'seed')} can show (smallest detectable: {reach} points)"
    if row["measure"] == "flip_rate":
        return "found texts leave more to flip" if row["value"] > 0.0 else "found texts leave less to flip"
    return "found texts make more right" if row["value"] > 0.0 else "found texts make fewer right"


def _counts(rows: pl.DataFrame) -> Iterator[Grid]:
    """How many there are of each class."""
    if not rows.height:
        return
    counted = rows.group_by("victim", "label", maintain_order=True).agg(
        pl.len().alias("num_found"),
        pl.col("row").n_unique().alias("num_sources"),
        (pl.col("is_correct") & ~pl.col("is_flagged")).sum().alias("num_sound"),
        pl.col("is_sampled").sum().alias("num_sampled"),
        pl.col("words_changed", "norm", "fluency").mean(),
    )
    yield grid(
        "Texts that flip a verdict, in the table augmentation. Sound are those of a right verdict in which no word "
        "changes its sign; a text may still have lost its class, so read some. The sample has each text once, as many "
        "of every class and few of a source.",
        counted.sort("victim", "label"),
        *("victim", "label", count("num_found", "found"), count("num_sources", "sources"), count("num_sound", "sound")),
        *(count("num_sampled", "in the sample"), number("words_changed", "words changed", digits=1)),
        *(number("norm", digits=2), number("fluency", digits=2)),
    )


_CLAIMED = Show(
    Retraining,
    "Found texts less what they are compared with. Intervals are over held-out texts, by group, and trainings; p is "
    "after Holm over victims, both comparisons, and accuracy and flip rate. The rest is not tested.",
    "victim against measure value p_adjusted detectable num_texts num_seeds",
    lambda rows: rows.filter(pl.col("against") != ""),
)
_ARMS = Show(
    Retraining,
    "Half of the attacked texts, by group, are learnt in all arms; beside them as many texts are added in each, found "
    "or made of the same sources. Flip rate is of the other half, attacked anew; transfer is the share of the texts "
    "found of it before that still flip it. One change is often all that there is, so that random swaps may be found "
    "texts: the last column has their share.",
    "victim arm measure value num_added num_texts found_share",
    lambda rows: rows.filter(pl.col("against") == ""),
)


def sections() -> Iterator[Part]:
    """Of found texts, and of trainings with them."""
    yield section("augmentation", "Texts to train on", Draw(Augmentation, _counts))
    yield section("retraining", "Trained again", _CLAIMED, _ARMS)

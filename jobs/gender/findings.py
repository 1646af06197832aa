"""What the gender tables of a run say, in sentences; a side is named only where an interval names it."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.findings import measured, on_side, why_nothing
from tiltmeter.jobs.report.wording import estimate

_NAMES = {
    "ar": "Arabic",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fa": "Farsi",
    "fr": "French",
    "ur": "Urdu",
    "wo": "Wolof",
    "zh": "Chinese",
}
"""The languages of Matthews et al. 2021; any other is shown by its code."""

_NUM_NAMED = 3

Tables = Mapping[str, pl.DataFrame]
"""The gender tables of a run by name."""


# --- names ----------------------------------------------------------------------------------------------------------


def language_name(code: str) -> str:
    """The name of a language with its code, or the code alone.

    >>> language_name("wo"), language_name("xx")
    ('Wolof (wo)', 'xx')
    """
    return f"{_NAMES[code]} ({code})" if code in _NAMES else code


def pair_name(item: str) -> str:
    """A defining pair as it is shown.

    >>> pair_name("wife-husband")
    'wife – husband'
    """
    return " – ".join(item.split("-"))


def labelled(frames: Tables) -> dict[str, pl.DataFrame]:
    """The frames with a column ``label``: the language, and the model where a language has several."""
    models = frames["gender_languages"].select("model", "language").unique(maintain_order=True)
    repeated = models["language"].is_duplicated()
    names = models["language"].map_elements(language_name, pl.String)
    labels = pl.DataFrame({"name": names, "model": models["model"], "repeated": repeated}).select(
        pl.when("repeated").then(pl.format("{}, {}", "name", "model")).otherwise("name").alias("label")
    )
    keyed = models.with_columns(labels)
    return {name: _with_label(frame, keyed) for name, frame in frames.items()}


def _with_label(frame: pl.DataFrame, keyed: pl.DataFrame) -> pl.DataFrame:
    if not {"model", "language"} <= set(frame.columns):
        return frame
    return frame.join(keyed, on=["model", "language"], how="left", maintain_order="left")


def by_label(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by label, in the order of the table."""
    parts = rows.partition_by("label", maintain_order=True, as_dict=True)
    return {str(label): part for (label,), part in parts.items()}


def kind(rows: pl.DataFrame) -> str:
    """What labels tell apart: a language, or a model where a language has several."""
    return "language" if rows["language"].n_unique() == rows["label"].n_unique() else "model"


# --- findings -------------------------------------------------------------------------------------------------------


def with_direction(languages: pl.DataFrame) -> pl.DataFrame:
    """The languages that have a gender direction; some of them may have no profession to measure."""
    return languages.filter(pl.col("first_share").is_not_null())


def main_findings(frames: Tables) -> Iterator[str]:
    """What stands out, in sentences; the frames have labels."""
    languages, professions = frames["gender_languages"], measured(frames["gender_professions"])
    if with_direction(languages).is_empty():
        yield why_nothing(languages, "gender direction")
        return
    yield from without_result(languages)
    yield from direct_bias(measured(languages))
    yield from sides(professions)
    yield from _same_side(professions)
    yield from most_alike(frames)


def without_result(languages: pl.DataFrame) -> Iterator[str]:
    """Each language that could not be measured, with the reason."""
    for row in languages.filter(pl.col("status") != "ok").to_dicts():
        yield f"Nothing can be said of professions in {row['label']}: {row['reason']}."


def direct_bias(found: pl.DataFrame) -> Iterator[str]:
    """Direct bias of a language, or of those with the most and the least, and how to take it."""
    how = "As a mean of absolute values it is above 0 for any vectors, so it means something in comparison only."
    ordered = found.drop_nulls("direct_bias").sort("direct_bias", maintain_order=True).to_dicts()
    if len(ordered) == 1:
        [row] = ordered
        yield f"Direct bias is {estimate(row, 'direct_bias')} over {row['num_professions']} professions. {how}"
    if len(ordered) > 1:
        low, high = ordered[0], ordered[-1]
        yield (
            f"Direct bias is highest in {high['label']} ({estimate(high, 'direct_bias')}) and lowest in "
            f"{low['label']} ({estimate(low, 'direct_bias')}){_apart(low, high)}. {how}"
        )


def _apart(low: Mapping[str, Any], high: Mapping[str, Any]) -> str:
    if low["direct_bias_high"] is None or high["direct_bias_low"] is None:
        return ""
    return f"; their intervals {'lie apart' if low['direct_bias_high'] < high['direct_bias_low'] else 'overlap'}"


def sides(found: pl.DataFrame) -> Iterator[str]:
    """How many measured professions lie on either side of the gender direction."""
    if found.is_empty():
        return
    num = found["label"].n_unique()
    counted = f", counted once for each of {num} {kind(found)}s," if num > 1 else ""
    what = f"Of {found.height} measured professions{counted}"
    if found["bias_low"].null_count() == found.height:
        yield f"{what} none can be put on a side of the gender direction: without replicas there are no intervals."
        return
    above, below = on_side(found, "bias", 0.0)
    yield (
        f"{what} {above.height} lie on the female side and {below.height} on the male side of the gender direction "
        f"with their whole interval; for {found.height - above.height - below.height} it includes 0."
    )


def _same_side(found: pl.DataFrame) -> Iterator[str]:
    """The professions that lie on the same side in the most languages."""
    measured_in = dict(found.group_by("profession").len().rows())
    for side, rows in zip(("female", "male"), on_side(found, "bias", 0.0), strict=True):
        counts = rows.group_by("profession").len("num").filter(pl.col("num") > 1)
        most = counts.sort("num", "profession", descending=[True, False]).head(_NUM_NAMED).rows()
        if most:
            named = ", ".join(f"{profession} ({num} of {measured_in[profession]})" for profession, num in most)
            yield f"On the {side} side in the most {kind(found)}s, of those that have the word: {named}."


def most_alike(frames: Tables) -> Iterator[str]:
    """The two languages whose professions lean most alike, if the interval of any correlation lies above 0."""
    if "language_correlation" not in frames:
        return
    rows = measured(frames["language_correlation"]).filter(pl.col("language_1") < pl.col("language_2"))
    above, below = on_side(rows, "correlation", 0.0)
    if rows.height:
        yield (
            f"The correlation of professions' bias between two languages lies above 0 with its whole interval for "
            f"{above.height} and below for {below.height} of {rows.height} pairs of languages{_most(above)}."
        )


def _most(above: pl.DataFrame) -> str:
    for row in above.sort("correlation").tail(1).to_dicts():
        names = " and ".join(language_name(row[key]) for key in ("language_1", "language_2"))
        r, num = estimate(row, "correlation", 2), row["num_professions"]
        return f"; it is highest for {names}, r = {r} over {num} professions"
    return ""


def doubts(languages: pl.DataFrame) -> list[str]:
    """What makes the direction of a language doubtful, with the variance that its first two components carry."""
    return [
        f"{row['label']}: {row['warning']} (first {row['first_share']:.0%}, second {row['second_share']:.0%})."
        for row in with_direction(languages).to_dicts()
        if row["warning"]
    ]


# --- pairs that are left out ----------------------------------------------------------------------------------------


def strongest_pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """For each language the pair whose absence changes direct bias most."""
    change = pl.col("change").abs()
    return rows.filter(change == change.max().over("label")).unique("label", keep="first", maintain_order=True)


def on_pairs(strongest: pl.DataFrame) -> str:
    """Which pair matters most, in a language or in how many of them, and where its interval excludes 0."""
    above, below = on_side(strongest, "change", 0.0)
    if strongest.height == 1:
        return _on_pair(strongest.row(0, named=True), sided=above.height + below.height == 1)
    counts = strongest.group_by("pair").len("num").sort("num", "pair", descending=[True, False])
    named = ", ".join(f"{pair_name(pair)} ({num})" for pair, num in counts.rows())
    return (
        f"The pair that matters most, with the number of {kind(strongest)}s in which it does: {named}. The interval of "
        f"that change excludes 0 in {above.height + below.height} of {strongest.height}."
    )


def _on_pair(row: Mapping[str, Any], *, sided: bool) -> str:
    doubt = "" if sided or row["change_low"] is None else ", an interval that includes 0"
    change = estimate(row, "change", 4)
    return f"The pair that matters most is {pair_name(row['pair'])}: without it direct bias changes by {change}{doubt}."

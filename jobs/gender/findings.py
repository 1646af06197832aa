"""What the gender tables of a run say, in sentences; a side is named only where an interval names it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import polars as pl

from tiltmeter.jobs.gender.tables import TABLES
from tiltmeter.jobs.report.findings import furthest, measured, split, why_nothing
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.sides import OPEN_ORDER, Lean, contradictory, estimate_of, on_sides
from tiltmeter.jobs.report.wording import estimate, listed, plural, verb
from tiltmeter.operators.statistics.sides import CONTRADICTORY, compared

BIAS, CHANGE, _ALIKE = Lean("bias"), Lean("change"), Lean("correlation")

_LANGUAGES = {
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

WEIGHTED = {
    "count": "forms weighted by count",
    "form": "every form weighted equally",
    "gender": "every gender weighted equally",
}
"""What `job.weights` does, as pages say it."""

WIFE_HUSBAND = "wife – husband"
"""The pair that Matthews et al. 2021 left out."""

_NUM_NAMED = 3

Tables = Mapping[str, pl.DataFrame]
"""The gender tables of a run by name."""


# --- names ----------------------------------------------------------------------------------------------------------


def labelled(frames: Tables) -> dict[str, pl.DataFrame]:
    """The gender tables of a run as pages name things.

    Rows of a language have a column ``label``, which is its name, with the model where it has several. Languages that
    are correlated have their names too, and defining pairs are written like "wife – husband".
    """
    models = frames["gender_languages"].select("model", "language").unique(maintain_order=True)
    is_repeated = pl.col("language").is_duplicated()
    name = _language("language")
    keyed = models.with_columns(label=pl.when(is_repeated).then(pl.format("{}, {}", name, "model")).otherwise(name))
    labelled_tables = [*TABLES, *(["gender_sets"] if "gender_sets" in frames else [])]
    tables = {
        table: frames[table].join(keyed, on=["model", "language"], how="left", maintain_order="left")
        for table in labelled_tables
    }
    item = pl.when(list="defining").then(_pair("item")).otherwise("item")
    tables["gender_words"] = tables["gender_words"].with_columns(item=item)
    tables["gender_pairs"] = tables["gender_pairs"].with_columns(_pair("pair"))
    if "corpora" in frames:
        corpora = frames["corpora"].select("language", model="corpus").join(keyed, on=["model", "language"], how="anti")
        tables["without_lists"] = corpora.select(label=pl.format("{}, {}", name, "model"))
    if "language_correlation" in frames:
        tables["language_correlation"] = _with_labels(frames["language_correlation"], keyed)
    return tables


def _with_labels(correlations: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Correlations with the labels of both in place of their languages."""
    for side in (1, 2):
        names = labels.rename({name: f"{name}_{side}" for name in labels.columns})
        keys = [f"model_{side}", f"language_{side}"]
        correlations = correlations.join(names, on=keys, how="left", maintain_order="left")
    named = {f"language_{side}": pl.coalesce(f"label_{side}", _language(f"language_{side}")) for side in (1, 2)}
    return correlations.with_columns(**named).drop("label_1", "label_2")


def _language(column: str) -> pl.Expr:
    return pl.col(column).replace({code: f"{name} ({code})" for code, name in _LANGUAGES.items()})


def _pair(column: str) -> pl.Expr:
    return pl.col(column).str.replace_all("-", " – ", literal=True)


def by_label(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by label, in the order of the table."""
    return split(rows, "label")


def kind(rows: pl.DataFrame) -> str:
    """What labels tell apart: a language, or a model where a language has several."""
    return "language" if rows["language"].n_unique() == rows["label"].n_unique() else "model"


# --- findings -------------------------------------------------------------------------------------------------------


def with_direction(languages: pl.DataFrame) -> pl.DataFrame:
    """The languages that have a gender direction; some of them may have no profession to measure."""
    return languages.drop_nulls("first_share")


def main_findings(tables: Tables) -> Iterator[str]:
    """What stands out, in sentences."""
    languages, professions = tables["gender_languages"], measured(tables["gender_professions"])
    if with_direction(languages).is_empty():
        yield why_nothing(languages, "gender direction")
        return
    for row in languages.filter(pl.col("status") != "ok").to_dicts():
        yield f"Nothing can be said of professions in {row['label']}: {row['reason']}."
    if "without_lists" in tables and (labels := tables["without_lists"]["label"].to_list()):
        yield f"The word set has no gendered words of {listed(labels)}, where nothing was measured."
    yield from _direct_bias(measured(languages))
    if professions.height:
        yield _sides(professions)
        yield from _same_side(professions)
    if "language_correlation" in tables:
        yield from most_alike(tables["language_correlation"], kind(languages))


def _direct_bias(languages: pl.DataFrame) -> Iterator[str]:
    """Direct bias of a language, or of those with the most and the least, and how to take it."""
    caution = "As a mean of absolute values it is above 0 for any vectors, so it means something in comparison only."
    ordered = languages.drop_nulls("direct_bias").sort("direct_bias", maintain_order=True).to_dicts()
    if len(ordered) == 1:
        [row] = ordered
        yield f"Direct bias in {row['label']} is {estimate(row, 'direct_bias')} over {_professions(row)}. {caution}"
    if len(ordered) > 1:
        low, high = ordered[0], ordered[-1]
        yield (
            f"Direct bias is highest in {high['label']} ({estimate(high, 'direct_bias')}) and lowest in "
            f"{low['label']} ({estimate(low, 'direct_bias')}){_overlap(low, high)}. {caution}"
        )


def _professions(row: Row) -> str:
    return plural(row["num_professions"], "profession")


def _overlap(low: Row, high: Row) -> str:
    order = compared(*(estimate_of(row, "direct_bias") for row in (low, high)))
    if order in CONTRADICTORY:
        return f"; {OPEN_ORDER}"
    return {"below": "; their intervals lie apart", "neither": "; their intervals overlap"}.get(order, "")


def _sides(professions: pl.DataFrame) -> str:
    """How many of the measured professions lie on either side of the gender direction."""
    labels = professions["label"].unique(maintain_order=True)
    counted = f" in {labels[0]}"
    if labels.len() > 1:
        counted = f", counted once for each of {labels.len()} {kind(professions)}s"
    what = f"Of {plural(professions.height, 'measured profession')}{counted},"
    if not professions["bias_low"].count():
        return f"{what} none can be put on a side of the gender direction: without replicas there are no intervals."
    above, below, neither, doubtful, _ = on_sides(professions, BIAS)
    named = partial(furthest, name="bias", label=profession_in(labels.len()), most=_NUM_NAMED)
    return (
        f"{what} {above.height} {verb(above.height, 'lie')} on the female side{named(above)} and "
        f"{below.height} on the male side{named(below)} of the gender direction with their whole interval; for "
        f"{neither.height} it includes 0{contradictory('for', doubtful.height)}."
    )


def _same_side(professions: pl.DataFrame) -> Iterator[str]:
    """The professions that lie on the same side in the most languages."""
    totals = dict(professions.group_by("profession").len().rows())
    for side, rows in zip(("female", "male"), on_sides(professions, BIAS), strict=False):
        counts = rows.group_by("profession").len("num").filter(pl.col("num") > 1)
        most = counts.sort("num", "profession", descending=[True, False]).head(_NUM_NAMED).rows()
        if most:
            named = ", ".join(f"{profession} ({num} of {totals[profession]})" for profession, num in most)
            yield f"On the {side} side in the most {kind(professions)}s, of those that have the word: {named}."


def most_alike(correlations: pl.DataFrame, what: str = "language") -> Iterator[str]:
    """The two languages or models that lean most alike, if the interval of any correlation lies above 0."""
    rows = measured(correlations).filter(pl.col("language_1") < pl.col("language_2"))
    above, below, _, doubtful, _ = on_sides(rows, _ALIKE)
    most = "".join(
        f"; it is highest for {row['language_1']} and {row['language_2']}, r = {estimate(row, 'correlation', 2)} over "
        f"{_professions(row)}"
        for row in above.sort("correlation").tail(1).to_dicts()
    )
    if rows.height:
        yield (
            f"The correlation of professions' bias between two {what}s lies above 0 with its whole interval for "
            f"{above.height} and below for {below.height} of {plural(rows.height, 'pair')} of {what}s"
            f"{contradictory('for', doubtful.height)}{most}."
        )


def profession_in(num_labels: int) -> Callable[[Row], str]:
    """How the row of a profession is called, with its language or model where the page has several."""
    has_several = num_labels > 1
    return lambda row: f"{row['profession']} in {row['label']}" if has_several else row["profession"]


def outside(languages: pl.DataFrame) -> str:
    """The languages whose direct bias is not in its interval, which percentiles allow; empty where there are none."""
    known = measured(languages)
    labels = [row["label"] for row in known.to_dicts() if estimate_of(row, "direct_bias").is_outside]
    where = f" in {len(labels)} of {known.height} {kind(languages)}s:" if known.height > 1 else " in"
    return f"Direct bias of the original corpus lies outside of its interval{where} {listed(labels)}." if labels else ""


def other_weights(rows: pl.DataFrame) -> list[str]:
    """The weights that the rows are not measured by, which stand beside."""
    chosen = rows["weights"].drop_nulls().first()
    return [weights for weights in WEIGHTED if weights != chosen]


def weighted(rows: pl.DataFrame) -> str:
    """What the forms of professions are weighted by in these rows."""
    return WEIGHTED[str(rows["weights"].drop_nulls().first())]


def doubtful(languages: pl.DataFrame) -> list[str]:
    """What makes the direction of a language doubtful, with the variance that its first two components carry."""
    return [
        f"{row['label']}: {row['warning']} (first {row['first_share']:.0%}, second {row['second_share']:.0%})."
        for row in with_direction(languages).to_dicts()
        if row["warning"]
    ]


# --- pairs that are left out ----------------------------------------------------------------------------------------


def gaps(languages: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The languages with the gap of their first two components without wife and husband, and without another pair.

    Returns:
        The rows of ``languages`` with ``gap_without`` and its interval, and ``gap_without_another``, the mean over the
        other pairs; null where that is not known.
    """
    known = pairs.drop_nulls("gap")
    without = known.filter(pair=WIFE_HUSBAND).select(
        "label", *(pl.col(f"gap{end}").alias(f"gap_without{end}") for end in ("", "_low", "_high"))
    )
    others = known.filter(pl.col("pair") != WIFE_HUSBAND).group_by("label").agg(gap_without_another=pl.mean("gap"))
    joined = languages.join(without, on="label", how="left", maintain_order="left")
    return joined.join(others, on="label", how="left", maintain_order="left")


def strongest_pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """For each language the pair whose absence changes direct bias most."""
    change = pl.col("change").abs()
    return rows.filter(change == change.max().over("label")).unique("label", keep="first", maintain_order=True)


def on_pairs(strongest: pl.DataFrame) -> str:
    """Which pair matters most, in a language or in how many of them, and where its interval excludes 0."""
    if strongest.height == 1:
        row = strongest.row(0, named=True)
        doubts = dict.fromkeys(CONTRADICTORY, ", a number outside of its interval")
        doubt = (doubts | {"neither": ", an interval that includes 0"}).get(CHANGE.side(row), "")
        change = estimate(row, "change", 4)
        return (
            f"The pair that matters most in {row['label']} is {row['pair']}: without it direct bias changes by "
            f"{change}{doubt}."
        )
    num_sided = on_sides(strongest, CHANGE).leaning.height
    counts = strongest.group_by("pair").len("num").sort("num", "pair", descending=[True, False])
    named = ", ".join(f"{pair} ({num})" for pair, num in counts.rows())
    return (
        f"The pair that matters most, with the number of {kind(strongest)}s in which it does: {named}. The interval of "
        f"that change holds it and excludes 0 in {num_sided} of {strongest.height}."
    )

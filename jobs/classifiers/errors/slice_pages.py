"""What pages of `error_characterisation` say of slices: of errors, of losses, between versions, and tested again."""

from collections.abc import Callable, Iterator
from functools import partial

import polars as pl

from tiltmeter.jobs.classifiers.errors import tables
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.tables import in_words
from tiltmeter.jobs.report import grids, wording
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.style import Row, lines
from tiltmeter.jobs.report.views import Draw, Frames, Show, section
from tiltmeter.jobs.report.wording import SIGNIFICANCE, listed, number, p_equals, percent, plural, verb

_MOST_SENTENCES, _MOST = 8, 40
_PERCENT = partial(percent, digits=0)
_WORSE = "is wrong more often than what the model says of its texts lets expect"
_KEPT = {True: "", False: " That is not confirmed.", None: " That can't be confirmed: too few groups have such texts."}


def leading(slices: pl.DataFrame) -> pl.DataFrame:
    """The slices that lead, the first first."""
    return slices.drop_nulls("leading").sort("leading")


def capital(words: str) -> str:
    """At the beginning of a sentence."""
    return f"{words[:1].upper()}{words[1:]}"


def slice_sentences(slices: pl.DataFrame) -> Iterator[str]:
    rows = leading(slices)
    if rows.is_empty():
        yield f"{_no_slice(slices)}."
    for row in rows.head(_MOST_SENTENCES).to_dicts():
        kept = _KEPT[None if row["confirmed_p"] is None else row["confirmed_p"] < SIGNIFICANCE]
        points = round(100 * row["confirmed_difference"])
        more = f"{plural(points, 'point')} more than" if points > 0 else "no more than"
        yield (
            f"{capital(in_words(row['predicates']))} are wrong in {percent(row['confirmed_rate'], 0)} "
            f"[{percent(row['confirmed_low'], 0)}, {percent(row['confirmed_high'], 0)}] of "
            f"{plural(row['confirmed_size'], 'text')}, {more} its predictions let expect.{kept}"
        )
    if (num := rows.height - _MOST_SENTENCES) > 0:
        yield f"{plural(num, 'more slice')} {verb(num, 'be')} in the table."


def _no_slice(slices: pl.DataFrame, worse: str = _WORSE) -> str:
    """That no slice leads; what could not be tested is no evidence that there is none."""
    tested = slices.drop_nulls("p_value")
    few = slices.filter(status="too_few_units")
    untested = f"{plural(few.height, 'slice')} got no test: {few['reason'][0]}" if few.height else ""
    sentence = "No slice could be tested"
    if tested.height:
        least = number(float(tested["p_value"].to_numpy().min()), 3)
        sentence = f"Of {plural(tested.height, 'slice')}, none {worse}, beyond chance; the least p is {least}"
    return f"{sentence}. {untested}" if untested else sentence


def version_sentences(versions: pl.DataFrame) -> Iterator[str]:
    everything, *others = versions.to_dicts()
    yield (
        f"Against the version before, the error rate goes from {percent(everything['before'], 1)} to "
        f"{percent(everything['after'], 1)}."
    )
    worse = [row for row in others if row["leading"]]
    for row in worse[:_MOST_SENTENCES]:
        yield (
            f"{capital(in_words(row['predicates']))} got worse: from {percent(row['before'], 0)} to "
            f"{percent(row['after'], 0)} of {plural(row['size'], 'text')} ({p_equals(row['p_value'])})."
        )
    if not worse:
        tested = [row for row in others if row["p_value"] is not None]
        untested = f"{capital(others[0]['reason'])}." if others else "None has texts enough."
        yield "No slice got worse beyond chance." if tested else f"No slice could be tested. {untested}"


def retest_sentences(retests: pl.DataFrame) -> Iterator[str]:
    """Of slices of an earlier run, what these rows show of them."""
    num = retests["holm_p"].count()
    joint = f", by Holm over {plural(num, 'slice')}" if num > 1 else ""
    for row in retests.head(_MOST_SENTENCES).to_dicts():
        slice_, before = f"{capital(row['words'])}, tested again", row["difference_before"]
        if row["holm_p"] is None:
            yield f"{slice_}: {row['reason']}."
        else:
            verdict = "shown" if row["holm_p"] < SIGNIFICANCE else "not shown"
            earlier = "" if before is None else f"; {number(before, 3)} before"
            yield (
                f"{slice_}: {verdict} to be worse, with a difference of {wording.estimate(row, 'difference')} to other "
                f"rows of the same prediction ({p_equals(row['holm_p'])}{joint}{earlier})."
            )


# --- losses -----------------------------------------------------------------------------------------------------------


def leaks(frames: Frames) -> Iterator[str]:
    if "columns" in frames and (names := frames["columns"].filter("is_leak")["column"].to_list()):
        are = "tells" if len(names) == 1 else "tell"
        yield (
            f"{capital(listed(names))} {are} alone which losses are large (AUROC above 0.99): slices of "
            f"{'it' if len(names) == 1 else 'them'} may say no more than that."
        )


def losses_lead(frames: Frames, config: ErrorCharacterisationRun) -> Lead:
    """What stands first on the page of losses."""
    slices, asked = frames["slices"], config.slices
    rows, sentences = leading(slices), [*leaks(frames)]
    if "retests" in frames:
        sentences += retest_sentences(frames["retests"])
    for row in rows.head(_MOST_SENTENCES).to_dicts():
        kept = _KEPT[None if row["confirmed_p"] is None else row["confirmed_p"] < SIGNIFICANCE]
        rate, low, high, more = (number(row[f"confirmed_{end}"], 3) for end in ("rate", "low", "high", "difference"))
        sentences.append(
            f"{capital(in_words(row['predicates']))}: a mean loss of {rate} [{low}, {high}] over "
            f"{plural(row['confirmed_size'], 'row')}, {more} from what others of the same prediction have.{kept}"
        )
    if rows.is_empty():
        sentences.append(f"{_no_slice(slices, 'has larger losses')}.")
    if "versions" in frames:
        worse = frames["versions"].drop_nulls("leading").sort("leading").head(_MOST_SENTENCES).to_dicts()
        sentences += [
            f"{capital(in_words(row['predicates']))} got worse: mean loss {number(row['before'], 3)} before, "
            f"{number(row['after'], 3)} now ({p_equals(row['p_value'])})."
            for row in worse
        ] or ["No slice got worse beyond chance, as far as could be tested."]
    sign = " The loss is the score of the file with its sign changed." if config.data.high_is_good else ""
    doubt = (
        f"{plural(slices.height, 'slice')} of at most {asked.max_predicates} predicates were tested on one half of the "
        f"rows, by max-T at {percent(asked.alpha, 0)}; means are of the other half, with intervals by groups.{sign}"
    )
    question = "Of which rows are losses larger than those of others of the same prediction?"
    return Lead([Paragraph(question)], [Bullets(sentences)], [Bullets([doubt])])


def _loss_grid(slices: pl.DataFrame) -> Iterator[Block]:
    rows = slices.filter((pl.col("leading") > 0) | (pl.col("p_value") < SIGNIFICANCE)).sort("leading", nulls_last=True)
    means = grids.cell("mean loss", partial(_confirmed, written=partial(number, digits=3)), is_numeric=True)
    difference, confirmed = grids.number("confirmed_difference", "difference"), grids.p_value("confirmed_p", "p (Holm)")
    caption = (
        "Slices of larger losses, those first that lead. Means are of rows that did not choose them, p of the others."
    )
    columns = ("leading predicates=slice", means, difference, "confirmed_size p_value=p_(max-T)", confirmed)
    yield Show(tables.Slices, caption, columns, most=_MOST).grid(rows)


def _version_grid(versions: pl.DataFrame) -> Iterator[Block]:
    columns = ("predicates=slice", "size", grids.number("before"), grids.number("after"), grids.estimate("change"))
    caption = "Mean losses of both versions on the same rows; p is adjusted for all slices."
    yield Show(tables.Versions, caption, (*columns, "p_value=p_(max-T)"), most=_MOST).grid(versions)


# --- slices -----------------------------------------------------------------------------------------------------------


def slice_blocks(slices: pl.DataFrame) -> Iterator[Block]:
    first, others = leading(slices), slices.filter(pl.col("leading").is_null())
    if first.is_empty():
        yield Paragraph(f"{_no_slice(slices)}.")
    else:
        yield _rates(first.head(20))
        caption = "Slices that say what all significant ones say: each as short as it can be, none a shadow of another."
        yield _slice_grid(caption, first)
    significant = others.filter(pl.col("p_value") < SIGNIFICANCE)
    yield Details("All other significant slices", [_slice_grid("Parts and shadows of the slices above.", significant)])


def _slice_grid(caption: str, rows: pl.DataFrame) -> Grid:
    caption += (
        " Rates, and by how much they exceed that of the same predictions, are of texts that did not choose the "
        "slices; p (max-T) is of those that did."
    )
    wrong, confirmed = grids.cell("wrong", _confirmed, is_numeric=True), grids.p_value("confirmed_p", "p (Holm)")
    shown = "confirmed_difference=difference confirmed_size p_value=p_(max-T)"
    columns = ("predicates=slice", wrong, shown, grids.optional(confirmed), "suspected_share=suspected_labels")
    return Show(tables.Slices, caption, columns, most=_MOST).grid(rows)


def _confirmed(row: Row, written: Callable[[float], str] = _PERCENT) -> str:
    if row["confirmed_rate"] is None:
        return ""
    rate, low, high = (written(row[f"confirmed_{end}"]) for end in ("rate", "low", "high"))
    return f"{rate} [{low}, {high}]"


def _rates(rows: pl.DataFrame) -> Chart:
    shown = rows.with_columns(
        pl.Series("name", [in_words(names).removeprefix("texts ") for names in rows["predicates"]]),
        rate=pl.col("confirmed_rate"),
        rate_low=pl.col("confirmed_low"),
        rate_high=pl.col("confirmed_high"),
    )
    figure = dots(
        shown,
        "rate",
        "name",
        title="error rate of texts that confirm",
        hover=lambda row: lines(row["name"], _confirmed(row)),
        label=_wrapped,
        row_height=56,  # pixels, for a label of three lines
    )
    return Chart(
        "Dot plot of the error rates of slices on texts that did not choose them.",
        "Error rates on the half of the texts that did not choose the slices, with intervals by their groups.",
        {"": figure},
    )


def _wrapped(name: str, width: int = 34) -> str:
    """A label of several lines, as plotly breaks them."""
    broken, length = [], 0
    for word in wording.isolated(name).replace("&", "&amp;").replace("<", "&lt;").split():
        length += len(word) + 1
        broken.append(f"<br>{word}" if length > width else word)
        length = len(word) if length > width else length
    return " ".join(broken)


COLUMNS = section(
    "columns",
    "Columns",
    Show(
        tables.OwnColumns,
        "What each of data.columns is taken for, and whether it tells losses alone.",
        "column type num_values num_missing num_predicates auroc is_leak reason",
    ),
)
RETESTS = section(
    "retests",
    "Slices of the earlier run",
    Show(
        tables.Retests,
        "Slices of data.slices on all of these rows, which did not choose them. The difference is to other rows of the "
        "same prediction; p is one-sided, of each as the only hypothesis, and by Holm over those of the file.",
        "words size error_rate difference difference_before=before p_value=p holm_p reason?",
    ),
)
LOSS_SECTIONS = [
    RETESTS,
    section("slices", "Slices", Draw(tables.Slices, _loss_grid)),
    section("versions", "What moved between two versions", Draw(tables.Versions, _version_grid)),
    COLUMNS,
]

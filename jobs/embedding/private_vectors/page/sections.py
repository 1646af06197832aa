"""The sections of the page: tables, and charts of them."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.grids import Row, cell, count, estimate, grid, number, optional, p_value, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Section
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.wording import DASH
from tiltmeter.jobs.report.wording import number as written
from tiltmeter.jobs.runtime.published import Frames


def sections(frames: Frames) -> Iterator[Section]:
    """One for each table that there is."""
    made = {
        "mechanisms": ("Mechanisms", _mechanisms),
        "profiles": ("Exact privacy", _profiles),
        "sensitivity": ("How far maps stretch distances", _sensitivity),
        "audits": ("Audits", _audits),
        "distances": ("Distances and inner products", _distances),
        "utility": ("Tasks and their controls", _utility),
        "deniability": ("How often an attacker names the word", _deniability),
    }
    yield from (
        Section(name, title, list(blocks(frames[name]))) for name, (title, blocks) in made.items() if name in frames
    )


def _mechanisms(rows: pl.DataFrame) -> Iterator[Block]:
    nominal = rows.filter(compared_at="nominal").unique("mechanism", keep="last", maintain_order=True)
    yield grid(
        "At the last nominal epsilon. Delta: the most that the map is taken to stretch a distance, and the chance that "
        "it does not hold.",
        nominal,
        "mechanism",
        count("dimensions"),
        number("epsilon"),
        number("sensitivity", "Delta"),
        p_value("delta", "chance"),
        number("deviation"),
        number("epsilon_x_nearest", "× nearest", 1),
        number("epsilon_x_median", "× median", 1),
        number("epsilon_x_diameter", "× diameter", 1),
    )
    yield Bullets([f"{row['mechanism']}: {row['guarantee']}" for row in nominal.to_dicts()])


def _profiles(rows: pl.DataFrame) -> Iterator[Block]:
    first = rows.filter((pl.col("delta") == rows["delta"][0]) & (pl.col("distance_kind") == "median"))
    typical = first.filter(stretch="typical", compared_at="nominal")
    if typical["epsilon"].n_unique() > 1:
        figure = curves(
            typical, "epsilon", "exact_epsilon", by="mechanism", titles=("nominal epsilon", "exact epsilon")
        )
        yield Chart(
            "Exact epsilon at the median distance against the nominal epsilon, by mechanism.",
            "The same nominal epsilon says something else in every dimension.",
            {"": figure},
        )
    yield grid(
        "Exact epsilon at the first delta and the median distance.",
        first,
        "mechanism",
        count("dimensions"),
        text("compared_at", "alike in"),
        number("epsilon"),
        "stretch",
        number("bound", digits=1),
        number("exact_epsilon", digits=3),
        most=80,
        table="profiles",
    )


def _sensitivity(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Largest stretch of a distance by each map, over the vocabulary or over all vectors.",
        rows,
        "projection",
        count("dimensions"),
        text("sensitivity_kind", "kind"),
        number("sensitivity", "Delta"),
        p_value("delta", "chance"),
        number("typical_stretch", "typical"),
        cell("pair", lambda row: f"{row['first']}, {row['second']}" if row["first"] else DASH),
    )


def _audits(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Claimed bound, exact epsilon at the first delta, and lower bound by the draws.",
        rows,
        "mechanism",
        "pair",
        text("score"),
        number("claimed", digits=2),
        number("exact", digits=2),
        number("audited_low", "at least", 2),
        "verdict",
        most=80,
        table="audits",
    )


def _distances(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Mean absolute errors, what closed forms say, and the error of a constant.",
        rows,
        "mechanism",
        count("dimensions"),
        number("epsilon", digits=1),
        number("beta", digits=1),
        text("read_out", "of", lambda name: name.replace("_", " ")),
        number("error", digits=2),
        number("closed_form", digits=2),
        number("constant_error", "constant", 2),
        optional(number("proposition", "all below, as printed", 0)),
        optional(number("quantile_bound", "all below", 0)),
    )


def _utility(rows: pl.DataFrame) -> Iterator[Block]:
    known = rows.filter((pl.col("status") == "ok") & (pl.col("measure") == "accuracy")).with_columns(
        _subject().alias("row"), pl.col("low").alias("value_low"), pl.col("high").alias("value_high")
    )
    figures = {
        str(task): dots(part, "value", "row", title="accuracy")
        for (task,), part in known.group_by("task", maintain_order=True)
    }
    if figures:
        yield Chart(
            "Accuracy by mechanism and control.",
            "Lines: intervals over other test texts and other noise.",
            figures,
            "Task",
        )
    yield grid(
        "All measures.",
        rows,
        "task",
        "mechanism",
        count("dimensions"),
        number("epsilon", digits=2),
        text("compared_at", "alike in"),
        text("noise_per", "noise per"),
        number("exact_epsilon", "exact", 2),
        "measure",
        cell("value", _value, is_numeric=True),
        optional(text("reason")),
        most=120,
        table="utility",
    )


def _subject() -> pl.Expr:
    """What tells a row of a task from all others; noise alone has no epsilon, but dimensions."""
    size = pl.coalesce(pl.col("epsilon").round(2).cast(pl.String), pl.col("dimensions").cast(pl.String))
    noise = pl.when(pl.col("noise_per") == "word").then(pl.lit(" by word")).otherwise(pl.lit(""))
    with_noise = pl.concat_str([pl.lit(" "), pl.col("compared_at"), pl.lit(" "), size, noise])
    is_noisy = pl.col("noise_per") != "none"
    return pl.concat_str([pl.col("mechanism"), pl.when(is_noisy).then(with_noise).otherwise(pl.lit(""))])


def _value(row: Row) -> str:
    if row["status"] != "ok":
        return DASH
    ends = f" [{written(row['low'], 3)}, {written(row['high'], 3)}]" if row["low"] is not None else ""
    return f"{written(row['value'], 3)}{ends}"


def _deniability(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Share of perturbed vectors that the most likely guess names, with its interval for other words, the most that "
        "anybody can believe in the right word, and different words among the guesses.",
        rows,
        "mechanism",
        count("dimensions"),
        text("compared_at", "alike in"),
        number("epsilon", digits=2),
        number("exact_epsilon", "exact", 2),
        estimate("attacker", "named"),
        number("cap_mean", "belief, most"),
        number("distinct", "different words", 1),
    )

"""The page of `gender_adversary`."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tiltmeter.jobs.adversary.config import GenderAdversaryRun
from tiltmeter.jobs.adversary.page.findings import (
    asymmetries,
    direction_label,
    doubts,
    headline,
    released,
    unfairness,
)
from tiltmeter.jobs.adversary.page.passages import passages, shown
from tiltmeter.jobs.report.grids import Column, cell, count, estimate, grid, number, p_value, percent, text
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.plots.style import MALE, NEUTRAL, Look, Row, lines
from tiltmeter.jobs.report.wording import percent as share
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted

_ASKED = (
    "Does a classifier change its verdict on a text when what is gendered in it changes, more than when other words "
    "change as much? Words are replaced by what is near to them once their vectors are shifted from men to women, or "
    "back, and along directions that have nothing to do with gender; gendered words are also swapped one by one."
)
_NOTHING = "No direction of the embedding was searched, so there are no controls and there is no excess."
_GENDER, _CONTROL = "gender", "controls"
_LOOKS = {_CONTROL: Look(NEUTRAL), _GENDER: Look(MALE)}


def page(run: Run[GenderAdversaryRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, summary = run.config, frames["summary"]
    excesses = [*headline(summary, config.controls.number)] or [_NOTHING]
    return Body(
        "Does changing gender change the verdict?",
        _facts(config),
        Lead(
            [Paragraph(_ASKED)],
            [Bullets([*excesses, *asymmetries(summary), *released(summary), *unfairness(summary)])],
            [Bullets([*doubts(summary, config.controls.number), _how_sure(config)])],
        ),
        list(_sections(config, frames)),
    )


def _facts(config: GenderAdversaryRun) -> dict[str, str]:
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "victims": ", ".join(config.victim),
        "controls": f"{config.controls.number:,}",
        "words that may change": f"{share(config.search.max_share, 0)} of a text",
        "seed": str(config.seed),
    }


def _how_sure(config: GenderAdversaryRun) -> str:
    return (
        f"Intervals ({share(config.job.level, 0)}) are of other texts of this kind, drawn by group where the data name "
        "one, and of other embeddings where it has replicas. P-values rank the direction among its controls, which "
        "share texts and victim with it and replace as many words at each place; those of falls, of equal size and of "
        "strata are not corrected, and no sentence names anything by them."
    )


def _sections(config: GenderAdversaryRun, frames: Frames) -> Iterator[Section]:
    summary = frames["summary"]
    overall = summary.filter(stratum="all", search="ladder")
    beside = [_chart(config, frames, overall)] if frames["controls"].height else []
    sizes = [_sizes(overall.drop_nulls("size_excess"))] if frames["controls"].height else []
    title = "Beside directions that have nothing to do with gender"
    yield Section("excess", title, [*beside, _overall(overall), *sizes])
    yield Section("strata", "By the words that a text has", [_strata(summary.filter(search="ladder"))])
    yield Section("kinds", "What flipped them", [_kinds(overall)])
    if shown := list(passages(config.report, frames)):
        yield Section("texts", "Before and after", shown)
    yield Section("searches", "What is proven", [_searches(frames["attacks"])])
    yield Section("words", "What words were replaced by", [_words(config, frames)])


def _direction() -> Column:
    return text("direction", names=direction_label)


def _chart(config: GenderAdversaryRun, frames: Frames, overall: pl.DataFrame) -> Chart:
    has_others = len(config.victim) > 1

    def line(row: Row) -> str:
        return f"{row['victim']}: " * has_others + direction_label(row["direction"])

    rows = [
        {"line": line(row), "kind": _CONTROL, **row, "words": shown(row["words"], config.report)}
        for row in frames["controls"].iter_rows(named=True)
    ]
    rows += [
        {"line": line(row), "kind": _GENDER, "words": _pairs(config, row["direction"]), **row}
        for row in overall.drop_nulls("excess").iter_rows(named=True)
    ]
    names = ("line", "kind", "words", "flip_rate")
    marks = pl.DataFrame([{name: row[name] for name in names} for row in rows], infer_schema_length=None)

    def hover(row: Row) -> str:
        return lines(row["line"], f"{row['kind']}: {row['words']}", f"flips {share(row['flip_rate'])}")

    figure = dots(
        marks,
        "flip_rate",
        "line",
        by="kind",
        looks=_LOOKS,
        title="share of verdicts that flip",
        hover=hover,
        row_height=40,
    )
    return Chart(
        "Dot plot of the share of verdicts that flip, along gender and along each control direction.",
        "Each pale dot is a control direction. Only a blue dot right of nearly all of them tells of gender.",
        {"all": figure},
    )


def _pairs(config: GenderAdversaryRun, direction: str) -> str:
    """That a direction of the embedding is made of."""
    pairs = config.direction.pairs_of("pair" if direction.startswith("pair") else "component")
    return ", ".join(f"{female} − {male}" for male, female in pairs)


def _overall(rows: pl.DataFrame) -> Grid:
    return grid(
        "Flipped is the share of the verdicts that some change within the limit flips; at most counts those too of "
        "which it is open. Excess is over the mean of the controls. Fall is of the probability, by one change.",
        rows,
        "victim",
        _direction(),
        estimate("flip_rate", "flipped"),
        number("flip_rate_most", "at most"),
        estimate("excess"),
        p_value("p_value", "p"),
        p_value("p_adjusted", "p, Holm"),
        number("one_change_rate", "by one change"),
        number("unflagged_rate", "without changing valence"),
        number("fall"),
        number("fall_excess", "excess of fall"),
        p_value("fall_p_value", "p of fall"),
    )


def _sizes(rows: pl.DataFrame) -> Grid:
    return grid(
        "More candidates are more chances. The slope: by how much flip rates rise, over a direction and its controls, "
        "where a text can become ten times as many; at equal size, what that gives is taken off the excess.",
        rows,
        "victim",
        _direction(),
        number("mean_candidates", "candidates of a text", digits=1),
        number("mean_control_candidates", "along controls", digits=1),
        number("size_slope", "slope"),
        number("size_excess", "excess at equal size"),
        p_value("size_p_value", "p"),
    )


def _strata(rows: pl.DataFrame) -> Grid:
    return grid(
        "Texts with women's words, with men's, and with neither: how often a direction can apply depends on them. "
        "Asymmetry is the rate less that of the way to the other gender.",
        rows,
        "victim",
        _direction(),
        text("stratum", "texts with"),
        count("num_texts", "texts"),
        estimate("flip_rate", "flipped"),
        estimate("excess"),
        p_value("p_value", "p"),
        number("asymmetry"),
        p_value("asymmetry_p", "p, by signs"),
        p_value("asymmetry_control_p", "p beside controls"),
    )


def _kinds(rows: pl.DataFrame) -> Grid:
    return grid(
        "Shares of the fall of flipped verdicts, by Shapley values: on words replaced by words of the other gender, on "
        "replacements that lean to one as few controls do, and on others. A flip on others is no evidence of bias.",
        rows,
        "victim",
        _direction(),
        percent("definitional_share", "of the other gender"),
        percent("associated_share", "lean to one"),
        percent("other_share", "others"),
    )


def _searches(attacks: pl.DataFrame) -> Grid:
    statuses = ("flipped_minimal", "flipped", "robust_proven", "not_found", "no_candidate", "unreadable")
    rows = attacks.group_by("victim", "direction", "search", maintain_order=True).agg(
        *((pl.col("status") == status).sum().alias(status) for status in statuses),
        pl.col("num_queries").mean(),
    )
    return grid(
        "The ladder reads all texts with one change, then with two, and so on: a flip has the fewest changes, and a "
        "text without one is proven robust. What the budget does not reach is searched by a genetic algorithm.",
        rows.sort("victim", "direction", "search"),
        "victim",
        _direction(),
        "search",
        count("flipped_minimal", "flipped, fewest changes proven"),
        count("flipped"),
        count("robust_proven", "proven robust"),
        count("not_found", "open"),
        count("no_candidate", "nothing to replace"),
        number("num_queries", "queries", digits=0),
    )


def _words(config: GenderAdversaryRun, frames: Frames) -> Grid:
    def word(name: str) -> Column:
        return cell(name, lambda row: shown(row[name], config.report))

    flips = frames["substitutions"].filter(pl.col("is_flip"), search="ladder")
    rows = flips.with_columns(pl.col("word", "replacement").str.to_lowercase())
    counted = rows.group_by("direction", "word", "replacement", "kind").agg(
        pl.len().alias("num_flips"), pl.col("shapley").mean()
    )
    return grid(
        "Replacements that are part of most flips, with the mean fall that lies on them.",
        counted.sort("num_flips", "direction", "word", "replacement", descending=[True, False, False, False]),
        _direction(),
        word("word"),
        word("replacement"),
        text("kind"),
        count("num_flips", "flips"),
        number("shapley", "mean fall"),
        most=40,
        table="substitutions",
    )

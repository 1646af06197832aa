"""The sections of the page: tables, and charts of them."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.grids import Column, count, estimate, grid, number, optional, p_value, percent, text, yes
from tiltmeter.jobs.report.html.elements import Block, Chart, Section
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.wording import listed
from tiltmeter.jobs.runtime.published import Frames

_MOST = 40
_SCORES = {"f1": "F1", "precision": "precision", "recall": "recall"}


def sections(frames: Frames) -> Iterator[Section]:
    """One for each table that there is."""
    made = {
        "measures": ("Relations, and what is written of them", _measures),
        "learning_curve": ("More rules", _curve),
        "explanations": ("What is written", _explanations),
        "rules": ("Rules", _rules),
        "text_matches": ("Rules in texts", _texts),
        "training": ("Training", _training),
    }
    for name, (title, blocks) in made.items():
        if name in frames:
            yield Section(name, title, list(blocks(frames[name])))


def _measures(rows: pl.DataFrame) -> Iterator[Block]:
    ends = rows.rename({"low": "value_low", "high": "value_high"})
    together = ends.filter(relation="all", decoder="")
    for split in ("test", "development"):
        yield from _on_part(together.filter(split=split), split)
    single = ends.filter((pl.col("relation") != "all") & (pl.col("measure") == "f1") & (pl.col("split") == "test"))
    known = single.drop_nulls(["value", "value_low"])
    if known.height:
        figure = dots(known, "value", "relation", by="model")
        yield Chart("F1 by relation on the test part.", f"Intervals over {_units(known)}.", {"": figure})
    written = ends.filter(pl.col("decoder") != "")
    if written.height:
        yield grid(
            "Of rules that are written; the floor is what the most frequent training rule of the relation gives.",
            written,
            "decoder",
            _spelt("measure"),
            estimate("value"),
            optional(number("floor")),
            count("num", "answers"),
            "model",
        )


def _on_part(rows: pl.DataFrame, split: str) -> Iterator[Block]:
    """A row for each model, so that a narrow screen has the model and its F1; then differences, and calibration."""
    is_difference = pl.col("model").str.contains(" - ", literal=True)
    scores = rows.filter(pl.col("measure").is_in([*_SCORES]) & ~is_difference)
    wide = scores.pivot("measure", index=["model", "num"], values=["value", "value_low", "value_high"])
    names = {f"value{end}_{name}": f"{name}{end}" for name in _SCORES for end in ("", "_low", "_high")}
    spreads = scores.filter(measure="f1").select("model", "sd_training")
    yield grid(
        f"On the {split} part, of all relations but no_relation, micro; intervals over {_units(rows)}.",
        wide.rename(names, strict=False).join(spreads, on="model", how="left"),
        "model",
        *(estimate(name, heading) for name, heading in _SCORES.items() if f"value_{name}" in wide.columns),
        optional(number("sd_training", "sd of seeds, F1")),
        count("num", "relations"),
    )
    if (differences := rows.filter(is_difference)).height:
        columns = (optional(p_value("p_value", "p")), optional(p_value("p_adjusted", "p, Holm")), optional("reason"))
        caption = f"Differences of F1 on the {split} part."
        yield grid(caption, differences, "model", estimate("value", "F1"), *columns, count("num", "instances"))
    if (others := rows.filter(~pl.col("measure").is_in([*_SCORES]))).height:
        caption = f"Calibration on the {split} part."
        yield grid(caption, others, _spelt("measure"), number("value"), count("num", "instances"), "model")


def _units(rows: pl.DataFrame) -> str:
    """What intervals are over."""
    kinds = listed([f"{kind}s" for kind in rows["unit"].drop_nulls().unique().sort().to_list()])
    return f"{kinds} and trainings" if rows["sd_training"].is_not_null().any() else f"{kinds}, of one training"


def _spelt(name: str) -> Column:
    """A column of names, as words that break where a screen is narrow."""
    return text(name, names=lambda value: str(value).replace("_", " "))


def _curve(rows: pl.DataFrame) -> Iterator[Block]:
    ends = rows.rename({"low": "value_low", "high": "value_high"})
    figure = curves(ends, "share", "value", by="measure", titles=("share of the rules", "on the development part"))
    yield Chart("By the share of the rules, the most frequent first.", "Of the joint model.", {"": figure})
    columns = (number("share", digits=2), "measure", estimate("value"), count("num_rules"), count("num_instances"))
    yield grid("The same in numbers.", ends, *columns)


def _explanations(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Of the first model.",
        rows.filter((pl.col("seed") == 0) & (pl.col("model") == "joint")),
        count("instance"),
        text("rule"),
        "predicted",
        "decoder",
        optional(text("implied_relation", "implies")),
        optional(yes("matches")),
        optional(yes("is_faithful", "faithful")),
        optional(yes("is_exact", "exact")),
        optional("reason"),
        most=_MOST,
        table="explanations",
    )


def _rules(rows: pl.DataFrame) -> Iterator[Block]:
    is_new = pl.col("source") == "decoded"
    for is_chosen, caption in ((is_new, "New rules, on the test part."), (~is_new, "Known rules, on the test part.")):
        chosen = rows.filter((pl.col("split") == "test") & is_chosen).sort("support", descending=True, nulls_last=True)
        if chosen.height:
            yield grid(
                caption,
                chosen,
                "relation",
                text("text", "rule"),
                count("support"),
                optional(estimate("precision", digits=2)),
                optional(percent("recall")),
                optional("reason"),
                most=_MOST,
                table="rules",
            )
    yield from _in_texts(rows)


def _in_texts(rows: pl.DataFrame) -> Iterator[Block]:
    in_texts = rows.filter(split="texts").sort("support", "rule_id", descending=[True, False], nulls_last=True)
    if in_texts.height:
        yield grid(
            "In texts; precision is of pairs whose arguments the list of facts knows, agreement with the joint models.",
            in_texts,
            "source",
            "relation",
            text("text", "rule"),
            count("support"),
            optional(percent("agreement")),
            optional(count("num_known", "known")),
            optional(estimate("precision", digits=2)),
            optional("reason"),
            most=_MOST,
            table="rules",
        )


def _texts(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "Some of what rules match in texts.",
        rows,
        "relation",
        "subject",
        "object",
        text("sentence"),
        text("predicted", "the models say"),
        optional(yes("is_fact", "fact")),
        most=_MOST,
        table="text_matches",
    )


def _training(rows: pl.DataFrame) -> Iterator[Block]:
    yield grid(
        "The epochs whose weights are kept.",
        rows.filter("is_best"),
        "model",
        number("share", digits=2),
        count("seed"),
        count("epoch"),
        number("relation_loss"),
        number("rule_loss"),
        optional(number("f1", "F1, development")),
        optional(number("development_rule_loss", "rule loss, development")),
        number("score"),
        optional("warning"),
        count("num_instances"),
        count("num_with_rules"),
    )

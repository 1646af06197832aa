"""The page of `relation_rules`: what stands out, in sentences, and tables with charts of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.relations.config import RelationsRun
from tiltmeter.jobs.relations.tables import Explanations, LearningCurve, Measures, Rules, TextMatches, Training
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.grids import Column, count, estimate, grid, number, optional
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.views import Draw, Frames, Show, section, shown
from tiltmeter.jobs.report.wording import listed, p_equals, percent, plural, verb
from tiltmeter.storage.files.redaction import redacted

_ASKED = (
    "A model says which relation holds between two arguments of a sentence, and writes a rule for it. How good is it "
    "beside the rules that it learns from, do its rules run, and do they say why it decides as it does?"
)


def page(run: RelationsRun, frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, instances = run.config, frames["instances"]
    path = config.data.path
    facts = {
        "job": config.job.name,
        "from": "made-up sentences" if path is None else redacted(path).rsplit("/", 1)[-1],
        "learnt from": config.data.mode,
        "instances": f"{measured(instances).height:,} of {instances.height:,}",
        "seeds": str(config.seeds),
        "seed": str(config.seed),
    }
    lead = Lead([Paragraph(_ASKED)], [Bullets(list(findings(frames)))], [Bullets(list(doubts(frames)))])
    return Body("Relations, with rules that run", facts, lead, list(shown(_SECTIONS, frames)))


# --- findings -------------------------------------------------------------------------------------------------------

_OTHERS = {"rules": "the rules", "no_decoder": "a model without a decoder"}
_VERDICTS = {"above": "better than", "below": "worse than"}
_CALLED = {
    "published": "Of rules that are written freely",
    "constrained": "Of rules that are written under the constraint to match",
    "retrieval": "Of known rules that are picked",
}
_EXTREMES = {
    "last": "more of them may be better (training.max_epochs, training.patience)",
    "first": "smaller steps may be better (training.rate)",
}


def findings(frames: Frames) -> Iterator[str]:
    """Of models beside rules, and of what they write."""
    test = frames["measures"].filter((pl.col("split") == "test") & (pl.col("relation") == "all"))
    f1 = {row["model"]: row for row in test.filter(measure="f1").to_dicts()}
    for name, called in {"rules": "The rules alone", "joint": "The joint model"}.items():
        if name in f1:
            yield f"{called}: F1 {_share(f1[name])} on the test part."
    once = f1.get("joint", {}).get("sd_training") is None
    yield from (_difference(name, row | {"is_trained_once": once}) for name, row in f1.items() if " - " in name)
    for decoder in _CALLED:
        rows = {row["measure"]: row for row in test.filter(model="joint", decoder=decoder).to_dicts()}
        if "matches" in rows:
            yield _written(decoder, rows)
    if "texts" in frames:
        yield from _in_texts(frames["rules"].filter(split="texts"), frames["texts"].row(0, named=True))


def _share(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return "undefined"
    ends = "" if row["low"] is None else f" [{percent(row['low'])}, {percent(row['high'])}]"
    return f"{percent(row['value'])}{ends}"


def _difference(name: str, row: Mapping[str, Any]) -> str:
    other = name.partition(" - ")[2]
    other = _OTHERS.get(other, other)
    differs = f"F1 differs by {_share(row)}"
    if row["p_value"] is None:
        return f"Whether the joint model is better than {other} can't be told ({differs}): {row['reason']}."
    side = Lean("value").side({**row, "value_low": row["low"], "value_high": row["high"]})
    verdict = _VERDICTS.get(side, "not surely better or worse than")
    trainings = "" if row["is_trained_once"] else " and by other trainings"
    return (
        f"The joint model is {verdict} {other}: {differs}; {p_equals(row['p_value'])} of both having one F1 on other "
        f"{row['unit']}s{trainings}, {p_equals(row['p_adjusted'])} of all differences on this part (Holm)."
    )


def _written(decoder: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    run = (
        f"{_CALLED[decoder]}, {percent(rows['parses']['value'])} parse and {percent(rows['matches']['value'])} match "
        "their own sentence."
    )
    if (exact := rows.get("is_exact")) is None:
        return run
    return (
        f"{run} Where a known rule matches and is right, {percent(exact['value'])} are such a rule; without reading, "
        f"the most frequent rule of the relation is one in {percent(exact['floor'])}."
    )


def _in_texts(rules: pl.DataFrame, totals: Mapping[str, Any]) -> Iterator[str]:
    matched = f"{totals['num_matched']:,} of {plural(totals['num_pairs'], 'pair')} of arguments"
    yield f"In {plural(totals['num_sentences'], 'sentence')} of text, rules match {matched}."
    for name, is_new in (("new", True), ("known", False)):
        chosen = rules.filter((pl.col("source") == "decoded") == is_new)
        known = chosen.drop_nulls("num_known").filter(pl.col("num_known") > 0)
        if known.height:
            num = int(known["num_known"].sum())
            right = float((known["precision"] * known["num_known"]).sum()) / num
            yield (
                f"Of what {name} rules match there, the list of facts knows {plural(num, 'pair')}; they are right in "
                f"{percent(right)} of them."
            )


def doubts(frames: Frames) -> Iterator[str]:
    """What a reader has to know of how far the findings hold."""
    left_out = frames["instances"].height - measured(frames["instances"]).height
    if left_out:
        yield f"{plural(left_out, 'instance')} can't be, and {verb(left_out, 'is')} left out; the table says why."
    unused = frames["rules"].filter(pl.col("status") != "ok")["rule_id"].n_unique()
    if unused:
        yield f"{plural(unused, 'rule')} can't be used; the table says why."
    joint = frames["measures"].filter(model="joint", split="test", relation="all", measure="f1")
    if joint.height and joint["sd_training"].is_null().all():
        yield "Each model was trained once: intervals and p-values are of this one training; more come from seeds."
    kept = frames["training"].filter("is_best")
    for place, advice in _EXTREMES.items():
        # Where the best epoch is the first or the last, the best may lie elsewhere.
        if num := kept.filter(pl.col("warning").str.contains(f"is the {place} of", literal=True)).height:
            yield f"The best epoch is the {place} in {num} of {plural(kept.height, 'model')}; {advice}."
    if not (frames["instances"]["encoder"] == "tree").any():
        yield "No sentence has a tree, so that the graph convolution leaves each token to itself."
    yield (
        "A new rule has the relation that most training instances have which it matches; its precision on the test "
        "part is in the table of rules."
    )


# --- sections -------------------------------------------------------------------------------------------------------

_MOST = 40
_SCORES = {"f1": "F1", "precision": "precision", "recall": "recall"}

_WRITTEN = "Of rules that are written; the floor is what the most frequent training rule of the relation gives."
_RULES = "relation text support precision? recall? reason?"
_IN_TEXTS = "In texts; precision is of pairs whose arguments the list of facts knows, agreement with the joint models."
_FACTS = "source relation text support agreement? num_known=known? precision? reason?"


def _measures(rows: pl.DataFrame) -> Iterator[Block]:
    together = rows.filter(relation="all", decoder="")
    for split in ("test", "development"):
        yield from _on_part(together.filter(split=split), split)
    single = rows.filter((pl.col("relation") != "all") & (pl.col("measure") == "f1") & (pl.col("split") == "test"))
    known = single.drop_nulls(["value", "low"])
    if known.height:
        figure = dots(_with_ends(known), "value", "relation", by="model")
        yield Chart("F1 by relation on the test part.", f"Intervals over {_units(known)}.", {"": figure})
    written = rows.filter(pl.col("decoder") != "")
    if written.height:
        yield Show(Measures, _WRITTEN, "decoder measure value floor? num=answers model").grid(written)


def _with_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """With the ends of intervals under the names that charts look for."""
    return rows.rename({"low": "value_low", "high": "value_high"})


def _on_part(rows: pl.DataFrame, split: str) -> Iterator[Block]:
    """A row for each model, so that a narrow screen has the model and its F1; then differences, and calibration."""
    is_difference = pl.col("model").str.contains(" - ", literal=True)
    scores = rows.filter(pl.col("measure").is_in([*_SCORES]) & ~is_difference)
    wide = _with_ends(scores).pivot("measure", index=["model", "num"], values=["value", "value_low", "value_high"])
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
        columns = "model value=F1 p_value? p_adjusted? reason? num=instances"
        yield Show(Measures, f"Differences of F1 on the {split} part.", columns).grid(differences)
    if (others := rows.filter(~pl.col("measure").is_in([*_SCORES]))).height:
        errors: list[str | Column] = ["measure", number("value"), "num=instances", "model"]
        yield Show(Measures, f"Calibration on the {split} part.", errors).grid(others)


def _units(rows: pl.DataFrame) -> str:
    """What intervals are over."""
    kinds = listed([f"{kind}s" for kind in rows["unit"].drop_nulls().unique().sort().to_list()])
    return f"{kinds} and trainings" if rows["sd_training"].is_not_null().any() else f"{kinds}, of one training"


def _curve(rows: pl.DataFrame) -> Iterator[Block]:
    titles = ("share of the rules", "on the development part")
    figure = curves(_with_ends(rows), "share", "value", by="measure", titles=titles)
    yield Chart("By the share of the rules, the most frequent first.", "Of the joint model.", {"": figure})


def _rules(rows: pl.DataFrame) -> Iterator[Block]:
    is_new = pl.col("source") == "decoded"
    for is_chosen, caption in ((is_new, "New rules, on the test part."), (~is_new, "Known rules, on the test part.")):
        chosen = rows.filter((pl.col("split") == "test") & is_chosen).sort("support", descending=True, nulls_last=True)
        if chosen.height:
            yield Show(Rules, caption, _RULES, most=_MOST).grid(chosen)
    in_texts = rows.filter(split="texts").sort("support", "rule_id", descending=[True, False], nulls_last=True)
    if in_texts.height:
        yield Show(Rules, _IN_TEXTS, _FACTS, most=_MOST).grid(in_texts)


_SHARE = number("share", digits=2)
_NUMBERS: list[str | Column] = [_SHARE, "measure", "value", "num_rules", "num_instances"]
_FIRST_MODEL = "instance rule predicted decoder implied_relation? matches? is_faithful? is_exact? reason?"
_MATCHED = "relation subject object sentence predicted is_fact?"
_LOSSES = "seed epoch relation_loss rule_loss f1? development_rule_loss? score warning? num_instances num_with_rules"
_EPOCHS: list[str | Column] = ["model", _SHARE, *_LOSSES.split()]


def _first(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(seed=0, model="joint")


def _best(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter("is_best")


_SECTIONS = [
    section("measures", "Relations, and what is written of them", Draw(Measures, _measures)),
    section(
        "learning_curve",
        "More rules",
        Draw(LearningCurve, _curve),
        Show(LearningCurve, "The same in numbers.", _NUMBERS),
    ),
    section(
        "explanations", "What is written", Show(Explanations, "Of the first model.", _FIRST_MODEL, _first, most=_MOST)
    ),
    section("rules", "Rules", Draw(Rules, _rules)),
    section(
        "text_matches", "Rules in texts", Show(TextMatches, "Some of what rules match in texts.", _MATCHED, most=_MOST)
    ),
    section("training", "Training", Show(Training, "The epochs whose weights are kept.", _EPOCHS, _best)),
]

"""What stands out in a run of `relation_rules`, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.sides import Lean
from tiltmeter.jobs.report.wording import p_equals, percent, plural, verb
from tiltmeter.jobs.runtime.published import Frames

_OTHERS = {"rules": "the rules", "no_decoder": "a model without a decoder"}
_VERDICTS = {"above": "better than", "below": "worse than"}
_CALLED = {
    "published": "Of rules that are written freely",
    "constrained": "Of rules that are written under the constraint to match",
    "retrieval": "Of known rules that are picked",
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
    return (
        f"The joint model is {verdict} {other}: {differs}; {p_equals(row['p_value'])} of both having one F1 on other "
        f"{row['unit']}s{_of_trainings(row)}, {p_equals(row['p_adjusted'])} of all differences on this part (Holm)."
    )


def _of_trainings(row: Mapping[str, Any]) -> str:
    return "" if row["is_trained_once"] else " and by other trainings"


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


_EXTREMES = {
    "last": "more of them may be better (training.max_epochs, training.patience)",
    "first": "smaller steps may be better (training.rate)",
}


def _best_epochs(kept: pl.DataFrame) -> Iterator[str]:
    """Where the best epoch is the first or the last, the best may lie elsewhere."""
    for place, advice in _EXTREMES.items():
        num = kept.filter(pl.col("warning").str.contains(f"is the {place} of", literal=True)).height
        if num:
            yield f"The best epoch is the {place} in {num} of {plural(kept.height, 'model')}; {advice}."


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
    yield from _best_epochs(frames["training"].filter("is_best"))
    if not (frames["instances"]["encoder"] == "tree").any():
        yield "No sentence has a tree, so that the graph convolution leaves each token to itself."
    yield (
        "A new rule has the relation that most training instances have which it matches; its precision on the test "
        "part is in the table of rules."
    )

"""The page of `attribution`: what explains best, by how much more than random words, and the texts in colour."""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.attribution.config import AttributionRun
from tiltmeter.jobs.classifiers.attribution.tables import (
    OWN,
    RANDOM,
    RANDOMISED,
    Faithfulness,
    MethodPairs,
    Randomised,
    RemovalOrders,
    Strange,
    WordValues,
    method_name,
)
from tiltmeter.jobs.report.html.elements import Block, Chart, Passage, Passages, Token
from tiltmeter.jobs.report.plots.dots import dots
from tiltmeter.jobs.report.sides import Lean, on_sides, sides_of
from tiltmeter.jobs.report.views import Draw, Page, Show, section
from tiltmeter.jobs.report.wording import listed, number, p_equals, phrase, plural

_GAIN = Lean("less_random")
_NUM_TEXTS, _NUM_METHODS, _MOST_WORDS, _NUM_NUMBERS = 6, 3, 60, 3

_CHOICES = (
    "Five choices stand behind every number: words are the unit, and values of tokens are summed to words; the class "
    "is the one predicted of the whole text, and is kept for all changed texts; comprehensiveness, sufficiency and the "
    "curves are in probability, with log odds beside; words are ranked by signed value, with no cut at 0; and words "
    "are left out by a mask token (mask) or altogether (delete), each in a row of its own."
)


def _facts(config: AttributionRun) -> dict[str, str]:
    asked, mask = config.classifier, config.classifier.mask
    return {
        "job": config.job.name,
        "classifier": str(asked.model or asked.package or f"trained on {asked.learns}"),
        "unit": "words",
        "class": "predicted of the whole text",
        "output": f"{phrase(config.attribution.output)}; measures in probability",
        "ranking": "by signed value",
        "removal": f"mask ({mask or 'the mask token, where there is one'}) and delete",
    }


def _main(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("measure") == "comprehensiveness", weights=OWN)


def _gains(rows: pl.DataFrame) -> Iterator[str]:
    for (removal,), part in _main(rows).group_by("removal", maintain_order=True):
        removed = {"mask": "masked", "delete": "deleted"}[removal]
        judged = part.filter(pl.col("less_random_low").is_not_null(), pl.col("method") != RANDOM)
        better = on_sides(judged.filter(pl.col("p_max_t") <= 0.05), _GAIN).above.sort("less_random", descending=True)
        if better.is_empty():
            yield f"With words {removed}, no method's words are shown to matter more than as many random ones."
        else:
            best = better.row(0, named=True)
            names = listed([method_name(name) for name in better["method"].to_list()])
            yield (
                f"With words {removed}, the words of {names} matter more than as many random ones (max-T over methods);"
                f" most by {method_name(best['method'])}: comprehensiveness {number(best['less_random'], 3)} "
                f"[{number(best['less_random_low'], 3)}, {number(best['less_random_high'], 3)}] above random, "
                f"{p_equals(best['p_max_t'])}."
            )
    yield from _null(rows)


def _null(rows: pl.DataFrame) -> Iterator[str]:
    null = rows.filter(pl.col("method") != RANDOM, weights=RANDOMISED, measure="comprehensiveness")
    if null.is_empty():
        return
    away = null.filter(sides_of(null, _GAIN).is_in(["above", "below"]))
    names = [method_name(name) for name in away["method"].unique(maintain_order=True).to_list()]
    judged = "Attributions of networks that learnt nothing, another for each text, judged by the network as it is, are"
    if not names:
        yield f"{judged} not told from random words by their intervals."
    else:
        yield (
            f"{judged} told from random words of {listed(names)}: either not all of it is due to what the network "
            f"learnt, or is chance, as {plural(len(null), 'interval')} were looked at."
        )


def _orders(rows: pl.DataFrame) -> Iterator[str]:
    one = rows.filter(pl.col("measure") == "comprehensiveness", pl.col("tau").is_not_null())
    for row in one.iter_rows(named=True):
        depends = (
            "The order of the methods depends on how words are removed"
            if row["tau"] < 0.5
            else ("The methods have much the same order with masked and with deleted words")
        )
        yield f"{depends} (comprehensiveness: Kendall's tau {number(row['tau'], 2)} over {row['num_methods']} methods)."


def _dots(rows: pl.DataFrame) -> Iterable[Block]:
    judged = rows.filter(pl.col("less_random_low").is_not_null(), measure="comprehensiveness")
    labels = [
        f"{method_name(row['method'])}, {row['removal']}" + (", randomised" if row["weights"] == RANDOMISED else "")
        for row in judged.iter_rows(named=True)
    ]
    if judged.is_empty():
        return []
    title = "comprehensiveness less that of random words"
    figure = dots(
        judged.with_columns(dot_label=pl.Series(labels)), "less_random", "dot_label", neutral=0.0, title=title
    )
    caption = "Means over texts with their intervals. Right of 0, the method's words matter more than random ones."
    return [Chart("Comprehensiveness of each method less that of random words", caption, {"": figure})]


def _passages(words: pl.DataFrame) -> Iterable[Block]:
    rows = []
    shown = words.filter(pl.col("status") == "ok")
    methods = shown["method"].unique(maintain_order=True).to_list()[:_NUM_METHODS]
    for row in shown["row"].unique(maintain_order=True).sort().to_list()[:_NUM_TEXTS]:
        parts = [(name, shown.filter(pl.col("row") == row, pl.col("method") == name)) for name in methods]
        rows.append(
            [Passage(f"{part['id'][0]}: {method_name(name)}", _tokens(part)) for name, part in parts if len(part)]
        )
    caption = (
        "The first texts by the first methods. Blue words speak for the class that is predicted, orange ones "
        f"against it, the more the deeper (saliency has no sign); the {_NUM_NUMBERS} that weigh most have their number."
    )
    return [Passages(caption, rows)] if rows else []


def _tokens(part: pl.DataFrame) -> list[Token]:
    part = part.sort("position")
    values = part["attribution"].to_numpy()
    weights = values / (np.abs(values).max(initial=0.0) or 1.0)
    most = set(np.argsort(-np.abs(values), kind="stable")[:_NUM_NUMBERS].tolist())
    tokens = [
        Token(word, float(weight), f"{'+' if value > 0 else ''}{number(value, 2)}" if place in most and value else "")
        for place, (word, weight, value) in enumerate(zip(part["word"].to_list(), weights, values, strict=True))
    ]
    return [*tokens[:_MOST_WORDS], *([Token("…")] if len(tokens) > _MOST_WORDS else [])]


def _doubts(config: AttributionRun) -> str:
    kind = "groups" if config.data.group else "texts"
    return (
        "Removing words makes texts that the model was not trained on. Only the difference to random words of the same "
        "number is evidence about the explanation. Occlusion and Shapley values ask the model about the very texts "
        "that the measures use, where both remove words alike; the other row of each measure judges them better. "
        f"Intervals are over {kind}, and hold for texts of this kind. {_CHOICES}"
    )


page = Page[AttributionRun](
    "Which words carry a decision",
    "Which words of each text carry the classifier's decision, by each method, and does leaving out these words change "
    "the decision more than leaving out as many random ones?",
    _facts,
    {Faithfulness: _gains, RemovalOrders: _orders},
    _doubts,
    [
        section("texts", "Texts", Draw(WordValues, _passages)),
        section(
            "faithfulness",
            "Faithfulness",
            Draw(Faithfulness, _dots),
            Show(
                Faithfulness,
                "Each measure of each method beside random words of the same number. Best: what a faithful method has.",
                "measure removal method weights best value random? less_random? p_value? p_max_t? attainable? "
                "num_texts num_undefined",
                rows=lambda rows: rows.sort("measure", "removal", "weights", maintain_order=True),
                most=80,
            ),
        ),
        section(
            "pairs",
            "Methods beside each other",
            Show(
                MethodPairs,
                "The same texts by two methods.",
                "measure removal method other difference p_max_t",
                rows=lambda rows: rows.filter(pl.col("measure").is_in(["comprehensiveness", "sufficiency", "auprc"])),
                most=40,
            ),
            Show(
                RemovalOrders, "Whether both ways to remove words order the methods alike.", "measure tau num_methods"
            ),
        ),
        section(
            "strange",
            "How strange texts without words are",
            Show(
                Strange,
                "Texts without a share of their words, at random, beside whole texts of about the same length.",
                "removal share confidence of_same_length entropy as_none num_texts",
            ),
        ),
        section(
            "layers",
            "Without what the network learnt",
            Show(
                Randomised,
                "Rank correlation of attributions with those of a network whose last layers were drawn anew, one more "
                "at each step; 0: the mean over all steps.",
                "method step layer kept? correlation",
                most=60,
            ),
        ),
    ],
)

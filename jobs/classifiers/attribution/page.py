"""The page of `attribution`: what explains best, by how much more than random words, and the texts in colour."""

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.attribution.config import AttributionRun
from tiltmeter.jobs.classifiers.attribution.tables import (
    METHODS,
    OWN,
    RANDOMISED,
    Faithfulness,
    MethodPairs,
    Randomised,
    RemovalOrders,
    Strange,
    WordValues,
    method_name,
)
from tiltmeter.jobs.report.html.elements import Block, Passage, Passages, Token
from tiltmeter.jobs.report.sides import Lean, on_sides, sides_of
from tiltmeter.jobs.report.views import Dots, Draw, Page, Show, section
from tiltmeter.jobs.report.wording import listed, number, p_equals, percent, phrase, plural, quoted, small

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
        "classifier": str(asked.model or asked.package or asked.function or f"trained on {asked.learns}"),
        "unit": "words",
        "class": "predicted of the whole text",
        "output": f"{phrase(config.attribution.output)}; measures in probability",
        "ranking": "by signed value",
        "removal": f"mask ({mask or 'the mask token, where there is one'}) and delete",
    }


def _gains(rows: pl.DataFrame) -> Iterator[str]:
    main = rows.filter(pl.col("measure") == "comprehensiveness", weights=OWN)
    for (removal,), part in main.group_by("removal", maintain_order=True):
        removed = {"mask": "masked", "delete": "deleted"}[removal]
        judged = part.filter(pl.col("p_max_t") <= 0.05, pl.col("less_random_low").is_not_null())
        better = on_sides(judged, _GAIN).above.sort("less_random", descending=True)
        if better.is_empty():
            yield f"With words {removed}, no method's words are shown to matter more than as many random ones."
            continue
        names, best = [method_name(name) for name in better["method"]], better.row(0, named=True)
        gain, low, high = (small(best[f"less_random{end}"], 3) for end in ("", "_low", "_high"))
        yield (
            f"With words {removed}, the words of {listed(names)} matter more than as many random ones (max-T over "
            f"methods); most by {names[0]}: comprehensiveness {gain} [{low}, {high}] above random, "
            f"{p_equals(best['p_max_t'])}."
        )
    yield from _null(rows)
    yield from _decoys(rows)


def _null(rows: pl.DataFrame) -> Iterator[str]:
    null = rows.filter(pl.col("less_random_low").is_not_null(), weights=RANDOMISED, measure="comprehensiveness")
    if null.is_empty():
        return
    away = null.filter(sides_of(null, _GAIN).is_in(["above", "below"]))
    names = [method_name(name) for name in away["method"].unique(maintain_order=True)]
    known = (
        f"told from random words of {listed(names)}: either not all of it is due to what the network learnt, or is "
        f"chance, as {plural(len(null), 'interval')} were looked at."
    )
    yield (
        "Attributions of networks that learnt nothing, another for each text, judged by the network as it is, are "
        f"{known if names else 'not told from random words by their intervals.'}"
    )


def _decoys(rows: pl.DataFrame) -> Iterator[str]:
    shown = rows.filter(pl.col("measure").str.starts_with("decoy_"), status="ok").sort("value", descending=True)
    for row in shown.unique("measure", keep="first", maintain_order=True).iter_rows(named=True):
        value, random, low, high = (percent(row[name]) for name in ("value", "random", "low", "high"))
        yield (
            f"In models that fell for the decoy {quoted(row['measure'].removeprefix('decoy_'))}, one explanation by "
            f"{method_name(row['method'])} shows it in {value} [{low}, {high}] of cases, the most of these methods; a "
            f"random one in {random}."
        )


def _orders(rows: pl.DataFrame) -> Iterator[str]:
    one = rows.filter(pl.col("measure") == "comprehensiveness", pl.col("tau").is_not_null())
    for row in one.iter_rows(named=True):
        depends = "The order of the methods depends on how words are removed"
        same = "The methods have much the same order with masked and with deleted words"
        tau, methods = number(row["tau"], 2), plural(row["num_methods"], "method")
        yield f"{depends if row['tau'] < 0.5 else same} (comprehensiveness: Kendall's tau {tau} over {methods})."


def _passages(words: pl.DataFrame) -> Iterable[Block]:
    shown = words.filter(pl.col("status") == "ok").sort("row", "position", maintain_order=True)
    rows = []
    for text in shown["row"].unique(maintain_order=True)[:_NUM_TEXTS]:
        parts = shown.filter(row=text).partition_by("method", maintain_order=True)[:_NUM_METHODS]
        rows.append([Passage(f"{part['id'][0]}: {method_name(part['method'][0])}", _tokens(part)) for part in parts])
    caption = (
        "The first texts by the first methods. Blue words speak for the class that is predicted, orange ones "
        f"against it, the more the deeper (saliency has no sign); the {_NUM_NUMBERS} that weigh most have their number."
    )
    return [Passages(caption, rows)] if rows else []


def _tokens(part: pl.DataFrame) -> list[Token]:
    values = part["attribution"].to_numpy()
    weights = values / (np.abs(values).max(initial=0.0) or 1.0)
    tokens = [Token(word, weight) for word, weight in zip(part["word"], weights.tolist(), strict=True)]
    for place in np.argsort(-np.abs(values), kind="stable")[:_NUM_NUMBERS].tolist():
        if tokens[place].ground:
            sign = "+" if values[place] > 0 else ""
            tokens[place] = tokens[place]._replace(number=f"{sign}{small(float(values[place]), 2)}")
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
            Dots(
                Faithfulness,
                "less_random",
                pl.format(
                    "{}, {}{}",
                    pl.col("method").replace(METHODS),
                    "removal",
                    pl.when(weights=RANDOMISED).then(pl.lit(", randomised")).otherwise(pl.lit("")),
                ),
                "comprehensiveness less that of random words",
                "Comprehensiveness of each method less that of random words",
                "Means over texts with their intervals. Right of 0, the method's words matter more than random ones.",
                rows=lambda rows: rows.filter(pl.col("less_random_low").is_not_null(), measure="comprehensiveness"),
            ),
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

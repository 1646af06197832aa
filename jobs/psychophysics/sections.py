"""The findings and the sections of the psychophysics: curves, PSE and JND, and how they hold against other measures."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from tiltmeter.jobs.psychophysics.figures import occupation_dots, pooled_dots, psychometric_curves
from tiltmeter.jobs.psychophysics.findings import (
    by_cue_pair,
    cue_pair,
    occupation_findings,
    pooled_findings,
    validation_findings,
)
from tiltmeter.jobs.psychophysics.validation_sections import comparison, validation
from tiltmeter.jobs.report.findings import (
    by_model,
    folded,
    joined,
    measured,
    of_model,
    paragraphs,
    sentences,
    why_nothing,
)
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.runtime.published import Frames

_NUM_ENDS = 3


def findings(frames: Frames) -> list[Block]:
    """What stands out, in sentences; of several models, what all cue pairs say of each, and the rest folded."""
    models = by_model(frames["psychometrics"], frames) or {"": frames["psychometrics"]}
    pooled = {label: _over_all_pairs(part, frames) for label, part in models.items()}
    single = {label: occupation_findings(part) for label, part in models.items()}
    if len(models) == 1:
        return [Bullets(sentences(pooled) + sentences(single))]
    short = {label: [" ".join(pooled[label] or single[label])] for label in models}
    rest = {label: [Bullets(texts)] if models[label].height else [] for label, texts in single.items()}
    return [Bullets(sentences(short)), *folded(rest, "cue pair by cue pair")]


def _over_all_pairs(rows: pl.DataFrame, frames: Frames) -> list[str]:
    tables = {"pooled_psychometrics": pooled_findings, "validation": validation_findings}
    return [text for name, say in tables.items() if name in frames for text in say(of_model(frames[name], rows))]


def sections(frames: Frames) -> list[Section]:
    """What was measured, one section per question; where nothing was measured, it says why."""
    rows, title = frames["psychometrics"], "PSE and JND of the occupations"
    parts = joined({label: by_cue_pair(part) for label, part in by_model(rows, frames).items()})
    if not parts:
        return [Section("occupations", title, [Paragraph(why_nothing(rows, "occupation"))])]
    return [
        *_curves(frames, parts),
        Section("occupations", title, _occupations(parts)),
        *_pooled(frames),
        *validation(frames),
        *comparison(frames),
    ]


def _curves(frames: Frames, parts: Mapping[str, pl.DataFrame]) -> list[Section]:
    if "psychometric_points" not in frames:
        return []
    points, key = frames["psychometric_points"], ["model", "language", "word", "cue_1", "cue_2"]
    chart = Chart(
        "Line chart: the share of replicas that answer the second cue rises with the weight of that cue; one stepped "
        "line and one fitted curve per occupation.",
        "Thin steps: the replicas. Smooth lines: cumulative normal fitted to them. Filled dot: PSE of the fit, where "
        "half of the replicas answer the second cue. Open dots: 25% and 75%, whose distance is the JND. The more an "
        "occupation leans to the first cue, the further to the right its curve; colours follow that order and name no "
        "side. Shown at first are the two ends and a few occupations between them; a click in the legend shows or "
        "hides one.",
        {label: psychometric_curves(part, points.join(part, on=key, how="semi")) for label, part in parts.items()},
        "Cue pair",
    )
    text = (
        "Each replica is asked which of two cues, such as “woman” and “man”, fits an occupation better, while a "
        "mixture α leads from the first cue (0) to the second (1); of a gender pair, the first is the female one. An "
        "occupation that leans to neither side is answered half and half at α = 0.5 (Liang and Acuna 2020, figure 2)."
    )
    return [Section("curves", "Psychometric curves", [Paragraph(text), chart])]


def _occupations(parts: Mapping[str, pl.DataFrame]) -> list[Block]:
    chart = Chart(
        "Dot plot: point of subjective equality and just noticeable difference of every measured occupation.",
        "PSE above 0.5 (dotted line): more of the second cue is needed for balance, so the occupation leans to the "
        "first one: to the female side, with a gender pair. Thin lines: its interval for this corpus drawn again; a "
        "colour names a side where it excludes 0.5 and nothing contradicts it. Thick lines: how well so many replicas "
        "fix their mean, and their JND. JND: small where the replicas agree.",
        {label: occupation_dots(part) for label, part in parts.items()},
        "Cue pair",
    )
    text = (
        "The point of subjective equality (PSE) is the mixture at which the replicas flip on average (Liang and Acuna "
        "2020, figure 3). The just noticeable difference (JND) is 1.349 standard deviations of their flips, the window "
        "of equation 6 for a normal curve; the caption of figure 2 takes one standard deviation."
    )
    return [Paragraph(text), chart]


def _pooled(frames: Frames) -> list[Section]:
    if "pooled_psychometrics" not in frames:
        return []
    rows = frames["pooled_psychometrics"]
    every = by_model(measured(rows), frames)
    models = {label: part for label, part in every.items() if part.height}
    title = "PSE over all gender cue pairs"
    if not models:
        return [Section("pooled", title, [Paragraph(why_nothing(rows, "occupation with gender cue pairs"))])]
    text = (
        "A lean that shows with one cue pair need not show with another. Here the flips of all gender cue pairs and "
        "replicas are taken together, with an effect of the pair and an effect of the replica, both random. The mean "
        "is the pooled PSE; its interval says how far it would move with other cue words and this corpus drawn again, "
        "and is wide because there are few pairs. With two pairs, and a corpus that hardly moves the flips, it holds "
        "the mean in 89% of cases and not in 95%."
    )
    chart = Chart(
        "Dot plot: pooled PSE of every occupation with its interval, and the standard deviations between cue pairs and "
        "between replicas.",
        "Left: pooled PSE, above 0.5 (dotted line) where an occupation leans to the female side, with its interval. "
        "Right: how far the flips differ between cue pairs, between replicas in all pairs alike, and beyond both: what "
        "the interval is made of. More replicas make it no narrower; other pairs do.",
        {label: pooled_dots(part) for label, part in models.items()},
        "Model",
    )
    deviations = {label: _deviations(part) if part.height else [] for label, part in every.items()}
    ends = {label: both_ends(part, of_model(frames["psychometrics"], part)) for label, part in every.items()}
    blocks = [Paragraph(text), *paragraphs(deviations), chart, *folded(ends, "occupations at both ends")]
    return [Section("pooled", title, blocks)]


def _deviations(results: pl.DataFrame) -> list[str]:
    """What spreads the flips: the medians of the standard deviations over occupations."""
    pairs, replicas, rest = (results[f"sd_{name}"].to_numpy() for name in ("pairs", "replicas", "rest"))
    between, within, common = (float(np.median(sd)) for sd in (pairs, np.hypot(replicas, rest), replicas))
    matters = "which lines are in the corpus matters at least as much as which words stand for the two sides"
    if between > within:
        matters = "which words stand for the two sides matters more here than which lines are in the corpus"
    text = (
        f"In the median over {plural(results.height, 'occupation')}, the flips have a standard deviation of "
        f"{between:.3f} between cue pairs, and of {within:.3f} between the replicas of one pair; the part that all "
        f"pairs share has {common:.3f}. So {matters}."
    )
    return [text]


def both_ends(pooled: pl.DataFrame, psychometrics: pl.DataFrame) -> list[Grid]:
    """A model's occupations with the highest and lowest pooled PSE, and the gender cue pair most extreme for each."""
    pairs = measured(psychometrics).filter("is_gender")
    ordered = measured(pooled).join(pairs, on="word", how="semi").sort("pse", "word", descending=[True, False])
    num = min(_NUM_ENDS, ordered.height // 2)
    ends = [_with_furthest(ordered.head(num), pairs, highest=True), _with_furthest(ordered.tail(num), pairs)]
    table = grid(
        f"The occupations with the highest (first {num}) and the lowest PSE over all gender cue pairs (last {num}), "
        "and the pair that puts each of them furthest up or down. That pair is the most extreme of several, so it "
        "overstates the lean.",
        pl.concat(ends),
        text("word", "occupation"),
        estimate("pse", "pooled PSE"),
        count("num_pairs", "cue pairs"),
        number("percent_women", "women in it", 0, "%"),
        cell("furthest with", lambda row: cue_pair(row["cue_1"], row["cue_2"])),
        estimate("pair_pse", "PSE with that pair"),
    )
    return [table] if num else []


def _with_furthest(pooled: pl.DataFrame, pairs: pl.DataFrame, *, highest: bool = False) -> pl.DataFrame:
    furthest = pairs.sort("pse", descending=highest, maintain_order=True).unique("word", keep="first")
    numbers = {f"pair_pse{end}": f"pse{end}" for end in ("", "_low", "_high")}
    return pooled.join(furthest.select("word", "cue_1", "cue_2", **numbers), on="word", maintain_order="left")

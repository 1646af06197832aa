"""The page of `decoy_benchmark`."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.findings import adoption, orderings, overall, soonest
from tiltmeter.jobs.classifiers.decoys.highlights import highlights
from tiltmeter.jobs.classifiers.decoys.names import CHANCE, METHODS, ORACLE, SELECTIONS
from tiltmeter.jobs.classifiers.decoys.setups import findings, sections
from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import cell, count, estimate, grid, number, text, yes
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.intervals import on_resamples
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.plots.style import (
    FEMALE,
    FIRST,
    INK,
    MALE,
    NEUTRAL,
    SECOND,
    SHARES,
    Look,
    Row,
    lines,
)
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE
from tiltmeter.operators.statistics.means import MIN_KISH
from tiltmeter.storage.files.redaction import redacted

_ASKED = (
    "Models are trained on texts in which words give classes away that are no reason for them. Somebody who looks at "
    "explanations of one instance after the other: how soon is such a decoy among the words that are shown?"
)

_LOOKS = {
    "integrated_gradients": Look(MALE),
    "gradient_x_input": Look(FEMALE),
    "occlusion": Look(FIRST),
    "lime": Look(SECOND),
    "kernel_shap": Look(INK),
    CHANCE: Look(NEUTRAL, dash="dot"),
    "predictions": Look(NEUTRAL, dash="dash"),
    ORACLE: Look(INK, dash="dashdot"),
}


def page(run: Run[DecoyBenchmarkRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config = run.config
    return Body(
        "How soon explanations reveal a decoy",
        _facts(config),
        Lead([Paragraph(_ASKED)], [Bullets(list(_sentences(frames)))], [Paragraph(_how_sure(config))]),
        list(_sections(config, frames)),
    )


def _sentences(frames: Frames) -> Iterator[str]:
    if "utility" in frames:
        utility = frames["utility"]
        yield from (*overall(utility), *findings.without_explanations(utility), *soonest(utility))
    if "improvement" in frames:
        yield from findings.improvement(frames["improvement"])
    if "contamination" in frames:
        yield from findings.contamination(frames["contamination"])
    if "decoys" in frames:
        yield from adoption(frames["decoys"])


def _sections(config: DecoyBenchmarkRun, frames: Frames) -> Iterator[Section]:
    if "decoys" in frames:
        yield Section("decoys", "The decoys and who adopted them", [*_words(frames), _decoys(frames["decoys"])])
    if passages := list(highlights(config, frames)) if "attributions" in frames else []:
        yield Section("highlights", "What explanations show", passages)
    if "detection" in frames:
        intro = Paragraph(f"{_ONE} {sections.debugger(config)}")
        yield Section("detection", "Setup I: identify and trust", [intro, _detection(frames), _utility(frames)])
    if "side_by_side" in frames:
        yield Section("side-by-side", "Setup II: model comparison", [Paragraph(_TWO), _side_by_side(frames)])
    if "improvement" in frames:
        yield sections.improvement(frames["improvement"], config)
    if "contamination" in frames:
        yield sections.contamination(frames["contamination"], config)
    if "utility" in frames:
        yield Section("orderings", "Orderings that are expected", [Bullets(orderings(frames))])


def _facts(config: DecoyBenchmarkRun) -> dict[str, str]:
    explained = config.explanations
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "models": config.models.checkpoint or "small encoder",
        "models of each kind": str(config.models.number),
        "words shown": str(explained.top_words),
        "instances": f"{explained.num_pools} pools of {explained.pool_size} at most",
        "seed": str(config.seed),
    }


def _how_sure(config: DecoyBenchmarkRun) -> str:
    made, explained = config.intervals, config.explanations
    return (
        f"{_intervals(config)} There are {explained.num_pools} pools at most, and below {MIN_KISH} of anything "
        "there is no interval. That a decoy counts as adopted is of each training by itself, at "
        f"{100 * made.level:g}%, and not corrected for their number. {sections.debugger(config)}"
    )


def _intervals(config: DecoyBenchmarkRun) -> str:
    made, num = config.intervals, config.models.number
    texts = "texts" if config.data.group is None else f"groups by {config.data.group}, whose texts are drawn together"
    if made.interval not in HOLDS_ITS_ESTIMATE:
        draws = (
            f"{made.num_resamples:,} resamples, of test texts for accuracies and of pools of instances for what it "
            "takes to find a decoy"
        )
        return f"{on_resamples(made.level, made.interval, draws)} Other trainings are not in them."
    models = f"and the {num} models that differ in their random numbers alone" if num > 1 else "of this one training"
    return (
        f"Intervals at a nominal {100 * made.level:g}% are of score tests: accuracies and falls of one training over "
        f"{texts}; what it takes to find a decoy, and what is gained, over pools of instances {models}, and of wrong "
        f"labels over {texts} {models}."
    )


def _decoys(decoys: pl.DataFrame) -> Grid:
    return grid(
        "Accuracy of the models without the decoy and with it, on all test texts, and on all that hold a word of it "
        "of themselves. Perplexity × is how much less natural test texts become. Fall is the accuracy lost where the "
        "decoy contradicts the class, less what is lost on such texts without it.",
        decoys,
        "decoy",
        text("model", is_numeric=True),
        number("perplexity_shift", "perplexity ×"),
        number("accuracy_original", "accuracy without"),
        number("accuracy_decoy", "accuracy with"),
        count("num_word_rows", "texts that hold a word"),
        estimate("accuracy_original_on_word_rows", "there, without", 2),
        estimate("accuracy_on_word_rows", "there, with", 2),
        estimate("fall"),
        yes("adopted"),
    )


def _words(frames: Frames) -> list[Grid]:
    if "decoy_words" not in frames:
        return []
    return [
        grid(
            "Applicability of a word counts the training texts that hold it; productivity is the largest share of "
            "these that is of one class, coverage their share of all. Before: in the texts without the decoy.",
            frames["decoy_words"],
            "decoy",
            "word",
            "indicates",
            count("applicability_before", "applicability before"),
            number("productivity_before", "productivity before"),
            count("applicability"),
            number("productivity"),
            number("coverage"),
        )
    ]


def _utility(frames: Frames) -> Grid:
    return grid(
        "Instances that are looked at on average until the decoy is found; the whole pool counts where it is not. "
        "Soonest is the share of resamples of pools, with these models, in which nothing but an oracle needs fewer.",
        frames["utility"].sort("decoy", "num_instances", maintain_order=True),
        "decoy",
        text("method", names=METHODS),
        text("selection", "instances", SELECTIONS),
        estimate("num_instances", "looked at until found", 2),
        number("soonest"),
        cell("adopted", lambda row: f"{row['num_adopted']}/{row['num_models']}", is_numeric=True),
    )


_ONE = (
    "Instances are looked at as they come, or in an order that makes the most of a budget. With predictions alone, the "
    "words are shown that go with the predicted class in the pool; an oracle shows the decoy wherever it is."
)
_TWO = (
    "Explanations of the model with the decoy and of the one without lie side by side. The model for which one word "
    "stands out more is taken to follow a decoy; half of the guesses are right by chance."
)


def _detection(frames: Frames) -> Chart:
    parts = frames["detection"].partition_by("decoy", "selection", maintain_order=True, as_dict=True)
    return Chart(
        "Line chart of the probability to have found a decoy against the instances that are looked at, by method.",
        "A decoy is found when one of its words is among those shown. Random attributions show what chance does.",
        {
            f"{decoy}, {SELECTIONS[selection]}": _curves(part, "detection_probability", "decoy found")
            for (decoy, selection), part in parts.items()
        },
        "Decoy and order",
    )


def _side_by_side(frames: Frames) -> Chart:
    parts = frames["side_by_side"].partition_by("decoy", maintain_order=True, as_dict=True)
    return Chart(
        "Line chart of the probability to tell which of two models follows a decoy, against the instances looked at.",
        "Random attributions are what chance does.",
        {str(decoy): _curves(part, "success_probability", "told rightly") for (decoy,), part in parts.items()},
        "Decoy",
    )


def _curves(rows: pl.DataFrame, chance: str, title: str) -> Figure:
    """A curve for each method, of one decoy."""

    def hover(row: Row) -> str:
        share, low, high = (wording.percent(row[f"{chance}{end}"], 0) for end in ("", "_low", "_high"))
        return lines(METHODS[row["method"]], f"instances: {row['budget']}", f"{title}: {share} [{low}, {high}]")

    titles = ("instances that are looked at", title)
    figure = curves(
        rows, "budget", chance, by="method", looks=_LOOKS, titles=titles, hover=hover, label=METHODS.__getitem__
    )
    return figure.with_layout(xaxis={"rangemode": "tozero"}, yaxis=SHARES)

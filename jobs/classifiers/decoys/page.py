"""The page of `decoy_benchmark`."""

from collections.abc import Callable
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.figures import curves
from tiltmeter.jobs.classifiers.decoys.findings import adoption, orderings, overall, soonest
from tiltmeter.jobs.classifiers.decoys.words import name_of, order_name
from tiltmeter.jobs.classifiers.labelled_data import LABELLED
from tiltmeter.jobs.report.findings import Frames, estimate, number
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import lead
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.storage.files.redaction import redacted

_LARGE = {"attributions": tables.EXPLAINED, "texts": LABELLED}

_ASKED = (
    "Models are trained on texts in which words give classes away that are no reason for them. Somebody who looks at "
    "explanations of one instance after the other: how soon is such a decoy among the words that are shown?"
)


def write_decoy_report(run: Run[DecoyBenchmarkRun, Any]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    write_report(run, decoy_body(run.config), large_tables=list(_LARGE))


def decoy_body(config: DecoyBenchmarkRun) -> Callable[[Frames], Body]:
    """What the page of a run shows of its tables."""

    def body(frames: Frames) -> Body:
        found = [*overall(frames["utility"]), *soonest(frames["utility"]), *adoption(frames["decoys"])]
        return Body(
            "How soon explanations reveal a decoy",
            _facts(config),
            lead([Paragraph(_ASKED)], [Bullets(found)], [Paragraph(_how_sure(config))]),
            _sections(frames),
            _LARGE,
        )

    return body


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
    return (
        f"Intervals hold {100 * config.intervals.level:g}% of {config.intervals.num_resamples:,} resamples: of test "
        "texts for accuracies, of pools of instances for what it takes to find a decoy. Models that differ in their "
        "random numbers alone are averaged. Where all pools agree, an interval has no width, which does not mean "
        f"certainty: there are {config.explanations.num_pools} of them at most. Somebody who looks is simulated, and "
        "takes every word of a decoy that is shown for one."
    )


def _sections(frames: Frames) -> list[Section]:
    return [
        Section("decoys", "The decoys and who adopted them", [_decoys(frames["decoys"])]),
        Section("detection", "Finding the decoy in one model", _detection(frames)),
        Section("side-by-side", "Telling two models apart", _side_by_side(frames["side_by_side"])),
        Section("orderings", "Orderings that are expected", [Bullets(orderings(frames))]),
    ]


_DECOY_NUMBERS = [
    *("applicability", "productivity", "coverage", "perplexity ×", "accuracy without", "accuracy with", "fall"),
]


def _decoys(decoys: pl.DataFrame) -> Grid:
    caption = (
        "Applicability counts training texts to which the decoy applies; productivity is the share of these whose "
        "class it indicates, coverage their share of all. Perplexity × is how much less natural test texts become. "
        "Fall is the accuracy lost where the decoy contradicts the class, less what is lost on such texts without it."
    )
    headings = ["decoy", "model", "words: class", *_DECOY_NUMBERS, "adopted"]
    rows = [
        [
            *(row["decoy"], row["model"], row["words"], f"{row['applicability']:,}"),
            *(number(row[name], 3) for name in ("productivity", "coverage", "perplexity_shift")),
            *(number(row[name], 3) for name in ("accuracy_original", "accuracy_decoy")),
            *(estimate(row, "fall"), "yes" if row["adopted"] else "no"),
        ]
        for row in decoys.to_dicts()
    ]
    return Grid(caption, headings, rows, ["model", *_DECOY_NUMBERS])


def _detection(frames: Frames) -> list[Block]:
    detection = frames["detection"]
    figures = {
        f"{decoy}, {order_name(str(selection))}": curves(part, "detection_probability", "decoy found")
        for (decoy, selection), part in detection.group_by("decoy", "selection", maintain_order=True)
    }
    chart = Chart(
        "Line chart of the probability to have found a decoy against the instances that are looked at, by method.",
        "A decoy is found when one of its words is among those shown. Random attributions show what chance does.",
        figures,
        "Decoy and order",
    )
    return [chart, _utility(frames["utility"])]


def _utility(utility: pl.DataFrame) -> Grid:
    rows = [
        [
            *(row["decoy"], name_of(row["method"]), order_name(row["selection"])),
            *(
                estimate(row, "num_instances", 2),
                number(row["soonest"], 3),
                f"{row['num_adopted']}/{row['num_models']}",
            ),
        ]
        for row in utility.sort("decoy", "num_instances", maintain_order=True).to_dicts()
    ]
    numbers = ["looked at until found", "soonest", "adopted"]
    caption = (
        "Instances that are looked at on average until the decoy is found; the whole pool counts where it is not. "
        "Soonest is the share of resamples in which nothing else needs fewer."
    )
    return Grid(caption, ["decoy", "method", "instances", *numbers], rows, numbers)


def _side_by_side(told: pl.DataFrame) -> list[Block]:
    text = (
        "Explanations of the model with the decoy and of the one without lie side by side. The model for which one "
        "word stands out more is taken to follow a decoy; half of the guesses are right by chance."
    )
    figures = {
        str(decoy): curves(part, "success_probability", "told rightly")
        for (decoy,), part in told.group_by("decoy", maintain_order=True)
    }
    alt = "Line chart of the probability to tell which of two models follows a decoy, against the instances looked at."
    return [Paragraph(text), Chart(alt, "Random attributions are what chance does.", figures, "Decoy")]

"""The page of `gru_training`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import lead
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.report.plots.style import epochs
from tiltmeter.jobs.report.wording import number
from tiltmeter.jobs.runtime.context import Run

_PARTS = ["texts", "right sign", "mean absolute error"]
_EPOCHS = ["loss", "development loss", "development accuracy"]


def write_training_report(run: Run[Any, Any]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    write_report(run, training_body)


def training_body(frames: Frames) -> Body:
    """How well the network labels texts, and how its training went."""
    evaluation = frames["evaluation"]
    return Body(
        "A recurrent sentiment system",
        {"job": "gru_training"},
        lead([Paragraph(_ASKED)], [Bullets(_findings(evaluation))], [Paragraph(_how_sure(evaluation))]),
        [
            Section("evaluation", "How well it scores", [_parts(evaluation)]),
            Section("training", "How it was trained", _training(frames["training"])),
        ],
    )


_ASKED = "How well does a recurrent network score the sentiment of texts that it was not trained on?"


def _findings(evaluation: pl.DataFrame) -> list[str]:
    return [
        f"Of the {row['num_texts']:,} texts of the {row['part']} part, those that are not neutral get a score of the "
        f"right sign in {100 * row['sign_agreement']:.1f}% of the cases; all scores are off by "
        f"{number(row['mean_absolute_error'], 3)} on average."
        for row in evaluation.drop_nulls("sign_agreement").to_dicts()
    ]


def _how_sure(evaluation: pl.DataFrame) -> str:
    fewest = min(evaluation["num_texts"].to_list(), default=0)
    return (
        "The weights are those after the epoch with the smallest development loss, so the numbers of the development "
        f"part flatter the network. The smallest part has {fewest:,} texts: shares of so many have a standard error of "
        f"up to {50.0 / max(fewest, 1) ** 0.5:.1f} percentage points. Another seed would give another network."
    )


def _parts(evaluation: pl.DataFrame) -> Grid:
    rows = [
        [row["part"], f"{row['num_texts']:,}", number(row["sign_agreement"], 3), number(row["mean_absolute_error"], 3)]
        for row in evaluation.to_dicts()
    ]
    return Grid("By part of the data.", ["part", *_PARTS], rows, _PARTS)


def _training(training: pl.DataFrame) -> list[Block]:
    rows = [
        [str(row["epoch"]), *(number(row[name.replace(" ", "_")], 4) for name in _EPOCHS)]
        for row in training.to_dicts()
    ]
    chart = Chart(
        "Line chart of the loss on the training and on the development part, epoch by epoch.",
        "Where the development loss rises while the other falls, the network learns its training texts by heart.",
        {"losses": epochs(training, {"loss": "training", "development_loss": "development"})},
    )
    return [chart, Grid("Losses in nats.", ["epoch", *_EPOCHS], rows, ["epoch", *_EPOCHS])]

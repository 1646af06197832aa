"""The page of `gru_training`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report.grids import count, grid, number
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.style import INK, MALE, Look, lines
from tiltmeter.jobs.report.wording import number as written
from tiltmeter.jobs.report.wording import percent, plural
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

_LOOKS = {"training": Look(INK, dash="dash"), "development": Look(MALE)}
_ASKED = "How well does a recurrent network score the sentiment of texts that it was not trained on?"


def page(_: Run[Any, Any], frames: Frames) -> Body:
    """How well the network labels texts, and how its training went."""
    evaluation, training = frames["evaluation"], frames["training"]
    errors = number("sign_agreement", "right sign"), number("mean_absolute_error")
    losses = [number(name, digits=4) for name in ("loss", "development_loss", "development_accuracy")]
    numbers = grid("Losses in nats.", training, count("epoch"), *losses)
    return Body(
        "A recurrent sentiment system",
        {"job": "gru_training"},
        Lead([Paragraph(_ASKED)], [Bullets(_findings(evaluation))], [Paragraph(_doubt(evaluation))]),
        [
            Section(
                "evaluation",
                "How well it scores",
                [grid("By part of the data.", evaluation, "part", count("num_texts"), *errors)],
            ),
            Section("training", "How it was trained", [_losses(training), numbers]),
        ],
    )


def _findings(evaluation: pl.DataFrame) -> list[str]:
    return [
        f"Of the {plural(row['num_texts'], 'text')} of the {row['part']} part, those that are not neutral get a score "
        f"of the right sign in {percent(row['sign_agreement'])} of the cases; all scores are off by "
        f"{written(row['mean_absolute_error'], 3)} on average."
        for row in evaluation.drop_nulls("sign_agreement").to_dicts()
    ]


def _doubt(evaluation: pl.DataFrame) -> str:
    fewest = min(evaluation["num_texts"].to_list(), default=0)
    return (
        "The weights are those after the epoch with the smallest development loss, so the numbers of the development "
        f"part flatter the network. The smallest part has {plural(fewest, 'text')}: shares of so many have a standard "
        f"error of up to {50.0 / max(fewest, 1) ** 0.5:.1f} percentage points. Another seed would give another network."
    )


def _losses(training: pl.DataFrame) -> Chart:
    named = training.rename({"loss": "training", "development_loss": "development"})
    figure = curves(
        named.unpivot(["training", "development"], index="epoch", variable_name="part", value_name="loss"),
        "epoch",
        "loss",
        by="part",
        looks=_LOOKS,
        titles=("epoch", "loss (nats)"),
        hover=lambda row: lines(row["part"], f"epoch {row['epoch']}", f"loss (nats) {written(row['loss'], 4)}"),
    )
    return Chart(
        "Line chart of the loss on the training and on the development part, epoch by epoch.",
        "Where the development loss rises while the other falls, the network learns its training texts by heart.",
        {"losses": figure},
    )

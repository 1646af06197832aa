"""The page of `gru_training`."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from tiltmeter.jobs.report.html.elements import Bullets, Chart, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.plots.curves import curves
from tiltmeter.jobs.report.plots.style import INK, MALE, Look, lines
from tiltmeter.jobs.report.views import Draw, Show, section, shown
from tiltmeter.jobs.report.wording import number, percent, plural
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.sentiment.gru_training.job import Epochs, Evaluation

_LOOKS = {"training": Look(INK, dash="dash"), "development": Look(MALE)}
_ASKED = "How well does a recurrent network score the sentiment of texts that it was not trained on?"


def page(_: Run[Any, Any], frames: Frames) -> Body:
    """How well the network labels texts, and how its training went."""
    evaluation = frames["evaluation"]
    lead = Lead([Paragraph(_ASKED)], [Bullets(_findings(evaluation))], [Paragraph(_doubt(evaluation))])
    return Body("A recurrent sentiment system", {"job": "gru_training"}, lead, list(shown(_SECTIONS, frames)))


def _findings(evaluation: pl.DataFrame) -> list[str]:
    return [
        f"Of the {plural(row['num_texts'], 'text')} of the {row['part']} part, those that are not neutral get a score "
        f"of the right sign in {percent(row['sign_agreement'])} of the cases; all scores are off by "
        f"{number(row['mean_absolute_error'], 3)} on average."
        for row in evaluation.drop_nulls("sign_agreement").to_dicts()
    ]


def _doubt(evaluation: pl.DataFrame) -> str:
    fewest = min(evaluation["num_texts"].to_list(), default=0)
    return (
        "The weights are those after the epoch with the smallest development loss, so the numbers of the development "
        f"part flatter the network. The smallest part has {plural(fewest, 'text')}: shares of so many have a standard "
        f"error of up to {50.0 / max(fewest, 1) ** 0.5:.1f} percentage points. Another seed would give another network."
    )


def _losses(training: pl.DataFrame) -> Iterator[Chart]:
    renamed = training.rename({"loss": "training", "development_loss": "development"})
    figure = curves(
        renamed.unpivot(["training", "development"], index="epoch", variable_name="part", value_name="loss"),
        "epoch",
        "loss",
        by="part",
        looks=_LOOKS,
        titles=("epoch", "loss (nats)"),
        hover=lambda row: lines(row["part"], f"epoch {row['epoch']}", f"loss (nats) {number(row['loss'], 4)}"),
    )
    yield Chart(
        "Line chart of the loss on the training and on the development part, epoch by epoch.",
        "Where the development loss rises while the other falls, the network learns its training texts by heart.",
        {"losses": figure},
    )


_SECTIONS = [
    section(
        "evaluation",
        "How well it scores",
        Show(Evaluation, "By part of the data.", "part num_texts sign_agreement mean_absolute_error"),
    ),
    section(
        "training",
        "How it was trained",
        Draw(Epochs, _losses),
        Show(Epochs, "Losses in nats.", "epoch loss development_loss development_accuracy"),
    ),
]

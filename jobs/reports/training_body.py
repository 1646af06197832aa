"""The page of `gru_training`."""

from typing import Any

from jobs.context import Run
from jobs.report import Body, write_report
from jobs.reports.findings import Frames, number
from storage.html import Grid, Paragraph, Section

_PARTS = ["texts", "right sign", "mean absolute error"]
_EPOCHS = ["loss", "development loss", "development accuracy"]


def write_training_report(run: Run[Any, Any]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    write_report(run, training_body)


def training_body(frames: Frames) -> Body:
    """How well the network labels texts, and how its training went."""
    parts = [
        [row["part"], f"{row['num_texts']:,}", number(row["sign_agreement"], 3), number(row["mean_absolute_error"], 3)]
        for row in frames["evaluation"].to_dicts()
    ]
    epochs = [
        [str(row["epoch"]), *(number(row[name.replace(" ", "_")], 4) for name in _EPOCHS)]
        for row in frames["training"].to_dicts()
    ]
    lead = Paragraph("The weights are those after the epoch with the smallest development loss.")
    return Body(
        "A recurrent sentiment system",
        {"job": "gru_training"},
        [lead],
        [
            Section(
                "evaluation", "How well it scores", [Grid("By part of the data.", ["part", *_PARTS], parts, _PARTS)]
            ),
            Section("training", "How it was trained", [Grid("Losses in nats.", ["epoch", *_EPOCHS], epochs, _EPOCHS)]),
        ],
    )

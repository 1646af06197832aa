"""What a run prints of a partition when it ends."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from tiltmeter.jobs.report.terminal import print_outcome


def printed(lead):
    """The lines on a terminal of 80 columns."""
    run = SimpleNamespace(console=Console(file=io.StringIO(), width=80), lead=lead)
    record = {"units": {"done": 1, "reused": 0, "failed": 0}, "seconds": 1.0}
    run.directory = SimpleNamespace(record=record, path="runs/1")
    print_outcome(run)
    return run.console.file.getvalue().splitlines()


@pytest.mark.parametrize("frames", ["resolved", "study"])
def test_what_was_found_and_what_is_proven_is_printed_and_the_question_is_not(partition, frames):
    lead = partition.body(getattr(partition, frames)()).lead
    lines = printed(lead)
    _, findings, doubts = lead.parts
    warnings, bullets = doubts.blocks[:-1], doubts.blocks[-1]
    assert [line for line in lines if line.startswith("•")] == [
        f"• {text}" for text in [*findings.blocks[0].items, *bullets.items]
    ]
    assert [line for line in lines if line.startswith("warning")] == [f"warning: {block.text}" for block in warnings]
    assert len(warnings) == (frames == "study")
    assert "What was asked" not in lines

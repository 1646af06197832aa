"""What a run prints of a partition when it ends."""

import io

from rich.console import Console

from tiltmeter.jobs.report.terminal import print_outcome
from tiltmeter.storage.store.runs import opened


def printed(partition, path, frames):
    """The lines on a terminal of 80 columns."""
    console = Console(file=io.StringIO(), width=80)
    with opened(path) as run:
        run.begin(frames, job="entity_resolution", versions={})
        for name, rows in frames.items():
            run.write_table(name, partition.arrow(name, rows))
        run.record |= {"units": {"done": 1, "reused": 0, "failed": 0}, "seconds": 1.0}
        print_outcome(console, run)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def tables_of(frames):
    return {name: frames[name] for name in ("components", "metrics")}


def test_a_partition_is_printed_with_what_is_proven_and_metrics(partition, tmp_path):
    lines = printed(partition, tmp_path / "run", tables_of(partition.resolved()))
    assert lines[1:4] == [
        "7 records in 4 clusters",
        "1 component of 2 records or more: 1 proven, 0 with a gap",
        "objective 3.25; solved in 1.25 s",
    ]
    cells = [line.strip("│").replace(" ", "") for line in lines if line.startswith("│")]
    assert cells == ["pairwiseF1│0.9571", "precision│1.0000", "recall│0.9177"]


def test_a_study_is_printed_as_a_whole(partition, tmp_path):
    lines = printed(partition, tmp_path / "run", tables_of(partition.study()))
    assert lines[1:4] == [
        "21 records of 4 graphs in 5 clusters",
        "4 components of 2 records or more: 2 proven, 1 with a gap, 1 not partitioned in time",
        "objective 30.00, bound 30.50; solved in 66.00 s",
    ]
    # The mean of the three graphs that have an F1.
    assert [line.replace(" ", "") for line in lines if "F1" in line] == ["│pairwiseF1│0.9000│"]

"""What a stage's record says of its workers."""

import dataclasses

import pytest

from tiltmeter.cluster.stages import StageRecord
from tiltmeter.cluster.work import Report
from tiltmeter.storage.store.ledger import Finished

REPORTS = [("a 1", 3.0), ("a 2", 1.0), ("a 1", 0.5), ("", 0.0)]
"""Workers and the seconds that they were at a unit; the last died with its report."""


@pytest.mark.parametrize(("num_workers", "busy", "least"), [(2, 0.45, 0.2), (3, 0.3, 0.0)])
def test_a_stage_says_how_busy_its_workers_were(num_workers, busy, least):
    record = StageRecord("train", num_workers=num_workers)
    for worker, seconds in REPORTS:
        record.add(Report(Finished("a/1", "a", 7, {}), seconds, 5, worker))
    record.end(5.0)
    assert (record.num_done, record.num_bytes, record.peak_worker_memory_bytes) == (4, 28, 5)
    assert (record.seconds, record.worker_seconds) == (5.0, 4.5)
    assert (record.busy_share, record.least_busy_share) == pytest.approx((busy, least))


def test_a_stage_that_finds_all_done_has_no_busy_workers():
    record = StageRecord("train", num_reused=3)
    record.end(0.1)
    assert (record.num_workers, record.busy_share, record.least_busy_share) == (0, None, None)


def test_run_json_has_no_worker_by_name():
    record = StageRecord("train", num_workers=1)
    record.add(Report(Finished("a/1", "a", 7, {}), 1.0, 5, "secret host"))
    assert "secret" not in str(dataclasses.asdict(record))

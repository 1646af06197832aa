"""A night writes nothing where somebody else has laid something in its directory."""

import pytest

from tiltmeter.jobs.command import execute
from tiltmeter.storage.errors import StorageError


@pytest.fixture
def night(configured, tmp_path):
    (tmp_path / "night.yaml").write_text("a: job=prune")
    words = [f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store", f"run_dir={tmp_path}/night"]
    return lambda: execute(configured("job=overnight", *words))


@pytest.mark.parametrize("place", ["exports/a.log", "runs", "runs/a"])
def test_no_link_is_followed(night, tmp_path, place):
    outside, link = tmp_path / "outside", tmp_path / "night" / place
    (outside / "thesis").mkdir(parents=True)
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(StorageError, match=f"/{place}: is a symbolic link"):
        night()
    assert [path.name for path in outside.rglob("*")] == ["thesis"]


def test_no_log_is_replaced_that_no_night_has_written(night, tmp_path):
    log = tmp_path / "night/exports/a.log"
    log.parent.mkdir(parents=True)
    log.write_text("years of work")
    with pytest.raises(StorageError, match=r"its exports/a\.log is not one of ours"):
        night()
    assert log.read_text() == "years of work"

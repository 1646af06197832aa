"""A night that is interrupted between its jobs, while it looks at what they moved."""

import json

import pytest

from tiltmeter.jobs.command import execute
from tiltmeter.storage.store.registry import Registry


@pytest.mark.slow
def test_a_night_that_is_interrupted_while_it_compares_says_so(configured, outcome_of, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Registry, "last_succeeded", interrupted)
    (tmp_path / "night.yaml").write_text("first: job=prune\nsecond: job=prune\n")
    places = [f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store", f"run_dir={tmp_path}/night"]
    with pytest.raises(KeyboardInterrupt):
        execute(configured("job=overnight", *places))
    night = outcome_of(tmp_path / "night")
    outcome = json.loads((night.path / "exports/outcome.json").read_text())
    assert (night.record["status"], outcome["status"]) == ("interrupted", "interrupted")
    assert [(row["status"], row["reason"]) for row in outcome["jobs"]] == [
        ("interrupted", "the night was interrupted before it was compared"),
        ("interrupted", "the night was interrupted before it began"),
    ]

"""The intervals that jobs make if nothing is said are those that operators make."""

import hydra
import pytest
from omegaconf import OmegaConf

from tiltmeter.operators.statistics.intervals import IntervalSettings


@pytest.mark.parametrize("job", ["association", "psychophysics", "gender_survey", "survey"])
def test_the_intervals_of_jobs_are_those_of_operators(job):
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        settings = OmegaConf.to_container(hydra.compose("tiltmeter", [f"job={job}"]).job)
    default = IntervalSettings()
    assert (settings["level"], settings["interval"]) == (default.level, default.interval)

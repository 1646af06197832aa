"""Configs as the command composes them."""

import hydra
import pytest

from jobs.config import build


@pytest.fixture(scope="session")
def configured():
    """Builds a config from overrides, as ``tiltmeter`` would."""

    def compose(*overrides):
        with hydra.initialize_config_module("conf", version_base="1.3"):
            return build(hydra.compose("tiltmeter", [str(override) for override in overrides]))

    return compose

"""From a composed config to a run: which job it names, its checked config, and its execution."""

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from tiltmeter.jobs.catalogue import job, settings_packages
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.settings import composition
from tiltmeter.jobs.runtime.settings.files import SettingsFolders

SETTINGS, CONFIG = "tiltmeter.conf", "tiltmeter"
"""The package of the settings, and the file in it that names the others."""


def build(composed: DictConfig, overrides: Sequence[str] = ()) -> CommonConfig:
    """Check a composed config and turn it into the record of the job that it names.

    Args:
        composed: by Hydra.
        overrides: what the user asked for.

    Raises:
        ConfigError: naming every wrong key at once.
    """
    settings = composition.plain(composed)
    folders = SettingsFolders(f"pkg://{package}" for package in (*settings_packages(), SETTINGS))
    return composition.build(job(settings["job"]["name"]).config, settings, overrides, folders)


def execute(config: CommonConfig) -> Path:
    """Run the job of a config; see :func:`.execute.execute`."""
    # It brings what runs units; a wrong setting does not wait for it.
    from tiltmeter.jobs.execute import execute as run

    return run(job(config.job.name), config)

"""From a command line to a run: what it plans or runs, its config as Hydra composes it, and its execution."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from tiltmeter.jobs.catalogue import CONFIG, SETTINGS, job, settings_packages
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_hydra
from tiltmeter.jobs.upkeep.plan.config import read_command
from tiltmeter.storage.store.scratch import temporary_folder


def run(ending: Callable[[], AbstractContextManager[None]]) -> None:
    """Run or plan what the command line says; several times if it is to sweep.

    Args:
        ending: what each run ends the process with; Hydra would print what reaches it.

    Raises:
        ConfigError: for a plan of no job, or of one that can't be planned.
        StorageError: if no folder for temporary files can be written.
    """
    command = read_command(sys.argv[1:])
    temporary_folder()
    # Hydra reads them there.
    sys.argv[1:] = command.words

    @hydra.main(version_base="1.3", config_path=f"pkg://{SETTINGS}", config_name=CONFIG)
    def start(composed: DictConfig) -> None:
        with ending():
            config = command.config(build(composed, HydraConfig.get().overrides.task))
            if config.run_dir and HydraConfig.get().mode == RunMode.MULTIRUN:
                raise ConfigError(f"run_dir={config.run_dir}: the runs of a sweep cannot share it; leave it out")
            execute(config)

    confine_hydra(settings_packages())
    start()


def execute(config: CommonConfig) -> Path:
    """Run the job of a config; see :func:`.execute.execute`."""
    # It brings what runs units; a wrong setting does not wait for it.
    from tiltmeter.jobs.execute import execute as run

    return run(job(config.job.name), config)

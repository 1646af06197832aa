"""The command `tiltmeter`: compose the config, check it, run the job, say what came of it."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.catalogue import settings_packages
from tiltmeter.jobs.command import CONFIG, SETTINGS, build, execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.redaction import RedactedStream
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_hydra
from tiltmeter.jobs.upkeep.overnight.config import JobsFailed
from tiltmeter.storage.errors import Refusal

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_INTERRUPTED = 130


@contextmanager
def exit_status() -> Iterator[None]:
    """End the process as what happens inside ends: with a message, and a status that tells failures from refusals.

    Raises:
        SystemExit: for units or jobs that failed, for what the user can fix, and when the user interrupts.
    """
    try:
        yield
    except (JobsFailed, UnitsFailed) as error:
        _stop(EXIT_FAILED, str(error))
    except Refusal as error:
        _stop(EXIT_REFUSED, str(error))
    except KeyboardInterrupt:
        _stop(EXIT_INTERRUPTED, "interrupted; the same command goes on where this run stopped")


def _stop(status: int, message: str) -> None:
    print(f"tiltmeter: {message}", file=sys.stderr)
    sys.exit(status)


@hydra.main(version_base="1.3", config_path=f"pkg://{SETTINGS}", config_name=CONFIG)
def _run(composed: DictConfig) -> None:
    with exit_status():  # Hydra would print what reaches it
        config = build(composed, HydraConfig.get().overrides.task)
        if config.run_dir and HydraConfig.get().mode == RunMode.MULTIRUN:
            raise ConfigError(f"run_dir={config.run_dir}: the runs of a sweep cannot share it; leave it out")
        execute(config)


def main() -> None:
    """Entry point of the console command."""
    # All libraries together have a million objects, which the collector would look through again and again.
    gc.set_threshold(50_000, 20, 100)
    with redirect_stdout(RedactedStream(sys.stdout)), redirect_stderr(RedactedStream(sys.stderr)), exit_status():
        confine_hydra(settings_packages())
        _run()


if __name__ == "__main__":
    main()

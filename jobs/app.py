"""The command `tiltmeter`: compose the config, check it, run the job, say what came of it."""

import sys
from contextlib import redirect_stderr, redirect_stdout

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.command import CONFIG, SETTINGS, build, execute
from tiltmeter.jobs.embedding.corpus.texts import WordSetError
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.hydra_limits import confine_hydra
from tiltmeter.jobs.runtime.redaction import Discreet
from tiltmeter.jobs.sentiment.translation.apertium import TranslationError
from tiltmeter.jobs.upkeep.overnight.config import JobsFailed
from tiltmeter.storage.corpora.corpora import CorpusError
from tiltmeter.storage.models.checkpoints import CheckpointError
from tiltmeter.storage.models.gru_files import GRUFileError
from tiltmeter.storage.store.runs import RunDirectoryBusy
from tiltmeter.storage.store.tables import StorageError

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_INTERRUPTED = 130

_REFUSALS = (
    *(CheckpointError, ClusterError, ConfigError, CorpusError, GRUFileError, RunDirectoryBusy, StorageError),
    *(TranslationError, WordSetError),
)


@hydra.main(version_base="1.3", config_path=f"pkg://{SETTINGS}", config_name=CONFIG)
def _run(composed: DictConfig) -> None:
    try:
        config = build(composed, HydraConfig.get().overrides.task)
        if config.run_dir and HydraConfig.get().mode == RunMode.MULTIRUN:
            raise ConfigError(f"run_dir={config.run_dir}: the runs of a sweep cannot share it; leave it out")
        execute(config)
    except (JobsFailed, UnitsFailed) as error:
        _stop(EXIT_FAILED, str(error))
    except _REFUSALS as error:
        _stop(EXIT_REFUSED, str(error))
    except KeyboardInterrupt:
        _stop(EXIT_INTERRUPTED, "interrupted; the same command goes on where this run stopped")


def _stop(status: int, message: str) -> None:
    print(f"tiltmeter: {message}", file=sys.stderr)
    sys.exit(status)


def main() -> None:
    """Entry point of the console command."""
    with redirect_stdout(Discreet(sys.stdout)), redirect_stderr(Discreet(sys.stderr)):
        try:
            confine_hydra()
        except ConfigError as error:
            _stop(EXIT_REFUSED, str(error))
        _run()


if __name__ == "__main__":
    main()

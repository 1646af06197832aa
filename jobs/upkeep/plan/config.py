"""The config of `plan`: the config of another job, which is planned and not run, or of a list of jobs."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

from tiltmeter.jobs.catalogue import job, names
from tiltmeter.jobs.runtime.config import CommonConfig, CommonReading, ConfigError
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.storage.errors import meant

_CHOICE, _OF = "job", "job.of"
NO_UNITS = "does no units, so there is nothing to plan"

NIGHT = "overnight"
"""The job that runs those of a list, each of which is planned."""

COMPARED = "compare"
"""The job whose items are planned, from earlier logs: it has no units."""


@settings
class PlanJob:
    """``job=plan``; ``planned``: the job that ``job.of`` names."""

    name: Literal["plan"]
    planned: Text


@settings
class PlanRun(CommonConfig):
    """A run of ``plan``; ``planned``: the config of the planned job, as it would be run."""

    job: PlanJob
    planned: Any

    @classmethod
    def of(cls, config: CommonConfig) -> Self:
        """The plan of a job's run, in the same store, on the same cluster, and in a directory of its own.

        Raises:
            ConfigError: if counting its units would do what a plan must not.
        """
        if reason := why_not(config):
            raise ConfigError(f"{_OF}={config.job.name}: {reason}")
        return cls(
            job=PlanJob(name="plan", planned=config.job.name),
            planned=config,
            cluster=config.cluster,
            store=config.store,
            # A run begins by removing what is in its directory, where results of the planned job may lie.
            run_dir=config.run_dir and f"{config.run_dir.rstrip('/')}.plan",
            seed=config.seed,
            reading=CommonReading(max_bad_share=config.reading.max_bad_share),
            exports=config.exports,
        )


def why_not(config: CommonConfig) -> str:
    """Why a job with units, or of logs, can't be planned; empty if it can."""
    settings: Any = config
    if config.job.name == COMPARED and not settings.logs.is_set:
        return "what two runs differ in needs no plan; set logs.first, and logs.second, of which items are planned"
    if config.job.name == "private_vectors" and settings.release.key_file:
        return "what a release does depends on its key and is counted against its account: leave out release.key_file"
    return ""


class Command(NamedTuple):
    """The words of the job that a command line runs, and whether it is only planned."""

    words: list[str]
    is_plan: bool

    def config(self, config: CommonConfig) -> CommonConfig:
        """What is run: the job, or its plan."""
        return PlanRun.of(config) if self.is_plan else config


def read_command(words: Sequence[str]) -> Command:
    """Which job the words of a command line run or plan.

    >>> read_command(["job=plan", "job.of=bootstrap", "seed=1"])
    Command(words=['job=bootstrap', 'seed=1'], is_plan=True)
    >>> read_command(["job=bootstrap"])
    Command(words=['job=bootstrap'], is_plan=False)

    Raises:
        ConfigError: for a plan of no job, or of one that can't be planned.
    """
    chosen = [value for key, value in map(_setting, words) if key == _CHOICE]
    if "plan" not in chosen:
        return Command(list(words), is_plan=False)
    planned = [value for key, value in map(_setting, words) if key == _OF]
    if not planned:
        raise ConfigError(f"job=plan: which job is planned? Set {_OF}=<job>, and its settings as it takes them")
    if others := [name for name in chosen if name not in ("plan", planned[-1])]:
        raise ConfigError(f"job={others[0]}: {_OF}={planned[-1]} is the job that is planned; leave one of them out")
    name = planned[-1]
    if name not in (known := names()):
        choices = meant(name, known) or f"; choose one of {', '.join(known)}"
        raise ConfigError(f"{_OF}={name}: there is no such job{choices}")
    if name not in (NIGHT, COMPARED) and not job(name).has_units:
        raise ConfigError(f"{_OF}={name}: {NO_UNITS}; plan a job that measures")
    rest = [word for word in words if _setting(word)[0] not in (_CHOICE, _OF)]
    if name == COMPARED and not any(_setting(word)[0] == "logs.second" for word in rest):
        # Of one log, a second system like the first is planned.
        rest += [f"logs.second={word.partition('=')[2]}" for word in rest if _setting(word)[0] == "logs.first"]
    return Command([f"{_CHOICE}={name}", *rest], is_plan=True)


def _setting(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key.lstrip("+"), value.strip("'\"")

"""The config of `overnight`: a list of jobs, each as the words of its command line."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import abspath
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from hydra._internal.utils import get_args_parser
from pydantic import Field

from tiltmeter.jobs.catalogue import with_job
from tiltmeter.jobs.composing import compose, further_folders
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.jobs.runtime.settings.hydra_limits import quoted
from tiltmeter.jobs.upkeep.overnight.gates import Gate, check_gates
from tiltmeter.jobs.upkeep.overnight.notifying import check_command
from tiltmeter.jobs.upkeep.plan.config import read_command
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.yaml_text import check_yaml
from tiltmeter.storage.store.registry import is_series

_RESERVED = ("run_dir", "series", "store")


@settings
class OvernightJob:
    """``job=overnight``"""

    name: Literal["overnight"]
    max_hours: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None


@settings
class Notify:
    """Who is told what came of the night."""

    command: Text | None


@settings
class OvernightRun(CommonConfig):
    """A run of ``overnight``."""

    job: OvernightJob
    jobs: Text
    fail_if: Annotated[tuple[Gate, ...], Field(examples=[[{"table": "psychometrics", "column": "pse"}]])]
    notify: Notify


class ListedJob(NamedTuple):
    """A job of the list.

    Attributes:
        name: which tables and reports call it, and later nights know it by.
        words: of its command line.
    """

    name: str
    words: tuple[str, ...]

    @property
    def job(self) -> str:
        """What it runs."""
        return next((word.removeprefix("job=") for word in self.words if word.startswith("job=")), "survey")

    def sets(self, key: str) -> bool:
        """Whether it has a setting of its own, such as ``cluster``, or ``cluster.num_cpus``."""
        keys = (word.lstrip("+~").partition("=")[0] for word in self.words)
        return any(name == key or name.startswith(f"{key}.") for name in keys)


@dataclass(frozen=True)
class JobList:
    """What a night starts from."""

    file: FoundFile
    jobs: tuple[ListedJob, ...]

    def record(self) -> dict[str, Any]:
        """The list with its version, for ``run.json``."""
        return {"jobs": self.file.redacted}


def find_jobs(config: OvernightRun) -> JobList:
    """Read the list, and see that each of its lines is a command.

    Raises:
        InputError, ConfigError: as :func:`find_list`.
        Refusal: for settings that a job would refuse, with its name.
    """
    listed_jobs = find_list(config)
    for listed in listed_jobs.jobs:
        try:
            compose(read_command(listed.words).words)
        except Refusal as error:
            raise ConfigError(f"jobs={config.jobs}: {listed.name}: {error}") from error
    return listed_jobs


def find_list(config: OvernightRun) -> JobList:
    """Read the list, whose jobs find settings where the night finds its own.

    Raises:
        InputError: if there is no such file.
        ConfigError: if it is not a list of names and command lines, or a line sets what the night sets; for a gate
            that none of the jobs can fail, and what nobody could be told by.
    """
    check_command(config.notify.command)
    file = find_file(config.jobs, "jobs")
    with opened(file.uri) as source:
        jobs = read_jobs(source.read().decode(errors="replace"), config.jobs, further_folders())
    check_gates(config.fail_if, {listed.name: listed.job for listed in jobs})
    return JobList(file, jobs)


def read_jobs(text: str, name: str, folders: Sequence[str] = ()) -> tuple[ListedJob, ...]:
    """The jobs of a list.

    >>> read_jobs("ratings: job=sentiment_rating seed=1", "night.yaml")
    (ListedJob(name='ratings', words=('job=sentiment_rating', 'seed=1')),)

    Args:
        text: YAML: a mapping of names to command lines.
        name: of the file, for messages.
        folders: with further settings, beside those that a line names.

    Raises:
        ConfigError: see :func:`find_list`.
    """
    try:
        check_yaml(text)
        listed = yaml.compose(text, yaml.SafeLoader)
        plain = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"jobs={name}: is not YAML: {error}") from error
    if not isinstance(plain, dict) or not plain or not isinstance(listed, yaml.MappingNode):
        raise ConfigError(f"jobs={name}: must hold a name for each job and its command line, such as {_EXAMPLE}")
    # A mapping forgets all but the last of those that have the same name.
    twice = [key for key, number in Counter(key.value for key, _ in listed.value).items() if number > 1]
    if twice:
        raise ConfigError(f"jobs={name}: {twice[0]!r} is the name of two jobs; give each its own")
    return tuple(_listed(key, line, name, folders) for key, line in plain.items())


_EXAMPLE = "`wikipedias: job=survey corpus=[enwiki,dewiki]`"


def _listed(key: Any, line: Any, name: str, folders: Sequence[str]) -> ListedJob:
    where = f"jobs={name}: {key}"
    if not isinstance(key, str) or not is_series(key):
        raise ConfigError(f"{where}: a name has letters, digits, dots, hyphens and underscores only")
    if not isinstance(line, str):
        raise ConfigError(f"{where}: must be the words of a command line, such as {_EXAMPLE}, not {line!r}")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ConfigError(f"{where}: {line!r} is not a command line ({error})") from error
    job = ListedJob(key, tuple(_settings(words, where, folders)))
    if reserved := next((key for key in _RESERVED if job.sets(key)), None):
        raise ConfigError(f"{where}: {reserved} is set by the night; leave it out")
    if job.job == "overnight":
        raise ConfigError(f"{where}: job={job.job} can't be one of a night; leave it out")
    return job


def _settings(words: Sequence[str], where: str, folders: Sequence[str]) -> list[str]:
    """The settings of a line, with the folders of further ones."""
    options, others = get_args_parser().parse_known_args(words)
    if unknown := [word for word in words if word.startswith("-") and not word.startswith(_FOLDER_OPTIONS)]:
        raise ConfigError(f"{where}: {unknown[0]}: of all options, a line of a night has --config-dir alone")
    try:
        overrides = with_job([*options.overrides, *others])
    except Refusal as error:
        raise ConfigError(f"{where}: {error}") from error
    named = [f"file://{abspath(options.config_dir)}"] if options.config_dir else []
    places = list(dict.fromkeys([*named, *folders]))
    if not places or any(word.partition("=")[0] == _FOLDERS for word in overrides):
        return overrides
    return [*overrides, f"{_FOLDERS}=[{','.join(map(quoted, places))}]"]


_FOLDERS = "hydra.searchpath"
_FOLDER_OPTIONS = ("--config-dir", "-cd")

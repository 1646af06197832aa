"""What a config may not do to the process that composes it, however much Hydra would allow.

Config files may be someone else's. Of what they say Hydra itself would make objects of any class (callbacks, logging,
launchers and sweepers), set variables of the environment, and read any of them, credentials included.
"""

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cache, partial
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import hydra._internal.hydra as hydra_command
from hydra._internal import utils as hydra_utils
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, IConfigRepository
from hydra._internal.utils import get_args_parser
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.default_element import ResultDefault
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, OverrideParseException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.resolvers import oc

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings import foreign, mistakes
from tiltmeter.jobs.runtime.settings.files import SettingsFolders

T = TypeVar("T")

_ANSWER = "hydra.mode=RUN"
_OURS = ("hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.output_subdir=null")
_READABLE = re.compile(r"TILTMETER_(?!\w*(NOTIFY|WEBHOOK|TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY))\w+")

_AS_DELIVERED: dict[str, Any] = {
    "callbacks": {},
    "hydra_logging.root": None,
    "job.env_set": {},
    "job_logging.root": None,
    "launcher": {"_target_": "hydra._internal.core_plugins.basic_launcher.BasicLauncher"},
    "output_subdir": None,
    "sweeper": {
        "_target_": "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
        "max_batch_size": None,
        "params": None,
    },
}
"""Settings of Hydra that name classes, functions or variables, or write the config with the keys that it may hold."""


def confine_hydra(packages: Sequence[str] = ()) -> None:
    """Keep to this whatever is composed from now on.

    Args:
        packages: that have settings, beside our own.

    Raises:
        ConfigError: if the command line asks for a pickle to be run.
    """
    if get_args_parser().parse_known_args()[0].experimental_rerun is not None:
        raise ConfigError("--experimental-rerun: would load a pickle, which can run any code; give the settings again")
    confine_composition(packages)


def confine_composition(packages: Sequence[str] = ()) -> None:
    """The same, of a process that has no command line of ours, such as a notebook's."""
    OmegaConf.register_new_resolver("oc.env", environment_variable, replace=True)
    OmegaConf.register_new_resolver("private_folder", lambda: _private_folder().name, replace=True)
    setattr(hydra_command, ConfigLoaderImpl.__name__, partial(_ConfinedLoader, packages))
    setattr(hydra_utils, hydra_utils.run_and_report.__name__, _refused)


def _refused(function: Callable[[], T]) -> T:
    """Call a function of Hydra, which would print what it raises, and end with the status of a failure.

    Raises:
        ConfigError: for what the user can fix.
    """
    try:
        return function()
    except HydraException as error:
        raise ConfigError(mistakes.plain(error)) from error


def quoted(value: str) -> str:
    """A text as Hydra reads it in a word: a quote in it, and backslashes before one, are escaped.

    >>> quoted("it's")
    "'it\\\\'s'"
    """
    inside = re.sub(r"(\\*)('|$)", lambda match: 2 * match[1] + ("\\'" if match[2] else ""), value)
    return f"'{inside}'"


class _ConfinedLoader(ConfigLoaderImpl):
    def __init__(self, packages: Sequence[str], config_search_path: ConfigSearchPath) -> None:
        for package in packages:
            config_search_path.prepend(package, f"pkg://{package}", anchor="schema")
        super().__init__(config_search_path)
        self.repository = mistakes.Repository(config_search_path, packages)
        self._folders = SettingsFolders(str(folder.path) for folder in config_search_path.get_path())
        self._base: DictConfig | None = None
        self._composed: dict[tuple[str | None, ...], DictConfig | ConfigError] = {}

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Compose a config, and refuse one that can't be composed, or touches what it must not."""
        if config_name is None:  # the help of Hydra, which begins without the settings of ours
            overrides = [*overrides, *_OURS]
        parsed = self._parsed(overrides)
        mistakes.check_job(parsed)
        if validate_sweep_overrides:
            self._check_sweeps(parsed, run_mode, from_shell)
        if any(override.is_sweep_override() for override in parsed):
            return self._confined(config_name, parsed, run_mode, from_shell)
        # The command composes its config once to see whether it is to sweep, and once more with the answer.
        words = [override for override in parsed if override.input_line != _ANSWER]
        key = (config_name, *(override.input_line for override in words))
        if key not in self._composed:
            try:
                self._composed[key] = self._confined(config_name, words, RunMode.RUN, from_shell)
            except ConfigError as error:
                self._composed[key] = error
        result = self._composed[key]
        if isinstance(result, ConfigError):
            raise result
        composed = deepcopy(result)
        if _ANSWER in overrides:
            composed.hydra.mode = RunMode.RUN
        return composed

    def _parsed(self, overrides: list[str]) -> list[Override]:
        for word in overrides:
            mistakes.check_depth(word)
        try:
            return OverridesParser.create(config_loader=self).parse_overrides(overrides)
        except OverrideParseException as error:
            raise mistakes.unreadable(error, overrides, self._folders) from error

    def _check_sweeps(self, words: list[Override], run_mode: RunMode, from_shell: bool) -> None:
        try:
            self.validate_sweep_overrides_legal(words, run_mode, from_shell)
        except HydraException as error:
            raise mistakes.not_swept(error, words) from error

    def _confined(
        self, config_name: str | None, words: Sequence[Override], run_mode: RunMode, from_shell: bool
    ) -> DictConfig:
        self._base, overrides = None, [str(word.input_line) for word in words]
        try:
            composed = super().load_configuration(
                config_name, overrides, run_mode, from_shell, validate_sweep_overrides=False
            )
        except ConfigError:
            raise
        except (HydraException, ValueError) as error:
            raise mistakes.wrong(error, words, self._base, self._folders) from error
        _refuse_reach(composed)
        return composed

    def _parse_overrides_and_create_caching_repo(
        self, config_name: str | None, overrides: list[str]
    ) -> tuple[list[Override], CachingConfigRepository]:
        cast(mistakes.Repository, self.repository).main = config_name
        words, repo = super()._parse_overrides_and_create_caching_repo(config_name, overrides)
        self._folders = SettingsFolders(source.full_path() for source in repo.get_sources())
        return words, repo

    def _load_single_config(self, default: ResultDefault, repo: IConfigRepository) -> ConfigResult:
        result, path = super()._load_single_config(default, repo), str(default.config_path)
        files = cast(mistakes.Repository, cast(CachingConfigRepository, repo).delegate)
        if files.is_foreign(path):
            foreign.check_reach(cast(DictConfig, result.config), path.rpartition("/")[0], files.place(path))
        return result

    def _compose_config_from_defaults_list(self, defaults: list[ResultDefault], repo: IConfigRepository) -> DictConfig:
        self._base = super()._compose_config_from_defaults_list(defaults, repo)
        return self._base


def _refuse_reach(composed: DictConfig) -> None:
    for key, delivered in _AS_DELIVERED.items():
        node = OmegaConf.select(composed.hydra, key)
        value = OmegaConf.to_container(node) if OmegaConf.is_config(node) else node
        if value != delivered:
            raise ConfigError(
                f"hydra.{key} is {value!r}: must be {delivered!r}, as a config may not choose what code runs and "
                "what it finds in its environment; leave it out"
            )


def environment_variable(name: str, *default: Any) -> str | None:
    """The resolver ``oc.env``, for variables of this program alone.

    >>> environment_variable("HF_TOKEN")
    Traceback (most recent call last):
    tiltmeter.jobs.runtime.config.ConfigError: ${oc.env:HF_TOKEN}: a config reads variables called TILTMETER_... ...

    Raises:
        ConfigError: for any other variable.
        KeyError: if it is not set, and there is no default.
    """
    if not _READABLE.fullmatch(name):
        raise ConfigError(
            f"${{oc.env:{name}}}: a config reads variables called TILTMETER_... only, and none of a webhook, token, "
            "secret, password or key, so that no credential ends in a path or a name; set the key itself, or use a "
            "variable of such a name"
        )
    value: str | None = oc.env(name, *default)
    return value


@cache
def _private_folder() -> TemporaryDirectory[str]:
    """Where Hydra keeps the config of a sweep, with the keys that it may hold; it goes with the process."""
    return TemporaryDirectory(prefix="tiltmeter-")

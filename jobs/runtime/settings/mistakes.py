"""What is wrong with the words of a command line, or with a file of settings, where Hydra can't compose them."""

import re
from collections.abc import Iterator, Sequence
from importlib.resources.abc import Traversable
from typing import Any, cast

import yaml
from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.default_element import ConfigDefault, InputDefault
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override, ValueType
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings import foreign
from tiltmeter.jobs.runtime.settings.files import CORPORA, SUFFIX, SettingsFolders, settings_root
from tiltmeter.jobs.runtime.settings.known import COMMANDS, Known, keys_of
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.storage.errors import choices, listing, meant, nearest
from tiltmeter.storage.files.yaml_text import MOST_LEVELS, check_yaml, place_of

_NOT_CHOSEN = re.compile(r"Could not override '([^']+)'")
_CHOSEN_TWICE = re.compile(r"Multiple values for (\S+)\. ")
_NOT_NAMED = re.compile(r"Error merging override (.+); Cannot merge DictConfig with ListConfig$")
_MOST_SHOWN = 5
_NOT_FOR_US = re.compile(
    r"^(See https?:|To append to|Set the environment|Config search path:|\s+full_key:|\s+object_type=|\tprovider=)"
)


class Repository(ConfigRepository):
    """The files of settings; one that can't be read, or says what it may not, is refused by its name.

    Attributes:
        main: the file that takes in all others.
        packages: that have jobs, whose files they trust.
    """

    def __init__(self, config_search_path: ConfigSearchPath, packages: Sequence[str]) -> None:
        super().__init__(config_search_path)
        self.main: str | None = None
        self.packages = packages

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Read a file.

        Raises:
            ConfigError: if it is no YAML, no settings, or settings that it may not set.
        """
        source = self._source(config_path)
        if source is None or source.full_path() in foreign.OURS:
            return super().load_config(config_path)
        place, group = self.place(config_path), config_path.rpartition("/")[0]
        try:
            self._check_text(source, config_path)
            result = super().load_config(config_path)
            if result and not OmegaConf.is_dict(result.config):
                raise ValueError("must have settings by their names, such as `path: texts.csv`")
        except ConfigError:
            raise
        except (yaml.YAMLError, OmegaConfBaseException, HydraException, ValueError, OSError) as error:
            raise ConfigError(f"{place}: {_why_unreadable(error)}") from error
        if result and self.is_foreign(config_path):
            foreign.check_file(result, group, place)
        if result and group == "corpus" and self.config_exists(CORPORA):
            cast(list[InputDefault], result.defaults_list).insert(
                0, ConfigDefault(path=f"/{CORPORA}", package="_here_")
            )
        return result

    def _check_text(self, source: ConfigSource, config_path: str) -> None:
        root = cast(Traversable, settings_root(source.full_path()))
        file = root.joinpath(f"{config_path.removesuffix(SUFFIX)}{SUFFIX}")
        text = file.read_text(encoding="utf-8")
        if text.startswith("\ufeff"):
            raise ValueError("begins with a byte order mark, behind which `# @package` is not seen: save it without")
        if self.is_foreign(config_path):
            foreign.check_text(text, config_path.rpartition("/")[0], self.place(config_path))
        else:
            check_yaml(text)

    def place(self, config_path: str) -> str:
        """Where a file lies, for messages."""
        source = self._source(config_path)
        path = f"{config_path.removesuffix(SUFFIX)}{SUFFIX}"
        return f"{source.path}/{path}" if source else path

    def is_foreign(self, config_path: str) -> bool:
        """Whether it may be by others than its user or us; of a package, the file of a job is trusted like the job."""
        source = self._source(config_path)
        if source is None or config_path == self.main or source.full_path() in foreign.OURS:
            return False
        return not (config_path.startswith("job/") and source.path in self.packages)

    def _source(self, config_path: str) -> ConfigSource | None:
        return self._find_object_source(config_path, ObjectType.CONFIG)


def _why_unreadable(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = place_of(mark) if mark else ""
        reason = ", ".join(filter(None, [error.context, error.problem]))
        is_limit = type(error) is yaml.MarkedYAMLError
        wrong = f"{where}: {reason}" if is_limit else f"is not YAML in {where}: {reason}"
        return f"{wrong}; correct it there, or leave the file out"
    if isinstance(error, UnicodeDecodeError):
        return f"is not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8"
    return f"can't be read as settings: {plain(error)}"


def plain(error: BaseException) -> str:
    """What an error of Hydra says of settings, in a line."""
    texts = [str(error), *([str(error.__cause__)] if isinstance(error.__cause__, OmegaConfBaseException) else [])]
    lines = [line for text in texts for line in text.splitlines() if line.strip() and not _NOT_FOR_US.match(line)]
    return "; ".join(line.strip().rstrip(":;.") for line in lines)


def unreadable(error: OverrideParseException, words: Sequence[str], folders: SettingsFolders) -> ConfigError:
    """For a word that is not ``key=value`` as Hydra reads it.

    Args:
        words: of the command line, the word among them.
        folders: with the jobs and the settings that it may have meant.
    """
    word = error.override
    key, equals, _ = word.partition("=")
    if not equals and not word.startswith("~"):
        return _without_equals(word, words, folders)
    reason = plain(error).removeprefix(f"Error parsing override '{word}'").strip("; ")
    # Redaction takes what follows a URI without a space for a part of it.
    quotes = f"a value with spaces, commas, quotes or any of ()[]{{}}:=$% is quoted twice: \"{key}='<value>'\""
    return ConfigError(f"{word} is no setting as a command line writes it ({reason}); {quotes}")


def _without_equals(word: str, words: Sequence[str], folders: SettingsFolders) -> ConfigError:
    """For a setting that is written otherwise, and for a job or a command that there is not."""
    spaced = re.search(r"([^\s=]+)(?:\s+=\s*|=\s+)(\S+)", " ".join(words))
    if spaced and word in spaced.groups():
        return ConfigError(f"{spaced[0]}: a setting is written without spaces: {'='.join(spaced.groups())}")
    job = next((other.removeprefix("job=") for other in words if other.startswith("job=")), "survey")
    settings = {*folders.of_job(job), *folders.groups}
    key, _, value = re.sub(r"[:\s]+", "=", word.strip("- "), count=1).partition("=")
    jobs = [*folders.options("job"), *COMMANDS]
    name = nearest(key, [*jobs, *settings])
    if name in settings:
        return ConfigError(f"{word}: a setting is written {name}={value or '<value>'}")
    return ConfigError(f"{word}: there is no such job or command{meant(word, jobs)}; a setting is written key=<value>")


def check_depth(word: str) -> None:
    """Refuse a word whose brackets are nested deeper than those of a file may be.

    Raises:
        ConfigError: naming its key.
    """
    level = 0
    for bracket in re.findall(r"[\[{(\])}]", re.sub(r"'(\\.|[^'\\])*'|\"(\\.|[^\"\\])*\"", "", word)):
        level += 1 if bracket in "[{(" else -1
        if level > MOST_LEVELS:
            raise ConfigError(f"{word.partition('=')[0]}: is nested more than {MOST_LEVELS} levels deep")


def check_job(words: Sequence[Override]) -> None:
    """Nothing but a choice says which job is run.

    Raises:
        ConfigError: for a job that is only renamed, or several at once.
    """
    for word in words:
        if word.key_or_group == "job.name":
            raise ConfigError(f"{word.input_line}: is the name of what was chosen; choose a job with job=<name>")
        if word.key_or_group == "job" and isinstance(word.value(), list):
            raise ConfigError(f"{word.input_line}: must be one job; job=overnight runs several, one after the other")


def not_swept(error: HydraException, words: Sequence[Override]) -> ConfigError:
    """For several values of a setting where one is asked for."""
    word = next((word for word in words if word.value_type == ValueType.SIMPLE_CHOICE_SWEEP), None)
    if word is None or word.is_hydra_override():
        return ConfigError(plain(error))
    key, _, values = str(word.input_line).partition("=")
    return ConfigError(
        f"{word.input_line}: has several values: with --multirun, there is a run for each; a list is written "
        f"{key}=[{values}], a text with a comma \"{key}='{values}'\""
    )


def unknown_choice(error: MissingConfigException, words: Sequence[Override], folders: SettingsFolders) -> ConfigError:
    """For an option that its group does not have, or a file that another one names and that there is not."""
    group, _, option = (error.missing_cfg_file or "").rpartition("/")
    options = folders.options(group) if group else []
    word = next((word for word in words if word.key_or_group == group and option in _options(word)), None)
    if word is None:
        return ConfigError(f"{plain(error)}{'' if group else meant(option, folders.options(''))}")
    kind = "job" if group == "job" else "choice"
    similar = meant(option, options)
    advice = f"{' C' if similar else '; c'}hoose one of {listing(option, options)}"
    return ConfigError(f"{group}={option}: there is no such {kind}{similar}{advice}")


def _options(word: Override) -> list[Any]:
    value = word.value()
    return value if isinstance(value, list) else [value]


def wrong(
    error: Exception, words: Sequence[Override], base: DictConfig | None, folders: SettingsFolders
) -> ConfigError:
    """For anything else that can't be composed.

    Args:
        error: of Hydra.
        words: of the command line.
        base: the config without what the words set in it; None if not even that could be composed.
    """
    if isinstance(error, MissingConfigException):
        return unknown_choice(error, words, folders)
    if base is not None:
        plain_base = cast(dict[str, Any], OmegaConf.to_container(base, resolve=False))
        known = Known({name: node for name, node in plain_base.items() if name != "hydra"}, folders)
        settings = [word for word in words if not (_key(word) in folders.groups and _is_choice(word))]
        if lines := [f"{word.input_line}: {known.no_such(key)}" for word, key in _unknown(settings, base)]:
            return ConfigError("\n".join(lines))
    numbers = [word for word in words if not isinstance(word.value(), dict)]
    if unnamed := [word for word in numbers if _key(word) in folders.groups and not _is_choice(word)]:
        return ConfigError("\n".join(_no_name(str(word.input_line), _key(word), folders) for word in unnamed))
    text = plain(error)
    if (match := _NOT_NAMED.match(text)) and base is not None:
        return _no_names(match[1], base)
    if match := _NOT_CHOSEN.search(text):
        return _not_chosen(match[1], words, folders)
    if match := _CHOSEN_TWICE.match(text):
        return ConfigError(f"+{match[1]}: is chosen already; leave out the plus: {match[1]}=<name>")
    return ConfigError(text)


def _key(word: Override) -> str:
    return str(word.key_or_group)


def _is_choice(word: Override) -> bool:
    return word.is_delete() or isinstance(word.value(), str | list)


def _no_name(word: str, group: str, folders: SettingsFolders) -> str:
    return f"{word}: is the name of no choice; choose one of {choices('', folders.options(group))}"


def _no_names(word: str, base: DictConfig) -> ConfigError:
    """For a list where values have names."""
    key = word.lstrip("+").partition("=")[0]
    node = OmegaConf.select(base, key)
    if OmegaConf.is_list(node):
        return ConfigError(f"{word}: must be a list: {key}=[<value>, ...]")
    names = [str(name) for name in node]
    return ConfigError(
        f"{word}: must be values by their names, such as {listed(names[:_MOST_SHOWN])}; set {key}.<name>=<value>"
    )


def _unknown(words: Sequence[Override], base: DictConfig) -> Iterator[tuple[Override, str]]:
    """The keys that words set, or leave out, and that are not there."""
    for word in words:
        if not (word.is_add() or word.is_force_add()):
            keys = [_key(word), *(f"{_key(word)}.{key}" for key in keys_of(word.value()))]
            yield from ((word, key) for key in keys if not foreign.is_in(base, key))


def _not_chosen(choice: str, words: Sequence[Override], folders: SettingsFolders) -> ConfigError:
    """For a choice from a group that the job does not choose from, or not for such a setting: ``spoken@data``."""
    group, package, _ = choice.partition("@")
    [usual] = [choice.options[0] for choice in folders.file("tiltmeter").choices if choice.group == "job"]
    job = next((str(word.value()) for word in reversed(words) if word.key_or_group == "job"), usual)
    [word] = [word for word in words if word.key_or_group == group][-1:]
    known = Known({"job": {"name": job}}, folders)
    reason = f"is added with a plus: +{word.input_line}" if package or known.is_added(group) else known.no_such(group)
    return ConfigError(f"{word.input_line}: {reason}")

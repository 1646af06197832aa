"""What a file of settings may say that its user need not have written: a corpus, word lists or a preset in a folder.

Such a file sets what its group is about. What a command does with the machine (where it writes, whom it tells, what it
removes) is said by the command line, or by the main file that ``--config-name`` names; these two alone read the
environment. Our own files are trusted.
"""

import re
from typing import cast

import yaml
from hydra.core.default_element import ConfigDefault, GroupDefault, InputDefault
from hydra.plugins.config_source import ConfigResult
from omegaconf import DictConfig, ListConfig, OmegaConf

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.files import absolute
from tiltmeter.storage.files.yaml_text import place_of, yaml_events

OURS = ("pkg://hydra.conf", "pkg://tiltmeter.conf", "structured://")

_OF_COMMANDS = (
    *("classifier.function", "cluster", "hydra", "jobs", "notify", "release", "run_dir", "series", "store"),
    *("exports.mlflow", "exports.wandb", "job.forget", "job.keep", "job.name", "job.of", "job.remove"),
)
_OWN = {"cluster": "cluster", "job": "job.name"}
"""What files of a group set all the same, as it is what they are for."""

_ANYWHERE = ("", "job", "preset")
"""Groups whose files set what jobs ask, in whatever group."""

_ELSEWHERE = {"inverses": "data.inverses"}
"""Where files of a group go that is not called so."""

_SHARED = ("/corpora", "/intervals", "/slices")
"""Files of ours that those of groups take in."""

_INTERPOLATION = re.compile(r"(\\*)\$\{")
_SIBLING = re.compile(r"\$\{\.\w+\}")
_ADVICE = "give such settings on the command line"


def check_text(text: str, group: str, place: str) -> None:
    r"""Refuse a file that takes values from elsewhere, such as the environment.

    What stands beside it, as in ``${.language}wiki``, a file of a group may use; ``\${`` is the characters themselves.

    Raises:
        ConfigError: naming line and column.
        YAMLError: if it is not YAML, or nested too deep.
    """
    for event in yaml_events(text):
        if isinstance(event, yaml.ScalarEvent) and (taken := _taken(event.value, is_local=group not in _ANYWHERE)):
            raise ConfigError(
                f"{place}: {place_of(event.start_mark)}: {taken} takes a value from elsewhere, which only the command "
                "line and the file of --config-name may; write out what it stands for"
            )


def _taken(value: str, *, is_local: bool) -> str | None:
    r"""The first interpolation of a text that takes something from elsewhere.

    >>> _taken(r"\${a} ${.b} ${oc.env:C}", is_local=True), _taken("${.b}", is_local=False)
    ('${oc.env:C}', '${.b}')
    """
    for match in _INTERPOLATION.finditer(value):
        start = match.end() - 2
        if len(match[1]) % 2 == 0 and not (is_local and _SIBLING.match(value, start)):
            return value[start : value.find("}", start) + 1 or None]
    return None


def check_file(result: ConfigResult, group: str, place: str) -> None:
    """Refuse a file that goes where its group does not, or chooses for other groups.

    Raises:
        ConfigError: naming what it says.
    """
    package = result.header["package"]
    top = group.partition("/")[0]
    if top not in _ANYWHERE and not _is_within(package, top):
        goes = _ELSEWHERE.get(top, f"{top}.<name>")
        raise ConfigError(
            f"{place}: `# @package {package}`: a file of the group {top} sets {top} alone: write `# @package {goes}` "
            f"there, and {_ADVICE}"
        )
    for item in result.defaults_list or ():
        if _is_beyond(item, group):
            raise ConfigError(f"{place}: defaults: {_written(item)}: is not for a file of the group {group}; {_ADVICE}")


def _is_within(package: str | None, top: str) -> bool:
    if package is None or package == "_group_":
        return True
    path = package.removeprefix("_global_.")
    return path == _ELSEWHERE.get(top) or (path.partition(".")[0] == top and "_global_" not in path)


def _is_beyond(item: InputDefault, group: str) -> bool:
    is_choice = isinstance(item, GroupDefault)
    name = absolute(_path(item), group)
    top = name.partition("/")[0] if is_choice or "/" in name else ""
    if ".." in name.split("/"):
        return True
    if group.partition("/")[0] in _ANYWHERE:
        return top in ("cluster", "hydra") or (top == "job" and (is_choice or group != "job"))
    if not is_choice and (_path(item) in _SHARED or item.is_self()):
        return item.package not in (None, "")
    return top != group.partition("/")[0] or item.package not in (None, "")


def _path(item: InputDefault) -> str:
    return str(item.group if isinstance(item, GroupDefault) else cast(ConfigDefault, item).path)


def _written(item: InputDefault) -> str:
    if isinstance(item, GroupDefault):
        return f"{'override ' if item.override else ''}{item.group}: {item.value}"
    return f"{_path(item)}{f'@{item.package}' if item.package else ''}"


def check_reach(config: DictConfig | ListConfig, group: str, place: str) -> None:
    """Refuse settings of a command, wherever in a file, or in what places it, they stand.

    Args:
        config: of the file, where it goes.

    Raises:
        ConfigError: naming the first.
    """
    for key in _OF_COMMANDS:
        if _OWN.get(group) != key and is_in(config, key):
            raise ConfigError(
                f"{place}: {key} is set by the command line or the file of --config-name alone; leave it out there"
            )


def is_in(base: DictConfig | ListConfig, key: str) -> bool:
    """Whether a config has a key, with or without a value; any in a list, whose items have none."""
    parent, _, name = key.rpartition(".")
    node = OmegaConf.select(base, parent, throw_on_resolution_failure=False) if parent else base
    return name in node if isinstance(node, DictConfig) else isinstance(node, ListConfig)

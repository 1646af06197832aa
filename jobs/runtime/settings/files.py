"""Files of settings as a person reads them: what a setting is usually, and what the comment beside it says.

A setting means what the comment on its line says, or the lines of comments before it. The first comment of a job's file
says what the job does, and how it is called: ``# Which records are one entity: tiltmeter job=entity_resolution ...``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import yaml

from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.yaml_text import check_yaml

SUFFIX = ".yaml"
_PACKAGE = re.compile(r"# @package (\S+)")
_COMMAND = re.compile(r":?\s*(tiltmeter .*)")


class Setting(NamedTuple):
    """A setting of a file; one that holds others has no value of its own.

    Attributes:
        key: with its package.
        value: usually, as it is written on a command line; None: it must be given.
        meaning: what its comment says; may be empty.
    """

    key: str
    value: str | None
    meaning: str
    is_block: bool = False


class Choice(NamedTuple):
    """A group of which a file chooses options, or another file that it takes in (``group`` is empty).

    Attributes:
        package: where their settings go, if not where they say: within those of the file; ``_here_``: beside them.
    """

    group: str
    options: tuple[str, ...]
    package: str = ""

    def within(self, package: str) -> str:
        """Where the settings of a file go that is taken into one with a package.

        >>> Choice("", ("/resampling",), "intervals").within(""), Choice("", ("/corpora",), "_here_").within("corpus.x")
        ('intervals', 'corpus.x')
        """
        return ".".join(filter(None, [package, "" if self.package == "_here_" else self.package]))


CORPORA = "corpora"
"""The file of what all corpora have, whether they say so or not."""


class Gathered(NamedTuple):
    """Settings of several files.

    Attributes:
        settings: by their keys.
        groups: that something is chosen of, with what is.
    """

    settings: Mapping[str, Setting]
    groups: Mapping[str, Sequence[str]]

    def within(self, package: str, whole: str = "") -> "Gathered":
        """The same settings where a package has them.

        Args:
            package: that they go to; empty: to the top.
            whole: the package that they say.
        """
        prefix = f"{package}." if package else ""
        named = {f"{prefix}{key.removeprefix(f'{whole}.')}": setting for key, setting in self.settings.items()}
        return self._replace(settings={key: setting._replace(key=key) for key, setting in named.items()})


class SettingsFile(NamedTuple):
    """A file of settings.

    Attributes:
        about: what its first comment says.
        example: the command that the first comment ends with; may be empty.
        choices: of its defaults list.
        package: where its settings go; empty: to the top.
    """

    about: str
    example: str
    choices: tuple[Choice, ...]
    settings: tuple[Setting, ...]
    package: str = ""

    def setting(self, key: str) -> Setting | None:
        """The setting of a key, with its package."""
        return next((setting for setting in self.settings if setting.key == key), None)


class SettingsFolders:
    """Folders with files of settings, in the order in which they are looked through.

    Args:
        places: such as ``pkg://tiltmeter.conf`` or ``file:///home/me/mine``.
    """

    def __init__(self, places: Iterable[str]) -> None:
        self._files: dict[str, SettingsFile] = {}
        self._roots = [root for place in places if (root := settings_root(place)) is not None]

    def options(self, group: str) -> list[str]:
        """What can be chosen of a group, such as ``corpus``; nothing if there is no such group."""
        folders = [folder for root in self._roots if (folder := root.joinpath(group)).is_dir()]
        names = {path.name for folder in folders for path in folder.iterdir() if path.is_file()}
        return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    @cached_property
    def groups(self) -> list[str]:
        """All groups, such as ``corpus`` and ``wordset/gender``."""
        return sorted({group for root in self._roots for group in _groups(root)})

    def file(self, name: str) -> SettingsFile:
        """A file by its group and name, such as ``job/survey``; one without anything if there is none.

        Raises:
            Refusal: if it can't be read.
        """
        if name not in self._files:
            paths = (root.joinpath(f"{name}{SUFFIX}") for root in self._roots)
            path = next((path for path in paths if path.is_file()), None)
            try:
                file = read(path.read_text(encoding="utf-8") if path else "", ".".join(name.split("/")[:-1]))
            except (yaml.YAMLError, ValueError) as error:
                raise Refusal(f"{path}: can't be read as settings: {' '.join(str(error).split())}") from error
            if name.startswith("corpus/") and CORPORA not in (choice.options[0].strip("/") for choice in file.choices):
                file = file._replace(choices=(Choice("", (f"/{CORPORA}",), "_here_"), *file.choices))
            self._files[name] = file
        return self._files[name]

    def gathered(self, name: str, chosen: Mapping[str, Sequence[str]]) -> "Gathered":
        """The settings of a file, of those that it takes in, and the groups that it chooses from.

        Args:
            name: such as ``job/survey``.
            chosen: options by their group, where they are not the usual ones.
        """
        file, folder = self.file(name), name.rpartition("/")[0]
        settings: dict[str, Setting] = {}
        groups: dict[str, Sequence[str]] = {}
        for choice in file.choices:
            if choice.group:
                group = absolute(choice.group, folder)
                groups[group] = chosen.get(group, choice.options)
            else:
                other = absolute(choice.options[0], folder)
                taken = self.gathered(other, chosen)
                if block := choice.within(file.package) if choice.package else "":
                    taken = taken.within(block)
                if choice.package not in ("", "_here_"):
                    settings[block] = Setting(block, None, self.file(other).about, is_block=True)
                settings |= taken.settings
                groups |= taken.groups
        return Gathered(settings | {setting.key: setting for setting in file.settings}, groups)

    def of_job(
        self, job: str = "survey", chosen: Mapping[str, Sequence[str]] = MappingProxyType({}), key: str = ""
    ) -> dict[str, Setting]:
        """The settings of a job, of all jobs, and of what is chosen of the groups whose settings a key may be among."""
        gathered = [self.gathered(name, chosen) for name in (f"job/{job}", "cluster/local", "tiltmeter")]
        for group, options in {**gathered[0].groups, **chosen}.items():
            if group != "job" and key.startswith(group.partition("/")[0]):
                gathered += [self.gathered(f"{group}/{option}", chosen) for option in options]
        return {key: setting for one in gathered for key, setting in one.settings.items()}


def _groups(folder: Traversable, prefix: str = "") -> Iterator[str]:
    for path in folder.iterdir():
        if path.is_dir() and path.name.isidentifier() and not path.name.startswith("_"):
            yield f"{prefix}{path.name}"
            yield from _groups(path, f"{prefix}{path.name}/")


def settings_root(place: str) -> Traversable | None:
    """The folder of a place such as ``pkg://tiltmeter.conf``; None for a package that there is not."""
    scheme, _, path = place.rpartition("://")
    try:
        return files(path.replace("/", ".").strip(".")) if scheme == "pkg" else Path(path)
    except (ImportError, TypeError):  # Hydra warns of it, or refuses it
        return None


def read(text: str, package: str = "") -> SettingsFile:
    """A file of settings.

    >>> file = read("# Lengths: tiltmeter job=lengths\\njob:\\n  size: 2 # of a unit\\npath: ???")
    >>> file.about, file.example, file.setting("job.size")
    ('Lengths', 'tiltmeter job=lengths', Setting(key='job.size', value='2', meaning='of a unit', is_block=False))

    Args:
        text: YAML.
        package: where its settings go, unless the file says so itself.

    Raises:
        YAMLError: if it is not YAML.
    """
    lines = text.splitlines()
    head = [*takewhile(lambda line: line.startswith("#"), lines)]
    top = len(head)
    if head and (named := _PACKAGE.fullmatch(head[0])):
        package, head = named[1], head[1:]
    paragraph = " ".join(map(_comment_text, takewhile(lambda line: line != "#", head)))
    about, _, example = _COMMAND.sub(r"\n\1", paragraph).partition("\n")
    check_yaml(text)
    node = yaml.compose(text, yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode):
        return SettingsFile(about, example, (), ())
    prefix = "" if package == "_global_" else package
    entries = [(key, value) for key, value in node.value if key.value != "defaults"]
    choices = [choice for key, value in node.value if key.value == "defaults" for choice in _choices(value)]
    settings = [setting for key, value in entries for setting in _settings(key, value, prefix, lines, top)]
    return SettingsFile(about, example, tuple(choices), tuple(settings), prefix)


def _comment_text(comment: str) -> str:
    return comment.strip().removeprefix("#").strip()


def _choices(defaults: yaml.Node) -> Iterator[Choice]:
    for item in defaults.value:
        if isinstance(item, yaml.ScalarNode):
            path, _, package = item.value.partition("@")
            if path != "_self_":
                yield Choice("", (path,), package)
        else:
            [(group, options)] = item.value
            if not group.value.startswith("override "):
                name, _, package = group.value.removeprefix("optional ").partition("@")
                yield Choice(name, tuple(_scalars(options)), package)


def _scalars(node: yaml.Node) -> list[str]:
    return [node.value] if isinstance(node, yaml.ScalarNode) else [item.value for item in node.value]


def _settings(key: yaml.Node, value: yaml.Node, prefix: str, lines: Sequence[str], top: int) -> Iterator[Setting]:
    """A setting, and those that it holds."""
    name = f"{prefix}.{key.value}" if prefix else key.value
    is_block = isinstance(value, yaml.MappingNode) and not value.flow_style
    meaning = _meaning(key, value, lines, top)
    yield Setting(name, None if is_block else _written(value), meaning, is_block)
    if is_block:
        for inner, held in value.value:
            yield from _settings(inner, held, name, lines, top)


def _meaning(key: yaml.Node, value: yaml.Node, lines: Sequence[str], top: int) -> str:
    is_collection = isinstance(value, yaml.CollectionNode) and not value.flow_style
    end = key.end_mark if is_collection or not value.value else value.end_mark
    beside = re.search(r"(?:^|\s)#\s*(.*)", lines[end.line][end.column :])
    # The first comment is about the file.
    comment, before = " " * key.start_mark.column + "#", lines[top : key.start_mark.line]
    above = [*takewhile(lambda line: line.startswith(comment), reversed(before))]
    return beside[1] if beside else " ".join(map(_comment_text, reversed(above)))


def _written(node: yaml.Node) -> str | None:
    """A value as it is written on a command line; None for one that must be given."""
    if isinstance(node, yaml.ScalarNode):
        if node.style:
            return f"'{node.value}'"
        return None if node.value == "???" else node.value.replace("_", "") if _is_number(node) else node.value
    if isinstance(node, yaml.SequenceNode):
        return "[" + ",".join(str(_written(item)) for item in node.value) + "]"
    return "{" + ",".join(f"{key.value}:{_written(value)}" for key, value in node.value) + "}"


def _is_number(node: yaml.ScalarNode) -> bool:
    return node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def absolute(name: str, folder: str) -> str:
    """A file or a group of a defaults list, which stands in a folder unless it begins with a slash.

    >>> absolute("replicas", "embedding"), absolute("/embeddings", "job"), absolute("corpus", "")
    ('embedding/replicas', 'embeddings', 'corpus')
    """
    return name[1:] if name.startswith("/") else f"{folder}/{name}" if folder else name

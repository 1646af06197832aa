"""What a run of `relation_rules` starts from, found before any work."""

from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.files.files import file_state


@dataclass(frozen=True)
class RelationSources:
    """Attributes:
    data: files of the parts; none where sentences are made up.
    rules: the file of rules, if there is one.
    tags: files of what rules say, by the part.
    """

    data: Files
    rules: Files
    tags: Files

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        tags = {f"tags_{name}": record for name, record in self.tags.record().items()}
        return self.data.record() | self.rules.record() | tags


def find_sources(config: RelationRulesRun) -> RelationSources:
    """Look for the files.

    Raises:
        InputError: if one is missing, or can't be read.
    """
    names = {"training": "path"}
    data: dict[str, FoundFile] = {
        split: _readable(path, f"data.{names.get(split, split)}")
        for split, path in config.data.files.items()
        if path is not None
    }
    tags: dict[str, FoundFile] = {
        split: _readable(path, f"rules.tags.{split}")
        for split, path in config.rules.tags.files.items()
        if path is not None
    }
    rules = {} if config.rules.path is None else {"rules": _readable(config.rules.path, "rules.path")}
    return RelationSources(Files(data), Files(rules), Files(tags))


def _readable(path: str, setting: str) -> FoundFile:
    file = find_file(path, setting)
    file_state(file.uri)
    return file

"""What a run of `relation_rules` starts from, found before any work."""

from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.embedding.corpus.texts import Text, find_text
from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.texts.lists import COLUMNS
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.storage.corpora.pages import Source
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.files.files import file_state
from tiltmeter.storage.store.ledger import Store


@dataclass(frozen=True)
class RelationSources:
    """Attributes:
    data: files of the parts; none where sentences are made up.
    rules: the file of rules, if there is one.
    tags: files of what rules say, by the part.
    lists: tables of mentions and facts, as far as there are.
    texts: unlabelled ones, if there are.
    """

    data: Files
    rules: Files
    tags: Files
    lists: Files
    texts: Text | None

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        tags = {f"tags_{name}": record for name, record in self.tags.record().items()}
        corpus = [] if self.texts is None else [_entry(source) for source in self.texts.sources]
        return self.data.record() | self.rules.record() | tags | self.lists.record() | {"texts": corpus}


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
    paths = {"mentions": config.texts.mentions, "facts": config.texts.facts}
    lists = {name: find_table(path, f"texts.{name}", COLUMNS[name]) for name, path in paths.items() if path is not None}
    corpus = config.texts.corpus
    texts = None if corpus is None else find_text(corpus, None, fold_case=False, store=Store(config.store).root)
    return RelationSources(Files(data), Files(rules), Files(tags), Files(lists), texts)


def _entry(source: Source) -> dict[str, Any]:
    return {"name": source.name, "bytes": source.num_bytes, "version": source.version}


def _readable(path: str, setting: str) -> FoundFile:
    file = find_file(path, setting)
    file_state(file.uri)
    return file

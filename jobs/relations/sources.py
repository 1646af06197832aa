"""What a run of `relation_rules` starts from, found before any work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.embedding.sources import Text, find_text
from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.pretrained import PretrainedSources, find_pretrained
from tiltmeter.jobs.relations.texts.lists import COLUMNS
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.storage.corpora.pages import Source
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.files.files import file_state
from tiltmeter.storage.records.cells import GIVEN
from tiltmeter.storage.store.ledger import Store


@dataclass(frozen=True)
class RelationSources:
    """Attributes:
    data: files of the parts; none where sentences are made up.
    rules: the file of rules, if there is one.
    beside: files beside the instances: ``tags``, ``mappings`` and ``trees``, each by the part.
    lists: tables of mentions and facts, as far as there are.
    texts: unlabelled ones, if there are.
    pretrained: what the encoder starts from.
    """

    data: Files
    rules: Files
    beside: Mapping[str, Files]
    lists: Files
    texts: Text | None
    pretrained: PretrainedSources

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        beside = {
            f"{kind}_{name}": record for kind, files in self.beside.items() for name, record in files.record().items()
        }
        return self.data.record() | self.rules.record() | beside | self._others()

    def _others(self) -> dict[str, Any]:
        corpus = [] if self.texts is None else [_entry(source) for source in self.texts.sources]
        return self.lists.record() | self.pretrained.record() | {"texts": corpus}


def find_sources(config: RelationRulesRun) -> RelationSources:
    """Look for the files.

    Raises:
        InputError: if one is missing, or can't be read.
        CheckpointError: if the transformer can't be found.
    """
    names = {"training": "path"}
    data: dict[str, FoundFile] = {
        split: _readable(path, f"data.{names.get(split, split)}")
        for split, path in config.data.files.items()
        if path is not None
    }
    given = {"tags": config.rules.tags, "mappings": config.rules.mappings, "trees": config.data.trees}
    beside = {
        kind: Files(
            {
                split: _readable(path, f"{'data' if kind == 'trees' else 'rules'}.{kind}.{split}")
                for split, path in parts.files.items()
                if path is not None
            }
        )
        for kind, parts in given.items()
    }
    rules = {} if config.rules.path is None else {"rules": _readable(config.rules.path, "rules.path")}
    paths = {"mentions": config.texts.mentions, "facts": config.texts.facts}
    lists = {
        name: find_table(path, f"texts.{name}", COLUMNS[name], rules=dict.fromkeys(COLUMNS[name], (GIVEN,)))
        for name, path in paths.items()
        if path is not None
    }
    corpus = config.texts.corpus
    texts = None if corpus is None else find_text(corpus, None, fold_case=False, store=Store(config.store).root)
    return RelationSources(Files(data), Files(rules), beside, Files(lists), texts, find_pretrained(config.encoder))


def _entry(source: Source) -> dict[str, Any]:
    return {"name": source.name, "bytes": source.num_bytes, "version": source.version}


def _readable(path: str, setting: str) -> FoundFile:
    file = find_file(path, setting)
    file_state(file.uri)
    return file

"""What `privacy_metrics` starts from: files of texts, of vectors and of a lexicon, and a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.classifiers.config import EncoderSources, find_encoder
from tiltmeter.jobs.classifiers.labelled_data import find_labelled_data
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun, SpokenData
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.storage.corpora.sources import FoundFile


@dataclass(frozen=True)
class PrivacySources:
    """Attributes:
    data: files of labelled texts.
    others: further corpora by the name of their setting, those that there are.
    lexicon: of valence.
    encoder: what models start from.
    """

    data: Files
    others: dict[str, FoundFile]
    lexicon: FoundFile | None
    encoder: EncoderSources

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        single = {"lexicon": self.lexicon, **self.others}
        files = {name: file.redacted for name, file in single.items() if file is not None}
        return self.data.record() | files | self.encoder.record()


def find_sources(config: PrivacyMetricsRun) -> PrivacySources:
    """Look for the files and the checkpoint.

    Raises:
        InputError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    lexicon, others = config.lexicon, config.corpora
    data = others.pop("data")
    return PrivacySources(
        find_labelled_data(data),
        {name: _find_single(corpus, name) for name, corpus in others.items()},
        _find(lexicon.path, "lexicon.path", [lexicon.word, lexicon.valence], lexicon.header),
        find_encoder(config.models),
    )


def _find_single(corpus: SpokenData, name: str) -> FoundFile:
    columns = list(dict.fromkeys(corpus.columns.values()))
    return find_table(corpus.path, f"{name}.path", columns, header=corpus.header)


def _find(path: str | None, setting: str, columns: Sequence[str], header: bool) -> FoundFile | None:
    return None if path is None else find_table(path, setting, columns, header=header)

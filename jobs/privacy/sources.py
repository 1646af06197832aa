"""What `privacy_metrics` starts from: files of texts, of vectors and of a lexicon, and a checkpoint."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.explanations.labelled_data import LabelledFiles, find_labelled_data
from jobs.privacy.config import CHECKPOINT_SETTING, PrivacyMetricsRun
from storage.checkpoints import find_checkpoint
from storage.records import check_columns
from storage.sources import FoundFile, find_file


@dataclass(frozen=True)
class PrivacySources:
    """Attributes:
    data: files of labelled texts.
    others: further corpora by the name of their setting, those that there are.
    vectors: that the small encoder starts from.
    lexicon: of valence.
    checkpoint: version of the checkpoint that is fine-tuned.
    """

    data: LabelledFiles
    others: dict[str, FoundFile]
    vectors: FoundFile | None
    lexicon: FoundFile | None
    checkpoint: str | None

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        single = {"vectors": self.vectors, "lexicon": self.lexicon, **self.others}
        files = {name: file.entry for name, file in single.items() if file is not None}
        return self.data.record() | files | ({} if self.checkpoint is None else {"checkpoint": self.checkpoint})


def find_sources(config: PrivacyMetricsRun, _: str) -> PrivacySources:
    """Look for the files and the checkpoint.

    Raises:
        CorpusError, CheckpointError: if one is missing, can't be read, or lacks a column.
    """
    data, models, lexicon = config.data, config.models, config.lexicon
    columns = list(dict.fromkeys(data.columns.values()))
    others = {}
    for name, corpus in {"across": config.across, "unbiased": config.unbiased}.items():
        if found := _found(corpus.path, f"{name}.path", columns, data.header):
            others[name] = found
    checkpoint = None
    if models.checkpoint is not None:
        checkpoint = find_checkpoint(models.checkpoint, models.revision, CHECKPOINT_SETTING).version
    return PrivacySources(
        find_labelled_data(data),
        others,
        None if models.vectors is None else find_file(models.vectors, "models.vectors"),
        _found(lexicon.path, "lexicon.path", [lexicon.word, lexicon.valence], lexicon.header),
        checkpoint,
    )


def _found(path: str | None, setting: str, columns: Sequence[str], header: bool) -> FoundFile | None:
    if path is None:
        return None
    file = find_file(path, setting)
    check_columns(file.uri, columns, setting, header=header)
    return file

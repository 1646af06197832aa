"""What `privacy_metrics` starts from: files of texts, of vectors and of a lexicon, and a checkpoint."""

from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.classifiers.config import EncoderSources, find_encoder
from tiltmeter.jobs.classifiers.labelled_data import find_labelled_data
from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun, SpokenData, ValenceLexicon
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.records.cells import GIVEN, TEXT, between


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
        _find_lexicon(lexicon),
        find_encoder(config.models),
    )


def _find_single(corpus: SpokenData, name: str) -> FoundFile:
    columns = list(dict.fromkeys(corpus.columns.values()))
    return find_table(corpus.path, f"{name}.path", columns, header=corpus.header, rules={corpus.text: [TEXT]})


def _find_lexicon(lexicon: ValenceLexicon) -> FoundFile | None:
    if lexicon.path is None:
        return None
    scale = between(lexicon.low, lexicon.high)._replace(
        reason=f"no valence from {lexicon.low:g} to {lexicon.high:g}, as lexicon.low and lexicon.high say"
    )
    columns, rules = [lexicon.word, lexicon.valence], {lexicon.valence: [GIVEN, scale]}
    return find_table(lexicon.path, "lexicon.path", columns, header=lexicon.header, rules=rules)

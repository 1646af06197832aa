"""Pairs of sentences, and what language models say of each."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.language_models.config import BIAS, CONTROL, MEANING, Format, columns_of, rules_of
from tiltmeter.jobs.language_models.tables import Prepared, Scored
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.batching import longest_input
from tiltmeter.operators.language_models.likelihoods import (
    SCORES,
    LanguageModel,
    Score,
    Sentence,
    Total,
    totals,
)
from tiltmeter.storage.models.checkpoints import find_checkpoint
from tiltmeter.storage.models.load import load_language_model
from tiltmeter.storage.records import labels, read_records
from tiltmeter.storage.records.stereoset import read_stereoset
from tiltmeter.storage.store.ledger import Store, TableRef

TRIPLE = ("stereotype, anti-stereotype", "stereotype, unrelated", "anti-stereotype, unrelated")
"""The pairs of three sentences about a term."""


@dataclass(frozen=True)
class Checkpoint(Subject):
    """A language model.

    Attributes:
        model: a name on the hub or a local folder.
        version: that was found before any work.
        setting: that names the model; messages name it.
        max_tokens: that it is given at a time.
    """

    model: str
    version: str
    setting: str
    max_tokens: int
    on_gpu: bool = False

    @property
    def identity(self) -> Mapping[str, Any]:
        """Whatever decides what it says, to the last bit."""
        return {"version": self.version, "on_gpu": self.on_gpu, "max_tokens": self.max_tokens}

    def ready(self) -> AbstractContextManager[LanguageModel]:
        """In a worker, in which it stays until another is asked for."""
        return resident(("language model", self.version, self.on_gpu, self.max_tokens), lambda _: self._load())

    def _load(self) -> LanguageModel:
        folder = find_checkpoint(self.model, self.version, self.setting).folder
        loaded = load_language_model(folder, "cuda" if self.on_gpu else "cpu", self.setting)
        return LanguageModel(*loaded, self.max_tokens)


class ReadPairs(Work, unit="sentence_pairs_read/1", stage="read pairs"):
    """The pairs of all files, in parts.

    Attributes:
        files: identities by what they hold: ``pairs``, and ``control`` if there is such a file.
        form: of the first.
    """

    files: Mapping[str, Mapping[str, Any]]
    form: Format
    lowercase: bool
    unit_pairs: int

    def tables(self, _: Store) -> Tables:
        made = [row for name, file in self.files.items() for row in self._rows(name, file["uri"])]
        for number, row in enumerate(made):
            row["row"] = number
            if self.lowercase:
                row |= {side: row[side].lower() for side in ("more", "less")}
        for start in range(0, len(made), self.unit_pairs):
            yield f"rows_{start:08d}", pa.Table.from_pylist(made[start : start + self.unit_pairs], Prepared.schema())

    def _rows(self, name: str, uri: str) -> list[dict[str, Any]]:
        if name == "pairs" and self.form == "stereoset":
            return list(_triples(uri))
        form = self.form if name == "pairs" else "pairs"
        columns = columns_of(uri, form)
        table = read_records(uri, [*columns.values()], rules=rules_of(columns))
        cells = {
            name: table[called].cast(pl.String) if name in ("more", "less") else labels(table[called])
            for name, called in columns.items()
        }
        rows = [{"compared": "more, less", "kind": None, "id": None} | row for row in pl.DataFrame(cells).to_dicts()]
        for number, row in enumerate(rows):
            row["id"] = row["id"] or str(number)
            row["kind"] = CONTROL if name == "control" else row["kind"] or BIAS
        return rows


def _triples(uri: str) -> Iterator[dict[str, Any]]:
    for one in read_stereoset(uri):
        about = {"id": one.id, "template": one.target, "category": one.bias_type}
        texts = one.stereotype, one.anti_stereotype, one.unrelated
        for compared, (more, less) in zip(TRIPLE, ((0, 1), (0, 2), (1, 2)), strict=True):
            kind = BIAS if compared == TRIPLE[0] else MEANING
            yield about | {"compared": compared, "kind": kind, "more": texts[more], "less": texts[less]}


class ScorePairs(Work, unit="sentence_pair_scores/1", stage="score", makes=[Scored]):
    """What a model says of some pairs; sentences that come again are asked about once."""

    model: Checkpoint
    name: str
    pairs: TableRef
    scores: Sequence[Score]

    def rows(self, store: Store) -> Iterator[Scored]:
        pairs = Prepared.read(store, self.pairs)
        with self.model.ready() as model:
            texts = dict.fromkeys(text for pair in pairs for text in (pair.more, pair.less))
            sentences = {text: model.sentence(text) for text in texts}
            longest = longest_input(model.model, model.tokenizer)
            short = [text for text, one in sentences.items() if len(one.ids) <= longest]
            values = {
                masking: dict(
                    zip(short, model.log_probabilities([sentences[text] for text in short], masking), strict=True)
                )
                for masking in dict.fromkeys(SCORES[score].masking for score in self.scores)
            }
        for pair in pairs:
            for score in self.scores:
                yield self._row(pair, score, sentences, values[SCORES[score].masking], longest)

    def _row(
        self,
        pair: Prepared,
        score: Score,
        sentences: Mapping[str, Sentence],
        values: Mapping[str, FloatArray],
        longest: int,
    ) -> Scored:
        row = Scored(model=self.name, score=score, row=pair.row)
        row.id, row.kind, row.compared, row.more, row.less = pair.id, pair.kind, pair.compared, pair.more, pair.less
        first, second = sentences[pair.more], sentences[pair.less]
        row.pieces = int(first.is_scored.sum() - second.is_scored.sum())
        if not {pair.more, pair.less} <= values.keys():
            length = max(len(first.ids), len(second.ids))
            return row.fail("too_long", f"a sentence has {length} tokens, and the model takes {longest}")
        of_pair = values[pair.more], values[pair.less]
        one, other = totals(first, second, of_pair, is_shared=SCORES[score].is_shared)
        row.num_tokens_more, row.num_tokens_less = one.num_tokens, other.num_tokens
        if not (one.num_tokens and other.num_tokens):
            return row.fail("no_token", "one of the sentences has no token that counts")
        row.score_more, row.score_less = one.log_likelihood, other.log_likelihood
        row.difference = row.score_more - row.score_less
        row.per_token = _per((one, other), (one.num_tokens, other.num_tokens))
        row.per_word = _per((one, other), (len(pair.more.split()), len(pair.less.split())))
        row.per_character = _per((one, other), (len(pair.more), len(pair.less)))
        return row


def _per(both: tuple[Total, Total], sizes: tuple[int, int]) -> float:
    first, second = (one.log_likelihood / size for one, size in zip(both, sizes, strict=True))
    return first - second

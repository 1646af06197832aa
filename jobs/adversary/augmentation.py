"""Found texts as texts to train on, and the files that a sample of them is written to."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.config import AdversaryRun, LanguageModel
from tiltmeter.jobs.adversary.tables import FLIPPED, Augmentation
from tiltmeter.jobs.classifiers.tables import Split
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers import augmentation
from tiltmeter.operators.classifiers.adversary.words import folded
from tiltmeter.operators.classifiers.augmentation import Variant, balanced_sample, change_norm
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.text import perplexity
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.storage.store.ledger import Store, TableRef

KEY = ("row", "victim", "direction", "search")
"""Columns that tell attacks apart."""


class CollectTexts(Work, unit="adversary_augmentation/1", stage="collect texts", makes=[Augmentation]):
    """Of all victims, the texts that flip a verdict.

    Attributes:
        per_source: of the sample; None: there is none.
        texts: that the language model learns, those for training.
        vectors: of all words.
        about, attacks, substitutions: what was attacked, and what came of it, in parts.
    """

    language_model: LanguageModel
    per_source: int | None
    seed: int
    texts: TableRef
    vectors: TableRef
    about: Sequence[TableRef]
    attacks: Sequence[TableRef]
    substitutions: Sequence[TableRef]
    operators: Sequence[str] = (augmentation.VERSION, perplexity.VERSION)

    def rows(self, store: Store) -> Sequence[Augmentation]:
        """In the order of the attacks."""
        about, attacks, changes = (
            pl.concat([pl.DataFrame(store.read(ref)) for ref in refs])
            for refs in (self.about, self.attacks, self.substitutions)
        )
        flips = attacks.filter(pl.col("status").is_in(FLIPPED)).join(about, on=["row", "victim"], maintain_order="left")
        words = changes.group_by(KEY).agg("word", "replacement", pl.col("is_flagged").any())
        flips = flips.join(words, on=KEY, maintain_order="left")
        named = {word for column in ("word", "replacement") for row in flips[column].to_list() for word in folded(row)}
        made = list(self._made(flips, self._model(store), self._vectors(store, named)))
        if self.per_source is not None:
            sound = [row for row in made if row.is_correct and not row.is_flagged]
            variants = [Variant(row.row, row.label, row.text) for row in sound]
            sample = balanced_sample(variants, about["text"].unique().to_list(), self.per_source, self.seed)
            chosen = {id(sound[number]) for number in sample}
            for row in made:
                row.is_sampled = id(row) in chosen
        return made

    def _made(self, flips: pl.DataFrame, model: KneserNey, vectors: Mapping[str, FloatArray]) -> Iterator[Augmentation]:
        for row in flips.iter_rows(named=True):
            before, after = (folded(row[name].split()) for name in ("text", "changed_text"))
            gain = model.log_probabilities(after).sum() - model.log_probabilities(before).sum()
            pairs = list(zip(folded(row["word"]), folded(row["replacement"]), strict=True))
            yield Augmentation(
                **{name: row[name] for name in (*KEY, "label", "group", "is_flagged", "is_correct")},
                text=row["changed_text"],
                words_changed=row["num_changes"],
                norm=change_norm(pairs, vectors),
                fluency=float(gain) / len(before),
            )

    def _model(self, store: Store) -> KneserNey:
        learnt = [folded(row.text.split()) for row in Split.read(store, self.texts) if row.part == "training"]
        return KneserNey(learnt, self.language_model.order, self.language_model.discount)

    def _vectors(self, store: Store, named: set[str]) -> dict[str, FloatArray]:
        """Of the words that are asked for, in small letters: of several spellings the most frequent."""
        table = store.read(self.vectors)
        table = table.filter(table["vector"].is_valid())
        spelt = [word.lower() for word in table["word"].to_pylist()]
        rows = {word: row for row, word in reversed(list(enumerate(spelt))) if word in named}
        if not rows:
            return {}
        vectors = matrix(table["vector"].take(list(rows.values()))).astype(np.float64)
        return dict(zip(rows, vectors, strict=True))


def export_sample(run: AdversaryRun, collected: TableRef) -> None:
    """Write the sample as ``exports/augmentation.parquet`` and ``.jsonl``: ``text``, ``label``, its source."""
    columns = ["text", "label", "row", "victim", "direction", "words_changed", "norm", "fluency", "group"]
    rows: Any = pl.DataFrame(run.runner.store.read(collected)).filter(pl.col("is_sampled")).select(columns)
    for name, write in (("parquet", rows.write_parquet), ("jsonl", rows.write_ndjson)):
        content = BytesIO()
        write(content)
        run.directory.export_bytes(f"augmentation.{name}", content.getvalue())

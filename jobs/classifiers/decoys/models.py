"""Texts with each decoy, the models that learn them, who has adopted it, and what explanations say of that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.attributions import ExplainWith
from tiltmeter.jobs.classifiers.decoys.config import USUAL_DECOYS, DecoyRun, Intervals, LanguageModel
from tiltmeter.jobs.classifiers.decoys.tables import LEFT_OUT, Decoys, ExplainedWords, LeftOut, Measures, Probes, Words
from tiltmeter.jobs.classifiers.intervals import TextEstimate, drawn_texts, mean_of_texts, text_estimate
from tiltmeter.jobs.classifiers.models import TextModel, TrainedSource
from tiltmeter.jobs.classifiers.networks import Encoders
from tiltmeter.jobs.classifiers.splits import split_schema, units_of_texts
from tiltmeter.jobs.classifiers.tables import SENTENCES
from tiltmeter.jobs.classifiers.training import TrainTexts
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers import answers
from tiltmeter.operators.classifiers.answers import ask
from tiltmeter.operators.classifiers.attribution.attribute import Networked
from tiltmeter.operators.classifiers.decoys import adoption, kinds, making
from tiltmeter.operators.classifiers.decoys.kinds import Decoy, DeletedDecoy, Text
from tiltmeter.operators.classifiers.decoys.measures import measure, measure_pooled
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.text import perplexity
from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef

Row = Mapping[str, Any]
"""Of texts: with their ``row``, ``text``, ``label`` and ``part``, and the ``group`` where they have one."""


class FitDecoys(Work, unit="decoy_fit/1", stage="fit decoys", makes=[LeftOut]):
    """Which decoys the training texts have no place for: told before anything is trained."""

    decoys: Mapping[str, Decoy]
    texts: TableRef
    operator: str = kinds.VERSION

    def rows(self, store: Store) -> Iterator[LeftOut]:
        """A row for each of these."""
        learnt = _texts(part_of(store.read(self.texts).to_pylist(), "training"))
        for name, reason in misfits(self.decoys, learnt).items():
            yield LeftOut(decoy=name, model=None).fail(LEFT_OUT, reason)


def part_of(rows: Sequence[Row], part: str) -> list[Row]:
    """The texts of a part."""
    return [row for row in rows if row["part"] == part]


def _texts(rows: Sequence[Row]) -> list[Text]:
    return [Text(row["text"], row["label"]) for row in rows]


def misfits(chosen: Mapping[str, Decoy], texts: Sequence[Text]) -> dict[str, str]:
    """The decoys that training texts have no place for, and why."""
    reasons = {}
    for name, decoy in chosen.items():
        try:
            kinds.resolved(decoy, texts)
        except ValueError as error:
            reasons[name] = str(error)
    return reasons


def check_fit(chosen: Mapping[str, Decoy], reasons: Mapping[str, str]) -> None:
    """Refuse decoys that do not fit the texts, if they are no usual ones or if none is left.

    Args:
        chosen: all of the run.
        reasons: why some do not fit.

    Raises:
        InputError: with all of these reasons.
    """
    refused = [name for name in reasons if chosen[name] != USUAL_DECOYS.get(name)]
    if len(reasons) == len(chosen):
        refused = list(reasons)
    if refused:
        raise InputError("; ".join(f"decoys.{name}: {reasons[name]}" for name in refused))


class MakeDecoy(Work, unit="decoy/2", stage="make decoys", makes=[Probes, Words, Measures]):
    """Texts with a decoy, those in which it contradicts a class, what it promises, and pools: how many, how large."""

    name: str
    decoy: Decoy
    texts: TableRef
    language_model: LanguageModel
    pools: tuple[int, int]
    seed: int
    operators: Sequence[str] = (kinds.VERSION, making.VERSION, perplexity.VERSION)

    def tables(self, store: Store) -> Tables:
        """The texts, a table of each kind of rows, and one for each pool of sentences."""
        rows, settings = store.read(self.texts).to_pylist(), self.language_model
        before, test = _texts(part_of(rows, "training")), part_of(rows, "test")
        model = KneserNey([folded_words(text) for text, _ in before], settings.order, settings.discount)
        decoy = kinds.resolved(self.decoy, before)
        indicates = kinds.indicated(decoy, before)
        changed = making.decoyed(_texts(rows), decoy, indicates, self.seed, model)
        pairs = list(zip(rows, changed, strict=True))
        kept = [row | {"text": text} for row, text in pairs if text is not None]
        yield "texts", pa.Table.from_pylist(kept, split_schema(rows))
        contrary = making.contradicted(_texts(test), decoy, indicates, self.seed, model)
        naturalness = _naturalness([(row["text"], text) for row, text in pairs if row["part"] == "test"], model)
        states = {"_before": before, "": _texts(part_of(kept, "training"))}
        promised = self._promised(decoy, indicates, states, naturalness)
        yield from tables_of([*_probes(test, contrary, decoy), *promised], self.makes)
        yield from pools_of_texts(kept, self.seed, *self.pools)

    def _promised(
        self, decoy: Decoy, indicates: Mapping[str, str], states: Mapping[str, Sequence[Text]], naturalness: Row
    ) -> Iterator[Words | Measures]:
        """Of training texts as they were and as the decoy leaves them: of each word, and of all."""
        for word, label in indicates.items():
            measured = {ending: measure(texts, word, decoy.match)._asdict() for ending, texts in states.items()}
            columns = {
                f"{name}{ending}": value for ending, values in measured.items() for name, value in values.items()
            }
            yield Words(decoy=self.name, word=word, indicates=label, **columns)
        pooled = {ending: measure_pooled(texts, indicates, decoy.match)._asdict() for ending, texts in states.items()}
        columns = {
            f"pooled_{name}{ending}": value for ending, values in pooled.items() for name, value in values.items()
        }
        words = ", ".join(f"{word}: {label}" for word, label in indicates.items())
        yield Measures(words=words, **columns, **naturalness)


def _probes(test: Sequence[Row], contrary: Sequence[str | None], decoy: Decoy) -> Iterator[Probes]:
    """Texts in which the decoy contradicts their class, and then such texts without it."""
    pairs = list(zip(test, contrary, strict=True))
    for row, text in pairs:
        if text is not None:
            yield Probes(row=row["row"], has_decoy=True, text=text, label=row["label"])
    for row, text in pairs:
        is_kept = text is not None
        if isinstance(decoy, DeletedDecoy):
            is_kept = text is None and row["label"] == decoy.label
        if is_kept:
            yield Probes(row=row["row"], has_decoy=False, text=row["text"], label=row["label"])


def _naturalness(test: Sequence[tuple[str, str | None]], model: KneserNey) -> dict[str, float]:
    """Of the test texts as they were and as they are, which the language model has not learnt; of none, nothing."""
    is_deleted = any(text is None for _, text in test)
    pairs = test if is_deleted else [(before, after) for before, after in test if before != after]
    remaining = [after for _, after in pairs if after is not None]
    if not remaining:
        return {}
    before, after = (model.perplexity(map(folded_words, texts)) for texts in ([text for text, _ in pairs], remaining))
    return {"perplexity_before": before, "perplexity": after, "perplexity_shift": after / before}


def pools_of_texts(rows: Sequence[Row], seed: int, num: int, size: int) -> Iterator[tuple[str, pa.Table]]:
    """Test texts to be explained, in pools, in an order that depends on what they say; no group is in two pools."""
    test = part_of(rows, "test")
    test.sort(key=lambda row: (document_key(f"{seed}\nexplained\n{row['text']}"), row["row"]))
    pools = _filled(test, size)[:num]
    if len(pools) < 2:
        units = units_of_texts(test)
        subject = "" if units.kind == "text" else f" of {units.num} groups, of which none is in two pools"
        raise ValueError(
            f"{len(test)} test texts{subject}: must be at least two times explanations.pool_size={size}; lower it, or "
            "set data.test to a file with more"
        )
    for number, part in enumerate(pools):
        sentences = [{"sentence": row["row"], "text": row["text"], "gold": row["label"]} for row in part]
        yield f"pool_{number:05d}", pa.Table.from_pylist(sentences, SENTENCES)


def _filled(rows: Sequence[Row], size: int) -> list[list[Row]]:
    """Pools of so many rows, filled group by group as their first rows come; what is left of a group is left out."""
    groups: dict[int, list[Row]] = {}
    for row, unit in zip(rows, units_of_texts(rows).codes.tolist(), strict=True):
        groups.setdefault(unit, []).append(row)
    pools: list[list[Row]] = []
    pool: list[Row] = []
    for group in groups.values():
        pool += group
        if len(pool) >= size:
            pools.append(pool[:size])
            pool = []
    return pools


class TrainModel(TrainTexts, unit="decoy_model/1", stage="train"):
    """A model that learns texts with a decoy, without one, or with wrong labels."""


@dataclass(frozen=True)
class Trainer:
    """What all models of a run have in common: what makes them, and its seed."""

    encoders: Encoders
    seed: int

    @classmethod
    def of(cls, run: DecoyRun) -> Self:
        """By the settings of a run."""
        models = run.config.models
        on_gpu = uses_gpus(models.device, run.runner.pool.num_gpus, "models.device")
        return cls(Encoders(models, run.sources.encoder, on_gpu), run.config.seed)

    @property
    def max_tokens(self) -> int:
        """That a model is given at a time where it is asked."""
        return self.encoders.models.training.max_tokens

    def lesson(self, name: str, group: str, number: int, texts: TableRef) -> TrainModel:
        """The training of a model on texts of the schema ``SPLIT``; its number decides its random numbers."""
        return TrainModel(label=name, group=group, encoders=self.encoders, texts=texts, seed=self.seed + number)

    def model(self, trained: TableRef, role: str = "model") -> TextModel[Networked]:
        """One that was trained."""
        return TextModel(TrainedSource(self.max_tokens), self.encoders.on_gpu, trained, role)


class EvaluatePair(Work, unit="decoy_adoption/6", stage="evaluate", makes=[Decoys]):
    """Whether a model has adopted its decoy, by another that differs in nothing else."""

    decoy: str
    number: str
    made: Decoy
    decoyed: TextModel[Networked]
    original: TableRef
    texts: TableRef
    probes: TableRef
    measures: TableRef
    intervals: Intervals
    seed: int
    operators: Sequence[str] = (adoption.VERSION, answers.VERSION, means.VERSION)

    def rows(self, store: Store) -> Iterator[Decoys]:
        """The row of both models."""
        test = part_of(store.read(self.texts).to_pylist(), "test")
        groups = {row["row"]: row.get("group") for row in test}
        probes = [row | {"group": groups[row["row"]]} for row in store.read(self.probes).to_pylist()]
        texts, labels = ([row[name] for row in (*test, *probes)] for name in ("text", "label"))
        models = replace(self.decoyed, made=self.original), self.decoyed
        original, decoyed = (ask(model.load(store), texts) for model in models)
        row = self.row(test, probes, original.right(labels), decoyed.right(labels))
        [measures] = store.read(self.measures).to_pylist()
        row.num_unread = int((~original.is_read[: len(test)]).sum())
        yield replace(row, **measures)

    def row(self, test: Sequence[Row], probes: Sequence[Row], original: BoolArray, decoyed: BoolArray) -> Decoys:
        """Accuracies, the fall and whether the decoy is adopted, by the texts and probes that each is right about."""
        (original, original_probes), (decoyed, decoyed_probes) = (
            np.split(right, [len(test)]) for right in (original, decoyed)
        )
        has_decoy = np.array([row["has_decoy"] for row in probes], dtype=bool)
        # All test texts that hold a word of the decoy, of any class (Idahl et al., section 4).
        is_held = np.array([kinds.holds(self.made, row["text"]) for row in test], dtype=bool)
        with_decoy, held = list(compress(probes, has_decoy)), list(compress(test, is_held))
        row = Decoys(decoy=self.decoy, model=self.number, num_decoy_rows=len(with_decoy), num_word_rows=len(held))
        row.accuracy_original = self._accuracy("accuracy_original", original, test)
        row.accuracy_decoy = self._accuracy("accuracy_decoy", decoyed, test)
        row.accuracy_on_decoy_rows = self._accuracy("accuracy_on_decoy_rows", decoyed_probes[has_decoy], with_decoy)
        if with_decoy:
            row.accuracy_original_on_decoy_rows = float(original_probes[has_decoy].mean())
        row.accuracy_original_on_word_rows = self._accuracy("accuracy_original_on_word_rows", original[is_held], held)
        row.accuracy_on_word_rows = self._accuracy("accuracy_on_word_rows", decoyed[is_held], held)
        return self._with_fall(row, probes, original_probes.astype(np.float64) - decoyed_probes)

    def _accuracy(self, name: str, right: BoolArray, texts: Sequence[Row]) -> TextEstimate | None:
        """None without a text."""
        if not texts:
            return None
        sentence, units = [row["text"] for row in texts], units_of_texts(texts)
        return mean_of_texts(name, right.astype(np.float64), sentence, units, self.intervals, self.seed, LOGIT)

    def _with_fall(self, row: Decoys, probes: Sequence[Row], lost: FloatArray) -> Decoys:
        """With its interval, by which the decoy is adopted or not."""
        against, plain = (
            [index for index, row in enumerate(probes) if row["has_decoy"] is kind] for kind in (True, False)
        )
        is_paired = [probes[index]["row"] for index in against] == [probes[index]["row"] for index in plain]
        drawn = [probes[index] for index in (against if is_paired else [*against, *plain])]
        units, texts = units_of_texts(drawn), [[probe["text"], probe["has_decoy"]] for probe in drawn]
        fall = adoption.fall(
            lost[against],
            lost[plain],
            units,
            self.seed,
            document_key(self.decoy),
            is_paired=is_paired,
            intervals=self.intervals,
            keys=self.intervals.cluster_keys(texts, units.codes),
        )
        if fall is None:
            return row.fail("no_decoy_rows", "no test text has, or lacks, a decoy that contradicts its class")
        scheme = drawn_texts([*texts, units.codes.tolist()], self.seed, self.decoy, self.intervals.keyed_by)
        row.fall = text_estimate(fall.inferred, fall.estimate, self.intervals, FISHER, scheme)
        if np.isnan(row.fall.low):
            return row.fail("too_few_units", fall.inferred.reason)
        row.adopted = bool(row.fall.low > self.intervals.min_fall)
        if row.adopted:
            return row
        return row.fail("not_adopted", "the model falls for the decoy no more than could be chance")


class ExplainPools(ExplainWith, unit="decoy_attributions/1", stage="explain"):
    """What each word adds to what a model, which is ``DECOYED`` or ``PLAIN``, makes of test texts with a decoy."""

    decoy: str
    kind: str
    number: int

    def tables(self, store: Store) -> Tables:
        """A table of ``attributions`` for each pool of sentences."""
        about = {"decoy": self.decoy, "method": self.attribution.method}
        for place, lines in enumerate(self.explained(store, f"{self.kind} {self.number}")):
            rows = [about | line for line in lines]
            yield f"pool_{place:05d}", pa.Table.from_pylist(rows, ExplainedWords.schema())

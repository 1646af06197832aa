"""Setup IV: wrong labels, how many of them are uncovered within a budget, and what a model gains by their correction.

Models are explained about the texts that they learnt, of the class that these are labelled with.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyRun, Intervals
from tiltmeter.jobs.classifiers.decoys.models import Row, Trainer, part_of
from tiltmeter.jobs.classifiers.decoys.tables import CHANCE, ORACLE, Contamination, Inspections, Labels, Scores
from tiltmeter.jobs.classifiers.intervals import TextEstimate, mean_of_texts
from tiltmeter.jobs.classifiers.models import TextModel
from tiltmeter.jobs.classifiers.splits import units_of_texts
from tiltmeter.jobs.classifiers.tables import SPLIT
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.answers import ask
from tiltmeter.operators.classifiers.attribution import attribute
from tiltmeter.operators.classifiers.attribution.attribute import Networked, softmax
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.decoys import contamination
from tiltmeter.operators.classifiers.decoys.contamination import Order, evidence_against
from tiltmeter.operators.classifiers.decoys.detection import Explained
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef

_GROUP = "data contamination"
"""Of the units; no decoy has such a name."""

_MOST_TEXTS = 200
"""That a unit explains."""

_CLEAN, _CONTAMINATED = "clean", "contaminated"


def contaminate(run: DecoyRun, trainer: Trainer, texts: TableRef) -> None:
    """Publish how many wrong labels are uncovered, and what it gains.

    Args:
        texts: without a decoy, of the schema ``SPLIT``.
    """
    config, chosen, numbers = run.config, run.config.contamination, range(run.config.models.number)
    about: dict[str, Any] = {"group": _GROUP, "seed": config.seed}
    flip = FlipLabels(label="labels", texts=texts, share=chosen.share, num_texts=chosen.num_texts, **about)
    [(_, data)] = run.do([flip]).pairs
    lessons = [
        trainer.lesson(f"{kind} labels, model {number}", _GROUP, number, data.tables[kind])
        for kind in (_CLEAN, _CONTAMINATED)
        for number in numbers
    ]
    models = run.do(lessons, stage="train contaminated").refs("model")
    scores = _scores(run, trainer, data.tables["labels"], models[len(numbers) :])
    reviewed = run.do(
        (
            ReviewLabels(
                label=f"{order}, model {number}",
                group=_GROUP,
                order=order,
                number=number,
                budgets=chosen.budgets,
                labels=data.tables["labels"],
                texts=data.tables[_CONTAMINATED],
                scores=refs,
                seed=config.seed + number,
            )
            for (order, number), refs in scores.items()
        ),
        batch_size=None,
    )
    cases = [
        (work.order, work.number, share, unit.tables[f"relabelled_{place:03d}"])
        for work, unit in reviewed.pairs
        for place, share in enumerate(chosen.budgets)
    ]
    lessons = [
        trainer.lesson(f"{order}, {share:.0%} corrected, model {number}", _GROUP, number, corrected)
        for order, number, share, corrected in cases
    ]
    models += run.do(lessons, stage="train corrected").refs("model")
    asked: dict[str, Any] = {"group": _GROUP, "texts": texts, "max_tokens": trainer.max_tokens}
    judged = run.do(
        (JudgeModel(label=f"model {index}", model=trainer.model(ref), **asked) for index, ref in enumerate(models)),
        batch_size=None,
    )
    summary = SumUpLabels(
        label="labels",
        cases=[(order, number, share) for order, number, share, _ in cases],
        number=len(numbers),
        texts=texts.select(*(name for name in ("part", "row", "text", "group") if name in texts.columns)),
        inspections=reviewed.refs(Inspections),
        rights=judged.refs("rights"),
        intervals=config.intervals,
        **about,
    )
    run.do([summary])


def _scores(
    run: DecoyRun, trainer: Trainer, labels: TableRef, models: Sequence[TableRef]
) -> dict[tuple[str, int], list[TableRef]]:
    """By order and number of the model, in parts."""
    shown, chosen, orders = run.config.explanations, run.config.contamination, dict[ScoreLabels, tuple[str, int]]()
    for number, ref in enumerate(models):
        about: dict[str, Any] = {"group": _GROUP, "labels": labels, "model": trainer.model(ref)}
        for method in shown.methods:
            for first in range(0, labels.num_rows, _MOST_TEXTS):
                span = first, min(first + _MOST_TEXTS, labels.num_rows)
                if method != CHANCE:  # an order at random, which is there as a control already
                    by_words = ScoreByWords(
                        label=f"{method}, model {number}, texts {span[0]} to {span[1]}",
                        span=span,
                        attribution=replace(shown.attribution, method=method),
                        top_words=shown.top_words,
                        seed=run.config.seed,
                        **about,
                    )
                    orders[by_words] = method, number
        for order in chosen.orders:
            by_order = ScoreByOrder(
                label=f"{order}, model {number}, texts 0 to {labels.num_rows}",
                span=(0, labels.num_rows),
                order=order,
                damping=chosen.damping if order == "influence" else None,
                **about,
            )
            orders[by_order] = order, number
    scores: dict[tuple[str, int], list[TableRef]] = {}
    for work, unit in run.do(orders, batch_size=None).pairs:
        scores.setdefault(orders[work], []).append(unit.tables["scores"])
    return scores


class FlipLabels(Work, unit="contaminated_labels/2", stage="flip labels", makes=[Labels]):
    """Training texts, so many at most, of which a share has another label."""

    texts: TableRef
    share: float
    num_texts: int | None
    seed: int
    operator: str = contamination.VERSION

    def tables(self, store: Store) -> Tables:
        """Tables ``clean`` and ``contaminated`` of the schema ``SPLIT``, and ``labels``."""
        rows = store.read(self.texts).to_pylist()
        training = self._sample(part_of(rows, "training"))
        keys, gold = [document_key(row["text"]) for row in training], [row["label"] for row in training]
        labels = contamination.flipped_labels(gold, keys, self.share, self.seed)
        classes = contamination.lasting_classes(gold, labels)
        development = [row for row in part_of(rows, "development") if row["label"] in classes]
        yield _CLEAN, pa.Table.from_pylist([*training, *development], SPLIT)
        contaminated = [{**row, "label": label} for row, label in zip(training, labels, strict=True)]
        yield _CONTAMINATED, pa.Table.from_pylist([*contaminated, *development], SPLIT)
        lines = [
            Labels(row=row["row"], text=row["text"], label=label, gold=row["label"], is_flipped=label != row["label"])
            for row, label in zip(training, labels, strict=True)
        ]
        yield from tables_of(lines, self.makes)

    def _sample(self, rows: Sequence[Row]) -> list[Row]:
        """Which texts are taken depends on what they say."""
        key = f"{self.seed}\ncontaminated\n"
        by_key = sorted(rows, key=lambda row: (document_key(f"{key}{row['text']}"), row["row"]))
        return sorted(by_key[: self.num_texts], key=lambda row: int(row["row"]))


class ScoreLabels(Work, stage="inspect", makes=[Scores]):
    """How suspicious the labels of texts are, from the first row of a span to the last, by a model that learnt them."""

    labels: TableRef
    model: TextModel[Networked]
    span: tuple[int, int]

    def rows(self, store: Store) -> Iterator[Scores]:
        """A row for each text."""
        rows = Labels.read(store, self.labels)[slice(*self.span)]
        with self.model.ready(store) as classifier:
            labels = [classifier.classes.index(row.label) for row in rows]
            scores = self.scores(classifier, rows, labels)
        for row, score in zip(rows, scores, strict=True):
            yield Scores(row=row.row, score=float(score))

    def scores(self, classifier: Networked, rows: Sequence[Labels], labels: Sequence[int]) -> Iterable[float]:
        """Of each text, with the number of its label."""
        raise NotImplementedError


class ScoreByWords(ScoreLabels, unit="label_suspicion/1"):
    """By what the words that are shown say against the label."""

    attribution: AttributionConfig
    top_words: int
    seed: int
    operators: Sequence[str] = (attribute.VERSION, contamination.VERSION)

    def scores(self, classifier: Networked, rows: Sequence[Labels], labels: Sequence[int]) -> list[float]:
        """See :func:`.contamination.evidence_against`."""
        texts = [row.text for row in rows]
        explanations = attribute.attribute(classifier.network, texts, self.attribution, targets=labels, seed=self.seed)
        return [
            evidence_against(Explained([folded(word) for word in part.words], part.values), self.top_words)
            for part in explanations
        ]


class ScoreByOrder(ScoreLabels, unit="label_suspicion/1"):
    """By what needs no explanation; see :mod:`.decoys.contamination`."""

    order: Order
    damping: float | None = None
    operators: Sequence[str] = (contamination.VERSION,)

    def scores(self, classifier: Networked, rows: Sequence[Labels], labels: Sequence[int]) -> Iterable[float]:
        """Equal ones where texts are looked at in an order at random."""
        if self.order == ORACLE:
            return [float(row.is_flipped) for row in rows]
        if self.order == CHANCE:
            return [0.0 for _ in rows]
        states, probabilities = _outputs(classifier, rows)
        if self.damping is None:  # influence has one
            return contamination.losses(probabilities, np.array(labels))
        return contamination.self_influence(states, probabilities, np.array(labels), self.damping)


def _outputs(classifier: Networked, rows: Sequence[Labels]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Representations and probabilities of the classes."""
    from tiltmeter.operators.classifiers.networks import HeadedNetwork, outputs  # imports torch

    network = classifier.network.network
    if not isinstance(network, HeadedNetwork) or classifier.max_tokens is None:
        raise TypeError(f"{type(network).__name__}: must be a network that was trained here")
    made = outputs(network, classifier.network.tokenise([row.text for row in rows]), classifier.max_tokens)
    return made.representation.astype(np.float64), softmax(made.logits[network.main].astype(np.float64))


class ReviewLabels(Work, unit="label_review/1", stage="correct labels", makes=[Inspections]):
    """Somebody looks at texts by the scores of a model, equal ones as drawn, and corrects labels within each budget."""

    order: str
    number: int
    budgets: Sequence[float]
    labels: TableRef
    texts: TableRef
    scores: Sequence[TableRef]
    seed: int
    operator: str = contamination.VERSION

    def tables(self, store: Store) -> Tables:
        """The table ``inspections``, and one ``relabelled_<number>`` of the schema ``SPLIT`` for each budget."""
        table = store.read(self.labels)
        keys, labels = [*map(document_key, table["text"].to_pylist())], table.drop_columns("text").to_pylist()
        scores = [row.score for ref in self.scores for row in Scores.read(store, ref)]
        order = contamination.inspected(np.array(scores), keys, self.seed).tolist()
        inspections = [
            Inspections(order=self.order, model=self.number, place=place, score=scores[row], **labels[row])
            for place, row in enumerate(order, start=1)
        ]
        yield from tables_of(inspections, self.makes)
        texts = store.read(self.texts).to_pylist()
        for number, share in enumerate(self.budgets):
            gold = {labels[row]["row"]: labels[row]["gold"] for row in order[: _num_inspected(share, len(labels))]}
            corrected = [
                row | {"label": gold[row["row"]]} if row["part"] == "training" and row["row"] in gold else row
                for row in texts
            ]
            yield f"relabelled_{number:03d}", pa.Table.from_pylist(corrected, SPLIT)


def _num_inspected(share: float, num: int) -> int:
    return max(1, round(share * num))


class JudgeModel(Work, unit="test_rights/1", stage="evaluate corrected"):
    """Of which test texts a model is right, which is given so many tokens at a time."""

    model: TextModel[Networked]
    texts: TableRef
    max_tokens: int

    def tables(self, store: Store) -> Tables:
        """The table ``rights``, a row for each text."""
        rows = part_of(store.read(self.texts).to_pylist(), "test")
        answers_of_model = ask(self.model.load(store), [row["text"] for row in rows])
        yield "rights", pa.table({"is_right": answers_of_model.right([row["label"] for row in rows])})


class SumUpLabels(Work, unit="contamination_summary/5", stage="uncover labels", makes=[Contamination]):
    """How many wrong labels are uncovered, and what models gain.

    Attributes:
        cases: order, number and share of each model that learnt corrected labels.
        number: of models that learnt right labels, and of those that learnt wrong ones.
        rights: of the former, the latter, and those of the cases.
    """

    cases: Sequence[tuple[str, int, float]]
    number: int
    texts: TableRef
    inspections: Sequence[TableRef]
    rights: Sequence[TableRef]
    intervals: Intervals
    seed: int
    operator: str = means.VERSION

    def rows(self, store: Store) -> Iterator[Contamination]:
        """By order and share."""
        rights = [store.read(ref)["is_right"].to_numpy(zero_copy_only=False) for ref in self.rights]
        clean, contaminated = (np.array(rights[start : start + self.number], float) for start in (0, self.number))
        relabelled: dict[tuple[str, float], list[NDArray[np.bool_]]] = {}
        for (order, _, share), right in zip(self.cases, rights[2 * self.number :], strict=True):
            relabelled.setdefault((order, share), []).append(right)
        inspections = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.inspections])
        texts = store.read(self.texts).to_pylist()
        tested, learnt = part_of(texts, "test"), {row["row"]: row for row in part_of(texts, "training")}
        for (order, share), those in relabelled.items():
            row = Contamination(order=order, share=share, num_models=self.number)
            self._uncover(row, inspections.filter(order=order), learnt)
            row.accuracy_clean, row.accuracy_contaminated = float(clean.mean()), float(contaminated.mean())
            row.accuracy_relabelled = float(np.mean(those))
            row.gain = self.mean_of_models("gain", np.array(those, float) - contaminated, FISHER, tested)
            yield row

    def _uncover(self, row: Contamination, inspections: pl.DataFrame, texts: Mapping[int, Row]) -> None:
        """How many of the flipped labels are looked at, with the interval of their share over such texts."""
        row.num_inspected = _num_inspected(row.share, inspections["row"].n_unique())
        flipped = inspections.filter("is_flipped").sort("model", "row")
        is_seen = (flipped["place"] <= row.num_inspected).to_numpy().astype(np.float64)
        by_model = is_seen.reshape(flipped["model"].n_unique(), -1)
        drawn = [texts[number] for number in flipped["row"].unique().sort()]
        row.num_flipped, row.num_uncovered = len(drawn), float(by_model.mean(axis=0).sum())
        row.uncovered = self.mean_of_models("uncovered", by_model, LOGIT, drawn)

    def mean_of_models(self, name: str, by_model: FloatArray, scale: Scale, texts: Sequence[Row]) -> TextEstimate:
        """Of ``[models, texts]``, with an interval for other texts, of other groups, and models trained anew."""
        values, sentence, units = by_model.mean(axis=0), [row["text"] for row in texts], units_of_texts(texts)
        seeds = by_model.mean(axis=1)
        return mean_of_texts(name, values, sentence, units, self.intervals, self.seed, scale, seeds)

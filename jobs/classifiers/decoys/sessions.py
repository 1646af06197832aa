"""Setups I to III: somebody who debugs models looks at instances, and removes what they take for wrong reasons.

By recognition, these words are among those of the decoy, so there are few ways to repair a model; each is trained once,
whoever found it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.decoys.config import Intervals
from tiltmeter.jobs.classifiers.decoys.models import part_of
from tiltmeter.jobs.classifiers.decoys.tables import (
    CHANCE,
    DECOYED,
    ORACLE,
    PLAIN,
    Detection,
    Improvement,
    Probes,
    Repairs,
    Reviews,
    Sessions,
    SideBySide,
    Utility,
)
from tiltmeter.jobs.classifiers.intervals import Resampled, TextEstimate, resampled_texts, text_estimate
from tiltmeter.jobs.classifiers.models import TextModel
from tiltmeter.jobs.classifiers.tables import SPLIT
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.classifiers.answers import ask
from tiltmeter.operators.classifiers.attribution.attribute import Networked
from tiltmeter.operators.classifiers.decoys import debugging, detection, selection
from tiltmeter.operators.classifiers.decoys.debugging import Judgement, by_oracle, by_predictions
from tiltmeter.operators.classifiers.decoys.detection import Explained, Selection
from tiltmeter.operators.classifiers.decoys.kinds import Decoy
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT, Scale
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import between
from tiltmeter.operators.statistics.units import Units, each
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.storage.store.ledger import Store, TableRef

COLUMNS, SEEN = ("sentence", "word", "attribution"), ("sentence", "word", "predicted")
"""What is read of an explanation, and without one."""

_SIDE_BY_SIDE = "side_by_side"
_MEASURES = {"": "accuracy", "_on_decoy_rows": "accuracy_on_decoy_rows"}


class LookAtPools(Work, unit="decoy_sessions/3", stage="look", makes=[Sessions, Reviews]):
    """Somebody debugs a model with a decoy, once for each pool of instances, of which another was explained too."""

    decoy: str
    made: Decoy
    method: str
    number: int
    decoyed: Sequence[TableRef]
    original: Sequence[TableRef]
    top_words: int
    selections: Sequence[Selection]
    max_clusters: int
    judgement: Judgement
    num_suspects: int
    budgets: Sequence[int]
    operators: Sequence[str] = (detection.VERSION, debugging.VERSION, selection.VERSION)

    def rows(self, store: Store) -> Iterator[Sessions | Reviews]:
        """By selection and budget, whether the decoy is found and what is taken for it."""
        for pool, (decoyed, original) in enumerate(zip(self.decoyed, self.original, strict=True)):
            about: dict[str, Any] = {"decoy": self.decoy, "method": self.method, "model": self.number, "pool": pool}
            shown = self._shown(store, decoyed, DECOYED)
            suspected = self._suspected(shown)
            budgets, others = np.arange(1, len(shown) + 1), self._shown(store, original, PLAIN)
            shares = {_SIDE_BY_SIDE: detection.identification_success(shown, others, self.top_words, budgets)}
            for name, values in (shares | self._found(shown, suspected)).items():
                for budget, value in enumerate(values.tolist(), start=1):
                    yield Sessions(**about, selection=name, budget=budget, found=value)
            for name, removed in suspected.items():
                for budget in self.budgets:
                    # After all instances where the pool has fewer than a budget.
                    words = " ".join(sorted(removed[min(budget, len(removed)) - 1]))
                    yield Reviews(**about, selection=name, budget=budget, words=words)

    def _shown(self, store: Store, ref: TableRef, kind: str) -> list[Explained]:
        """Instances in the order of the table, in which the words of an instance come one after the other."""
        rows = store.read(ref).to_pylist()
        instances = [list(lines) for _, lines in groupby(rows, key=lambda row: row["sentence"])]
        texts = [[folded(line["word"]) for line in lines] for lines in instances]
        if self.method == "predictions":
            return by_predictions(texts, [lines[0]["predicted"] for lines in instances])
        if self.method == ORACLE:
            return by_oracle(texts, self.made if kind == DECOYED else None)
        return [
            Explained(words, np.array([line["attribution"] for line in lines], dtype=np.float64))
            for words, lines in zip(texts, instances, strict=True)
        ]

    def _suspected(self, shown: Sequence[Explained]) -> dict[str, list[frozenset[str]]]:
        """By selection, the words that are taken for wrong reasons after each instance."""
        relevance = detection.relevance_matrix(shown, self.top_words)
        orders = {name: detection.order_of(relevance, name, self.max_clusters) for name in self.selections}
        return {
            name: debugging.suspects(
                [shown[row] for row in order.tolist()], self.made, self.top_words, self.judgement, self.num_suspects
            )
            for name, order in orders.items()
        }

    def _found(
        self, shown: Sequence[Explained], suspected: Mapping[str, Sequence[frozenset[str]]]
    ) -> dict[str, NDArray[np.float64]]:
        """By selection: for each budget, the probability that the decoy is found."""
        num, shares = len(shown), {name: debugging.identified(words, self.made) for name, words in suspected.items()}
        if CHANCE in shares and self.judgement == "recognition":
            num_showing = sum(detection.shows(explained, self.made, self.top_words) for explained in shown)
            shares[CHANCE] = detection.detection_at_random(num_showing, num, np.arange(1, num + 1))
        return shares


# --- over all pools and models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pools(Subject):
    """All pools of instances with a decoy, and all pairs of models, which see the same pools: what means are over.

    All methods have the same resamples of pools, so that they are compared in pairs.

    Attributes:
        texts: what tells each pool from others.
        number: of models.
        adopted: of each, whether it has adopted the decoy.
    """

    decoy: str
    texts: Sequence[str]
    number: int
    intervals: Intervals
    seed: int
    adopted: Sequence[TableRef] = ()

    @property
    def identity(self) -> dict[str, Any]:
        """Settings of means over them."""
        settings = {"intervals": self.intervals, "seed": self.seed, "operator": means.VERSION}
        return {"decoy": self.decoy, "pools": self.texts, "number": self.number, **settings}

    @property
    def inputs(self) -> dict[str, Sequence[TableRef]]:
        """Who has adopted the decoy."""
        return {"adopted": self.adopted}

    def answers(self, store: Store) -> list[bool | None]:
        """Whether each model has adopted the decoy."""
        return [answer for ref in self.adopted for answer in store.read(ref)["adopted"].to_pylist()]

    @cached_property
    def _units(self) -> Units:
        return each(len(self.texts), "pool of instances")

    @cached_property
    def _drawn(self) -> Resampled:
        return resampled_texts(self.texts, self.decoy, self.intervals, self.seed, self._units)

    def mean(self, values: FloatArray) -> float:
        """Of ``[pools]``."""
        return float(_rounded(values.sum() / self._units.num))

    def means(self, values: FloatArray) -> FloatArray:
        """Of resamples, ``[resamples]``."""
        return _rounded(self._drawn.counts @ values / self._units.num)

    def estimate(self, by_model: FloatArray, scale: Scale) -> TextEstimate:
        """The mean of ``[models, pools]`` with its interval.

        Models that are trained again would differ as these do; one alone says nothing of that.
        """
        values, seeds = by_model.mean(axis=0), by_model.mean(axis=1)
        number = Estimate(self.mean(values), self.means(values), self._units.num)
        level = self.intervals.level
        result = means.mean(_rounded(values), self._units, level=level, scale=scale, seeds=_rounded(seeds))
        return text_estimate(result, number, self.intervals, scale, self._drawn.scheme)


def _rounded(values: FloatArray) -> FloatArray:
    """So that last bits tell no two equal means apart."""
    return np.asarray(np.round(values, 12))


class SumUpSessions(Work, unit="decoy_detection/7", stage="detect", makes=[Detection, SideBySide, Utility]):
    """How many instances it takes to find a decoy."""

    pools: Pools
    sessions: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Detection | SideBySide | Utility]:
        """By method, selection and budget."""
        answers, parts = self.pools.answers(store), _by_pool(_joined(store, self.sessions))
        for (method, name), shares in parts.items():
            for index in range(shares.shape[2]):
                about: dict[str, Any] = {"decoy": self.pools.decoy, "method": method, "budget": index + 1}
                value = self.pools.estimate(shares[:, :, index], LOGIT)
                if name == _SIDE_BY_SIDE:
                    yield SideBySide(**about, success_probability=value).adopted_by(answers)
                else:
                    yield Detection(**about, selection=name, detection_probability=value).adopted_by(answers)
        for row in self._utility({key: shares for key, shares in parts.items() if key[1] != _SIDE_BY_SIDE}):
            yield row.adopted_by(answers)

    def _utility(self, parts: Mapping[tuple[str, str], FloatArray]) -> Iterator[Utility]:
        needed = {key: detection.expected_instances(shares) for key, shares in parts.items()}
        draws = {key: self.pools.means(values.mean(axis=0)) for key, values in needed.items()}
        fewest = np.min([drawn for (method, _), drawn in draws.items() if method != ORACLE], axis=0)
        for (method, name), values in needed.items():
            row = Utility(decoy=self.pools.decoy, method=method, selection=name)
            most = max(2.0, parts[method, name].shape[2])
            row.num_instances = self.pools.estimate(values, between(1.0, most))
            if method != ORACLE:
                row.soonest = float((draws[method, name] == fewest).mean())
            yield row


def _joined(store: Store, refs: Sequence[TableRef]) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(store.read(ref)) for ref in refs])


def _by_pool(sessions: pl.DataFrame) -> dict[tuple[str, str], FloatArray]:
    """``[models, pools, budgets]`` of each method and selection; models see the same pools."""
    by_pool = {}
    for (method, name), part in sessions.group_by("method", "selection", maintain_order=True):
        shape = part["model"].n_unique(), part["pool"].n_unique(), -1
        by_pool[str(method), str(name)] = part.sort("model", "pool", "budget")["found"].to_numpy().reshape(shape)
    return by_pool


class Repair(NamedTuple):
    """A model, by its number, and the words that are removed for it; none: the model as it is."""

    model: int
    words: str


def repairs_of(store: Store, reviews: Sequence[TableRef], num_models: int) -> list[Repair]:
    """All that reviews ask for, after the models as they are."""
    rows = [row for ref in reviews for row in store.read(ref.select("model", "words")).to_pylist()]
    named = {Repair(row["model"], row["words"]) for row in rows if row["words"]}
    return [*(Repair(number, "") for number in range(num_models)), *sorted(named)]


class RemoveWords(Work, unit="removed_words/1", stage="remove words"):
    """Texts without words: of those with a decoy, what is learnt; of others and probes, what models are asked."""

    words: str
    texts: TableRef
    decoyed: TableRef
    probes: TableRef
    operator: str = debugging.VERSION

    def tables(self, store: Store) -> Tables:
        """``texts`` to be learnt, and ``evaluated``, with the columns of probes."""
        learnt = [row for row in self._without(store, self.decoyed) if row["part"] != "test"]
        yield "texts", pa.Table.from_pylist([row for row in learnt if row["text"]], SPLIT)
        test = part_of(list(self._without(store, self.texts)), "test")
        probes = [row for row in self._without(store, self.probes) if row["has_decoy"]]
        rows = [*({**row, "has_decoy": False} for row in test), *probes]
        yield "evaluated", pa.Table.from_pylist(rows, Probes.schema())

    def _without(self, store: Store, ref: TableRef) -> Iterator[dict[str, Any]]:
        words = frozenset(self.words.split())
        for row in store.read(ref).to_pylist():
            yield row | {"text": debugging.without_words(row["text"], words)}


class EvaluateRepaired(Work, unit="repaired_model/2", stage="evaluate repaired", makes=[Repairs]):
    """Of which texts a model is right once words are removed."""

    decoy: str
    number: str
    words: str
    model: TextModel[Networked]
    texts: TableRef
    max_tokens: int

    def rows(self, store: Store) -> Iterator[Repairs]:
        """Its row."""
        texts = Probes.read(store, self.texts)
        verdicts = ask(self.model.load(store), [text.text for text in texts])
        is_right = verdicts.right([text.label for text in texts])
        has_decoy = np.array([text.has_decoy for text in texts], dtype=bool)
        row = Repairs(decoy=self.decoy, model=self.number, words=self.words)
        row.accuracy, row.accuracy_on_decoy_rows = _mean(is_right[~has_decoy]), _mean(is_right[has_decoy])
        row.num_unread = int((~verdicts.is_read).sum())
        if not has_decoy.any():
            row.fail("no_decoy_rows", "no test text has a decoy against its class")
        yield row


def _mean(values: NDArray[np.bool_]) -> float | None:
    return float(values.mean()) if values.size else None


class SumUpRepairs(Work, unit="decoy_improvement/5", stage="improve", makes=[Improvement]):
    """What models gain once the words are removed that are taken for wrong reasons."""

    pools: Pools
    made: Decoy
    reviews: Sequence[TableRef]
    repairs: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Improvement]:
        """By method, selection and budget."""
        answers = self.pools.answers(store)
        accuracies = _joined(store, self.repairs).select(pl.col("model").cast(pl.Int32), "words", *_MEASURES.values())
        before = accuracies.filter(words="").drop("words")
        rows = _joined(store, self.reviews).join(accuracies, on=["model", "words"])
        rows = rows.join(before, on="model", suffix="_before")
        for key, part in rows.group_by("method", "selection", "budget", maintain_order=True):
            about = dict(zip(("method", "selection", "budget"), key, strict=True))
            removed = [line.split() for line in part["words"].to_list()]
            row = Improvement(decoy=self.pools.decoy, **about, **self._gains(part))
            row.num_words = sum(map(len, removed)) / len(removed)
            row.identified = sum(debugging.is_complete(words, self.made) for words in removed) / len(removed)
            yield row.adopted_by(answers)

    def _gains(self, rows: pl.DataFrame) -> dict[str, Any]:
        """Accuracies before and after, and their difference with its interval; none where there is no text."""
        gains: dict[str, Any] = {}
        for ending, name in _MEASURES.items():
            if rows[name].null_count():
                continue
            before, after = (_of_models(rows, column) for column in (f"{name}_before", name))
            gains[f"accuracy_before{ending}"] = self.pools.mean(before.mean(axis=0))
            gains[f"accuracy_after{ending}"] = self.pools.mean(after.mean(axis=0))
            gains[f"gain{ending}"] = self.pools.estimate(after - before, FISHER)
        return gains


def _of_models(rows: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """``[models, pools]``; models see the same pools."""
    return rows.sort("model", "pool")[name].to_numpy().reshape(rows["model"].n_unique(), -1)

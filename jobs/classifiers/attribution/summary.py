"""What methods of attribution are worth over all texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.attribution.tables import (
    BEST,
    OWN,
    RANDOM,
    Explained,
    Faithfulness,
    MethodPairs,
    Randomised,
    RemovalOrders,
    Strange,
)
from tiltmeter.jobs.classifiers.intervals import TextEstimate, mean_of_texts
from tiltmeter.jobs.classifiers.splits import units_of_texts
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.attribution.faithfulness import tau_b
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.flips import flips_max_t
from tiltmeter.operators.statistics.intervals import LINEAR
from tiltmeter.operators.statistics.means import paired
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import Units
from tiltmeter.storage.store.ledger import Store, TableRef

Row = Faithfulness | MethodPairs | RemovalOrders | Strange | Randomised
ByMethod = Mapping[str, FloatArray]


class SumUp(
    Work,
    unit="attribution_summary/2",
    stage="sum up",
    makes=[Faithfulness, MethodPairs, RemovalOrders, Strange, Randomised],
):
    """Means over texts, with intervals over what ties them together."""

    texts: Sequence[TableRef]
    scores: Sequence[TableRef]
    removals: Sequence[TableRef]
    layers: Sequence[TableRef]
    decoys: Sequence[Mapping[str, Any]]
    intervals: KeyedResampleSettings
    seed: int

    def rows(self, store: Store) -> Iterator[Row]:
        def read(refs: Sequence[TableRef]) -> pl.DataFrame:
            return pl.concat([pl.DataFrame(store.read(ref)) for ref in refs])

        texts = [row for ref in self.texts for row in Explained.read(store, ref) if row.status == "ok"]
        summed = _Summed(texts, units_of_texts([{"group": row.group} for row in texts]), self.intervals, self.seed)
        means: dict[tuple[str, str], dict[str, float]] = {}
        scores = with_micro_f1(read(self.scores))
        for (measure, removal, weights), part in scores.group_by("measure", "removal", "weights", maintain_order=True):
            made = list(summed.measured(measure, removal, weights, part))
            yield from made
            if weights == OWN:
                known = [row for row in made if row.method != RANDOM and row.status == "ok"]
                means[measure, removal] = {row.method: row.value.value for row in known}
                yield from summed.pairs(measure, removal, summed.by_method(part, "value"))
        yield from map(_revealed, self.decoys)
        yield from _orders(means)
        yield from _strange(read(self.removals), texts)
        yield from summed.without_layers(read(self.layers))


def with_micro_f1(scores: pl.DataFrame) -> pl.DataFrame:
    """With ``token_f1_micro``: F1 of the words of all texts together, as a mean over texts.

    With F_i of a text and b_i the words that are taken in it and named, it is R = sum F_i b_i / sum b_i, the mean of
    R + (F_i - R) b_i / mean b: what each text moves R by (the ratio's linearisation) has its spread.
    """
    rows, size = scores.filter(measure="token_f1"), pl.col("num_words")

    def moved(name: str) -> pl.Expr:
        ratio = (pl.col(name) * size).sum() / size.sum()
        return (ratio + (pl.col(name) - ratio) * size / size.mean()).over("method", "weights")

    micro = pl.lit("token_f1_micro").alias("measure")
    return pl.concat([scores, rows.with_columns(micro, moved("value"), moved("random"))])


@dataclass(frozen=True)
class _Summed:
    """Texts with what was drawn independently."""

    texts: Sequence[Explained]
    units: Units
    intervals: KeyedResampleSettings
    seed: int

    def by_method(self, rows: pl.DataFrame, column: str) -> dict[str, FloatArray]:
        """``[texts]`` of each method; NaN of a text without a number."""
        places = {row.row: place for place, row in enumerate(self.texts)}
        results: dict[str, FloatArray] = {}
        for method, row, value in rows.select("method", "row", column).iter_rows():
            values = results.setdefault(method, np.full(len(self.texts), np.nan))
            values[places[row]] = np.nan if value is None else value
        return results

    def mean(self, about: Sequence[str], values: FloatArray) -> TextEstimate:
        """Over the texts that have a number."""
        names = [text.text for text in self.texts]
        return mean_of_texts(" ".join(about), values, names, self.units, self.intervals, self.seed, LINEAR)

    def measured(self, measure: str, removal: str, weights: str, rows: pl.DataFrame) -> Iterator[Faithfulness]:
        """Each method beside random attributions, and the mean of these of all methods."""
        values, random, best = (self.by_method(rows, column) for column in ("value", "random", "best"))
        less = {method: values[method] - random[method] for method in values}
        corrected = flips_max_t(np.stack([*less.values()]), self.units)
        for (method, originals), p_max_t in zip(values.items(), corrected.tolist(), strict=True):
            row = self._row(measure, removal, method, weights, originals)
            if not np.isnan(random[method]).all():
                row.random = float(np.nanmean(random[method]))
                row.less_random = self.mean((measure, removal, method, weights, "less_random"), less[method])
                row.p_value = paired(originals, random[method], self.units, level=self.intervals.level).p
                row.p_max_t = p_max_t
            if not np.isnan(best[method]).all():
                row.attainable = float(np.nanmean(less[method]) / np.nanmean(best[method] - random[method]))
            yield row
        together = _mean_known(random.values())
        if not np.isnan(together).all():
            yield self._row(measure, removal, RANDOM, weights, together)

    def _row(self, measure: str, removal: str, method: str, weights: str, values: FloatArray) -> Faithfulness:
        num = int(np.count_nonzero(~np.isnan(values)))
        row = Faithfulness(measure=measure, removal=removal, method=method, weights=weights, best=BEST[measure])
        row.num_texts, row.num_undefined = num, values.size - num
        if not num:
            return row.fail("undefined", "no text has a number: the method does not apply, or nothing varies")
        row.value = self.mean((measure, removal, method, weights), values)
        return row

    def pairs(self, measure: str, removal: str, values: ByMethod) -> Iterator[MethodPairs]:
        """Each two methods on the same texts."""
        names = [(one, other) for one, other in combinations(values, 2)]
        differences = [values[one] - values[other] for one, other in names]
        corrected = flips_max_t(np.stack(differences), self.units) if names else np.zeros(0)
        for (one, other), difference, p in zip(names, differences, corrected.tolist(), strict=True):
            if not np.isnan(difference).all():
                made = self.mean((measure, removal, one, other), difference)
                yield MethodPairs(measure=measure, removal=removal, method=one, other=other, difference=made, p_max_t=p)

    def without_layers(self, rows: pl.DataFrame) -> Iterator[Randomised]:
        """Step by step, and over all steps."""
        for (method,), part in rows.group_by("method", maintain_order=True):
            by_step = part.partition_by("step", as_dict=True, maintain_order=True)
            results = {step: self.by_method(of_step, "correlation")[method] for (step,), of_step in by_step.items()}
            for (step,), of_step in by_step.items():
                layer, kept = of_step["layer"][0], ", ".join(of_step["kept"][0])
                yield self._step(method, step, layer, kept, results[step])
            yield self._step(method, 0, "", "", _mean_known(results.values()))

    def _step(self, method: str, step: int, layer: str, kept: str, values: FloatArray) -> Randomised:
        row = Randomised(method=method, step=step, layer=layer, kept=kept)
        if np.isnan(values).all():
            return row.fail("undefined", "the attributions of every text are all alike, or there are none")
        row.correlation = self.mean(("layers", method, str(step)), values)
        return row


def _revealed(decoy: Mapping[str, Any]) -> Faithfulness:
    """How often one method shows a decoy in models of the same kind, if most of these fell for it."""
    row = Faithfulness(measure=f"decoy_{decoy['decoy']}", removal="", method=decoy["method"], weights=OWN, best="high")
    if not decoy["adopted"]:
        return row.fail("not_adopted", decoy["reason"])
    row.value = TextEstimate(*(decoy[f"detection_probability{end}"] for end in ("", "_low", "_high")))
    row.random = decoy["random"]
    return row


def _orders(means: Mapping[tuple[str, str], Mapping[str, float]]) -> Iterator[RemovalOrders]:
    for measure in dict.fromkeys(measure for measure, _ in means):
        both = [means.get((measure, removal), {}) for removal in ("mask", "delete")]
        if all(len(one) > 1 for one in both):
            tau = tau_b(*(np.array([one[method] for method in sorted(one)]) for one in both))
            yield RemovalOrders(measure=measure, tau=tau, num_methods=len(both[0]))


def _strange(removed: pl.DataFrame, texts: Sequence[Explained]) -> Iterator[Strange]:
    lengths = {row.row: row.num_words for row in texts}
    whole = removed.filter(share=0.0).unique("row", maintain_order=True)
    known, sure = np.array([lengths[row] for row in whole["row"]]), whole["confidence"].to_numpy()

    def alike(num: float) -> float:
        """Mean confidence of whole texts whose number of words is the nearest; NaN where none is within a fifth."""
        away = np.abs(known - num)
        return float(sure[away == away.min()].mean()) if away.min() <= 0.2 * num else float("nan")

    for (removal, share), part in removed.group_by("removal", "share", maintain_order=True):
        of_same_length = np.array([alike(lengths[row] * (1.0 - share)) for row in part["row"]])
        means = part.select(pl.col("confidence", "entropy", "as_none").mean()).row(0, named=True)
        is_known = not np.isnan(of_same_length).all()
        row = Strange(removal=removal, share=share, num_texts=len(part), **means)
        row.of_same_length = float(np.nanmean(of_same_length)) if is_known else float("nan")
        yield row


def _mean_known(numbers: Iterable[FloatArray]) -> FloatArray:
    """Over what is known of each text, ``[texts]``; NaN where nothing is."""
    rows = np.stack([*numbers])
    counts = (~np.isnan(rows)).sum(axis=0)
    return np.where(counts, np.nansum(rows, axis=0) / np.maximum(counts, 1), np.nan)

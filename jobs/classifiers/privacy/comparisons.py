"""What each model gives away over a whole corpus, with intervals over its speakers; and how far others give less."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.estimates import SCALES, Estimates, Frames, Sampling, TextValues, word_rows
from tiltmeter.jobs.classifiers.privacy.tables import CONTROL, GENERAL, MEASURES, RANDOM_LISTS, RESEEDED
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.operators.classifiers.privacy import attacker, spoken
from tiltmeter.operators.statistics import flips, means, multiplicity, resampling
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, Scale
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.storage.store.ledger import Store, TableRef

PRIVATE = ("PrivAdv", "PrivAug", "PrivBias", "PrivEP", "PrivAdvEP")
EXPECTED = {
    **{(name, GENERAL, "gender_uar"): "lower" for name in PRIVATE},
    (CONTROL, GENERAL, "gender_uar"): "higher",
    **{(name, GENERAL, "ep"): "higher" for name in PRIVATE},
    (CONTROL, GENERAL, "ep"): "lower",
    **{(name, CONTROL, "ep"): "higher" for name in PRIVATE},
    ("PrivAug", GENERAL, "eg"): "higher",
    **{(name, GENERAL, "eg"): "lower" for name in ("PrivAdv", "PrivBias", CONTROL)},
}
"""What the paper expects of EP (sections 8.1 and 8.3), and the orders of EG and of the UAR of gender in its table 1."""

DIFFERENCE_SCALES: Mapping[str, Scale] = {name: FISHER if scale is LOGIT else LINEAR for name, scale in SCALES.items()}
"""Of differences of the measures."""


@dataclass(frozen=True)
class Measured(Subject):
    """Tables ``samples`` and ``words`` of a model in a role, for each seed, and ``outcomes`` if it was tested."""

    role: str
    samples: Sequence[TableRef]
    words: Sequence[TableRef]
    outcomes: Sequence[TableRef] = ()

    @property
    def inputs(self) -> dict[str, Sequence[TableRef]]:
        """Those that there are."""
        kinds = {"samples": self.samples, "words": self.words, "outcomes": self.outcomes}
        return {f"{self.role}_{kind}": refs for kind, refs in kinds.items() if refs}

    def frames(self, store: Store) -> Frames:
        """Each kind of all seeds."""
        prefix = f"{self.role}_"
        return {
            role.removeprefix(prefix): pl.concat([pl.DataFrame(store.read(ref)) for ref in refs])
            for role, refs in self.inputs.items()
        }


class SumUp(Work, unit="privacy_sums/6", stage="sum up", makes=[tables.Models, tables.Orderings, tables.EpWords]):
    """What a model gives away, what it goes by, and how far it differs from others.

    Attributes:
        texts: with the text and the speaker of every sentence.
        own: of the model.
        general, control, reseeded: of those that it is compared with; None without one.
    """

    name: str
    texts: Sequence[TableRef]
    own: Measured
    general: Measured | None = None
    control: Measured | None = None
    reseeded: Measured | None = None
    intervals: KeyedResampleSettings
    seed: int
    operators: Sequence[str] = (attacker.VERSION, spoken.VERSION, means.VERSION, flips.VERSION, resampling.VERSION)

    def rows(self, store: Store) -> Iterator[tables.Models | tables.Orderings | tables.EpWords]:
        """By corpus; orderings without the adjusted p-values."""
        frames, sampling = self.own.frames(store), Sampling.read(store, self.texts, self.intervals, self.seed)
        known = {GENERAL: self.general, CONTROL: self.control, RESEEDED: self.reseeded}
        others = {name: other.frames(store) for name, other in known.items() if other is not None}
        for corpus in dict.fromkeys(frames["samples"]["corpus"]):
            values = sampling.estimates(frames, corpus)
            yield from self._models(corpus, frames, values)
            by_other = {
                name: sampling.estimates(other, corpus)
                for name, other in others.items()
                if corpus in other["samples"]["corpus"]
            }
            yield from comparisons(self.name, corpus, values, by_other)
        if self.name != RESEEDED:
            general = {} if self.name == GENERAL else others.get(GENERAL, {})
            yield from word_rows(self.name, frames, general, sampling)

    def _models(self, corpus: str, frames: Frames, values: Estimates) -> Iterator[tables.Models]:
        """Of the means over the seeds, and of each seed."""
        samples = frames["samples"].filter(corpus=corpus)
        num_rows = frames["outcomes"].filter(corpus=corpus)["sentence"].n_unique() if "outcomes" in frames else None
        for seed in sorted({seed for seed, _ in values}, key=lambda seed: -1 if seed is None else seed):
            row = tables.Models(model=self.name, seed=seed, corpus=corpus, num_rows=num_rows)
            results = {}
            for name in (name for name in MEASURES if (seed, name) in values):
                estimate, results[name] = values[seed, name].inferred(SCALES[name])
                setattr(row, name, estimate)
            part = samples if seed is None else samples.filter(seed=seed)
            row.num_explained = part.filter(status="ok")["sentence"].n_unique()
            row.num_ep, row.num_eg = (part.drop_nulls(name)["sentence"].n_unique() for name in ("ep", "eg"))
            row.explain(_status(part, "ep"), _status(part, "eg"))
            row.num_units = results["listed_share"].num_units
            unknown = [one for one in results.values() if np.isnan(one.variance) and not np.isnan(one.value)]
            if np.isnan(row.listed_share.value):
                row.fail("no_attribution", "no sentence has an attribution other than 0")
            elif unknown:
                row.fail("too_few_units", unknown[0].reason)
            yield row


def _status(samples: pl.DataFrame, measure: str) -> str:
    """``ok`` where a sentence has a measure; if none has, what most of them say."""
    if samples[measure].count():
        return "ok"
    return str(samples[f"{measure}_status"].value_counts(sort=True)[f"{measure}_status"][0])


# --- differences from other models ----------------------------------------------------------------------------------


def comparisons(
    model: str, corpus: str, estimates: Estimates, others: Mapping[str, Estimates]
) -> Iterator[tables.Orderings]:
    """How far a model differs from others by their names, speaker by speaker, but for the adjusted p-values."""
    if model in (GENERAL, RESEEDED) or GENERAL not in others:
        return
    ep, general, measures = estimates[None, "ep"], others[GENERAL], [name for name in MEASURES if name != "ep_random"]
    # General's EP against itself is 0.
    differences = {
        (GENERAL, name): ep if name == "ep" else estimates[None, name] - general[None, name] for name in measures
    }
    for name in (CONTROL, RESEEDED):
        if name in others and name != model:
            differences[name, "ep"] = ep - others[name][None, "ep"]
    differences[RANDOM_LISTS, "ep"] = ep - estimates[None, "ep_random"]
    for (against, measure), difference in differences.items():
        yield _compared(tables.Orderings(model=model, against=against, corpus=corpus, measure=measure), difference)


def _compared(row: tables.Orderings, difference: TextValues) -> tables.Orderings:
    row.difference, result = difference.inferred(DIFFERENCE_SCALES[row.measure])
    if np.isnan(row.difference.value):
        return row.fail("no_value", "the measure has no value: see models")
    row.p, too_few = difference.spoken.p_of_none(result)
    seeds = difference.spoken.seeds
    row.num_units, row.sd_training = result.num_units, seeds.std(ddof=1) if seeds.size > 1 else np.nan
    row.expected = EXPECTED.get((row.model, row.against, row.measure))
    low, high = row.difference.low, row.difference.high
    if row.expected and not np.isnan(low):
        row.found = bool(high < 0 if row.expected == "lower" else low > 0)
    return row.fail("too_few_units", too_few.reason) if too_few else row


class AdjustOrderings(Work, unit="privacy_orderings/2", stage="adjust", makes=[tables.Orderings]):
    """Orderings of all models, with p-values that are adjusted for their number."""

    orderings: Sequence[TableRef]
    operators: Sequence[str] = (spoken.VERSION, multiplicity.VERSION)

    def rows(self, store: Store) -> list[tables.Orderings]:
        """Of all tables, one after the other."""
        return adjusted([row for ref in self.orderings for row in tables.Orderings.read(store, ref)])


def adjusted(rows: list[tables.Orderings]) -> list[tables.Orderings]:
    """Rows with p-values that are adjusted for the tests of one corpus and measure: a column of the paper's table 1."""
    keys = [(row.corpus, row.measure) for row in rows]
    for key in dict.fromkeys(keys):
        tested = [row for row, other in zip(rows, keys, strict=True) if other == key]
        p_values = np.array([np.nan if row.p is None else row.p for row in tested], dtype=np.float64)
        for row, p_holm, p_bh in zip(tested, holm(p_values), benjamini_hochberg(p_values), strict=True):
            row.p_holm, row.p_benjamini_hochberg = float(p_holm), float(p_bh)
    return rows

"""Words by their means over classifiers, compared with the lexicon and in groups; words are the units.

Forms of one lemma count once. Draws of a posterior judge no difference of two runs. The numbers are means over them,
of which they leave open ``contrast_se`` alone: with more draws, any two runs would differ surely, whatever other words
would say. Resamples of words judge it, over which the intervals are too.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS, Resampled, drawn_texts, estimate_of
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.jobs.sentiment.posterior.draws import Posterior
from tiltmeter.jobs.sentiment.posterior.tables import MEAN, Groups, Lexicon, Words
from tiltmeter.jobs.sentiment.posterior.texts import PosteriorRun
from tiltmeter.jobs.sentiment.posterior.words import MeasureWords, negative_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.keys import document_key, text_keys
from tiltmeter.operators.sentiment.posterior import groups as word_groups
from tiltmeter.operators.sentiment.posterior.groups import WordGroup, lemma_units, unit_names
from tiltmeter.operators.sentiment.posterior.seeds import error_of_mean, largest_z, spread
from tiltmeter.operators.statistics import correlation, means, multiplicity, resampling
from tiltmeter.operators.statistics.designs import groups as dealing
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import Units, kish
from tiltmeter.storage.store.ledger import Store, TableRef

MEASURES = ("distance_positive", "distance_negative", "contrast", "log_odds", "in_context")

_COMPARED = ("distance_positive", "contrast", "log_odds", "in_context")
_BY_DRAWS = ("distance_positive", "distance_negative", "contrast")
_BY_FREQUENCY = ", by frequency"

_COLUMNS = [*(column.name for column in Words.columns[2:]), "status", "reason"]
"""Of a word, but for the keys of all."""


class CompareWords(Work, unit="posterior_comparisons/5", stage="compare words", makes=[Words, Lexicon, Groups]):
    """What the classifiers say together of words, under a prior and by a sampler; each comparison has two groups."""

    operators: Sequence[str] = tuple(
        module.VERSION for module in (word_groups, correlation, means, dealing, resampling)
    )
    groups: Mapping[str, Sequence[tuple[str, Sequence[str]]]]
    lemmas: Mapping[str, str]
    level: float
    seed: int
    prior: str
    sampler: str
    distances: Sequence[TableRef]
    diagnostics: Sequence[TableRef]
    asked: TableRef

    def rows(self, store: Store) -> Iterator[Words | Lexicon | Groups]:
        asked = pl.DataFrame(store.read(self.asked))
        parts = [pl.DataFrame(store.read(ref)) for ref in self.distances]
        # Nothing of words that are left out, though they share a number with others.
        valid = [pl.when(pl.col("status") == "ok").then(pl.col(name)).alias(name) for name in MEASURES]
        joined = [
            asked.join(part, on="number", how="left", maintain_order="left").with_columns(valid) for part in parts
        ]
        faults = self._faults(store)
        words = mean_words(asked, joined)
        for cells in words.select(_COLUMNS).iter_rows(named=True):
            yield _marked(Words(prior=self.prior, sampler=self.sampler, **cells), faults)
        rows: list[Lexicon | Groups] = [*self.agreements([*joined, words]), *self.differences(words, joined)]
        for row in rows:
            yield _marked(row, faults if row.measure.removesuffix(_BY_FREQUENCY) in _BY_DRAWS else "")

    def _faults(self, store: Store) -> str:
        """Why the chains behind the words have not converged; empty if they have."""
        tables = [pl.DataFrame(store.read(ref.select("label", "status", "reason"))) for ref in self.diagnostics]
        rows = pl.concat(tables).filter(pl.col("status") != "ok").select("label", "reason").rows()
        return "; ".join(dict.fromkeys(f"{label}: {reason}" for label, reason in rows))

    def agreements(self, parts: Sequence[pl.DataFrame]) -> Iterator[Lexicon]:
        """How each measure goes with the lexicon, given the numbers of each classifier and last of their mean."""
        *_, words = parts
        for number, part in enumerate(parts):
            listed = part.filter(pl.col("polarity").is_not_null() & (pl.col("status") == "ok"))
            is_positive = (listed["polarity"] == "positive").to_numpy()
            names = listed["word"].to_list()
            units = lemma_units(names, self.lemmas)
            for measure in MEASURES:
                values = _stacked([listed], measure)[0]
                agreement = word_groups.lexicon_agreement(values, is_positive, units, self.level)
                row = Lexicon(
                    seed=MEAN if part is words else number, prior=self.prior, sampler=self.sampler, measure=measure
                )
                row.pearson, row.spearman = (
                    Estimate(agreement.pearson, agreement.low, agreement.high),
                    agreement.spearman,
                )
                row.auc, row.num_words = agreement.auc, agreement.num_words
                row.num_units = units.part(np.isfinite(values)).num
                if np.isfinite(agreement.low):
                    row.pearson = self._drawn_correlation(row.pearson, names, units, values, is_positive)
                yield row

    def _drawn_correlation(
        self, pearson: Estimate, words: Sequence[str], units: Units, values: FloatArray, is_positive: BoolArray
    ) -> Estimate:
        """With what it is in resamples of the units that have a value."""
        known = np.flatnonzero(np.isfinite(values))
        units = units.part(known)
        names = unit_names([words[place] for place in known.tolist()], units)
        drawn = _resamples(names, (len(names),), self.seed, "lexicon")
        resamples = word_groups.resampled_agreement(
            values[known], is_positive[known], drawn.counts[:, units.codes], units
        )
        return estimate_of(pearson.value, pearson.low, pearson.high, resamples, drawn.scheme, kish(units.sizes))

    def differences(self, words: pl.DataFrame, joined: Sequence[pl.DataFrame]) -> Iterator[Groups]:
        """Of the groups of each comparison, given the means over classifiers and the numbers of each."""
        rows = {word: row for row, word in enumerate(words["word"].to_list())}
        counts = words["count"].to_numpy().astype(np.float64)
        comparisons = {
            name: [WordGroup.among(rows, label, listed, self.lemmas) for label, listed in sides]
            for name, sides in self.groups.items()
        }
        for measure in _COMPARED:
            plain = np.concatenate([_stacked([words], measure), _stacked(joined, measure)])
            by_frequency = np.stack([word_groups.without_frequency(values, counts) for values in plain])
            for name, sides in comparisons.items():
                for kind, values in ((measure, plain), (f"{measure}{_BY_FREQUENCY}", by_frequency)):
                    row = Groups(comparison=name, prior=self.prior, sampler=self.sampler, measure=kind)
                    yield self._difference(row, sides, values)

    def _difference(self, row: Groups, sides: Sequence[WordGroup], values: FloatArray) -> Groups:
        """The row with its numbers.

        Args:
            values: ``[1 + classifiers, words]``, the mean first.
        """
        about = f"groups {row.comparison}"
        first, second = (side.of(values[0]) for side in sides)
        inferred = word_groups.group_difference(
            first, second, level=self.level, seed=self.seed, about=document_key(about)
        )
        row.first, row.second = (side.name for side in sides)
        row.difference, row.p = Estimate(inferred.value, inferred.low, inferred.high), inferred.p
        row.num_first, row.num_second = int(np.isfinite(first).sum()), int(np.isfinite(second).sum())
        if inferred.too_few:
            return row.fail("too_few_words", inferred.reason)
        of_seeds = [np.array([np.nanmean(side.of(part)) for part in values[1:]]) for side in sides]
        row.seed_sd = float(spread(of_seeds[0] - of_seeds[1]))
        # Resamples of the units that have a value, within each group.
        known = [np.flatnonzero(np.isfinite(numbers)) for numbers in (first, second)]
        names = [side.names[place] for side, places in zip(sides, known, strict=True) for place in places.tolist()]
        sizes = row.num_first, row.num_second
        drawn = _resamples(tuple(names), sizes, self.seed, about)
        resamples = word_groups.resampled_difference(first[known[0]], second[known[1]], drawn.counts)
        row.difference = estimate_of(
            inferred.value, inferred.low, inferred.high, resamples, drawn.scheme, word_groups.as_one_group(sizes)
        )
        return row


class CorrectGroups(Work, unit="posterior_family/1", stage="correct groups", makes=[Groups]):
    """Groups of all priors, with p-values after Holm over those that a sentence chooses from."""

    operator: str = multiplicity.VERSION
    groups: Sequence[TableRef]

    def rows(self, store: Store) -> list[Groups]:
        rows = [row for ref in self.groups for row in Groups.read(store, ref)]
        # All comparisons under all priors are corrected together.
        for family in dict.fromkeys((row.sampler, row.measure) for row in rows):
            tests = [row for row in rows if (row.sampler, row.measure) == family]
            p_values = np.array([row.p for row in tests], dtype=np.float64)
            for row, p in zip(tests, holm(p_values), strict=True):
                row.p_holm, row.num_tests = float(p), int(np.isfinite(p_values).sum())
        return rows


def compare(
    run: PosteriorRun, measured: Done[MeasureWords], diagnosed: Mapping[Posterior, TableRef], asked: TableRef
) -> None:
    """Publish the tables ``words``, ``lexicon`` and ``groups``."""
    config = run.config
    parts: dict[tuple[str, str], list[tuple[Posterior, TableRef]]] = {}
    for work, unit in measured.pairs:
        key = work.posterior
        parts.setdefault((key.prior, key.sampler), []).append((key, unit.tables["distances"]))
    works = [
        CompareWords(
            group="words",
            label=f"{prior}, {sampler}",
            groups={name: [*sides.items()] for name, sides in config.groups.items()},
            lemmas=config.lemmas,
            level=config.job.level,
            seed=config.seed,
            prior=prior,
            sampler=sampler,
            distances=[ref for _, ref in part],
            diagnostics=[diagnosed[one] for key, _ in part for one in (key, negative_of(key))],
            asked=asked,
        )
        for (prior, sampler), part in parts.items()
    ]
    done = run.do(works, publish=False)
    run.publish_all({"words": done.refs(Words), "lexicon": done.refs(Lexicon)})
    run.do([CorrectGroups(group="groups", label="groups", groups=done.refs(Groups))], in_driver=True)


def mean_words(asked: pl.DataFrame, joined: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Of all classifiers: means, the Monte Carlo error of their mean, and how they vary."""
    columns: dict[str, FloatArray] = {name: _stacked(joined, name).mean(axis=0) for name in MEASURES}
    columns["contrast_se"] = error_of_mean(_stacked(joined, "contrast_se"))
    columns["contrast_sd"] = spread(_stacked(joined, "contrast"))
    columns["identity_z"] = largest_z(_stacked(joined, "identity_gap"), _stacked(joined, "identity_se"))
    return asked.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def _stacked(joined: Sequence[pl.DataFrame], name: str) -> FloatArray:
    """``[classifiers, words]``, NaN for a word without a number."""
    return np.stack([part[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for part in joined])


def _marked(row: Words | Lexicon | Groups, faults: str) -> Words | Lexicon | Groups:
    return row.fail("not_converged", faults) if faults and row.status == "ok" else row


@lru_cache(maxsize=4)  # nearly all measures and classifiers have the same words
def _resamples(names: tuple[str, ...], sizes: tuple[int, ...], seed: int, about: str) -> Resampled:
    """Resamples that are keyed by the words of units: two runs draw alike those that have a vector in both.

    Args:
        names: of the units of all groups, one after the other.
        sizes: of the groups.
    """
    strata = np.repeat(np.arange(len(sizes)), sizes)
    blocks = resampled_counts(strata, seed, document_key(about), MOST_DRAWS, keys=text_keys(names))
    return Resampled(np.concatenate(list(blocks)), drawn_texts(names, seed, about, "text"))

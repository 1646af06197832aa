"""Slices of texts with more errors than chance gives them, and those that got worse from one version to the next.

Permutations are dealt out to workers.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.errors.features import DataSet
from tiltmeter.jobs.classifiers.errors.slice_files import kept_slices
from tiltmeter.jobs.classifiers.errors.tables import Kept, OwnColumns, Slices, Versions
from tiltmeter.jobs.classifiers.errors.texts import OfTexts, halves
from tiltmeter.jobs.runtime.table import Estimate, tables_of
from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.slices import (
    confirmation,
    conjunctions,
    group_flips,
    leading,
    max_t,
    predicates,
    search,
    versions,
)
from tiltmeter.operators.classifiers.errors.slices.columns import LEAK, ColumnFacts, predicates_of_column
from tiltmeter.operators.classifiers.errors.slices.confirmation import change_of, confirmed_p, rates_of, sliceline_score
from tiltmeter.operators.classifiers.errors.slices.group_flips import MIN_GROUPS, MIN_WITHIN
from tiltmeter.operators.classifiers.errors.slices.leading import Conjunction, rows_with
from tiltmeter.operators.classifiers.errors.slices.max_t import adjusted
from tiltmeter.operators.classifiers.errors.slices.predicates import (
    Predicates,
    joined,
    predicates_of_texts,
    shared_predicates,
)
from tiltmeter.operators.classifiers.errors.slices.search import Candidates, SliceConfig, candidates_of, hits_of, plain
from tiltmeter.operators.classifiers.errors.slices.versions import leading_changes, worse_p
from tiltmeter.operators.compute.arrays import BoolArray, IntArray
from tiltmeter.operators.statistics.shares import Rates
from tiltmeter.operators.statistics.units import TooFew
from tiltmeter.storage.store.ledger import Store, TableRef

_EVERYONE = "all texts"
_OPERATORS = tuple(one.VERSION for one in (conjunctions, group_flips, leading, max_t, predicates, search))
_RATES = (confirmation.VERSION, versions.VERSION)


class OfSlices(OfTexts):
    """A unit on slices; ``tags``: whether tags are predicates, too."""

    data: DataSet
    slices: SliceConfig
    tags: bool
    seed: int
    operators: Sequence[str] = _OPERATORS


class DrawPermutations(OfSlices, unit="slice_draws/2", stage="permutations"):
    """In how many of some permutations each slice is reached.

    Attributes:
        draws: the first, and the one behind the last.
    """

    draws: tuple[int, int]

    def tables(self, store: Store) -> Tables:
        """The table ``hits``."""
        data = self.data.load(store)
        exploring = ~halves(data.column("group"), self.seed)
        made = predicates_of_data(data, exploring, self.slices.min_size, tags=self.tags)[0]
        candidates = explored(data, made, exploring, self.slices)
        yield "hits", pa.table({"hits": hits_of(candidates, self.seed, range(*self.draws))})


class FindSlices(OfSlices, unit="slices/3", stage="slices", makes=[Slices, Kept, Versions, OwnColumns]):
    """Slices and, of two versions of a model, what moved between them.

    Attributes:
        hits: of all permutations.
        judged: whether the label of each text is suspected; None of losses.
        level: of intervals.
    """

    hits: Sequence[TableRef]
    judged: TableRef | None
    level: float
    rates: Sequence[str] = _RATES

    def tables(self, store: Store) -> Tables:
        """Of versions where there are two, and of columns where there are any."""
        data = self.data.load(store)
        confirming = halves(data.column("group"), self.seed)
        made, columns = predicates_of_data(data, ~confirming, self.slices.min_size, tags=self.tags)
        hits = np.sum([store.read(ref)["hits"].to_numpy() for ref in self.hits], axis=0)
        suspected = None
        if self.judged is not None:
            known = store.read(self.judged).to_pydict()
            doubts = dict(zip(known["row"], known["is_label_suspected"], strict=True))
            suspected = np.array([bool(doubts[row]) for row in data.column("row")], dtype=np.bool_)
        rows = slice_rows(data, made, confirming, hits, suspected, self.slices, self.level)
        yield from tables_of(rows, [Slices])
        yield from tables_of(kept_slices(rows, made.predicates, data, confirming, self.level), [Kept])
        if columns:
            yield from tables_of(column_rows(columns, made), [OwnColumns])
        if data.losses_before is not None:
            shared = shared_predicates(data, self.slices.min_size, tags=self.tags)
            more = [predicates for predicates, _ in columns.values()]
            shared = joined([shared, *more], np.ones(len(data.losses), dtype=np.bool_), self.slices.min_size)
            yield from tables_of(version_rows(data, shared, self.slices, self.seed, self.level), [Versions])


def predicates_of_data(
    data: Examples, exploring: BoolArray, min_size: int, *, tags: bool
) -> tuple[Predicates, dict[str, tuple[Predicates, ColumnFacts]]]:
    """Predicates of texts and of columns; and of each column all of its own, with what it is taken for."""
    of_texts = predicates_of_texts(data, exploring, min_size, tags=tags)
    if not data.extra:
        return of_texts, {}
    columns = {
        name: predicates_of_column(name, cells, exploring, data.losses, data.edges.get(name, ()))
        for name, cells in data.extra.items()
    }
    return joined([of_texts, *(made for made, _ in columns.values())], exploring, min_size), columns


def column_rows(columns: Mapping[str, tuple[Predicates, ColumnFacts]], made: Predicates) -> list[OwnColumns]:
    """What each column is taken for; those first that tell the loss alone."""
    rows = []
    for name, (_, facts) in columns.items():
        row = OwnColumns(column=name, type=facts.type, num_values=facts.num_values, num_missing=facts.num_missing)
        row.edges, row.auroc, row.is_leak = list(facts.edges), facts.auroc, facts.auroc > LEAK
        row.num_predicates = sum(predicate.column == name for predicate in made.predicates)
        rows.append(row.fail("some_values", facts.reason) if facts.reason else row)
    return sorted(rows, key=lambda row: (not row.is_leak, row.column))


def explored(data: Examples, made: Predicates, exploring: BoolArray, config: SliceConfig) -> Candidates:
    """What is tested, of the texts that explore."""
    errors, strata, units = data.losses[exploring], data.strata[exploring], data.units.part(exploring)
    return candidates_of(made.members[:, exploring], made.predicates, errors, strata, units, config)


def slice_rows(
    data: Examples,
    made: Predicates,
    confirming: BoolArray,
    hits: IntArray,
    suspected: BoolArray | None,
    config: SliceConfig,
    level: float,
) -> list[Slices]:
    """All slices: the leading ones first, then by score.

    Args:
        confirming: ``[texts]``, whether each confirms.
        hits: of all permutations.
        suspected: ``[texts]``, whether the label is; None of losses.
    """
    exploring = ~confirming
    errors, strata, units = data.losses[exploring], data.strata[exploring], data.units.part(exploring)
    candidates = explored(data, made, exploring, config)
    statistics, p_values = candidates.statistics, adjusted(hits, candidates.statistics.value, config.num_permutations)
    first = search.leading(candidates, p_values, made.members[:, exploring], errors, strata, units, config.alpha)
    slices = [plain(row) for row in candidates.conjunctions]
    rates = rates_of((rows_with(made.members, slice_)[exploring] for slice_ in slices), errors, units, level)
    scores, rows = statistics.value, list[Slices]()
    if config.score == "sliceline":
        scores = sliceline_score(statistics.errors, statistics.size, float(errors.sum()), len(errors))
    differences = (statistics.errors - statistics.expected) / statistics.size
    for place, conjunction in enumerate(slices):
        names = [made.predicates[number].name for number in conjunction]
        row = Slices(slice=" and ".join(names), predicates=names, num_predicates=len(names))
        row.size, row.num_folded = int(statistics.size[place]), int(candidates.num_folded[place])
        row.error_rate = _rate(rates, place)
        mean = float(errors.mean())
        row.lift = row.error_rate.value / mean if mean > 0.0 else np.nan
        row.difference, row.t = float(differences[place]), float(statistics.value[place])
        row.p_value, row.score = float(p_values[place]), float(scores[place])
        _count_groups(row, candidates, place)
        rows.append(row)
    _confirm(rows, data, made, slices, first, confirming, suspected, level)
    return sorted(
        rows, key=lambda row: (row.leading or len(rows) + 1, -np.nan_to_num(row.score, nan=-np.inf), row.slice)
    )


def _rate(rates: Rates, place: int) -> Estimate:
    return Estimate(float(rates.rate[place]), float(rates.low[place]), float(rates.high[place]))


def _count_groups(row: Slices, candidates: Candidates, place: int) -> None:
    """Units of a slice, and whether they suffice."""
    grouped, too_few = candidates.grouped, None
    row.num_groups = int(candidates.statistics.size[place] if grouped is None else grouped.num_within[place])
    if grouped is not None:
        too_few = grouped.too_few
        if row.num_groups < MIN_WITHIN:
            too_few = too_few or TooFew(row.num_groups, MIN_WITHIN, f"{grouped.units.kind} with texts in the slice")
    if too_few is not None:
        row.fail("too_few_units", too_few.reason)
    elif np.isnan(row.t):
        row.fail("fixed", "the predicted classes fix its errors")


def _confirm(
    rows: Sequence[Slices],
    data: Examples,
    made: Predicates,
    slices: Sequence[Conjunction],
    first: Sequence[Conjunction],
    confirming: BoolArray,
    suspected: BoolArray | None,
    level: float,
) -> None:
    """What texts say of each slice that did not choose it."""
    wrong, strata, units = data.losses[confirming], data.strata[confirming], data.units.part(confirming)
    present = np.bincount(strata, minlength=int(data.strata.max()) + 1)
    expected = (np.bincount(strata, wrong, minlength=len(present)) / np.maximum(present, 1))[strata]
    p_values = confirmed_p(made.members[:, confirming], first, wrong, strata, units)
    rates = rates_of((rows_with(made.members, slice_)[confirming] for slice_ in slices), wrong, units, level)
    for place, (row, conjunction) in enumerate(zip(rows, slices, strict=True)):
        members = rows_with(made.members, conjunction)
        inside = members[confirming]
        row.confirmed_size, row.confirmed_rate = int(inside.sum()), _rate(rates, place)
        if inside.any():
            row.confirmed_difference = float(rates.rate[place] - expected[inside].mean())
        if conjunction in first:
            row.leading = first.index(conjunction) + 1
            row.confirmed_p = float(p_values[row.leading - 1])
        if suspected is not None and (errors := members & data.errors).any():
            row.suspected_share = float(suspected[errors].mean())


def version_rows(data: Examples, made: Predicates, config: SliceConfig, seed: int, level: float) -> list[Versions]:
    """All texts, and every slice of at most two predicates: those that lead first, then those that got worse.

    Args:
        made: predicates of what both versions share.
    """
    before, after, units = data.losses_before, data.losses, data.units
    if before is None:
        return []
    slices, p_values = worse_p(made.members, made.predicates, before, after, units, config, seed)
    first = leading_changes(made.members, slices, p_values, before, after, units, config.alpha)
    moved, rows = before != after, list[Versions]()
    for place, slice_ in enumerate([(), *slices]):
        inside = rows_with(made.members, slice_)
        names = [made.predicates[number].name for number in slice_]
        row = Versions(slice=" and ".join(names) or _EVERYONE, predicates=names, size=int(inside.sum()))
        change = change_of(inside, before, after, units, level)
        row.num_moved, row.before, row.after = units.part(inside & moved).num, change.before, change.after
        row.change = Estimate(change.change.value, change.change.low, change.change.high)
        if slice_:
            row.p_value = float(p_values[place - 1])
            row.leading = first.index(place - 1) + 1 if place - 1 in first else None
            if too_few := _too_few_moved(row.num_moved, units.part(moved).num, units.kind):
                row.fail("too_few_units", too_few.reason)
        rows.append(row)
    return [rows[0], *sorted(rows[1:], key=_order)]


def _too_few_moved(num: int, num_in_all: int, kind: str) -> TooFew | None:
    if num_in_all < MIN_GROUPS:
        return TooFew(num_in_all, MIN_GROUPS, f"{kind} that moved")
    return TooFew(num, MIN_WITHIN, f"{kind} of the slice that moved") if num < MIN_WITHIN else None


def _order(row: Versions) -> tuple[float, float, float, str]:
    return row.leading or np.inf, float(np.nan_to_num(row.p_value, nan=2.0)), -row.change.value, row.slice

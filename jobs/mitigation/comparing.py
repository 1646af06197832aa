"""Numbers before and after, and their differences, replica by replica."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.measures import find_measure, measured
from tiltmeter.jobs.embedding.lookup import MIN_REPLICAS, Lookup, OfReplicas, too_few_replicas
from tiltmeter.jobs.mitigation.tables import Mitigation, MitigationChecks, Readings
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.statistics.replicas import Replicated, taken_apart
from tiltmeter.operators.statistics.text_intervals import cut
from tiltmeter.operators.text.wordsets import Association
from tiltmeter.storage.store.ledger import Store, TableRef

_SHARE, _COSINE = cut(0.0, 1.0), cut(-1.0, 1.0)
_SCALES = {"rank": cut(0.0, np.inf), "cosine": _COSINE, "wordsim353": _COSINE, "simlex999": _COSINE}


class OfModel(Work):
    """What a method leaves of all embeddings of a model, beside how they were.

    Attributes:
        drawn: what draws of its replicas are keyed by.
    """

    model: str
    language: str
    drawn: Scheme | None
    method: str
    erased: str

    @property
    def scheme(self) -> Scheme | None:
        return self.drawn

    @property
    def key(self) -> Row:
        """Columns of its rows."""
        names = ("model", "language", "method", "erased")
        return {name: getattr(self, name) for name in names}


class CompareMeasure(OfModel, unit="mitigation_measure/1", stage="compare measures", makes=[Mitigation]):
    """One measure of one query before and after: ``fit`` has the readings of the original, others its words in each
    embedding."""

    measure: str
    version: str
    query: str
    test: Association
    settings: AssociationConfig
    fit: TableRef
    before: Sequence[TableRef]
    after: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Mitigation]:
        [num_pairs] = [row.num for row in Readings.read(store, self.fit) if row.query == self.query]
        lookups = (Lookup(store, {"vectors": refs}) for refs in (self.before, self.after))
        # A p-value would be of each side by itself.
        measure = replace(find_measure(self.measure, self.version), null="")
        key = {"model": self.model, "language": self.language, "measure": self.measure, "query": self.query}
        sides = [list(measured(lookup, key, measure, self.test, self.settings, 0)) for lookup in lookups]
        for before, after in zip(*sides, strict=True):
            names = ("measure", "query", "groups", "attributes", "word", "larger", "neutral", "num_words")
            row = Mitigation(
                **self.key | {name: getattr(before, name) for name in names},
                num_pairs=num_pairs,
                missing_words=before.missing_words,
                before=before.value,
                after=after.value,
                num_replicas=min(before.num_replicas, after.num_replicas),
            )
            if isinstance(before.value, OfReplicas) and isinstance(after.value, OfReplicas):
                row.difference = difference(before.value, after.value, self.settings)
            bad = next((one for one in (before, after) if one.status != "ok"), None)
            if not num_pairs:
                yield row.fail("no_pairs", "each pair that defines gender has a word of the query")
            else:
                yield row.fail(bad.status, bad.reason) if bad else row


def difference(before: OfReplicas, after: OfReplicas, settings: IntervalSettings) -> OfReplicas:
    """After less before in each replica, from which its interval comes."""
    sides = zip(after.values, before.values, strict=True)
    return OfReplicas(Replicated(*(np.asarray(one - other) for one, other in sides)), settings)


class CompareReadings(OfModel, unit="mitigation_checks/1", stage="compare checks", makes=[MitigationChecks]):
    """What is left, and what the vectors are still good for."""

    settings: IntervalSettings
    before: Sequence[TableRef]
    after: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[MitigationChecks]:
        before, after = (_by_check(store, refs) for refs in (self.before, self.after))
        for check, (values, num) in after.items():
            row = MitigationChecks(**self.key, check=check, num_words=num)
            row.after = self._number(check, values)
            if check in before:
                row.before = self._number(check, before[check][0])
                row.difference = difference(row.before, row.after, self.settings)
            paired = values - before[check][0] if check in before else values
            row.num_replicas = int(np.isfinite(paired[1:]).sum())
            if not np.isfinite(paired[ORIGINAL]):
                row.fail("undefined", "too few words are there, or nothing is left of their vectors")
            elif len(values) > 1 and row.num_replicas < MIN_REPLICAS:
                row.fail(**too_few_replicas(row.num_replicas))
            yield row

    def _number(self, check: str, values: FloatArray) -> OfReplicas:
        return OfReplicas(taken_apart(values, len(values) - 1), self.settings, _SCALES.get(check, _SHARE))


def _by_check(store: Store, refs: Sequence[TableRef]) -> dict[str, tuple[FloatArray, int]]:
    """``[embeddings]`` of each, and how many words it is of in the original."""
    tables = [{row.check: row for row in Readings.read(store, ref) if not row.query} for ref in refs]
    return {
        check: (np.array([np.nan if table[check].value is None else table[check].value for table in tables]), row.num)
        for check, row in tables[ORIGINAL].items()
    }

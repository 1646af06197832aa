"""Numbers before and after, and their differences, replica by replica."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from tiltmeter.operators.statistics.intervals import FISHER, LOG, LOGIT, of_size
from tiltmeter.operators.statistics.replicas import Replicated, taken_apart
from tiltmeter.operators.text.wordsets import Association
from tiltmeter.storage.store.ledger import Store, TableRef

_COSINE, _SHARE = of_size(FISHER), of_size(LOGIT)
"""Noise alone lowers how well others tell sides and how far vectors agree."""
_SCALES = {"rank": of_size(LOG), "cosine": _COSINE, "wordsim353": _COSINE, "simlex999": _COSINE}
_SAME = ("measure", "query", "groups", "attributes", "word", "larger", "neutral", "num_words", "missing_words")


class Compare(Work, unit="mitigated/1", stage="compare", makes=[Mitigation, MitigationChecks]):
    """What a method leaves of all embeddings of a model, beside how they were.

    Attributes:
        keys: columns of its rows.
        drawn: what draws of its replicas are keyed by.
        measures: with their versions.
        before, after: readings of each embedding, the original's first.
        words_before, words_after: of each test, words of each embedding.
    """

    keys: Mapping[str, Any]
    drawn: Scheme | None
    measures: Mapping[str, str]
    tests: Mapping[str, Association]
    settings: AssociationConfig
    before: Sequence[TableRef]
    after: Sequence[TableRef]
    words_before: Sequence[TableRef]
    words_after: Sequence[TableRef]

    @property
    def scheme(self) -> Scheme | None:
        return self.drawn

    def rows(self, store: Store) -> Iterator[Mitigation | MitigationChecks]:
        num = len(self.before)
        num_pairs = {row.query: row.num for row in Readings.read(store, self.after[ORIGINAL]) if row.query}
        for place, query in enumerate(self.tests):
            refs = (words[place * num :][:num] for words in (self.words_before, self.words_after))
            lookups = [Lookup(store, {"vectors": part}) for part in refs]
            for measure in self.measures:
                for row in self._measured(lookups, measure, query):
                    row.num_pairs = num_pairs[query]
                    if not row.num_pairs:
                        row.fail(
                            "no_pairs",
                            "without the words of the query no pair that defines gender, or too few words, are left",
                        )
                    yield row
        yield from self._checks(store)

    def _measured(self, lookups: Sequence[Lookup], name: str, query: str) -> Iterator[Mitigation]:
        # A p-value would be of each side by itself.
        measure = replace(find_measure(name, self.measures[name]), null="")
        key: Row = {name: self.keys[name] for name in ("model", "language")} | {"measure": name, "query": query}
        sides = (measured(lookup, key, measure, self.tests[query], self.settings, 0) for lookup in lookups)
        for before, after in zip(*sides, strict=True):
            row = Mitigation(**self.keys, **{name: getattr(before, name) for name in _SAME})
            row.before, row.after = before.value, after.value
            row.num_replicas = min(before.num_replicas, after.num_replicas)
            if before.value and after.value:
                row.difference = self._difference(before.value, after.value)
            bad = [one for one in (before, after) if one.status != "ok"]
            yield row.fail(bad[0].status, bad[0].reason) if bad else row

    def _difference(self, before: OfReplicas, after: OfReplicas) -> OfReplicas:
        """After less before in each replica, from which its interval comes."""
        sides = zip(after.values, before.values, strict=True)
        return OfReplicas(Replicated(*(np.asarray(one - other) for one, other in sides)), self.settings)

    def _checks(self, store: Store) -> Iterator[MitigationChecks]:
        before, after = (_by_check(store, refs) for refs in (self.before, self.after))
        for check, (paired, num) in after.items():
            row = MitigationChecks(**self.keys, check=check, num_words=num, after=self._number(check, paired))
            if check in before:
                row.before = self._number(check, before[check][0])
                row.difference = self._difference(row.before, row.after)
            values = paired - before[check][0] if check in before else paired
            row.num_replicas = int(np.isfinite(values[1:]).sum())
            if not np.isfinite(values[ORIGINAL]):
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
        check: (np.array([table[check].value for table in tables], dtype=np.float64), row.num)
        for check, row in tables[ORIGINAL].items()
    }

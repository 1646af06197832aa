"""One record and a run: which cluster it would join, that it would be new, or which clusters it would make one."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
import yaml

from tiltmeter.jobs.report.wording import listed, number, plural, quoted, verb
from tiltmeter.jobs.resolution.config import CONSTRAINTS
from tiltmeter.jobs.resolution.extracts import cluster_name, signed
from tiltmeter.jobs.resolution.partitions import SolverSettings, solve_in_time
from tiltmeter.jobs.resolution.previous import LOOKUP, refusal, run_place
from tiltmeter.jobs.resolution.records.night import LEARNT
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.resolution import components
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.ids import as_text
from tiltmeter.operators.resolution.lineage import NOWHERE, inherited_ids
from tiltmeter.operators.resolution.pairs import weights_of
from tiltmeter.operators.resolution.problem import Problem, canonical
from tiltmeter.operators.resolution.records.changes import pairs_with, records_of, score_given
from tiltmeter.operators.resolution.records.columns import ID, prepare, rules_of
from tiltmeter.operators.resolution.records.comparison import BITS, DEGREES, IDS
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.solvers import PACKINGS, linked_by
from tiltmeter.storage.errors import Refusal

_NAME, _NUM_NEAR = "the record", 3
_DEGREE = ("field", "degree", "agreement")


class ComparedPair(NamedTuple):
    """The record and another one.

    Attributes:
        agreements: of each field its name, the degree of agreement in words, and the bits that it speaks for a match.
    """

    other: str
    match_probability: float
    prior: float
    agreements: list[tuple[str, str, float]]


class NearMiss(NamedTuple):
    """A cluster with which the record has pairs, and which it would not join.

    Attributes:
        weight: what it would bring: the sum of the weights of these pairs.
        num_forbidden: records of the cluster that it has no scored pair with, where such may not be together.
        closest: the pair with the largest match probability.
    """

    cluster: int
    weight: float
    num_forbidden: int
    closest: ComparedPair


@dataclass(frozen=True)
class Answer:
    """What a run with the record would do.

    Attributes:
        outcome: ``join`` a standing cluster; ``merge`` several standing clusters into its own; ``new``: be alone.
        cluster: id that the record's cluster would have; None for a new one.
        others: the other records of this cluster.
        merged: ids of standing clusters whose records would be in this cluster.
        split: ids of standing clusters whose records would be apart.
        weight: what its pairs with the others add up to.
        closest: its pair with the largest match probability among them.
        near_misses: the clusters with the most likely pairs, at most three.
        has_keys: whether it has all values of some blocking rule, without which it is compared with nothing.
    """

    record: str
    outcome: Literal["join", "merge", "new"]
    cluster: int | None
    others: list[str]
    merged: list[int]
    split: list[int]
    weight: float
    closest: ComparedPair | None
    near_misses: list[NearMiss]
    has_keys: bool

    def __str__(self) -> str:
        """In sentences."""
        name = self.record if self.record == _NAME else quoted(self.record)
        if self.outcome == "new":
            rest = (
                "" if self.has_keys else ": it lacks a value for each blocking rule, so that it is compared with none"
            )
            lines = [f"{name} would be a cluster of its own{rest}."]
        else:
            place = cluster_name(self.cluster or 0, self.others[:5], len(self.others))
            lines = [f"{name} would join cluster {place}: its pairs there add up to {signed(self.weight)}."]
        if len(self.merged) > 1:
            lines.append(f"It would make one of the clusters {listed([str(one) for one in self.merged])}.")
        if self.split:
            lines.append(
                f"It would split {plural(len(self.split), 'cluster')}: {listed([str(one) for one in self.split])}."
            )
        if self.closest:
            lines += ["Its closest pair there:", *_waterfall(self.closest)]
        for miss in self.near_misses:
            num = miss.num_forbidden
            barred = f", but may not: {plural(num, 'pair')} {verb(num, 'have')} no score" if num else ""
            lines.append(
                f"Not cluster {miss.cluster}: it would bring {signed(miss.weight)}{barred}. The closest pair there:"
            )
            lines += _waterfall(miss.closest)
        return "\n".join(lines)


def _waterfall(pair: ComparedPair) -> list[str]:
    rows = [("", "before any field", pair.prior), *pair.agreements]
    wide, wider = (max(map(len, column)) for column in ([row[0] for row in rows], [row[1] for row in rows]))
    bits = (f"  {field:{wide}}  {words:{wider}}  {number(value, 2):>7} bits" for field, words, value in rows)
    return [f"  {quoted(pair.other)}, match probability {number(pair.match_probability, 4)}", *bits]


@dataclass(frozen=True)
class StandingRecords:
    """A run's records, scorer and clusters, opened once for any number of look-ups.

    Attributes:
        scorer, learnt: how pairs are compared, and what that means.
        prepared: the records as the scorer reads them.
        clusters: ``record, id, component``, in the order of the records' ids.
        left, right, weights: ``[pairs]``, places of the records, and weights of the scored pairs.
        settings: by which components are solved.
        least: weight under which a pair counts as never scored.
        next_id: the first id that was not given.
    """

    scorer: Scorer
    learnt: Sequence[pl.DataFrame]
    prepared: pl.DataFrame
    clusters: pl.DataFrame
    left: IntArray
    right: IntArray
    weights: FloatArray
    settings: SolverSettings
    least: float
    next_id: int

    @classmethod
    def of(cls, run: str | Path) -> "StandingRecords":
        """Those of a run directory, in which all is that is needed: the file of records may be gone.

        Raises:
            ConfigError: if it is no run of messy records that succeeded, or has constraints, of which a look-up knows
                nothing.
        """
        place = run_place(str(run), LOOKUP)
        if not (place / "scorer.parquet").exists():
            raise refusal(place, "has no scorer: it is of scored pairs, or of an earlier version", LOOKUP)
        config = yaml.safe_load((place / "config.yaml").read_text(encoding="utf-8"))
        if given := [name for name in CONSTRAINTS if config[name] is not None]:
            raise refusal(place, f"was given {given[0]}, of which a look-up knows nothing", LOOKUP)

        def table(name: str) -> pl.DataFrame:
            return pl.scan_parquet(place / f"{name}.parquet", glob=False).collect()

        scorer = Scorer(**json.loads(table("scorer")["settings"][0]))
        packing = Packing(**{item.name: config[item.name] for item in fields(Packing)})
        solver, least = config["solver"], -math.inf if config["threshold"] is None else config["threshold"]
        settings = SolverSettings(
            solver, config["missing"], config["time_limit"], packing if solver in PACKINGS else None
        )
        clusters, pairs = table("clusters").select("record", "id", "component"), table("scored_pairs")
        weights = weights_of(pairs["match_probability"].to_numpy())
        left, right = (clusters["record"].search_sorted(pairs[end]).to_numpy()[weights >= least] for end in IDS)
        prepared = prepare(records_of(table("record_values"), scorer), scorer)
        learnt, next_id = (
            [table(name) for name in LEARNT if (place / f"{name}.parquet").exists()],
            table("ledger_counts")["next_id"][0],
        )
        return cls(scorer, learnt, prepared, clusters, left, right, weights[weights >= least], settings, least, next_id)

    def lookup(self, record: Mapping[str, Any]) -> Answer:
        """What a run with the record would do, by the same scorer and solver: the components that it touches are solved
        with it. A record whose id is there takes the place of that one.

        Args:
            record: values by columns of the scorer; those that are left out are empty.

        Raises:
            Refusal: for a column that the scorer does not read, or a value that it can't.
        """
        name, new = self._prepared(record)
        pairs, ids = self._pairs(name, new), self.clusters["id"].to_numpy()
        place = int(self.clusters["record"].search_sorted(name))
        itself = np.flatnonzero(self.clusters["record"][place : place + 1] == name) + place
        inside = self._touched(pairs, itself)
        nodes = np.flatnonzero(inside)
        at = int(np.searchsorted(nodes, place))
        cluster = self._solved(inside, place, pairs)
        before = np.insert(ids[nodes], at, ids[itself] if itself.size else NOWHERE)
        later = inherited_ids(before, cluster, self.next_id)[cluster]
        own, now = int(later[at]), ids.copy()
        now[nodes] = np.delete(later, at)
        now[itself] = NOWHERE
        mates = np.flatnonzero(now == own)
        merged = np.unique(ids[mates]).tolist()
        flows = np.unique(np.stack([ids[nodes], now[nodes]]), axis=1)[0]
        near = pairs.with_columns(cluster=pl.Series(now[pairs["place"].to_numpy()]))
        rows = near.filter(cluster=own).head(1).to_dicts()
        keys = [new.select(keys).null_count().sum_horizontal()[0] for keys in rules_of(new)]
        return Answer(
            record=name,
            outcome="merge" if len(merged) > 1 else "join" if merged else "new",
            cluster=own if own < self.next_id else None,
            others=self.clusters["record"].gather(mates).to_list(),
            merged=merged if len(merged) > 1 else [],
            split=np.unique(flows[1:][flows[1:] == flows[:-1]]).tolist(),
            weight=float(near.filter(cluster=own)["weight"].sum()),
            closest=self._compared(rows[0]) if rows else None,
            near_misses=self._near_misses(near.filter(pl.col("cluster") != own), now),
            has_keys=0 in keys,
        )

    def _pairs(self, name: str, new: pl.DataFrame) -> pl.DataFrame:
        """Scored pairs of the record, the most likely first, with ``other``, its ``place``, and ``weight``."""
        every = pl.concat([self.prepared.filter(pl.col(ID) != name), new])
        scored = score_given(every, pairs_with(every, new[ID]), self.scorer, *self.learnt)
        other = pl.when(pl.col(IDS[0]) == name).then(pl.col(IDS[1])).otherwise(pl.col(IDS[0]))
        weight = pl.Series("weight", weights_of(scored["match_probability"].to_numpy()))
        rows = scored.with_columns(weight, other=other).filter(pl.col("weight") >= self.least)
        places = self.clusters["record"].search_sorted(rows["other"]).cast(pl.Int64)
        return rows.with_columns(place=places).sort("match_probability", "other", descending=[True, False])

    def _touched(self, pairs: pl.DataFrame, itself: IntArray) -> BoolArray:
        """``[records]``, which are in a component that the record is linked to, or was in, but for itself."""
        linked = pairs["place"].to_numpy()
        if linked_by(self.settings.solver) == "positive":
            linked = linked[pairs["weight"].to_numpy() > 0.0]
        component = self.clusters["component"].to_numpy()
        inside = np.isin(component, component[np.append(linked, itself)])
        inside[itself] = False
        return inside

    def _solved(self, inside: BoolArray, place: int, pairs: pl.DataFrame) -> IntArray:
        """``[nodes]``, the clusters of the records inside and, in its place among them, of what is looked up."""
        number = np.cumsum(inside) - 1 + (np.arange(inside.size) >= place)
        at = int(inside[:place].sum())
        old, of_new = inside[self.left] & inside[self.right], inside[pairs["place"].to_numpy()]
        others = number[pairs["place"].to_numpy()[of_new]]
        left = np.append(number[self.left[old]], np.minimum(others, at))
        right = np.append(number[self.right[old]], np.maximum(others, at))
        order = np.lexsort((right, left))
        weights = np.append(self.weights[old], pairs["weight"].to_numpy()[of_new])
        graph, linked = (left[order], right[order], weights[order]), linked_by(self.settings.solver)
        parts = components.divided(components.numbered_components(int(inside.sum()) + 1, *graph, linked), *graph)
        labels = np.zeros(parts.component.size, dtype=np.int64)
        for one, (first, last) in enumerate(pairwise(parts.starts)):
            left, right = parts.left[first:last], parts.right[first:last]
            problem = Problem(int(parts.sizes[one]), left, right, parts.weights[first:last], self.settings.missing)
            nodes = np.flatnonzero(parts.component == one)
            labels[nodes] = solve_in_time(problem, None, self.settings)[0].labels + one * labels.size
        return canonical(labels)

    def _near_misses(self, pairs: pl.DataFrame, now: IntArray) -> list[NearMiss]:
        misses = []
        for cluster in pairs["cluster"].unique(maintain_order=True).head(_NUM_NEAR):
            rows = pairs.filter(cluster=cluster)
            unlisted = int((now == cluster).sum()) - rows.height if self.settings.missing == "forbid" else 0
            misses.append(
                NearMiss(cluster, float(rows["weight"].sum()), unlisted, self._compared(rows.row(0, named=True)))
            )
        return misses

    def _compared(self, row: Mapping[str, Any]) -> ComparedPair:
        known = {(field, degree): words for field, degree, words in self.learnt[0].select(*_DEGREE).iter_rows()}
        agreements = [
            (field, known.get((field, row[f"{DEGREES}f{place}"]), "a value is missing"), row[f"{BITS}f{place}"])
            for place, field in enumerate(self.scorer.fields)
        ]
        prior = self.learnt[0]["prior"][0]
        return ComparedPair(row["other"], row["match_probability"], math.log2(prior / (1.0 - prior)), agreements)

    def _prepared(self, record: Mapping[str, Any]) -> tuple[str, pl.DataFrame]:
        columns = self.scorer.columns
        if unknown := [name for name in record if name not in columns]:
            raise Refusal(f"{unknown[0]!r} is no column of the scorer: it reads {', '.join(map(repr, columns))}")
        given = {name: record.get(name) for name in columns}
        if given[self.scorer.id] is None:
            given[self.scorer.id] = _NAME
        try:
            row = pl.DataFrame([as_text(pl.Series(name, [value])) for name, value in given.items()])
            new = prepare(row, self.scorer)
        except (TypeError, ValueError) as error:
            raise Refusal(f"the record can't be looked up: {error}") from error
        return new[ID][0], new


def lookup_words(words: Sequence[str]) -> Answer:
    """What ``tiltmeter lookup <run directory> <record>`` asks for.

    Args:
        words: the run directory, and the record as JSON, the name of a file with it, ``-`` for the standard input, or
            its values as ``column=value``.

    Raises:
        Refusal: if there is no record, or it is no JSON of values by column.
    """
    if len(words) < 2:
        raise Refusal(f"{LOOKUP}: needs a run directory and a record, as in {LOOKUP} resolved name='Ann Abel'")
    run, *rest = words
    if all("=" in word and not word.startswith("{") for word in rest):
        return StandingRecords.of(run).lookup(dict(word.split("=", 1) for word in rest))
    if len(rest) > 1:
        raise Refusal(f"{LOOKUP}: {rest[1]!r} is no column=value; give one record")
    try:
        text = sys.stdin.read() if rest[0] == "-" else rest[0]
        record = json.loads(text if text.lstrip().startswith("{") else Path(text).expanduser().read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Refusal(f"{LOOKUP}: {rest[0]!r} is no record: neither JSON nor a file with it ({error})") from error
    if not isinstance(record, dict):
        raise Refusal(f"{LOOKUP}: {rest[0]!r} is no record: must be one object, values by column")
    return StandingRecords.of(run).lookup(record)

"""One record and a run: which cluster it would join, that it would be new, or which clusters it would make one."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import yaml

from tiltmeter.jobs.report.wording import listed, number, plural, quoted, verb
from tiltmeter.jobs.resolution.config import CONSTRAINTS
from tiltmeter.jobs.resolution.extracts import cluster_name, signed
from tiltmeter.jobs.resolution.partitions import SolverSettings, solve_in_time
from tiltmeter.jobs.resolution.previous import LOOKUP, refusal, run_place
from tiltmeter.jobs.resolution.records.calibration import taken_calibration
from tiltmeter.jobs.resolution.records.night import LEARNT
from tiltmeter.jobs.resolution.tables import Calibrations
from tiltmeter.jobs.runtime.settings.extras import check_job
from tiltmeter.operators.compute.arrays import IntArray
from tiltmeter.operators.resolution.baselines.packing import Packing
from tiltmeter.operators.resolution.lineage import NOWHERE, inherited_ids
from tiltmeter.operators.resolution.pairs import clean_pairs, weights_of
from tiltmeter.operators.resolution.problem import Problem
from tiltmeter.operators.resolution.records.calibration import CLIP, Calibration, calibrated_pairs
from tiltmeter.operators.resolution.records.changes import pairs_with, prepared_of, score_given
from tiltmeter.operators.resolution.records.columns import FILE, ID, ORIGIN, prepare, rules_of
from tiltmeter.operators.resolution.records.comparison import BITS, DEGREES, IDS
from tiltmeter.operators.resolution.records.gaps import find_gaps, score_gaps
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.solvers import PACKINGS, linked_by
from tiltmeter.storage.errors import Refusal, choices

_NAME, _NUM_NEAR, _NUM_MEMBERS = "The record", 3, 5
_SHARE = "match_probability"
_NO_PAIRS = pl.DataFrame(schema={**dict.fromkeys(IDS, pl.String), _SHARE: pl.Float64})
_TABLES = ("scorer", "record_contents", "clusters", "scored_pairs", "gap_pairs", "ledger_counts")


class ClosestPair(NamedTuple):
    """The most likely pair of the record with one of a cluster.

    Attributes:
        bits: what speaks for a match: the prior, and each field with its degree of agreement in words.
    """

    other: str
    match_probability: float
    bits: list[tuple[str, str, float]]


class NearMiss(NamedTuple):
    """A cluster with which the record has scored pairs, and which it would not join.

    Attributes:
        weight: the sum of their weights, which it would bring.
        num_forbidden: records of the cluster with which it has none, where such may not be together.
    """

    cluster: int
    weight: float
    num_forbidden: int
    closest: ClosestPair


@dataclass(frozen=True)
class Answer:
    """What a run with the record would do.

    Attributes:
        cluster: id of the cluster that it would join; None: it would be one of its own.
        others: the records of this cluster.
        merged: ids of standing clusters of which these records are, if they are of several.
        split: ids of standing clusters that would not be whole any more.
        weight: what its pairs with the others add up to.
        near_misses: at most three, those with the most likely pairs.
        has_keys: whether it has all values of some blocking rule, without which it is compared with nothing.
    """

    record: str
    cluster: int | None
    others: list[str]
    merged: list[int]
    split: list[int]
    weight: float
    closest: ClosestPair | None
    near_misses: list[NearMiss]
    has_keys: bool

    def __str__(self) -> str:
        """In sentences, with the bits of the closest pairs."""
        name = self.record if self.record == _NAME else quoted(self.record)
        if self.cluster is None:
            lines = [f"{name} would be a cluster of its own."]
            lines += [] if self.has_keys else ["It has not all values of any blocking rule: it is compared with none."]
        else:
            cluster = cluster_name(self.cluster, self.others[:_NUM_MEMBERS], len(self.others))
            lines = [f"{name} would join cluster {cluster}, and its pairs there add up to {signed(self.weight)}."]
        if self.merged:
            lines.append(f"It would merge the clusters {listed([str(one) for one in self.merged])}.")
        if self.split:
            lines.append(f"It would split clusters: {listed([str(one) for one in self.split])}.")
        for miss in self.near_misses:
            num = miss.num_forbidden
            reason = f", but may not: {plural(num, 'pair')} {verb(num, 'have')} no score" if num else ""
            lines.append(f"It would not join cluster {miss.cluster}: it would bring {signed(miss.weight)}{reason}.")
        for pair in [*([self.closest] if self.closest else []), *(miss.closest for miss in self.near_misses)]:
            lines.append(f"{quoted(pair.other)}: match probability {number(pair.match_probability, 4)}")
            lines += (f"  {number(value, 2):>7} bits  {field}: {words}" for field, words, value in pair.bits)
        return "\n".join(lines)


@dataclass(frozen=True)
class StandingRecords:
    """A run's records, scorer and clusters, opened once for any number of look-ups.

    Attributes:
        scorer, learnt: how pairs are compared, and what that means.
        prepared: the records as the scorer reads them.
        clusters: ``record, id, component``.
        pairs: ``left, right, match_probability``, all scored ones.
        settings, threshold: by which components are solved.
        next_id: the first id that was not given.
        most: records of a component, at most, within which all pairs are scored; None: those that rules propose.
        gap_pairs: ``left, right, match_probability`` of those that no rule proposes, before any calibration.
        calibration: what makes probabilities of scores.
    """

    scorer: Scorer
    learnt: Sequence[pl.DataFrame]
    prepared: pl.DataFrame
    clusters: pl.DataFrame
    pairs: pl.DataFrame
    settings: SolverSettings
    threshold: float | None
    next_id: int
    most: int | None
    gap_pairs: pl.DataFrame
    calibration: Calibration | None = None

    @classmethod
    def of(cls, run: str | Path) -> "StandingRecords":
        """Those of a run directory, which has all that is needed: the file of records may be another by now.

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
        paths = {name: place / f"{name}.parquet" for name in (*_TABLES, *(one.table_name for one in LEARNT))}
        tables = {name: pl.scan_parquet(path, glob=False).collect() for name, path in paths.items() if path.exists()}
        scorer = Scorer(**json.loads(tables["scorer"]["settings"][0]))
        packing = Packing(config["engine"], config["max_parts"], config["max_cliques"], config["max_constraints"])
        used = packing if config["solver"] in PACKINGS else None
        contents = tables["record_contents"]
        has_file = '"origin":' in contents["content"][0]
        blank = dict.fromkeys([*scorer.columns, *([FILE] if has_file else [])], "")
        scored, fit = tables["scored_pairs"], None
        if scorer.calibration:
            fit = taken_calibration(pl.read_parquet(place / f"{Calibrations.table_name}.parquet"))
            scored = calibrated_pairs(scored, fit, scorer.threshold).drop("score")
        return cls(
            scorer,
            [tables[one.table_name] for one in LEARNT if one.table_name in tables],
            prepared_of(contents, prepare(pl.DataFrame(blank), scorer).schema),
            tables["clusters"].select("record", "id", "component"),
            scored,
            SolverSettings(config["solver"], config["missing"], config["time_limit"], used),
            config["threshold"],
            tables["ledger_counts"]["next_id"][0],
            config["records"].get("within"),
            tables.get("gap_pairs", _NO_PAIRS),
            fit,
        )

    def lookup(self, record: Mapping[str, Any]) -> Answer:
        """What a run with one more record would do: it is solved with the components that it is linked to.

        Args:
            record: values by columns that the scorer reads; those that are left out are empty.

        Raises:
            Refusal: for another column, a value that can't be read, and an id that is there.
        """
        new = self._prepared(record)
        name = new[ID][0]
        every = pl.concat([self.prepared, new])
        proposed = score_given(every, self.scorer, pairs_with(every, new[ID]), *self.learnt)
        scored = self._of_record(name, self._taken(proposed))
        is_linked = pl.lit(linked_by(self.settings.solver) == "scored") | (pl.col("weight") > 0.0)
        touched = pl.col("component").is_in(scored.filter(is_linked)["component"].implode())
        both = [self.clusters.filter(touched), pl.DataFrame({"record": name})]
        records = pl.concat(both, how="diagonal").sort("record")
        ends = (pl.col(end).is_in(records["record"].implode()) for end in IDS)
        pairs = pl.concat([self.pairs.filter(*ends), scored.filter(touched)], how="diagonal")
        more = self._gaps(every.filter(pl.col(ID).is_in(records["record"].implode())), pairs)
        scored = pl.concat([scored, self._of_record(name, more)], how="diagonal_relaxed")
        labels = self._solved(records["record"], pl.concat([pairs, more], how="diagonal_relaxed"))
        later = inherited_ids(records["id"].fill_null(NOWHERE).to_numpy(), labels, self.next_id)
        records = records.with_columns(after=pl.Series(later[labels]))
        home = records.filter(record=name)["after"][0]
        mates = records.filter(pl.col("after") == home, pl.col("record") != name)
        others = self.clusters.filter(~touched).select("record", after="id")
        now = pl.concat([others, records.select("record", "after")])
        near = scored.join(now, on="record").sort("match_probability", "record", descending=[True, False])
        merged = mates["id"].unique().sort().to_list()
        flows = records.drop_nulls("id").group_by("id").agg(pl.col("after").n_unique()).filter(pl.col("after") > 1)
        inside, outside = near.filter(after=home), near.filter(pl.col("after") != home)
        return Answer(
            record=name,
            cluster=home if mates.height else None,
            others=mates["record"].to_list(),
            merged=merged if len(merged) > 1 else [],
            split=flows["id"].sort().to_list(),
            weight=float(inside["weight"].sum()),
            closest=self._closest(inside) if inside.height else None,
            near_misses=[
                self._near_miss(outside.filter(after=cluster), now)
                for cluster in outside["after"].unique(maintain_order=True).head(_NUM_NEAR)
            ],
            has_keys=any(all(new[key].is_not_null().all() for key in keys) for keys in rules_of(new)),
        )

    def _taken(self, scored: pl.DataFrame) -> pl.DataFrame:
        """What is taken of scored pairs, with its probabilities."""
        if self.calibration is None:
            return scored.filter(pl.col(_SHARE) >= self.scorer.threshold)
        return calibrated_pairs(scored, self.calibration, self.scorer.threshold)

    def _gaps(self, prepared: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
        """Pairs of some records that no rule proposes, as a run has them."""
        if self.most is None:
            return _NO_PAIRS
        wanted = find_gaps(prepared, pairs, self.most, self.threshold).pairs
        return self._taken(score_gaps(prepared, self.scorer, wanted, self.gap_pairs, self.learnt))

    def _of_record(self, name: str, pairs: pl.DataFrame) -> pl.DataFrame:
        """Of pairs, those of a new record: the weight of each, the other record, and where that is."""
        other = pl.when(pl.col(IDS[0]) == name).then(pl.col(IDS[1])).otherwise(pl.col(IDS[0]))
        mine = pairs.filter(pl.any_horizontal(pl.col(*IDS) == name))
        mine = mine.with_columns(pl.Series("weight", weights_of(mine[_SHARE].to_numpy())), record=other)
        least = -math.inf if self.threshold is None else self.threshold
        return mine.filter(pl.col("weight") >= least).join(self.clusters, on="record", how="left")

    def _solved(self, records: pl.Series, pairs: pl.DataFrame) -> IntArray:
        """``[records]``, the cluster of each."""
        left, right = (records.search_sorted(pairs[end]).to_numpy() for end in IDS)
        clean = clean_pairs(left, right, weights_of(pairs[_SHARE].to_numpy()), self.threshold)
        numbers = clean.left.astype(np.int64), clean.right.astype(np.int64)
        problem = Problem(records.len(), *numbers, clean.weights, self.settings.missing)
        return solve_in_time(problem, None, self.settings)[0].labels

    def _near_miss(self, pairs: pl.DataFrame, now: pl.DataFrame) -> NearMiss:
        cluster = pairs["after"][0]
        unlisted = now.filter(after=cluster).height - pairs.height if self.settings.missing == "forbid" else 0
        return NearMiss(cluster, float(pairs["weight"].sum()), unlisted, self._closest(pairs))

    def _closest(self, pairs: pl.DataFrame) -> ClosestPair:
        """The first of some pairs."""
        pair, agreements = pairs.row(0, named=True), self.learnt[0]
        words = {row[:2]: row[2] for row in agreements.select("field", "degree", "agreement").rows()}
        prior = agreements["prior"][0]
        bits = [("prior", "of any pair that is compared", math.log2(prior / (1.0 - prior)))]
        for place, field in enumerate(self.scorer.fields):
            agreement = words.get((field, pair[f"{DEGREES}f{place}"]), "a value is missing")
            bits.append((field, agreement, pair[f"{BITS}f{place}"]))
        if "score" in pair:
            p = np.clip([pair["score"], pair[_SHARE]], CLIP, 1.0 - CLIP)
            bits.append(("calibration", str(self.scorer.calibration), float(np.diff(np.log2(p / (1.0 - p)))[0])))
        return ClosestPair(pair["record"], pair["match_probability"], bits)

    def _prepared(self, record: Mapping[str, Any]) -> pl.DataFrame:
        columns = [*self.scorer.columns, *([FILE] if ORIGIN in self.prepared.columns else [])]
        if unknown := [name for name in record if name not in columns]:
            raise Refusal(
                f"{unknown[0]!r} is no column that the scorer reads: these are {choices(unknown[0], columns)}"
            )
        given = {name: record.get(name) for name in columns}
        if given[self.scorer.id] is None:
            given[self.scorer.id] = _NAME
        try:
            new = prepare(pl.DataFrame({name: [value] for name, value in given.items()}), self.scorer)
            sizes = {name: kind.size for name, kind in self.prepared.schema.items() if isinstance(kind, pl.Array)}
            new = new.with_columns(pl.col(name).arr.to_list().list.to_array(size) for name, size in sizes.items())
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise Refusal(f"the record can't be compared: {error}") from error
        if new[ID][0] in self.clusters["record"]:
            raise Refusal(f"{self.scorer.id}={new[ID][0]!r} is the id of a record that is there; leave it out")
        return new


def lookup_words(words: Sequence[str]) -> Answer:
    """What ``tiltmeter lookup <run directory> <record>`` asks for.

    Args:
        words: the run directory, and the record: as JSON, a file with it, ``-`` for the standard input, or its values
            as ``column=value``.

    Raises:
        Refusal: if there is no record, or it is no JSON of values by column; if packages that score it are absent.
    """
    check_job("entity_resolution", ["resolution"])
    run, *rest = words or [""]
    if not rest:
        raise Refusal(f"{LOOKUP}: needs a run directory and a record, as in {LOOKUP} resolved 'name=Ann Abel'")
    if all("=" in word and word[0] != "{" for word in rest):
        return StandingRecords.of(run).lookup(dict(word.split("=", 1) for word in rest))
    [text, *more] = rest
    try:
        content = sys.stdin.read() if text == "-" else text if text[:1] == "{" else Path(text).read_text("utf-8")
        record = json.loads(content)
    except (OSError, ValueError) as error:
        raise Refusal(f"{LOOKUP}: {text!r} is neither JSON nor a file with it: {error}") from error
    if more or not isinstance(record, dict):
        raise Refusal(f"{LOOKUP}: {(more or [text])[0]!r} is not a record's values by column; give one record")
    return StandingRecords.of(run).lookup(record)

"""The graphs of a run: scored pairs of a file, or synthetic ones of a study."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.config import MentionStudy, ResolutionRun
from tiltmeter.jobs.resolution.tables import PairCounts
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution import pairs as scored_pairs
from tiltmeter.operators.resolution import synthetic
from tiltmeter.operators.resolution.ids import as_ids, as_text, different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import ScoredPairs, clean_pairs, weights_of
from tiltmeter.operators.resolution.problem import Missing
from tiltmeter.operators.resolution.records.columns import FILE
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, numbers, read_records, record_columns
from tiltmeter.storage.records.cells import GIVEN, NEEDED, NO_RULES, NUMBER, Rule, Rules, between, one_of
from tiltmeter.storage.store.ledger import Store, TableRef

Resolution = Run[ResolutionRun, Files]

Graph = Mapping[str, TableRef]
"""What units have made of a graph so far: tables by name."""

Identity = Mapping[str, Any]
"""What :attr:`FoundFile.identity` says of a file."""

WEIGHT, PROBABILITY, DOCUMENT = "weight", "match_probability", "document"
"""Columns that a file may have or not."""

ENDS = ("left", "right")
END_RULES: Rules = dict.fromkeys(ENDS, (NEEDED,))
GOLD_RULES: Rules = dict.fromkeys(("record", "cluster"), (GIVEN,))
_TRUTH = one_of(["true", "false", "yes", "no", "1", "0"])
LABELLED_RULES: Rules = {
    **END_RULES,
    "is_match": [NEEDED, Rule(_TRUTH.reason, lambda cells: _TRUTH.breaks(cells.cast(pl.String).str.to_lowercase()))],
}
MENTION_RULES: Rules = dict.fromkeys(("topic", "mention_id", "mention_class", "chain_id"), (NEEDED,))

_ROUNDING = 1e-6
"""By which weights may differ from those of the probabilities beside them: as of numbers with six digits."""


class ReadGraph(Work, stage="read pairs", makes=[PairCounts]):
    """A graph, whose name is that of its group."""

    threshold: float | None
    missing: Missing

    def graph_tables(self, ids: pl.Series, pairs: ScoredPairs, gold: pl.Series | None) -> Tables:
        """Tables ``records`` by their numbers, ``pairs``, ``pair_counts``, and ``gold`` if there are true clusters.

        Args:
            ids: of the records, in the order of their numbers.
            gold: true cluster of each record, null where it is not known; None if there is no gold.
        """
        yield "records", pa.table({"record": ids.to_arrow().cast(pa.string())})
        yield "pairs", pa.table({"left": pairs.left, "right": pairs.right, "weight": pairs.weights})
        if gold is not None:
            yield "gold", pa.table({"cluster": gold.to_arrow()})
        counts = PairCounts(
            graph=self.group,
            num_records=ids.len(),
            num_pairs=pairs.left.size,
            num_self_pairs=pairs.num_self,
            num_repeated=pairs.num_repeated,
            num_contradicting=pairs.num_contradicting,
            num_below_threshold=pairs.num_below,
            missing=self.missing,
            threshold=self.threshold,
        )
        yield from tables_of([counts], [PairCounts])


def pair_columns(pairs: pa.Table) -> tuple[IntArray, IntArray, FloatArray]:
    """Numbers of both records, in 64 bits for what reckons with them, and weights, of a graph's table of pairs."""
    left, right = (pairs[end].to_numpy().astype(np.int64, copy=False) for end in ENDS)
    return left, right, pairs["weight"].to_numpy()


# --- cells and ids of files -----------------------------------------------------------------------------------------


def record_rules(id_: str) -> Rules:
    """Of a file of records, by its column of ids."""
    return {id_: [NEEDED]}


def pair_rules(scores: Sequence[str]) -> Rules:
    """Of a file of pairs, by its columns of scores."""
    kinds = {WEIGHT: NUMBER, PROBABILITY: between(0, 1)}
    return {**END_RULES, **{name: [NEEDED, kinds[name]] for name in scores}}


def optional_columns(uri: str, names: Sequence[str], setting: str) -> list[str]:
    """Those of the columns that a file has.

    Raises:
        InputError: if it has one of them twice.
    """
    there = record_columns(uri)
    chosen = [name for name in names if name in there]
    check_columns(uri, chosen, setting)
    return chosen


def score_columns(uri: str) -> list[str]:
    """Which of the columns of weights and of probabilities a file of pairs has.

    Raises:
        InputError: if it has neither, or one of them twice.
    """
    columns = optional_columns(uri, (WEIGHT, PROBABILITY), "pairs")
    if not columns:
        raise InputError(f"pairs: {redacted(uri)} has no column {WEIGHT!r} or {PROBABILITY!r}")
    return columns


def labelled_rules(uri: str) -> Rules:
    """Of a file of labelled pairs, which may say how many each stands for."""
    weights = optional_columns(uri, [WEIGHT], "records.labelled")
    return {**LABELLED_RULES, **dict.fromkeys(weights, (NEEDED, between(1e-9, 1e9)))}


def read_labelled(uri: str) -> pl.DataFrame:
    """Labelled pairs of a file."""
    rules = labelled_rules(uri)
    rows = read_records(uri, [*rules], rules=rules)
    return rows.with_columns(numbers(rows, WEIGHT)) if WEIGHT in rules else rows


@contextmanager
def refused(where: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


SOURCES = ("records", "second")
"""The files of messy records: one, or two."""


def files_of(files: Mapping[str, Identity], first: str = SOURCES[0]) -> list[str]:
    """Where the records are: in one file, or in two."""
    return [files[name]["uri"] for name in (first, SOURCES[1]) if name in files]


def read_sources(uris: Sequence[str], columns: Sequence[str] | None = None, rules: Rules = NO_RULES) -> pl.DataFrame:
    """The records of a file, or of two with the column ``source_file`` for which of them each is from.

    Raises:
        InputError: if one can't be read.
    """
    needed = None if columns is None else [name for name in columns if len(uris) == 1 or name != FILE]
    parts = [read_records(uri, needed, rules=rules) for uri in uris]
    if len(parts) == 1:
        return parts[0]
    unlike = {name for name in parts[0].columns if name in parts[1].columns and len({p[name].dtype for p in parts}) > 1}
    named = [
        part.with_columns(*(as_text(part[name]) for name in unlike), pl.lit(file).alias(FILE))
        for part, file in zip(parts, ("first", "second"), strict=True)
    ]
    return pl.concat(named, how="diagonal")


def read_ids(uri: str | Sequence[str], columns: Sequence[str], setting: str, rules: Rules) -> pl.DataFrame:
    """Columns of ids as text, of a file or of two.

    Raises:
        InputError: if one can't be read.
    """
    uris = [uri] if isinstance(uri, str) else uri
    rows = read_sources(uris, [*dict.fromkeys([*columns, *rules])], rules)
    with refused(f"{setting}={redacted(uris[0])}"):
        return pl.DataFrame([as_ids(rows[name]) for name in columns])


# --- scored pairs of a file -----------------------------------------------------------------------------------------


class ReadPairs(ReadGraph, unit=scored_pairs.VERSION):
    """The graph of a file of scored pairs; ``files`` are ``pairs`` and, if there is one, ``gold``."""

    files: Mapping[str, Identity]

    def tables(self, _: Store) -> Tables:
        """Of the graph.

        Raises:
            InputError: naming the row that can't be used.
        """
        uri = self.files["pairs"]["uri"]
        where, columns = f"pairs={redacted(uri)}", score_columns(uri)
        rows = read_records(uri, [*ENDS, *columns], rules=pair_rules(columns))
        weights = _agreed([_weights(rows, column) for column in columns], where)
        ends = _ends(rows, where)
        different = different_ids(ends)
        gold = read_gold(self.files["gold"]["uri"], as_ids(different)) if "gold" in self.files else None
        ids, [left, right] = numbered_ids(different, ends, [] if gold is None else [gold["record"]])
        del rows, ends
        with refused(where):
            pairs = clean_pairs(left, right, weights, self.threshold)
        return self.graph_tables(ids, pairs, None if gold is None else gold_of(ids, gold))


def _ends(rows: pl.DataFrame, where: str) -> list[pl.Series]:
    """The ids of the pairs' records, as text if they are no whole numbers."""
    kinds = [rows[end].dtype for end in ENDS]
    if sorted((kind.is_integer(), kind.is_float()) for kind in kinds) == [(False, True), (True, False)]:
        raise InputError(
            f"{where}: left is {kinds[0]} and right is {kinds[1]}, so that 1 and 1.0 would be two records; give both "
            "one type"
        )
    with refused(where):
        return [rows[end] if kinds[0] == kinds[1] and kinds[0].is_integer() else as_ids(rows[end]) for end in ENDS]


def _agreed(scores: Sequence[FloatArray], where: str) -> FloatArray:
    """The weights, if whatever else a file says of its pairs is the same."""
    weights, *others = scores
    for other in others:
        if (apart := np.abs(weights - other) > _ROUNDING).any():
            row = int(apart.argmax())
            raise InputError(
                f"{where}: row {row + 1} has {WEIGHT} {weights[row]:g}, and a {PROBABILITY} by which it would be "
                f"{other[row]:g} (2 p - 1); leave one of the columns out"
            )
    return weights


def _weights(rows: pl.DataFrame, column: str) -> FloatArray:
    scores = rows[column] if rows[column].dtype.is_float() else numbers(rows, column)
    values = scores.to_numpy()
    return weights_of(values) if column == PROBABILITY else values.astype(np.float64, copy=False)


def read_gold(uri: str, known: pl.Series) -> pl.DataFrame:
    """True clusters, ``record, cluster``.

    Args:
        known: ids of records, of which there must be one at least.

    Raises:
        InputError: if there is none, or a record is in several clusters.
    """
    where, named = f"gold={redacted(uri)}", read_ids(uri, [*GOLD_RULES], "gold", GOLD_RULES).drop_nulls()
    gold = named.with_columns(pl.col("cluster").rank("dense").cast(pl.Int64)).unique(maintain_order=True)
    if gold["record"].n_unique() < gold.height:
        twice = gold.filter(pl.col("record").is_duplicated())["record"][0]
        raise InputError(f"{where}: the record {twice!r} is in several clusters; give each record one row")
    if not gold["record"].is_in(known.unique().implode()).any():
        raise InputError(f"{where}: has none of the records of the pairs: are their ids written alike?")
    return gold


def gold_of(ids: pl.Series, gold: pl.DataFrame) -> pl.Series:
    return ids.to_frame("record").join(gold, on="record", how="left", maintain_order="left")["cluster"]


# --- a study on mentions --------------------------------------------------------------------------------------------


class DrawScores(ReadGraph, unit=synthetic.VERSION):
    """The graph of mentions of one topic and class, ``part``, with scores of a mean, an sd and a seed."""

    file: Identity
    part: tuple[str, str]
    scores: tuple[float, float, int]
    cleaning: str = scored_pairs.VERSION

    def tables(self, _: Store) -> Tables:
        """Of the graph.

        Raises:
            InputError: if a mention comes twice.
        """
        mentions = _mentions(self.file["uri"], *self.part)
        scored = synthetic.synthetic_scores(mentions["chain_id"].to_list(), *self.scores, " ".join(self.part))
        gold = mentions["chain_id"].rank("dense").cast(pl.Int64)
        return self.graph_tables(mentions["record"], clean_pairs(*scored, self.threshold), gold)


def study_graphs(config: ResolutionRun, study: MentionStudy, file: FoundFile) -> list[ReadGraph]:
    """One for each topic, class, seed and threshold.

    Raises:
        InputError: if there is none, or two have one name.
    """
    works: dict[str, ReadGraph] = {}
    for part, seed, threshold in product(_parts(study, file), study.seeds, study.thresholds):
        about = "topic {} {}".format(*part)
        name = f"{about}, seed {seed}, {'all pairs' if threshold is None else f'T {_exact(threshold)}'}"
        if name in works:
            raise InputError(f"mentions: {about!r} names two graphs of {redacted(file.uri)}; rename a topic")
        works[name] = DrawScores(
            label=name,
            group=name,
            file=file.identity,
            part=part,
            scores=(study.mean, study.sd, seed),
            threshold=threshold,
            missing=config.missing,
        )
    return list(works.values())


def _exact(threshold: float) -> str:
    """With six digits, unless these are of another number.

    >>> _exact(-0.3), _exact(-0.30000001)
    ('-0.3', '-0.30000001')
    """
    short = f"{threshold:g}"
    return short if float(short) == threshold else repr(threshold)


def _parts(study: MentionStudy, file: FoundFile) -> list[tuple[str, str]]:
    """Topics and classes with at least two mentions."""
    rows = read_ids(file.uri, ["topic", "mention_class"], "mentions", MENTION_RULES).drop_nulls()
    counts = rows.group_by("topic", "mention_class").len().filter(pl.col("len") > 1)
    for column, chosen in (("topic", study.topics), ("mention_class", study.classes)):
        if chosen is not None:
            if unknown := [name for name in chosen if name not in rows[column]]:
                raise InputError(f"mentions: {redacted(file.uri)} has no {column} {', '.join(unknown)}")
            counts = counts.filter(pl.col(column).is_in(chosen))
    if counts.is_empty():
        raise InputError(f"mentions: {redacted(file.uri)} has no two mentions of one topic and class to be compared")
    return [(topic, kind) for topic, kind, _ in counts.sort("topic", "mention_class").rows()]


def _mentions(uri: str, topic: str, kind: str) -> pl.DataFrame:
    """Columns ``record, chain_id``; an id need only be unique within its document, where the file tells documents."""
    names = [*optional_columns(uri, [DOCUMENT], "mentions.path"), "mention_id"]
    rows = read_ids(uri, [*dict.fromkeys([*MENTION_RULES, *names])], "mentions", MENTION_RULES).drop_nulls()
    mentions = rows.filter(topic=topic, mention_class=kind).sort(*reversed(names))
    records = mentions.select(pl.concat_str(names, separator="/").alias("record"), "chain_id")
    if repeated := records.filter(pl.col("record").is_duplicated())["record"].unique(maintain_order=True).to_list():
        raise InputError(
            f"mentions: {redacted(uri)} has {len(repeated)} ids twice in topic {topic} {kind}, such as {repeated[0]}; "
            "if they are unique within a document only, add a column 'document'"
        )
    return records

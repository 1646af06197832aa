"""The graphs of a run: scored pairs from a file, or synthetic ones of a study, with their records numbered."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.cells import DOCUMENT, GOLD_RULES, MENTION_RULES, PROBABILITY, WEIGHT, pair_rules
from tiltmeter.jobs.resolution.config import MentionStudy, ResolutionRun
from tiltmeter.jobs.resolution.sources import optional_columns, score_columns
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.resolution import pairs as scored_pairs
from tiltmeter.operators.resolution import synthetic as synthetic_scores
from tiltmeter.operators.resolution.ids import as_ids, different_ids, numbered_ids
from tiltmeter.operators.resolution.pairs import ScoredPairs, clean_pairs, weights_of
from tiltmeter.operators.resolution.synthetic import synthetic_scores as scores_of
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import numbers, read_records
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_ENDS = ("left", "right")

_ROUNDING = 1e-6
"""By which weights may differ from those of the probabilities beside them: as of numbers with six digits."""

_CHAIN = ("topic", "mention_id", "mention_class", "chain_id")


@dataclass(frozen=True)
class Graph:
    """One graph of scored pairs.

    Attributes:
        records: table ``record``, by its number.
        pairs: table ``left, right, weight``.
        counts: table ``pair_counts``.
        gold: table ``cluster`` of each record by its number, null for one that is not in it; None without gold.
        groups: table ``group`` of each record by its number, equal for those that have to be one; None for no such.
    """

    records: TableRef
    pairs: TableRef
    counts: TableRef
    gold: TableRef | None
    groups: TableRef | None = None


def read_graphs(runner: Runner, config: ResolutionRun, files: Mapping[str, FoundFile]) -> dict[str, Graph]:
    """The graphs by name; those that can't be read are missing.

    Raises:
        UnitsFailed: if none can.
    """
    units = (
        _study_units(config, config.mentions, files["mentions"])
        if config.mentions
        else {"pairs": [_file_unit(config, files)]}
    )
    done = runner.run_whole(Stage("read pairs", each(_read), units, None))
    return {name: graph_of(finished) for name, [finished] in done.items()}


def graph_of(finished: Finished) -> Graph:
    """The graph whose tables a unit has made with :func:`graph_tables`."""
    refs = finished.tables
    return Graph(refs["records"], refs["pairs"], refs["pair_counts"], refs.get("gold"))


def pair_columns(pairs: pa.Table) -> tuple[IntArray, IntArray, FloatArray]:
    """Numbers of both records, in 64 bits for what reckons with them, and weights, of a graph's table of pairs."""
    left, right = (pairs[end].to_numpy().astype(np.int64, copy=False) for end in _ENDS)
    return left, right, pairs["weight"].to_numpy()


def _file_unit(config: ResolutionRun, files: Mapping[str, FoundFile]) -> Unit:
    settings = {
        "files": {name: files[name].identity for name in ("pairs", "gold") if name in files},
        "threshold": config.threshold,
        "missing": config.missing,
    }
    return Unit(scored_pairs.VERSION, redacted(files["pairs"].uri), settings)


def _study_units(config: ResolutionRun, study: MentionStudy, file: FoundFile) -> dict[str, list[Unit]]:
    """A graph for each topic, class, seed and threshold."""
    units = {}
    for topic, kind in _parts(study, file):
        about = f"topic {topic} {kind}"
        for seed in study.seeds:
            for threshold in study.thresholds:
                scored = "all pairs" if threshold is None else f"T {_exact(threshold)}"
                name = f"{about}, seed {seed}, {scored}"
                if name in units:
                    raise InputError(f"mentions: {about!r} names two graphs of {redacted(file.uri)}; rename a topic")
                settings = {
                    "file": file.identity,
                    "part": [topic, kind],
                    "scores": [study.mean, study.sd, seed],
                    "threshold": threshold,
                    "missing": config.missing,
                    "cleaning": scored_pairs.VERSION,
                }
                units[name] = [Unit(synthetic_scores.VERSION, name, settings)]
    return units


def _exact(threshold: float) -> str:
    """With six digits, unless these are of another number.

    >>> _exact(-0.3), _exact(-0.30000001)
    ('-0.3', '-0.30000001')
    """
    short = f"{threshold:g}"
    return short if float(short) == threshold else repr(threshold)


def _parts(study: MentionStudy, file: FoundFile) -> list[tuple[str, str]]:
    """Topics and classes with at least two mentions."""
    rows = _ids(file.uri, ["topic", "mention_class"], "mentions")
    counts = rows.group_by("topic", "mention_class").len().filter(pl.col("len") > 1)
    for column, chosen in (("topic", study.topics), ("mention_class", study.classes)):
        if chosen is not None:
            if unknown := [name for name in chosen if name not in rows[column]]:
                raise InputError(f"mentions: {redacted(file.uri)} has no {column} {', '.join(unknown)}")
            counts = counts.filter(pl.col(column).is_in(chosen))
    if counts.is_empty():
        raise InputError(f"mentions: {redacted(file.uri)} has no two mentions of one topic and class to be compared")
    return [(topic, kind) for topic, kind, _ in counts.sort("topic", "mention_class").rows()]


def _read(_: Store, unit: Unit) -> Tables:
    if "file" in unit.config:
        return _synthetic(unit)
    return read_pairs(unit.config["files"], unit.config["threshold"], unit.config["missing"])


def _synthetic(unit: Unit) -> Tables:
    [topic, kind], [mean, sd, seed] = unit.config["part"], unit.config["scores"]
    mentions = _mentions(unit.config["file"]["uri"], topic, kind)
    chains = mentions["chain_id"].to_list()
    pairs = clean_pairs(*scores_of(chains, mean, sd, seed, f"{topic} {kind}"), unit.config["threshold"])
    gold = mentions["chain_id"].rank("dense").cast(pl.Int64)
    return graph_tables(unit.name, mentions["record"], pairs, gold, unit.config["threshold"], unit.config["missing"])


def _mentions(uri: str, topic: str, kind: str) -> pl.DataFrame:
    """Columns ``record, chain_id``; an id need only be unique within its document, where the file tells documents."""
    names = [*optional_columns(uri, [DOCUMENT], "mentions.path"), "mention_id"]
    rows = _ids(uri, [*dict.fromkeys([*_CHAIN, *names])], "mentions")
    mentions = rows.filter(topic=topic, mention_class=kind).sort(*reversed(names))
    records = mentions.select(pl.concat_str(names, separator="/").alias("record"), "chain_id")
    if repeated := records.filter(pl.col("record").is_duplicated())["record"].unique(maintain_order=True).to_list():
        raise InputError(
            f"mentions: {redacted(uri)} has {len(repeated)} ids twice in topic {topic} {kind}, such as {repeated[0]}; "
            "if they are unique within a document only, add a column 'document'"
        )
    return records


def _ids(uri: str, columns: Sequence[str], setting: str) -> pl.DataFrame:
    """Columns of ids, of which no row lacks any."""
    rows = read_records(uri, [*dict.fromkeys([*columns, *MENTION_RULES])], rules=MENTION_RULES)
    with _refused(f"{setting}={redacted(uri)}"):
        return pl.DataFrame([as_ids(rows[name]) for name in columns]).drop_nulls()


@contextmanager
def _refused(where: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def read_pairs(files: Mapping[str, Any], threshold: float | None, missing: str) -> Tables:
    """The tables of the graph of a file of scored pairs.

    Args:
        files: what :meth:`FoundFile.identity` says of ``pairs`` and, if there are some, of ``gold``.

    Raises:
        InputError: naming the row that can't be used.
    """
    where = f"pairs={redacted(files['pairs']['uri'])}"
    uri = files["pairs"]["uri"]
    columns = score_columns(uri)
    rows = read_records(uri, [*_ENDS, *columns], rules=pair_rules(columns))
    weights = _agreed([_weights(rows, column) for column in columns], where)
    ends = _ends(rows, where)
    different = different_ids(ends)
    gold = read_gold(files["gold"]["uri"], as_ids(different)) if "gold" in files else None
    ids, [left, right] = numbered_ids(different, ends, [] if gold is None else [gold["record"]])
    del rows, ends
    with _refused(where):
        pairs = clean_pairs(left, right, weights, threshold)
    clusters = None if gold is None else ids.to_frame("record").join(gold, on="record", how="left")["cluster"]
    return graph_tables("pairs", ids, pairs, clusters, threshold, missing)


def _ends(rows: pl.DataFrame, where: str) -> list[pl.Series]:
    """The ids of the pairs' records, as text if they are no whole numbers."""
    kinds = [rows[end].dtype for end in _ENDS]
    if sorted((kind.is_integer(), kind.is_float()) for kind in kinds) == [(False, True), (True, False)]:
        raise InputError(
            f"{where}: left is {kinds[0]} and right is {kinds[1]}, so that 1 and 1.0 would be two records; give both "
            "one type"
        )
    with _refused(where):
        return [rows[end] if kinds[0] == kinds[1] and kinds[0].is_integer() else as_ids(rows[end]) for end in _ENDS]


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
    where = f"gold={redacted(uri)}"
    rows = read_records(uri, [*GOLD_RULES], rules=GOLD_RULES)
    with _refused(where):
        named = pl.DataFrame([as_ids(rows[name]) for name in rows.columns]).drop_nulls()
    gold = named.with_columns(pl.col("cluster").rank("dense").cast(pl.Int64)).unique(maintain_order=True)
    if gold["record"].n_unique() < gold.height:
        twice = gold.filter(pl.col("record").is_duplicated())["record"][0]
        raise InputError(f"{where}: the record {twice!r} is in several clusters; give each record one row")
    if not gold["record"].is_in(known.unique().implode()).any():
        raise InputError(f"{where}: has none of the records of the pairs: are their ids written alike?")
    return gold


def graph_tables(
    name: str, ids: pl.Series, pairs: ScoredPairs, gold: pl.Series | None, threshold: float | None, missing: str
) -> Iterator[tuple[str, pa.Table]]:
    """The tables of a graph.

    Args:
        ids: of the records, in the order of their numbers.
        gold: true cluster of each record, null where it is not known; None if there is no gold.
    """
    yield "records", pa.table({"record": ids.to_arrow().cast(pa.string())})
    yield "pairs", pa.table({"left": pairs.left, "right": pairs.right, "weight": pairs.weights})
    if gold is not None:
        yield "gold", pa.table({"cluster": gold.to_arrow()})
    counts = {
        "graph": name,
        "num_records": ids.len(),
        "num_pairs": pairs.left.size,
        "num_self_pairs": pairs.num_self,
        "num_repeated": pairs.num_repeated,
        "num_contradicting": pairs.num_contradicting,
        "num_below_threshold": pairs.num_below,
        "missing": missing,
        "threshold": threshold,
    }
    yield "pair_counts", pa.Table.from_pylist([counts], tables.PAIR_COUNTS)

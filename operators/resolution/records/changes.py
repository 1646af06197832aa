"""Records that changed since an earlier night: which they are, their pairs alone scored, and what their pairs moved.

The pairs of a night are those of the night before without any of a record that changed or is gone, and those that a
rule proposes with a record that changed or is new. By the same scorer, they are what all records would give: which
pairs are proposed, and what one is worth, depends on its two records only.
"""

import polars as pl

from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.records import comparison
from tiltmeter.operators.resolution.records.columns import FILE, ID, ORIGIN, check_blocks, prepare, rules_of
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import NO_FREQUENCIES, model_of

VERSION = "changed_records/1"

NUM_PAIRS = 3
"""Pairs that are listed of a move, at most."""

_SHARE = "match_probability"


def record_values(records: pl.DataFrame, config: Scorer) -> pl.DataFrame:
    """``record, values``: what a scorer reads of each record, as text (lists as JSON), in the order of their ids.

    Args:
        records: with the columns of the config; of two files, with their names as the last.
    """
    names = [*config.columns, *([FILE] if FILE in records.columns else [])]
    texts = pl.concat_list(_as_json(records[name]) for name in names)
    return records.select(as_ids(records[config.id]).alias("record"), texts.alias("values")).sort("record")


def _as_json(column: pl.Series) -> pl.Series:
    kind = column.dtype
    if not isinstance(kind, pl.List | pl.Array):
        return as_text(column)
    plain = column.cast(pl.List(pl.Float64() if kind.inner.is_numeric() else pl.String())).alias("v")
    text = plain.to_frame().select(pl.struct("v").struct.json_encode().str.slice(5).str.head(-1))["v"]
    return text.set(plain.is_null(), None)


def records_of(values: pl.DataFrame, config: Scorer) -> pl.DataFrame:
    """The records of which :func:`record_values` made a table."""
    names = [*config.columns, FILE][: len(values["values"][0])]
    columns = [values["values"].list.get(place).alias(name) for place, name in enumerate(names)]
    arrays = [name for name, field in config.fields.items() if field.kind == "array"]
    return pl.DataFrame([_lists(column) if column.name in arrays else column for column in columns])


def _lists(texts: pl.Series) -> pl.Series:
    """Lists, if all that there are are JSON."""
    are_lists = (texts.str.starts_with("[") & texts.str.ends_with("]")).all()
    return texts.str.json_decode(pl.List(pl.String)) if are_lists else texts


def changed_records(before: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """``record, event``, sorted: records that are ``new``, that have other values (``changed``), or are ``removed``.

    Args:
        before, now: of :func:`record_values`.

    >>> before = pl.DataFrame({"record": ["a", "b", "c"], "values": [["1"], [None], ["3"]]})
    >>> now = pl.DataFrame({"record": ["a", "b", "d"], "values": [["1"], ["2"], ["4"]]})
    >>> changed_records(before, now).rows()
    [('b', 'changed'), ('c', 'removed'), ('d', 'new')]
    """
    both = before.join(now, on="record", how="full", coalesce=True, suffix="_now")
    is_there, was_there = pl.col("values_now").is_not_null(), pl.col("values").is_not_null()
    event = pl.when(~was_there).then(pl.lit("new")).when(~is_there).then(pl.lit("removed")).otherwise(pl.lit("changed"))
    differing = both.filter(pl.col("values").ne_missing(pl.col("values_now")))
    return differing.select("record", event.alias("event")).sort("record")


def pairs_with(prepared: pl.DataFrame, changed: pl.Series) -> pl.DataFrame:
    """Pairs that agree in all keys of a blocking rule and have a record that changed: ``left, right``, each once."""
    ends = [pl.DataFrame(schema=dict.fromkeys(IDS, pl.String))]
    origin = [ORIGIN] if ORIGIN in prepared.columns else []
    for keys in rules_of(prepared):
        rows = prepared.select(pl.col(ID).alias(IDS[1]), *keys, *origin).drop_nulls(keys)
        of_changed = rows.filter(pl.col(IDS[1]).is_in(changed.implode())).rename({IDS[1]: IDS[0]})
        apart = [pl.col(name) != pl.col(f"{name}_right") for name in origin]
        both = of_changed.join(rows, on=keys).filter(pl.col(IDS[0]) != pl.col(IDS[1]), *apart)
        ends.append(both.select(IDS))
    low, high = pl.min_horizontal(IDS), pl.max_horizontal(IDS)
    return pl.concat(ends).select(low.alias(IDS[0]), high.alias(IDS[1])).unique().sort(IDS)


def score_changed(
    records: pl.DataFrame,
    config: Scorer,
    changed: pl.Series,
    trained: pl.DataFrame,
    frequencies: pl.DataFrame = NO_FREQUENCIES,
) -> pl.DataFrame:
    """What :func:`.scoring.score_pairs` has of the pairs with a record that changed, to the last bit.

    Args:
        records: all of them, with the columns of the config.
        changed: ids of those that changed or are new.
        trained, frequencies: as of :func:`.scoring.score_pairs`.

    Raises:
        ValueError: as :func:`.scoring.score_pairs`.
    """
    prepared = prepare(records, config)
    check_blocks(prepared, config)
    scored = score_given(prepared, pairs_with(prepared, changed), config, trained, frequencies)
    return scored.select(*IDS, _SHARE)


def score_given(
    prepared: pl.DataFrame,
    pairs: pl.DataFrame,
    config: Scorer,
    trained: pl.DataFrame,
    frequencies: pl.DataFrame = NO_FREQUENCIES,
) -> pl.DataFrame:
    """``left, right, match_probability`` of given pairs that the config's threshold leaves, with the degree to which
    each field agrees and what that speaks for a match in bits, ``gamma_f0, mw_f0, ...``."""
    if pairs.is_empty():
        return pairs.with_columns(pl.lit(0.0).alias(_SHARE))
    ends = pl.concat([pairs[end] for end in IDS]).unique()
    some, fields = prepared.filter(pl.col(ID).is_in(ends.implode())), list(config.fields.values())
    model = model_of(trained, config, frequencies)
    scored = comparison.score(some, fields, model, pairs=pairs, with_degrees=True)
    return scored.filter(pl.col(_SHARE) >= config.threshold)


def evidence(
    before: pl.DataFrame, now: pl.DataFrame, homes: pl.DataFrame, moves: pl.DataFrame, missing: float
) -> pl.DataFrame:
    """The pairs behind records that went from one cluster to another: of each move those that changed most.

    For a move from x to y, a pair speaks that is within y, was not within one cluster, has a record of x or a new one,
    and became likelier; and one that was within x, is apart, and became less likely.

    Args:
        before, now: ``left, right, match_probability``.
        homes: ``record, before, after``: ids of clusters, null where a record was not, or is not, there.
        moves: ``before, after``.
        missing: the probability of a pair that is not listed.

    Returns:
        ``before, after, rank, left, right, probability_before, match_probability``; probabilities are null of a pair
        that is not listed.

    >>> homes = pl.DataFrame({"record": ["a", "b", "c"], "before": [0, 1, None], "after": [0, 0, 0]})
    >>> none = pl.DataFrame(schema={"left": pl.String, "right": pl.String, "match_probability": pl.Float64})
    >>> now = pl.DataFrame({"left": ["a", "b"], "right": ["c", "c"], "match_probability": [0.8, 0.9]})
    >>> evidence(none, now, homes, pl.DataFrame({"before": [1], "after": [0]}), 0.5).rows()
    [(1, 0, 1, 'b', 'c', None, 0.9), (1, 0, 2, 'a', 'c', None, 0.8)]
    """
    pairs = before.rename({_SHARE: "probability_before"}).join(now, on=IDS, how="full", coalesce=True)
    pairs = pairs.with_columns(
        change=pl.col(_SHARE).fill_null(missing) - pl.col("probability_before").fill_null(missing)
    )
    for end in IDS:
        ends = homes.rename({"record": end, "before": f"{end}_before", "after": f"{end}_after"})
        pairs = pairs.join(ends, on=end, how="left")
    (was, was_other), (is_, is_other) = ([pl.col(f"{end}_{when}") for end in IDS] for when in ("before", "after"))
    joined = pairs.filter(is_ == is_other, (was != was_other).fill_null(value=True), pl.col("change") > 0)
    parted = pairs.filter(was == was_other, (is_ != is_other).fill_null(value=True), pl.col("change") < 0)
    of_move = pl.any_horizontal(one.is_null() | (one == pl.col("before")) for one in (was, was_other))
    both = [
        moves.join(joined, left_on="after", right_on="left_after").filter(of_move),
        moves.join(parted, left_on="before", right_on="left_before"),
    ]
    names = ["before", "after", *IDS, "probability_before", _SHARE, "change"]
    ranked = pl.concat(rows.select(names) for rows in both).sort("before", "after", -pl.col("change").abs(), *IDS)
    first = ranked.group_by("before", "after", maintain_order=True).head(NUM_PAIRS)
    rank = pl.int_range(1, pl.len() + 1).over("before", "after").alias("rank")
    return first.select("before", "after", rank, *IDS, "probability_before", _SHARE)

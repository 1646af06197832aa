"""Records that changed since an earlier night: their pairs alone are scored, and clusters that moved are explained.

The pairs of a night are those of the night before without any of a record that changed or is gone, and those that a
rule proposes with a record that changed or is new. By the same scorer, they are what all records would give: which
pairs are proposed, and what one is worth, depends on its two records only.
"""

import polars as pl

from tiltmeter.operators.resolution.records import comparison
from tiltmeter.operators.resolution.records.columns import ID, ORIGIN, rules_of
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import NO_FREQUENCIES, model_of

VERSION = "changed_records/1"
NUM_PAIRS = 3
"""Pairs that explain a move, at most."""
_SHARE = "match_probability"


def contents(prepared: pl.DataFrame) -> pl.DataFrame:
    """``record, content``: of each record all that the scorer reads, as JSON."""
    return prepared.select(pl.col(ID).alias("record"), pl.struct(pl.exclude(ID)).struct.json_encode().alias("content"))


def prepared_of(known: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """The records of which :func:`contents` made a table.

    Args:
        schema: of records that were prepared by the same settings; vectors may have another size there.
    """
    vectors = {name: pl.List(kind.inner) for name, kind in schema.items() if isinstance(kind, pl.Array)}
    kinds = pl.Struct({name: vectors.get(name, kind) for name, kind in schema.items() if name != ID})
    columns = known["content"].str.json_decode(kinds).struct.unnest().insert_column(0, known["record"].alias(ID))
    sizes = {name: columns[name].drop_nulls().list.len().head(1).to_list() for name in vectors}
    return columns.with_columns(pl.col(name).list.to_array(*(size or [1])) for name, size in sizes.items())


def pairs_with(prepared: pl.DataFrame, changed: pl.Series) -> pl.DataFrame:
    """Pairs that agree in all keys of a blocking rule and have a record that changed: ``left, right``, each once."""
    origin = [ORIGIN] if ORIGIN in prepared.columns else []
    frames = [pl.DataFrame(schema=dict.fromkeys(IDS, pl.String))]
    for keys in rules_of(prepared):
        rows = prepared.select(pl.col(ID).alias(IDS[1]), *keys, *origin).drop_nulls(keys)
        of_changed = rows.filter(pl.col(IDS[1]).is_in(changed.implode())).rename({IDS[1]: IDS[0]})
        both = of_changed.join(rows, on=keys)
        apart = [pl.col(name) != pl.col(f"{name}_right") for name in origin]
        frames.append(both.filter(pl.col(IDS[0]) != pl.col(IDS[1]), *apart).select(IDS))
    low, high = pl.min_horizontal(IDS), pl.max_horizontal(IDS)
    return pl.concat(frames).select(low.alias(IDS[0]), high.alias(IDS[1])).unique().sort(IDS)


def score_given(
    prepared: pl.DataFrame,
    config: Scorer,
    pairs: pl.DataFrame,
    trained: pl.DataFrame,
    frequencies: pl.DataFrame = NO_FREQUENCIES,
) -> pl.DataFrame:
    """What :func:`.scoring.score_pairs` has of some pairs, to the last bit, without its threshold.

    Args:
        prepared: all records.
        pairs: ``left, right``, whether a rule proposes them or not.
        trained, frequencies: as of :func:`.scoring.score_pairs`.

    Returns:
        Besides, the degree to which each field agrees and what that speaks for a match in bits, ``gamma_f0, mw_f0``.
    """
    if pairs.is_empty():
        return pairs.with_columns(pl.lit(0.0).alias(_SHARE))
    ends = pl.concat([pairs[end] for end in IDS]).unique()
    some, fields = prepared.filter(pl.col(ID).is_in(ends.implode())), list(config.fields.values())
    model = model_of(trained, config, frequencies)
    return comparison.score(some, fields, model, pairs=pairs, with_degrees=True)


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
        ``before, after, rank, left, right, probability_before, match_probability``, null of a pair that is not listed.

    >>> homes = pl.DataFrame({"record": ["a", "b", "c"], "before": [0, 1, None], "after": [0, 0, 0]})
    >>> none = pl.DataFrame(schema={"left": pl.String, "right": pl.String, "match_probability": pl.Float64})
    >>> now = pl.DataFrame({"left": ["a", "b"], "right": ["c", "c"], "match_probability": [0.8, 0.9]})
    >>> evidence(none, now, homes, pl.DataFrame({"before": [1], "after": [0]}), 0.5).rows()
    [(1, 0, 1, 'b', 'c', None, 0.9), (1, 0, 2, 'a', 'c', None, 0.8)]
    """
    pairs = before.rename({_SHARE: "probability_before"}).join(now, on=IDS, how="full", coalesce=True)
    earlier, later = (pl.col(name).fill_null(missing) for name in ("probability_before", _SHARE))
    pairs = pairs.with_columns(change=later - earlier).filter(pl.col("change") != 0.0)
    for end in IDS:
        pairs = pairs.join(
            homes.select(pl.col("record").alias(end), pl.exclude("record").name.prefix(f"{end}_")), on=end, how="left"
        )
    (was, was_other), (is_, is_other) = ([pl.col(f"{end}_{when}") for end in IDS] for when in ("before", "after"))
    joined = pairs.filter(is_ == is_other, (was != was_other).fill_null(value=True), pl.col("change") > 0)
    parted = pairs.filter(was == was_other, (is_ != is_other).fill_null(value=True), pl.col("change") < 0)
    of_move = pl.any_horizontal(one.is_null() | (one == pl.col("before")) for one in (was, was_other))
    both = [
        moves.join(joined, left_on="after", right_on="left_after").filter(of_move),
        moves.join(parted, left_on="before", right_on="left_before"),
    ]
    move, shown = ["before", "after"], [*IDS, "probability_before", _SHARE]
    ranked = pl.concat(rows.select(*move, *shown, "change") for rows in both).sort(*move, -pl.col("change").abs(), *IDS)
    rank = pl.int_range(1, pl.len() + 1).over(move).alias("rank")
    return ranked.select(*move, rank, *shown).filter(pl.col("rank") <= NUM_PAIRS)

"""Labelled pairs of records: those of a file, checked, or drawn from clusters of which the truth is known."""

import numpy as np
import polars as pl

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.records import comparison
from tiltmeter.operators.resolution.records.columns import ID, count_blocks, prepare
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer

_TRUTH = {**dict.fromkeys(("true", "yes", "1", "1.0"), True), **dict.fromkeys(("false", "no", "0", "0.0"), False)}


def training_clusters(gold: pl.DataFrame, config: Scorer, seed: int) -> pl.DataFrame:
    """The clusters from which labelled pairs are drawn: all records of a seeded share of them.

    Args:
        gold: ``record, cluster``.

    Returns:
        ``record, cluster``, as text, in the order of the records.

    Raises:
        ValueError: if a record is in two clusters.
    """
    gold = pl.DataFrame([as_ids(gold[name]) for name in ("record", "cluster")]).unique().sort("record")
    if not gold["record"].is_unique().all():
        twice = gold.filter(pl.col("record").is_duplicated())["record"][0]
        raise ValueError(f"record {twice!r} is in several clusters: must be in one; set records.clusters")
    names = gold["cluster"].unique().sort()
    chosen = _random(seed, 0).permutation(len(names))[: round(config.train_share * len(names))]
    return gold.filter(pl.col("cluster").is_in(names.gather(chosen).implode()))


def draw_labelled(records: pl.DataFrame, gold: pl.DataFrame, config: Scorer, seed: int) -> pl.DataFrame:
    """Labelled pairs: a seeded sample of those that the rules propose among the training clusters.

    Args:
        records: with the columns of the config.
        gold: ``record, cluster``; records without one are not used.

    Returns:
        ``left, right, is_match``, sorted.

    Raises:
        ValueError: as :func:`train_scorer` and :func:`training_clusters`.
    """
    training = training_clusters(gold, config, seed)
    prepared = prepare(records, config).filter(pl.col(ID).is_in(training["record"].implode()))
    count_blocks(prepared, config)
    pairs = comparison.propose(prepared, list(config.fields.values()))
    if pairs.height > config.num_labelled:
        chosen = _random(seed, 1).choice(pairs.height, config.num_labelled, replace=False)
        pairs = pairs[np.sort(chosen)]
    left, right = (pairs.join(training, left_on=end, right_on="record", maintain_order="left") for end in IDS)
    return pairs.with_columns(is_match=left["cluster"] == right["cluster"])


def check_labelled(labelled: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Labelled pairs with the lesser id to the left, each once, in order."""
    if missing := [name for name in (*IDS, "is_match") if name not in labelled.columns]:
        raise ValueError(f"labelled pairs have no column {missing[0]!r}; set records.labelled")
    ends = [as_ids(labelled[end]) for end in IDS]
    pairs = pl.DataFrame([*ends, _truths(labelled["is_match"])])
    for end in IDS:
        unknown = pairs.filter(~pl.col(end).is_in(ids.implode()).fill_null(value=False))
        if unknown.height:
            raise ValueError(
                f"labelled pair with {end}={unknown[end][0]!r}: must be the id of a record, but {unknown.height} are "
                "not; set records.labelled, or records.id"
            )
    low, high = pl.min_horizontal(IDS), pl.max_horizontal(IDS)
    pairs = pairs.with_columns(low.alias(IDS[0]), high.alias(IDS[1])).unique().sort(IDS)
    return _consistent(pairs)


def _truths(column: pl.Series) -> pl.Series:
    text = as_text(column).str.strip_chars().str.to_lowercase()
    truths = text.replace_strict(_TRUTH, default=None, return_dtype=pl.Boolean)
    if truths.has_nulls():
        raise ValueError(
            f"is_match={column.filter(truths.is_null())[0]!r}: must be true or false, yes or no, 1 or 0; set "
            "records.labelled"
        )
    return truths.alias("is_match")


def _consistent(pairs: pl.DataFrame) -> pl.DataFrame:
    selves, twice = pairs.filter(left=pl.col("right")), pairs.filter(pl.struct(IDS).is_duplicated())
    if selves.height:
        raise ValueError(
            f"labelled pair of {selves['left'][0]!r} with itself: must be two records; set records.labelled"
        )
    if twice.height:
        both = f"{twice['left'][0]!r} and {twice['right'][0]!r}"
        raise ValueError(f"{both} are labelled both as a match and not: label them once; set records.labelled")
    for wanted, words in ((True, "a match"), (False, "no match")):
        if not (pairs["is_match"] == wanted).any():
            raise ValueError(
                f"none of {pairs.height} labelled pairs is {words}: there must be both kinds; set records.labelled, or "
                "records.clusters, records.num_labelled and records.blocking"
            )
    return pairs


def _random(seed: int, draw: int) -> np.random.Generator:
    return keyed_generator(seed, Stream.LABELLED_PAIRS, 0, 0, draw)

"""Labelled pairs of records: those of a file, checked, or drawn from clusters of which the truth is known."""

import numpy as np
import polars as pl

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.resolution.constraints import groups_of
from tiltmeter.operators.resolution.ids import as_ids, as_text, different_ids, numbered_ids
from tiltmeter.operators.resolution.records import comparison
from tiltmeter.operators.resolution.records.columns import ID, count_blocks, prepare
from tiltmeter.operators.resolution.records.comparison import IDS
from tiltmeter.operators.resolution.records.scorer import Scorer

_TRUTH = {**dict.fromkeys(("true", "yes", "1", "1.0"), True), **dict.fromkeys(("false", "no", "0", "0.0"), False)}


def training_clusters(gold: pl.DataFrame, config: Scorer, seed: int) -> pl.DataFrame:
    """The clusters from which labelled pairs are drawn: all records of a seeded share of them.

    Returns:
        ``record, cluster`` of those of :func:`divided_clusters`.
    """
    return divided_clusters(gold, config, seed).filter(part="training").drop("part")


def divided_clusters(gold: pl.DataFrame, config: Scorer, seed: int) -> pl.DataFrame:
    """What clusters are for: ``training``, ``calibration`` where there is one, or ``judging``.

    Args:
        gold: ``record, cluster``.

    Returns:
        ``record, cluster, part``, as text, in the order of the records.

    Raises:
        ValueError: if a record is in two clusters.
    """
    gold = pl.DataFrame([as_ids(gold[name]) for name in ("record", "cluster")]).unique().sort("record")
    if not gold["record"].is_unique().all():
        twice = gold.filter(pl.col("record").is_duplicated())["record"][0]
        raise ValueError(f"record {twice!r} is in several clusters: must be in one; set records.clusters")
    names = gold["cluster"].unique().sort()
    order = _random(seed, 0).permutation(len(names))
    shares = [config.learning_share, config.calibration_share if config.calibration else 0.0]
    ends = [round(share * len(names)) for share in np.cumsum(shares)]
    parts = np.repeat(["training", "calibration", "judging"], np.diff([0, *ends, len(names)]))
    divided = pl.DataFrame({"cluster": names.gather(order), "part": parts.tolist()})
    return gold.join(divided, on="cluster", maintain_order="left")


def divided_labels(labelled: pl.DataFrame, config: Scorer, seed: int) -> pl.DataFrame:
    """The same of labelled pairs ``left, right``: ``record, cluster, part``, where pairs connect those of a cluster."""
    ends = [labelled[end] for end in IDS]
    ids, numbers = numbered_ids(different_ids(ends), ends)
    groups = groups_of(ids.len(), np.stack(numbers).astype(np.int64))
    return divided_clusters(pl.DataFrame({"record": ids, "cluster": groups}), config, seed)


def training_pairs(labelled: pl.DataFrame, config: Scorer, seed: int) -> pl.DataFrame:
    """Labelled pairs that the scorer learns from, where others calibrate and judge."""
    training = divided_labels(labelled, config, seed).filter(part="training")
    return labelled.join(training, left_on="left", right_on="record", how="semi")


def labelled_scores(scored: pl.DataFrame, parts: pl.DataFrame, labelled: pl.DataFrame | None) -> pl.DataFrame:
    """Scored pairs of which both ends are for the same.

    Args:
        scored: ``left, right, match_probability``.
        parts: ``record, cluster, part``.
        labelled: ``left, right, is_match`` and perhaps ``weight``; None: matches are of one cluster.

    Returns:
        Those of ``scored`` that have a label, and ``part, is_match, weight, unit, other_unit``.
    """
    names = parts.with_columns(unit=pl.col("cluster").rank("dense").cast(pl.Int64)).drop("cluster")
    both = scored.join(names, left_on="left", right_on="record", maintain_order="left")
    both = both.join(names.rename({"unit": "other_unit"}), left_on=["right", "part"], right_on=["record", "part"])
    if labelled is None:
        both = both.with_columns(is_match=pl.col("unit") == pl.col("other_unit"))
    else:
        both = both.join(labelled, on=IDS)
    return both.with_columns(weight=pl.col("weight") if "weight" in both.columns else pl.lit(1.0)).sort(IDS)


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
    weights = [labelled["weight"].cast(pl.Float64)] if "weight" in labelled.columns else []
    pairs = pl.DataFrame([*ends, _truths(labelled["is_match"]), *weights])
    for end in IDS:
        unknown = pairs.filter(~pl.col(end).is_in(ids.implode()).fill_null(value=False))
        if unknown.height:
            raise ValueError(
                f"labelled pair with {end}={unknown[end][0]!r}: must be the id of a record, but {unknown.height} are "
                "not; set records.labelled, or records.id"
            )
    low, high = pl.min_horizontal(IDS), pl.max_horizontal(IDS)
    pairs = pairs.with_columns(low.alias(IDS[0]), high.alias(IDS[1]))
    pairs = pairs.unique([*IDS, "is_match"], keep="first", maintain_order=True).sort(IDS)
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

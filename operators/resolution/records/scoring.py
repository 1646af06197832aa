"""Pairs of messy records with the probability that they are one entity, learnt from labelled pairs.

Blocking rules propose pairs; labelled pairs among them say how much it means that a field agrees (Fellegi and Sunter
1969, see :mod:`.records.linkage`); every proposed pair gets its probability.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.operators.resolution.records import comparison
from tiltmeter.operators.resolution.records import linkage as record_linkage
from tiltmeter.operators.resolution.records.columns import ID, check_blocks, prepare
from tiltmeter.operators.resolution.records.comparison import IDS, Model
from tiltmeter.operators.resolution.records.labelled_pairs import check_labelled
from tiltmeter.operators.resolution.records.linkage import estimate_agreement
from tiltmeter.operators.resolution.records.scorer import ComparedField, Scorer
from tiltmeter.operators.resolution.records.unlabelled import Learnt, learn_unlabelled

VERSION = f"{record_linkage.VERSION}, record_scoring/2"

NO_FREQUENCIES = pl.DataFrame(schema={"field": pl.String, "value": pl.String, "share": pl.Float64})


def train_scorer(records: pl.DataFrame, labelled: pl.DataFrame, config: Scorer) -> pl.DataFrame:
    """What agreements of the fields mean, counted in labelled pairs.

    Args:
        records: with the columns of the config.
        labelled: ``left, right, is_match``: pairs in any order, true or false (or 1, 0).

    Returns:
        A row for each field and degree of agreement, from 0 (different) up: ``field, degree, agreement`` (in words),
        ``num_matches, num_distinct`` (labelled pairs), ``m, u`` (shares among either), ``match_weight`` (log2 m / u, in
        bits) and ``prior`` (the same in every row).

    Raises:
        ValueError: if there are no records, a column is missing, an id is missing or not unique, or a number or date
            can't be read; if a labelled pair is of one record, of one that is not there, or labelled both ways; if no
            labelled pair is a match, or all are.
    """
    prepared = prepare(records, config)
    labelled = check_labelled(labelled, prepared[ID])
    fields = list(config.fields.values())
    degrees = comparison.compare(prepared, labelled.select(IDS), fields).join(labelled, on=IDS, maintain_order="left")
    is_match = degrees["is_match"].to_numpy()
    prior = float(is_match.mean()) if config.prior is None else config.prior
    rows = [
        _agreement(name, field, degrees[f"{comparison.DEGREES}f{number}"], is_match)
        for number, (name, field) in enumerate(config.fields.items())
    ]
    return pl.concat(rows).with_columns(prior=pl.lit(prior))


def train_unlabelled(records: pl.DataFrame, config: Scorer, seed: int) -> Learnt:
    """What agreements of the fields mean, learnt without labels as ``config.unlabelled`` says.

    Raises:
        ValueError: as :func:`score_pairs` for records and rules, and as :func:`.unlabelled.learn_unlabelled`.
    """
    prepared = prepare(records, config)
    check_blocks(prepared, config)
    return learn_unlabelled(prepared, config, seed)


def term_frequencies(records: pl.DataFrame, config: Scorer) -> pl.DataFrame:
    """How frequent each value is of the fields that have term frequencies.

    Returns:
        ``field, value, share``: of the records with a value, those that have it (as it is compared); and for each field
        a row without a value, of the share 1 / (such records), which counts for values that no record has.
    """
    prepared, rows = prepare(records, config), []
    for number, (name, field) in enumerate(config.fields.items()):
        if field.term_frequency:
            values = prepared[f"f{number}"].drop_nulls()
            num = max(values.len(), 1)
            counts = values.value_counts().sort(values.name).rename({values.name: "value"})
            shares = counts.select("value", share=pl.col("count") / num)
            unseen = pl.DataFrame({"value": [None], "share": [1.0 / num]}, shares.schema)
            rows.append(pl.concat([shares, unseen]).select(pl.lit(name).alias("field"), "value", "share"))
    return pl.concat(rows) if rows else NO_FREQUENCIES


def score_pairs(
    records: pl.DataFrame,
    trained: pl.DataFrame,
    config: Scorer,
    part: int = 0,
    frequencies: pl.DataFrame = NO_FREQUENCIES,
) -> pl.DataFrame:
    """The match probability of every proposed pair, or of those of one of the config's parts.

    Where equal values of a field with term frequencies have the share t of the records, log2 u / t is added to the
    weight of their agreement, so that t is in the place of u, the share of random pairs that are equal; u of labelled
    pairs is another one, and log2 (sum of all t^2) / t is added.

    Args:
        records: with the columns of the config; all of them, whatever the part.
        trained: what :func:`train_scorer` or :func:`train_unlabelled` returned for the same config.
        part: 0..``num_parts`` - 1; every pair is in one part.
        frequencies: by :func:`term_frequencies`, if a field has them.

    Returns:
        ``left, right, match_probability``: ids as text, left < right, sorted. Empty if no two records share a key.

    Raises:
        ValueError: as :func:`train_scorer`, or if the rules propose too many pairs, or the part is out of range.
    """
    if not 0 <= part < config.num_parts:
        raise ValueError(f"part {part}: must lie in 0..{config.num_parts - 1}; set records.num_parts")
    prepared = prepare(records, config)
    check_blocks(prepared, config)
    fields = list(config.fields.values())
    scored = comparison.score(prepared, fields, model_of(trained, config, frequencies), part, config.num_parts)
    return scored.filter(pl.col("match_probability") >= config.threshold)


def _agreement(name: str, field: ComparedField, degrees: pl.Series, is_match: NDArray[np.bool_]) -> pl.DataFrame:
    words = comparison.degree_names(field)
    agreement = estimate_agreement(degrees.to_numpy(), is_match, len(words))
    columns = {"field": [name] * len(words), "degree": range(len(words)), "agreement": words}
    return pl.DataFrame(columns | agreement._asdict() | {"match_weight": agreement.weights})


def model_of(trained: pl.DataFrame, config: Scorer, frequencies: pl.DataFrame = NO_FREQUENCIES) -> Model:
    """What :func:`.comparison.score` scores pairs by; arguments as of :func:`score_pairs`."""
    by_field = [trained.filter(field=name).sort("degree", descending=True) for name in config.fields]
    tables = {}
    for number, (name, field) in enumerate(config.fields.items()):
        if field.term_frequency:
            shares = frequencies.filter(field=name).drop("field")
            # Splink adds log2 u / t, whatever u is of.
            scale = 1.0
            if config.unlabelled is None:
                scale = by_field[number]["u"][0] / (shares.drop_nulls("value")["share"] ** 2).sum()
            tables[number] = shares.with_columns(pl.col("share") * scale)
    m, u = ([rows[share].to_list() for rows in by_field] for share in "mu")
    return Model(trained["prior"][0], m, u, tables)

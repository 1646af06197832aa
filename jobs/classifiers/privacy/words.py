"""Which words that give gender away a model goes by, and what they add to its EP: rows of ``ep_words``."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.intervals import Resampled
from tiltmeter.jobs.classifiers.privacy.estimates import Frames, Texts, TextValues, resampled_sentences, speakers
from tiltmeter.jobs.runtime.rows import OK, failed
from tiltmeter.operators.classifiers.privacy.spoken import Spoken
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.units import Units

_STOPPED = 0.5
"""Of what General makes of a word: a model that makes less of it has stopped using it."""

Row = dict[str, Any]


def word_rows(frames: Frames, general: Frames, texts: Texts, config: Mapping[str, Any]) -> list[Row]:
    """Rows of each corpus, list and word, those first that have most of the attribution.

    Args:
        frames: ``samples`` and ``words`` of all seeds.
        general: the same of the model General; nothing without it.
        texts: of all sentences.
        config: of the unit.
    """
    corpora = list(dict.fromkeys(frames["samples"]["corpus"]))
    return [row for corpus in corpora for row in _of_corpus(frames, general, corpus, texts, config)]


def _of_corpus(frames: Frames, general: Frames, corpus: str, texts: Texts, config: Mapping[str, Any]) -> Iterator[Row]:
    sentences = np.unique(frames["samples"].filter(corpus=corpus)["sentence"].to_numpy())
    drawn, units = resampled_sentences(sentences.tolist(), corpus, texts, config), speakers(sentences.tolist(), texts)
    shares = _shares(frames, corpus, sentences)
    others = _shares(general, corpus, sentences) if general else None
    uses, parts = _uses(frames, corpus), _parts(frames, corpus)
    for key in sorted(shares, key=lambda key: (-float(shares[key].mean()), key)):
        word, name = key
        row: Row = {"model": config["model"], "corpus": corpus, "word": word, "list": name, **uses[key], **parts[key]}
        share = float(shares[key].mean())
        row |= {"share": share, "share_where_used": share * len(sentences) / max(uses[key]["num_sentences"], 1)}
        if others is not None:
            row |= _change(shares[key], others.get(key, np.zeros_like(shares[key])), drawn, units, config)
        yield OK | row


def _uses(frames: Frames, corpus: str) -> dict[tuple[str, str], Row]:
    """How often the explained sentences have each word; models that differ read the same."""
    rows = frames["words"].filter(corpus=corpus).unique(["sentence", "word", "list"])
    counted = rows.group_by("word", "list").agg(
        pl.col("num").sum().cast(pl.Int64).alias("num_occurrences"), pl.len().cast(pl.Int64).alias("num_sentences")
    )
    return {
        (row["word"], row["list"]): {name: row[name] for name in ("num_occurrences", "num_sentences")}
        for row in counted.to_dicts()
    }


def _parts(frames: Frames, corpus: str) -> dict[tuple[str, str], Row]:
    """What each word adds to EP, the mean over the texts of their means over the seeds with a value."""
    defined = frames["samples"].filter(pl.col("corpus") == corpus, pl.col("ep").is_not_null())
    seeds = defined.group_by("sentence").agg(pl.len().alias("num_seeds"))
    rows = frames["words"].filter(corpus=corpus).join(seeds, on="sentence", how="left")
    part = (pl.col("part") / pl.col("num_seeds")).sum() / seeds.height if seeds.height else pl.lit(None)
    sums = [pl.col(name).sum().cast(pl.Int64) for name in ("num_avoided", "num_added")]
    columns = ["part", "num_avoided", "num_added"] if seeds.height else []
    counted = rows.group_by("word", "list").agg(part.alias("part"), *sums)
    return {(row["word"], row["list"]): {name: row[name] for name in columns} for row in counted.to_dicts()}


def _shares(frames: Frames, corpus: str, sentences: NDArray[np.int64]) -> dict[tuple[str, str], FloatArray]:
    """Each word's share of the attribution, ``[seeds, sentences]``."""
    rows = frames["words"].filter(corpus=corpus)
    num_seeds = frames["samples"]["seed"].n_unique()
    by_word: dict[tuple[str, str], FloatArray] = {}
    for (word, name), part in rows.partition_by("word", "list", as_dict=True).items():
        places = part["seed"].to_numpy() * len(sentences) + np.searchsorted(sentences, part["sentence"].to_numpy())
        by_word[str(word), str(name)] = np.zeros((num_seeds, len(sentences)))
        np.add.at(by_word[str(word), str(name)].reshape(-1), places, part["share"].to_numpy())
    return by_word


def _change(shares: FloatArray, other: FloatArray, drawn: Resampled, units: Units, config: Mapping[str, Any]) -> Row:
    by_seed = shares - other
    difference = TextValues(Spoken(by_seed, by_seed.mean(axis=0), units), drawn)
    result = difference.inferred(config, FISHER)
    row = difference.columns("change", result, config, FISHER)
    is_less = None if row["change_high"] is None else bool(row["change_high"] < 0)
    is_stopped = is_less and bool(shares.mean() <= _STOPPED * other.mean())
    why = failed("too_few_units", result.reason) if is_less is None else OK
    return {"share_general": float(other.mean()), **row, "stopped": is_stopped, **why}

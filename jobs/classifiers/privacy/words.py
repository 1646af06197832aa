"""Which words that give gender away a model goes by, and what they add to its EP: rows of ``ep_words``."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.intervals import Resampled, with_interval
from tiltmeter.jobs.classifiers.privacy.estimates import Texts, resampled_sentences
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.resampling import resampled_mean

_STOPPED = 0.5
"""Of what General makes of a word: a model that makes less of it has stopped using it."""

Frames = Mapping[str, pl.DataFrame]
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
    drawn = resampled_sentences(sentences.tolist(), corpus, texts, config)
    shares = _shares(frames, corpus, sentences)
    others = _shares(general, corpus, sentences) if general else None
    uses, parts = _uses(frames, corpus), _parts(frames, corpus)
    for key in sorted(shares, key=lambda key: (-float(shares[key].mean()), key)):
        word, name = key
        row: Row = {"model": config["model"], "corpus": corpus, "word": word, "list": name, **uses[key], **parts[key]}
        share = float(shares[key].mean())
        row |= {"share": share, "share_where_used": share * len(sentences) / max(uses[key]["num_sentences"], 1)}
        if others is not None:
            row |= _change(shares[key], others.get(key, np.zeros(len(sentences))), drawn, config)
        yield row | {"status": "ok", "reason": ""}


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


def _shares(frames: Frames, corpus: str, sentences: NDArray[np.int64]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Each word's share of the attribution of each sentence, mean over the seeds."""
    rows = frames["words"].filter(corpus=corpus)
    num_seeds = frames["samples"]["seed"].n_unique()
    by_word: dict[tuple[str, str], NDArray[np.float64]] = {}
    for (word, name), part in rows.partition_by("word", "list", as_dict=True).items():
        places = np.searchsorted(sentences, part["sentence"].to_numpy())
        sums = np.bincount(places, weights=part["share"].to_numpy(), minlength=len(sentences))
        by_word[str(word), str(name)] = sums / num_seeds
    return by_word


def _change(
    shares: NDArray[np.float64], other: NDArray[np.float64], drawn: Resampled, config: Mapping[str, Any]
) -> Row:
    difference = shares - other
    estimate = resampled_mean(difference, drawn.counts)
    row = with_interval("change", estimate, config["intervals"], FISHER, drawn.scheme)
    is_less = bool((row["change_high"] or 0.0) < 0 and shares.mean() <= _STOPPED * other.mean())
    return {"share_general": float(other.mean()), **row, "stopped": is_less}

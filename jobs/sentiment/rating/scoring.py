"""Scores of every system for every variant of the sentences, unit by unit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.sentences import Texts
from tiltmeter.jobs.sentiment.rating.systems import FoundSystem, Score
from tiltmeter.operators.sentiment.lexicons import biased_female
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

ORIGINAL = "original"
TRUNCATED = "truncated"
_NO_SCORE = "the system has no score for this text"
_CUT = "the text is longer than the system takes, and was read up to there"

Rated = tuple[str, str]
"""A variant and a system."""


def score(
    runner: Runner,
    systems: Mapping[str, FoundSystem],
    texts: Texts,
    translated: Mapping[str, Sequence[TableRef]],
) -> dict[Rated, TableRef]:
    """Table ``scores`` of each variant and system; what failed is missing."""
    variants = {ORIGINAL: [chunk.select("text") for chunk in texts.chunks]}
    variants |= {name: [ref.select("round_trip") for ref in refs] for name, refs in translated.items()}
    gathered = {}
    for name, system in systems.items():
        scored = _score(runner, name, system, variants)
        gathered.update(_gather_units(name, texts, translated, scored))
    done = runner.run(
        Stage("gather scores", each(_gather), {_group(*key): [unit] for key, unit in gathered.items()}, None)
    )
    return {key: unit.tables["scores"] for key in gathered for unit in done[_group(*key)]}


def _group(variant: str, system: str) -> str:
    return f"{system} on {variant}"


def _score(
    runner: Runner, name: str, system: FoundSystem, variants: Mapping[str, Sequence[TableRef]]
) -> dict[str, list[TableRef]]:
    """Tables with the column ``sentiment``, in the order of the texts, by variant."""
    if system.load is None:
        return {variant: [] for variant in variants}
    on_gpu = uses_gpus(system.device, runner.pool.num_gpus, f"sentiment.{name}.device")
    units = {
        _group(variant, name): [
            Unit(
                "scores/1",
                f"{name} on {variant} {number}",
                {"system": system.identity, "on_gpu": on_gpu},
                {"texts": [ref]},
            )
            for number, ref in enumerate(refs)
        ]
        for variant, refs in variants.items()
    }
    work = _Scoring(digest(system.identity), system.load, "cuda" if on_gpu else "cpu")
    done = runner.run(Stage(f"score {name}", work, units, None, on_gpu))
    whole = [variant for variant in variants if not runner.failures[_group(variant, name)]]
    return {variant: [unit.tables["scores"] for unit in done[_group(variant, name)]] for variant in whole}


@dataclass(frozen=True)
class _Scoring:
    """Attributes:
    system: digest of its identity.
    load: makes it ready, on a device.
    """

    system: str
    load: Callable[[str], Score]
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        key = (self.system, self.device)
        for unit in units:
            [texts] = store.read(unit.input("texts")).columns
            with resident(key, lambda _: self.load(self.device)) as score:
                table = _scores(texts.to_pylist(), score)
            yield unit, [("scores", table)]


def _scores(texts: Sequence[str | None], score: Score) -> pa.Table:
    """A row for each text, NaN and not truncated where there is none."""
    there = [row for row, text in enumerate(texts) if text is not None]
    sentiment, truncated = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
    if there:
        sentiment[there], truncated[there] = score([text for text in texts if text is not None])
    return pa.table({"sentiment": sentiment, "truncated": truncated})


def _gather_units(
    name: str,
    texts: Texts,
    translated: Mapping[str, Sequence[TableRef]],
    scored: Mapping[str, Sequence[TableRef]],
) -> dict[Rated, Unit]:
    columns = ("sentence", "group", "dataset", "text", "gender", "race", "emotion", "conversation")
    units = {}
    for variant, refs in scored.items():
        inputs = {"sentences": [texts.sentences.select(*columns)], "scores": refs}
        if refs:
            # Scores stand in the order of a chunk's texts, before the round trip as after it.
            inputs["texts"] = [ref.select("text") for ref in translated.get(variant, texts.chunks)]
        units[variant, name] = Unit(
            "gather_scores/1", _group(variant, name), {"variant": variant, "system": name}, inputs
        )
    return units


def _gather(store: Store, unit: Unit) -> Tables:
    rows = pl.DataFrame(store.read(unit.input("sentences")))
    if refs := unit.inputs["scores"]:
        texts = [store.read(ref)["text"].to_pylist() for ref in unit.inputs["texts"]]
        scored = pl.concat(pl.DataFrame(store.read(ref)) for ref in refs)
        by_text = {text: row for row, text in enumerate(text for chunk in texts for text in chunk)}
        scored = scored[[by_text[text] for text in rows["text"]]]
    else:
        scored = pl.DataFrame({"sentiment": biased_female(rows["gender"].to_list())})
    yield "scores", scores_table(rows.hstack(scored), unit.config["variant"], unit.config["system"])


def scores_table(rows: pl.DataFrame, variant: str, system: str) -> pa.Table:
    """Table ``scores`` of sentences; one without a score, or with that of its beginning alone, says so."""
    rows = rows.with_columns(pl.col("sentiment").fill_nan(None))
    status, reason = _statuses(rows)
    rows = rows.with_columns(pl.lit(variant).alias("variant"), pl.lit(system).alias("system"), status, reason)
    return rows.select(tables.SCORES.names).to_arrow().cast(tables.SCORES)


def _statuses(rows: pl.DataFrame) -> tuple[pl.Expr, pl.Expr]:
    """Status and reason; those that rows bring along stay."""
    truncated = pl.col("truncated") if "truncated" in rows.columns else pl.lit(False)
    missing = pl.col("sentiment").is_null()
    words = {"status": ("no_score", TRUNCATED, "ok"), "reason": (_NO_SCORE, _CUT, "")}
    status, reason = (
        pl.coalesce(
            pl.col(name) if name in rows.columns else pl.lit(None, pl.String),
            pl.when(missing).then(pl.lit(none)).when(truncated).then(pl.lit(cut)).otherwise(pl.lit(whole)),
        ).alias(name)
        for name, (none, cut, whole) in words.items()
    )
    return status, reason

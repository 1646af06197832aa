"""Scores of every system for every variant of the sentences, and how far they agree with people's votes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.work import Done, Subject, Work, aside
from tiltmeter.jobs.sentiment.rating.sentences import Texts
from tiltmeter.jobs.sentiment.rating.systems import FoundSystem, Labels, Score
from tiltmeter.jobs.sentiment.rating.tables import ORIGINAL, Agreement, Annotations, Scores, arrow_table
from tiltmeter.operators.sentiment import annotators
from tiltmeter.operators.sentiment.annotators import annotator_agreement, has_tie, shared_polarity
from tiltmeter.operators.sentiment.lexicons import biased_female
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Finished, Store, TableRef

TRUNCATED = "truncated"
_NO_SCORE = "the system has no score for this text"
_CUT = "the text is longer than the system takes, and was read up to there"

Rated = tuple[str, str]
"""A variant and a system."""

Translated = Mapping[str, Sequence[TableRef]]
"""Texts and their round trips, in chunks, by variant."""


def _group(variant: str, system: str) -> str:
    return f"{system} on {variant}"


def score(
    run: Run[Any, Any], systems: Mapping[str, FoundSystem], texts: Texts, translated: Translated
) -> dict[Rated, TableRef]:
    """Table ``scores`` of each variant and system; what failed is missing."""
    variants = {ORIGINAL: [chunk.select("text") for chunk in texts.chunks]}
    variants |= {name: [ref.select("round_trip") for ref in refs] for name, refs in translated.items()}
    sentences = texts.sentences.select(
        "sentence", "group", "dataset", "text", "gender", "race", "emotion", "conversation"
    )
    works = [
        GatherScores(
            label=_group(variant, name),
            group=_group(variant, name),
            sentences=sentences,
            scores=refs,
            # Scores stand in the order of a chunk's texts, before the round trip as after it.
            texts=[ref.select("text") for ref in translated.get(variant, texts.chunks)] if refs else (),
            variant=variant,
            system=name,
        )
        for name, system in systems.items()
        for variant, refs in _score(run, name, system, variants).items()
    ]
    done = run.do(works, publish=False, complete=False, batch_size=None)
    return {(work.variant, work.system): unit.tables["scores"] for work, unit in done.pairs}


# --- scores of texts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _System(Subject):
    source: FoundSystem
    on_gpu: bool

    @property
    def identity(self) -> dict[str, Any]:
        """Settings of every unit that it scores."""
        return {"system": self.source.identity, "on_gpu": self.on_gpu}


class ScoreTexts(Work, unit="scores/1"):
    """Scores of a chunk of texts, in their order."""

    system: _System
    texts: TableRef

    def tables(self, store: Store) -> Tables:
        """A row for each text, NaN and not truncated where there is none."""
        [column] = store.read(self.texts).columns
        texts: list[str | None] = column.to_pylist()
        is_there = np.array([text is not None for text in texts], dtype=bool)
        sentiment, truncated = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
        with resident(digest(self.system.identity), self._load) as score:
            if is_there.any():
                sentiment[is_there], truncated[is_there] = score([text for text in texts if text is not None])
        yield "scores", pa.table({"sentiment": sentiment, "truncated": truncated})

    def _load(self, _: ExitStack) -> Score:
        load = cast(Callable[[str], Score], self.system.source.load)
        return load("cuda" if self.on_gpu else "cpu")


def _score(
    run: Run[Any, Any], name: str, system: FoundSystem, variants: Mapping[str, Sequence[TableRef]]
) -> dict[str, list[TableRef]]:
    """Tables with the column ``sentiment``, in the order of the texts, by variant."""
    if system.load is None:
        return {variant: [] for variant in variants}
    on_gpu = uses_gpus(system.device, run.runner.pool.num_gpus, f"sentiment.{name}.device")
    works = [
        ScoreTexts(
            label=f"{name} on {variant} {number}",
            group=_group(variant, name),
            system=_System(system, on_gpu),
            texts=ref,
        )
        for variant, refs in variants.items()
        for number, ref in enumerate(refs)
    ]
    groups = run.do(works, stage=f"score {name}", complete=False, batch_size=None).groups
    whole = [variant for variant in variants if not run.runner.failures.get(_group(variant, name))]
    return {variant: groups[_group(variant, name)].refs("scores") for variant in whole}


class GatherScores(Work, unit="gather_scores/1", stage="gather scores", makes=[Scores]):
    """Scores of the texts of sentences; of a system that looks at no text, those of their genders."""

    sentences: TableRef
    scores: Sequence[TableRef]
    texts: Sequence[TableRef] = ()
    variant: str
    system: str

    def tables(self, store: Store) -> Tables:
        """A row for each sentence."""
        rows = pl.DataFrame(store.read(self.sentences))
        if self.scores:
            texts = [store.read(ref)["text"].to_pylist() for ref in self.texts]
            scored = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.scores)
            by_text = {text: row for row, text in enumerate(text for chunk in texts for text in chunk)}
            scored = scored[[by_text[text] for text in rows["text"]]]
        else:
            scored = pl.DataFrame({"sentiment": biased_female(rows["gender"].to_list())})
        yield "scores", scores_table(rows.hstack(scored), self.variant, self.system)


def scores_table(rows: pl.DataFrame, variant: str, system: str) -> pa.Table:
    """Table ``scores`` of sentences; one without a score, or with that of its beginning alone, says so."""
    rows = rows.with_columns(pl.col("sentiment").fill_nan(None))
    status, reason = _statuses(rows)
    rows = rows.with_columns(pl.lit(variant).alias("variant"), pl.lit(system).alias("system"), status, reason)
    return arrow_table(Scores, rows)


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


# --- people's votes -------------------------------------------------------------------------------------------------


class CompareVotes(Work, unit=f"agreement/{annotators.VERSION}", makes=[Annotations, Agreement]):
    """How far annotators agree with each other, and systems with their votes, on a variant of the texts.

    Attributes:
        identity: of the system of annotators.
        labels: what they say of texts.
    """

    sentences: TableRef
    texts: Sequence[TableRef]
    scores: Sequence[TableRef]
    variant: str
    system: str
    identity: Mapping[str, Any]
    labels: Labels = aside(default=None)

    def rows(self, store: Store) -> Iterator[Annotations | Agreement]:
        """A row for each group of texts, and one for each other system."""
        rows = pl.DataFrame(store.read(self.sentences))
        texts = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.texts)
        if "round_trip" in texts.columns:
            rows = rows.join(texts.select("text", "round_trip"), on="text", how="left", maintain_order="left")
            rows = rows.drop("text").rename({"round_trip": "text"})
        scores = pl.concat(pl.DataFrame(store.read(ref)) for ref in self.scores)
        for (group,), part in rows.group_by("group", maintain_order=True):
            yield self._annotated(str(group), part["text"])
            yield from self._shared(
                str(group), scores.join(part.select("sentence"), on="sentence", maintain_order="left")
            )

    def _annotated(self, group: str, column: pl.Series) -> Annotations:
        """How far annotators agree on the different texts of a group."""
        texts = column.drop_nulls().unique(maintain_order=True).to_list()
        codes = self.labels(texts)
        agreement, num_drawn = annotator_agreement(codes), int(has_tie(codes).sum())
        row = Annotations(variant=self.variant, group=group, system=self.system, num_texts=len(texts))
        row.num_labelled, row.num_unanimous, row.num_drawn = agreement.num_texts, agreement.num_unanimous, num_drawn
        if not agreement.num_texts:
            return row.fail("unlabelled", "no text has the labels of two annotators")
        row.percent_unanimous = 100.0 * agreement.num_unanimous / agreement.num_texts
        row.percent_pairwise = 100.0 * agreement.pairwise
        row.percent_drawn = 100.0 * num_drawn / agreement.num_texts
        return row

    def _shared(self, group: str, scores: pl.DataFrame) -> Iterator[Agreement]:
        """How far each other system agrees with the votes."""
        others = pl.col("system") != self.system
        votes = scores.filter(~others).select("sentence", vote="sentiment")
        for (system,), part in scores.filter(others).group_by("system", maintain_order=True):
            both = part.join(votes, on="sentence", maintain_order="left")
            num_texts, num_agreeing = shared_polarity(
                both["vote"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
                both["sentiment"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
            )
            row = Agreement(variant=self.variant, group=group, annotated=self.system, system=str(system))
            row.num_texts, row.num_agreeing = num_texts, num_agreeing
            if num_texts:
                row.percent_agreeing = 100.0 * num_agreeing / num_texts
            else:
                row.fail("incomparable", "no text has both a vote and a score")
            yield row


def compare_votes(
    run: Run[Any, Any],
    systems: Mapping[str, FoundSystem],
    texts: Texts,
    translated: Translated,
    scores: Mapping[Rated, TableRef],
) -> None:
    """Publish tables ``annotations`` and ``agreement``, a part for each system of annotators and each variant."""
    parts: list[tuple[CompareVotes, Finished]] = []
    sentences = texts.sentences.select("sentence", "group", "text")
    for name, system in systems.items():
        if system.labels is None:
            continue
        works = [
            CompareVotes(
                label=f"{name} on {variant}",
                group=f"agreement with {name} on {variant}",
                sentences=sentences,
                texts=refs,
                scores=[
                    ref.select("system", "sentence", "sentiment")
                    for (rated, _), ref in scores.items()
                    if rated == variant
                ],
                variant=variant,
                system=name,
                identity=system.identity,
                labels=system.labels,
            )
            for variant, refs in ({ORIGINAL: texts.chunks} | dict(translated)).items()
            if (variant, name) in scores
        ]
        parts += run.do(works, stage=f"agreement with {name}", publish=False, complete=False).pairs
    done = Done(parts)
    run.publish_all({"annotations": done.refs(Annotations), "agreement": done.refs(Agreement)})

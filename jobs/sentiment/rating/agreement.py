"""How far annotators agree with each other, and systems with their votes, on every variant of the texts."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.scoring import ORIGINAL, Rated
from tiltmeter.jobs.sentiment.rating.sentences import Texts
from tiltmeter.jobs.sentiment.rating.systems import FoundSystem, Labels
from tiltmeter.operators.sentiment import annotators
from tiltmeter.operators.sentiment.annotators import annotator_agreement, has_tie, shared_polarity
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_OK = {"status": "ok", "reason": ""}
_UNLABELLED = {"status": "unlabelled", "reason": "no text has the labels of two annotators"}
_APART = {"status": "incomparable", "reason": "no text has both a vote and a score"}


def agree(
    runner: Runner,
    systems: Mapping[str, FoundSystem],
    texts: Texts,
    translated: Mapping[str, Sequence[TableRef]],
    scores: Mapping[Rated, TableRef],
) -> dict[str, list[TableRef]]:
    """Tables ``annotations`` and ``agreement``, a part for each system of annotators and each variant."""
    parts: dict[str, list[TableRef]] = {"annotations": [], "agreement": []}
    for name, system in systems.items():
        if system.labels is None:
            continue
        units = {
            f"agreement with {name} on {variant}": [_unit(name, system, variant, texts, refs, scores)]
            for variant, refs in ({ORIGINAL: texts.chunks} | dict(translated)).items()
            if (variant, name) in scores
        }
        done = runner.run(Stage(f"agreement with {name}", each(partial(_agree, system.labels)), units))
        for group in units:
            for unit in done[group]:
                for table, refs in parts.items():
                    refs.append(unit.tables[table])
    return parts


def _unit(
    name: str,
    system: FoundSystem,
    variant: str,
    texts: Texts,
    refs: Sequence[TableRef],
    scores: Mapping[Rated, TableRef],
) -> Unit:
    others = [ref for (rated, _), ref in scores.items() if rated == variant]
    inputs = {
        "sentences": [texts.sentences.select("sentence", "group", "text")],
        "texts": list(refs),
        "scores": [ref.select("system", "sentence", "sentiment") for ref in others],
    }
    settings = {"variant": variant, "system": name, "identity": system.identity}
    return Unit(f"agreement/{annotators.VERSION}", f"{name} on {variant}", settings, inputs)


def _agree(labels: Labels, store: Store, unit: Unit) -> Tables:
    rows = pl.DataFrame(store.read(unit.input("sentences")))
    texts = pl.concat(pl.DataFrame(store.read(ref)) for ref in unit.inputs["texts"])
    if "round_trip" in texts.columns:
        rows = rows.join(texts.select("text", "round_trip"), on="text", how="left", maintain_order="left")
        rows = rows.drop("text").rename({"round_trip": "text"})
    scores = pl.concat(pl.DataFrame(store.read(ref)) for ref in unit.inputs["scores"])
    key = {name: unit.config[name] for name in ("variant", "system")}
    groups = rows.group_by("group", maintain_order=True)
    annotations = [key | {"group": group} | _annotated(part["text"], labels) for (group,), part in groups]
    yield "annotations", pa.Table.from_pylist(annotations, tables.ANNOTATIONS)
    shared = [
        {"variant": key["variant"], "group": group} | row
        for (group,), part in groups
        for row in _shared(scores.join(part.select("sentence"), on="sentence", maintain_order="left"), key["system"])
    ]
    yield "agreement", pa.Table.from_pylist(shared, tables.AGREEMENT)


def _annotated(column: pl.Series, labels: Labels) -> dict[str, Any]:
    """How far annotators agree on the different texts of a group."""
    texts = column.drop_nulls().unique(maintain_order=True).to_list()
    codes = labels(texts)
    agreement, num_drawn = annotator_agreement(codes), int(has_tie(codes).sum())
    row: dict[str, Any] = {"num_texts": len(texts), "num_labelled": agreement.num_texts}
    row |= {"num_unanimous": agreement.num_unanimous, "num_drawn": num_drawn}
    if not agreement.num_texts:
        return row | _UNLABELLED
    percent = {
        "percent_unanimous": 100.0 * agreement.num_unanimous / agreement.num_texts,
        "percent_pairwise": 100.0 * agreement.pairwise,
        "percent_drawn": 100.0 * num_drawn / agreement.num_texts,
    }
    return row | percent | _OK


def _shared(scores: pl.DataFrame, name: str) -> Iterator[dict[str, Any]]:
    """How far each other system agrees with the votes."""
    votes = scores.filter(system=name).select("sentence", vote="sentiment")
    for (system,), part in scores.filter(pl.col("system") != name).group_by("system", maintain_order=True):
        both = part.join(votes, on="sentence", maintain_order="left")
        num_texts, num_agreeing = shared_polarity(
            both["vote"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
            both["sentiment"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        )
        row = {"annotated": name, "system": system, "num_texts": num_texts, "num_agreeing": num_agreeing}
        yield row | ({"percent_agreeing": 100.0 * num_agreeing / num_texts} | _OK if num_texts else _APART)

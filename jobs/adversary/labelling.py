"""What candidates have to do with gender, and how stable they are: the table ``candidates``."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.config import GenderAdversaryRun
from tiltmeter.jobs.adversary.finding import Near
from tiltmeter.operators.classifiers.adversary import kinds
from tiltmeter.operators.classifiers.adversary.kinds import leaning_limits, replacement_kind
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_KEY = ["direction", "word", "candidate"]


def label_candidates(runner: Runner, config: GenderAdversaryRun, near: Near) -> TableRef:
    """The candidates of the original embedding, with their kinds, and the share of the replicas that have each."""
    settings = {"operator": kinds.VERSION, "words": config.words, "top": config.candidates.top}
    leanings = [ref.select("rank", "cosine", "leaning") for ref in near.controls]
    unit = Unit("adversary_candidates/2", "candidates", settings, {"near": near.along, "controls": leanings})
    [finished] = runner.run_whole(Stage("label candidates", each(_label), {"candidates": [unit]}))["candidates"]
    return finished.tables["candidates"]


def _label(store: Store, unit: Unit) -> Tables:
    original, *replicas = (pl.DataFrame(store.read(ref)) for ref in unit.inputs["near"])
    controls = [pl.DataFrame(store.read(ref)) for ref in unit.inputs["controls"]]
    nearest = pl.concat([original.select("rank", "cosine", "leaning").clear(), *controls])
    leaning = nearest.filter(pl.col("rank") < unit.config["top"]).drop_nulls()
    limits = leaning_limits(leaning["cosine"].to_numpy(), leaning["leaning"].to_numpy())
    words = unit.config["words"].gendered()

    def kind(row: Mapping[str, Any]) -> str:
        return replacement_kind((row["word"], row["candidate"].lower()), words, row["leaning"], row["cosine"], limits)

    labelled = original.with_columns(
        pl.Series("kind", [kind(row) for row in original.iter_rows(named=True)], pl.String),
        pl.Series("stability", _stability(original, replicas), pl.Float64),
    )
    yield "candidates", labelled.select(tables.CANDIDATES.names).to_arrow().cast(tables.CANDIDATES)


def _stability(original: pl.DataFrame, replicas: list[pl.DataFrame]) -> list[float | None]:
    if not replicas:
        return [None] * original.height
    counts = pl.concat([replica.select(_KEY) for replica in replicas]).group_by(_KEY).len()
    joined = original.select(_KEY).join(counts, on=_KEY, how="left", maintain_order="left")
    shares: list[float | None] = (joined["len"].fill_null(0) / np.float64(len(replicas))).to_list()
    return shares

"""`compare`: two systems on the same items, by their clusters; and numbers of two runs, by draws that they share."""

from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Exemption, Experiment, Outcome, ends, holds
from tiltmeter.jobs.changes.differences import Draws, _groups, _judgement, corrected
from tiltmeter.jobs.changes.tables import Differences
from tiltmeter.jobs.classifiers.intervals import mean_of_texts
from tiltmeter.jobs.runtime.draws import ORDER
from tiltmeter.jobs.upkeep.compare import logs
from tiltmeter.jobs.upkeep.compare.logs import Logs, TwoLogs, compare_logs
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import each

JOB = "compare"


def _compared(first: Any, second: Any, clusters: list[str] | None) -> list[dict[str, Any]]:
    """Rows of the table ``systems``, of several scores ``[scores, items]`` of each."""
    names = tuple(f"score {place}" for place in range(len(first)))
    items = [str(place) for place in range(first.shape[1])]
    known = {"task": ["items"] * len(items), "item": items, "cluster": clusters or [None] * len(items)}
    frame = pl.DataFrame(known, schema=dict.fromkeys(known, pl.String))
    sides = [
        logs._System(frame.with_columns(pl.Series(f"score_{place}", scores) for place, scores in enumerate(side)), 0)
        for side in (first, second)
    ]
    with patch.object(logs, "_read", side_effect=sides):
        made = compare_logs(Logs(score=names, cluster="doc.template" if clusters else None), TwoLogs([], []))
    return list(made.to_pylist())


def _systems(repetition: int, units: int, size: float, share: float, *, is_right: bool) -> dict[str, Outcome]:
    """In every cluster a coin says which of two systems is ahead, for three scores; or one is in most of them."""
    rng = np.random.default_rng([repetition, units, int(size)])
    sizes = np.ones(units, int) if size == 1 else 1 + rng.poisson((size - 1) * rng.lognormal(-0.5, 1.0, units))
    codes = np.repeat(np.arange(units), sizes)
    clusters = None if size == 1 else [f"template {code}" for code in codes]
    outcome: dict[str, Outcome] = {}
    for name, ahead in (("null", 0.5), ("moved", share)):
        signs = np.where(rng.random((3, units)) < ahead, 1.0, -1.0)[:, codes]
        if is_right:
            first, second = (rng.random((2, 3, codes.size)) < 0.5 + 0.3 * np.stack([-signs, signs])).astype(np.float64)
        else:
            first, second = rng.standard_normal((2, 3, codes.size)) + 0.6 * np.stack([-signs, signs])
        rows = _compared(first, second, clusters)
        if name == "null":
            outcome |= {"p": rows[0]["p"], "q": min((row["q"] for row in rows if row["q"] is not None), default=None)}
            outcome |= {"mcnemar_p": rows[0]["mcnemar_p"], "difference": holds(rows[0], "difference", 0.0)}
        else:
            outcome |= {"power": rows[0]["p"], "mcnemar power": rows[0]["mcnemar_p"]}
    return outcome


def _judged(draws: list[tuple[Draws, Draws]], numbers: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """Rows of the table ``differences``, of numbers with their draws in two runs."""
    before, after = (list(side) for side in zip(*draws, strict=True))
    columns = {"before": [one for one, _ in numbers], "after": [other for _, other in numbers]}
    frame = pl.DataFrame({"pair": range(len(numbers)), **columns}).with_columns(
        difference=pl.col("after") - pl.col("before")
    )
    parts = [
        _judgement(kind, frame[rows], [before[row] for row in rows], [after[row] for row in rows])
        for kind, rows in _groups(before, after).items()
    ]
    table = frame.join(pl.concat(parts), on="pair").drop("pair").to_dicts()
    return list(corrected(pa.Table.from_pylist(table, Differences.schema())).to_pylist())


def _nights(repetition: int, num_texts: int, other: float) -> dict[str, Outcome]:
    """Four classifiers of the same texts on two nights, on which some outcomes are drawn anew."""
    rng = np.random.default_rng([repetition, num_texts])
    intervals, units = KeyedResampleSettings(num_resamples=200), each(num_texts, "text")
    texts = [f"text {place}" for place in range(num_texts)]
    outcome: dict[str, Outcome] = {}
    for name, worse in (("null", 0.0), ("moved", 0.15)):
        draws, numbers = [], []
        for number in range(4):
            before = (rng.random(num_texts) < 0.7).astype(np.float64)
            after = np.where(rng.random(num_texts) < other, rng.random(num_texts) < 0.7, before).astype(np.float64)
            after[(rng.random(num_texts) < worse) & (after > 0)] = 0.0
            first, second = (
                mean_of_texts(f"share {number}", values, texts, units, intervals, 0, LOGIT)
                for values in (before, after)
            )
            draws.append((Draws(first.scheme, first.resamples), Draws(second.scheme, second.resamples)))
            numbers.append((first.value, second.value))
        found = _judged(draws, numbers)
        if name == "null":
            outcome |= {"p": found[0]["p"], "q": min(row["q"] for row in found), "difference": holds(found[0], "", 0.0)}
        else:
            outcome["power"] = found[0]["p"]
    changes = {"change": "difference", "p of a change": "p", "power of a change": "power"}  # the same judgement
    return outcome | {name: outcome[judged] for name, judged in changes.items()}


def _replicas(repetition: int, num: int) -> dict[str, Outcome]:
    """Numbers of replicas that train alike: what both nights share, and what each adds to every replica by itself."""
    rng = np.random.default_rng([repetition, num, 1])
    scheme = {"paired_by": "replicas", "seed": 0, ORDER: 4}
    outcome: dict[str, Outcome] = {}
    for name, gap in (("null", 0.0), ("moved", 1.0)):
        shared, apart = 2.0 * rng.standard_normal(num), rng.standard_normal((2, num))
        before, after = shared + apart[0], shared + apart[1] + gap
        pair = (Draws(scheme, before), Draws(scheme, after))
        [row] = _judged([pair], [(float(before.mean()), float(after.mean()))])
        if name == "null":
            outcome |= {"p_texts": row["p_texts"], "p": row["p"]}
        else:
            outcome["power"] = row["p_texts"]
    return outcome


def _claims(power: float, *, exact: bool = True, few: bool = False) -> tuple[Claim, ...]:
    coin, moved = "in every cluster either system is as likely to be ahead", "one system is ahead in most clusters"
    claims = [
        Claim("difference", "systems", ends("difference"), "coverage", "cluster", "0", documented=few),
        Claim("p", "systems", ("p",), "size", "cluster", coin),
        Claim("q", "systems", ("q",), "size", "cluster", coin),
        Claim("power", "systems", ("p", "q"), "power", "cluster", moved, power),
        Claim("mcnemar_p", "systems", ("mcnemar_p",), "size", "cluster", coin),
        Claim("mcnemar power", "systems", ("mcnemar_p",), "power", "cluster", moved, power),
    ]
    return tuple(claims if exact else claims[:4])


UNCHANGED, WRONG = "no night differs but by chance", "15 % of right outcomes become wrong"
_NIGHTS = (
    Claim("difference", "differences", ("low", "high"), "coverage", "text", "0"),
    Claim("p", "differences", ("p",), "size", "text", UNCHANGED),
    Claim("q", "differences", ("q",), "size", "text", UNCHANGED),
    Claim("power", "differences", ("p", "q"), "power", "text", WRONG, 0.5),
    Claim("change", "changes", ends("difference"), "coverage", "text", "0"),
    Claim("p of a change", "changes", ("p",), "size", "text", UNCHANGED),
    Claim("power of a change", "changes", ("p",), "power", "text", WRONG, 0.5),
)
_REPLICAS = (
    Claim("p_texts", "differences", ("p_texts",), "size", "replica", UNCHANGED),
    Claim("p", "differences", ("p",), "size", "replica", UNCHANGED),
    Claim("power", "differences", ("p_texts",), "power", "replica", "all replicas move by 1 sd", 0.6),
)

_stage = partial(Experiment, JOB)
_right = partial(_systems, is_right=True)
_score = partial(_systems, units=12, size=10, share=0.95, is_right=False)
_other = partial(_nights, num_texts=150, other=0.3)
EXPERIMENTS = [
    _stage("60 items apart", 1000, partial(_right, units=60, size=1, share=0.85), _claims(0.6)),
    _stage("20 clusters of 10 items", 1000, partial(_right, units=20, size=10, share=0.9), _claims(0.6)),
    _stage("8 clusters of 10 items", 1000, partial(_right, units=8, size=10, share=1.0), _claims(0.7, few=True)),
    _stage("12 clusters, scores that are no shares", 1000, _score, _claims(0.6, exact=False, few=True)),
    _stage("nights on 150 texts, three in ten outcomes drawn anew", 400, _other, _NIGHTS),
    _stage("nights of 16 replicas that train alike", 1000, partial(_replicas, num=16), _REPLICAS),
]

_COPIES = "copies of both runs' own intervals, which are claimed where they are made"
_SAME = "what compare's tables have, of every job of a night, judged by the same functions"
EXEMPTIONS = [
    Exemption(JOB, "changes", ends("before", "after"), _COPIES),
    Exemption("overnight", "changes", (*ends("before", "after", "difference"), "p"), _SAME),
    Exemption("overnight", "differences", ("low", "high", "p", "q", "p_texts"), _SAME),
]

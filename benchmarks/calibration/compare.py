"""`compare`: two systems on the same items, by their clusters; and numbers of two runs, by draws that they share."""

from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Exemption, Experiment, Outcome, ends, holds, share
from tiltmeter.jobs.changes.differences import Draws, _groups, _judgement, corrected
from tiltmeter.jobs.changes.tables import Differences
from tiltmeter.jobs.classifiers.intervals import mean_of_texts
from tiltmeter.jobs.runtime.draws import ORDER
from tiltmeter.jobs.upkeep.compare.pairs import ITEMS, Pair
from tiltmeter.jobs.upkeep.compare.systems import Inference, systems_table
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import each

JOB = "compare"


def _pair(one: Any, other: Any, clusters: list[str] | None = None, **names: str) -> Pair:
    """Of scores ``[items, repeats]`` of each."""
    num, repeats = one.shape
    variances = [side.var(axis=1, ddof=1) if repeats > 1 else [None] * num for side in (one, other)]
    columns = [[f"item {place}" for place in range(num)], clusters or [None] * num, one.mean(1), other.mean(1)]
    cells = dict(zip(ITEMS, [*columns, *variances, [repeats] * num, [repeats] * num], strict=True))
    said = {"task": "items", "score": "acc", "first": "first", "second": "second"} | names
    return Pair(**said, items=pl.DataFrame(cells, schema=ITEMS))


def _rows(pairs: list[Pair], **settings: Any) -> list[dict[str, Any]]:
    """Rows of the table ``systems``."""
    return list(systems_table(pairs, Inference(**settings)).to_pylist())


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
        pairs = [
            _pair(one[:, np.newaxis], other[:, np.newaxis], clusters, score=f"score {place}")
            for place, (one, other) in enumerate(zip(first, second, strict=True))
        ]
        rows = _rows(pairs, cluster="doc.template" if clusters else None)
        if name == "null":
            outcome |= {"p": rows[0]["p"], "q": min((row["q"] for row in rows if row["q"] is not None), default=None)}
            outcome |= {"mcnemar_p": rows[0]["mcnemar_p"], "difference": holds(rows[0], "difference", 0.0)}
        else:
            outcome |= {"power": rows[0]["p"], "mcnemar power": rows[0]["mcnemar_p"]}
    return outcome


def _answers(rng: Any, eases: Any, repeats: int) -> Any:
    """Right or wrong, ``[items, repeats]``, by what each item asks for."""
    return (rng.random((eases.size, repeats)) < share(eases)[:, np.newaxis]).astype(np.float64)


def _repeated(repetition: int, units: int, size: int, repeats: int, *, question: str) -> dict[str, Outcome]:
    """Systems whose items, and templates, favour either by chance; of samples, they are the same in all repetitions."""
    fixed = np.random.default_rng(units) if question == "samples" else np.random.default_rng([repetition, units, 1])
    rng, codes = np.random.default_rng([repetition, units, 2]), np.repeat(np.arange(units), size)
    clusters = [f"template {code}" for code in codes] if size > 1 else None
    ease, gap = fixed.normal(0.0, 1.0, codes.size), fixed.normal(0.0, 0.8, units)[codes]
    outcome: dict[str, Outcome] = {}
    for name, lead in (("null", 0.0), ("moved", 1.2)):
        eases = ease - gap / 2 - lead / 2, ease + gap / 2 + lead / 2
        if question == "samples" and name == "null":
            eases = eases[0], eases[0][::-1]  # other items are hard, and the means are the same
        made = _pair(*(_answers(rng, side, repeats) for side in eases), clusters)
        [row] = _rows([made], question=question, cluster="doc.template" if clusters else None)
        if name == "null":
            truth = float(share(eases[0]).mean())
            means = holds(row, "first", truth if question == "samples" else 0.5)
            outcome |= {"p": row["p"], "difference": holds(row, "difference", 0.0), "mean": means}
        else:
            outcome["power"] = row["p"]
    return outcome


def _several(repetition: int, num: int) -> dict[str, Outcome]:
    """Four systems as good as the first, on three tasks that share templates; or one of them is better."""
    rng = np.random.default_rng([repetition, num, 3])
    clusters = [f"template {place // 3}" for place in range(num)]
    outcome: dict[str, Outcome] = {}
    for name, lead in (("null", 0.0), ("moved", 1.5)):
        gaps = rng.normal(0.0, 0.7, (3, 5, num // 3)).repeat(3, axis=2)
        gaps[:, 1] += lead
        scores = (rng.random(gaps.shape) < share(gaps)).astype(np.float64)[..., np.newaxis]
        pairs = [
            _pair(task[0], task[other], clusters, task=f"task {place}", second=f"other {other}")
            for place, task in enumerate(scores)
            for other in range(1, 5)
        ]
        rows = _rows(pairs, cluster="doc.template")
        mean = next(row for row in rows if row["task"] == "mean of 3 tasks" and row["second_system"] == "other 1")
        if name == "null":
            least = min((row["p_family"] for row in rows if row["task"] == "task 0"), default=None)
            outcome |= {"p_family": least, "mean p": mean["p"], "mean": holds(mean, "difference", 0.0)}
        else:
            outcome |= {"power": rows[0]["p_family"], "mean power": mean["p"]}
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


def _repeated_claims(unit: str, null: str) -> tuple[Claim, ...]:
    return (
        Claim("p", "systems", ("p",), "size", unit, null),
        Claim("difference", "systems", ends("difference"), "coverage", unit, "0"),
        Claim("mean", "systems", ends("first", "second"), "coverage", unit, "the mean of all such"),
        Claim("power", "systems", ("p",), "power", unit, "one system is ahead by 1.2 logits", 0.6),
    )


EQUAL = "all systems are as good"
_SEVERAL = (
    Claim("p_family", "systems", ("p_family",), "size", "cluster", f"{EQUAL}: the least of four"),
    Claim("power", "systems", ("p_family",), "power", "cluster", "one is ahead by 1.5 logits", 0.6),
    Claim("mean p", "systems", ("p",), "size", "cluster", f"{EQUAL}, in the mean of tasks"),
    Claim("mean", "systems", ends("difference"), "coverage", "cluster", "0, in the mean of tasks"),
    Claim("mean power", "systems", ("p",), "power", "cluster", "one is ahead by 1.5 logits in every task", 0.8),
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
    _stage(
        "40 templates of 5 items of 3 repeats",
        400,
        partial(_repeated, units=40, size=5, repeats=3, question="items"),
        _repeated_claims("cluster", "templates favour either system by chance"),
    ),
    _stage(
        "new samples of 80 items, 3 repeats",
        400,
        partial(_repeated, units=80, size=1, repeats=3, question="samples"),
        _repeated_claims("repeat", "other items are hard for each, and the means are the same"),
    ),
    _stage("four systems against one, on three tasks of 90 items", 400, partial(_several, num=90), _SEVERAL),
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

"""`vector_quality`, and rankings by `association`: vectors and measures of several corpora that are drawn again.

As in :mod:`.embedding` a corpus adds noise to what is true, and a replica as much again to its corpus; what an interval
is for is the mean over other corpora. Questions of other sections are right with another chance, of which the share of
a whole set is the mean.
"""

from functools import cache, partial
from typing import Any, cast

import numpy as np
import pyarrow as pa

from benchmarks.calibration.embedding import PAPERS, Words, drawn_again, other_corpora
from benchmarks.calibration.registry import Claim, Exemption, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.association.ranking import CorrelateRankings, RankModels
from tiltmeter.jobs.association.tables import Measures
from tiltmeter.jobs.embedding.lookup import OfReplicas
from tiltmeter.jobs.embedding.vector_quality.scores import ScoreVectors, SummariseQuality
from tiltmeter.jobs.embedding.vector_quality.tables import WHOLE, Quality, Scores
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import LINEAR, IntervalSettings
from tiltmeter.operators.statistics.replicas import Replicated

# --- vector_quality ---------------------------------------------------------------------------------------------------

_NUM_WORDS, _NUM_PAIRS, _NUM_QUESTIONS = 60, 40, 60
_CORPUS, _NOISY = "replica of the corpus", 0.3
_OTHERS = "mean over other corpora that are drawn alike"
_TASKS = {"similarity": ("value", "value_of_all"), "analogies": ("value", "value_of_all", "value_with_inputs")}


@cache
def _sets() -> tuple[Words, dict[str, pa.Table]]:
    """Words in pairs that differ alike, of which people say something near their cosine; some are not there."""
    rng = np.random.default_rng(31)
    means = rng.standard_normal((_NUM_WORDS, 12))
    means[1::2] = means[::2] + 1.5 * rng.standard_normal(12) + rng.standard_normal(means[::2].shape)
    names = [f"w{number}" for number in range(_NUM_WORDS)]
    pairs = rng.integers(0, _NUM_WORDS, (_NUM_PAIRS, 2))
    human = (means[pairs[:, 0]] * means[pairs[:, 1]]).sum(axis=1) + rng.normal(0, 6, _NUM_PAIRS)
    first, second = 2 * rng.permuted(np.tile(np.arange(_NUM_WORDS // 2), (_NUM_QUESTIONS, 1)), axis=1)[:, :2].T
    asked = [first, first + 1, second, second + 1]
    known = np.array([*names[:-6], *["absent"] * 6])
    items = {
        "similarity": {"section": [WHOLE] * _NUM_PAIRS, "word_1": known[pairs[:, 0]], "word_2": known[pairs[:, 1]]}
    }
    named = dict(zip(("a", "b", "c", "expected"), (known[places] for places in asked), strict=True))
    items["analogies"] = {"section": [f"s{number % 6}" for number in range(_NUM_QUESTIONS)], **named}
    tables = {
        task: pa.table({**columns, "human": human}) if task == "similarity" else pa.table(columns)
        for task, columns in items.items()
    }
    return Words(names, means), tables


def _quality(vectors: list[pa.Table], task: str) -> dict[str, Any]:
    """The row of a whole set."""
    fields: dict[str, Any] = {"task": task, "measure": "", "most_words": None, "fold_case": True}
    held = {"items": _sets()[1][task], **{f"v{place}": table for place, table in enumerate(vectors)}}
    scores = {}
    for place in range(len(vectors)):
        work = ScoreVectors(items=cast(Any, "items"), vectors=cast(Any, f"v{place}"), **fields)
        scores[f"s{place}"] = dict(tables_of(work.rows(cast(Any, Held(held))), [Scores]))["quality_scores"]
    return _summarised(scores, task)


def _summarised(scores: dict[str, pa.Table], task: str) -> dict[str, Any]:
    about: dict[str, Any] = {"model": "aa", "language": "aa", "draws": None, "set": "made up", "task": task}
    refs = cast(Any, [Ref(name) for name in scores])
    work = SummariseQuality(num_replicas=len(scores) - 1, settings=IntervalSettings(), scores=refs, **about)
    tables = dict(tables_of(work.rows(cast(Any, Held(scores))), [Quality]))
    row = next(row for row in tables["quality"].to_pylist() if row["section"] == WHOLE)
    return row | {"draws": tables["draws"].to_pylist() if "draws" in tables else []}


@cache
def _truths(task: str) -> dict[str, float]:
    row = _quality(other_corpora(_sets()[0], np.random.default_rng(37), _NOISY, 300), task)
    whole = [draw for draw in row["draws"] if f'"section": "{WHOLE}"' in draw["key"]]
    return {draw["column"]: float(np.mean(draw["values"])) for draw in whole}


def _scored(num: int, repetition: int) -> dict[str, Outcome]:
    words, rng, found = _sets()[0], np.random.default_rng([repetition, num, 41]), dict[str, Outcome]()
    for task, columns in _TASKS.items():
        row = _quality(drawn_again(words, rng, num, _NOISY), task)
        for column in columns:
            name = "" if column == "value" else column
            found[f"{task}: {column}"] = holds(row, name, _truths(task)[column])
    return found


def _score_claims(num: int) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"{task}: {column}",
            "quality",
            ("low", "high") if column == "value" else ends(column),
            "coverage",
            _CORPUS,
            f"{task}: {_OTHERS}",
            None,
            num < 32,
        )
        for task, columns in _TASKS.items()
        for column in columns
    )


def _sections(repetition: int) -> dict[str, Outcome]:
    """Fourteen sections of unlike sizes, each with a chance of its own."""
    rng = np.random.default_rng([repetition, 43])
    sizes = rng.integers(20, 80, 14)
    right = rng.binomial(sizes, rng.beta(1.2, 1.8, 14))
    rows = [
        Scores(section=f"s{place}", value=right[place] / size, num_items=int(size), num_missing=0, num_words=9)
        for place, size in enumerate(sizes)
    ]
    whole = Scores(
        section=WHOLE, value=right.sum() / sizes.sum(), num_items=int(sizes.sum()), num_missing=0, num_words=9
    )
    table = dict(tables_of([*rows, whole], [Scores]))["quality_scores"]
    return {"by_section": holds(_summarised({"s0": table}, "analogies"), "by_section", 0.4)}


_BY_SECTION = Claim("by_section", "quality", ends("by_section"), "coverage", "section", "share of other sections")

# --- rankings of association ------------------------------------------------------------------------------------------

_MODELS, _QUERIES = ("a", "b", "c", "d"), 3
_EQUAL, _APART = np.zeros(4), np.array([0.0, 0.4, 0.8, 3.2])
_SPREADS = np.array([0.3, 0.6, 0.3, 0.4])[:, np.newaxis, np.newaxis]
"""Of noise, by model."""


def _numbers(means: FloatArray, rng: np.random.Generator, num: int, spreads: FloatArray = _SPREADS) -> FloatArray:
    """``[models, 1 + replicas, queries]`` of a measure; half of its queries lean to either side."""
    truth = (2.0 + means)[:, np.newaxis, np.newaxis] * np.array([1.0, -1.0, 1.0])
    corpus = truth + spreads * rng.standard_normal((len(means), 1, _QUERIES))
    replicas = corpus + spreads * rng.standard_normal((len(means), num, _QUERIES))
    return np.concatenate([corpus, replicas], axis=1)


def _ranked(numbers: FloatArray, measure: str = "rnd") -> dict[str, pa.Table]:
    texts = {"groups": "x, y", "attributes": "a", "larger": "more", "null": "", "num_words": 9, "missing_words": []}
    rows = [
        Measures(
            model=model,
            language="aa",
            measure=measure,
            query=f"q{query}",
            neutral=0.0,
            num_replicas=8,
            **cast(Any, texts),
            value=OfReplicas(Replicated(one[0, query], one[1:, query], one[:1, query]), IntervalSettings(), LINEAR),
        )
        for model, one in zip(_MODELS, numbers, strict=True)
        for query in range(_QUERIES)
    ]
    held = dict(tables_of(rows, [Measures]))
    settings: dict[str, Any] = {"settings": IntervalSettings(), "seed": 0, "draws_scheme": None}
    refs = {"measures": cast(Any, [Ref("measures")]), "draws": cast(Any, [Ref("draws")])}
    work = RankModels(measure=measure, language="aa", models=_MODELS, targets={}, **refs, **settings)
    return dict(work.tables(cast(Any, Held(held))))


def _ranks(num: int, repetition: int) -> dict[str, Outcome]:
    rng = np.random.default_rng([repetition, num, 53])
    equal, apart = (_ranked(_numbers(means, rng, num)) for means in (_EQUAL, _APART))
    truth = dict(zip(_MODELS, 2.0 + _APART, strict=True))
    models, pairs = apart["ranking"].to_pylist(), apart["rank_pairs"].to_pylist()
    turn = models[repetition % len(models)]
    return {
        "equal models": min(row["p_max_t"] for row in equal["rank_pairs"].to_pylist()),
        "an order": max(row["p_max_t"] for row in pairs if row["other"] == "d"),
        "ranks": all(holds(row, "rank", 1.0 + place) for place, row in enumerate(models)),
        "differences": all(holds(row, "difference", truth[row["model"]] - truth[row["other"]]) for row in pairs),
        "distance": holds(turn, "distance", truth[turn["model"]]),
    }


def _rank_claims(num: int) -> tuple[Claim, ...]:
    pairs = ("size", _CORPUS, "four models that are equal: any two are told apart")
    return (
        Claim("equal models", "rank_pairs", ("p_max_t",), *pairs),
        Claim("an order", "rank_pairs", ("p_max_t",), "power", _CORPUS, "the last is told apart from all", 0.9),
        Claim("ranks", "ranking", ends("rank"), "coverage", _CORPUS, "ranks of four models, all at once"),
        Claim("differences", "rank_pairs", ends("difference"), "coverage", _CORPUS, "all differences at once"),
        Claim("distance", "ranking", ends("distance"), "coverage", _CORPUS, _OTHERS, None, num < 32),
    )


def _correlated(num: int, repetition: int | None) -> dict[str, Any]:
    """Of two measures that order models alike, but for noise; without a repetition of many corpora."""
    rng = np.random.default_rng(59 if repetition is None else [repetition, num, 61])
    parts = {}
    for measure in ("rnd", "weat"):
        numbers = _numbers(_APART, rng, num)
        if repetition is None:
            truth = (2.0 + _APART)[:, np.newaxis, np.newaxis] * np.array([1.0, -1.0, 1.0])
            numbers = truth + _SPREADS * rng.standard_normal(numbers.shape)
        made = _ranked(numbers, measure)
        parts[measure] = made["ranking"], made["draws"]
    held = {Ref(f"{name} {place}"): part[place] for name, part in parts.items() for place in range(2)}
    refs = [cast(Any, [Ref(f"{name} {place}") for name in parts]) for place in range(2)]
    settings: dict[str, Any] = {"language": "aa", "settings": IntervalSettings(), "draws_scheme": None}
    work = CorrelateRankings(rankings=refs[0], draws=refs[1], **settings)
    return dict(work.tables(cast(Any, Held(held))))


@cache
def _rho() -> float:
    [draws] = _correlated(2000, None)["draws"].to_pylist()
    return float(np.mean(draws["values"]))


def _correlations(num: int, repetition: int) -> dict[str, Outcome]:
    [row] = _correlated(num, repetition)["rank_correlations"].to_pylist()
    return {"spearman": holds(row, "spearman", _rho())}


_SPEARMAN = ("rank_correlations", ends("spearman"), "coverage", _CORPUS, _OTHERS)

EXPERIMENTS = [
    *(
        Experiment("vector_quality", f"vector_quality: {num} replicas", 400, partial(_scored, num), _score_claims(num))
        for num in (8, 32)
    ),
    Experiment("vector_quality", "vector_quality: other sections", 1000, _sections, (_BY_SECTION,)),
    *(
        Experiment("association", f"association: ranking, {num} replicas", 400, partial(_ranks, num), _rank_claims(num))
        for num in (8, 32)
    ),
    *(
        Experiment(
            "association",
            f"association: rankings that agree, {num} replicas",
            400,
            partial(_correlations, num),
            (Claim("spearman", *_SPEARMAN, None, num < 32),),
        )
        for num in (8, 32)
    ),
]
EXEMPTIONS = [Exemption("vector_quality", "quality", ("*_percentile_low", "*_percentile_high"), PAPERS)]

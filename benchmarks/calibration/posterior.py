"""`sentiment_posterior`: groups of words, correlation with a lexicon, cues, and chains beside exact draws.

Numbers of words, and classifiers with the texts near their borders, are made up as the last stages read them.
"""

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.runtime.table import Table, tables_of
from tiltmeter.jobs.sentiment.posterior import comparisons
from tiltmeter.jobs.sentiment.posterior.classifiers import AskCues
from tiltmeter.jobs.sentiment.posterior.comparisons import MEASURES, CompareWords, CorrectGroups
from tiltmeter.jobs.sentiment.posterior.config import Cues
from tiltmeter.jobs.sentiment.posterior.tables import CueEffects, Groups, Lexicon
from tiltmeter.operators.sentiment.posterior.cues import Border, cue_responses, middle, one_way
from tiltmeter.operators.sentiment.posterior.diagnostics import agreement, diagnosed
from tiltmeter.operators.sentiment.posterior.networks import Network

JOB = "sentiment_posterior"
MEASURED = ("contrast",)
REF = cast(Any, Ref("none"))
Vectors = NDArray[np.float64]


def _table(rows: Iterable[Table], kind: type[Table]) -> pa.Table:
    return dict(tables_of(rows, [kind]))[kind.table_name]


# --- words ----------------------------------------------------------------------------------------------------------

PRIORS = ("standard", "texts")
COMPARISONS = {"even": (6, 6, 1), "unlike": (4, 9, 1), "forms": (6, 6, 2)}
"""Lemmas on either side, and forms of each."""

COMPARE = partial(CompareWords, lemmas={}, level=0.95, seed=0, sampler="exact", distances=[], diagnostics=[], asked=REF)


def _grouped(repetition: int, spread: float) -> dict[str, Outcome]:
    """Three comparisons under two priors; forms of a lemma share its value, and the smaller side spreads more."""
    rng = np.random.default_rng([repetition, int(10 * spread)])
    listed: dict[str, list[list[Any]]] = {}
    effects: dict[str, float] = {}
    for name, (first, second, forms) in COMPARISONS.items():
        listed[name] = [[], []]
        for place, (side, num) in enumerate((("first", first), ("second", second))):
            words = [f"{'qx'[place]}{name}{'bcdfghjkl'[lemma]}a" for lemma in range(num)]
            written = [(word, f"{word}s")[:forms] for word in words]
            for lemma in written:
                shared = rng.standard_normal() * (spread if name == "unlike" and not place else 1.0)
                effects |= {form: shared + (0.3 * rng.standard_normal() if forms > 1 else 0.0) for form in lemma}
            listed[name][place] = [side, [form for lemma in written for form in lemma]]
    frame = pl.DataFrame({"word": list(effects), "count": rng.integers(5, 5000, len(effects))})
    outcome: dict[str, Outcome] = {}
    for name, gap in (("null", 0.0), ("moved", 2.0)):
        parts = []
        for prior in PRIORS:
            values = np.array([*effects.values()]) + 0.5 * rng.standard_normal(len(effects))
            values += gap * frame["word"].str.starts_with("q").to_numpy()
            joined = frame.with_columns(pl.Series(measure, values) for measure in MEASURES)
            with patch.object(comparisons, "_COMPARED", MEASURED):
                groups = {comparison: [(side, words) for side, words in sides] for comparison, sides in listed.items()}
                parts.append(_table(COMPARE(groups=groups, prior=prior).differences(joined, [joined]), Groups))
        family = CorrectGroups(groups=cast(Any, range(len(parts))))
        rows = _table(family.rows(cast(Any, Held(dict(enumerate(parts))))), Groups).to_pylist()
        if name == "null":
            judged = {row["comparison"]: row for row in rows[:6] if row["measure"] == "contrast"}
            outcome |= {comparison: row["p"] for comparison, row in judged.items()}
            outcome |= {f"{comparison} ends": holds(row, "difference", 0.0) for comparison, row in judged.items()}
            outcome["p_holm"] = min(row["p_holm"] for row in rows if row["measure"] == "contrast")
        else:
            outcome["power"] = next(row["p_holm"] for row in rows if row["comparison"] == "even")
    return outcome


GAP = 1.0


def _listed(repetition: int, lemmas: int) -> dict[str, Outcome]:
    """Words of two polarities, half of them with a second form that shares all but a part of its value."""
    rng = np.random.default_rng([repetition, lemmas, 1])
    forms = 1 + np.arange(lemmas) // 2 % 2
    codes = np.repeat(np.arange(lemmas), forms)
    is_positive = codes % 2 == 0
    values = (
        rng.standard_normal(lemmas)[codes] * 0.9 + rng.standard_normal(codes.size) * np.sqrt(0.19) + GAP * is_positive
    )
    letters = "bcdfghjklmnpqrtvwz"
    stems = [f"{letters[code // 18 % 18]}i{letters[code % 18]}o{letters[code // 324]}a" for code in range(lemmas)]
    names = [
        f"{stems[code]}{'s' if second else ''}"
        for code, second in zip(codes, np.r_[False, codes[1:] == codes[:-1]], strict=True)
    ]
    polarity = np.where(is_positive, "positive", "negative")
    part = pl.DataFrame({"word": names, "polarity": polarity, "status": "ok", **dict.fromkeys(MEASURES, values)})
    with patch.object(comparisons, "MEASURES", MEASURED):
        row, *_ = COMPARE(groups={}, prior="standard").agreements([part, part])
    share = float(is_positive.mean())
    truth = GAP * np.sqrt(share * (1 - share)) / np.sqrt(1.0 + GAP**2 * share * (1 - share))
    return {"pearson": holds(_table([row], Lexicon).to_pylist()[0], "", float(truth))}


# --- cues -----------------------------------------------------------------------------------------------------------

DIMENSIONS, POOL, NEAR, WORDS = 5, 240, 40, 4
KNOWN = {"one": np.array([1.6, 0.4, 0.0, 0.0, 0.0]), "other": np.array([-2.4, 0.2, 0.0, 0.0, 0.0])}
APART = {"one": np.array([0.0, 1.0, 0.0, 0.0, 0.0]), "other": np.array([0.0, -1.0, 0.0, 0.0, 0.0])}
"""Cues that all classifiers take to different sides, and a pair of which each takes either to the one."""


def _borders(rng: np.random.Generator, num: int, differing: float) -> list[Border]:
    """Trainings that differ, on the same texts."""
    texts = rng.standard_normal((POOL, DIMENSIONS))
    num_words = rng.integers(2, 2 * WORDS, POOL)
    made = []
    for _ in range(num):
        slope = np.array([1.0, 0.0, 0.0, 0.0, 0.0]) + differing * rng.standard_normal(DIMENSIONS)
        network = Network((slope[:, np.newaxis],), (0.1 * differing * rng.standard_normal(1),))
        made.append(Border.of(network, texts, num_words, NEAR))
    return made


@lru_cache
def _truth(differing: float) -> tuple[float, float]:
    """PSE and effect of very many trainings on very many texts."""
    rng = np.random.default_rng(1)
    responses = [
        cue_responses(border.network, border.vectors, border.num_words, KNOWN["one"], KNOWN["other"])
        for _ in range(1500)
        for border in _borders(rng, 1, differing)
    ]
    flips = np.concatenate(one_way(responses) or [])
    effect = float(np.mean([response.first.mean() - response.second.mean() for response in responses]))
    return middle(flips[:, np.newaxis], 0.95).value, effect


def _asked(repetition: int, classifiers: int, differing: float) -> dict[str, Outcome]:
    rng = np.random.default_rng([repetition, classifiers])
    borders = _borders(rng, classifiers, differing)
    contents = [f"text {place}" for place in range(POOL)]
    work = AskCues(
        cues=Cues(pairs=(), texts=NEAR),
        tokens={},
        level=0.95,
        seed=0,
        models=[],
        labelled=REF,
        texts=REF,
        vocabulary=REF,
        words=REF,
    )
    asked = (work.effects(borders, contents, known, ("one", "other")) for known in (KNOWN, APART))
    row, apart = _table(asked, CueEffects).to_pylist()
    pse, effect = _truth(differing)
    return {
        "pse": holds(row, "pse", pse),
        "effect": holds(row, "effect", effect),
        "power": row["p"],
        "p": apart["p"],
        "null effect": holds(apart, "effect", 0.0),
    }


# --- chains ---------------------------------------------------------------------------------------------------------


def _chained(repetition: int, lag: float) -> dict[str, Outcome]:
    """Autoregressive chains of what independent draws are of, and of what is half a deviation off."""
    rng = np.random.default_rng([repetition, int(10 * lag)])
    steps = rng.standard_normal((4, 1500)) * np.sqrt(1 - lag**2)
    chains = np.empty_like(steps)
    chains[:, 0] = rng.standard_normal(4)
    for step in range(1, steps.shape[1]):
        chains[:, step] = lag * chains[:, step - 1] + steps[:, step]
    exact = rng.standard_normal(4000)
    found = [agreement(chains + offset, diagnosed(chains + offset), exact).ks_p for offset in (0.0, 0.2)]
    return {"ks_p": found[0], "power": found[1]}


DEALT = "which lemmas are in which group has nothing to do with their values"


def _group_claims(*, documented: bool = False) -> tuple[Claim, ...]:
    unit, claims = "word (lemma)", []
    for name in COMPARISONS:
        wide = documented and name == "unlike"
        claims += [
            Claim(name, "groups", ("p",), "size", unit, f"{DEALT} ({name})", documented=wide),
            Claim(f"{name} ends", "groups", ends("difference"), "coverage", unit, "0", documented=wide),
        ]
    return (
        *claims,
        Claim("p_holm", "groups", ("p_holm",), "size", unit, f"{DEALT}, of all six", documented=documented),
        Claim("power", "groups", ("p", "p_holm"), "power", unit, "two deviations apart", 0.3),
    )


def _cues(trainings: int) -> Experiment:
    unit, many = "text, training", "of 1,500 trainings"
    claims = (
        Claim("pse", "cues", ends("pse"), "coverage", unit, many),
        Claim("effect", "cues", ends("effect"), "coverage", unit, many),
        Claim(
            "null effect", "cues", ends("effect"), "coverage", unit, f"0, of {trainings} trainings that lean either way"
        ),
        Claim("p", "cues", ("p",), "size", unit, f"{trainings} trainings lean either way"),
        Claim("power", "cues", ("p",), "power", unit, "cues of different sides", 0.5),
    )
    return _stage(
        f"cues of {trainings} trainings", 1000, partial(_asked, classifiers=trainings, differing=0.15), claims
    )


_LEXICON = (Claim("pearson", "lexicon", ("low", "high"), "coverage", "word (lemma)", "correlation of the population"),)
_CHAINS = (
    Claim("ks_p", "diagnostics", ("ks_p",), "size", "draw, thinned", "chains are of what exact draws are of"),
    Claim("power", "diagnostics", ("ks_p",), "power", "draw, thinned", "a fifth of a deviation off", 0.9),
)

_stage = partial(Experiment, JOB)
_alike, _unlike = (partial(_grouped, spread=spread) for spread in (1.0, 2.0))
EXPERIMENTS = [
    _stage("groups of 4 to 12 words", 400, _alike, _group_claims()),
    _stage("groups, 4 words of twice the spread", 400, _unlike, _group_claims(documented=True)),
    _stage("a lexicon of 60 lemmas, 90 words", 1000, partial(_listed, lemmas=60), _LEXICON),
    _cues(5),
    _cues(3),
    _stage("chains with a lag of 0.6", 1000, partial(_chained, lag=0.6), _CHAINS, "operator"),
]

"""`psychophysics`: PSE and JND of occupations in noisy vectors, pooled over cues that are drawn, and by the world."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration import embedding
from benchmarks.calibration.embedding import DIMS, NOISE, Turns, Words, drawn_again, other_corpora
from benchmarks.calibration.registry import Claim, Exemption, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.psychophysics.config import PsychophysicsConfig
from tiltmeter.jobs.psychophysics.psychometrics import MeasurePsychometrics
from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD, flip_points
from tiltmeter.operators.text.wordsets import Occupations

JOB = "psychophysics"
NUM_OCCUPATIONS, NUM_OTHER = 12, 200

_WORDS = tuple(f"job{number:02d}" for number in range(NUM_OCCUPATIONS))
_WOMEN = dict(zip(_WORDS, np.linspace(95, 5, NUM_OCCUPATIONS).tolist(), strict=True))
_WORD = _WORDS[3]
_PLAIN: Turns = {
    "psychometrics": [["pse"], ["pse_fit"]],
    "occupation_contrast": [["score"], ["effect_size"]],
}


def _occupations(lean: float) -> NDArray[np.float64]:
    means = 0.8 * np.random.default_rng(41).standard_normal((NUM_OCCUPATIONS, DIMS))
    means[:, 0] = lean * np.linspace(1.0, -1.0, NUM_OCCUPATIONS)
    return means


def _cues(rng: np.random.Generator, num_pairs: int) -> NDArray[np.float64]:
    """``[pairs, 2, dims]``: words on two sides of an axis, each with a meaning of its own."""
    cues = 0.6 * rng.standard_normal((num_pairs, 2, DIMS))
    cues[..., 0] += np.array([1.5, -1.5])
    return cues


def _words(occupations: NDArray[np.float64], cues: NDArray[np.float64]) -> Words:
    names = [f"{side}{number}" for number in range(len(cues)) for side in ("she", "he")]
    return Words([*_WORDS, *names], np.concatenate([occupations, cues.reshape(-1, DIMS)]))


def _tables(vectors: list[pa.Table], num_pairs: int) -> dict[str, pa.Table]:
    refs = [Ref(f"embedding {place}") for place in range(len(vectors))]
    pairs = tuple((f"she{number}", f"he{number}") for number in range(num_pairs))
    work = MeasurePsychometrics(
        model=Vectors("aa", "aa", cast(Any, refs)),
        gender_pairs=pairs,
        num_listed=num_pairs,
        other_pairs=(),
        occupations=Occupations("made up", 2026, _WOMEN),
        settings=PsychophysicsConfig(width="window", num_resamples=50, combinations="listed", ddof=1),
        seed=0,
    )
    return dict(work.tables(cast(Any, Held(dict(zip(refs, vectors, strict=True))))))


def _row(table: pa.Table, **key: str) -> Mapping[str, Any]:
    return next(row for row in table.to_pylist() if key.items() <= row.items())


@cache
def _fixed() -> Words:
    return _words(_occupations(0.8), _cues(np.random.default_rng(43), 4))


@cache
def _truths() -> Mapping[str, float]:
    """A replica has the noise of its corpus, and its own: over other corpora, a PSE is the mean of such flips.

    What pooled cues say is the mean over many pairs of cues and corpora.
    """
    others = _tables(other_corpora(_fixed(), np.random.default_rng(61), 2**0.5 * NOISE), 4)["draws"].to_pylist()
    wanted = f'"word": "{_WORD}", "cue_1": "she0"'
    flips = next(row["values"] for row in others if row["table"] == "psychometrics" and wanted in row["key"])
    many = _flips_of(np.random.default_rng(47), _cues(np.random.default_rng(53), 20_000))
    contrast = embedding.truths(_tables(other_corpora(_fixed(), np.random.default_rng(59)), 4)["draws"])[
        "occupation_contrast"
    ]
    return {
        "pse": float(np.mean(flips)),
        "pooled": float(many.mean()),
        **{name: contrast[name][0][1] for name in ("score", "effect_size")},
    }


def _flips_of(rng: np.random.Generator, cues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the occupation with each pair of cues, in a corpus and a replica of its own."""
    word = _occupations(0.8)[3]
    noise = 2**0.5 * NOISE * rng.standard_normal((3, len(cues), DIMS))
    return flip_points(word + noise[0], cues[:, 0] + noise[1], cues[:, 1] + noise[2])


def _replicas(num: int, repetition: int) -> dict[str, Outcome]:
    """Cues and occupations that stay: a corpus drawn again."""
    known, rng = _truths(), np.random.default_rng([repetition, num])
    tables = _tables(drawn_again(_fixed(), rng, num), 4)
    row, contrast = _row(tables["psychometrics"], word=_WORD, cue_1="she0"), _row(tables["occupation_contrast"])
    found = {f"psychometrics: {name}": holds(row, name, known["pse"]) for name in ("pse", "pse_fit")}
    return found | {
        f"occupation_contrast: {name}": holds(contrast, name, known[name]) for name in ("score", "effect_size")
    }


def _widths(num: int, repetition: int) -> dict[str, Outcome]:
    """How far other replicas of the same corpus spread, which many of them tell."""
    rng = np.random.default_rng([repetition, num, 67])
    corpus = Words(_fixed().names, _fixed().means + NOISE * rng.standard_normal(_fixed().means.shape))
    word, she, he = (corpus.means[corpus.names.index(name)] for name in (_WORD, "she0", "he0"))
    noise = NOISE * rng.standard_normal((3, 4000, DIMS))
    jnd = JND_PER_SD * float(flip_points(word + noise[0], she + noise[1], he + noise[2]).std(ddof=1))
    # The corpus is what its replicas are drawn around.
    vectors = other_corpora(corpus, rng, num=num)
    row = _row(_tables(vectors, 4)["psychometrics"], word=_WORD, cue_1="she0")
    return {f"psychometrics: {name}": holds(row, name, jnd) for name in ("jnd", "jnd_fit")}


def _pooled(num_pairs: int, num: int, repetition: int) -> dict[str, Outcome]:
    """Cues that are drawn anew each time; and more of them, asked of the same replicas."""
    rng = np.random.default_rng([repetition, num_pairs, num, 71])
    cues, others = _cues(rng, num_pairs), _cues(rng, NUM_OTHER)
    words = _words(_occupations(0.8), np.concatenate([cues, others]))
    vectors = drawn_again(words, rng, num)
    row = _row(_tables(vectors, num_pairs)["pooled_psychometrics"], word=_WORD)
    of = [np.stack(table["vector"].to_numpy(zero_copy_only=False)) for table in vectors[1:]]
    of_cues = np.stack(of)[:, NUM_OCCUPATIONS:].reshape(num, -1, 2, DIMS)
    word = np.stack(of)[:, _WORDS.index(_WORD), np.newaxis]
    mean = float(flip_points(word, of_cues[:, num_pairs:, 0], of_cues[:, num_pairs:, 1]).mean())
    return {
        "pooled_psychometrics: pse": holds(row, "pse", _truths()["pooled"]),
        "pooled_psychometrics: pse_cues": holds(row, "pse_cues", mean),
    }


def _chance(repetition: int) -> dict[str, Outcome]:
    """Occupations of each corpus anew, that lean to no side, or by their shares."""
    found: dict[str, Outcome] = {}
    for what, lean in (("by chance", 0.0), ("leaning", 3.0)):
        rng = np.random.default_rng([repetition, 73])
        occupations = rng.standard_normal((NUM_OCCUPATIONS, DIMS))
        occupations[:, 0] += lean * np.linspace(1.0, -1.0, NUM_OCCUPATIONS)
        tables = _tables(drawn_again(_words(occupations, _cues(rng, 2)), rng, 3), 2)
        validated = _row(tables["validation"], measure="pse", against="share_men", cue_1="she0")
        numbers = {"p_value": _row(tables["occupation_contrast"])["p_value"]}
        numbers |= {name: validated[name] for name in ("pearson_p", "spearman_p")}
        found |= {f"{name}, {what}": p for name, p in numbers.items()}
    return found


_SHARES = ("occupation", "shares of women dealt by chance", "occupations lean by their shares")
_TESTED = {"p_value": "occupation_contrast", "pearson_p": "validation", "spearman_p": "validation"}
_TESTS = {column: (table, *_SHARES) for column, table in _TESTED.items()}


def _held(table: str, unit: str, numbers: Mapping[str, str], *, documented: bool = False) -> tuple[Claim, ...]:
    """Of the intervals of numbers, with what they should hold."""
    return tuple(
        Claim(f"{table}: {name}", table, ends(name), "coverage", unit, truth, documented=documented)
        for name, truth in numbers.items()
    )


_WIDTHS = _held(
    "psychometrics",
    "replica of the corpus",
    dict.fromkeys(("jnd", "jnd_fit"), "JND of 4,000 other replicas of this corpus"),
)


def _cue_claims(*, documented: bool = False) -> tuple[Claim, ...]:
    numbers = {"pse": "mean over other cues and corpora", "pse_cues": "mean of these replicas over 200 other pairs"}
    return _held("pooled_psychometrics", "pair of cues, replica of the corpus", numbers, documented=documented)


_stage = partial(Experiment, JOB)
EXPERIMENTS = [
    _stage("psychophysics: 8 replicas", 1000, partial(_replicas, 8), embedding.coverage(_PLAIN, documented=True)),
    _stage("psychophysics: 32 replicas", 1000, partial(_replicas, 32), embedding.coverage(_PLAIN)),
    _stage("psychophysics: widths, 32 replicas", 400, partial(_widths, 32), _WIDTHS),
    _stage("psychophysics: eight pairs of cues", 200, partial(_pooled, 8, 16), _cue_claims()),
    _stage("psychophysics: two pairs of cues", 200, partial(_pooled, 2, 16), _cue_claims(documented=True)),
    _stage("psychophysics: shares dealt by chance", 400, _chance, tuple(embedding.by_chance(_TESTS, 0.5))),
]

EXEMPTIONS = [
    *embedding.percentiles(JOB, "psychometrics", "pooled_psychometrics", "validation", "occupation_contrast"),
    embedding.tested_p(JOB, "occupation_contrast"),
    Exemption(JOB, "psychometrics", ("*_monte_carlo_low", "*_monte_carlo_high"), embedding.NUMERIC),
]

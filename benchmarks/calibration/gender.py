"""`gender_survey`: words, professions, pairs and languages in noisy vectors, and two lists dealt by chance."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.calibration.embedding import (
    Truths,
    Words,
    coverage,
    drawn_again,
    held,
    name_of,
    other_corpora,
    percentiles,
    truths,
)
from benchmarks.calibration.made import done
from benchmarks.calibration.registry import Claim, Experiment, Outcome
from tiltmeter.jobs.gender import genders, languages, sets
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.text.wordsets import DefiningPair, GenderSurvey, GenderWords, WordForms

JOB = "gender_survey"
DIMS, NUM_PAIRS, NUM_PROFESSIONS = 12, 6, 12

_PAIRS = [(f"woman{number}", f"man{number}") for number in range(NUM_PAIRS)]
_FORMS = {f"job{number}": WordForms((f"f{number}",), (f"m{number}",)) for number in range(NUM_PROFESSIONS)}
_ORIGINAL = tuple(f"old{number}" for number in range(16))
_SURVEY = GenderSurvey("Latn", "made up", {f"{f}-{m}": DefiningPair(f, m) for f, m in _PAIRS}, _FORMS)
_LISTS = GenderWords(tuple(_PAIRS[:4]), _ORIGINAL)
_SAME = {"config": GenderConfig(), "draws": None}

_WEIGHTED = ("", "_by_count", "_by_form", "_by_gender")
_TURNS: dict[str, list[list[str]]] = {
    "gender_words": [["bias"]],
    "gender_professions": [[f"bias{by}" for by in _WEIGHTED]],
    "gender_languages": [
        [f"direct_bias{by}" for by in _WEIGHTED],
        ["direct_bias_of_forms"],
        [f"mean_bias{by}" for by in _WEIGHTED],
        ["female_words", "male_words"],
        ["first_share", "second_share"],
        ["gap"],
        ["agreement"],
    ],
    "gender_pairs": [["direct_bias"], ["change", "gap_change"], ["similarity"], ["first_share"], ["gap"]],
    "language_correlation": [[f"correlation{by}" for by in _WEIGHTED]],
    "gender_sets": [["original_mean", "modified_mean"], ["t"], ["similarity"]],
}


def _words(seed: int, *, gendered: float = 0.6) -> Words:
    """Pairs on both sides of an axis, forms of professions that lean to theirs, and words of an older list."""
    rng = np.random.default_rng([seed, 17])
    listed = {word: side for pair in _PAIRS for word, side in zip(pair, (1.0, -1.0), strict=True)}
    for number in range(NUM_PROFESSIONS):
        lean = rng.normal(0.0, 0.3)
        listed |= {f"f{number}": lean + gendered / 2, f"m{number}": lean - gendered / 2}
    listed |= dict.fromkeys(_ORIGINAL, 0.0)
    means = rng.standard_normal((len(listed), DIMS)) * 0.8
    means[:, 0] = list(listed.values())
    return Words(list(listed), means)


def _measured(vectors: list[pa.Table], language: str) -> dict[str, pa.Table]:
    """The tables of a language, as its stage makes them."""
    settings = _SAME | {"model": language, "language": language, "num_tokens": None, "words": _SURVEY}
    return done(genders._measure, settings, {"vectors": vectors})


def _compared(vectors: list[pa.Table], original: GenderWords, survey: GenderSurvey) -> dict[str, pa.Table]:
    """Both lists, as their stage holds them against each other."""
    words = {"original": original, "modified": survey}
    settings = _SAME | {"model": "aa", "language": "aa", "words": words, "seed": 0}
    return done(sets._compare, settings, {"vectors": vectors})


def _correlated(biases: list[pa.Table]) -> dict[str, pa.Table]:
    settings = {"languages": ["aa", "bb"], "intervals": IntervalSettings(), "weights": "count", "draws": None}
    found = done(languages._correlate, settings, {"biases": biases})
    return {"language_correlation": found["language_correlation"], "draws": found["unnamed_draws"]}


def _all_tables(vectors: Mapping[str, list[pa.Table]]) -> dict[str, pa.Table]:
    """Of one language, of its two lists, and of how it goes with the other language."""
    parts = {language: _measured(tables, language) for language, tables in vectors.items()}
    compared = _compared(vectors["aa"], _LISTS, _SURVEY)
    correlated = _correlated([part["profession_biases"] for part in parts.values()])
    draws = pa.concat_tables([part["draws"] for part in (parts["aa"], compared, correlated)])
    return parts["aa"] | compared | correlated | {"draws": draws}


@cache
def _two_languages() -> dict[str, Words]:
    first, second = _words(0), _words(1)
    # Half of what their professions say is in common.
    return {"aa": first, "bb": Words(second.names, (first.means + second.means) / 2**0.5)}


@cache
def _truths() -> Truths:
    rng = np.random.default_rng(23)
    words = _two_languages()
    known = truths(_all_tables({language: other_corpora(of, rng) for language, of in words.items()})["draws"])
    pairs = {
        column: [(key, mean) for key, mean in rows if key["language_1"] != key["language_2"]]
        for column, rows in known["language_correlation"].items()
    }
    return {**known, "language_correlation": pairs}


def _replicas(num: int, repetition: int) -> dict[str, Outcome]:
    rng = np.random.default_rng([repetition, num])
    tables = _all_tables({language: drawn_again(of, rng, num) for language, of in _two_languages().items()})
    return {
        name_of(table, columns): held(repetition, tables, _truths(), table, columns)
        for table, turns in _TURNS.items()
        for columns in turns
    }


def _dealt(repetition: int) -> dict[str, Outcome]:
    """Words of both lists alike, and one list further on a side; each corpus has words of its own."""
    return {name: _p_of_lists(repetition, shift) for name, shift in (("p", 0.0), ("power", 0.9))}


def _p_of_lists(repetition: int, shift: float) -> Any:
    rng = np.random.default_rng([repetition, 29])
    names = [*(word for pair in _PAIRS for word in pair), *_ORIGINAL, *(f"new{number}" for number in range(10))]
    means = rng.standard_normal((len(names), DIMS))
    means[: 2 * NUM_PAIRS, 0] = [2.0, -2.0] * NUM_PAIRS
    means[-10:, 0] += shift
    forms = {name: WordForms(neutral=(name,)) for name in names[-10:]}
    survey = GenderSurvey("Latn", "made up", _SURVEY.defining, forms)
    vectors = drawn_again(Words(names, means), rng, 2)
    table = _compared(vectors, GenderWords(tuple(_PAIRS), _ORIGINAL), survey)["gender_sets"]
    return next(row["p"] for row in table.to_pylist() if row["score"] == "bias")


def _claims(*, documented: bool = False) -> tuple[Claim, ...]:
    return tuple(
        coverage(table, columns, documented=documented) for table, turns in _TURNS.items() for columns in turns
    )


_P = ("gender_sets", ("p",))

EXPERIMENTS = [
    Experiment("gender_survey: 8 replicas", JOB, "stage", 200, partial(_replicas, 8), _claims(documented=True)),
    Experiment("gender_survey: 32 replicas", JOB, "stage", 200, partial(_replicas, 32), _claims()),
    Experiment(
        "gender_survey: two lists of words",
        JOB,
        "stage",
        400,
        _dealt,
        (
            Claim("p", *_P, "size", "word", "two lists dealt from one by chance"),
            Claim("power", *_P, "power", "word", "ten words 0.9 standard deviations on one side", 0.35),
        ),
    ),
]

EXEMPTIONS = [percentiles(JOB, table) for table in _TURNS]

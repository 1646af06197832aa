"""`association`: effect sizes in noisy vectors, words dealt to two sets by chance, and occupations beside the world."""

from functools import cache, partial

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
    tested_p,
    truths,
)
from benchmarks.calibration.made import looked_up
from benchmarks.calibration.registry import Claim, Experiment, Outcome
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.tables import Associations, Validation, WordAssociations
from tiltmeter.jobs.association.weat import associate
from tiltmeter.jobs.association.wefat import associate_words
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.operators.text.wordsets import Association, NamedWords, Occupations, Wefat

JOB = "association"
DIMS = 12
_X, _Y = (NamedWords(side, tuple(f"{side}{number}" for number in range(8))) for side in "xy")
_A, _B = (NamedWords(side, tuple(f"{side}{number}" for number in range(6))) for side in "ab")
_OCCUPATIONS = tuple(f"job{number:02d}" for number in range(30))
_TEST, _WEFAT = Association("made up", _X, _Y, _A, _B), Wefat("made up", _A, _B)
_KEY = {"model": "aa", "language": "aa"}

_TURNS = {
    "associations": [["score"], ["effect_size"]],
    "word_associations": [["effect_size"]],
    "validation": [["pearson", "spearman"]],
}
EXEMPTIONS = [*(percentiles(JOB, table) for table in _TURNS), tested_p(JOB, "associations")]


def _words(rng: np.random.Generator, lean: float, num_occupations: int = 30) -> Words:
    """Attributes on two sides, targets and occupations that lean to theirs, or to none."""
    occupations = _OCCUPATIONS[:num_occupations]
    leans = {word: side * lean for side, named in ((1.0, _X), (-1.0, _Y)) for word in named.words}
    leans |= {word: side for side, named in ((1.0, _A), (-1.0, _B)) for word in named.words}
    leans |= {word: lean * place for word, place in zip(occupations, np.linspace(2, -2, num_occupations), strict=True)}
    means = rng.standard_normal((len(leans), DIMS))
    means[:, 0] += list(leans.values())
    return Words(list(leans), means)


def _tables(vectors: list[pa.Table], num_occupations: int = 30) -> dict[str, pa.Table]:
    """Of both stages."""
    women = dict(zip(_OCCUPATIONS[:num_occupations], np.linspace(95, 5, num_occupations).tolist(), strict=True))
    occupations, config, lookup = Occupations("made up", 2026, women), AssociationConfig(), looked_up(vectors)
    key = _KEY | {"test": "made up", "similarity": "cosine"}
    tests = associate(lookup, _KEY, "made up", _TEST, config)
    words = associate_words(lookup, key, _WEFAT, occupations, "cosine", config)
    return dict(tables_of([*tests, *words], [Associations, WordAssociations, Validation]))


@cache
def _fixed() -> Words:
    return _words(np.random.default_rng(3), 0.3)


@cache
def _truths() -> Truths:
    return truths(_tables(other_corpora(_fixed(), np.random.default_rng(5)))["draws"])


def _replicas(num: int, repetition: int) -> dict[str, Outcome]:
    tables = _tables(drawn_again(_fixed(), np.random.default_rng([repetition, num]), num))
    return {
        name_of(table, columns): held(repetition, tables, _truths(), table, columns)
        for table, turns in _TURNS.items()
        for columns in turns
    }


def _chance(num_occupations: int, repetition: int) -> dict[str, Outcome]:
    """Words of each corpus anew, without replicas, without a lean and with one."""
    found: dict[str, Outcome] = {}
    for what, lean in (("by chance", 0.0), ("leaning", 1.0)):
        words = _words(np.random.default_rng([repetition, num_occupations]), lean, num_occupations)
        corpus = drawn_again(words, np.random.default_rng(repetition), 0)
        tables = _tables(corpus, num_occupations)
        [row] = tables["associations"].to_pylist()
        [validated] = tables["validation"].to_pylist()
        numbers = {"p_value": row["p_value"]} | {name: validated[name] for name in ("pearson_p", "spearman_p")}
        found |= {f"{name}, {what}": p for name, p in numbers.items()}
    return found


_TESTS = {
    "p_value": ("associations", "word of X and Y", "words dealt to X and Y by chance", "two lists a side apart"),
    "pearson_p": ("validation", "occupation", "shares of women dealt by chance", "occupations lean by their shares"),
    "spearman_p": ("validation", "occupation", "shares of women dealt by chance", "occupations lean by their shares"),
}


def _ps(least: float) -> tuple[Claim, ...]:
    pairs = (
        (
            Claim(f"{column}, by chance", table, (column,), "size", unit, null),
            Claim(f"{column}, leaning", table, (column,), "power", unit, other, least),
        )
        for column, (table, unit, null, other) in _TESTS.items()
    )
    return tuple(claim for both in pairs for claim in both)


def _claims(*, documented: bool = False) -> tuple[Claim, ...]:
    return tuple(
        coverage(table, columns, documented=documented) for table, turns in _TURNS.items() for columns in turns
    )


EXPERIMENTS = [
    Experiment("association: 8 replicas", JOB, "stage", 400, partial(_replicas, 8), _claims(documented=True)),
    Experiment("association: 32 replicas", JOB, "stage", 400, partial(_replicas, 32), _claims()),
    Experiment("association: words dealt by chance", JOB, "stage", 1000, partial(_chance, 30), _ps(0.6)),
    Experiment("association: seven occupations", JOB, "stage", 1000, partial(_chance, 7), _ps(0.25)),
]

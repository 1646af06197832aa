"""`association` and `gender_survey`, and what jobs on embeddings share: vectors of words whose truth is known.

A word has a vector of its own; a corpus adds noise to it, and a replica as much again to that of its corpus. What a
number would be in other corpora on average, which its interval is for, is its mean over many corpora that are drawn
like the first. What it would be without noise is something else, which no interval holds (``intervals``). Beside them
words are dealt to two sets by chance, occupations lean by their shares or by chance, and two lists are dealt from one.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Exemption, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.measures import measured
from tiltmeter.jobs.association.tables import Associations, Measures, Validation, WordAssociations
from tiltmeter.jobs.association.weat import associate
from tiltmeter.jobs.association.wefat import associate_words
from tiltmeter.jobs.embedding import lookup
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.gender.languages import BothLists, CompareSets, CorrelateLanguages, MeasureGender
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.association.known_measures import KNOWN
from tiltmeter.operators.association.measures import Exchange
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.text import wordsets

NOISE, DIMS = 0.5, 12
NUM_CORPORA = 1000

PAPERS = (
    "percentiles of the replicas, as the papers have them: no side rests on them, and docs/how_sure.md says how often "
    "they hold"
)
NUMERIC = "how exactly a p-value or a mean is known that partitions or replicas give; nothing is inferred by it"

Vectors = Sequence[pa.Table]
Truths = Mapping[str, Mapping[str, Sequence[tuple[dict[str, Any], float]]]]
"""By table and column: key columns of each row, and the mean of its number over other corpora."""

Turns = Mapping[str, Sequence[Sequence[str]]]
"""By table: columns of which one claim is made, by turns."""


class Words(NamedTuple):
    """Attributes:
    names: of the words.
    means: ``[words, dims]``, their vectors without noise.
    """

    names: Sequence[str]
    means: NDArray[np.float64]


def drawn_again(words: Words, rng: np.random.Generator, num_replicas: int, noise: float = NOISE) -> list[pa.Table]:
    """Vectors of a corpus, and then of its replicas."""
    corpus = words.means + noise * rng.standard_normal(words.means.shape)
    more = noise * rng.standard_normal((num_replicas, *words.means.shape))
    return [_table(words, vectors) for vectors in (corpus, *(corpus + more))]


def other_corpora(
    words: Words, rng: np.random.Generator, noise: float = NOISE, num: int = NUM_CORPORA
) -> list[pa.Table]:
    """Vectors of many corpora, the first of them in the place of the original."""
    drawn = words.means + noise * rng.standard_normal((1 + num, *words.means.shape))
    return [_table(words, vectors) for vectors in drawn]


def _table(words: Words, vectors: NDArray[np.float64]) -> pa.Table:
    counts = [10 * (1 + number % 7) for number in range(len(words.names))]
    columns = {"word": list(words.names), "spelled": list(words.names), "count": pa.array(counts, pa.int64())}
    return pa.table({**columns, "vector": vector_column(vectors)})


def truths(draws: pa.Table) -> Truths:
    """Of what a stage leaves of its draws, where these are other corpora."""
    found: dict[str, dict[str, list[tuple[dict[str, Any], float]]]] = {}
    for row in draws.to_pylist():
        mean = float(np.nanmean(np.array(row["values"], dtype=np.float64)))
        found.setdefault(row["table"], {}).setdefault(row["column"], []).append((json.loads(row["key"]), mean))
    return found


def held(repetition: int, tables: Mapping[str, pa.Table], known: Truths, turns: Turns) -> dict[str, Outcome]:
    """Whether the interval of one of the columns of each claim holds its truth: columns and rows by turns."""
    found: dict[str, Outcome] = {}
    for table, columns in ((table, columns) for table, listed in turns.items() for columns in listed):
        column = columns[repetition % len(columns)]
        rows = known[table][column]
        key, truth = rows[repetition // len(columns) % len(rows)]
        row = next(row for row in tables[table].to_pylist() if key.items() <= row.items())
        found[name_of(table, columns)] = holds(row, column, truth)
    return found


def coverage(turns: Turns, *, documented: bool = False) -> tuple[Claim, ...]:
    """Of the intervals of columns.

    Args:
        documented: of few replicas: resampling may shift a number by up to a standard deviation before its interval
            moves around it, which costs 4 to 6 points, and so few don't tell.
    """
    about = ("coverage", "replica of the corpus", "mean over other corpora that are drawn alike", None, documented)
    return tuple(
        Claim(name_of(table, columns), table, ends(*columns), *about)
        for table, listed in turns.items()
        for columns in listed
    )


def name_of(table: str, columns: Sequence[str]) -> str:
    """Of a claim."""
    return f"{table}: {', '.join(columns)}"


def percentiles(job: str, *tables: str) -> list[Exemption]:
    """The papers' intervals beside ours."""
    return [Exemption(job, table, ("*_percentile_low", "*_percentile_high"), PAPERS) for table in tables]


def tested_p(job: str, table: str) -> Exemption:
    """How exactly the p-value of an association test is known."""
    return Exemption(job, table, ("p_low", "p_high", "p_standard_error", "p_method"), NUMERIC)


# --- association ------------------------------------------------------------------------------------------------------

_X, _Y = (wordsets.NamedWords(side, tuple(f"{side}{number}" for number in range(8))) for side in "xy")
_A, _B = (wordsets.NamedWords(side, tuple(f"{side}{number}" for number in range(6))) for side in "ab")
_OCCUPATIONS = tuple(f"job{number:02d}" for number in range(30))
_TEST, _WEFAT = wordsets.Association("made up", _X, _Y, _A, _B), wordsets.Wefat("made up", _A, _B)
_ASSOCIATIONS: Turns = {
    "associations": [["score"], ["effect_size"]],
    "word_associations": [["effect_size"]],
    "validation": [["pearson", "spearman"]],
}


def _leaning(rng: np.random.Generator, lean: float, num_occupations: int = 30) -> Words:
    """Attributes on two sides, targets and occupations that lean to theirs, or to none."""
    occupations = _OCCUPATIONS[:num_occupations]
    leans = {word: side * lean for side, named in ((1.0, _X), (-1.0, _Y)) for word in named.words}
    leans |= {word: side for side, named in ((1.0, _A), (-1.0, _B)) for word in named.words}
    leans |= {word: lean * place for word, place in zip(occupations, np.linspace(2, -2, num_occupations), strict=True)}
    means = rng.standard_normal((len(leans), DIMS))
    means[:, 0] += list(leans.values())
    return Words(list(leans), means)


def _lookup(vectors: Vectors) -> lookup.Lookup:
    return lookup.Lookup(cast(Any, Held(dict(enumerate(vectors)))), {"vectors": cast(Any, range(len(vectors)))})


def _associations(vectors: Vectors, num_occupations: int = 30) -> dict[str, pa.Table]:
    """Of both stages."""
    women = dict(zip(_OCCUPATIONS[:num_occupations], np.linspace(95, 5, num_occupations).tolist(), strict=True))
    occupations, config = wordsets.Occupations("made up", 2026, women), AssociationConfig()
    words_of, key = _lookup(vectors), {"model": "aa", "language": "aa"}
    tests = associate(words_of, key, "made up", _TEST, config)
    words = associate_words(
        words_of, key | {"test": "made up", "similarity": "cosine"}, _WEFAT, occupations, "cosine", config
    )
    return dict(tables_of([*tests, *words], [Associations, WordAssociations, Validation]))


@cache
def _fixed() -> tuple[Words, Truths]:
    words = _leaning(np.random.default_rng(3), 0.3)
    return words, truths(_associations(other_corpora(words, np.random.default_rng(5)))["draws"])


def _associated(num: int, repetition: int) -> dict[str, Outcome]:
    words, known = _fixed()
    tables = _associations(drawn_again(words, np.random.default_rng([repetition, num]), num))
    return held(repetition, tables, known, _ASSOCIATIONS)


def _chance(num_occupations: int, repetition: int) -> dict[str, Outcome]:
    """Words of each corpus anew, without replicas, without a lean and with one."""
    found: dict[str, Outcome] = {}
    for what, lean in (("by chance", 0.0), ("leaning", 1.0)):
        words = _leaning(np.random.default_rng([repetition, num_occupations]), lean, num_occupations)
        tables = _associations(drawn_again(words, np.random.default_rng(repetition), 0), num_occupations)
        [row], [validated] = (tables[name].to_pylist() for name in ("associations", "validation"))
        found |= {f"{name}, {what}": (row if name == "p_value" else validated)[name] for name in _TESTS}
    return found


_OCCUPATION = ("validation", "occupation", "shares of women dealt by chance", "occupations lean by their shares")
_TESTS = {
    "p_value": ("associations", "word of X and Y", "words dealt to X and Y by chance", "two lists a side apart"),
    "pearson_p": _OCCUPATION,
    "spearman_p": _OCCUPATION,
}


def by_chance(tests: Mapping[str, tuple[str, str, str, str]], least: float) -> Iterator[Claim]:
    """Of columns: their table, unit, null and what else is true, and the least power."""
    for column, (table, unit, null, other) in tests.items():
        yield Claim(f"{column}, by chance", table, (column,), "size", unit, null)
        yield Claim(f"{column}, leaning", table, (column,), "power", unit, other, least)


_MEASURES = {name: one for name, one in KNOWN.items() if name != "rnsb_splits"}
"""Of splits there is no other corpus: they are of a procedure."""


def _measures(vectors: Vectors) -> dict[str, pa.Table]:
    """Of every measure."""
    words_of, config = _lookup(vectors), AssociationConfig(num_draws=999)
    key = {"model": "aa", "language": "aa", "query": "made up"}
    rows = (
        row
        for name, one in _MEASURES.items()
        for row in measured(words_of, key | {"measure": name}, one, _TEST, config, 0)
    )
    return dict(tables_of(rows, [Measures]))


@cache
def _fixed_measures() -> tuple[Words, Truths]:
    words = _leaning(np.random.default_rng(3), 0.3)
    return words, truths(_measures(other_corpora(words, np.random.default_rng(5), num=300))["draws"])


def _interval_of_measures(num: int, repetition: int) -> dict[str, Outcome]:
    """Of every measure the interval of a row, by turns."""
    words, known = _fixed_measures()
    rows = _measures(drawn_again(words, np.random.default_rng([repetition, num, 1]), num))["measures"].to_pylist()
    found: dict[str, Outcome] = {}
    for name in _MEASURES:
        of_name = [(key, truth) for key, truth in known["measures"]["value"] if key["measure"] == name]
        key, truth = of_name[repetition % len(of_name)]
        found[name] = holds(next(row for row in rows if key.items() <= row.items()), "", truth)
    return found


def _measures_by_chance(repetition: int) -> dict[str, Outcome]:
    """p-values of words of each corpus anew, without replicas, without a lean and with one."""
    found: dict[str, Outcome] = {}
    for what, lean in (("by chance", 0.0), ("leaning", 1.0)):
        rng = np.random.default_rng([repetition, 7])
        words = _leaning(rng, lean)
        if lean:
            words.means[:, 0] *= 2.0
        else:  # of attributes, too
            words.means[:] = rng.standard_normal(words.means.shape)
        rows = _measures(drawn_again(words, np.random.default_rng(repetition), 0))["measures"].to_pylist()
        for name in _EXCHANGED:
            row = next(row for row in rows if row["measure"] == name)
            found[f"p of {name}, {what}"] = row["p_value"]
            if row["word"] is not None:
                found[f"max-T of {name}, {what}"] = min(one["p_max_t"] for one in rows if one["measure"] == name)
    return found


def _measure_coverage(num: int) -> Iterator[Claim]:
    for name in _MEASURES:
        truth = f"mean of {name} over other corpora that are drawn alike"
        yield Claim(name, "measures", ("low", "high"), "coverage", "replica of the corpus", truth, None, num < 32)


_EXCHANGED = {name: one.null for name, one in _MEASURES.items() if isinstance(one.null, Exchange)}


def _measure_claims() -> Iterator[Claim]:
    for name, null in _EXCHANGED.items():
        unit, what = f"one of the {null.of}", f"{name}: {null.of} dealt by chance"
        apart = f"{name}: lists a side apart"
        yield Claim(f"p of {name}, by chance", "measures", ("p_value",), "size", unit, what)
        yield Claim(f"p of {name}, leaning", "measures", ("p_value",), "power", unit, apart, _POWERS[name])
        if KNOWN[name].of_words:
            of_all = f"{what}; any word of a query"
            yield Claim(f"max-T of {name}, by chance", "measures", ("p_max_t",), "size", unit, of_all)
            yield Claim(f"max-T of {name}, leaning", "measures", ("p_max_t",), "power", unit, apart, 0.2)


_POWERS = {"weat": 0.6, "rnd": 0.3, "rnd_raw": 0.2, "ect": 0.05, "ripa": 0.1, "semaxis": 0.08, "nas": 0.2}
"""At least; of SemAxis and NAS for one word. With words dealt wrongly SemAxis's axis is short, and cosines large."""


# --- gender_survey ----------------------------------------------------------------------------------------------------

NUM_PAIRS, NUM_PROFESSIONS = 6, 12

_PAIRS = [(f"woman{number}", f"man{number}") for number in range(NUM_PAIRS)]
_FORMS = {f"job{number}": wordsets.WordForms((f"f{number}",), (f"m{number}",)) for number in range(NUM_PROFESSIONS)}
_ORIGINAL = tuple(f"old{number}" for number in range(16))
_SURVEY = wordsets.GenderSurvey("Latn", "made up", {f"{f}-{m}": wordsets.DefiningPair(f, m) for f, m in _PAIRS}, _FORMS)
_LISTS = wordsets.GenderWords(tuple(_PAIRS[:4]), _ORIGINAL)
_CONFIG = GenderConfig(exponent=1.0, weights="count")

_WEIGHTED = ("", "_by_count", "_by_form", "_by_gender")
_GENDERS: Turns = {
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


def _two_sided(seed: int) -> Words:
    """Pairs on both sides of an axis, forms of professions that lean to theirs, and words of an older list."""
    rng = np.random.default_rng([seed, 17])
    listed = {word: side for pair in _PAIRS for word, side in zip(pair, (1.0, -1.0), strict=True)}
    for number in range(NUM_PROFESSIONS):
        lean = rng.normal(0.0, 0.3)
        listed |= {f"f{number}": lean + 0.3, f"m{number}": lean - 0.3}
    listed |= dict.fromkeys(_ORIGINAL, 0.0)
    means = rng.standard_normal((len(listed), DIMS)) * 0.8
    means[:, 0] = list(listed.values())
    return Words(list(listed), means)


def _made(work: Work, held: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return dict(work.tables(cast(Any, Held(held))))


def _model(vectors: Vectors, name: str) -> tuple[lookup.Vectors, dict[str, pa.Table]]:
    """An embedding as units have it, and what is held of it."""
    refs = [Ref(f"embedding {place}") for place in range(len(vectors))]
    return lookup.Vectors(name, name, cast(Any, refs)), dict(zip(refs, vectors, strict=True))


def _measured(vectors: Vectors, language: str) -> dict[str, pa.Table]:
    """The tables of a language, as its stage makes them."""
    model, held = _model(vectors, language)
    return _made(MeasureGender(model=model, num_tokens=None, words=_SURVEY, settings=_CONFIG), held)


def _compared(vectors: Vectors, original: wordsets.GenderWords, survey: wordsets.GenderSurvey) -> dict[str, pa.Table]:
    """Both lists, as their stage holds them against each other."""
    model, held = _model(vectors, "aa")
    words = BothLists(original=original, modified=survey)
    return _made(CompareSets(model=model, words=words, settings=_CONFIG, seed=0), held)


def _correlated(biases: list[pa.Table]) -> dict[str, pa.Table]:
    refs = [Ref(f"biases {place}") for place in range(len(biases))]
    correlate = CorrelateLanguages(
        languages=["aa", "bb"], intervals=IntervalSettings(), weights="count", draws=None, biases=cast(Any, refs)
    )
    found = _made(correlate, dict(zip(refs, biases, strict=True)))
    return {"language_correlation": found["language_correlation"], "draws": found["unnamed_draws"]}


def _surveyed(vectors: Mapping[str, Vectors]) -> dict[str, pa.Table]:
    """Of one language, of its two lists, and of how it goes with the other language."""
    parts = {language: _measured(tables, language) for language, tables in vectors.items()}
    compared = _compared(vectors["aa"], _LISTS, _SURVEY)
    correlated = _correlated([part["profession_biases"] for part in parts.values()])
    draws = pa.concat_tables([part["draws"] for part in (parts["aa"], compared, correlated)])
    return parts["aa"] | compared | correlated | {"draws": draws}


@cache
def _two_languages() -> dict[str, Words]:
    first, second = _two_sided(0), _two_sided(1)
    # Half of what their professions say is in common.
    return {"aa": first, "bb": Words(second.names, (first.means + second.means) / 2**0.5)}


@cache
def _truths() -> Truths:
    rng = np.random.default_rng(23)
    known = truths(_surveyed({name: other_corpora(of, rng) for name, of in _two_languages().items()})["draws"])
    pairs = {
        column: [(key, mean) for key, mean in rows if key["language_1"] != key["language_2"]]
        for column, rows in known["language_correlation"].items()
    }
    return {**known, "language_correlation": pairs}


def _languages(num: int, repetition: int) -> dict[str, Outcome]:
    rng = np.random.default_rng([repetition, num])
    tables = _surveyed({language: drawn_again(of, rng, num) for language, of in _two_languages().items()})
    return held(repetition, tables, _truths(), _GENDERS)


def _dealt(repetition: int) -> dict[str, Outcome]:
    """Words of both lists alike, and one list further on a side; each corpus has words of its own."""
    return {name: _p_of_lists(repetition, shift) for name, shift in (("p", 0.0), ("power", 0.9))}


def _p_of_lists(repetition: int, shift: float) -> Any:
    rng = np.random.default_rng([repetition, 29])
    names = [*(word for pair in _PAIRS for word in pair), *_ORIGINAL, *(f"new{number}" for number in range(10))]
    means = rng.standard_normal((len(names), DIMS))
    means[: 2 * NUM_PAIRS, 0] = [2.0, -2.0] * NUM_PAIRS
    means[-10:, 0] += shift
    forms = {name: wordsets.WordForms(neutral=(name,)) for name in names[-10:]}
    survey = wordsets.GenderSurvey("Latn", "made up", _SURVEY.defining, forms)
    vectors = drawn_again(Words(names, means), rng, 2)
    table = _compared(vectors, wordsets.GenderWords(tuple(_PAIRS), _ORIGINAL), survey)["gender_sets"]
    return next(row["p"] for row in table.to_pylist() if row["score"] == "bias")


_DEALT = (
    Claim("p", "gender_sets", ("p",), "size", "word", "two lists dealt from one by chance"),
    Claim("power", "gender_sets", ("p",), "power", "word", "ten words 0.9 standard deviations on one side", 0.35),
)


def _experiments(job: str, repetitions: int, run: Callable[[int, int], Any], turns: Turns) -> Iterator[Experiment]:
    """A corpus drawn again, of few replicas and of more."""
    for num in (8, 32):
        claims = coverage(turns, documented=num < 32)
        yield Experiment(job, f"{job}: {num} replicas", repetitions, partial(run, num), claims)


def _other_measures() -> Iterator[Experiment]:
    for num in (8, 32):
        run, claims = partial(_interval_of_measures, num), tuple(_measure_coverage(num))
        yield Experiment("association", f"association: other measures, {num} replicas", 200, run, claims)
    dealt = tuple(_measure_claims())
    yield Experiment("association", "association: other measures by chance", 400, _measures_by_chance, dealt)


_ASSOCIATION, _SEVEN = (tuple(by_chance(_TESTS, least)) for least in (0.6, 0.25))
EXPERIMENTS = [
    *_experiments("association", 400, _associated, _ASSOCIATIONS),
    Experiment("association", "association: words dealt by chance", 1000, partial(_chance, 30), _ASSOCIATION),
    Experiment("association", "association: seven occupations", 1000, partial(_chance, 7), _SEVEN),
    *_other_measures(),
    *_experiments("gender_survey", 200, _languages, _GENDERS),
    Experiment("gender_survey", "gender_survey: two lists of words", 400, _dealt, _DEALT),
]
EXEMPTIONS = [
    *percentiles("association", "measures", *_ASSOCIATIONS),
    Exemption("association", "measures", ("p_method",), NUMERIC),
    tested_p("association", "associations"),
    *percentiles("gender_survey", *_GENDERS),
]

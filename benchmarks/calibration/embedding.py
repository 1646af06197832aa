"""`association` and `gender_survey`, and what jobs on embeddings share: vectors of words whose truth is known.

A word has a vector of its own; a corpus adds noise to it, and a replica as much again to that of its corpus. What a
number would be in other corpora on average, which its interval is for, is its mean over many corpora that are drawn
like the first. What it would be without noise is something else, which no interval holds (``intervals``). Beside them
words are dealt to two sets by chance, occupations lean by their shares or by chance, and two lists are dealt from one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Exemption, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.directions import Direction, measured_along
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
from tiltmeter.operators.association.direction_measures import OF_DIRECTIONS
from tiltmeter.operators.association.known_measures import KNOWN
from tiltmeter.operators.association.measures import Exchange
from tiltmeter.operators.embedding.bootstrap import Resampling, line_multiplicities
from tiltmeter.operators.embedding.encoders.sentences import by_few_templates, word_means
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


def _measure_coverage(num: int, names: Iterable[str]) -> Iterator[Claim]:
    for name in names:
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


_PAIRED = Direction(
    tuple((f"f{number}", f"m{number}") for number in range(6)),
    tuple(f"w{number}" for number in range(60)),
    tuple(f"o{number:02d}" for number in range(40)),
)


def _paired(rng: np.random.Generator, lean: float, spread: float = 1.0) -> Words:
    """Pairs that differ in the first dimension, and words that lie along it and others; each has another that is near.

    Args:
        lean: of both.
        spread: how far apart words lie that are not near.
    """
    names = [*(word for pair in _PAIRED.pairs for word in pair), *_PAIRED.words, *_PAIRED.others]
    means = rng.standard_normal((len(names), DIMS))
    words = slice(12, 72)
    means[words] = spread * np.repeat(means[words][::2], 2, axis=0) + rng.standard_normal((60, DIMS)) / 2.0
    means[:12, 0] += np.tile([3.0 * lean, -3.0 * lean], 6)
    means[words, :3] += np.repeat([[1.0], [-1.0]], 30, axis=0) * lean
    return Words(names, means)


def _along(vectors: Vectors) -> dict[str, pa.Table]:
    """Of every measure along the direction of the pairs."""
    words_of, config, key = _lookup(vectors), AssociationConfig(), {"model": "aa", "language": "aa", "query": "pairs"}
    rows = (
        row
        for name, one in OF_DIRECTIONS.items()
        for row in measured_along(words_of, key | {"measure": name}, one, _PAIRED, config, 0)
    )
    return dict(tables_of(rows, [Measures]))


@cache
def _fixed_along() -> tuple[Words, Truths]:
    words = _paired(np.random.default_rng(13), 0.4, spread=2.5)
    return words, truths(_along(other_corpora(words, np.random.default_rng(15), num=300))["draws"])


def _interval_along(num: int, repetition: int) -> dict[str, Outcome]:
    words, known = _fixed_along()
    rows = _along(drawn_again(words, np.random.default_rng([repetition, num, 2]), num))["measures"].to_pylist()
    found: dict[str, Outcome] = {}
    for name in OF_DIRECTIONS:
        of_name = [(key, truth) for key, truth in known["measures"]["value"] if key["measure"] == name]
        key, truth = of_name[repetition % len(of_name)]
        found[name] = holds(next(row for row in rows if key.items() <= row.items()), "", truth)
    return found


def _along_by_chance(repetition: int) -> dict[str, Outcome]:
    """Pairs like any others, and pairs with a direction that words lie along."""
    found: dict[str, Outcome] = {}
    for what, lean in (("by chance", 0.0), ("leaning", 1.0)):
        words = _paired(np.random.default_rng([repetition, 17]), lean)
        rows = _along(drawn_again(words, np.random.default_rng(repetition), 0))["measures"].to_pylist()
        for name in _BY_DIRECTIONS:
            row = next(row for row in rows if row["measure"] == name)
            found[f"p of {name}, {what}"] = row["p_value"]
            if row["word"] is not None:
                found[f"max-T of {name}, {what}"] = min(one["p_max_t"] for one in rows if one["measure"] == name)
    return found


_BY_DIRECTIONS = {"direct_bias": 0.3, "indirect_bias": 0.03, "clustering": 0.01, "clustering_left": 0.08}
"""At least the power. Words are in two clusters along any direction by which they are chosen, and hardly so without."""


def _claims_along() -> Iterator[Claim]:
    for name, power in _BY_DIRECTIONS.items():
        columns, unit = ("p_value",), "direction"
        yield Claim(f"p of {name}, by chance", "measures", columns, "size", unit, f"{name}: pairs like any others")
        yield Claim(f"p of {name}, leaning", "measures", columns, "power", unit, f"{name}: words lie along", power)
    yield Claim(
        "max-T of indirect_bias, by chance", "measures", ("p_max_t",), "size", unit, "any word: pairs like others"
    )
    yield Claim("max-T of indirect_bias, leaning", "measures", ("p_max_t",), "power", unit, "any word: lie along", 0.05)


_POWERS = {"weat": 0.6, "rnd": 0.3, "rnd_raw": 0.2, "ect": 0.05, "ripa": 0.1, "semaxis": 0.08, "nas": 0.2}
"""At least; of SemAxis and NAS for one word. With words dealt wrongly SemAxis's axis is short, and cosines large."""


# Words in sentences: vectors round their word, of which those of a template or document have something in common.

_NUM_SENTENCES = {"templates": 8, "contexts": 20}
_PUBLISHED = "as published: what they say without any bias, docs/sentence_encoders.md says"


def _in_sentences(words: Words, kind: str, rng: np.random.Generator, num_replicas: int) -> list[pa.Table]:
    """Means over templates, the same of each word, or over contexts out of 60 documents; then those of replicas."""
    num, (num_words, dims) = _NUM_SENTENCES[kind], words.means.shape
    common = 0.5 * rng.standard_normal((60, dims))
    clusters = np.tile(np.arange(num), (num_words, 1))
    if kind == "contexts":
        clusters = rng.integers(60, size=(num_words, num))
    vectors = words.means[:, None] + common[clusters] + 1.5 * rng.standard_normal((num_words, num, dims))
    flat, of_word = vectors.reshape(-1, dims), np.repeat(np.arange(num_words), num)
    keys = rng.integers(2**63, size=60).astype(np.uint64)[clusters.ravel()]
    lines, drawn = np.zeros(keys.size, np.int32), Resampling("document", "exponential")
    weights = line_multiplicities(0, keys, lines, num_replicas, drawn)
    original, *replicas = (word_means(flat, of_word, column, num_words) for column in weights.T)
    if kind == "templates":
        replicas = [by_few_templates(original, one, num) for one in replicas]
    return [_table(words, means) for means in (original, *replicas)]


@cache
def _fixed_in_sentences(kind: str) -> tuple[Words, float]:
    words, rng = _leaning(np.random.default_rng(3), 0.5), np.random.default_rng(5)
    many = (_associations(_in_sentences(words, kind, rng, 0))["associations"] for _ in range(400))
    return words, float(np.mean([table["effect_size"][0].as_py() for table in many]))


def _of_sentences(kind: str, repetition: int) -> dict[str, Outcome]:
    words, truth = _fixed_in_sentences(kind)
    rng = np.random.default_rng([repetition, 51])
    [row] = _associations(_in_sentences(words, kind, rng, 32))["associations"].to_pylist()
    found: dict[str, Outcome] = {"interval": holds(row, "effect_size", truth)}
    for what, lean in (("by chance", 0.0), ("leaning", 1.0)):
        tables = _associations(_in_sentences(_leaning(rng, lean), kind, rng, 0))
        found[what] = tables["associations"]["p_value"][0].as_py()
    return found


def _claims_of_sentences(kind: str) -> tuple[Claim, ...]:
    table, unit = "associations", {"templates": "template", "contexts": "document"}[kind]
    return (
        Claim("by chance", table, ("p_value",), "size", "word of X and Y", "words dealt to X and Y by chance"),
        Claim("leaning", table, ("p_value",), "power", "word of X and Y", "two lists a side apart", 0.5),
        Claim("interval", table, ends("effect_size"), "coverage", unit, f"mean over other {kind}", None, True),
    )


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
        run, claims = partial(_interval_of_measures, num), tuple(_measure_coverage(num, _MEASURES))
        yield Experiment("association", f"association: other measures, {num} replicas", 200, run, claims)
        run, claims = partial(_interval_along, num), tuple(_measure_coverage(num, OF_DIRECTIONS))
        yield Experiment("association", f"association: along a direction, {num} replicas", 200, run, claims)
    dealt = tuple(_measure_claims())
    yield Experiment("association", "association: other measures by chance", 400, _measures_by_chance, dealt)
    yield Experiment("association", "association: directions by chance", 400, _along_by_chance, (*_claims_along(),))


_ASSOCIATION, _SEVEN = (tuple(by_chance(_TESTS, least)) for least in (0.6, 0.25))
EXPERIMENTS = [
    *_experiments("association", 400, _associated, _ASSOCIATIONS),
    Experiment("association", "association: words dealt by chance", 1000, partial(_chance, 30), _ASSOCIATION),
    Experiment("association", "association: seven occupations", 1000, partial(_chance, 7), _SEVEN),
    *_other_measures(),
    *(
        Experiment("association", f"association: words in {kind}", 400, partial(_of_sentences, kind), claims)
        for kind in _NUM_SENTENCES
        for claims in [_claims_of_sentences(kind)]
    ),
    *_experiments("gender_survey", 200, _languages, _GENDERS),
    Experiment("gender_survey", "gender_survey: two lists of words", 400, _dealt, _DEALT),
]
EXEMPTIONS = [
    *percentiles("association", "measures", *_ASSOCIATIONS),
    Exemption("association", "measures", ("p_method",), NUMERIC),
    tested_p("association", "associations"),
    Exemption("association", "sentence_tests", ("published_p",), _PUBLISHED),
    *percentiles("gender_survey", *_GENDERS),
]

"""Stages that measure how far embeddings lean, each number with its interval over the replicas.

From every replica the vectors of the word lists are taken out; three units then measure on them: the two-alternative
forced choice, the association tests, and the bias of professions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from cluster.stages import Runner, Stage
from cluster.workers import Tables, each
from jobs import tables
from jobs.embedding import Embeddings
from jobs.texts import WordSetError
from operators import association, gender, psychophysics
from operators.association import effect_size
from operators.bootstrap import ORIGINAL
from operators.gender import direct_bias, gender_direction, projection
from operators.intervals import percentile_interval
from operators.psychophysics import flip_points, psychometrics, response_curve
from operators.wordsets import Association, GenderWords, Occupations, Pairs, WordSets
from storage.ledger import Store, TableRef, Unit

Vectors = NDArray[np.float32]

_MIN_REPLICAS = 2
_MIN_WORDS = 2
_ALPHAS = np.linspace(0.0, 1.0, 101)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class SurveyConfig:
    """How the survey measures.

    Attributes:
        level: coverage of the intervals.
        num_resamples: resamples of the replicas behind the intervals of PSE and JND.
        ddof: 1 for the sample standard deviation in WEAT effect sizes (as published), 0 for the population's.
        exponent: the c of DirectBias (Bolukbasi et al. 2016); smaller is stricter.
    """

    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    num_resamples: Annotated[int, Field(ge=10)] = 1000
    ddof: Annotated[int, Field(ge=0, le=1)] = 1
    exponent: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


@dataclass(frozen=True)
class SurveyWords:
    """The word lists that a survey needs, all of them there."""

    language: str
    cue_pairs: Pairs
    occupations: Occupations
    associations: Mapping[str, Association]
    gender: GenderWords


def survey_words(wordset: WordSets | None, language: str) -> SurveyWords:
    """The lists of a language for a survey.

    Raises:
        WordSetError: if there are none, or some are missing.
    """
    how = "choose or write a word set that has them (wordset=[<name>]), or run job=bootstrap"
    if wordset is None:
        raise WordSetError(f"wordset: there is none in the corpus's language {language}, which a survey needs: {how}")
    occupations, gender = wordset.occupations, wordset.gender
    if not (wordset.cue_pairs and wordset.associations and occupations and gender and gender.professions):
        needed = "cue_pairs, occupations, associations, gender.definitional_pairs and gender.professions"
        raise WordSetError(f"wordset.{language}: a survey needs {needed}, of which some are missing: {how}")
    return SurveyWords(language, wordset.cue_pairs, occupations, wordset.associations, gender)


def check_coverage(vocabulary: pa.Table, wordset: SurveyWords) -> None:
    """Refuse, before anything is trained, word lists that measure nothing.

    Raises:
        WordSetError: if a list of the word set has no word in the vocabulary.
    """
    known = set(vocabulary["word"].to_pylist())
    lists = {
        "cue_pairs": [word for pair in wordset.cue_pairs for word in pair],
        "occupations": list(wordset.occupations.percent_women),
        "associations": [
            word for test in wordset.associations.values() for words in _word_sets(test) for word in words
        ],
        "gender.definitional_pairs": [word for pair in wordset.gender.definitional_pairs for word in pair],
        "gender.professions": list(wordset.gender.professions),
    }
    for key, words in lists.items():
        if known.isdisjoint(words):
            raise WordSetError(
                f"wordset.{key}: none of its {len(words)} words ({', '.join(words[:3])}, ...) is in the vocabulary of "
                f"{len(known)} words: choose a word set in the corpus's language (wordset=[<name>]), a larger corpus, "
                "or a lower embedding.min_count"
            )


def measure(
    runner: Runner, embeddings: Embeddings, vocabulary: TableRef, wordset: SurveyWords, config: SurveyConfig, seed: int
) -> dict[str, TableRef]:
    """The measured tables by name."""
    words = sorted(_all_words(wordset))
    select = [
        Unit(
            "select/1",
            f"{wordset.language} replica {replica}",
            {"words": words},
            {"embedding": [ref.select("word", "vector")]},
        )
        for replica, ref in enumerate(embeddings.replicas)
    ]
    group = wordset.language
    selected = runner.run_whole(Stage("select words", each(_select), {group: select}, batch_size=8))
    inputs = {
        "vectors": [done.tables["vectors"] for done in selected[group]],
        "vocabulary": [vocabulary],
    }
    identity = {"wordset": wordset, "survey": config, "seed": seed}
    units = [Unit(operator, operator.split("/")[0], identity, inputs) for operator in _MEASURES]
    measured = runner.run_whole(Stage("measure", _measure, {group: units}))
    return {name: ref for done in measured[group] for name, ref in done.tables.items()}


def _all_words(wordset: SurveyWords) -> set[str]:
    pairs = (*wordset.cue_pairs, *wordset.gender.definitional_pairs)
    tests = [words for test in wordset.associations.values() for words in _word_sets(test)]
    lists = [*pairs, *tests, wordset.occupations.percent_women, wordset.gender.professions]
    return {word for words in lists for word in words}


def _word_sets(test: Association) -> list[tuple[str, ...]]:
    return [named.words for named in (test.target_x, test.target_y, test.attribute_a, test.attribute_b)]


def _select(store: Store, unit: Unit) -> Tables:
    embedding = store.read(unit.input("embedding"))
    yield "vectors", embedding.filter(pc.is_in(embedding["word"], pa.array(unit.config["words"])))


class _Lookup:
    """Vectors of words in all replicas; NaN where a replica does not have the word."""

    def __init__(self, store: Store, unit: Unit) -> None:
        replicas = [store.read(ref) for ref in unit.inputs["vectors"]]
        self.index = {word: at for at, word in enumerate(replicas[0]["word"].to_pylist())}
        self.vectors = np.stack([_as_matrix(table["vector"]) for table in replicas])
        self.language = unit.config["wordset"].language
        self.counts = dict(
            zip(*store.read(unit.input("vocabulary")).select(["word", "count"]).to_pydict().values(), strict=True)
        )

    def __call__(self, words: Sequence[str]) -> Vectors:
        """``[1 + replicas, words, dimensions]``."""
        missing = np.full((self.vectors.shape[0], 1, self.vectors.shape[2]), np.nan, dtype=np.float32)
        padded = np.concatenate([self.vectors, missing], axis=1)
        return padded[:, [self.index.get(word, -1) for word in words]]

    def missing(self, words: Sequence[str]) -> list[str]:
        """Those of the words that are not in the vocabulary."""
        return [word for word in words if word not in self.index]


def _as_matrix(column: pa.ChunkedArray) -> Vectors:
    array = column.combine_chunks()
    matrix = np.full((len(array), array.type.list_size), np.nan, dtype=np.float32)
    matrix[array.is_valid().to_numpy(zero_copy_only=False)] = (
        array.flatten().to_numpy().reshape(-1, array.type.list_size)
    )
    return matrix


def _verdict(missing: Sequence[str], num_replicas: int) -> dict[str, str]:
    if missing:
        listed = ", ".join(f"'{word}'" for word in missing)
        return {"status": "missing_words", "reason": f"not in the vocabulary: {listed}"}
    if num_replicas < _MIN_REPLICAS:
        return {"status": "too_few_replicas", "reason": f"all words occur together in {num_replicas} replicas only"}
    return {"status": "ok", "reason": ""}


# --- the two-alternative forced choice ------------------------------------------------------------------------------


def _measure_psychometrics(store: Store, unit: Unit) -> Tables:
    wordset, survey = unit.config["wordset"], unit.config["survey"]
    lookup = _Lookup(store, unit)
    keys = [(word, *pair) for pair in wordset.cue_pairs for word in sorted(wordset.occupations.percent_women)]
    words, cues_1, cues_2 = (lookup(column) for column in zip(*keys, strict=True))
    flips = flip_points(words, cues_1, cues_2)
    replicas = flips[ORIGINAL + 1 :].T
    found = psychometrics(replicas, unit.config["seed"], survey.num_resamples, survey.level)
    spread = percentile_interval(replicas, survey.level)
    rows = [
        {
            "language": lookup.language,
            "word": word,
            "cue_1": cue_1,
            "cue_2": cue_2,
            "flip_original": flips[ORIGINAL, row],
            "flip_low": spread.low[row],
            "flip_high": spread.high[row],
            "percent_women": wordset.occupations.percent_women[word],
            **{name: column[row] for name, column in found._asdict().items()},
            **_verdict(lookup.missing([word, cue_1, cue_2]), int(found.num_replicas[row])),
        }
        for row, (word, cue_1, cue_2) in enumerate(keys)
    ]
    yield "psychometrics", _table(rows, tables.PSYCHOMETRICS)
    yield "psychometric_points", _points(lookup.language, keys, replicas)


def _points(language: str, keys: Sequence[tuple[str, str, str]], replicas: NDArray[np.float64]) -> pa.Table:
    measured = np.flatnonzero(np.isfinite(replicas).any(axis=1)).tolist()
    shares = response_curve(replicas[measured], _ALPHAS)
    word, cue_1, cue_2 = (np.repeat([keys[row][part] for row in measured], _ALPHAS.size) for part in range(3))
    columns = {
        "language": np.full(word.size, language),
        "word": word,
        "cue_1": cue_1,
        "cue_2": cue_2,
        "alpha": np.tile(_ALPHAS, len(measured)),
        "share": shares.ravel(),
    }
    return pa.table(columns).cast(tables.PSYCHOMETRIC_POINTS)


# --- association tests ----------------------------------------------------------------------------------------------


def _measure_associations(store: Store, unit: Unit) -> Tables:
    lookup = _Lookup(store, unit)
    rows = [
        _associate(lookup, name, test, unit.config["survey"])
        for name, test in sorted(unit.config["wordset"].associations.items())
    ]
    yield "associations", _table(rows, tables.ASSOCIATIONS)


def _associate(lookup: _Lookup, name: str, test: Association, survey: SurveyConfig) -> dict[str, Any]:
    sets = _word_sets(test)
    missing = sorted({word for words in sets for word in lookup.missing(words)})
    present = [[word for word in words if word in lookup.index] for words in sets]
    row = {
        "language": lookup.language,
        "test": name,
        **{role: getattr(test, role).name for role in ("target_x", "target_y", "attribute_a", "attribute_b")},
        "ddof": survey.ddof,
        "num_targets": len(present[0]) + len(present[1]),
        "num_attributes": len(present[2]) + len(present[3]),
        "missing_words": missing,
    }
    if min(map(len, present)) < _MIN_WORDS:
        return row | _not_measured(f"a word set has fewer than {_MIN_WORDS} words in the vocabulary")
    x, y, a, b = (lookup(words) for words in present)
    effects = effect_size(x, y, a, b, survey.ddof)
    estimate = _estimate("effect_size", effects, survey.level)
    return row | estimate | _verdict([], int(estimate["num_replicas"]))


def _estimate(name: str, values: NDArray[np.float64], level: float) -> dict[str, float | int]:
    """Point estimate from the original corpus, interval from the replicas; ``values`` is ``[1 + replicas]``."""
    interval = percentile_interval(values[ORIGINAL + 1 :], level)
    low, high = float(interval.low), float(interval.high)
    return {name: values[ORIGINAL], f"{name}_low": low, f"{name}_high": high, "num_replicas": int(interval.num)}


# --- bias along the gender direction --------------------------------------------------------------------------------


def _measure_gender(store: Store, unit: Unit) -> Tables:
    wordset, survey = unit.config["wordset"].gender, unit.config["survey"]
    lookup = _Lookup(store, unit)
    pairs = [pair for pair in wordset.definitional_pairs if not lookup.missing(pair)]
    professions = [word for word in wordset.professions if word in lookup.index]
    measured = _along_gender(lookup, pairs, professions, survey) if pairs and professions else _no_direction(pairs)
    rows = [_profession(lookup, word, measured, survey) for word in wordset.professions]
    yield "gender_professions", _table(rows, tables.GENDER_PROFESSIONS)
    row = {
        "language": lookup.language,
        "num_pairs": len(pairs),
        "num_professions": len(professions),
        "missing_words": lookup.missing([word for pair in wordset.definitional_pairs for word in pair]),
    }
    yield "gender_languages", _table([row | measured.summary], tables.GENDER_LANGUAGES)


class _AlongGender(NamedTuple):
    biases: dict[str, NDArray[np.float64]]
    summary: dict[str, Any]


def _along_gender(
    lookup: _Lookup, pairs: Sequence[tuple[str, str]], professions: Sequence[str], survey: SurveyConfig
) -> _AlongGender:
    axis = gender_direction(*(lookup(words) for words in zip(*pairs, strict=True)))
    vectors = lookup(professions)
    biases = dict(zip(professions, projection(vectors, axis.direction).T, strict=True))
    summary = {
        **_estimate("first_share", axis.first_share, survey.level),
        **_estimate("second_share", axis.second_share, survey.level),
        **_estimate("direct_bias", direct_bias(vectors, axis.direction, survey.exponent), survey.level),
    }
    return _AlongGender(biases, summary | _verdict([], int(summary["num_replicas"])))


def _no_direction(pairs: Sequence[tuple[str, str]]) -> _AlongGender:
    lacking = "profession is" if pairs else "definitional pair is as a whole"
    return _AlongGender({}, _not_measured(f"no {lacking} in the vocabulary"))


def _not_measured(reason: str) -> dict[str, Any]:
    return {"num_replicas": 0, "status": "missing_words", "reason": reason}


def _profession(lookup: _Lookup, word: str, measured: _AlongGender, survey: SurveyConfig) -> dict[str, Any]:
    row = {"language": lookup.language, "profession": word, "count": lookup.counts.get(word, 0)}
    if word not in lookup.index:
        return row | _not_measured(f"not in the vocabulary: '{word}'")
    if word not in measured.biases:
        return row | measured.summary
    estimate = _estimate("bias", measured.biases[word], survey.level)
    return row | estimate | _verdict([], int(estimate["num_replicas"]))


def _table(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows in a schema; a value that is missing or not finite becomes null."""
    clean = [{name: None if _is_nan(value) else value for name, value in row.items()} for row in rows]
    return pa.Table.from_pylist(clean, schema)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and not np.isfinite(value)


_MEASURES = {
    psychophysics.VERSION: _measure_psychometrics,
    association.VERSION: _measure_associations,
    gender.VERSION: _measure_gender,
}


def _measure(store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
    for unit in units:
        yield unit, _MEASURES[unit.operator](store, unit)

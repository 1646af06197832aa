"""How words and professions of each language lie along its gender direction, and how languages go together.

Correlations of their professions' biases are figure 6 of Matthews et al. 2021, the older lists of pairs and professions
beside the survey's its section 2.2.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import TypedDict

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, OfReplicas, Vectors
from tiltmeter.jobs.embedding.models import Model, common_scheme
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.gender.rows import GenderRows
from tiltmeter.jobs.gender.tables import OF_LANGUAGE, GenderSets, LanguageCorrelation, Weighted
from tiltmeter.jobs.runtime import draws
from tiltmeter.jobs.runtime.draws import Scheme, rekeyed
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work, do
from tiltmeter.operators.embedding.bootstrap import ORIGINAL, replica_numbers
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.gender import direction as gender
from tiltmeter.operators.gender.professions import WEIGHTS, Weights
from tiltmeter.operators.gender.sets import compare_sets, dealt
from tiltmeter.operators.statistics import correlation
from tiltmeter.operators.statistics.correlation import cluster_order, correlation_matrix
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, IntervalSettings, Scale, of_size
from tiltmeter.operators.statistics.replicas import taken_apart
from tiltmeter.operators.text.wordsets import GenderSurvey, GenderWords, neutral_survey
from tiltmeter.storage.store.ledger import Store, TableRef

_MIN_PROFESSIONS = 3
_BIASES, _DRAWS = "profession_biases", "unnamed_draws"
_MEANS = {"bias": FISHER, "size": of_size(LOGIT)}
"""Of cosines, and of their sizes."""


# --- each language --------------------------------------------------------------------------------------------------


class MeasureGender(Work, unit=gender.VERSION, stage="gender", makes=OF_LANGUAGE):
    """One language, and beside its tables ``profession_biases``, which correlations between languages are made from."""

    model: Vectors
    num_tokens: int | None
    words: GenderSurvey
    settings: GenderConfig

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def tables(self, store: Store) -> Tables:
        lookup = Lookup(store, self.model.inputs)
        survey = GenderRows(self.model.key, lookup, self.words, self.settings, self.num_tokens)
        rows = (survey.word_rows(), survey.profession_rows(), [survey.language_row()], survey.pair_rows())
        yield from tables_of(chain.from_iterable(rows), self.makes, self.scheme)
        yield _BIASES, _profession_biases(survey)


def _profession_biases(survey: GenderRows) -> pa.Table:
    """The bias of every profession in every embedding."""
    professions, lookup = list(survey.professions), survey.lookup
    replicas = replica_numbers(lookup.num_replicas, lookup.num_embeddings - lookup.num_replicas)
    columns = {
        "profession": pa.array(np.repeat(professions, len(replicas)).tolist(), pa.string()),
        "replica": np.tile(np.array(replicas, np.int16), len(professions)),
    }
    biases = {f"bias_by_{weights}": biases.ravel() for weights, biases in survey.biases.items()}
    return pa.table(columns | biases)


def measure_gender(
    runner: Runner, models: Sequence[Model], words: Mapping[str, GenderSurvey], config: GenderConfig
) -> dict[str, list[TableRef]]:
    """The tables of gender bias, a part for each model, and ``profession_biases``.

    Args:
        runner: of the stages.
        models: what is measured.
        words: the lists of each model, by its name.
        config: how.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(GenderConfig, config)
    works = (
        MeasureGender(
            group=model.name,
            label=model.name,
            model=model.vectors,
            num_tokens=model.num_tokens,
            words=words[model.name],
            settings=config,
        )
        for model in models
    )
    done = do(runner, works)
    return {name: done.refs(name) for name in (*(table.table_name for table in OF_LANGUAGE), _BIASES)}


# --- both lists of a language ---------------------------------------------------------------------------------------


class BothLists(TypedDict):
    """Of a language."""

    original: GenderWords
    modified: GenderSurvey


class CompareSets(Work, unit=f"sets_{gender.VERSION}", stage="word sets", makes=[GenderSets]):
    """The survey's pairs and professions with the original ones; ``seed``: of the deals."""

    model: Vectors
    words: BothLists
    settings: GenderConfig
    seed: int

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    def rows(self, store: Store) -> Iterator[GenderSets]:
        """For the biases, and for their sizes, of which the direct bias is the mean."""
        lookup = Lookup(store, self.model.inputs)
        surveys = (neutral_survey(self.words["original"]), self.words["modified"])
        original, modified = (GenderRows(self.model.key, lookup, survey, self.settings) for survey in surveys)
        for score, scale in _MEANS.items():
            row = GenderSets(**self.model.key, score=score, num_replicas=0)
            if original.direction is None or modified.direction is None:
                reason = "one of the two lists has no defining pair with both words in the vocabulary"
                yield row.fail("no_direction", reason)
                continue
            biases = (rows.biases[self.settings.weights].T for rows in (original, modified))
            first, second = (values if score == "bias" else np.abs(values) for values in biases)
            comparison = compare_sets(first, second)
            test = dealt(first[ORIGINAL], second[ORIGINAL], level=self.settings.level, seed=self.seed)
            row.original_mean = self._number(lookup, comparison.original_mean, scale)
            row.modified_mean = self._number(lookup, comparison.modified_mean, scale)
            row.t = self._number(lookup, comparison.test.t, LINEAR)
            row.df, row.p = float(comparison.test.df[ORIGINAL]), test.p
            similarity = cosine(original.direction.direction, modified.direction.direction)
            row.similarity = self._number(lookup, similarity, FISHER)
            row.original_professions = int(np.isfinite(first[ORIGINAL]).sum())
            row.modified_professions = int(np.isfinite(second[ORIGINAL]).sum())
            basis = lookup.basis(comparison.test.t)
            row.num_replicas, row.status, row.reason = (basis[name] for name in ("num_replicas", "status", "reason"))
            yield row.fail(test.status, test.reason) if test.too_few and row.status == "ok" else row

    def _number(self, lookup: Lookup, values: NDArray[np.float64], scale: Scale) -> OfReplicas:
        return OfReplicas(lookup.taken_apart(values), self.settings, scale)


def compare_word_sets(
    runner: Runner, models: Sequence[Model], config: GenderConfig, seed: int
) -> dict[str, list[TableRef]]:
    """The table ``gender_sets``, a part for each model whose language has both lists; nothing where none has.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(GenderConfig, config)
    works = [
        CompareSets(
            group=model.name,
            label=model.name,
            model=model.vectors,
            words={"original": model.wordset.gender, "modified": model.wordset.gender_survey},
            settings=config,
            seed=seed,
        )
        for model in models
        if model.wordset.gender and model.wordset.gender.professions and model.wordset.gender_survey
    ]
    sets = do(runner, works).refs(GenderSets)
    return {GenderSets.table_name: sets} if sets else {}


# --- languages together ---------------------------------------------------------------------------------------------


class CorrelateLanguages(Work, unit=f"language_{correlation.VERSION}", stage="languages", makes=[LanguageCorrelation]):
    """Professions' biases, as each model left them: a row for each pair of models, in their order, without names."""

    languages: Sequence[str]
    intervals: IntervalSettings
    weights: Weights
    draws: Scheme | None
    biases: Sequence[TableRef]

    @property
    def scheme(self) -> Scheme | None:
        return self.draws

    def tables(self, store: Store) -> Tables:
        for name, table in super().tables(store):
            # Their keys are not those of the table that is published.
            yield _DRAWS if name == draws.NAME else name, table

    def rows(self, store: Store) -> Iterator[LanguageCorrelation]:
        parts = [pl.DataFrame(store.read(ref)) for ref in self.biases]
        languages, weights, shared = self.languages, self.weights, _shared(parts)
        biases = {by: _aligned(parts, f"bias_by_{by}", shared) for by in WEIGHTS}
        matrices = {by: correlation_matrix(values) for by, values in biases.items()}
        positions = np.argsort(cluster_order(matrices[weights][ORIGINAL]).order)
        known = np.isfinite(biases[weights][ORIGINAL])
        num_replicas = sum(number > ORIGINAL for number in shared)
        for one, other in product(range(len(languages)), repeat=2):
            values = {by: taken_apart(matrix[:, one, other], num_replicas) for by, matrix in matrices.items()}
            num = int((known[one] & known[other]).sum())
            yield LanguageCorrelation(
                language_1=languages[one],
                language_2=languages[other],
                weights=weights,
                correlation=Weighted(
                    weights, {by: OfReplicas(of_pair, self.intervals, FISHER) for by, of_pair in values.items()}
                ),
                num_professions=num,
                position_1=int(positions[one]),
                position_2=int(positions[other]),
                **_verdict(num, float(values[weights].original)),
            )


class NameLanguages(Work, unit="correlated_models/1", stage="names of languages", makes=[LanguageCorrelation]):
    """The correlations, which are in the order of the models, with model and language of both."""

    models: Sequence[Mapping[str, str]]
    correlations: TableRef
    unnamed: TableRef | None

    def tables(self, store: Store) -> Tables:
        correlations = store.read(self.correlations)
        names = [
            {f"{name}_{side}": value for side, model in ((1, one), (2, other)) for name, value in model.items()}
            for one, other in product(self.models, repeat=2)
        ]
        rows = [row | both for row, both in zip(correlations.to_pylist(), names, strict=True)]
        table = table_of(rows, LanguageCorrelation.schema())
        yield LanguageCorrelation.table_name, table
        if self.unnamed is not None:
            yield draws.NAME, rekeyed(store.read(self.unnamed), correlations, table)


def correlate_languages(
    runner: Runner, models: Sequence[Model], biases: Sequence[TableRef], config: GenderConfig
) -> dict[str, list[TableRef]]:
    """The table ``language_correlation``.

    Args:
        runner: of the stages.
        models: what is correlated.
        biases: their tables ``profession_biases``, in the same order.
        config: how.

    Raises:
        UnitsFailed: if it fails.
    """
    correlate = CorrelateLanguages(
        group="languages",
        languages=_names(models),
        intervals=narrowed(IntervalSettings, config),
        weights=config.weights,
        draws=common_scheme(models),
        biases=biases,
    )
    correlated = do(runner, [correlate])
    # Apart from the numbers, which do not depend on what corpora are called where each has its own language.
    name = NameLanguages(
        group="languages",
        models=[model.vectors.key for model in models],
        correlations=correlated.one(LanguageCorrelation),
        unnamed=next(iter(correlated.refs(_DRAWS)), None),
    )
    named_rows = do(runner, [name], in_driver=True)
    return {LanguageCorrelation.table_name: named_rows.refs(LanguageCorrelation)}


def _names(models: Sequence[Model]) -> list[str]:
    """The language of each model; of several models in one language, their own names."""
    times = Counter(model.language for model in models)
    names = [model.language if times[model.language] == 1 else model.name for model in models]
    return names if len(set(names)) == len(names) else [model.name for model in models]


def _aligned(parts: Sequence[pl.DataFrame], column: str, shared: Sequence[int]) -> NDArray[np.float64]:
    """``[embeddings, languages, professions]``, of the embeddings that all languages have; NaN for what is missing."""
    professions = sorted({name for part in parts for name in part["profession"]})
    aligned = np.full((len(shared), len(parts), max(len(professions), 1)), np.nan)
    for language, part in enumerate(parts):
        kept = part.filter(pl.col("replica").is_in(shared))
        items = np.searchsorted(professions, kept["profession"].to_numpy()) if kept.height else np.empty(0, np.int64)
        aligned[[shared.index(replica) for replica in kept["replica"]], language, items] = kept[column].to_numpy()
    return aligned


def _shared(parts: Sequence[pl.DataFrame]) -> list[int]:
    """The original, its replicas, and further starts, as far as all languages with a profession have them."""
    numbers = [set(part["replica"]) for part in parts if part.height]
    return sorted(set.intersection(*numbers) if numbers else {ORIGINAL}, key=lambda number: (number < 0, abs(number)))


def _verdict(num: int, coefficient: float) -> Row:
    if num < _MIN_PROFESSIONS:
        return failed("too_few_professions", f"both have {num} professions, and {_MIN_PROFESSIONS} are needed")
    return OK if np.isfinite(coefficient) else failed("constant", "all professions have the same bias in one of them")

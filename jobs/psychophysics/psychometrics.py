"""The two-alternative forced choice of Liang and Acuna 2020 on models, and how it goes with the labour market.

What replicas flip at is held against the share of men in occupations, and against WEFAT and WEAT with the same cues.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.tables import Validation
from tiltmeter.jobs.association.weat import associate
from tiltmeter.jobs.association.wefat import validated
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import MIN_REPLICAS, Lookup, Vectors, estimate, missing_words, too_few_replicas
from tiltmeter.jobs.embedding.models import Model
from tiltmeter.jobs.psychophysics.config import PsychophysicsConfig
from tiltmeter.jobs.psychophysics.tables import (
    MAKES,
    FittedPse,
    Jnd,
    OccupationContrast,
    PooledPse,
    PooledPsychometrics,
    Pse,
    PsychometricPoints,
    Psychometrics,
)
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work, do
from tiltmeter.operators.association import scores as association
from tiltmeter.operators.association.scores import wefat
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.gender.professions import mean_bias
from tiltmeter.operators.psychophysics import forced_choice, pooling
from tiltmeter.operators.psychophysics.forced_choice import flip_points, moments, response_curve
from tiltmeter.operators.psychophysics.pooling import Pooled, over_combinations, pooled
from tiltmeter.operators.psychophysics.resamples import psychometrics_of
from tiltmeter.operators.statistics import correlation
from tiltmeter.operators.statistics.correlation import dispersion
from tiltmeter.operators.statistics.intervals import shift
from tiltmeter.operators.statistics.partitions import permutation
from tiltmeter.operators.statistics.replicas import Replicated
from tiltmeter.operators.text.wordsets import Association, NamedWords, Occupations, Pairs
from tiltmeter.storage.store.ledger import Store, TableRef

_MIN_PAIRS = 2
_ALPHAS = np.linspace(0.0, 1.0, 101)
_HALF = 50.0
_OPERATORS = (association.VERSION, correlation.VERSION, permutation.VERSION, pooling.VERSION)
_OF_ROW = ("pse_curve", "jnd_curve", "pse_logistic", "jnd_logistic", "flip_sd", "num_outside", "num_replicas")
_OF_WORD = ("jnd", "sd_pairs", "sd_replicas", "sd_rest", "num_pairs", "num_replicas")

Key = tuple[str, str, str]
"""An occupation and its two cues."""


def measure_psychometrics(
    runner: Runner, models: Sequence[Model], config: PsychophysicsConfig, seed: int
) -> dict[str, list[TableRef]]:
    """The tables of the study, a part for each model.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(PsychophysicsConfig, config)
    works = (
        MeasurePsychometrics(
            group=model.name,
            label=model.name,
            model=model.vectors,
            gender_pairs=pairs if config.combinations == "listed" else _combinations(pairs),
            num_listed=len(pairs),
            other_pairs=model.wordset.other_cue_pairs,
            occupations=cast(Occupations, model.wordset.occupations),
            settings=config,
            seed=seed,
        )
        for model in models
        for pairs in [model.wordset.cue_pairs]
    )
    done = do(runner, works)
    return {table.table_name: done.refs(table) for table in MAKES}


def _combinations(pairs: Pairs) -> Pairs:
    """Every female with every male cue, the listed pairs first."""
    female, male = zip(*pairs, strict=True)
    return tuple(dict.fromkeys([*pairs, *((one, other) for one, other in product(female, male) if one != other)]))


class MeasurePsychometrics(Work, unit=forced_choice.VERSION, stage="forced choice", makes=MAKES):
    """What the replicas of one model answer about every occupation, between the cues of every pair.

    Attributes:
        num_listed: gender pairs that the word set has; they come first, before their other combinations.
        seed: of the resamples of the replicas.
    """

    model: Vectors
    gender_pairs: Pairs
    num_listed: int
    other_pairs: Pairs
    occupations: Occupations
    settings: PsychophysicsConfig
    seed: int
    operators: Sequence[str] = _OPERATORS

    @property
    def scheme(self) -> Scheme | None:
        return self.model.scheme

    @property
    def words(self) -> list[str]:
        """The occupations."""
        return sorted(self.occupations.percent_women)

    def tables(self, store: Store) -> Tables:
        lookup, words = Lookup(store, self.model.inputs), self.words
        gender, pairs = len(self.gender_pairs), (*self.gender_pairs, *self.other_pairs)
        flips = np.stack([_flips(lookup, words, pair) for pair in pairs])
        keys = [(word, *pair) for pair in pairs for word in words]
        flat = flips.reshape(-1, flips.shape[-1])
        by_key, of_gender = (lookup.taken_apart(part, axis=-1) for part in (flat, flips[:gender]))
        yield PsychometricPoints.table_name, self._points(keys, by_key.replicas)
        means = _means(of_gender.replicas.swapaxes(0, 1), self.num_listed, self.settings.level)
        pse = _over_pairs(of_gender, means.pse)
        rows = chain(
            self._psychometrics(lookup, keys, by_key),
            self._pooled(means, pse),
            self._validated(lookup, of_gender, means, pse),
            self._contrast(lookup),
        )
        kinds = [kind for kind in MAKES if kind is not PsychometricPoints]
        yield from tables_of(rows, kinds, self.scheme)

    def _psychometrics(self, lookup: Lookup, keys: Sequence[Key], flips: Replicated) -> Iterator[Psychometrics]:
        config, num_gender = self.settings, len(self.words) * len(self.gender_pairs)
        choices = (self.seed, config.num_resamples, config.level, config.width, config.interval)
        results = psychometrics_of(flips.replicas, *choices)
        for row, (word, cue_1, cue_2) in enumerate(keys):
            values = Replicated(results.pse[row], flips.replicas[row], flips.starts[row])
            cells = estimate("pse", values, config) | {name: column[row] for name, column in results._asdict().items()}
            cells["pse_shift"] = float(shift(flips.original[row], values.replicas))
            yield Psychometrics(
                **self.model.key,
                word=word,
                cue_1=cue_1,
                cue_2=cue_2,
                is_gender=row < num_gender,
                pse=Pse(cells, values.replicas),
                jnd=Jnd(cells),
                pse_fit=FittedPse(cells),
                jnd_fit=Jnd(cells),
                flip_original=flips.original[row],
                percent_women=self.occupations.percent_women[word],
                **{name: cells[name] for name in _OF_ROW},
                **_verdict(lookup.missing(keys[row]), int(results.num_replicas[row])),
            )

    def _points(self, keys: Sequence[Key], replicas: NDArray[np.float64]) -> pa.Table:
        measured = np.flatnonzero(np.isfinite(replicas).any(axis=1)).tolist()
        shares = response_curve(replicas[measured], _ALPHAS)
        word, cue_1, cue_2 = (np.repeat([keys[row][part] for row in measured], _ALPHAS.size) for part in range(3))
        columns = {
            **{name: np.full(word.size, value) for name, value in self.model.key.items()},
            "word": word,
            "cue_1": cue_1,
            "cue_2": cue_2,
            "alpha": np.tile(_ALPHAS, len(measured)),
            "share": shares.ravel(),
        }
        return pa.table(columns).cast(PsychometricPoints.schema())

    def _pooled(self, means: Pooled, values: Replicated) -> Iterator[PooledPsychometrics]:
        """Percentiles, and what moves a number, come from each embedding's mean over the pairs."""
        for row, word in enumerate(self.words):
            of_word = Replicated(values.original[row], values.replicas[:, row], values.starts[:, row])
            cells = estimate("pse", of_word, self.settings) | {
                name: column[row] for name, column in means._asdict().items()
            }
            cells["pse_shift"] = float(shift(of_word.starts[0], of_word.replicas))
            yield PooledPsychometrics(
                **self.model.key,
                word=word,
                pse=PooledPse(cells, of_word.replicas),
                percent_women=self.occupations.percent_women[word],
                **{name: cells[name] for name in _OF_WORD},
                **_pooled_verdict(int(means.num_pairs[row]), int(means.num_replicas[row])),
            )

    def _validated(self, lookup: Lookup, flips: Replicated, means: Pooled, pse: Replicated) -> Iterator[Validation]:
        """PSE against the share of men, JND against its dispersion, and both against WEFAT.

        Args:
            flips: ``[gender pairs, occupations, embeddings]``.
            means: of the occupations over all pairs.
            pse: the same, of each embedding.
        """
        women = np.array([self.occupations.percent_women[word] for word in self.words]) / 100.0
        men, config = 1.0 - women, self.settings
        for number, (cue_1, cue_2) in enumerate(self.gender_pairs):
            of_pair = Replicated(*(part[number] for part in flips))
            of_flips, jnd = moments(of_pair.replicas)
            values = Replicated(of_flips, of_pair.replicas.T, of_pair.starts.T)
            key = self.model.key | {"cue_1": cue_1, "cue_2": cue_2}
            yield validated(key | _is("pse", "share_men"), values, men, config)
            yield validated(key | _is("jnd", "dispersion"), jnd, dispersion(men), config)
        yield validated(self.model.key | _is("pse", "share_men"), pse, men, config)
        yield validated(self.model.key | _is("jnd", "dispersion"), means.jnd, dispersion(women), config)
        yield from self._compared(lookup, pse, men)

    def _compared(self, lookup: Lookup, pse: Replicated, men: NDArray[np.float64]) -> Iterator[Validation]:
        """WEFAT with the cues as attributes: how it goes with the labour market, and PSE with it."""
        female, male = (lookup.present(cues) for cues in self._cues)
        if min(len(female), len(male)) == 0:
            return
        vectors = lookup(self.words)
        to_female, to_male = (pairwise(vectors, lookup(cues), "cosine") for cues in (female, male))
        key, config = self.model.key | {"similarity": "cosine", "test": "cues"}, self.settings
        effects = lookup.taken_apart(wefat(to_female, to_male, "cosine", config.ddof))
        yield validated(key | _is("wefat", "share_men"), effects, men, config)
        yield validated(key | _is("pse", "wefat"), pse, effects, config)

    @property
    def _cues(self) -> list[tuple[str, ...]]:
        """The female and the male ones."""
        return [tuple(dict.fromkeys(cues)) for cues in zip(*self.gender_pairs, strict=True)]

    def _contrast(self, lookup: Lookup) -> Iterator[OccupationContrast]:
        """WEAT of occupations with mostly women against those with mostly men, with the cues as attributes."""
        percent_women = self.occupations.percent_women
        women = tuple(word for word, percent in percent_women.items() if percent > _HALF)
        men = tuple(word for word, percent in percent_women.items() if percent < _HALF)
        if not women or not men:
            return
        female, male = self._cues
        test = Association(
            self.occupations.source,
            NamedWords("occupations with mostly women", women),
            NamedWords("occupations with mostly men", men),
            NamedWords("female cues", female),
            NamedWords("male cues", male),
        )
        config = AssociationConfig(**{name: getattr(self.settings, name) for name in ("ddof", "level", "interval")})
        for row in associate(lookup, self.model.key, "occupations", test, config):
            yield OccupationContrast(**vars(row))


def _is(measure: str, against: str) -> Row:
    return {"measure": measure, "against": against}


def _flips(lookup: Lookup, words: Sequence[str], pair: tuple[str, str]) -> NDArray[np.float64]:
    """``[words, embeddings]``"""
    cue_1, cue_2 = (lookup([cue]) for cue in pair)
    return flip_points(lookup(words), cue_1, cue_2).T


def _means(flips: NDArray[np.float64], num_listed: int, level: float) -> Pooled:
    """Of ``[occupations, gender pairs, replicas]``, of which the listed pairs come first."""
    means = pooled(flips, level)
    return means if num_listed == flips.shape[1] else over_combinations(pooled(flips[:, :num_listed], level), means)


def _over_pairs(flips: Replicated, pse: NDArray[np.float64]) -> Replicated:
    """The pooled PSE, and each embedding's mean over the pairs that it has: ``[embeddings, occupations]``.

    Args:
        flips: ``[pairs, occupations, embeddings]``.
        pse: ``[occupations]``.
    """
    return Replicated(pse, *(mean_bias(part.transpose(2, 1, 0)) for part in (flips.replicas, flips.starts)))


def _verdict(missing: Sequence[str], num_replicas: int) -> Row:
    if missing:
        return missing_words(missing)
    return too_few_replicas(num_replicas) if num_replicas < MIN_REPLICAS else OK


def _pooled_verdict(num_pairs: int, num_replicas: int) -> Row:
    if num_pairs < _MIN_PAIRS:
        return failed("too_few_pairs", f"measured with {num_pairs} gender cue pairs, and {_MIN_PAIRS} are needed")
    return _verdict([], num_replicas)

"""The two-alternative forced choice of Liang and Acuna 2020 on models, and how it goes with the labour market."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.association.tables import Associations, Validation
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import (
    MIN_REPLICAS,
    Lookup,
    estimate,
    missing_words,
    too_few_replicas,
)
from tiltmeter.jobs.embedding.models import Model, whole
from tiltmeter.jobs.psychophysics import tables
from tiltmeter.jobs.psychophysics.config import PsychophysicsConfig
from tiltmeter.jobs.psychophysics.occupations import against_labour_market, contrast, over_pairs
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.association import scores as association
from tiltmeter.operators.psychophysics import forced_choice as psychophysics
from tiltmeter.operators.psychophysics import pooling
from tiltmeter.operators.psychophysics.forced_choice import flip_points, response_curve
from tiltmeter.operators.psychophysics.pooling import Pooled, over_combinations, pooled
from tiltmeter.operators.psychophysics.resamples import psychometrics_of
from tiltmeter.operators.statistics import correlation
from tiltmeter.operators.statistics.intervals import shift
from tiltmeter.operators.statistics.partitions import permutation
from tiltmeter.operators.statistics.replicas import Replicated
from tiltmeter.operators.text.wordsets import Pairs
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_MIN_PAIRS = 2
_ALPHAS = np.linspace(0.0, 1.0, 101)

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
    units = {model.name: [_unit(model, config, seed)] for model in whole(runner, models)}
    done = runner.run_whole(Stage("forced choice", each(_measure), units))
    return {name: [unit.tables[name] for [unit] in done.values()] for name in tables.TABLES}


def _unit(model: Model, config: PsychophysicsConfig, seed: int) -> Unit:
    wordset = model.wordset
    settings = {
        "model": model.name,
        "language": model.language,
        "gender_pairs": wordset.cue_pairs if config.combinations == "listed" else _combinations(wordset.cue_pairs),
        "num_listed": len(wordset.cue_pairs),
        "other_pairs": wordset.other_cue_pairs,
        "occupations": wordset.occupations,
        "config": config,
        "seed": seed,
        "draws": model.vectors.scheme,
        "operators": [association.VERSION, correlation.VERSION, permutation.VERSION, pooling.VERSION],
    }
    return Unit(psychophysics.VERSION, model.name, settings, model.vectors.inputs)


def _combinations(pairs: Pairs) -> Pairs:
    """Every female with every male cue, the listed pairs first."""
    female, male = zip(*pairs, strict=True)
    return tuple(dict.fromkeys([*pairs, *((one, other) for one, other in product(female, male) if one != other)]))


def _measure(store: Store, unit: Unit) -> Tables:
    lookup, settings = Lookup(store, unit.inputs), unit.config
    words = sorted(settings["occupations"].percent_women)
    gender, others = settings["gender_pairs"], settings["other_pairs"]
    flips = np.stack([_flips(lookup, words, pair) for pair in (*gender, *others)])
    keys = [(word, *pair) for pair in (*gender, *others) for word in words]
    by_key, of_gender = (lookup.taken_apart(part, axis=-1) for part in (_rows(flips), flips[: len(gender)]))
    yield "psychometric_points", _points(keys, by_key.replicas, settings)
    means = _means(of_gender.replicas.swapaxes(0, 1), settings["num_listed"], settings["config"].level)
    rows = {
        "psychometrics": (_psychometrics(lookup, keys, by_key, settings), tables.PSYCHOMETRICS),
        "pooled_psychometrics": (
            _pooled(words, means, over_pairs(of_gender, means.pse), settings),
            tables.POOLED_PSYCHOMETRICS,
        ),
        "validation": (
            [cells_of(row) for row in against_labour_market(lookup, words, of_gender, means, settings)],
            Validation.schema(),
        ),
        "occupation_contrast": ([cells_of(row) for row in contrast(lookup, settings)], Associations.schema()),
    }
    yield from with_draws(rows, settings["draws"])


def _rows(flips: NDArray[np.float64]) -> NDArray[np.float64]:
    """``[pairs * words, embeddings]``"""
    return flips.reshape(-1, flips.shape[-1])


def _means(flips: NDArray[np.float64], num_listed: int, level: float) -> Pooled:
    """Of ``[occupations, gender pairs, replicas]``, of which the listed pairs come first."""
    means = pooled(flips, level)
    return means if num_listed == flips.shape[1] else over_combinations(pooled(flips[:, :num_listed], level), means)


def _flips(lookup: Lookup, words: Sequence[str], pair: tuple[str, str]) -> NDArray[np.float64]:
    """``[words, embeddings]``"""
    cue_1, cue_2 = (lookup([cue]) for cue in pair)
    return flip_points(lookup(words), cue_1, cue_2).T


def _psychometrics(lookup: Lookup, keys: Sequence[Key], flips: Replicated, settings: Mapping[str, Any]) -> list[Row]:
    config: PsychophysicsConfig = settings["config"]
    women = settings["occupations"].percent_women
    num_gender = len(women) * len(settings["gender_pairs"])
    choices = (settings["seed"], config.num_resamples, config.level, config.width, config.interval)
    results = psychometrics_of(flips.replicas, *choices)
    return [
        {
            **_model_columns(settings),
            **dict(zip(("word", "cue_1", "cue_2"), key, strict=True)),
            "is_gender": row < num_gender,
            "flip_original": flips.original[row],
            "percent_women": women[key[0]],
            **estimate("pse", Replicated(results.pse[row], flips.replicas[row], flips.starts[row]), config),
            "pse_shift": float(shift(flips.original[row], flips.replicas[row])),
            **{name: column[row] for name, column in results._asdict().items()},
            **_verdict(lookup.missing(key), int(results.num_replicas[row])),
        }
        for row, key in enumerate(keys)
    ]


def _model_columns(settings: Mapping[str, Any]) -> Row:
    return {"model": settings["model"], "language": settings["language"]}


def _verdict(missing: Sequence[str], num_replicas: int) -> Row:
    if missing:
        return missing_words(missing)
    if num_replicas < MIN_REPLICAS:
        return too_few_replicas(num_replicas)
    return OK


def _points(keys: Sequence[Key], replicas: NDArray[np.float64], settings: Mapping[str, Any]) -> pa.Table:
    measured = np.flatnonzero(np.isfinite(replicas).any(axis=1)).tolist()
    shares = response_curve(replicas[measured], _ALPHAS)
    word, cue_1, cue_2 = (np.repeat([keys[row][part] for row in measured], _ALPHAS.size) for part in range(3))
    columns = {
        **{name: np.full(word.size, value) for name, value in _model_columns(settings).items()},
        "word": word,
        "cue_1": cue_1,
        "cue_2": cue_2,
        "alpha": np.tile(_ALPHAS, len(measured)),
        "share": shares.ravel(),
    }
    return pa.table(columns).cast(tables.PSYCHOMETRIC_POINTS)


def _pooled(words: Sequence[str], means: Pooled, values: Replicated, settings: Mapping[str, Any]) -> list[Row]:
    """Rows of the model; percentiles, and what moves a number, come from each embedding's mean over the pairs."""
    women = settings["occupations"].percent_women
    return [
        {
            **_model_columns(settings),
            "word": word,
            **estimate("pse", _of_column(values, row), settings["config"]),
            "pse_shift": float(shift(values.starts[0, row], values.replicas[:, row])),
            **{name: column[row] for name, column in means._asdict().items()},
            "percent_women": women[word],
            **_pooled_verdict(int(means.num_pairs[row]), int(means.num_replicas[row])),
        }
        for row, word in enumerate(words)
    ]


def _of_column(values: Replicated, column: int) -> Replicated:
    return Replicated(values.original[column], values.replicas[:, column], values.starts[:, column])


def _pooled_verdict(num_pairs: int, num_replicas: int) -> Row:
    if num_pairs < _MIN_PAIRS:
        return failed("too_few_pairs", f"measured with {num_pairs} gender cue pairs, and {_MIN_PAIRS} are needed")
    if num_replicas < MIN_REPLICAS:
        return too_few_replicas(num_replicas)
    return OK

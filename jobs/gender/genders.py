"""How words and professions of a language lie along its gender direction, one unit for each language."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup
from tiltmeter.jobs.embedding.models import Model, whole
from tiltmeter.jobs.gender import tables
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.gender.rows import GenderRows
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.operators.embedding.bootstrap import replica_numbers
from tiltmeter.operators.gender import direction as gender
from tiltmeter.operators.text.wordsets import GenderSurvey
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def measure_gender(
    runner: Runner, models: Sequence[Model], words: Mapping[str, GenderSurvey], config: GenderConfig
) -> dict[str, list[TableRef]]:
    """The tables of gender bias, a part for each model, and ``profession_biases``, which correlations are made from.

    Args:
        runner: of the stages.
        models: what is measured.
        words: the lists of each model, by its name.
        config: how.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(GenderConfig, config)
    units = {model.name: [_unit(model, words[model.name], config)] for model in whole(runner, models)}
    done = runner.run_whole(Stage("gender", each(_measure), units))
    return {name: [unit.tables[name] for [unit] in done.values()] for name in (*tables.TABLES, "profession_biases")}


def _unit(model: Model, words: GenderSurvey, config: GenderConfig) -> Unit:
    settings = {
        "model": model.name,
        "language": model.language,
        "num_tokens": model.num_tokens,
        "words": words,
        "config": config,
        "draws": model.vectors.scheme,
    }
    return Unit(gender.VERSION, model.name, settings, model.vectors.inputs)


def _measure(store: Store, unit: Unit) -> Tables:
    lookup = Lookup(store, unit.inputs)
    survey = GenderRows(lookup, unit.config["words"], unit.config["config"], unit.config["num_tokens"])
    key = {name: unit.config[name] for name in ("model", "language")}
    parts = {
        "gender_words": (survey.word_rows(), tables.GENDER_WORDS),
        "gender_professions": (survey.profession_rows(), tables.GENDER_PROFESSIONS),
        "gender_languages": ([survey.language_row()], tables.GENDER_LANGUAGES),
        "gender_pairs": (survey.pair_rows(), tables.GENDER_PAIRS),
    }
    keyed = {name: ([key | row for row in rows], schema) for name, (rows, schema) in parts.items()}
    yield from with_draws(keyed, unit.config["draws"])
    yield "profession_biases", _profession_biases(survey)


def _profession_biases(survey: GenderRows) -> pa.Table:
    """The bias of every profession in every embedding, for correlations between languages."""
    professions, lookup = list(survey.professions), survey.lookup
    replicas = replica_numbers(lookup.num_replicas, lookup.num_embeddings - lookup.num_replicas)
    columns = {
        "profession": pa.array(np.repeat(professions, len(replicas)).tolist(), pa.string()),
        "replica": np.tile(np.array(replicas, np.int16), len(professions)),
    }
    biases = {f"bias_by_{weights}": biases.ravel() for weights, biases in survey.biases.items()}
    return pa.table(columns | biases)

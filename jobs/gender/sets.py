"""The survey's pairs and professions against the original ones (Matthews et al. 2021, section 2.2)."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, estimate
from tiltmeter.jobs.embedding.models import Model, whole
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.gender.rows import GenderRows
from tiltmeter.jobs.gender.tables import GENDER_SETS
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.operators.gender import direction as gender
from tiltmeter.operators.gender.sets import compare_sets, dealt
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT, of_size
from tiltmeter.operators.text.wordsets import neutral_survey
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_MEANS = {"bias": FISHER, "size": of_size(LOGIT)}
"""Of cosines, and of their sizes."""


def compare_word_sets(
    runner: Runner, models: Sequence[Model], config: GenderConfig, seed: int
) -> dict[str, list[TableRef]]:
    """The table ``gender_sets``, a part for each model whose language has both lists; nothing where none has.

    Args:
        runner: of the stage.
        models: what is measured.
        config: how.
        seed: of the deals.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(GenderConfig, config)
    units = {
        model.name: [_unit(model, config, seed)]
        for model in whole(runner, models)
        if model.wordset.gender and model.wordset.gender.professions and model.wordset.gender_survey
    }
    if not units:
        return {}
    done = runner.run_whole(Stage("word sets", each(_compare), units))
    return {"gender_sets": [unit.tables["gender_sets"] for [unit] in done.values()]}


def _unit(model: Model, config: GenderConfig, seed: int) -> Unit:
    words = {"original": model.wordset.gender, "modified": model.wordset.gender_survey}
    settings = {"model": model.name, "language": model.language, "words": words, "config": config}
    settings |= {"seed": seed, "draws": model.vectors.scheme}
    return Unit(f"sets_{gender.VERSION}", model.name, settings, model.vectors.inputs)


def _compare(store: Store, unit: Unit) -> Tables:
    lookup, config = Lookup(store, unit.inputs), unit.config["config"]
    words = unit.config["words"]
    original = GenderRows(lookup, neutral_survey(words["original"]), config)
    modified = GenderRows(lookup, words["modified"], config)
    key = {name: unit.config[name] for name in ("model", "language")}
    rows = [key | row for row in _rows(original, modified, unit.config["seed"])]
    yield from with_draws({"gender_sets": (rows, GENDER_SETS)}, unit.config["draws"])


def _rows(original: GenderRows, modified: GenderRows, seed: int) -> Iterator[Row]:
    """A row for the biases, and one for their sizes, of which the direct bias is the mean."""
    for score in ("bias", "size"):
        if original.direction is None or modified.direction is None:
            reason = "one of the two lists has no defining pair with both words in the vocabulary"
            yield {"score": score, "num_replicas": 0, **failed("no_direction", reason)}
            continue
        first, second = (_biases(rows) if score == "bias" else np.abs(_biases(rows)) for rows in (original, modified))
        comparison = compare_sets(first, second)
        test = dealt(first[ORIGINAL], second[ORIGINAL], level=original.config.level, seed=seed)
        values = {
            "original_mean": comparison.original_mean,
            "modified_mean": comparison.modified_mean,
            "t": comparison.test.t,
            "similarity": cosine(original.direction.direction, modified.direction.direction),
        }
        row: Row = {
            "score": score,
            "df": float(comparison.test.df[ORIGINAL]),
            "p": test.p,
            "original_professions": int(np.isfinite(first[ORIGINAL]).sum()),
            "modified_professions": int(np.isfinite(second[ORIGINAL]).sum()),
        }
        scales = {"original_mean": _MEANS[score], "modified_mean": _MEANS[score], "t": LINEAR, "similarity": FISHER}
        for name, replicas in values.items():
            row |= estimate(name, original.lookup.taken_apart(replicas), original.config, scales[name])
        basis = original.lookup.basis(comparison.test.t)
        yield row | basis | (failed(test.status, test.reason) if test.too_few and basis["status"] == "ok" else {})


def _biases(rows: GenderRows) -> NDArray[np.float64]:
    """``[embeddings, professions]``, by the weights that are asked for."""
    return rows.biases[rows.config.weights].T

"""Word association tests (WEFAT) of the occupations, held against the share of women in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.association import tables
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.rows import num_needed
from tiltmeter.jobs.association.validation import validated
from tiltmeter.jobs.embedding.config import narrowed
from tiltmeter.jobs.embedding.lookup import Lookup, estimate, missing_words
from tiltmeter.jobs.embedding.models import Model, whole
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import Row, failed
from tiltmeter.operators.association import scores as association
from tiltmeter.operators.association.scores import effect_scale, wefat
from tiltmeter.operators.embedding.similarity import Measure, pairwise
from tiltmeter.operators.statistics import correlation
from tiltmeter.operators.statistics.intervals import LINEAR
from tiltmeter.operators.text.wordsets import Occupations, Wefat
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def measure_words(
    runner: Runner, models: Sequence[Model], config: AssociationConfig, tests: Sequence[str] | None
) -> dict[str, list[TableRef]]:
    """The tables ``word_associations`` and ``validation``, a part for each model and test; empty without tests.

    Raises:
        UnitsFailed: if no model is whole.
    """
    config = narrowed(AssociationConfig, config)
    units = {model.name: _units(model, config, tests) for model in whole(runner, models)}
    units = {name: chosen for name, chosen in units.items() if chosen}
    if not units:
        return {}
    done = runner.run_whole(Stage("word associations", each(_measure), units))
    return {
        name: [unit.tables[name] for finished in done.values() for unit in finished]
        for name in ("word_associations", "validation")
    }


def _units(model: Model, config: AssociationConfig, tests: Sequence[str] | None) -> list[Unit]:
    same = {
        "model": model.name,
        "language": model.language,
        "occupations": model.wordset.occupations,
        "config": config,
        "correlation": correlation.VERSION,
        "draws": model.vectors.scheme,
    }
    # One covariance for each attribute set leaves no common scale for the spread over both, which WEFAT divides by.
    measurable = any(similarity != "mahalanobis" for similarity in config.similarities)
    return [
        Unit(
            f"word_{association.VERSION}",
            f"{model.name} {name}",
            same | {"name": name, "test": test},
            model.vectors.inputs,
        )
        for name, test in model.wordset.wefats.items()
        if measurable and (tests is None or name in tests)
    ]


def _measure(store: Store, unit: Unit) -> Tables:
    lookup, settings = Lookup(store, unit.inputs), unit.config
    similarities = [similarity for similarity in settings["config"].similarities if similarity != "mahalanobis"]
    parts = [_measure_with(lookup, similarity, settings) for similarity in similarities]
    words = [row for rows, _ in parts for row in rows], tables.WordAssociations.schema()
    validation = [row for _, row in parts], tables.Validation.schema()
    yield from with_draws({"word_associations": words, "validation": validation}, settings["draws"])


def _measure_with(lookup: Lookup, similarity: Measure, settings: Mapping[str, Any]) -> tuple[list[Row], Row]:
    """A row for each occupation, and how they go with the share of women."""
    test: Wefat = settings["test"]
    config: AssociationConfig = settings["config"]
    occupations: Occupations = settings["occupations"]
    a, b = (lookup.present(named.words) for named in (test.attribute_a, test.attribute_b))
    lack = _too_few(test, a, b, config)
    words = list(occupations.percent_women)
    nothing = np.full((lookup.num_embeddings, len(words)), np.nan)
    effects = nothing if lack else _effects(lookup, words, a, b, similarity, config.ddof)
    scale = LINEAR if lack else effect_scale(len(a), len(b), config.ddof)
    key = {
        "model": settings["model"],
        "language": settings["language"],
        "test": settings["name"],
        "similarity": similarity,
    }
    rows = [
        {
            **key,
            "attribute_a": test.attribute_a.name,
            "attribute_b": test.attribute_b.name,
            "word": word,
            **estimate("effect_size", lookup.taken_apart(effects[:, index]), config, scale),
            "ddof": config.ddof,
            "percent_women": percent,
            "num_attributes": len(a) + len(b),
            "num_replicas": 0,
            **(lack or (lookup.basis(effects[:, index]) if word in lookup else missing_words([word]))),
        }
        for index, (word, percent) in enumerate(occupations.percent_women.items())
    ]
    women = np.array(list(occupations.percent_women.values())) / 100.0
    against = key | {"measure": "wefat", "against": "share_women"}
    return rows, validated(against, lookup.taken_apart(effects), women, config) | lack


def _too_few(test: Wefat, a: Sequence[str], b: Sequence[str], config: AssociationConfig) -> Row:
    """Why the attributes that are left are too few; empty if they are enough."""
    for named, words in ((test.attribute_a, a), (test.attribute_b, b)):
        needed = num_needed(len(named.words), config)
        if len(words) < needed:
            left = f"{named.name} has {len(words)} of its {len(named.words)} words left"
            return failed("too_few_words", f"{left}, and needs {needed}")
    return {}


def _effects(
    lookup: Lookup, words: Sequence[str], a: Sequence[str], b: Sequence[str], similarity: Measure, ddof: int
) -> NDArray[np.float64]:
    """``[embeddings, words]``"""
    to_a, to_b = (pairwise(lookup(words), lookup(side), similarity) for side in (a, b))
    return wefat(to_a, to_b, similarity, ddof)

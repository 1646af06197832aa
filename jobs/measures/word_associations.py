"""Word association tests (WEFAT) of the occupations, held against the share of women in them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cluster.stages import Runner, Stage
from cluster.workers import Tables, each
from jobs.measures import tables
from jobs.measures.associations import AssociationConfig
from jobs.measures.lookup import Lookup, Row, estimate, failed, missing_words, narrowed, table_of, vectors_of, whole
from jobs.measures.validation import original_and_replicas, validated
from jobs.models import Model
from operators import association, correlation
from operators.association import wefat
from operators.similarity import Measure, pairwise
from operators.wordsets import Occupations, Wefat
from storage.ledger import Store, TableRef, Unit


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
    wordset = model.wordset
    # The covariance of an attribute set is a matter of the paper's tests with two target sets.
    similarities = [similarity for similarity in config.similarities if similarity != "mahalanobis"]
    same = {
        "model": model.name,
        "language": model.language,
        "occupations": wordset.occupations,
        "similarities": similarities,
        "ddof": config.ddof,
        "level": config.level,
        "min_words": config.min_words,
        "min_share": config.min_share,
        "correlation": correlation.VERSION,
    }
    return [
        Unit(
            f"word_{association.VERSION}",
            f"{model.name} {name}",
            same | {"name": name, "test": test},
            {"vectors": vectors_of(model)},
        )
        for name, test in wordset.wefats.items()
        if similarities and (tests is None or name in tests)
    ]


def _measure(store: Store, unit: Unit) -> Tables:
    lookup, config = Lookup(store, unit.inputs["vectors"]), unit.config
    parts = [_measure_with(lookup, similarity, config) for similarity in config["similarities"]]
    yield "word_associations", table_of([row for rows, _ in parts for row in rows], tables.WORD_ASSOCIATIONS)
    yield "validation", table_of([row for _, row in parts], tables.VALIDATION)


def _measure_with(lookup: Lookup, similarity: Measure, config: Mapping[str, Any]) -> tuple[list[Row], Row]:
    """A row for each occupation, and how they go with the share of women."""
    test: Wefat = config["test"]
    occupations: Occupations = config["occupations"]
    a, b = (lookup.present(named.words) for named in (test.attribute_a, test.attribute_b))
    same = {
        **{key: config[key] for key in ("model", "language")},
        "similarity": similarity,
    }
    words = list(occupations.percent_women)
    women = np.array(list(occupations.percent_women.values()))
    if min(len(a), len(b)) < config["min_words"]:
        lack = failed(
            "too_few_words", f"{len(a)} and {len(b)} attribute words are left, {config['min_words']} are needed"
        )
        effects, verdicts = np.full((1 + lookup.num_replicas, len(words)), np.nan), [lack] * len(words)
    else:
        to_a, to_b = (pairwise(lookup(words), lookup(side), similarity) for side in (a, b))
        effects = wefat(to_a, to_b, similarity, config["ddof"])
        verdicts = [
            lookup.basis(effects[:, at]) if word in lookup else missing_words([word]) for at, word in enumerate(words)
        ]
    rows = [
        {
            **same,
            "test": config["name"],
            "attribute_a": test.attribute_a.name,
            "attribute_b": test.attribute_b.name,
            "word": word,
            **estimate("effect_size", effects[:, at], config["level"]),
            "ddof": config["ddof"],
            "percent_women": women[at],
            "num_attributes": len(a) + len(b),
            "num_replicas": 0,
            **verdicts[at],
        }
        for at, word in enumerate(words)
    ]
    original, replicas = original_and_replicas(effects)
    of = same | {"test": config["name"], "measure": "wefat", "against": "share_women"}
    return rows, validated(of, original, women / 100.0, config["level"], replicas)

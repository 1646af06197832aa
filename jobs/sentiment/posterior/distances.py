"""How far words are from the two posteriors of each classifier, prior and sampler, and what they say without draws."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.jobs.sentiment.posterior.chains import LABELS, Drawn, Posterior, load_draws
from tiltmeter.jobs.sentiment.posterior.classifiers import load_network
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.priors import load_prior
from tiltmeter.jobs.sentiment.posterior.tables import EVIDENCE
from tiltmeter.jobs.sentiment.posterior.texts import Texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, Vectors, word_vectors
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior import distances, words
from tiltmeter.operators.sentiment.posterior.distances import identity, mean_distances
from tiltmeter.operators.sentiment.posterior.networks import Network
from tiltmeter.operators.sentiment.posterior.words import WordPosterior, context_scores, word_posterior
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


class Measured(NamedTuple):
    """What a prior and a sampler were measured for.

    Attributes:
        tables: of each classifier, a row for each word that is asked about and has a vector.
        diagnostics: of each classifier and label.
    """

    tables: Sequence[TableRef]
    diagnostics: Sequence[TableRef]


def measure(
    runner: Runner,
    config: SentimentPosteriorRun,
    drawn: Drawn,
    diagnosed: Mapping[Posterior, TableRef],
    refs: Mapping[str, Sequence[TableRef]],
) -> dict[tuple[str, str], Measured]:
    """Distances by prior and sampler, for which both labels were drawn.

    Args:
        refs: by role: what :func:`inputs_of` gives, and ``model`` of each classifier and ``prior`` by their order.
    """
    keys = [key for key in drawn.draws if key.label == "positive" and drawn.draws[key] and drawn.draws[_other(key)]]
    units = {key: _unit(config, drawn, key, refs) for key in keys}
    done = runner.run_whole(Stage("measure words", each(_measure), {"words": list(units.values())}))["words"]
    tables = {key: unit.tables["distances"] for key, unit in zip(keys, done, strict=True)}
    return {
        (prior, sampler): Measured(
            [tables[key] for key in keys if (key.prior, key.sampler) == (prior, sampler)],
            [
                diagnosed[part]
                for key in keys
                if (key.prior, key.sampler) == (prior, sampler)
                for part in (key, _other(key))
            ],
        )
        for prior, sampler in dict.fromkeys((key.prior, key.sampler) for key in keys)
    }


def inputs_of(texts: Texts, vectors: Vectors, asked: TableRef) -> dict[str, Sequence[TableRef]]:
    """What distances of words are made of, whatever the posterior."""
    return {
        "asked": [asked.select("number", "status")],
        "vocabulary": [texts.vocabulary.select("count")],
        "words": [vectors.words[WHOLE]],
        "texts": [vectors.texts[WHOLE]],
    }


def _other(key: Posterior) -> Posterior:
    return key._replace(label="negative")


def _unit(config: SentimentPosteriorRun, drawn: Drawn, key: Posterior, refs: Mapping[str, Sequence[TableRef]]) -> Unit:
    inputs = {role: refs[role] for role in ("asked", "vocabulary", "words", "texts")}
    inputs |= {"model": [refs["model"][key.seed]], "prior": [refs["prior"][config.priors.index(key.prior)]]}
    inputs |= {
        "positive": drawn.draws[key],
        "negative": drawn.draws[_other(key)],
        "evidence": drawn.evidence[key.seed, key.prior],
    }
    settings = {
        "operators": [distances.VERSION, words.VERSION],
        "posterior": key.row,
        "distance": config.distance,
        "power": config.power,
        "seed": config.seed,
    }
    return Unit("posterior_distances/1", f"classifier {key.seed}, {key.prior}, {key.sampler}", settings, inputs)


def known_numbers(store: Store, asked: TableRef) -> IntArray:
    """Numbers in the vocabulary of the words that have a vector, each once: two spellings may be one word."""
    table = pl.DataFrame(store.read(asked))
    return table.filter(status="ok")["number"].unique().sort().to_numpy()


def _measure(store: Store, unit: Unit) -> Tables:
    config, seed = unit.config, unit.config["posterior"]["seed"]
    numbers = known_numbers(store, unit.input("asked"))
    every = word_vectors(store, unit.input("words"))
    vectors, distance = every[numbers], config["distance"]
    means = {label: mean_distances(load_draws(store, unit.inputs[label]), vectors, distance) for label in LABELS}
    rows = [row for ref in unit.inputs["evidence"] for row in store.read(ref).to_pylist()]
    evidence = {row["label"]: row for row in rows}["positive"]
    name = config["posterior"]["prior"]
    prior = load_prior(store, name, unit.input("prior"))
    generator = keyed_generator(config["seed"], Stream.POSTERIOR_DRAW, document_key(f"{name} prior"), seed)
    num_draws = sum(ref.num_rows for ref in unit.inputs["positive"])
    before = mean_distances(prior.draws(generator, num_draws)[np.newaxis], vectors, distance)
    held = identity(means["positive"], means["negative"], before, evidence["probability"], evidence["standard_error"])
    positive, negative = means["positive"], means["negative"]
    yield (
        "distances",
        pl.DataFrame(
            {
                "number": numbers,
                "distance_positive": positive.mean,
                "distance_negative": negative.mean,
                "contrast": negative.mean - positive.mean,
                "contrast_se": np.hypot(positive.standard_error, negative.standard_error),
                # Powers of p(y | s) don't add up to 1.
                "identity_gap": held.gap if config["power"] == 1.0 else np.full(len(numbers), np.nan),
                "identity_se": held.standard_error,
                **_without_draws(store, unit, every, numbers),
            }
        ).to_arrow(),
    )


def _without_draws(store: Store, unit: Unit, every: FloatArray, numbers: IntArray) -> dict[str, FloatArray]:
    network = load_network(store, unit.input("model"))
    posterior = _counted_through(store, unit, network, every)
    places = np.cumsum(np.isfinite(every).all(axis=1)) - 1
    texts = word_vectors(store, unit.input("texts"))
    num_words = float(np.asarray(store.read(unit.input("texts").select("num_words"))["num_words"]).mean())
    context = context_scores(network, every[numbers], np.nanmean(texts, axis=0), max(1.0, num_words))
    return {"log_odds": posterior.log_odds[places[numbers]], "in_context": context}


def _counted_through(store: Store, unit: Unit, network: Network, every: FloatArray) -> WordPosterior:
    """Of the words that have a vector."""
    known = np.isfinite(every).all(axis=1)
    counts = np.asarray(store.read(unit.input("vocabulary"))["count"], dtype=np.float64)
    return word_posterior(network, every[known], counts[known], unit.config["power"])


def count_words(
    runner: Runner, config: SentimentPosteriorRun, models: Sequence[TableRef], texts: Texts, vectors: Vectors
) -> list[TableRef]:
    """Of every classifier the rows of the table ``evidence`` of the unigram prior, which needs no draws."""
    inputs = {"vocabulary": [texts.vocabulary], "words": [vectors.words[WHOLE]]}
    units = [
        Unit(
            "posterior_unigram/1",
            f"classifier {seed}",
            {"operator": words.VERSION, "seed": seed, "power": config.power},
            inputs | {"model": [model]},
        )
        for seed, model in enumerate(models)
    ]
    done = runner.run_whole(Stage("count words", each(_count), {"words": units}))["words"]
    return [unit.tables["evidence"] for unit in done]


def _count(store: Store, unit: Unit) -> Tables:
    every, network = word_vectors(store, unit.input("words")), load_network(store, unit.input("model"))
    posterior = _counted_through(store, unit, network, every)
    shares = {"positive": posterior.evidence, "negative": posterior.counter_evidence}
    keys = {"seed": unit.config["seed"], "prior": "unigram", "standard_error": 0.0, "method": "enumeration"}
    rows = [keys | {"label": label, "probability": share} for label, share in shares.items()]
    yield "evidence", table_of(rows, EVIDENCE)

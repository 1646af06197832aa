"""Priors as tables: their moments, or the texts themselves."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.texts import Texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, Vectors, word_vectors
from tiltmeter.operators.sentiment.posterior import priors
from tiltmeter.operators.sentiment.posterior.priors import Gaussian, Points, Prior
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

EMPIRICAL = "empirical"


def find_priors(
    runner: Runner, config: SentimentPosteriorRun, texts: Texts, vectors: Vectors
) -> Mapping[str, TableRef]:
    """A table of vectors for each prior: the mean and then the rows of the factor, or the texts themselves."""
    inputs = {
        "texts": [vectors.texts[WHOLE].select("vector")],
        "words": [vectors.words[WHOLE]],
        "vocabulary": [texts.vocabulary.select("count")],
    }
    units = [Unit(priors.VERSION, name, {"name": name}, inputs) for name in config.priors]
    done = runner.run_whole(Stage("priors", each(_fit), {"priors": units}))["priors"]
    return {name: unit.tables["prior"] for name, unit in zip(config.priors, done, strict=True)}


def load_prior(store: Store, name: str, ref: TableRef) -> Prior:
    """The prior of a table of :func:`find_priors`."""
    vectors = matrix(store.read(ref)["vector"]).astype(np.float64)
    return Points(vectors) if name == EMPIRICAL else Gaussian(vectors[0], vectors[1:])


def _fit(store: Store, unit: Unit) -> Tables:
    texts, words = (word_vectors(store, unit.input(role)) for role in ("texts", "words"))
    texts = texts[np.isfinite(texts).all(axis=1)]
    known = np.isfinite(words).all(axis=1)
    counts = np.asarray(store.read(unit.input("vocabulary"))["count"], dtype=np.float64)
    name = unit.config["name"]
    if name == EMPIRICAL:
        yield "prior", pa.table({"vector": vector_column(texts)})
        return
    if name == "standard":
        prior = priors.standard(texts.shape[1])
    elif name == "texts":
        prior = priors.of_texts(texts)
    elif name == "words":
        prior = priors.of_words(words[known], counts[known])
    else:
        prior = priors.of_bags(words[known], counts[known], texts)
    yield "prior", pa.table({"vector": vector_column(np.vstack([prior.mean, prior.factor]))})

"""What draws look like: beside texts in two dimensions, by their nearest texts, and as bags of real words."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.jobs.sentiment.posterior.chains import EXACT, LABELS, Drawn, Posterior, load_draws
from tiltmeter.jobs.sentiment.posterior.classifiers import labelled_vectors, load_network
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.tables import EVIDENCE, PROJECTION, TEXTS
from tiltmeter.jobs.sentiment.posterior.texts import Texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, Vectors, word_vectors
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior import bags, nearest, words
from tiltmeter.operators.sentiment.posterior.bags import gibbs_bags
from tiltmeter.operators.sentiment.posterior.nearest import Plane, mixture_residual, nearest_texts, principal_plane
from tiltmeter.operators.sentiment.posterior.networks import Target, scores
from tiltmeter.operators.sentiment.posterior.words import word_posterior
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

UNIGRAM = "unigram"

_NUM_POINTS = 200
"""Of each kind, in the picture."""

_NUM_CANDIDATES = 2000
"""The most frequent words, of which mixtures are made."""


def project(runner: Runner, config: SentimentPosteriorRun, drawn: Drawn, texts: Texts, vectors: Vectors) -> TableRef:
    """The table ``projection`` of texts and of exact draws of the first classifier."""
    keys = [Posterior(0, prior, label, EXACT) for prior in config.priors for label in LABELS]
    keys = [key for key in keys if drawn.draws[key]]
    inputs: dict[str, Sequence[TableRef]] = {
        "texts": [texts.rows.select("is_positive", "fold")],
        "vectors": [vectors.texts[WHOLE]],
    }
    inputs |= {f"{key.prior} {key.label}": drawn.draws[key] for key in keys}
    unit = Unit("posterior_projection/1", "picture", {"draws": [[key.prior, key.label] for key in keys]}, inputs)
    [done] = runner.run_whole(Stage("project", each(_project), {"draws": [unit]}))["draws"]
    return done.tables["projection"]


def _project(store: Store, unit: Unit) -> Tables:
    texts = labelled_vectors(store, unit.input("texts"), unit.input("vectors"))
    plane = principal_plane(texts.vectors)
    rows: list[Row] = []
    for label, sign in LABELS.items():
        vectors = texts.vectors[texts.is_positive == (sign == 1)]
        rows += _points(vectors, plane, {"prior": "", "label": label, "kind": "text"})
    for prior, label in unit.config["draws"]:
        vectors = load_draws(store, unit.inputs[f"{prior} {label}"])[0]
        rows += _points(vectors, plane, {"prior": prior, "label": label, "kind": "draw"})
    yield "projection", table_of(rows, PROJECTION)


def _points(vectors: FloatArray, plane: Plane, keys: Row) -> Iterator[Row]:
    chosen = vectors[np.linspace(0, len(vectors) - 1, min(_NUM_POINTS, len(vectors))).astype(np.int64)]
    for point, (vector, (x, y)) in enumerate(zip(chosen, plane.places(chosen), strict=True)):
        yield keys | {"point": point, "x": float(x), "y": float(y), "norm": float(np.linalg.norm(vector))}


def show_texts(
    runner: Runner,
    config: SentimentPosteriorRun,
    drawn: Drawn,
    models: Sequence[TableRef],
    texts: Texts,
    vectors: Vectors,
) -> Mapping[str, list[TableRef]]:
    """Parts of the table ``texts``, and of ``evidence`` the rows of the unigram prior, for every classifier."""
    done = runner.run_whole(
        Stage("nearest texts", each(_nearest), {"draws": _nearest_units(config, drawn, models, texts, vectors)})
    )
    words_of = {"vocabulary": [texts.vocabulary], "words": [vectors.words[WHOLE]]}
    bag_units = [
        Unit(
            "posterior_bags/1",
            f"bags, {label}",
            {
                "operator": bags.VERSION,
                "gibbs": config.gibbs,
                "label": label,
                "power": config.power,
                "seed": config.seed,
            },
            words_of | {"model": [models[0]]},
        )
        for label in LABELS
        if config.gibbs.sweeps
    ]
    drawn_bags = runner.run_whole(Stage("draw bags", each(_bags), {"bags": bag_units})) if bag_units else {"bags": []}
    units = [
        Unit(
            "posterior_unigram/1",
            f"classifier {seed}",
            {"operator": words.VERSION, "seed": seed, "power": config.power},
            words_of | {"model": [model]},
        )
        for seed, model in enumerate(models)
    ]
    counted = runner.run_whole(Stage("count words", each(_count), {"words": units}))["words"]
    return {
        "texts": [unit.tables["texts"] for unit in (*done["draws"], *drawn_bags["bags"])],
        "evidence": [unit.tables["evidence"] for unit in counted],
    }


def _nearest_units(
    config: SentimentPosteriorRun, drawn: Drawn, models: Sequence[TableRef], texts: Texts, vectors: Vectors
) -> list[Unit]:
    keys = [Posterior(0, prior, label, EXACT) for prior in config.priors for label in LABELS]
    inputs = {
        "rows": [texts.rows],
        "vectors": [vectors.texts[WHOLE]],
        "words": [vectors.words[WHOLE]],
        "model": [models[0]],
    }
    settings = {"operator": nearest.VERSION, "nearest": config.nearest}
    return [
        Unit(
            "posterior_nearest/1",
            f"{key.prior}, {key.label}",
            settings | {"prior": key.prior, "label": key.label},
            inputs | {"draws": drawn.draws[key]},
        )
        for key in keys
        if drawn.draws[key] and config.nearest.draws
    ]


def _nearest(store: Store, unit: Unit) -> Tables:
    config = unit.config
    texts = labelled_vectors(store, unit.input("rows"), unit.input("vectors"))
    draws = load_draws(store, unit.inputs["draws"])[0][: config["nearest"].draws]
    every = word_vectors(store, unit.input("words"))
    candidates = every[np.isfinite(every).all(axis=1)][:_NUM_CANDIDATES]
    neighbours = nearest_texts(draws, texts.vectors, min(config["nearest"].number, len(texts.vectors)))
    values = scores(load_network(store, unit.input("model")), texts.vectors)
    written = store.read(unit.input("rows").select("text"))["text"]
    rows = [
        {
            "prior": config["prior"],
            "label": config["label"],
            "kind": "nearest",
            "draw": draw,
            "rank": rank,
            "text": written[int(texts.rows[row])].as_py(),
            "score": float(values[row]),
            "distance": float(neighbours.distances[draw, rank]),
            "quantile": float(neighbours.quantiles[draw, rank]),
            "residual": residual,
        }
        for draw, residual in enumerate([mixture_residual(vector, candidates) for vector in draws])
        for rank, row in enumerate(neighbours.rows[draw])
    ]
    yield "texts", table_of(rows, TEXTS)


def _vocabulary(store: Store, unit: Unit) -> tuple[list[str], FloatArray, FloatArray]:
    """Words with a vector, their vectors and counts, the most frequent first."""
    table, vectors = store.read(unit.input("vocabulary")), word_vectors(store, unit.input("words"))
    known = np.isfinite(vectors).all(axis=1)
    listed = table["word"].filter(pa.array(known)).to_pylist()
    return listed, vectors[known], np.asarray(table["count"], dtype=np.float64)[known]


def _bags(store: Store, unit: Unit) -> Tables:
    config: dict[str, Any] = unit.config
    gibbs, label = config["gibbs"], config["label"]
    listed, vectors, counts = _vocabulary(store, unit)
    vectors, counts = vectors[: gibbs.vocabulary], counts[: gibbs.vocabulary]
    network = load_network(store, unit.input("model"))
    generator = keyed_generator(config["seed"], Stream.WORD_BAG, document_key(label))
    sweeps = gibbs_bags(generator, Target(network, LABELS[label], power=config["power"]), vectors, counts, gibbs.words)
    kept = list(islice(sweeps, gibbs.warmup, gibbs.warmup + gibbs.sweeps))
    shown = np.linspace(0, len(kept) - 1, min(gibbs.shown, len(kept))).astype(np.int64)
    rows = [
        {
            "prior": UNIGRAM,
            "label": label,
            "kind": "bag",
            "draw": int(number),
            "rank": 0,
            "text": " ".join(listed[word] for word in kept[number]),
            "score": float(scores(network, vectors[kept[number]].mean(axis=0, keepdims=True))[0]),
        }
        for number in shown
    ]
    yield "texts", table_of(rows, TEXTS)


def _count(store: Store, unit: Unit) -> Tables:
    _, vectors, counts = _vocabulary(store, unit)
    posterior = word_posterior(load_network(store, unit.input("model")), vectors, counts, unit.config["power"])
    shares = {"positive": posterior.evidence, "negative": posterior.counter_evidence}
    keys = {"seed": unit.config["seed"], "prior": UNIGRAM, "standard_error": 0.0, "method": "enumeration"}
    yield (
        "evidence",
        table_of([keys | {"label": label, "probability": share} for label, share in shares.items()], EVIDENCE),
    )

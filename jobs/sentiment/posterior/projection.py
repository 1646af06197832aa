"""What draws look like: beside texts, in two dimensions."""

from collections.abc import Iterator, Sequence

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.jobs.sentiment.posterior.chains import EXACT, LABELS, Drawn, Posterior, load_draws
from tiltmeter.jobs.sentiment.posterior.classifiers import labelled_vectors
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.tables import PROJECTION
from tiltmeter.jobs.sentiment.posterior.texts import Texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, Vectors
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment.posterior.plane import Plane, principal_plane
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_NUM_POINTS = 200
"""Of each kind, in the picture."""


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

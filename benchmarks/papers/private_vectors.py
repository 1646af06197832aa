"""Feyisetan and Kasiviswanathan 2021: table 1 beside noise alone, and appendix A, with embeddings of our own.

The paper does not say which GloVe it takes. Ours are trained on the Simple English Wikipedia, 6 million tokens; the
docs have the commands. Training takes an hour, so what runs found is recorded: the run of table 1, and word2vec files
of 300 dimensions, of 50, 100 and 200.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure, compared, keep, recorded
from tiltmeter.operators.classifiers.errors.splits import mean_of
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release import distances, noise
from tiltmeter.operators.embedding.private_release.projections import gaussian_projection
from tiltmeter.operators.embedding.private_release.utility import held_out, linear_result
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.storage.vectors.embedding import EmbeddingFile
from tiltmeter.storage.vectors.files import read_embedding

TITLE = "Feyisetan and Kasiviswanathan 2021, Private Release of Text Embedding Vectors"
PAGE = "private_vectors"
DATA_FILES: list[str] = []

_WIDTH = 300
_BETAS = {50: 0.93, 100: 0.66, 200: 0.468}
_TABLE_1 = {"MR": (55.61, 58.11), "CR": (63.97, 71.02), "MPQA": (77.98, 78.86)}
_TABLE_1 |= {"SST-5": (31.90, 32.49), "TREC": (53.20, 73.00)}
"""Per cent right on the test part: by M1, and by M2 at beta = 0.9."""

_TRAINING = {"MR": (58.10, 57.76), "CR": (68.32, 72.52), "MPQA": (78.76, 77.84)}
_TRAINING |= {"SST-5": (31.24, 32.70), "TREC": (60.54, 62.53)}
"""The same on what the classifier was trained on, which the recorded run did not keep."""

_NORM, _DISTANCE = 6.0, 10.7
"""Of vectors as GloVe's, and of two of them."""

_EPSILONS = (5.0, 10.0, 20.0, 50.0)
_NUM_RUNS, _TEST_SHARE = 5, 0.2
_LISTS = ["sentiment/huliu/negative-words.txt", "sentiment/huliu/positive-words.txt"]

Row = dict[str, Any]


def figures() -> list[Figure]:
    """What the paper prints, beside ours and beside what noise alone is right about."""
    record = recorded(PAGE)
    return [*_dimensions(), *_bounds(), *_table_1(record["table_1"]), *_appendix(record["appendix_a"])]


def _dimensions() -> Iterator[Figure]:
    for num, beta in _BETAS.items():
        ours = noise.published_dimensions(_WIDTH, beta)
        yield compared("appendix A", f"dimensions at beta = {beta}", num, ours, otherwise="the rule gives two less")


def _bounds() -> Iterator[Figure]:
    """Propositions 7 to 9 at one setting of experiment 1, by their own formula and by the quantile of the noise."""
    beta, num = 0.5, 200
    kept = noise.published_dimensions(_WIDTH, beta)
    given = (_NORM, beta, kept, 1.0, num, 1e-6)
    expected = distances.expected_distance_error(np.array([_DISTANCE]), noise.mean_squared_norm("norm", kept, 1 + beta))
    deviation = noise.coordinate_deviation("norm", kept, 1 + beta)
    product = distances.expected_product_error(deviation, kept, np.array([2 * _NORM**2]))
    means = {"distance": f"; mean error {expected:,.0f}", "product": f"; mean error {product:,.0f}", "loss": ""}
    names = {"distance": "error of a distance", "product": "error of an inner product", "loss": "loss that is added"}
    where = f"at epsilon = 1 and beta = {beta}, {num} vectors of norm {_NORM:g} at most, delta = 1e-6"
    printed, exact = distances.published_bounds(*given), distances.quantile_bounds(*given)
    for number, (name, said) in enumerate(names.items(), start=7):
        bound, ours = f"{getattr(printed, name):,.0f}", f"{getattr(exact, name):,.0f} by the quantile{means[name]}"
        yield Figure(f"proposition {number}", f"bound on the {said}, {where}", bound, ours, "by the formula")


def _table_1(rows: list[Row]) -> Iterator[Figure]:
    """A printed value says something of vectors where it exceeds that of noise alone, drawn once for each word."""
    for task, printed in _TABLE_1.items():
        found = {(row["mechanism"], row["dimensions"], row["noise_per"]): row for row in rows if row["task"] == task}
        for name, value in zip(("M1", "M2"), printed, strict=True):
            [num] = {dimensions for mechanism, dimensions, _ in found if mechanism == name}
            alone = found["noise_only norm", num, "word"]
            cells = [
                f"{per} {_percent(found[name, num, per])} ({_percent(found['noise_only norm', num, per])})"
                for per in ("word", "occurrence")
            ]
            verdict = "less than noise alone" if value < 100 * alone["low"] else "as noise alone"
            verdict = "more than noise alone" if value > 100 * alone["high"] else verdict
            heading = f"{task}, {name} in {num}: % right; ours with noise by ... (of noise alone)"
            yield Figure("table 1", heading, f"{value:.2f}", "; by ".join(["", *cells])[2:], verdict)
        training = ", ".join(f"{value:.2f}" for value in _TRAINING[task])
        yield Figure("table 1", f"{task}: % right of the training texts, M1 and M2", training, "–", "not recorded")
        others = ", ".join(_percent(found[name, 0, "none"]) for name in ("non_private", "constant"))
        heading = f"{task}: % right without noise, and of the most frequent class"
        yield Figure("table 1", heading, "–", others, "no figure in print")


def _percent(row: Row) -> str:
    return f"{100 * row['value']:.1f}"


def _appendix(rows: list[Row]) -> Iterator[Figure]:
    """Whether fewer dimensions in training are better than fewer after it, as figure 4 shows: one verdict over all.

    Rows share words and vectors, so that their mean difference has the mean of their ends as an interval, whatever
    they have in common.
    """
    heading = "words of Hu and Liu, {}: trained is better than mapped"
    for row in rows:
        given = "without noise" if row["epsilon"] is None else f"epsilon = {row['epsilon']:g}"
        ours = f"{100 * row['trained']:.1f} against {100 * row['mapped']:.1f} % right"
        named = heading.format(f"{row['dimensions']} dimensions, {given}")
        yield Figure("figure 4", named, "–" if row["epsilon"] is None else "yes", ours, "see all rows")
    differences = np.array([row["trained"] - row["mapped"] for row in rows])
    low, high = (float(np.mean([row[f"difference_{end}"] for row in rows])) for end in ("low", "high"))
    verdict = "same" if low > 0 else "the other way round" if high < 0 else "ahead, not surely"
    ours = f"ahead in {int((differences > 0).sum())} of {len(rows)} rows, by {100 * differences.mean():.1f} points"
    ours += f" on average [{100 * low:.1f}, {100 * high:.1f}]"
    yield Figure("figure 4", heading.format("all rows"), "yes", ours, verdict)


# --- what is recorded -----------------------------------------------------------------------------------------------


def record(table_1: Path, vectors: Path, *trained: Path) -> None:
    """Keep what a run found, and do experiment 3 with dimensions that are fewer by training or by a map."""
    kept = ["task", "mechanism", "dimensions", "epsilon", "noise_per", "measure", "value", "low", "high"]
    rows = pl.read_parquet(table_1 / "utility.parquet").select(kept)
    appendix = [row for path in trained for row in _compared(read_embedding(str(path)), read_embedding(str(vectors)))]
    tables = {"table_1": rows, "appendix_a": pl.DataFrame(appendix, infer_schema_length=None)}
    rounded = {name: part.with_columns(pl.col(pl.Float64).round(6)).to_dicts() for name, part in tables.items()}
    keep(PAGE, rounded)


def _compared(few: EmbeddingFile, many: EmbeddingFile) -> Iterator[Row]:
    """Of words that both have, without noise and with it: right by a linear SVM, over the same test parts."""
    lexicon = _lexicon()
    rows = [{word: row for row, word in enumerate(embedding.words)} for embedding in (few, many)]
    words = sorted(lexicon.keys() & rows[0].keys() & rows[1].keys())
    labels = np.array([lexicon[word] for word in words])
    trained, whole = (
        embedding.vectors[[places[word] for word in words]].astype(np.float64)
        for embedding, places in zip((few, many), rows, strict=True)
    )
    num, width = trained.shape[1], whole.shape[1]
    mapped = whole @ gaussian_projection(np.random.default_rng(0), num, width).T
    for epsilon in (None, *_EPSILONS):
        scales = (0.0, 0.0) if epsilon is None else (1 / epsilon, (1 + _BETAS[num]) / epsilon)
        both = list(zip((trained, mapped), scales, strict=True))
        values = np.array([[_right(images, labels, scale, run) for images, scale in both] for run in range(_NUM_RUNS)])
        differences, num_test = values[:, 0] - values[:, 1], _TEST_SHARE * len(labels)
        over = mean_of(differences, _TEST_SHARE, num_test, 0.95, FISHER, is_share=False)
        means = dict(zip(("trained", "mapped"), values.mean(axis=0).tolist(), strict=True))
        ends = {"difference_low": over.low, "difference_high": over.high}
        yield {"dimensions": num, "epsilon": epsilon} | means | ends


def _right(images: FloatArray, labels: IntArray, scale: float, run: int) -> float:
    generator = np.random.default_rng(run)
    is_test = held_out(generator, len(labels), _TEST_SHARE)
    moves = noise.norm_noise(generator, images.shape, scale) if scale else 0.0
    return linear_result(images + moves, labels, is_test).accuracy


def _lexicon() -> dict[str, int]:
    """Words that are in one of the two lists alone."""
    lists = [
        {line.strip() for line in (DATA / path).read_text(encoding="latin-1").splitlines() if line[:1] not in ("", ";")}
        for path in _LISTS
    ]
    return {word: kind for kind in range(2) for word in lists[kind] - lists[1 - kind]}

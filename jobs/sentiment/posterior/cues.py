"""Cues of gender added to texts near the border: at which mixture their verdicts change."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.sentiment.posterior.asked import vocabulary_entry
from tiltmeter.jobs.sentiment.posterior.classifiers import Labelled, labelled_vectors, load_network
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.tables import CUES
from tiltmeter.jobs.sentiment.posterior.texts import LANGUAGE, Texts
from tiltmeter.jobs.sentiment.posterior.vectors import WHOLE, Vectors, word_vectors
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.psychophysics import forced_choice
from tiltmeter.operators.psychophysics.forced_choice import curve
from tiltmeter.operators.sentiment.posterior import cues
from tiltmeter.operators.sentiment.posterior.cues import CueResponses, border_texts, cue_responses, resampled_flips
from tiltmeter.operators.sentiment.posterior.networks import Network
from tiltmeter.operators.statistics.intervals import percentile_interval
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_NUM_RESAMPLES = 1000


class _Border(NamedTuple):
    """A classifier, and the texts near its border: their rows, vectors and numbers of words."""

    network: Network
    rows: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
    vectors: FloatArray
    num_words: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"


def ask_cues(
    runner: Runner, config: SentimentPosteriorRun, models: Sequence[TableRef], texts: Texts, vectors: Vectors
) -> list[TableRef]:
    """The table ``cues``; none without pairs."""
    settings = {
        "operators": [cues.VERSION, forced_choice.VERSION],
        "cues": config.cues,
        "tokens": Tokenizer(LANGUAGE).identity,
        "level": config.job.level,
        "seed": config.seed,
    }
    inputs = {
        "models": models,
        "rows": [texts.rows.select("text", "is_positive", "fold")],
        "texts": [vectors.texts[WHOLE]],
        "vocabulary": [texts.vocabulary.select("word")],
        "words": [vectors.words[WHOLE]],
    }
    units = [Unit("posterior_cues/4", "cues", settings, inputs)] if config.cues.pairs else []
    done = runner.run_whole(Stage("ask cues", each(_ask), {"cues": units}))["cues"] if units else []
    return [unit.tables["cues"] for unit in done]


def _ask(store: Store, unit: Unit) -> Tables:
    config = unit.config
    texts = labelled_vectors(store, unit.input("rows"), unit.input("texts"))
    borders = [_border(load_network(store, ref), texts, config["cues"].texts) for ref in unit.inputs["models"]]
    contents = store.read(unit.input("rows").select("text"))["text"].take(pa.array(texts.rows)).to_pylist()
    words = store.read(unit.input("vocabulary"))["word"].to_pylist()
    vectors = dict(zip(words, word_vectors(store, unit.input("words")), strict=True))
    known = {word: vector for word, vector in vectors.items() if np.isfinite(vector).all()}
    rows = [
        {"first": first, "second": second} | _row(borders, contents, known, (first, second), config)
        for first, second in config["cues"].pairs
    ]
    yield from with_draws({"cues": (rows, CUES)}, None)


def _border(network: Network, texts: Labelled, number: int) -> _Border:
    rows = border_texts(network, texts.vectors, number)
    return _Border(network, rows, texts.vectors[rows], texts.num_words[rows])


def _row(
    borders: Sequence[_Border],
    contents: Sequence[str],
    known: dict[str, FloatArray],
    pair: tuple[str, str],
    config: Row,
) -> Row:
    one, other = (known.get(vocabulary_entry(Tokenizer(LANGUAGE), word)) for word in pair)
    if one is None or other is None:
        missing = [word for word, vector in zip(pair, (one, other), strict=True) if vector is None]
        return failed("no_vector", f"there is no vector for {' and '.join(missing)}")
    responses = [cue_responses(border.network, border.vectors, border.num_words, one, other) for border in borders]
    texts, flips = _by_text(borders, responses)
    num_flips = int(np.isfinite(flips).sum())
    if num_flips < 2:
        return failed("no_border", "the classifier puts all texts on one side, or takes both cues for the same")
    drawn_rows = texts[np.isfinite(flips).any(axis=1)]
    made = _curve(flips, [contents[row] for row in drawn_rows.tolist()], f"cues {' '.join(pair)}", config)
    return made | _positive(responses) | {"num_texts": num_flips} | OK


def _curve(flips: FloatArray, texts: Sequence[str], about: str, config: Row) -> Row:
    """PSE with interval and draws, and JND.

    Args:
        flips: ``[texts, classifiers]``.
        texts: that have a flip. Runs with the same ones near their borders draw them alike.
        about: what resamples are keyed by.
    """
    generator = keyed_generator(config["seed"], Stream.RESAMPLING, document_key(about))
    middles = np.concatenate([curve(block).pse for block in resampled_flips(flips, generator, _NUM_RESAMPLES)])
    interval = percentile_interval(middles, config["level"])
    estimate = curve(flips.reshape(1, -1))
    scheme = {**drawn_texts(texts, config["seed"], about), "operator": cues.VERSION}
    return {
        "pse": float(estimate.pse[0]),
        "pse_low": float(interval.low),
        "pse_high": float(interval.high),
        "jnd": float(estimate.jnd[0]),
        **drawn("pse", middles, scheme, len(texts)),
    }


def _by_text(borders: Sequence[_Border], responses: Sequence[CueResponses]) -> tuple[IntArray, FloatArray]:
    """Which texts are near a border, ``[texts]``, and their flips, ``[texts, classifiers]``.

    A flip is NaN where its text is not near the border of its classifier.
    """
    texts = np.unique(np.concatenate([border.rows for border in borders]))
    flips = np.full((len(texts), len(borders)), np.nan)
    for number, (border, response) in enumerate(zip(borders, responses, strict=True)):
        flips[np.searchsorted(texts, border.rows), number] = response.flips
    return texts, flips


def _positive(responses: Sequence[CueResponses]) -> Row:
    return {
        "positive_first": float(np.mean([response.first for response in responses])),
        "positive_second": float(np.mean([response.second for response in responses])),
    }

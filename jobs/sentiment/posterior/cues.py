"""Cues of gender added to texts near the border: at which mixture their verdicts change."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS, drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.runtime.wording import listed
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
from tiltmeter.operators.sentiment.posterior.cues import (
    CueResponses,
    border_texts,
    cue_responses,
    effect,
    middle,
    one_way,
    resampled_flips,
)
from tiltmeter.operators.sentiment.posterior.networks import Network
from tiltmeter.operators.statistics import means
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


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
        "operators": [cues.VERSION, forced_choice.VERSION, means.VERSION],
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
    units = [Unit("posterior_cues/5", "cues", settings, inputs)] if config.cues.pairs else []
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
    borders = [border for border in borders if border.rows.size]
    responses = [cue_responses(border.network, border.vectors, border.num_words, one, other) for border in borders]
    if not any((response.steps != 0.0).any() for response in responses):
        return failed("no_border", "the classifiers put all texts on one side, or take both cues for the same")
    row = _shares(responses, borders, config["level"])
    flips = one_way(responses)
    if flips is None:
        shares = listed([f"{share:.0%}" for share in row["share_towards_first"]])
        why = f"{shares} of the texts, by classifier, move towards {pair[0]}; a PSE needs 95% of each to move one way"
        return row | failed("directions_differ", why)
    texts, by_text = _by_text(borders, flips)
    is_known = np.isfinite(by_text).any(axis=1)
    return row | _middle(
        by_text, [contents[text] for text in texts[is_known].tolist()], f"cues {' '.join(pair)}", config
    )


def _shares(responses: Sequence[CueResponses], borders: Sequence[_Border], level: float) -> Row:
    """What there is whatever the directions."""
    inferred = effect(responses, [border.rows for border in borders], level)
    return {
        "num_texts": sum(border.rows.size for border in borders),
        "share_towards_first": [response.towards_first for response in responses],
        "positive_first": float(np.concatenate([response.first for response in responses]).mean()),
        "positive_second": float(np.concatenate([response.second for response in responses]).mean()),
        "effect": inferred.value,
        "effect_low": inferred.low,
        "effect_high": inferred.high,
        "p": inferred.p,
    }


def _middle(flips: FloatArray, texts: Sequence[str], about: str, config: Row) -> Row:
    """PSE with interval and draws, and JND, where the PSE is a mixture of the cues.

    Args:
        flips: ``[texts, classifiers]``.
        texts: that have a flip. Runs with the same ones near their borders draw them alike.
        about: what resamples are keyed by.
    """
    inferred = middle(flips, config["level"])
    known = flips[np.isfinite(flips)]
    row: Row = {"num_flips": known.size, "num_outside": int(((known < 0.0) | (known > 1.0)).sum())}
    if not 0.0 <= inferred.value <= 1.0:
        why = "no mixture of the cues makes half of the texts positive: the line through both ends has to be prolonged"
        return row | {"pse_extrapolated": inferred.value} | failed("outside", why)
    row |= {"pse": inferred.value, "pse_low": inferred.low, "pse_high": inferred.high}
    row["jnd"] = float(curve(flips.reshape(1, -1)).jnd[0])
    if inferred.too_few:
        return row | failed("too_few_units", inferred.reason)
    generator = keyed_generator(config["seed"], Stream.RESAMPLING, document_key(about))
    middles = np.concatenate([curve(block).pse for block in resampled_flips(flips, generator, MOST_DRAWS)])
    scheme = {**drawn_texts(texts, config["seed"], about), "operator": cues.VERSION}
    return row | drawn("pse", middles, scheme, len(texts)) | OK


def _by_text(borders: Sequence[_Border], flips: Sequence[FloatArray]) -> tuple[IntArray, FloatArray]:
    """Which texts are near a border, ``[texts]``, and their flips, ``[texts, classifiers]``.

    A flip is NaN where its text is not near the border of its classifier.
    """
    texts = np.unique(np.concatenate([border.rows for border in borders]))
    by_text = np.full((len(texts), len(borders)), np.nan)
    for number, (border, of_border) in enumerate(zip(borders, flips, strict=True)):
        by_text[np.searchsorted(texts, border.rows), number] = of_border
    return texts, by_text

"""What explanations show of single texts: words coloured by what they add, as in figure 1 of Idahl et al. 2021."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.decoys.explaining import DECOYED, PLAIN
from tiltmeter.jobs.classifiers.decoys.names import CHANCE, METHODS
from tiltmeter.jobs.report.html.elements import Passage, Passages, Token
from tiltmeter.jobs.report.wording import number, quoted
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.classifiers.decoys.detection import Explained, top_words
from tiltmeter.operators.classifiers.decoys.kinds import Decoy, holds

_NUM_OF_EACH = 2
"""Texts that are shown, with the decoy and without."""

_MOST_WORDS = 60
"""That are shown of a text."""

_CUT = Token("…")
_KINDS = {PLAIN: "trained without the decoy", DECOYED: "trained with it"}


def highlights(config: DecoyBenchmarkRun, frames: Frames) -> Iterator[Passages]:
    """Of each decoy, the first texts with it and without it, as the first models of both kinds explain them."""
    methods = config.explanations.methods
    method = next((name for name in methods if name != CHANCE), methods[0])
    explained = frames.scan("attributions").filter(pl.col("model").is_in([f"{kind} 0" for kind in _KINDS]))
    for name, decoy in config.decoys.items():
        words = explained.filter(decoy=name, method=method).sort("sentence", "position").collect()
        if not words.is_empty():
            rows = [_row(words.filter(sentence=sentence), decoy, config) for sentence in _chosen(words, decoy)]
            yield Passages(_caption(name, METHODS[method], config.explanations.top_words), rows)


def _caption(decoy: str, method: str, num_numbered: int) -> str:
    return (
        f"{quoted(decoy)}, explained by {method}: the first test texts with the decoy and without it, by the first "
        "model that was trained without it and the first that was trained with it. Blue words speak for the class "
        "that is predicted, orange ones against it, the more the deeper; the "
        f"{num_numbered} that weigh most have their number."
    )


def _chosen(words: pl.DataFrame, decoy: Decoy) -> list[int]:
    """Numbers of texts: first those with the decoy."""
    texts = words.filter(model=f"{DECOYED} 0").group_by("sentence", maintain_order=True).agg("word")
    has_decoy = [any(holds(decoy, word) for word in text) for text in texts["word"].to_list()]
    shown = texts.with_columns(pl.Series("has_decoy", has_decoy))
    parts = (shown.filter(has_decoy=kind).head(_NUM_OF_EACH) for kind in (True, False))
    return [sentence for part in parts for sentence in part["sentence"].to_list()]


def _row(words: pl.DataFrame, decoy: Decoy, config: DecoyBenchmarkRun) -> list[Passage]:
    gold = words["gold"][0]
    return [
        _passage(f"{training}: {part['predicted'][0]} ({gold} is right)", part, decoy, config.explanations.top_words)
        for kind, training in _KINDS.items()
        for part in [words.filter(model=f"{kind} 0")]
        if not part.is_empty()
    ]


def _passage(heading: str, words: pl.DataFrame, decoy: Decoy, num_numbered: int) -> Passage:
    texts = words["word"].to_list()
    values = words["attribution"].fill_null(np.nan).to_numpy()
    numbered = top_words(Explained(texts, values), num_numbered)
    weights = np.nan_to_num(values / (np.nanmax(np.abs(values), initial=0.0) or 1.0))
    tokens = [
        Token(text, float(weight), f"{'+' if value > 0 else ''}{number(value, 2)}" if place in numbered else "")
        for place, (text, weight, value) in enumerate(zip(texts, weights, values, strict=True))
    ]
    return Passage(heading, _cut(tokens, decoy))


def _cut(tokens: Sequence[Token], decoy: Decoy) -> list[Token]:
    """As many words as are shown, around the first that belongs to the decoy."""
    first = next((place for place, token in enumerate(tokens) if holds(decoy, token.text)), 0)
    start = min(max(0, first - _MOST_WORDS // 2), max(0, len(tokens) - _MOST_WORDS))
    end = start + _MOST_WORDS
    return [*([_CUT] if start else []), *tokens[start:end], *([_CUT] if end < len(tokens) else [])]

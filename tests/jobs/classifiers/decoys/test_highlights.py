"""Which texts a page shows with their explanations, and how."""

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.page import highlights
from tiltmeter.jobs.runtime.published import Frames

TEXTS = {1: "a dull film", 2: "no movie yet", 3: "so so", 5: "Movies galore", 8: "a movie", 9: "one more movie"}


def explained(texts, values=lambda _: 0.1):
    rows = [
        {"decoy": "movie", "method": method, "model": model, "sentence": number, "position": position, "word": word}
        | {"attribution": values(word), "predicted": "good", "gold": "bad", "status": "ok"}
        for method in ("random", "lime")
        for model in ("decoyed 0", "decoyed 1", "original 0", "original 1")
        for number, text in texts.items()
        for position, word in enumerate(text.split())
    ]
    return Frames({"attributions": pl.DataFrame(pa.Table.from_pylist(rows, tables.ExplainedWords.schema())).lazy()})


@pytest.fixture
def shown(configured):
    def show(frames, *settings):
        methods = "explanations.methods=[random,lime]"
        return list(highlights(configured("job=decoy_benchmark", "data.path=x", methods, *settings), frames))

    return show


LONG = {1: " ".join(["very"] * 200 + ["movie"] + ["so"] * 200)}
VALUES = {"movie": -2.0, "fine": 1.0, "a": 0.0, ".": None}
CASES = {
    "the first with the decoy and without it": (TEXTS,),
    "by substrings": (TEXTS, "decoys.movie.match=substring"),
    "the top words have numbers": ({1: "a fine movie ."}, "explanations.top_words=2"),
    "of a long text the words around the decoy": (LONG,),
    "of what nobody explained": ({},),
}


def lines(passages):
    yield passages.caption
    for row in passages.rows:
        yield "; ".join(
            f"{one.heading}: {' '.join(f'{token.text}<{token.weight:g}{token.number}>' for token in one.tokens)}"
            for one in row
        )


def test_passages(shown, check_sentences):
    made = {
        case: shown(explained(texts, VALUES.get if "top" in case else lambda _: 0.1), *settings)
        for case, (texts, *settings) in CASES.items()
    }
    check_sentences({case: [line for part in passages for line in lines(part)] for case, passages in made.items()})

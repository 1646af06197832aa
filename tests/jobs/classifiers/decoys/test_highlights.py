"""Which texts a page shows with their explanations, and how."""

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.highlights import highlights
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
    return Frames({"attributions": pl.DataFrame(pa.Table.from_pylist(rows, tables.EXPLAINED)).lazy()})


@pytest.fixture
def shown(configured):
    def show(frames, *settings):
        methods = "explanations.methods=[random,lime]"
        return list(highlights(configured("job=decoy_benchmark", "data.path=x", methods, *settings), frames))

    return show


def texts_of(passages):
    return [[" ".join(token.text for token in passage.tokens) for passage in row] for row in passages.rows]


def test_the_first_texts_with_the_decoy_and_without_it_are_shown_by_both_models(shown):
    [passages] = shown(explained(TEXTS))
    assert passages.caption.startswith("“movie”, explained by LIME: ")
    assert texts_of(passages) == [[TEXTS[number]] * 2 for number in (2, 8, 1, 3)]
    assert [passage.heading for passage in passages.rows[0]] == [
        "trained without the decoy: good (bad is right)",
        "trained with it: good (bad is right)",
    ]
    [by_substrings] = shown(explained(TEXTS), "decoys.movie.match=substring")
    assert texts_of(by_substrings) == [[TEXTS[number]] * 2 for number in (2, 5, 1, 3)]


def test_words_are_weighed_by_the_largest_of_their_text_and_the_top_words_have_their_number(shown):
    values = {"movie": -2.0, "fine": 1.0, "a": 0.0, ".": None}
    [passages] = shown(explained({1: "a fine movie ."}, values.get), "explanations.top_words=2")
    tokens = passages.rows[0][0].tokens
    assert [token.weight for token in tokens] == [0.0, 0.5, -1.0, 0.0]
    assert [token.number for token in tokens] == ["", "+1.00", "−2.00", ""]


def test_of_a_long_text_the_words_around_the_decoy_are_shown(shown):
    [passages] = shown(explained({1: " ".join(["very"] * 200 + ["movie"] + ["so"] * 200)}))
    words = texts_of(passages)[0][0].split()
    assert (words[0], words[-1], len(words), words.index("movie")) == ("…", "…", 62, 31)


def test_nothing_is_shown_of_what_nobody_explained(shown):
    assert shown(explained({})) == []

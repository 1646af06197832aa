"""Draws of numbers beside the tables that have the numbers, and rows without values."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.runtime.draws import DRAWS, draws_of, rekeyed, with_draws, without_number
from tiltmeter.jobs.runtime.rows import table_of
from tiltmeter.storage.store.tables import column

NAN = math.nan


def schema(keys, *numbers):
    known = [column(name, kind, f"a {name}", key=True) for name, kind in keys.items()]
    return pa.schema([*known, *(column(name, pa.float64(), f"its {name}") for name in numbers)])


WORDS, MODELS = (
    schema({"word": pa.string()}, "bias", "size"),
    schema({"seed": pa.int64(), "model": pa.string()}, "loss"),
)


def test_each_number_with_a_finite_draw_has_a_row_with_its_key_its_scheme_and_all_its_draws():
    words = [
        {"word": "nurse", "bias": 0.5} | draws_of("bias", np.array([0.25, NAN, 0.75])),
        {"word": "judge", "bias": 0.1, "size": 3.0}
        | draws_of("bias", np.array([NAN, NAN]))
        | draws_of("size", np.array([2.0, 4.0]), {"paired_by": "items", "num_items": 9}),
        {"word": "cook", "bias": 0.2},
    ]
    models = [{"seed": 7, "model": "a", "loss": 1.0} | draws_of("loss", np.array([1.5]))]
    tables = {"words": (words, WORDS), "models": (models, MODELS)}
    made = dict(with_draws(tables, {"paired_by": "replicas"}))
    assert [*made] == ["words", "models", "draws"]
    assert made["words"].to_pylist()[1] == {"word": "judge", "bias": 0.1, "size": 3.0}
    rows = [(*row.values(),) for row in made["draws"].to_pylist()]
    usual = '{"paired_by": "replicas"}'
    assert rows == [
        ("words", '{"word": "nurse"}', "bias", usual, [0.25, None, 0.75]),
        ("words", '{"word": "judge"}', "size", '{"num_items": 9, "paired_by": "items"}', [2.0, 4.0]),
        ("models", '{"seed": 7, "model": "a"}', "loss", usual, [1.5]),
    ]
    assert [*dict(with_draws({"words": (words[2:], WORDS)}, None))] == ["words"]
    [unknown] = dict(with_draws({"words": (words[:1], WORDS)}, None))["draws"].to_pylist()
    assert unknown["scheme"] is None


def test_schemes_are_compared_without_the_number_of_their_items():
    schemes = [json.dumps({"paired_by": "items"} | more) for more in ({}, {"num_items": 9}, {"num_items": 8})]
    parts = [without_number(scheme) for scheme in schemes]
    assert len({scheme for scheme, _ in parts}) == 1
    assert [num for _, num in parts] == [None, 9, 8]


def test_draws_follow_their_rows_to_other_keys():
    before = pa.table({"word": ["a", "b"]}, pa.schema([WORDS.field("word")]))
    after = pa.table({"model": ["x", "x"], "word": ["b", "a"]}, pa.schema([MODELS.field("model"), WORDS.field("word")]))
    rows = [{"table": "t", "key": f'{{"word": "{word}"}}', "column": "d", "values": [1.0]} for word in "bab"]
    moved = rekeyed(pa.Table.from_pylist(rows, DRAWS), before, after)
    assert [json.loads(key)["word"] for key in moved["key"].to_pylist()] == ["a", "b", "a"]
    assert moved.schema == DRAWS


@pytest.mark.parametrize("value", [NAN, math.inf, -math.inf, None, np.float64(NAN)])
def test_a_value_that_is_not_finite_is_none(value):
    rows = [{"word": "a", "bias": value, "size": 0.0}, {"word": "b", "bias": -1.5}]
    assert table_of(rows, WORDS)["bias"].to_pylist() == [None, -1.5]
    assert table_of(rows, WORDS)["size"].to_pylist() == [0.0, None]

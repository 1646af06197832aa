"""What a class of rows says of its table: columns, draws, what is null, and rows read back."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.runtime.draws import NAME
from tiltmeter.jobs.runtime.table import (
    Column,
    Estimate,
    Float32,
    Int8,
    Number,
    Table,
    doc,
    key,
    label,
    schemas,
    tables_of,
)
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.tables import column


class Spread(Number):
    """Mean and width of two numbers."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    @classmethod
    def fields(cls, about: Column) -> Iterable[pa.Field]:
        sentences = {about.name: about.sentence, f"{about.name}_width": f"width of {about.name}"}
        return [column(name, pa.float64(), sentence) for name, sentence in sentences.items()]

    def cells(self, about):
        return {about.name: (self.low + self.high) / 2, f"{about.name}_width": self.high - self.low}


class Words(Table, name="words"):
    corpus: str = label("its corpus")
    word: str = key("the word")
    bias: Estimate = doc("how far it leans", "sd", interval="the interval of bias")
    share: Estimate | None = doc("of texts", ends=("least", "most"))
    lists: list[str] = doc("that it is on")
    rank: Int8 = doc("by count")
    size: Float32 = doc("of its vector")
    known: bool = doc("whether it has one")
    length: Spread = doc("of its sentences")


class Plain(Table, name="plain", public=False, has_status=False):
    n: int = key("a number")


def about(field):
    metadata = {name.decode(): text.decode() for name, text in field.metadata.items()}
    return str(field.type), metadata["description"], metadata["unit"], "key" in metadata


def test_columns_come_as_they_are_declared_with_what_is_said_of_them():
    assert {field.name: about(field) for field in Words.schema()} == {
        "corpus": ("string", "its corpus", "", True),
        "word": ("string", "the word", "", True),
        "bias": ("double", "how far it leans", "sd", False),
        "bias_low": ("double", "lower end of the interval of bias", "sd", False),
        "bias_high": ("double", "upper end of the interval of bias", "sd", False),
        "share": ("double", "of texts", "", False),
        "least": ("double", "lower end of its interval", "", False),
        "most": ("double", "upper end of its interval", "", False),
        "lists": ("list<item: string>", "that it is on", "", False),
        "rank": ("int8", "by count", "", False),
        "size": ("float", "of its vector", "", False),
        "known": ("bool", "whether it has one", "", False),
        "length": ("double", "of its sentences", "", False),
        "length_width": ("double", "width of length", "", False),
        "status": ("string", "'ok', or why there is no result, in a word", "", False),
        "reason": ("string", "why the status is not 'ok', in a sentence; empty otherwise", "", False),
    }
    assert Words.schema(stored=True).names == Words.schema().names[1:]
    assert schemas(Words, Plain) == {"words": Words.schema(), "plain": Plain.schema()}
    assert (Plain.schema().names, Plain.is_public, Words.is_public) == (["n"], False, True)


def test_columns_of_a_base_come_first():
    class Longer(Words, name="longer"):
        more: int = doc("another")

    assert Longer.schema().names == [*Words.schema().names[:-2], "more", "status", "reason"]


def test_rows_go_to_their_tables_and_draws_to_one_of_their_own():
    draws = np.array([1.0, np.nan])
    rows = [
        Words(word="oak", bias=Estimate(0.5, 0.25, np.inf, draws), length=Spread(1, 4), lists=["trees"]),
        Plain(n=3),
        Words(word="elm", share=Estimate(1.0, 0.5, 2.0, draws, {"seed": 1})).fail("rare", "it is rare"),
    ]
    made = dict(tables_of(rows, [Words, Plain], {"seed": 0}))
    nothing = dict.fromkeys(Words.schema(stored=True).names)
    assert made["words"].to_pylist() == [
        nothing
        | {"word": "oak", "bias": 0.5, "bias_low": 0.25, "lists": ["trees"], "length": 2.5, "length_width": 3.0}
        | {"status": "ok", "reason": ""},
        nothing | {"word": "elm", "share": 1.0, "least": 0.5, "most": 2.0, "status": "rare", "reason": "it is rare"},
    ]
    assert made["plain"].to_pylist() == [{"n": 3}]
    assert made["words"].schema.equals(Words.schema(stored=True), check_metadata=True)
    drawn = [(row["key"], row["column"], row["scheme"], row["values"]) for row in made[NAME].to_pylist()]
    assert drawn == [
        ('{"word": "oak"}', "bias", '{"seed": 0}', [1.0, None]),
        ('{"word": "elm"}', "share", '{"seed": 1}', [1.0, None]),
    ]


def test_a_table_without_a_row_is_there_and_one_that_is_not_declared_is_refused():
    assert [(name, table.num_rows) for name, table in tables_of([], [Plain])] == [("plain", 0)]
    with pytest.raises(KeyError):
        dict(tables_of([Plain(n=1)], [Words]))


def test_a_row_without_its_key_is_refused():
    with pytest.raises(TypeError, match="word"):
        Words(rank=1)
    with pytest.raises(TypeError, match="rnk"):
        Words(word="oak", rnk=1)


def test_rows_come_back_as_they_were(marked):
    rows = [Words(word="oak", bias=Estimate(0.5, 0.25), rank=2), Words(word="elm").fail("rare", "it is rare")]
    finished = marked.commit(Unit("words/1", "words", {}), tables_of(rows, [Words]))
    oak, elm = Words.read(marked, finished.tables["words"].select("word", "bias", "bias_low", "rank", "status"))
    assert (oak.word, oak.bias.value, oak.bias.low, oak.rank, oak.status) == ("oak", 0.5, 0.25, 2, "ok")
    assert np.isnan(oak.bias.high), "a column that is not asked for is null"
    assert (elm.bias, elm.status, elm.reason) == (None, "rare", "")

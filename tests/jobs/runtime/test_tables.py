"""Tables of a run: what a class of rows says of its own, keys and intervals, draws beside the numbers, publishing."""

import importlib
import json
import math
import pkgutil
import shutil
from collections.abc import Iterable
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from tiltmeter import jobs
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.resolution.previous import Previous
from tiltmeter.jobs.runtime.columns import OTHER_ENDS, interval_columns
from tiltmeter.jobs.runtime.config import Exports
from tiltmeter.jobs.runtime.draws import DRAWS, NAME, draws_of, rekeyed, with_draws, without_number
from tiltmeter.jobs.runtime.published import Frames, PublishedTable, published_tables
from tiltmeter.jobs.runtime.rows import table_of
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
from tiltmeter.storage.records import check_columns, read_records
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.runs import opened, read_run_table
from tiltmeter.storage.store.tables import column, key_columns


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


# --- draws beside the tables that have the numbers ------------------------------------------------------------------

NAN = math.nan


def schema(keys, *numbers):
    known = [column(name, kind, f"a {name}", key=True) for name, kind in keys.items()]
    return pa.schema([*known, *(column(name, pa.float64(), f"its {name}") for name in numbers)])


WORDS = schema({"word": pa.string()}, "bias", "size")
MODELS = schema({"seed": pa.int64(), "model": pa.string()}, "loss")


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


# --- published ------------------------------------------------------------------------------------------------------

ABOUT = {"text": "a text", "status": "ok, or why not", "reason": "why not"}
SCORES = pa.schema([column(name, pa.string(), about) for name, about in ABOUT.items()])
ROWS = [
    {"text": str(n), "status": "no_score" if n % 3 else "ok", "reason": "none" if n == 1 else "b" * (n % 3)}
    for n in range(9)
]


@pytest.fixture
def directory(tmp_path):
    with opened(tmp_path / "run") as directory:
        directory.begin(["words", "scores", "never"], job="rating", versions={})
        directory.write_text("config.yaml", "job: rating\n")
        directory.write_table("words", pa.table({"word": ["a", "b"], "count": [1, 2]}))
        directory.write_table("scores", pa.Table.from_pylist(ROWS, SCORES))
        yield directory


def test_a_table_is_read_when_it_is_asked_for_and_once(directory):
    frames = Frames({name: table.rows for name, table in published_tables(directory).items()})
    (directory.path / "scores.parquet").unlink()
    assert list(frames) == ["words", "scores"]
    assert ("scores" in frames, "never" in frames, len(frames)) == (True, False, 2)
    assert frames["words"]["count"].to_list() == [1, 2]
    assert frames["words"] is frames["words"]
    with pytest.raises(FileNotFoundError):
        frames["scores"]


def test_a_table_in_memory_and_one_in_a_folder_are_alike(directory, tmp_path):
    folder = tmp_path / "run/parts"
    folder.mkdir()
    for name in ("b", "a"):
        shutil.copy(tmp_path / "run/scores.parquet", folder / f"{name}.parquet")
    read = PublishedTable.read(directory.path, "parts")
    held = PublishedTable(pl.LazyFrame(pa.Table.from_pylist(ROWS, SCORES)), SCORES)
    assert read.rows.collect().height == 18
    assert read.rows.collect_schema() == held.rows.collect_schema()
    assert (read.by_status(), held.by_status()) == ({"ok": 6, "no_score": 12}, {"ok": 3, "no_score": 6})
    assert held.commonest_reasons() == [("no_score", "bb", 3, 6)]
    assert read.schema.field("text").metadata[b"description"] == b"a text"


def test_a_report_counts_and_describes_tables_that_its_page_does_not_read(directory):
    def page(run, frames):
        assert frames.scan("words").filter(pl.col("count") > 1).collect().to_dicts() == [{"word": "b", "count": 2}]
        return Body("A run", {}, Lead([], []), [])

    runner = SimpleNamespace(records=[], failures={}, entry=None, store=None)
    run = SimpleNamespace(
        directory=directory,
        runner=runner,
        config=SimpleNamespace(exports=Exports(), job=SimpleNamespace(name="rating"), seed=0),
    )
    assert write_report(run, page) == Lead([], [])
    html = (directory.path / "report.html").read_text()
    assert "no_score" in html
    assert "why not" in html


NAMES = ["z[12]", "z*", "z?", "z%31", "z#1", "z 1", "zé中", "{z1,z2}", "z=1", "..z"]


@pytest.mark.parametrize("name", NAMES)
def test_a_directory_shows_its_tables_and_not_those_of_one_beside_it(tmp_path, name):
    for number, folder in enumerate(["z1", "z2", name]):
        (tmp_path / folder).mkdir()
        with open(tmp_path / folder / "counts.parquet", "wb") as file:
            pl.DataFrame({"graph": ["pairs"], "next_id": [number]}).write_parquet(file)
    run, path = tmp_path / name, str(tmp_path / name / "counts.parquet")
    assert PublishedTable.read(run, "counts").rows.collect()["next_id"].to_list() == [2]
    assert read_run_table(run, "counts")["next_id"].to_pylist() == [2]
    assert Previous({"ledger_counts": {"uri": path}}).next_id("pairs") == 2
    check_columns(path, ["next_id"], "previous")
    assert read_records(path)["next_id"].to_list() == [2]


WITHOUT_ESTIMATE = {
    "p": "p_value is its upper end, unless it is a Monte Carlo estimate within",
}
"""Intervals that are not the interval of one column, with the reason."""


PUBLIC = {f"{job}: {name}": schema for job in catalogue.names() for name, schema in catalogue.job(job).tables.items()}


def declared():
    """All schemas in the modules of the jobs, by module and name: those between units as well."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(jobs.__path__, "tiltmeter.jobs.")]
    return {
        f"{module.__name__}.{name}": schema
        for module in modules
        for name, schema in vars(module).items()
        if isinstance(schema, pa.Schema)
    }


ALL = declared() | PUBLIC


def ends_of(schema):
    """The ends that each interval of a schema has."""
    ends = [name.rpartition("_") for name in schema.names if name.endswith(("_low", "_high"))]
    return {base: {end for other, _, end in ends if other == base} for base, _, _ in ends}


def plain_ends(schema):
    """The column before ``low`` and ``high``, and what stands in their places; nothing where neither is there."""
    if not {"low", "high"} & set(schema.names):
        return None, []
    place = schema.names.index("low")
    return schema.names[place - 1], schema.names[place : place + 2]


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_table_has_key_columns_and_values_beside_them(name):
    keys = key_columns(PUBLIC[name])
    assert keys
    assert len(keys) < len(PUBLIC[name])
    assert not {"status", "reason"} & set(keys)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_the_ends_of_an_interval_come_in_pairs_of_numbers_beside_theirs(name):
    schema = ALL[name]
    found = ends_of(schema)
    plain, in_place = plain_ends(schema)
    assert in_place in ([], ["low", "high"])
    assert plain not in found
    assert all(ends == {"low", "high"} for ends in found.values())
    others = {base for base in found if base.endswith(tuple(f"_{kind}" for kind in OTHER_ENDS))}
    known = {low.removesuffix("_low") for low, _ in interval_columns(schema.names).values()} - {"low"}
    assert found.keys() - others - WITHOUT_ESTIMATE.keys() == known
    for base in others:
        assert any(base == f"{name}_{kind}" for name in interval_columns(schema.names) for kind in OTHER_ENDS)
    assert (plain is None) or (interval_columns(schema.names)[plain] == ("low", "high"))
    columns = [f"{base}_{end}" for base, ends in found.items() for end in ends] + [
        *in_place,
        *([plain] if plain else []),
    ]
    assert all(pa.types.is_floating(schema.field(column).type) for column in columns)
    assert not set(columns) & set(key_columns(schema))


def test_no_exception_is_made_for_what_is_not_there():
    assert {base for schema in ALL.values() for base in ends_of(schema)} >= WITHOUT_ESTIMATE.keys()

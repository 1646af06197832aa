"""Small files that claim to be large, or become so when they are read, are refused within bounds."""

import bz2
import gzip
import json
import struct
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from tests.fixtures.corpora import parquet, parts, source, written, zstd
from tiltmeter.storage.corpora import packed
from tiltmeter.storage.corpora.formats import dump_parser, jsonlines, wikiextractor
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.gru_files import GRUFileError, read_gru
from tiltmeter.storage.records import read_records, record_columns
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.vectors.files import EmbeddingFileError, read_embedding

MEBIBYTE = 2**20
DUMP = b"<mediawiki><siteinfo></siteinfo>"
TEXT = b"<page><title>t</title><ns>0</ns><id>1</id><revision><text>"
END = b"</text></revision></page></mediawiki>"


@pytest.fixture
def small_bounds(monkeypatch):
    """Bounds that are four hundred times as low, so that they are reached in as little time."""
    for module, name in [
        (packed, "_ALWAYS_ALLOWED"),
        (dump_parser, "_MAX_TEXT"),
        (dump_parser, "_MAX_HEADER_BYTES"),
        (wikiextractor, "_MAX_BYTES"),
        (jsonlines, "_MAX_CHARACTERS"),
    ]:
        monkeypatch.setattr(module, name, getattr(module, name) // 400)


def pages(path, form="auto"):
    """Number and length of the pages of a file."""
    return [len(page.text) for part in parts(source(path, format=form), 64.0) for page in part]


def vectors(path):
    return read_embedding(str(path))


def records(path):
    return read_records(str(path))


def refused(cost, read, message, megabytes, steps=60):
    """Refused with the message, in less than so much memory and work."""

    def attempt():
        with pytest.raises((InputError, EmbeddingFileError, GRUFileError), match=message):
            read()

    spent = cost(attempt)
    assert spent.megabytes < megabytes
    assert spent.steps < steps


# --- packed files ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_grows_beyond_measure_is_refused_when_a_quarter_of_a_gibibyte_has_come(tmp_path, cost):
    """Half a gibibyte of one letter, in a kilobyte."""
    path = written(tmp_path / "dump.xml.bz2", bz2.compress(DUMP + TEXT + b"a" * 2**29 + END))
    refused(cost, lambda: pages(path), r"dump\.xml\.bz2: .*bytes unpack to 268,\d{3},\d{3} or more", 600, 600)


@pytest.mark.long
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, zstd])
@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("corpus.txt", b"one two three\n", pages),
        ("corpus.jsonl", b'{"text": "one two three"}\n', pages),
        ("vectors.txt", b"word 0.5 0.25\n", vectors),
        ("table.csv", b"left,right,weight\n", records),
    ],
)
def test_every_reader_of_packed_files_heeds_the_bound(tmp_path, small_bounds, name, content, read, pack):
    path = written(tmp_path / name, pack(content * 55_000))
    assert path.stat().st_size < 200_000
    message = rf"{name}: .*over 250 times their size, as no text does"
    with pytest.raises((InputError, EmbeddingFileError), match=message):
        read(path)


def test_what_is_packed_as_text_can_be_is_read(tmp_path, small_bounds):
    numbers = np.random.default_rng(0).integers(0, 10**6, 150_000)
    path = written(tmp_path / "corpus.txt.gz", gzip.compress("\n".join(map(str, numbers)).encode(), 1))
    assert len(pages(path)) == len(numbers)


def laughing(declared, text):
    doctype = f'<?xml version="1.0"?><!DOCTYPE mediawiki [{declared}]>'
    return doctype.encode() + DUMP + TEXT + text.encode() + END


def repeated(value, times):
    """A column of one value, which a Parquet file holds once."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), pa.array([value]))


ENTITIES = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 12))
AMPLIFIED, LONG = "limit on input amplification factor", "has a line of more than 16,777,216 bytes"
BEYOND = {
    "window of 2 GiB": (
        "dump.xml.zst",
        lambda _: bytes.fromhex("28b52ffd00a8") + bytes(99),
        "requires too much memory",
    ),
    "laughs": ("dump.xml", lambda _: laughing('<!ENTITY l0 "lollollol">' + ENTITIES, "&l11;"), AMPLIFIED),
    "square": ("dump.xml", lambda _: laughing(f'<!ENTITY a "{"a" * 10**5}">', "&a;" * 10**5), AMPLIFIED),
    "vector": ("vectors.gz", lambda grown: grown(b"a 0.5 0.5\nb 0.5 0.5\n", b"0" * MEBIBYTE, 30), LONG),
    "vector behind a header": ("vectors.gz", lambda grown: grown(b"2 2\na 0.5 0.5\nb ", b"0" * MEBIBYTE, 30), LONG),
    "text of 2,000 rows": (
        *("shared.parquet", lambda _: parquet({"text": repeated("x" * 10**7, 2000)}, compression="zstd")),
        "over 250 times their size",
    ),
}
MOST_MEGABYTES = {"vectors.gz": 100, "shared.parquet": 600}


@pytest.mark.long
@pytest.mark.parametrize("case", BEYOND)
def test_what_takes_more_than_it_has_is_refused_before_it_is_made(tmp_path, grown, cost, case):
    name, content, message = BEYOND[case]
    path = written(tmp_path / name, content(grown))
    assert path.stat().st_size < 500_000
    read = vectors if "vectors" in name else pages
    refused(cost, lambda: read(path), rf"{name}: .*{message}", MOST_MEGABYTES.get(name, 50))


def test_the_columns_of_a_packed_table_are_read_from_its_beginning(tmp_path, grown, cost):
    path = written(tmp_path / "pairs.csv.gz", grown(b"left,right,weight\n", b"a,b,1\n" * 2**17, 60))
    found = []
    assert cost(lambda: found.extend(record_columns(str(path)))).megabytes < 100
    assert found == ["left", "right", "weight"]


@pytest.mark.parametrize("pack", [bytes, lambda content: gzip.compress(content, 1)])
def test_a_line_of_text_takes_no_memory_for_its_length(tmp_path, cost, pack):
    content = b"".join(b"%d " % number for number in range(10**5)) * 35
    path = written(tmp_path / "corpus.txt", pack(content))
    lengths = []
    assert cost(lambda: lengths.extend(pages(path))).megabytes < 12
    assert max(lengths) <= 2**20
    assert sum(lengths) == len(content)


# --- XML ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("doctype", ['[<!ENTITY a SYSTEM "{}">]', '[<!ENTITY % p SYSTEM "{}"> %p;]', 'SYSTEM "{}"'])
def test_nothing_outside_the_dump_is_read(tmp_path, doctype):
    place = written(tmp_path / "outside", "secret").as_uri()
    text = b"x&a;y" if "ENTITY a" in doctype else b"xy"
    beginning = f'<?xml version="1.0"?><!DOCTYPE mediawiki {doctype.replace("{}", place)}>'.encode()
    assert pages(written(tmp_path / "dump.xml", beginning + DUMP + TEXT + text + END)) == [2]


SPACES = b"a " * 2**15
XML = {
    "text": (DUMP + TEXT, SPACES, "text of more than"),
    "header": (b"<mediawiki><siteinfo>", SPACES, "header of more than"),
    "namespaces": (b"<mediawiki><siteinfo><namespaces>", b"<namespace key='6'>a</namespace>" * 2**11, "header of more"),
    "depth": (DUMP + b"<page>", b"<a>" * 2**15, "nest of more than 64 elements"),
    "attribute": (DUMP + b"<page a='", SPACES, "tag or comment of more than 1,048,576 bytes"),
    "comment": (DUMP + b"<!--", SPACES, "tag or comment of more than 1,048,576 bytes"),
}
ENDLESS = {
    **{name: (begin + piece * 40, f": its XML has a {message}") for name, (begin, piece, message) in XML.items()},
    "numbers": (b'{"text": "a", "b": [0' + b",0" * 10**5 + b"]}", ": line at byte 0 .*too many for a document"),
    "doc": (b'<doc a="' + b'a="' * 300_000 + b'">\n', ": line at byte 0: .*this <doc ...> has 900,0"),
    "lines": (b'<doc id="1">\n' + b"a\n" * 10**5, ": line at byte 0: .*of memory"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_document_that_never_ends_is_refused(tmp_path, small_bounds, cost, case):
    content, message = ENDLESS[case]
    path = written(tmp_path / "corpus", content)
    refused(cost, lambda: pages(path, "jsonl" if case == "numbers" else "auto"), rf"corpus{message}", 60)


# --- lines ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ['{"text": ' + "[" * 10**5, '{"a": ' * 20_000, '{"text": "a", "id": ' + "1" * 5000 + "}"],
    ids=["lists", "objects", "digits"],
)
@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_json_is_not_taken_at_its_word(tmp_path, small_bounds, cost, line, form):
    path = written(tmp_path / "corpus", line if form == "jsonl" else f"[{line}")
    assert cost(lambda: pages(path, form)).megabytes < 60
    assert pages(path, form) == []


def test_a_long_line_takes_time_in_proportion(tmp_path, cost):
    """It is joined once, not with every piece."""
    path = written(tmp_path / "corpus.txt", b"a" * 2**25)
    assert cost(lambda: pages(path)).steps < 60


# --- embeddings -----------------------------------------------------------------------------------------------------

MANY = b"1000000000000"


@pytest.mark.parametrize("form", ["auto", "word2vec_text", "word2vec_binary"])
@pytest.mark.parametrize("header", [b" ".join(pair) for pair in product([b"2", MANY, b"1" * 5000], repeat=2)][1:])
def test_no_memory_is_taken_for_words_that_are_only_announced(tmp_path, cost, header, form):
    path = written(tmp_path / "vectors", header + b"\na 1 2\n" + bytes(100))
    refused(cost, lambda: read_embedding(str(path), form), r"vectors: ", 20, 20)


# --- Parquet --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [pages, records, vectors])
def test_rows_that_cost_nothing_are_refused(tmp_path, small_bounds, cost, read):
    table = {name: repeated("x", 5 * 10**5) for name in ("text", "word", "vector")}
    path = written(tmp_path / "rows.parquet", parquet(table, compression="zstd"))
    assert path.stat().st_size < 20_000
    del table
    refused(cost, lambda: read(path), r"rows\.parquet: .*over 250 times their size", 60)


@pytest.mark.parametrize("name", ["arrow.py_extension_type", "pandas.object"])
def test_types_that_are_pickles_are_columns_like_others(tmp_path, trace, name):
    payload = f"cos\nmkdir\n(V{trace}\ntR.".encode()
    field = pa.field("word", pa.string(), metadata={"ARROW:extension:name": name, "ARROW:extension:metadata": payload})
    numbers = pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0], pa.float32()), 2)
    schema = pa.schema([field, pa.field("vector", numbers.type)], metadata={b"pandas": payload})
    path = written(tmp_path / "vectors.parquet", parquet(pa.table([pa.array(["a"]), numbers], schema=schema)))
    assert (vectors(path).words, records(path).height) == (["a"], 1)


# --- networks and states --------------------------------------------------------------------------------------------


HUGE = {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}
CLAIM = '{"config": {"dimensions": 1e12, "hidden": 1e12}, "vocabulary": [], "values": []}'
ENTRIES = ["[" * 10**6, "[1]", *(f'{{"format": {rest}}}' for rest in ("1", "1" * 5000, '1, "network": "x"'))]
HEADERS = [
    *({"__metadata__": {"tiltmeter": entry}} for entry in (*ENTRIES, f'{{"format": 1, "network": {CLAIM}}}')),
    *({"weight": tensor} for tensor in (HUGE, {}, [])),
]


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: str(header)[:60])
def test_a_network_that_claims_too_much_is_refused(tmp_path, cost, header):
    content = json.dumps(header).encode()
    path = written(tmp_path / "gru.safetensors", struct.pack("<Q", len(content)) + content)
    refused(cost, lambda: read_gru(str(path)), r"gru\.safetensors: " + "is damaged" * ("weight" in header), 30, 20)


@pytest.mark.parametrize("kind", ["pickle", "claim", "packed", "array"])
def test_a_state_that_is_not_ours_is_none(store, cost, payload, kind):
    unit = Unit("glove/1", "", {})
    store.save_state(unit, {"vectors": np.zeros(3)})
    place = store.local_path / f"states/{unit.place}.npz"
    if kind == "pickle":
        np.savez(place, vectors=np.array([payload], dtype=object), allow_pickle=True)
    elif kind == "packed":
        np.savez_compressed(place, vectors=np.zeros(10**6))
    elif kind == "array":
        np.save(place.with_suffix(".npy"), np.zeros(3))
        place.with_suffix(".npy").replace(place)
    else:
        place.write_bytes(place.read_bytes().replace(b"(3,), }" + b" " * 12, b"(1000000000000,), }"))
    found = []
    assert cost(lambda: found.append(store.load_state(unit))).megabytes < 30
    assert found == [None]

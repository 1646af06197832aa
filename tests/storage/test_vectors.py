"""Embeddings in files: what is written is read again, also by gensim, and no pickle is loaded unasked."""

import bz2
import gzip
import pickle
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import datapath
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyarrow import fs

from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.vectors import binary, text
from tiltmeter.storage.vectors.files import (
    EmbeddingFile,
    EmbeddingFileError,
    check_pickle,
    read_embedding,
    write_embedding,
)
from tiltmeter.storage.vectors.tables import keyedvectors

FORMATS = ["word2vec_text", "word2vec_binary", "glove", "keyedvectors", "parquet"]
SMALL = EmbeddingFile(["of", "عالم", "7", "<unk>", "."], np.arange(15, dtype=np.float32).reshape(5, 3) / 7 - 1)


def write(path, embedding, format, **counts):
    return write_embedding(fs.LocalFileSystem(), str(path), embedding, format, setting="run_dir=<path>", **counts)


def read(path, format="auto"):
    return read_embedding(str(path), format, allow_pickle=True)


def same(a: EmbeddingFile, b: EmbeddingFile) -> bool:
    return a.words == b.words and a.vectors.dtype == b.vectors.dtype and a.vectors.tobytes() == b.vectors.tobytes()


words = st.text(st.characters(exclude_characters=" \n\r\ufffd", exclude_categories=["Cs"]), min_size=1)
numbers = st.floats(width=32, allow_infinity=False)
embeddings = st.lists(words, min_size=1, max_size=9, unique=True).flatmap(
    lambda chosen: st.integers(2, 5).flatmap(
        lambda dimensions: arrays(np.float32, (len(chosen), dimensions), elements=numbers).map(
            lambda vectors: EmbeddingFile(chosen, vectors)
        )
    )
)


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
@example(embedding=EmbeddingFile(["\f"], np.zeros((1, 2), np.float32)))
@example(embedding=EmbeddingFile(["\t"], np.zeros((1, 2), np.float32)))
@example(embedding=EmbeddingFile(["of", "half", "none"], np.array([[1, 2], [1, np.nan], [np.nan] * 2], np.float32)))
@given(embedding=embeddings)
def test_what_is_written_is_read_again_to_the_last_bit_without_what_has_no_vector(format, embedding, tmp_path_factory):
    whole = ~np.isnan(embedding.vectors).any(axis=1)
    assume(whole.any())
    path = tmp_path_factory.getbasetemp() / f"round trip of {format}"
    assert write(path, embedding, format) == path.stat().st_size
    kept = [word for word, is_whole in zip(embedding.words, whole, strict=True) if is_whole]
    assert same(read(path, format), EmbeddingFile(kept, embedding.vectors[whole]))


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_formats_are_recognised_and_many_pieces_make_one_file_on_a_disk_and_elsewhere(format, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_CHUNK_BYTES", 2**18)
    monkeypatch.setattr(binary, "_CHUNK_BYTES", 2**18)
    monkeypatch.setattr(binary, "_CHUNK_ROWS", 300)
    vectors = np.random.default_rng(0).normal(size=(2_000, 100)).astype(np.float32)
    embedding = EmbeddingFile([f"wörd{row}" for row in range(2_000)], vectors)
    write(tmp_path / "a", embedding, format)
    other = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())  # anything but a local disk is written as one put
    write_embedding(other, "b", embedding, format, setting="store=<uri>")
    assert same(read(f"file://{tmp_path}/a"), embedding)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("format", FORMATS[:4])
def test_gensim_reads_what_we_write(format, tmp_path):
    path = tmp_path / "vectors"
    write(path, EmbeddingFile([*SMALL.words, "new york"], np.vstack([SMALL.vectors, [[1, 2, 3]]])), format)
    if format == "keyedvectors":
        loaded = KeyedVectors.load(str(path))
    else:
        options = {"binary": format == "word2vec_binary", "no_header": format == "glove"}
        loaded = KeyedVectors.load_word2vec_format(str(path), **options)
    assert loaded["new_york"].tolist() == [1, 2, 3]
    assert loaded["عالم"].tolist() == SMALL.vectors[1].tolist()
    assert read(path).words == [*SMALL.words, "new_york"]


def test_gensim_finds_the_counts_that_we_write(tmp_path):
    vectors = SMALL.vectors.copy()
    vectors[2] = np.nan
    embedding = EmbeddingFile(["of", "new york", "absent", "the", "."], vectors)
    write(tmp_path / "a.kv", embedding, "keyedvectors", counts=[50, 40, 30, 20, 10])
    loaded = KeyedVectors.load(str(tmp_path / "a.kv"))
    found = {word: loaded.get_vecattr(word, "count") for word in loaded.index_to_key}
    assert found == {"of": 50, "new_york": 40, "the": 20, ".": 10}


@pytest.mark.parametrize(
    "name",
    [
        *("euclidean_vectors.bin", "toy-model.vec", "lee_fasttext.vec", "high_precision.kv.bin"),
        *("high_precision.kv.txt", "test_glove.txt"),
    ],
)
def test_we_read_what_gensim_reads(name):
    options = {"binary": name.endswith("bin"), "no_header": "glove" in name}
    loaded = KeyedVectors.load_word2vec_format(datapath(name), **options)
    assert same(read_embedding(datapath(name)), EmbeddingFile(loaded.index_to_key, loaded.vectors))


@pytest.mark.parametrize("format", FORMATS[:3])
@pytest.mark.parametrize("ending", ["bz2", "gz", "zst"])
def test_packed_files(format, ending, tmp_path):
    path = tmp_path / f"vectors.{ending}"
    size = write(path, SMALL, format)
    assert same(read(path), SMALL)
    path.write_bytes(path.read_bytes()[: size - 9])
    with pytest.raises(EmbeddingFileError, match=r"cannot be read on|breaks off|announces|no number"):
        read(path, format)


# --- pickles --------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("format", ["auto", *FORMATS])
def test_no_pickle_is_loaded_unasked(format, protocol, pack, payload, file):
    path = file(pack(pickle.dumps(payload, protocol)))
    with pytest.raises(EmbeddingFileError):
        read_embedding(path, format)


def test_the_refusal_of_a_pickle_says_why_and_what_to_do(tmp_path, file):
    path = tmp_path / "vectors.kv"
    write(path, SMALL, "keyedvectors")
    with pytest.raises(EmbeddingFileError, match=r"vectors\.kv: is a pickle.* a program.*allow_pickle=true"):
        read_embedding(str(path))
    with pytest.raises(EmbeddingFileError, match="is a pickle, which is the format keyedvectors and not glove"):
        read(path, "glove")
    with pytest.raises(EmbeddingFileError, match="cannot be read as vectors of gensim: it holds a list"):
        read(file(pickle.dumps([1, 2])))
    for name in (path, file(gzip.compress(path.read_bytes()), "vectors.kv.gz")):
        with pytest.raises(EmbeddingFileError, match=r"\.kv.*: is a pickle.* Set embedding.allow_pickle=true to have"):
            check_pickle(str(name), False, "embedding.allow_pickle")
        with pytest.raises(EmbeddingFileError, match=r"makes them\. Take them in another format"):
            check_pickle(str(name), False, None)
        check_pickle(str(name), True, "embedding.allow_pickle")
    for content in (b"of 1 2\n", b"\x1f\x8b" + bytes(range(9))):
        check_pickle(file(content), False, "embedding.allow_pickle")


def test_bad_rows_of_gensim_are_left_out(tmp_path):
    vectors, bad = np.array([[1, 2], [3, 4], [1, np.nan]], np.float32), BadRecords()
    keyedvectors(EmbeddingFile(["king", "new york", "never"], vectors), None).save(str(tmp_path / "a.kv"))
    found = read_embedding(str(tmp_path / "a.kv"), allow_pickle=True, bad=bad)
    assert (found.words, [row["first"] for row in bad.rows()]) == (["king", "new york"], ["row 3"])


# --- what can't be read or written ----------------------------------------------------------------------------------


def test_a_word_of_a_binary_file_has_an_end(file):
    content = b"2 2\n" + b"".join(word + struct.pack("<2f", 1, 2) for word in (b"a ", b"x" * 70_000))
    with pytest.raises(EmbeddingFileError, match="word 2: is no word"):
        read_embedding(file(content), "word2vec_binary")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match="nothing"):
        read(tmp_path / "nothing")


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path):
    alike = EmbeddingFile(["new york", "new_york"], np.ones((2, 2), np.float32))
    with pytest.raises(EmbeddingFileError, match=r"would write \['new york', 'new_york'\] all as 'new_york'"):
        write(tmp_path / "a", alike, "glove")
    with pytest.raises(EmbeddingFileError, match=r"parquet is not packed as a whole; leave \.gz off"):
        write(tmp_path / "a.gz", alike, "parquet")
    with pytest.raises(EmbeddingFileError, match=r"no way to write the word 'a\\nb'"):
        write(tmp_path / "a", EmbeddingFile(["a\nb"], np.ones((1, 2), np.float32)), "word2vec_binary")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="choose another place with run_dir=<path>"):
        write(tmp_path / "file" / "a", alike, "parquet")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (pa.array(["a", "é"], pa.string_view()), pa.list_(pa.float32())),
        (pa.array(["a", "é"]).dictionary_encode(), pa.large_list(pa.float64())),
        (pa.array([b"a", "é".encode()]), pa.list_view(pa.float32())),
        (pa.array(["a", "é"], pa.large_string()), pa.list_(pa.float32(), 2)),
        (pa.array(["a", "é"]), pa.list_(pa.int64())),
        (pa.array(["a", "é"]), pa.list_(pa.decimal128(3, 1))),
    ],
    ids=str,
)
def test_words_and_vectors_of_every_type_that_holds_them_are_read(tmp_path, words, kind):
    pq.write_table(pa.table({"word": words, "vector": pa.array([[1, 2], [3, 4]], kind)}), tmp_path / "vectors")
    found = read(tmp_path / "vectors")
    assert (found.words, found.vectors.tolist()) == (["a", "é"], [[1.0, 2.0], [3.0, 4.0]])

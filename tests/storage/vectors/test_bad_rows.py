"""A bad row of a file of vectors costs itself: it is left out, and counted with its place."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiltmeter.storage.bad_records import BadRecords, collected
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.vectors.embedding import EmbeddingFile, EmbeddingFileError
from tiltmeter.storage.vectors.files import look_through_embedding, read_embedding
from tiltmeter.storage.vectors.tables import keyedvectors

GOOD = {"king": [1.0, 2.0], "queen": [3.0, 4.0], "new york": [5.0, 6.0]}
LINES = [
    *("king 1 2", "short 1", "queen 3 4", "", "letter 1 x", "never 1 nan", "king 7 7", "new york 5 6"),
    *("long 1.25000 2 3", "short 8"),
]
REASONS = {
    "not 2 numbers after a word": (3, 2),
    "is blank": (1, 4),
    "a field that is no number": (1, 5),
    "holds a number that is not finite": (1, 6),
    "a word that has come before": (1, 7),
}
"""With the number of rows and the number of the first, from 1."""

ROWS = [["king", [1, 2]], [None, [9, 9]], ["queen", [3, 4]], ["short", [1]], ["absent", None], ["new york", [5, 6]]]


def assert_good(path, reasons, row="line", first=0, num_records=None):
    bad = BadRecords()
    words, vectors = read_embedding(str(path), bad=bad)
    assert dict(zip(words, vectors.tolist(), strict=True)) == GOOD
    assert {left.reason: (left.num, left.first) for left in bad.left_out.values()} == {
        reason: (num, f"{row} {number + first}") for reason, (num, number) in reasons.items()
    }
    assert bad.num_records == {str(path): num_records}
    with collected() as counted:
        look_through_embedding(str(path))
    assert counted.rows() == bad.rows()
    with pytest.raises(EmbeddingFileError, match=f"{row} {min(number for _, number in reasons.values()) + first}: "):
        read_embedding(str(path))


@pytest.mark.parametrize("chunk", [2**20, 40])
def test_bad_lines_are_left_out(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr("tiltmeter.storage.vectors.text._CHUNK_BYTES", chunk)
    (tmp_path / "glove.txt").write_text("\n".join(LINES))
    assert_good(tmp_path / "glove.txt", REASONS, num_records=10)
    (tmp_path / "word2vec.vec").write_text("\n".join(["9 2", *LINES, ""]))
    assert_good(tmp_path / "word2vec.vec", REASONS, first=1, num_records=10)


def test_bad_words_of_binary_files_are_left_out(tmp_path):
    rows = [("king", 1, 2), ("queen", 3, 4), ("never", 1, np.inf), ("new_york", 5, 6), ("king", 0, 0)]
    content = b"5 2\n" + b"".join(
        word.encode() + b" " + np.array(numbers, "<f4").tobytes() + b"\n" for word, *numbers in rows
    )
    (tmp_path / "vectors.bin").write_bytes(content.replace(b"new_york", b"new\xc2\xa0york"))
    bad = BadRecords()
    words, vectors = read_embedding(str(tmp_path / "vectors.bin"), bad=bad)
    assert (words, vectors.tolist()) == (["king", "queen", "new\xa0york"], list(GOOD.values()))
    assert [(left.reason, left.first) for left in bad.left_out.values()] == [
        ("holds a number that is not finite", "word 3"),
        ("a word that has come before", "word 5"),
    ]


def test_bad_rows_of_tables_are_left_out(tmp_path):
    words, vectors = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"word": words, "vector": vectors}), tmp_path / "vectors.parquet")
    reasons = {"a vector without a word": (1, 2), "a vector that is not of 2 numbers": (1, 4)}
    assert_good(tmp_path / "vectors.parquet", reasons, row="row", num_records=6)


def test_bad_rows_of_gensim_are_left_out(tmp_path):
    vectors = np.array([*GOOD.values(), [1, np.nan]], np.float32)
    keyedvectors(EmbeddingFile([*GOOD, "never"], vectors), None).save(str(tmp_path / "a.kv"))
    bad = BadRecords()
    assert read_embedding(str(tmp_path / "a.kv"), allow_pickle=True, bad=bad).words == list(GOOD)
    assert [row["first"] for row in bad.rows()] == ["row 4"]


def test_a_file_of_bad_rows_alone_is_refused_with_their_reasons(tmp_path):
    (tmp_path / "vectors.vec").write_text("2 2\na 1 x\nb 1\n")
    with pytest.raises(EmbeddingFileError, match=r"none of its rows can be used: .*\(1, first at line 2\)"):
        read_embedding(str(tmp_path / "vectors.vec"), "word2vec_text", bad=BadRecords())


def test_shares_are_of_all_rows(tmp_path):
    lines = [f"w{number} {number} {'x' if number < 12 else 1}" for number in range(100)]
    (tmp_path / "glove.txt").write_text("\n".join(["the 1 1", *lines]))
    bad = BadRecords()
    read_embedding(str(tmp_path / "glove.txt"), bad=bad)
    with pytest.raises(InputError, match=r"12 of 101 records are bad \(11.9%\).*first at line 2\)"):
        bad.check(0.05)

"""Lines that are read in bulk and one by one, zip files with Zstandard, and logs of Inspect that are damaged."""

import json
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.item_logs import LogColumns, ScoreColumns, is_log, lines, read_scores
from tiltmeter.storage.item_logs.archives import Archive

INSPECT = Path(__file__).parents[1] / "fixtures/logs/inspect"

# --- lines ----------------------------------------------------------------------------------------------------------

CELLS = [
    {"id": 1, "doc": {"kind": " a ", "more": [1]}, "acc": 1.0, "note": "x"},
    {"id": 2, "doc": {"kind": "é", "more": {}}, "acc": False, "note": None, "other": "}"},
    {"id": 2**64 - 1, "doc": {"kind": 3.0}, "acc": "0.25", "note": ""},
    {"id": " four ", "doc": {"kind": True}, "acc": -1e-3, "note": [1, "b"]},
]
SETTINGS = {"id": "logs.item", "doc.kind": "logs.cluster", "acc": "logs.score", "note": "logs.match"}


COLUMNS = LogColumns(SETTINGS, labels=["id", "doc.kind"], numbers=["acc"])


def cells_of(path, only=None):
    cells, num_left_out = lines.read_cells(str(path), "logs.first", replace(COLUMNS, only=only or {}))
    rows = cells.with_columns(pl.col("acc").replace({"false": "0"}).cast(pl.Float64)).rows()
    return rows, num_left_out


@pytest.mark.parametrize("only", [None, {"doc.kind": "3"}, {"note": "x", "doc.kind": "a"}])
@pytest.mark.parametrize("block", [10, 2**25])
def test_bulk_and_single_lines_are_read_alike(tmp_path, monkeypatch, only, block):
    """A line that is no JSON makes the others be read one by one."""
    monkeypatch.setattr(lines, "_BLOCK_BYTES", block)
    sound = "\n".join(map(json.dumps, CELLS))
    (tmp_path / "sound.jsonl").write_text(sound)
    (tmp_path / "faulty.jsonl").write_text(f"{sound}\n{{")
    assert lines._sound_cells(str(tmp_path / "sound.jsonl"), COLUMNS) is not None
    with collected() as bad:
        in_bulk, by_line = cells_of(tmp_path / "sound.jsonl", only), cells_of(tmp_path / "faulty.jsonl", only)
    assert in_bulk[0] == by_line[0]
    assert (in_bulk[1], by_line[1]) == (0, 1)
    kept = [row[0] for row in in_bulk[0]]
    assert (
        kept
        == {None: ["1", "2", "18446744073709551615", "four"], 1: ["18446744073709551615"], 2: ["1"]}[only and len(only)]
    )
    assert list(bad.num_records.values()) == [len(kept), len(kept) + 1]


@pytest.mark.parametrize(
    "fault", [{"id": None}, {"id": [1]}, {"id": ""}, {"acc": "good"}, {"acc": float("inf")}, {"doc": "a"}, {"doc": {}}]
)
def test_a_line_with_a_fault_in_a_needed_column_is_left_out(tmp_path, fault):
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [*CELLS, CELLS[0] | fault])))
    with collected() as bad:
        rows, num_left_out = cells_of(tmp_path / "a.jsonl")
    assert (len(rows), num_left_out) == (4, 1)
    assert [row["first"] for row in bad.rows()] == ["line 5"]


# --- zip files ------------------------------------------------------------------------------------------------------

TEXT = json.dumps(list(range(2000))).encode()


def zstd(content):
    """Two frames, as large members have."""
    half = len(content) // 2
    return b"".join(pa.compress(part, "zstd", asbytes=True) for part in (content[:half], content[half:]))


def zipped(path, raw, method, content=TEXT, crc=None):
    """A zip file whose member ``a`` is packed so: stored by Python, and called otherwise in both of its records."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", raw)
    packed = bytearray(path.read_bytes())
    crc = zipfile.crc32(content) if crc is None else crc
    fields = struct.pack("<HxxxxIII", method, crc, len(raw), len(content))
    for mark, at in ((b"PK\1\2", 10), (b"PK\3\4", 8)):
        start = packed.index(mark) + at
        packed[start : start + 2] = fields[:2]
        packed[start + 6 : start + 18] = fields[6:]
    path.write_bytes(packed)
    return path


def member(path):
    with path.open("rb") as file:
        return Archive(file, "logs.first: a.eval").read("a")


def deflated(content):
    packer = zipfile.zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


@pytest.mark.parametrize(("method", "raw"), [(0, TEXT), (8, deflated(TEXT)), (93, zstd(TEXT))])
def test_members_are_read_by_each_method_and_checked(tmp_path, method, raw):
    assert member(zipped(tmp_path / "a", raw, method)) == TEXT
    damaged = r"logs.first: a.eval: its member a is damaged"
    for content, crc in ((TEXT, 1), (TEXT[:-1], None), (TEXT + b" ", None)):
        with pytest.raises(InputError, match=damaged):
            member(zipped(tmp_path / "b", raw, method, content, crc))
    with pytest.raises(InputError, match=damaged):
        member(zipped(tmp_path / "c", raw[:-20], method))


def test_of_members_of_one_name_the_last_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr("a", "first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", "last")
    assert member(tmp_path / "a") == b"last"


def test_what_is_no_zip_or_packed_otherwise_or_far_too_tightly_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"PK\3\4 and no more")
    with pytest.raises(InputError, match=r"logs.first: a.eval: is a damaged zip file: File is not a zip file"):
        member(tmp_path / "a")
    with pytest.raises(InputError, match=r"is packed by method 12; 0, 8 and 93 \(Zstandard\) can be read"):
        member(zipped(tmp_path / "b", TEXT, 12))
    packed = zipped(tmp_path / "c", zstd(TEXT), 93).read_bytes()
    claimed = packed.replace(struct.pack("<I", len(TEXT)), struct.pack("<I", 2**31))
    (tmp_path / "c").write_bytes(claimed)
    with pytest.raises(InputError, match=r"its member a is refused: [\d,]+ bytes unpack to 2,147,483,648 or more"):
        member(tmp_path / "c")


# --- logs -----------------------------------------------------------------------------------------------------------


def test_files_of_a_folder_are_logs_by_their_ending_and_json_by_its_content(tmp_path):
    names = {"a.eval": "", "b.jsonl": "", "c.jsonl.gz": "", "d.csv": "", "e.txt": "", "f.json": '{"results": {}}'}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    assert [name for name in names if is_log(str(tmp_path / name))] == ["a.eval", "b.jsonl", "c.jsonl.gz", "d.csv"]
    assert is_log(str(INSPECT / "small/0.3.38.json"))


def rewritten(path, change):
    """A ``.json`` of Inspect, changed."""
    log = json.loads((INSPECT / "json/0.3.285.json").read_text())
    change(log)
    path.write_text(json.dumps(log))
    return str(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.update(version=3), r"a.json is of version 3 of Inspect's logs; up to 2 can be read"),
        (lambda log: log.pop("eval"), r"a.json is no log of Inspect: it has no version, or does not say what was eva"),
        (lambda log: log.update(samples=[]), r"a.json has no scores in the 0 samples that logs.only leaves of it"),
        (lambda log: log["samples"][0].update(scores={}), None),
        (lambda log: log["samples"][0].update(scores=[1]), r"a.json: a sample is not as Inspect writes it"),
        (lambda log: log["samples"][0].update(input=[3]), r"a.json: a sample is not as Inspect writes it"),
    ],
)
def test_a_log_of_another_shape_is_refused(tmp_path, change, message):
    path = rewritten(tmp_path / "a.json", change)
    if message is None:
        rows = read_scores(path, "logs.first", ScoreColumns(score=["judge"])).rows
        assert rows["reason"].to_list()[0] == "no score"
        return
    with pytest.raises(InputError, match=message):
        read_scores(path, "logs.first", ScoreColumns())


def test_what_no_summary_has_is_read_of_samples_and_ids_keep_their_kind(tmp_path):
    """Questions that differ in their choices alone are the same in summaries, which are cut, and not in samples."""

    def same_question(log):
        for at, sample in enumerate(log["samples"]):
            sample |= {"id": f"q{at}", "input": "x" * 2000 + str(at % 2), "target": "a", "choices": [str(at // 2)]}

    path = rewritten(tmp_path / "a.json", same_question)
    contents = [
        read_scores(path, "logs.first", ScoreColumns(score=["judge"], whole=whole)).rows["content"].n_unique()
        for whole in (False, True)
    ]
    assert contents == [1, 4]

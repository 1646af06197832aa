"""Bad input ends in a clear error that names the file or key, and nothing half-written remains."""

import bz2
import json
import re
import subprocess
from pathlib import Path

import pytest
import ray
from gensim.test.utils import datapath

DUMP = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
QUICK = ["embedding.num_replicas=2", "embedding.glove.epochs=1", "embedding.glove.dimensions=4", "job.num_resamples=10"]


def refuse(tiltmeter, *arguments):
    """Run the command, which must fail; returns its exit status and what it said."""
    process = tiltmeter(*arguments)
    output, errors = process.communicate(timeout=120)
    assert process.returncode != 0, output
    return process.returncode, errors


def left_behind(folder):
    """Files other than the inputs, the store's finished units and a failed run's record."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and "partial" in path.name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["corpus=file", "corpus.language=en", "corpus.path=nowhere.xml"],
            r"corpus.path=nowhere.xml: there is no file",
        ),
        (["corpus=file", "corpus.language=en", "corpus.path=empty.xml"], r"corpus.path=empty.xml.*is empty"),
        (
            ["corpus=file", "corpus.path=empty.xml"],
            r"corpus.language has no value: set it with corpus.language=<value>",
        ),
        (
            ["embedding.num_replicas=0"],
            r"embedding.num_replicas=0: .*greater than or equal to 2; set it with embedding.num",
        ),
        (["embedding.glove.epochs=many"], r"embedding.glove.epochs=many: .*valid integer"),
        (["embedding.no_such_key=1"], r"embedding.no_such_key"),
        (["+embedding.no_such_key=1"], r"embedding.no_such_key=1: unexpected keyword argument"),
        (["job=no_such_job"], r"(?s)no_such_job.*bootstrap.*survey"),
        (["seed=-1"], r"seed=-1: .*greater than or equal to 0"),
        (["corpus.language=de"], r"wordset.language=en but corpus.language=de.*wordset=<name>"),
        (["wordset.cue_pairs=[[she,she]]"], r"wordset.cue_pairs: \['she', 'she'\] must be two different words"),
        (["job.level=1.5"], r"job.level=1.5: .*less than 1"),
        (["store=ftp://nowhere"], r"store=ftp://nowhere"),
    ],
)
def test_a_bad_setting_ends_at_once_and_leaves_nothing(tiltmeter, tmp_path, arguments, message):
    (tmp_path / "empty.xml").touch()
    _, said = refuse(tiltmeter, *arguments)
    assert re.search(message, said), said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.xml"]


@pytest.fixture
def broken(tmp_path):
    """Files that begin well, or not at all, and what is wrong with each."""
    whole = Path(DUMP).read_bytes()
    (tmp_path / "truncated.xml.bz2").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "cut.xml").write_bytes(bz2.decompress(whole)[:300_000])
    (tmp_path / "no_dump.txt").write_text("Once upon a time\n" * 100)
    (tmp_path / "words.jsonl").write_text(
        "".join(json.dumps({"id": n, "text": "apple pear " * 9}) + "\n" for n in range(9))
    )
    return tmp_path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("truncated.xml.bz2", r"read.*truncated.xml.bz2: cannot be read on from byte .*end-of-stream"),
        ("cut.xml", r"read.*cut.xml"),
        ("no_dump.txt", r"no_dump.txt: neither a MediaWiki XML dump nor JSON lines .*Once upon a time"),
        (
            "words.jsonl",
            r"wordset.cue_pairs: none of its 16 words \(female, male, woman, ...\) is in the vocabulary of 2",
        ),
    ],
)
def test_a_bad_corpus_is_named_and_nothing_half_written_remains(tiltmeter, broken, name, message):
    arguments = ["corpus=file", "corpus.language=en", f"corpus.path={name}", "run_dir=run", *QUICK]
    _, said = refuse(tiltmeter, *arguments)
    assert re.search(message, said, re.DOTALL), said
    assert json.loads((broken / "run/run.json").read_text())["status"] == "failed"
    assert sorted(path.name for path in (broken / "run").iterdir()) == [".lock", "config.yaml", "run.json"]
    assert left_behind(broken) == []


def test_failed_units_are_recorded_with_their_traceback(tiltmeter, broken):
    arguments = ["corpus=file", "corpus.language=en", "corpus.path=truncated.xml.bz2", "run_dir=run"]
    status, _ = refuse(tiltmeter, *arguments, *QUICK)
    record = json.loads((broken / "run/run.json").read_text())
    assert status == 1
    assert record["units"]["failed"] == 1
    [failure] = record["failures"]
    assert "truncated.xml.bz2" in failure["error"]
    assert "Traceback" in failure["traceback"] or "read_pages" in failure["traceback"]


def test_a_second_run_into_the_same_directory_is_refused_while_the_first_goes_on(tiltmeter, tmp_path):
    first = tiltmeter("run_dir=run", *QUICK)
    while not (tmp_path / "run/run.json").exists():
        assert first.poll() is None
    _, said = refuse(tiltmeter, "run_dir=run", *QUICK)
    assert "run: another run is writing there" in said
    assert first.wait(timeout=200) == 0
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "succeeded"


def test_a_full_disk_is_named_and_leaves_nothing_half_written(tiltmeter, tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", mount], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        status, said = refuse(tiltmeter, f"store={mount}/store", f"run_dir={tmp_path}/run", *QUICK)
        assert status == 1
        assert "No space left on device; choose another place with store=<path or URI>" in said
        assert left_behind(tmp_path) == []
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_cluster_that_is_not_there_is_named(tiltmeter):
    status, said = refuse(tiltmeter, "cluster=existing", "cluster.address=127.0.0.1:1")
    assert status == 2
    assert "cluster.address=127.0.0.1:1: no Ray cluster there" in said


def test_a_run_on_an_existing_cluster_uses_it(tiltmeter, ray_cluster, tmp_path):
    address = ray.get_runtime_context().gcs_address
    process = tiltmeter("job=bootstrap", "cluster=existing", f"cluster.address={address}", "run_dir=run", *QUICK[:3])
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    assert output.rstrip().endswith(f"run directory: {tmp_path}/run")
    assert sorted(path.stem for path in (tmp_path / "run/embeddings").iterdir()) == [
        f"replica_{n:04d}" for n in range(3)
    ]

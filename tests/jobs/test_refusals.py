"""Bad input ends in a clear error that names the file or key, and nothing half-written remains."""

import bz2
import json
import re
import shlex
from pathlib import Path

import hydra
import pytest
from gensim.test.utils import datapath

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.embedding.config import WordSetError
from tiltmeter.jobs.embedding.pages import Part, ReadPages
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.storage.corpora.corpora import CorpusConfig, Span, find_sources
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.runs import opened

DUMP = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
QUICK = [
    *("embedding.num_replicas=2", "embedding.trainer.epochs=1", "embedding.trainer.dimensions=4"),
    "job.num_resamples=10",
]


def refuse(tiltmeter, *arguments):
    """Run the command, which must fail; returns its exit status and what it said."""
    process = tiltmeter(*arguments)
    output, errors = process.communicate(timeout=900)
    assert process.returncode != 0, output
    return process.returncode, errors


def left_behind(folder):
    """Half-written files and folders."""
    return [str(path) for path in folder.rglob("*") if "partial" in path.name]


FILE = ["corpus=file", "corpus.language=en"]


def test_the_command_ends_at_once_and_leaves_nothing(tiltmeter, tmp_path):
    status, said = refuse(tiltmeter, *FILE, "corpus.path=nowhere.xml")
    assert (status, said.partition("there is")[0]) == (2, "tiltmeter: corpus.path=nowhere.xml: ")
    assert list(tmp_path.iterdir()) == []


REFUSED = [line.split(" -> ") for line in (Path(__file__).parent / "refused_settings.txt").read_text().splitlines()]
"""Words of a command line as a shell reads them, and the whole message; its lines are parted by ` / `."""


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[words for words, _ in REFUSED])
def test_a_setting_is_refused_with_what_is_allowed_or_was_meant(hydra_restored, words, message):
    confine_composition()
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"), pytest.raises(ConfigError) as refusal:
        build(hydra.compose("tiltmeter", shlex.split(words)), shlex.split(words))
    assert str(refusal.value).replace("\n", " / ") == message


@pytest.fixture
def broken(tmp_path):
    """Files that begin well, or not at all, and are wrong each in its way."""
    whole = Path(DUMP).read_bytes()
    (tmp_path / "truncated.xml.bz2").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "cut.xml").write_bytes(bz2.decompress(whole)[:300_000])
    lines = [json.dumps({"id": number, "text": "apple pear " * 9}) for number in range(9)]
    (tmp_path / "words.jsonl").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kind", "message", "where"),
    [
        (
            "truncated.xml.bz2",
            UnitsFailed,
            r"truncated.xml.bz2: cannot be read on from byte .*break off",
            "storage/corpora",
        ),
        ("cut.xml", UnitsFailed, r"cut.xml: the XML breaks off or is damaged near byte [\d,]+", "storage/corpora"),
        ("words.jsonl", WordSetError, r"cue_pairs: none of its 16 words .* in the vocabulary of 2", "_check_coverage"),
    ],
)
def test_a_bad_corpus_is_named_recorded_and_leaves_nothing_half_written(run_here, broken, name, kind, message, where):
    arguments = [*FILE, f"corpus.path={broken}/{name}", f"run_dir={broken}/run", f"store={broken}/store", *QUICK]
    with pytest.raises(kind, match=f"(?s){message}"):
        run_here(*arguments)
    record = json.loads((broken / "run/run.json").read_text())
    assert record["status"] == "failed"
    assert re.search(message, record["error"]["error"], re.DOTALL)
    traceback = record["failures"][0]["traceback"] if kind is UnitsFailed else record["error"]["traceback"]
    assert where in traceback
    assert sorted(path.name for path in (broken / "run").iterdir()) == [".lock", "config.yaml", "run.json"]
    assert left_behind(broken) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        (
            "truncated.xml.bz2",
            1,
            r"tiltmeter: 1 unit failed:\n  file: truncated.xml.bz2 from 0: InputError: .*cannot",
        ),
        ("words.jsonl", 2, r"none of its 16 words \(female, male, woman, ...\) is in the vocabulary of 2"),
    ],
)
def test_a_bad_corpus_ends_the_command_with_its_status_and_name(tiltmeter, joining, broken, name, status, message):
    ended, said = refuse(tiltmeter, *joining, *FILE, f"corpus.path={name}", "run_dir=run", *QUICK)
    assert ended == status
    assert re.search(message, said)
    assert "Traceback" not in said


def test_a_run_into_a_directory_that_another_process_writes_is_refused(tiltmeter, tmp_path):
    settings = [*FILE, "job=bootstrap", f"corpus.path={datapath('enwiki-table-markup.xml.bz2')}", "run_dir=run"]
    with opened(tmp_path / "run") as directory:
        directory.write_text("notes", "of the first")
        _, said = refuse(tiltmeter, *settings)
        assert "run: another run is writing there" in said
        assert (tmp_path / "run/notes").read_text() == "of the first"


def test_a_full_disk_is_named_and_leaves_nothing_half_written(tiltmeter, joining, small_disk, tmp_path):
    store = small_disk("3m") / "store"
    status, said = refuse(tiltmeter, *joining, f"store={store}", f"run_dir={tmp_path}/run", *QUICK)
    assert status == 1
    assert "No space left on device; choose another place with store=<path or URI>" in said
    assert left_behind(tmp_path) == []


def test_a_corpus_that_changes_under_the_run_is_refused(tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text('{"id": 1, "text": "apple pear"}\n')
    [source] = find_sources(CorpusConfig("words", "en", str(path)))
    path.write_text('{"id": 1, "text": "apple pear plum"}\n')
    work = ReadPages(part=Part([source], Span(0, source.num_bytes)), shard_megabytes=1.0)
    with pytest.raises(InputError, match=r"words.jsonl: changed while it was read: leave it alone and run again"):
        list(work.tables(Store(str(tmp_path))))


@pytest.mark.parametrize("head", ["", "# @package corpus\n"])
def test_corpora_that_overwrite_each_other_are_refused(tmp_path, head):
    (tmp_path / "corpus").mkdir()
    for name, language in (("here", "de"), ("there", "fr")):
        text = f"{head}name: {name}\nlanguage: {language}\npath: {name}.txt\n"
        (tmp_path / f"corpus/{name}.yaml").write_text(text)
    overrides = ["job=bootstrap", "corpus=[here,there]", f"hydra.searchpath=[file://{tmp_path}]"]
    with (
        hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"),
        pytest.raises(
            ConfigError, match=r"corpus=\[here,there\]: only 1 corpora remain, .* `# @package corpus.<name>`"
        ),
    ):
        build(hydra.compose("tiltmeter", overrides), overrides)

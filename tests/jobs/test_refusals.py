"""Bad settings and bad input end in a clear error that names the setting, file or key; nothing half-written remains."""

import bz2
import json
import re
import shlex
import sys
from pathlib import Path

import hydra
import pytest
from gensim.test.utils import datapath

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.app import main
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


@pytest.fixture
def composed(hydra_restored):
    """Builds a config from words, as the command does."""

    def compose(*words):
        with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
            return build(hydra.compose("tiltmeter", [*words]), words)

    confine_composition()
    return compose


@pytest.mark.long
@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[words for words, _ in REFUSED])
def test_a_setting_is_refused_with_what_is_allowed_or_was_meant(composed, words, message):
    with pytest.raises(ConfigError) as refusal:
        composed(*shlex.split(words))
    assert str(refusal.value).replace("\n", " / ") == message


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ("{a: ", "}"), ("${", "}"), ("int(", ")")])
def test_a_word_is_not_nested_without_end(composed, start, end):
    with pytest.raises(ConfigError, match=r"^tests: is nested more than 50 levels deep$"):
        composed("job=association", f"tests={start * 1000}1{end * 1000}")


# --- corpora --------------------------------------------------------------------------------------------------------


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
    ("name", "kind", "message"),
    [
        ("truncated.xml.bz2", UnitsFailed, r"truncated.xml.bz2: cannot be read on from byte .*break off"),
        ("cut.xml", UnitsFailed, r"cut.xml: the XML breaks off or is damaged near byte [\d,]+"),
        ("words.jsonl", WordSetError, r"cue_pairs: none of its 16 words .* in the vocabulary of 2"),
    ],
)
def test_a_bad_corpus_is_named_recorded_and_leaves_nothing_half_written(run_here, broken, name, kind, message):
    arguments = [*FILE, f"corpus.path={broken}/{name}", f"run_dir={broken}/run", f"store={broken}/store", *QUICK]
    with pytest.raises(kind, match=f"(?s){message}"):
        run_here(*arguments)
    record = json.loads((broken / "run/run.json").read_text())
    assert record["status"] == "failed"
    assert re.search(message, record["error"]["error"], re.DOTALL)
    traceback = record["failures"][0]["traceback"] if kind is UnitsFailed else record["error"]["traceback"]
    assert ("storage/corpora" if kind is UnitsFailed else "_check_coverage") in traceback
    assert sorted(path.name for path in (broken / "run").iterdir()) == [".lock", "config.yaml", "run.json"]
    assert left_behind(broken) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("truncated.xml.bz2", 1, r"tiltmeter: 1 unit failed:\n  file: truncated.xml.bz2 from 0: InputError: .*cannot"),
        ("words.jsonl", 2, r"none of its 16 words \(female, male, woman, ...\) is in the vocabulary of 2"),
    ],
)
def test_a_bad_corpus_ends_the_command_with_its_status_and_name(tiltmeter, joining, broken, name, status, message):
    ended, said = refuse(tiltmeter, *joining, *FILE, f"corpus.path={name}", "run_dir=run", *QUICK)
    assert ended == status
    assert re.search(message, said)
    assert "Traceback" not in said


TINY = [*FILE, "job=bootstrap", f"corpus.path={datapath('enwiki-table-markup.xml.bz2')}"]


def test_a_run_into_a_directory_that_another_process_writes_is_refused(tiltmeter, tmp_path):
    with opened(tmp_path / "run") as directory:
        directory.write_text("notes", "of the first")
        _, said = refuse(tiltmeter, *TINY, "run_dir=run")
        assert "run: another run is writing there" in said
        assert (tmp_path / "run/notes").read_text() == "of the first"


def test_a_full_disk_is_named_and_leaves_nothing_half_written(run_here, small_disk, tmp_path):
    store = small_disk("3m") / "store"
    with pytest.raises(UnitsFailed, match="No space left on device; choose another place with store=<path or URI>"):
        run_here(*QUICK, f"store={store}", f"run_dir={tmp_path}/run")
    assert left_behind(tmp_path) == []


def test_a_corpus_that_changes_under_the_run_is_refused(tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text('{"id": 1, "text": "apple pear"}\n')
    [source] = find_sources(CorpusConfig("words", "en", str(path)))
    path.write_text('{"id": 1, "text": "apple pear plum"}\n')
    work = ReadPages(part=Part([source], Span(0, source.num_bytes)), shard_megabytes=1.0)
    with pytest.raises(InputError, match=r"words.jsonl: changed while it was read: leave it alone and run again"):
        list(work.tables(Store(str(tmp_path))))


# --- files of settings ----------------------------------------------------------------------------------------------


@pytest.fixture
def write_corpus(tmp_path):
    """Writes a file of settings of a corpus; gives the word that finds its folder."""

    def write(name, text):
        (tmp_path / "corpus").mkdir(exist_ok=True)
        (tmp_path / f"corpus/{name}.yaml").write_text(text)
        return f"hydra.searchpath=[file://{tmp_path}]"

    return write


@pytest.mark.long
@pytest.mark.parametrize("head", ["", "# @package corpus\n"])
def test_corpora_that_overwrite_each_other_are_refused(write_corpus, composed, head):
    for name, language in (("here", "de"), ("there", "fr")):
        place = write_corpus(name, f"{head}name: {name}\nlanguage: {language}\npath: {name}.txt\n")
    said = r"corpus=\[here,there\]: only 1 corpora remain, .* `# @package corpus.<name>`"
    with pytest.raises(ConfigError, match=said):
        composed("job=bootstrap", "corpus=[here,there]", place)


BOOTSTRAP = ["job=bootstrap", "wordset=[]", "wordset/gender=[english]"]


def test_a_key_in_a_file_is_refused_like_one_of_the_command_line(write_corpus, composed):
    place = write_corpus("mine", "# @package corpus.mine\nname: mine\nlangage: en\nlanguage: en\npath: x\n")
    said = r"^corpus.mine.langage=en: there is no such setting; did you mean corpus.mine.language\?$"
    with pytest.raises(ConfigError, match=said):
        composed(*BOOTSTRAP, "corpus=mine", place)


@pytest.mark.long
@pytest.mark.parametrize("defaults", ["", "defaults: [/slices@_here_, _self_]\n", "defaults: [/corpora@_here_]\n"])
def test_a_corpus_of_one_s_own_has_the_settings_of_all(write_corpus, composed, defaults):
    head = f"# @package corpus.wiki\n{defaults}"
    place = write_corpus("wiki", f"{head}name: wiki\nlanguage: en\npath: x\nformat: jsonl\n")
    slices = ["corpus.wiki.slices=decade", "corpus.wiki.slice_values=[1990s]"]
    [corpus] = composed(*BOOTSTRAP, "corpus=wiki", *slices, "corpus.wiki.download=true", place).corpora
    assert (corpus.slices, corpus.slice_values, corpus.format) == ("decade", ("1990s",), "jsonl")
    assert corpus.download


@pytest.mark.long
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbf# @package corpus.mine\nname: x\n", "can't be read as settings: begins with a byte order mark"),
        (b"name: x\n path: [y\n", "is not YAML in line 2, column 6: mapping values are not allowed here"),
        (b"name: x\npath: [y\n", "is not YAML in line 3, column 1: while parsing a flow sequence"),
        (
            b"name: x\nname: y\n",
            "is not YAML in line 2, column 1: while constructing a mapping, found duplicate key name",
        ),
        (b"name: \xff\n", "is not text in UTF-8 (invalid start byte at byte 6)"),
        (b"name: ${oops\n", "line 1, column 7: ${oops takes a value from elsewhere"),
        (b"- a\n", "can't be read as settings: "),
        (b"defaults: 3\nname: x\n", "can't be read as settings: Invalid defaults list"),
        (b"# @package a b\nname: x\n", "can't be read as settings: "),
    ],
)
def test_a_broken_file_of_settings_is_named_with_its_place(
    hydra_restored, monkeypatch, capfd, tmp_path, content, message
):
    (tmp_path / "mine/corpus").mkdir(parents=True)
    (tmp_path / "mine/corpus/mine.yaml").write_bytes(content)
    words = ["--config-dir", str(tmp_path / "mine"), "job=bootstrap", "corpus=mine"]
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"tiltmeter: {tmp_path}/mine/corpus/mine.yaml: {message}"), said
    assert "Traceback" not in said

"""What ``--help`` and ``--version`` print: a page of its own, and one for each job, without composing a config."""

import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version

import pytest

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.app import arranged, main
from tiltmeter.jobs.runtime.settings.files import read
from tiltmeter.storage.errors import Refusal

WIDTH = 80
HEAVY = {"numba", "pandas", "polars", "pyarrow", "pydantic", "ray", "scipy", "torch"}


@pytest.fixture
def said(monkeypatch, capsys):
    """Runs the command in this process, on a terminal of 80 columns; returns what it prints."""
    monkeypatch.setenv("COLUMNS", str(WIDTH))

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
        main()
        return capsys.readouterr().out

    return run


def lines_of(text: str) -> dict[str, str]:
    """The lines of two columns: what stands in the second by the first."""
    parts = (line.strip().split("  ", 1) for line in text.splitlines() if line.startswith("  "))
    return {first: rest[0].strip() if rest else "" for first, *rest in parts}


def test_the_page_has_a_line_for_each_job_and_fits_a_terminal(said):
    page = said("--help")
    rows = lines_of(page)
    for name in catalogue.names():
        about = catalogue.settings_folders().file(f"job/{name}").about
        assert rows[name] == about, name
        assert about[0].isupper()
    assert len(page.splitlines()) < 60
    assert max(map(len, page.splitlines())) <= WIDTH
    assert {"store=./store", "run_dir=null", "seed=0", "cluster.worker_megabytes=1500"} <= rows.keys()


@pytest.mark.parametrize("name", catalogue.names())
def test_a_job_has_a_page_with_its_settings_what_they_mean_and_its_tables(said, name):
    page = said(f"job={name}", "--help")
    file = catalogue.settings_folders().file(f"job/{name}")
    assert page.startswith(f"{name}: {file.about}.\n\n  {file.example}\n")
    assert file.example.startswith(f"tiltmeter job={name}")
    rows = lines_of(page)
    for setting in file.settings:
        if not setting.is_block and setting.key != "job.name":
            value = setting.value or "<value>"
            assert any(row.startswith(f"{setting.key}={value}") for row in rows), setting.key
    tables = page.partition("Tables, each of which")[2]
    assert set(catalogue.job(name).tables) <= lines_of(tables).keys()


@pytest.mark.parametrize("name", catalogue.names())
def test_each_setting_of_a_job_says_what_it_means_or_stands_below_one_that_does(name):
    settings = catalogue.settings_folders().file(f"job/{name}").settings
    explained = tuple(f"{setting.key}." for setting in settings if setting.is_block and setting.meaning)
    silent = [setting.key for setting in settings if not setting.meaning and not setting.is_block]
    assert [key for key in silent if key != "job.name" and not key.startswith(explained)] == []


def test_the_page_of_a_job_shows_what_is_chosen(said):
    assert "embedding=glove; or bert_cls, encoder, fasttext, file, replicas, word2vec" in said(
        "job=bootstrap", "--help"
    )
    page = said("job=bootstrap", "embedding=word2vec", "-h")
    assert "embedding=word2vec; or bert_cls, encoder, fasttext, file, glove, replicas" in page
    assert "embedding.trainer.skip_gram=true" in page
    assert "embedding.cooccurrence" not in page


def test_the_page_of_a_job_lists_what_a_group_brings(said, tmp_path):
    rows = lines_of(said("job=survey", "--help"))
    assert {"corpus.enwiki_sample.slice_by=value", "corpus.enwiki_sample.format=auto"} <= rows.keys()
    records = lines_of(said("job=entity_resolution", "+records=csv", "--help"))
    assert {"records.path=<value>", "records.num_parts=1", "records.threshold=0.0"} <= records.keys()
    page = said("job=privacy_metrics", "+spoken@across=muse", "--help")
    assert "+spoken@across=muse; or iemocap, msp_improv" in page
    assert "across.label=valence" in lines_of(page)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/wiki.yaml").write_text("# @package corpus.wiki\nname: wiki\nlanguage: en\npath: x.txt\n")
    ours = lines_of(said("job=bootstrap", "corpus=wiki", "--config-dir", str(tmp_path), "--help"))
    assert ours["corpus.wiki.slice_values=[]"] == "slices that are kept; all of them"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"a: " + b"[" * 1000, "nested more than 50"), (b"a: \xff", "can't decode"), (b"a: [", "line 1")],
)
def test_a_file_that_cannot_be_read_is_named(monkeypatch, capsys, tmp_path, content, problem):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/wiki.yaml").write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["tiltmeter", "job=bootstrap", "corpus=wiki", "--config-dir", str(tmp_path), "-h"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert said.startswith(f"tiltmeter: {tmp_path}/corpus/wiki.yaml: can't be read as settings: ")
    assert problem in said


def test_a_job_and_a_choice_of_other_people_are_listed(said, monkeypatch, tmp_path):
    package = tmp_path / "lengths"
    (package / "conf/job").mkdir(parents=True)
    for folder in (package, package / "conf"):
        (folder / "__init__.py").touch()
    (package / "conf/job/lengths.yaml").write_text(
        "# @package _global_\n# How long words are: tiltmeter job=lengths path=<CSV>\njob: {name: lengths}\npath: ???\n"
    )
    (package / "job.py").write_text("from tiltmeter.jobs.upkeep.prune.job import JOB\n")
    (tmp_path / "mine/corpus").mkdir(parents=True)
    (tmp_path / "mine/corpus/letters.yaml").write_text("name: letters\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = type("Point", (), {"name": "lengths", "value": "lengths.job:JOB", "module": "lengths.job"})
    monkeypatch.setattr(catalogue, "entry_points", lambda **_: [point])
    catalogue._theirs.cache_clear()
    try:
        assert lines_of(said("--help"))["lengths"] == "How long words are"
        page = said("job=lengths", "--help")
        assert page.startswith("lengths: How long words are.\n\n  tiltmeter job=lengths path=<CSV>\n")
        assert lines_of(page)["path=<value>"] == "must be given"
        assert "letters" in said("job=bootstrap", "--config-dir", str(tmp_path / "mine"), "--help")
    finally:
        catalogue._theirs.cache_clear()


@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (["--version"], 0, f"tiltmeter {version('tiltmeter')}\n"),
        (["job=surveyy", "--help"], 2, "tiltmeter: job=surveyy: there is no such job; did you mean survey?"),
    ],
)
def test_the_version_is_ours_and_the_page_of_no_job_is_refused(monkeypatch, capsys, words, status, output):
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == status
    assert "".join(capsys.readouterr()).startswith(output)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["job=prune", "--cfg", "job", "job.keep=3"], "job:\n  name: prune\n  keep: 3\n"),
        (["job=prune", "--info", "searchpath"], "pkg://tiltmeter.conf"),
        (["--shell-completion", "query=bash"], "job=privacy_metrics job=private_vectors job=prune"),
        (["--hydra-help"], "--multirun"),
    ],
)
def test_what_hydra_offers_still_answers(monkeypatch, capfd, hydra_restored, words, expected):
    monkeypatch.setenv("COMP_LINE", "tiltmeter job=pr")
    monkeypatch.setenv("COMP_POINT", "16")
    monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
    with suppress(SystemExit):
        main()
    assert expected in "".join(capfd.readouterr())


def test_help_loads_nothing_that_takes_long():
    code = "import sys; from tiltmeter.jobs.app import main; sys.argv[1:] = ['--help']; main(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "tiltmeter.jobs.help" in done.stdout.splitlines()[-1].split()
    assert HEAVY & {*done.stdout.splitlines()[-1].split()} == set()


def test_a_reader_who_has_seen_enough_leaves_no_traceback(tiltmeter):
    process = tiltmeter("job=prune", "--help")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(60) == 0


# --- words and files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["job=a", "--cfg", "job", "seed=1"], ["job=a", "seed=1", "--cfg", "job"]),
        (["--multirun", "seed=1,2"], ["seed=1,2", "--multirun"]),
        (["--config-dir", "m", "job=a", "--info", "all"], ["job=a", "--config-dir", "m", "--info", "all"]),
        (["--config-dir=mine", "~x"], ["~x", "--config-dir=mine"]),
        ([], []),
    ],
)
def test_settings_may_stand_before_and_after_options(words, expected):
    assert arranged(words)[1] == expected


def test_an_option_that_there_is_not_is_refused_with_how_a_setting_is_written():
    with pytest.raises(Refusal, match=r"^--seed=3: there is no such option; a setting is written seed=3; "):
        arranged(["job=prune", "--seed=3"])


FILE = """\
# @package _global_
# What for: tiltmeter job=a path=<file>
# and more
defaults:
  - /embeddings
  - sentences: [one, two] # of many
  - _self_
  - override hydra/job_logging: none

path: ??? # a # file
number: 20_000
text: "a # b" # quoted
none: # nothing
items: [1, [a, b]] # in a line
block: # of settings
  # before
  # it
  inner: {a: 1, b: null}
listed:
  - x
  - y # last
"""


def test_a_file_is_read_with_its_comments():
    file = read(FILE, "ignored")
    assert (file.about, file.example) == ("What for", "tiltmeter job=a path=<file> and more")
    assert [(choice.group, choice.options) for choice in file.choices] == [
        ("", ("/embeddings",)),
        ("sentences", ("one", "two")),
    ]
    assert [tuple(setting) for setting in file.settings] == [
        ("path", None, "a # file", False),
        ("number", "20000", "", False),
        ("text", "'a # b'", "quoted", False),
        ("none", "", "nothing", False),
        ("items", "[1,[a,b]]", "in a line", False),
        ("block", None, "of settings", True),
        ("block.inner", "{a:1,b:null}", "before it", False),
        ("listed", "[x,y]", "", False),
    ]

"""The command: its pages of help, and where output, locale, home or terminal are not as on a desk."""

import io
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.app import arranged, main
from tiltmeter.jobs.report import terminal
from tiltmeter.jobs.runtime.settings.files import read
from tiltmeter.jobs.streams import RedactedStream, standard_streams
from tiltmeter.storage.errors import Refusal

ROOT = Path(__file__).parents[2]
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


@pytest.fixture
def ends(monkeypatch, capfd, hydra_restored):
    """Runs the command in this process, which ends it; returns its status, and what it prints."""

    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code
        return status, "".join(capfd.readouterr())

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
    assert len(page.splitlines()) < 54 + len(catalogue.names())
    assert max(map(len, page.splitlines())) <= WIDTH
    assert {"store=./store", "run_dir=null", "seed=0", "cluster.worker_megabytes=1500"} <= rows.keys()


@pytest.mark.long
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
    # Each setting says what it means, or stands below one that does.
    explained = tuple(f"{setting.key}." for setting in file.settings if setting.is_block and setting.meaning)
    silent = [setting.key for setting in file.settings if not setting.meaning and not setting.is_block]
    assert [key for key in silent if key != "job.name" and not key.startswith(explained)] == []


@pytest.mark.long
def test_the_page_of_a_job_shows_what_is_chosen(said):
    others = "bert_cls, ceat, encoder, fasttext, file"
    page = " ".join(said("job=bootstrap", "--help").split())
    assert f"embedding=glove; or {others}, replicas, seat, word2vec" in page
    page = said("job=bootstrap", "embedding=word2vec", "-h")
    assert f"embedding=word2vec; or {others}, glove, replicas, seat" in " ".join(page.split())
    assert "embedding.trainer.skip_gram=true" in page
    assert "embedding.cooccurrence" not in page


@pytest.mark.long
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
def test_a_file_that_cannot_be_read_is_named(ends, tmp_path, content, problem):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/wiki.yaml").write_bytes(content)
    status, said = ends("job=bootstrap", "corpus=wiki", "--config-dir", str(tmp_path), "-h")
    assert status == 2
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
    point = SimpleNamespace(name="lengths", value="lengths.job:JOB", module="lengths.job")
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


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (["--version"], 0, f"tiltmeter {version('tiltmeter')}\n"),
        (["prune", "--cfg", "job", "job.keep=3"], 0, "job:\n  name: prune\n  keep: 3\n"),
        (["surveyy", "--help"], 2, "tiltmeter: surveyy: there is no such job or command; did you mean survey?"),
        (["job=surveyy", "--help"], 2, "tiltmeter: job=surveyy: there is no such job; did you mean survey?"),
        (["job=prune", "--cfg", "job", "job.keep=3"], 0, "job:\n  name: prune\n  keep: 3\n"),
        (["job=prune", "--info", "searchpath"], 0, "pkg://tiltmeter.conf"),
        (["--shell-completion", "query=bash"], 0, "job=privacy_metrics job=private_vectors job=prune"),
        (["--hydra-help"], 0, "--multirun"),
    ],
)
def test_the_version_is_ours_the_page_of_no_job_is_refused_and_hydra_still_answers(
    ends, monkeypatch, words, status, output
):
    monkeypatch.setenv("COMP_LINE", "tiltmeter job=pr")
    monkeypatch.setenv("COMP_POINT", "16")
    ended, said = ends(*words)
    assert ended == status
    assert output in said


@pytest.mark.long
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
        (["--config-dir", "tests", "job=a", "--info", "all"], ["job=a", "--config-dir", "tests", "--info", "all"]),
        (["--config-dir=tests", "~x"], ["~x", "--config-dir=tests"]),
        (["seed=1", "compare"], ["job=compare", "seed=1"]),
        (["--cfg", "job", "compare"], ["job=compare", "--cfg", "job"]),
        (["--config-name", "survey", "survey"], ["job=survey", "--config-name", "survey"]),
        (["plan", "--cfg", "job", "bootstrap", "seed=1"], ["job=plan", "job.of=bootstrap", "seed=1", "--cfg", "job"]),
        (["plan", "job.of=bootstrap"], ["job=plan", "job.of=bootstrap"]),
        (["runs", "compare"], ["runs", "compare"]),
        ([], []),
    ],
)
def test_settings_and_a_job_by_its_name_may_stand_before_and_after_options(words, expected, monkeypatch):
    monkeypatch.chdir(ROOT)
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


CLOSED = "tiltmeter: standard output is closed; the command goes on without it\n"
FULL = "can't be written (No space left on device); the command goes on without it\n"
REFUSED = "tiltmeter: --xyz: there is no such option; tiltmeter --help has both"


@pytest.fixture(scope="module")
def endings(tmp_path_factory):
    """Status, output and errors of the command with streams as a shell sets them, of all such commands at once."""
    commands = {
        "closed": "--help >&-",
        "all closed": "--help <&- >&- 2>&-",
        "full": "--help >/dev/full",
        "both full": "--help >/dev/full 2>&1",
        "refused without output": "--xyz >&-",
        "refused without errors": "--xyz 2>&-",
        "refused with full errors": "--xyz 2>/dev/full",
        "refused without both": "--xyz >&- 2>&-",
        "no home": "--help",
    }
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = {}
    for name, words in commands.items():
        variables = environment | ({"HOME": "/proc/none", "TERM": "dumb", "COLUMNS": "0"} if name == "no home" else {})
        line = f"exec {sys.executable} -m tiltmeter.jobs.app {words}"
        processes[name] = subprocess.Popen(["sh", "-c", line], env=variables, cwd=tmp_path_factory.mktemp("a"), **pipes)
    said = {name: process.communicate() for name, process in processes.items()}
    return {name: (process.returncode, *said[name]) for name, process in processes.items()}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "status", "output", "errors"),
    [
        ("closed", 0, "", CLOSED),
        ("all closed", 0, "", ""),
        ("full", 0, "", f"tiltmeter: standard output {FULL}"),
        ("both full", 0, "", ""),
        ("refused without output", 2, "", f"{REFUSED}\n"),
        ("refused without errors", 2, CLOSED.replace("output", "error"), ""),
        ("refused with full errors", 2, f"tiltmeter: standard error {FULL}", ""),
        ("refused without both", 2, "", ""),
    ],
)
def test_a_command_that_can_not_print_says_so_once_and_keeps_its_status(endings, name, status, output, errors):
    assert endings[name] == (status, output, errors)


def test_help_needs_neither_home_nor_terminal(endings):
    status, output, errors = endings["no home"]
    assert (status, errors) == (0, "")
    assert "Jobs" in output


def test_a_run_in_the_locale_c_knows_its_files_and_writes_what_the_encoding_has(tiltmeter, tmp_path, monkeypatch):
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "HOME": "/proc/none"}.items():
        monkeypatch.setenv(name, value)
    process = tiltmeter("job=prune", "store='B\N{LATIN SMALL LETTER A WITH DIAERESIS}r'")
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert r"B\xe4r/runs/prune" in output
    assert (tmp_path / "Bär/runs/prune").is_dir()


def test_a_command_that_no_hangup_should_end_goes_on(tiltmeter):
    process = tiltmeter("job=prune", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while process.poll() is None:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    assert process.wait() == 0


# --- in this process ------------------------------------------------------------------------------------------------


def test_a_full_disk_is_told_once_and_what_follows_goes_nowhere():
    lost = []
    with open("/dev/full", "w", encoding="utf-8") as full:
        stream = RedactedStream(full, lost.append)
        for _ in range(3):
            assert stream.write("line\n") == 5
            stream.flush()
    assert [error.strerror for error in lost] == ["No space left on device"]


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("ascii", b"* PSE -1.5 [-2.0, 0.3] ... B\\xe4r \\u4e2d + \\udcff"),
        ("latin-1", b"* PSE -1.5 [-2.0, 0.3] ... B\xe4r \\u4e2d + \\udcff"),
        ("utf-8", "• PSE −1.5 [−2.0, 0.3] … Bär 中 ✓ \\udcff".encode()),
    ],
)
def test_characters_that_an_encoding_lacks_are_written_in_its_own(monkeypatch, encoding, written):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(memory := io.BytesIO(), encoding))
    with standard_streams():
        print("• PSE −1.5 [−2.0, 0.3] … Bär 中 ✓ \udcff", end="")
    assert memory.getvalue() == written


@pytest.mark.parametrize(
    ("columns", "width"), [("0", 80), ("1", 40), ("39", 40), ("120", 120), ("10000", 1000), ("wide", 80), ("-5", 80)]
)
def test_a_terminal_that_is_too_narrow_to_read_or_has_no_width_gets_a_usual_one(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert terminal.console().width == width

"""A wrong word of a command line, or a broken file of settings, is refused with what was probably meant."""

import sys

import hydra
import pytest

from tiltmeter.jobs.app import main
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition

BOOTSTRAP = ["job=bootstrap", "wordset=[]", "wordset/gender=[english]"]


@pytest.fixture
def confined(hydra_restored):
    confine_composition()


@pytest.fixture
def refused(confined):
    """What the command says of words that it must refuse."""

    def message(*words: str) -> str:
        with (
            hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"),
            pytest.raises(ConfigError) as refusal,
        ):
            build(hydra.compose("tiltmeter", [*words]), words)
        return str(refusal.value)

    return message


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ("{a: ", "}"), ("${", "}"), ("int(", ")")])
def test_a_word_is_not_nested_without_end(refused, start, end):
    said = refused("job=association", f"tests={start * 1000}1{end * 1000}")
    assert said == "tests: is nested more than 50 levels deep"


def test_a_key_in_a_file_is_refused_like_one_of_the_command_line(refused, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/mine.yaml").write_text(
        "# @package corpus.mine\nname: mine\nlangage: en\nlanguage: en\npath: x\n"
    )
    said = refused(*BOOTSTRAP, "corpus=mine", f"hydra.searchpath=[file://{tmp_path}]")
    assert said == "corpus.mine.langage=en: there is no such setting; did you mean corpus.mine.language?"


@pytest.mark.parametrize("defaults", ["", "defaults: [/slices@_here_, _self_]\n", "defaults: [/corpora@_here_]\n"])
def test_a_corpus_of_one_s_own_has_the_settings_of_all(confined, tmp_path, defaults):
    (tmp_path / "corpus").mkdir()
    text = f"# @package corpus.wiki\n{defaults}name: wiki\nlanguage: en\npath: x\nformat: jsonl\n"
    (tmp_path / "corpus/wiki.yaml").write_text(text)
    words = [*BOOTSTRAP, "corpus=wiki", "corpus.wiki.slices=decade", "corpus.wiki.slice_values=[1990s]"]
    words += ["corpus.wiki.download=true", f"hydra.searchpath=[file://{tmp_path}]"]
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        [corpus] = build(hydra.compose("tiltmeter", words), words).corpora
    assert (corpus.slices, corpus.slice_values, corpus.format) == ("decade", ("1990s",), "jsonl")
    assert corpus.download


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
def test_a_broken_file_of_settings_is_named_with_its_place(confined, monkeypatch, capfd, tmp_path, content, message):
    (tmp_path / "mine/corpus").mkdir(parents=True)
    (tmp_path / "mine/corpus/mine.yaml").write_bytes(content)
    monkeypatch.setattr(
        sys, "argv", ["tiltmeter", "--config-dir", str(tmp_path / "mine"), "job=bootstrap", "corpus=mine"]
    )
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"tiltmeter: {tmp_path}/mine/corpus/mine.yaml: {message}"), said
    assert "Traceback" not in said

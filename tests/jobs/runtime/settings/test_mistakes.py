"""A wrong word of a command line, or a broken file of settings, is refused with what was probably meant."""

import re
import sys

import hydra
import pytest

from tiltmeter.jobs.app import main
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition

PAIRS = ["job=entity_resolution", "pairs=x.csv"]
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["job=association", "embedding=file", "embedding.path=x", "embedding.num_starts=2"],
            "is a setting of embedding=fasttext, glove, replicas and word2vec, not of what is chosen",
        ),
        (
            ["job=association", "embedding=encoder", "embedding.model=x", "embedding.num_starts=2"],
            "is a setting of embedding=fasttext, glove, replicas and word2vec, not of what is chosen",
        ),
        # a key
        ([*BOOTSTRAP, "embedding.num_replica=4"], "there is no such setting; did you mean embedding.num_replicas?"),
        ([*BOOTSTRAP, "+embedding.num_replica=4"], "there is no such setting; did you mean embedding.num_replicas?"),
        ([*BOOTSTRAP, "embedding.trainer.epoch=4"], "there is no such setting; did you mean embedding.trainer.epochs?"),
        ([*BOOTSTRAP, "embeding.num_replicas=4"], "there is no such setting; did you mean embedding.num_replicas?"),
        ([*BOOTSTRAP, "num_replicas=4"], "there is no such setting; did you mean embedding.num_replicas?"),
        ([*PAIRS, "time_limit=2", "sed=4"], "there is no such setting; did you mean seed?"),
        ([*PAIRS, "corpu=enwiki"], "there is no such setting; did you mean corpus?"),
        ([*PAIRS, "seed.x=4"], "there is no such setting; did you mean seed?"),
        ([*PAIRS, "~sead"], "there is no such setting; did you mean seed?"),
        (["job=prune", "job.qqq=4"], "there is no such setting; job has name, keep, forget and remove"),
        # of another job, or another choice
        ([*PAIRS, "job.keep=4"], "is a setting of job=prune, not of job=entity_resolution"),
        (["job=prune", "pairs=x.csv"], "is a setting of job=entity_resolution, not of job=prune"),
        (["job=prune", "+pairs=x.csv"], "is a setting of job=entity_resolution, not of job=prune"),
        (
            ["job=compare", "corpus=enwiki"],
            "is a setting of job=association, bootstrap, gender_adversary, gender_survey, psychophysics",
        ),
        (
            ["job=compare", "embedding.path=x"],
            "is a setting of job=association, bootstrap, gender_adversary, gender_survey, private_vectors",
        ),
        ([*BOOTSTRAP, "embedding.allow_pickle=true"], "is a setting of embedding=file, not of what is chosen"),
        ([*PAIRS, "mentions.mean=1"], "is a setting of +mentions=study, not of what is chosen"),
        ([*PAIRS, "records=csv"], "is added with a plus: +records=csv"),
        (["job=privacy_metrics", "data.path=x", "spoken@data=muse"], "is added with a plus: +spoken@data=muse"),
        (
            ["job=privacy_metrics", "data.path=x", "explanation_words.swaps=[[he,she]]"],
            "must be values by their names, such as pronouns and nouns; set explanation_words.swaps.<name>=<value>",
        ),
        # a choice
        (["job=surveyy"], "there is no such job; did you mean survey? Choose one of association, bootstrap"),
        (["job=qqq"], "there is no such job; choose one of association, bootstrap"),
        (
            ["job=bootstrap", "embedding=glov"],
            "there is no such choice; did you mean glove? Choose one of bert_cls, encoder",
        ),
        (["job=bootstrap", "wordset/gender=qq"], "there is no such choice; choose one of arabic, chinese"),
        (["job=bootstrap", "embedding=3"], "is the name of no choice; choose one of bert_cls, encoder"),
        (["job=bootstrap", "embedding=null"], "is the name of no choice; choose one of bert_cls, encoder"),
        ([*PAIRS, "job.name=survey"], "is the name of what was chosen; choose a job with job=<name>"),
        (["job=[prune,compare]"], "must be one job; job=overnight runs several, one after the other"),
        (["job=prune", "cluster={num_cpu: 1}"], "there is no such setting; did you mean cluster.num_cpus?"),
        # how it is written
        ([*PAIRS, "seed"], "a setting is written seed=<value>"),
        (
            [*PAIRS, "seed=1,2"],
            "has several values: with --multirun, there is a run for each; a list is written seed=[1,",
        ),
    ],
)
def test_a_wrong_word_is_named_with_what_was_meant(refused, words, message):
    said = refused(*words)
    assert re.search(rf"^{re.escape(words[-1].lstrip('+'))}: {re.escape(message)}", said.lstrip("+"), re.MULTILINE), (
        said
    )


@pytest.mark.parametrize("word", ["pairs=[a", "pairs='a", "pairs=a=b", "pairs={a"])
def test_a_word_that_cannot_be_read_is_shown_with_its_quotes(refused, word):
    said = refused("job=entity_resolution", word)
    assert said.startswith(f"{word} is no setting as a command line writes it (")
    assert said.endswith("""is quoted twice: "pairs='<value>'\"""")


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ("{a: ", "}"), ("${", "}"), ("int(", ")")])
def test_a_word_is_not_nested_without_end(refused, start, end):
    said = refused("job=association", f"tests={start * 1000}1{end * 1000}")
    assert said == "tests: is nested more than 50 levels deep"


def test_brackets_within_quotes_are_none(refused):
    assert refused(*PAIRS, f"gold='{'[' * 60}'", "sed=4").startswith("sed=4: there is no such setting")


def test_a_value_that_stands_for_itself_is_named(refused):
    assert refused(*PAIRS, "series=${series}") == "series: Recursive interpolation detected"


def test_an_item_of_a_choice_is_refused_alike(refused):
    assert refused("job=bootstrap", "corpus=[enwiki,dewik]").startswith(
        "corpus=dewik: there is no such choice; did you mean dewiki? Choose one of arwiki, dewiki, enwiki"
    )


def test_what_is_chosen_already_is_not_added(refused):
    assert refused("job=bootstrap", "+corpus=enwiki") == (
        "+corpus: is chosen already; leave out the plus: corpus=<name>"
    )


def test_all_wrong_keys_are_named_at_once(refused):
    said = refused(*BOOTSTRAP, "embedding.trainer.epoch=1", "sed=4")
    assert [line.partition("=")[0] for line in said.splitlines()] == ["embedding.trainer.epoch", "sed"]


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

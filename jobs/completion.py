"""``tiltmeter completion bash|zsh``: what a shell runs when somebody presses its key, and what it is answered.

Nothing is composed and no job is loaded: the shell waits. So the values that settings allow stand in a file, which a
test compares with the types.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.settings.files import SettingsFolders
from tiltmeter.jobs.runtime.settings.known import COMMANDS
from tiltmeter.storage.errors import Refusal, meant

_OPTIONS = ("--help", "--cfg", "--multirun", "--config-dir", "--config-name", "--version")
_RUNS, _RECORD, _MOST_RUNS, _MOST_LEVELS = "run director", "run.json", 100, 4
"""What comments say of settings that name a run, and what tells a run's directory."""

_SHELLS = ("bash", "zsh")


def completion(words: Sequence[str]) -> str:
    """What the command prints: the script of a shell, or for that, with the line so far, how its last word may go on.

    Args:
        words: of the command line, after ``completion``.

    Raises:
        Refusal: for another shell.
    """
    match words:
        case [shell] if shell in _SHELLS:
            return _data(f"completion.{shell}").rstrip()
        case ["words", line]:
            return "\n".join(candidates([*line.split()[1:], *([""] if line[-1:].isspace() else [])]))
    shell = " ".join(words)
    raise Refusal(
        f"tiltmeter completion {shell}: must be bash or zsh{meant(shell, _SHELLS)}; set it up with "
        'eval "$(tiltmeter completion bash)"'
    )


def candidates(words: Sequence[str]) -> list[str]:
    """How the last of the words behind ``tiltmeter`` may go on, up to the next dot of a setting; sorted."""
    *before, word = words or [""]
    if before[:1] == ["completion"]:
        known: list[str] = [*_SHELLS]
    elif before and before[0] in COMMANDS:
        known = _runs() if before[0] in ("runs", "lookup") else []
    else:
        known = _settings(before, word)
    return sorted({name for name in known if name.startswith(word)})


def _settings(before: Sequence[str], word: str) -> list[str]:
    config_dirs = [other for option, other in pairwise(before) if option == "--config-dir"]
    folders = catalogue.settings_folders(config_dirs)
    jobs = folders.options("job")
    named = [name.removeprefix("job=") for name in before if name in jobs or name.startswith("job=")]
    if named[:1] == ["plan"]:
        named = [*named, *(name.removeprefix("job.of=") for name in before if name.startswith("job.of="))]
    key, equals, value = word.partition("=")
    job, chosen = named[-1] if named else "survey", _chosen(before, folders)
    if equals:
        return [f"{key}={option}" for option in _values(job, key, value, chosen, folders)]
    names = jobs if named == ["plan"] else [] if named else [*jobs, *COMMANDS]
    keys = [key for key in folders.of_job(job, chosen, word) if not key.startswith("hydra")]
    keys = [f"{key}=" for key in keys if not any(other.startswith(f"{key}.") for other in keys)]
    parts = [key if (end := key.find(".", len(word))) < 0 else key[: end + 1] for key in keys]
    return [*names, *(f"{group}=" for group in folders.groups), *parts, *_OPTIONS]


def _chosen(before: Sequence[str], folders: SettingsFolders) -> dict[str, list[str]]:
    parts = (other.lstrip("+").partition("=") for other in before)
    return {key: value.strip("[]").split(",") for key, _, value in parts if key in folders.groups}


def _values(
    job: str, key: str, value: str, chosen: Mapping[str, Sequence[str]], folders: SettingsFolders
) -> Iterator[str]:
    """Of a choice, of what a type allows, and of directories of runs; in a list, of its last item."""
    head = value[: max(value.rfind(","), value.rfind("[")) + 1]
    group = key.lstrip("+").partition("@")[0]
    setting = folders.gathered(f"job/{job}", chosen).settings.get(key)
    if key == "job.of" or group in folders.groups:
        known = folders.options("job" if key == "job.of" else group)
    elif setting and setting.value in ("true", "false"):
        known = ["true", "false"]
    elif setting and _RUNS in setting.meaning:
        known = _runs()
    else:
        known = allowed().get(job, {}).get(key, [])
    yield from (f"{head}{name}" for name in known)


@cache
def allowed() -> dict[str, dict[str, list[str]]]:
    """The values of settings that have a few, by job and key."""
    jobs = json.loads(_data("allowed_values.json"))
    return {job: {key: values.split() for key, values in keys.items()} for job, keys in jobs.items()}


def _data(name: str) -> str:
    return files("tiltmeter.jobs").joinpath(name).read_text(encoding="utf-8")


def _runs() -> list[str]:
    """Directories of runs below this one, of which a store has them four levels deep."""
    patterns = ["/".join(["*"] * level) for level in range(1, _MOST_LEVELS + 1)]
    places = (path.parent for pattern in patterns for path in Path().glob(f"{pattern}/{_RECORD}"))
    return [str(path) for path in islice(places, _MOST_RUNS)]

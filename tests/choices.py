"""The recorder of settings: which choices of all settings the runs of the tests used, and which none did.

A choice is a member of an enumeration (in a list, too), true or false, null or a value, or a kind of record of several.
A setting that several jobs share is one, by the record that declares it. A run counts that succeeded, whatever process
it was in: their records lie in the folder of temporary files. What none used fails the whole suite when it has passed.

Of parts of the suite, ``TILTMETER_CHOICES=<file> pytest ...`` appends what its runs used to a file, and
``python -m tests.choices <file> ...`` says what such files lack.
"""

import dataclasses
import inspect
import json
import os
import shutil
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
import yaml

from tests.fixtures.postgres import program

_WITH_DEVICES = (
    "jobs.adversary.config.MaskedConfig",
    "jobs.adversary.victims.TransformerVictim",
    "jobs.classifiers.config.TrainedModels",
    "jobs.classifiers.influence.config.Teachers",
    "jobs.embedding.config.EmbeddingConfig",
    "jobs.embedding.encoders.settings.Encoders",
    "jobs.language_models.config.LanguageModels",
    "jobs.sentiment.rating.systems.PackageSystem",
    "jobs.sentiment.rating.systems.TransformerSystem",
    "jobs.sentiment.translation.round_trips.MarianTranslator",
)
_VICTIM, _ENCODER = "jobs.adversary.victims.SentimentVictim.system", "jobs.relations.config.Encoder"
_TRANSFORMER = "tests/jobs/relations/test_relation_rules.py::test_a_transformer_reads_in_place_of_the_bilstm"
_INFERENCE, _PLANNED = "jobs.upkeep.compare.systems.Inference", (("items", "int"), ("wanted", "float"))
_EXPORTS, _TRACKERS = "jobs.runtime.config.Exports", ("mlflow", "wandb")
ELSEWHERE = {
    **{f'{record}.device="cuda"': "is refused without a GPU" for record in _WITH_DEVICES},
    **{f'{_VICTIM}="{system}"': "is refused: it scores no new text" for system in ("AnnotatorsSystem", "ScoresSystem")},
    f'{_VICTIM}="PackageSystem"': "is refused: victims of other packages are not taken yet",
    **{f'{_ENCODER}.{setting}="str"': _TRANSFORMER for setting in ("checkpoint", "revision")},
    **{f'{_INFERENCE}.{name}="{kind}"': "tests/jobs/upkeep/plan/test_items.py, of plans" for name, kind in _PLANNED},
    **{f'{_EXPORTS}.{name}="str"': "tests/jobs/report/test_trackers.py, with its package" for name in _TRACKERS},
}
"""Choices that no quick test runs, with the slow test that does, or why none can."""

VARIABLE = "TILTMETER_CHOICES"


def arms(kind: Any) -> tuple[Any, ...]:
    """What a type may be, without annotations; what a validator after it makes another arm of is only a spelling."""
    if typing.get_origin(kind) is Annotated:
        inner, *notes = typing.get_args(kind)
        hints = [typing.get_type_hints(note.func) for note in notes if isinstance(note, pydantic.AfterValidator)]
        made = {_plain(arm) for hint in hints if "return" in hint for arm in arms(hint["return"])}
        return tuple(arm for arm in arms(inner) if _plain(arm) in made) or arms(inner)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return tuple(arm for member in typing.get_args(kind) for arm in arms(member))
    return (kind,)


def _plain(arm: Any) -> Any:
    return typing.get_origin(arm) or arm


def _fields(kind: Any) -> Iterator[tuple[str, str, Any]]:
    """Of a record: its settings with the record that declares each, and their types."""
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        owner = next(base for base in kind.__mro__ if field.name in inspect.get_annotations(base))
        setting = f"{owner.__module__}.{owner.__qualname__}.{field.name}".removeprefix("tiltmeter.")
        yield field.name, setting, hints[field.name]


def _is(kind: Any, base: type) -> bool:
    origin = typing.get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, base)


def _items(kind: Any) -> list[Any]:
    return [item for item in typing.get_args(kind)[_is(kind, Mapping) :] if item is not ...]


def _named(arm: Any, is_alone: bool) -> list[Any]:
    """The choices that a member of a union is, or a type alone; as they are in YAML."""
    if typing.get_origin(arm) is Literal:
        values = list(typing.get_args(arm))
        return values if len(values) > 1 or not is_alone else []
    if arm is bool:
        return [True, False]
    return [] if is_alone else [None if arm is types.NoneType else _plain(arm).__name__]


@cache
def choices(kind: Any, setting: str = "") -> frozenset[str]:
    """All choices that are within a type."""
    kinds, every = arms(kind), set[str]()
    for arm in kinds:
        every.update(f"{setting}={json.dumps(value)}" for value in _named(arm, len(kinds) == 1))
        if dataclasses.is_dataclass(arm):
            every.update(*(choices(inner, name) for _, name, inner in _fields(arm)))
        elif _is(arm, Mapping) or _is(arm, Sequence):
            every.update(*(choices(item, setting) for item in _items(arm)))
    return frozenset(every)


def _fits(arm: Any, value: Any) -> bool:
    """Whether a recorded value is of a type."""
    if typing.get_origin(arm) is Literal:
        return any(value == one and type(value) is type(one) for one in typing.get_args(arm))
    if dataclasses.is_dataclass(arm):
        names = {name: kind for name, _, kind in _fields(arm)}
        kinds = {name: kind for name, kind in names.items() if typing.get_origin(kind) is Literal}
        return (
            isinstance(value, dict) and value.keys() == names.keys() and all(_fits(kinds[k], value[k]) for k in kinds)
        )
    if _is(arm, Mapping) or _is(arm, Sequence):
        return isinstance(value, dict if _is(arm, Mapping) else list)
    if arm is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    return type(value) is arm


def used(kind: Any, value: Any, setting: str = "") -> Iterator[str]:
    """The choices within a type that a recorded value made."""
    kinds = arms(kind)
    arm = next((arm for arm in kinds if _fits(arm, value)), None)
    if arm is None or not choices(kind, setting):
        return
    if names := _named(arm, len(kinds) == 1):
        yield f"{setting}={json.dumps(value if value in names else names[0])}"
    if dataclasses.is_dataclass(arm):
        for name, inner_setting, inner in _fields(arm):
            yield from used(inner, value[name], inner_setting)
    elif _is(arm, Mapping) or _is(arm, Sequence):
        items, values = _items(arm), list(value.values() if isinstance(value, dict) else value)
        for item, each in zip(items * len(values) if len(items) == 1 else items, values, strict=False):
            yield from used(item, each, setting)


def settings_of_runs(folder: Path) -> Iterator[tuple[str, Any]]:
    """Of the runs below a folder that succeeded: their jobs and settings, as the registers of stores have them, and of
    jobs that enter themselves in none, their directories (of all runs, these take long to read).
    """
    from tiltmeter.jobs import catalogue

    for path in (Path(place) / "run.json" for place, _, files in os.walk(folder) if "run.json" in files):
        if not path.is_file():
            continue  # a test's pipe, at which a reader would wait for ever
        try:
            record = json.loads(path.read_bytes())
            if record["status"] == "succeeded" and "settings" in record:
                yield record["settings"]["job"]["name"], record["settings"]
            elif record["status"] == "succeeded" and not catalogue.job(record["job"]).has_units:
                yield record["job"], yaml.load(path.with_name("config.yaml").read_bytes(), yaml.CSafeLoader)
        except (KeyError, OSError, RecursionError, TypeError, ValueError, yaml.YAMLError):
            continue  # of another kind, or broken on purpose


def used_below(folder: Path) -> set[str]:
    """The choices that the runs below a folder used."""
    from tiltmeter.jobs import catalogue

    kinds = {name: catalogue.job(name).config for name in catalogue.OURS}
    runs = ((kinds[job], settings) for job, settings in settings_of_runs(folder) if job in kinds)
    return {choice for kind, settings in runs for choice in used(kind, settings)}


def by_job() -> dict[str, frozenset[str]]:
    """All choices of all settings of each job."""
    from tiltmeter.jobs import catalogue

    return {name: choices(catalogue.job(name).config) for name in sorted(catalogue.OURS)}


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    config = session.config
    is_whole = config.args_source is not config.ArgsSource.ARGS and config.option.markexpr in ("", "not slow")
    is_judged = is_whole and exitstatus == 0 and not (config.option.keyword or config.option.collectonly)
    file = os.environ.get(VARIABLE)
    if hasattr(config, "workerinput") or not (is_judged or file):
        return
    recorded = used_below(config._tmp_path_factory.getbasetemp())  # those of other processes are within
    if file:
        with Path(file).open("a") as lines:
            lines.write("".join(f"{choice}\n" for choice in sorted(recorded)))
    if is_judged and has_all_parts():
        unused = frozenset().union(*by_job().values()) - recorded - ELSEWHERE.keys()
        config.stash[WRONG] = [f"no run uses it: {choice}" for choice in sorted(unused)]
        if config.stash[WRONG]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


WRONG = pytest.StashKey[list[str]]()


def has_all_parts() -> bool:
    """Whether no test was skipped as the development data, a translator, a browser or a server is not there."""
    data = Path(os.environ.get("TILTMETER_DATA", Path(__file__).parents[2] / "shared/data"))
    return data.exists() and all(map(shutil.which, ("apertium", "chromium"))) and program("initdb") is not None


def pytest_terminal_summary(terminalreporter, config):
    if wrong := config.stash.get(WRONG, []):
        terminalreporter.section("choices of settings")
        terminalreporter.write("".join(f"{line}\n" for line in wrong))


def main(files: Sequence[str]) -> int:
    """Prints what files of used choices have of all, job by job, and what they lack; 1 if they lack any."""
    recorded = {line for file in files for line in Path(file).read_text().splitlines()} | ELSEWHERE.keys()
    for job, every in by_job().items():
        print(f"{job}: {len(every)} choices, {len(every & recorded)} used, {len(every - recorded)} unused")
    owners = Counter(choice for every in by_job().values() for choice in every)
    unused = sorted(owners.keys() - recorded)
    print(f"all: {len(owners)} choices, {len(owners) - len(unused)} used, {len(unused)} unused", *unused, sep="\n")
    return int(bool(unused))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

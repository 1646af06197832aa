"""What goes wrong by the user's doing is a refusal, and the command ends with its status."""

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tiltmeter
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs import app
from tiltmeter.jobs.upkeep.overnight.outcome import JobsFailed
from tiltmeter.storage.errors import InputError, LimitExceeded, Refusal, StorageError

NAMES = [module.name for module in pkgutil.walk_packages(tiltmeter.__path__, "tiltmeter.")]
MODULES = [importlib.import_module(name) for name in NAMES]


def exceptions() -> list[type[Exception]]:
    """Every exception class that the package defines."""
    classes = (kind for module in MODULES for _, kind in inspect.getmembers(module, inspect.isclass))
    ours = {kind for kind in classes if issubclass(kind, Exception) and kind.__module__.startswith("tiltmeter.")}
    return sorted(ours, key=lambda kind: kind.__qualname__)


def answered() -> Iterator[str]:
    """The names of the exceptions for which some module has an answer of its own."""
    for module in MODULES:
        for node in ast.walk(ast.parse(Path(module.__file__).read_bytes())):
            if isinstance(node, ast.ExceptHandler) and node.type:
                yield from (name.id for name in ast.walk(node.type) if isinstance(name, ast.Name))


REFUSALS = [kind for kind in exceptions() if issubclass(kind, Refusal)]


def test_an_exception_that_nobody_answers_is_a_refusal_or_a_mistake_of_ours():
    names = {*answered()} & {kind.__name__ for kind in exceptions()}
    unanswered = [kind for kind in exceptions() if not names & {base.__name__ for base in kind.__mro__}]
    assert [kind for kind in unanswered if not issubclass(kind, Refusal | TypeError)] == []


def test_what_is_wrong_with_values_and_files_is_a_refusal_in_storage_and_cluster():
    rooms = ("tiltmeter.storage.", "tiltmeter.cluster.")
    kinds = [kind for kind in exceptions() if kind.__module__.startswith(rooms)]
    assert InputError in kinds
    assert [kind for kind in kinds if issubclass(kind, ValueError | OSError) and kind not in REFUSALS] == []


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_refusal_ends_the_command_with_its_message_and_status_2(kind, capsys):
    with pytest.raises(SystemExit) as ended, app.exit_status():
        raise kind("store=nowhere: set store=<path>")
    assert ended.value.code == app.EXIT_REFUSED == 2
    assert capsys.readouterr().err == "tiltmeter: store=nowhere: set store=<path>\n"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnitsFailed([]), 1),
        (JobsFailed("one of two jobs"), 1),
        (LimitExceeded("one gate"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_failures_and_interrupts_have_statuses_of_their_own(error, status):
    with pytest.raises(SystemExit) as ended, app.exit_status():
        raise error
    assert ended.value.code == status


@pytest.mark.parametrize("error", [ValueError("2 vectors"), KeyError("word"), OSError("no space")])
def test_a_mistake_of_ours_is_no_refusal(error):
    with pytest.raises(type(error)), app.exit_status():
        raise error


def test_refusals_are_still_the_errors_that_python_has_for_them():
    assert issubclass(InputError, ValueError)
    assert issubclass(StorageError, OSError)

"""The command `tiltmeter`: say what it can do, or compose the config, check it, run the job, say what came of it."""

import gc
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from tiltmeter.cluster import interrupts
from tiltmeter.jobs.catalogue import settings_folders, with_job
from tiltmeter.jobs.runtime.settings.known import COMMANDS
from tiltmeter.jobs.streams import standard_streams
from tiltmeter.storage.errors import LimitExceeded, Refusal, WorkFailed, meant_path, nearest

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_LIMIT = 3
EXIT_INTERRUPTED = 130


@contextmanager
def exit_status() -> Iterator[None]:
    """End the process as what happens inside ends: with a message, and a status that tells failures from refusals.

    Raises:
        SystemExit: for units or jobs that failed, for what the user can fix, for a limit that results exceed, and when
            the user or a signal interrupts.
    """
    try:
        with interrupts.prevailing():
            yield
    except WorkFailed as error:
        _stop(EXIT_FAILED, str(error))
    except LimitExceeded as error:
        _stop(EXIT_LIMIT, str(error))
    except Refusal as error:
        _stop(EXIT_REFUSED, str(error))
    except KeyboardInterrupt as error:
        status = error.exit_status if isinstance(error, interrupts.Interrupted) else EXIT_INTERRUPTED
        _stop(status, f"{str(error) or 'interrupted'}; the same command goes on where this run stopped")


def _stop(status: int, message: str) -> None:
    print(f"tiltmeter: {message}", file=sys.stderr)
    sys.exit(status)


def arranged(words: Sequence[str]) -> tuple[Namespace, list[str]]:
    """What a command line says, and its words with the settings before the options, as Hydra reads them.

    >>> arranged(["job=compare", "--cfg", "job", "runs=[a,b]"])[1]
    ['job=compare', 'runs=[a,b]', '--cfg', 'job']

    Raises:
        Refusal: for an option that there is not.
    """
    # It takes longer to load than the interpreter, and a signal has to be answered from the start.
    from hydra._internal.utils import get_args_parser

    parser = ArgumentParser("tiltmeter", parents=[get_args_parser()], add_help=False, conflict_handler="resolve")
    parser.add_argument("--version", action="version", version=f"tiltmeter {_version()}")
    options, others = parser.parse_known_args(words)
    if unknown := next((word for word in others if word.startswith("-")), None):
        instead = _instead(unknown, [*parser._option_string_actions])
        raise Refusal(f"{unknown}: there is no such option{instead}; tiltmeter --help has both")
    if options.config_dir and not os.path.isdir(options.config_dir):
        hint = meant_path(options.config_dir)
        raise Refusal(f"--config-dir {options.config_dir}: there is no such folder{hint}")
    settings = [*options.overrides, *others]
    rest = list(words)
    for word in settings:
        rest.remove(word)
    return options, [*(settings if settings and settings[0] in COMMANDS else with_job(settings)), *rest]


def _instead(word: str, options: Sequence[str]) -> str:
    """What was meant by an option that there is not: another one, or a setting."""
    key, _, value = word.lstrip("-").partition("=")
    names = {option.lstrip("-"): option for option in options if option.startswith("--")}
    settings = settings_folders().of_job()
    name = nearest(key, [*settings, *names])
    if name in settings or "=" in word:
        return f"; a setting is written {name if name in settings else key}={value or '<value>'}"
    return f"; did you mean {names[name]}?" if name else ""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tiltmeter")
    except PackageNotFoundError:
        return "of a checkout"


def main() -> None:
    """Entry point of the console command."""
    _in_utf8()
    with standard_streams(), interrupts.answered(), exit_status():
        if sys.argv[1:2] == ["completion"]:
            # A shell waits for it at every press of its key: no option is read.
            return _answer("completion", sys.argv[2:])
        options, sys.argv[1:] = arranged(sys.argv[1:])
        if options.help:
            return _help(options)
        if sys.argv[1:] and sys.argv[1] in COMMANDS:
            return _answer(sys.argv[1], sys.argv[2:])
        return _run(is_seen=sys.stdout.isatty() and not (options.cfg or options.info or options.shell_completion))


def _in_utf8() -> None:
    """Start again where names of files are in another encoding, such as in the locale C without Python's UTF-8 mode;
    what is printed stays in it.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.environ.setdefault("PYTHONIOENCODING", getattr(sys.stdout, "encoding", "utf-8"))
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - itself


def _help(options: Namespace) -> None:
    from tiltmeter.jobs.help import print_help

    print_help(sys.argv[1:], options.config_dir)


def _answer(command: str, words: Sequence[str]) -> None:
    module, _, name = COMMANDS[command].partition(":")
    print(getattr(import_module(module), name)(words))


def _run(*, is_seen: bool) -> None:
    if is_seen:
        print("tiltmeter: starting", flush=True)
    # All libraries together have a million objects, which the collector would look through again and again.
    gc.set_threshold(50_000, 20, 100)
    # Whoever asks for help does not wait for them.
    from tiltmeter.cluster.environment import kernels_kept

    with kernels_kept():
        from tiltmeter.jobs.command import run

        run(exit_status)


if __name__ == "__main__":
    main()

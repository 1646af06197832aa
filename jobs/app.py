"""The command `tiltmeter`: say what it can do, or compose the config, check it, run the job, say what came of it."""

import gc
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import PackageNotFoundError, version

from hydra._internal.utils import get_args_parser

from tiltmeter.jobs.help import print_help
from tiltmeter.jobs.runtime.redaction import RedactedStream
from tiltmeter.storage.errors import LimitExceeded, Refusal, WorkFailed

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_LIMIT = 3
EXIT_INTERRUPTED = 130


@contextmanager
def exit_status() -> Iterator[None]:
    """End the process as what happens inside ends: with a message, and a status that tells failures from refusals.

    Raises:
        SystemExit: for units or jobs that failed, for what the user can fix, for a limit that results exceed, and when
            the user interrupts.
    """
    try:
        yield
    except WorkFailed as error:
        _stop(EXIT_FAILED, str(error))
    except LimitExceeded as error:
        _stop(EXIT_LIMIT, str(error))
    except Refusal as error:
        _stop(EXIT_REFUSED, str(error))
    except KeyboardInterrupt:
        _stop(EXIT_INTERRUPTED, "interrupted; the same command goes on where this run stopped")


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
    parser = ArgumentParser("tiltmeter", parents=[get_args_parser()], add_help=False, conflict_handler="resolve")
    parser.add_argument("--version", action="version", version=f"tiltmeter {_version()}")
    options, others = parser.parse_known_args(words)
    if unknown := next((word for word in others if word.startswith("-")), None):
        written = f"; a setting is written {unknown.lstrip('-')}" if "=" in unknown else ""
        raise Refusal(f"{unknown}: there is no such option{written}; tiltmeter --help has both")
    settings = [*options.overrides, *others]
    return options, [*settings, *(word for word in words if word not in settings)]


def _version() -> str:
    try:
        return version("tiltmeter")
    except PackageNotFoundError:
        return "of a checkout"


def main() -> None:
    """Entry point of the console command."""
    with redirect_stdout(RedactedStream(sys.stdout)), redirect_stderr(RedactedStream(sys.stderr)), exit_status():
        options, sys.argv[1:] = arranged(sys.argv[1:])
        if options.help:
            _help(options)
        else:
            _run()


def _help(options: Namespace) -> None:
    try:
        print_help(sys.argv[1:], options.config_dir)
        sys.stdout.flush()
    except BrokenPipeError:
        # Its reader, such as head, has seen enough; what is left goes nowhere when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run() -> None:
    # All libraries together have a million objects, which the collector would look through again and again.
    gc.set_threshold(50_000, 20, 100)
    # Whoever asks for help does not wait for them.
    from tiltmeter.jobs.command import run

    run(exit_status)


if __name__ == "__main__":
    main()

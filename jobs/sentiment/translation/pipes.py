"""Pipes of programs that stay alive and answer texts one by one."""

import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import IO, cast

from tiltmeter.jobs.runtime.subprocesses import environment

_READ_BYTES = 1 << 16
_SECONDS_TO_END = 5.0


class PipeFailure(Exception):
    """What became of a pipe that did not answer."""


class TextPipe:
    """Programs as a shell runs them, until they are stopped or the process that started them ends, however it ends."""

    def __init__(self, programs: Sequence[str], arguments: Sequence[str], end: bytes, timeout: float) -> None:
        """Start them.

        Args:
            programs: as they are called in a shell.
            arguments: what their calls name ``$1`` and so on.
            end: what ends a text, and its answer.
            timeout: seconds after which programs that neither read nor write count as hung.
        """
        self._end, self._timeout = end, timeout
        pipe = " | ".join([f"{programs[0]} <&0", *programs[1:]])
        # The shell closes its own ends, so that the output ends with the last program even if others go on.
        command = ["bash", "-c", f"set -o pipefail; {pipe} & exec <&- >&-; wait %1", "bash", *arguments]
        with ExitStack() as files:
            self._complaints = files.enter_context(tempfile.TemporaryFile())
            # In a session of their own all can be killed at once, and Ctrl-C does not reach them.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                bufsize=0,
                start_new_session=True,
                env=environment(),
            )
            self._input = files.enter_context(cast("IO[bytes]", self._process.stdin))
            self._output = files.enter_context(cast("IO[bytes]", self._process.stdout))
            self._files = files.pop_all()
        os.set_blocking(self._input.fileno(), False)

    @property
    def has_complained(self) -> bool:
        """Whether any program has written an error or a warning."""
        return os.fstat(self._complaints.fileno()).st_size > 0

    def answers(self, texts: Sequence[bytes]) -> Iterator[bytes]:
        """Give the programs texts while taking their answers, as pipes hold little.

        Raises:
            PipeFailure: if the programs end or hang; they are stopped then.
        """
        unsent, begun, num_missing = memoryview(b"".join(text + self._end for text in texts)), b"", len(texts)
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._input, selectors.EVENT_WRITE)
            while num_missing > 0:
                ready = {key.fileobj for key, _ in selector.select(self._timeout)}
                if not ready:
                    raise self._hung()
                if self._input in ready:
                    unsent = unsent[self._write(unsent) :]
                    if not unsent:
                        selector.unregister(self._input)
                if self._output in ready:
                    *whole, begun = (begun + self._read()).split(self._end)
                    num_missing -= len(whole)
                    yield from whole

    def _write(self, unsent: memoryview) -> int:
        try:
            return os.write(self._input.fileno(), unsent)
        except BrokenPipeError:  # how the programs ended is told by their output
            return len(unsent)

    def _read(self) -> bytes:
        received = os.read(self._output.fileno(), _READ_BYTES)
        if not received:
            raise self._ended()
        return received

    def _hung(self) -> PipeFailure:
        self.stop(patience=0.0)
        return PipeFailure(f"hung for {self._timeout:g} s")

    def _ended(self) -> PipeFailure:
        complaint = self._last_complaint()
        self.stop()
        code = self._process.returncode
        number = -code if code < 0 else code - 128  # the second is how a shell tells it of programs that it ran
        if number in signal.valid_signals():
            return PipeFailure(f"was ended by {signal.Signals(number).name}")
        return PipeFailure(f"ended with status {code} ({complaint})")

    def _last_complaint(self) -> str:
        self._complaints.seek(0)
        return self._complaints.read().decode(errors="replace").strip().rpartition("\n")[2] or "no message"

    def stop(self, patience: float = _SECONDS_TO_END) -> None:
        """Close their input, which ends them, and kill what is still there after some seconds."""
        if self._input.closed:
            return
        self._files.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

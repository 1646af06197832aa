"""A connection to an S3 server that can be made bad."""

import subprocess
import sys
from pathlib import Path

from tests.fixtures.buckets import free_port, wait_for


class Proxy:
    """The connection, which is a process: stopped, nobody answers at its port."""

    def __init__(self, bucket, folder):
        self.port, self.bucket = free_port(), bucket
        self._mode_file = folder / "mode"
        program = Path(__file__).with_name("proxy.py")
        self._command = [sys.executable, program, str(self.port), str(bucket.port), self._mode_file]
        self.mode("pass")
        self.start()

    def mode(self, word):
        """Make it ``pass``, ``slow``, ``errors`` or ``cut``."""
        self._mode_file.write_text(word)

    def start(self):
        self.process = subprocess.Popen(self._command)
        wait_for(self.port, self.process)

    def stop(self):
        self.process.kill()
        self.process.wait()

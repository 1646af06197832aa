"""An S3 server process, and a connection to it that can be made bad."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3

_KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}


class Proxy:
    """The connection, which is a process: stopped, nobody answers at its port."""

    def __init__(self, port, folder):
        self.port = free_port()
        self._mode_file = folder / "mode"
        program = Path(__file__).with_name("proxy.py")
        self._command = [sys.executable, program, str(self.port), str(port), self._mode_file]
        self.mode("pass")
        self.start()

    def mode(self, word):
        """Make it ``pass``, ``slow``, ``errors`` or ``cut``."""
        self._mode_file.write_text(word)

    def start(self):
        self.process = subprocess.Popen(self._command)
        wait_for(self.port)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Bucket:
    """A bucket on a server of its own."""

    def __init__(self, folder):
        self.port = free_port()
        command = [sys.executable, "-m", "moto.server", "--port", str(self.port)]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port)
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{self.port}", region_name="us-east-1", **_KEYS)
        client.create_bucket(Bucket="tilt")
        self.proxy = Proxy(self.port, folder)

    def uri(self, folder, port):
        return f"s3://key:secret@tilt/{folder}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"

    def shutdown(self):
        self.proxy.stop()
        self._server.kill()
        self._server.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def wait_for(port):
    with socket.socket() as knocking:
        while knocking.connect_ex(("127.0.0.1", port)):
            time.sleep(0.05)

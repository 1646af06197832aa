"""A Ray cluster whose nodes have networks of their own, as machines have, which can be cut off one by one."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.faults.machines import Workers

_NUM_NODES = 2
_SECONDS_TO_START = 60
_RAY = Path(sys.executable).with_name("ray")
_SMALL = ["--object-store-memory=80000000", "--disable-usage-stats", "--block"]

# A lost machine is given up after seconds instead of half a minute.
_HEALTH = {"period_ms": 1000, "timeout_ms": 1000, "failure_threshold": 5, "initial_delay_ms": 5000}


class NotAllowed(Exception):
    """Networks can't be made here."""


class Networked(Workers):
    """A head without CPUs in this process's own network, and two nodes with two CPUs each in others."""

    def __init__(self):
        self._name = f"tilt{os.getpid()}"
        self._prefix = f"10.213.{os.getpid() % 256}"
        self._folder = tempfile.mkdtemp(prefix="tilt", dir="/tmp")
        self._processes_by_number, self._last = {}, 1
        self.environment = Workers.environment | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.environment |= {f"RAY_health_check_{name}": str(value) for name, value in _HEALTH.items()}
        _ip("link", "add", self._name, "type", "bridge")
        _ip("addr", "add", f"{self._prefix}.1/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        with socket.create_server((f"{self._prefix}.1", 0)) as free:
            self.address = f"{self._prefix}.1:{free.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self._head = self._start(1, [], ["--head", "--num-cpus=0", f"--port={port}", f"--temp-dir={self._folder}"])
        self._wait_for_port()
        self.repair()

    def repair(self):
        """Replace the nodes that are not whole any more."""
        for number in [number for number in self._processes_by_number if not self._is_whole(number)]:
            self.remove(number)
        while len(self._processes_by_number) < _NUM_NODES:
            self._last += 1
            self._add(self._last)
        self._wait_for_raylets()

    @property
    def nodes(self):
        return list(self._processes_by_number)

    def raylet(self, number):
        return _raylet(self._processes_by_number[number])

    def remove(self, number):
        """End all processes of a node, and its network."""
        _end(self._processes_by_number.pop(number))
        _ip("netns", "del", f"{self._name}-{number}")

    def cut(self, number):
        """From now on nothing comes through to a node or from it."""
        _ip("link", "set", f"{self._name}.{number}", "down")

    def join(self, number):
        """Everything comes through again."""
        _ip("link", "set", f"{self._name}.{number}", "up")

    def shutdown(self):
        for number in self.nodes:
            self.remove(number)
        _end(self._head)
        _ip("link", "del", self._name)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _add(self, number):
        space, outer, inner = f"{self._name}-{number}", f"{self._name}.{number}", f"t{number}"
        _ip("netns", "add", space)
        _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", space)
        _ip("link", "set", outer, "master", self._name, "up")
        for words in (f"addr add {self._prefix}.{number}/24 dev {inner}", f"link set {inner} up", "link set lo up"):
            _ip("-netns", space, *words.split())
        # A machine has files of its own as well; `ip netns exec` has them mounted for the node alone.
        own_files = f'mount -t tmpfs tmpfs {self._folder} && exec "$@"'
        inside = ["ip", "netns", "exec", space, "sh", "-c", own_files, "sh"]
        options = [f"--address={self.address}", "--num-cpus=2", f"--memory={4 * 2**30}"]
        self._processes_by_number[number] = self._start(number, inside, options)

    def _start(self, number, inside, options):
        own = f"--node-ip-address={self._prefix}.{number}"
        command = [*inside, _RAY, "start", own, *options, *_SMALL]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=os.environ | self.environment, **quiet)

    def _is_whole(self, number):
        up = subprocess.run(["ip", "link", "show", f"{self._name}.{number}", "up"], capture_output=True, check=True)
        return bool(up.stdout) and _raylet(self._processes_by_number[number]) is not None

    def _wait_for_port(self):
        host, _, port = self.address.rpartition(":")
        _wait(lambda: socket.socket().connect_ex((host, int(port))) == 0)

    def _wait_for_raylets(self):
        _wait(lambda: all(map(_raylet, self._processes_by_number.values())))


def _raylet(process):
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if child.name() == "raylet":
                    return child
    return None


def _end(process):
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        for one in [*parent.children(recursive=True), parent]:
            with suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


def _wait(ready):
    deadline = time.monotonic() + _SECONDS_TO_START
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _ip(*words):
    try:
        subprocess.run(["ip", *words], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotAllowed(f"ip {' '.join(words)}: {error}") from error

"""What can happen to a run: each fault by its name."""

import errno
import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

AWAY = 30.0
SLOW = 20.0
FROZEN = 5.0
KILLED = ""
"""What a killed command says."""


def leave_it(scene):
    pass


@dataclass(frozen=True)
class Fault:
    """
    Attributes:
        strike: makes it happen to a running scene; returns when it is over.
        times: how often the suite tries it.
        says: pattern of what the command says when the fault ends it; None: it must survive.
        remedy: what to do before the command is started again.
        again: whether the command is run once more if it survived, to find what was damaged.
        num_damaged: units that are made unusable.
        num_deaths: workers that die at a unit, at most.
        store: what kind of place the store lies in: ``disk``, ``small disk`` or ``bucket``.
        cluster: ``machines``, or ``networked`` with a network for each node.
        program: what the command runs.
        at_start: whether it happens as the first worker starts, not at a random moment.
    """

    strike: Callable
    times: int
    says: str | None = None
    remedy: Callable = leave_it
    again: bool = False
    num_damaged: int = 0
    num_deaths: int = 0
    store: str = "disk"
    cluster: str = "machines"
    program: tuple[str, ...] = ("-m", "tiltmeter.jobs.app")
    at_start: bool = False


def to_worker(number):
    """Sends a signal to one that is at a unit."""
    return lambda scene: _signal(_a_busy_worker(scene), number)


def to_driver(number):
    return lambda scene: scene.process.send_signal(number)


kill_worker, kill_driver = to_worker(signal.SIGKILL), to_driver(signal.SIGKILL)


def kill_all_workers(scene):
    _a_busy_worker(scene)
    for worker in scene.machines.workers():
        _signal(worker, signal.SIGKILL)


def kill_starting_worker(scene):
    _signal(scene.rng.choice(scene.wait_for(0, scene.machines.workers)), signal.SIGKILL)


def freeze_worker(scene):
    _freeze(_a_busy_worker(scene), FROZEN)


def kill_raylet(scene):
    scene.machines.raylet(scene.rng.choice(scene.machines.nodes)).kill()


def freeze_raylet(scene):
    _freeze(scene.machines.raylet(scene.rng.choice(scene.machines.nodes)), FROZEN)


def remove_node(scene):
    scene.machines.remove(scene.rng.choice(scene.machines.nodes))


def replace_all_nodes(scene):
    for node in list(scene.machines.nodes):
        scene.machines.remove(node)
    scene.machines.repair()


def cut_network(scene):
    scene.machines.cut(scene.rng.choice(scene.machines.nodes))


def cut_network_shortly(scene):
    node = scene.rng.choice(scene.machines.nodes)
    scene.machines.cut(node)
    time.sleep(3)
    scene.machines.join(node)


def kill_head(scene):
    scene.machines.kill_head()


def fill_disk(scene):
    """Until nothing more fits: what is free changes meanwhile, as the run writes too."""
    block = bytes(2**16)
    with _ballast(scene).open("wb", buffering=0) as file:
        try:
            while True:
                file.write(block)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def empty_disk(scene):
    _ballast(scene).unlink()


def slow_down(scene):
    _disturb(scene, "slow", SLOW)


def answer_errors(scene):
    _disturb(scene, "errors", scene.rng.uniform(5, 15))


def cut_bodies(scene):
    scene.proxy.mode("cut")


def go_away(scene):
    scene.proxy.stop()
    time.sleep(AWAY)
    scene.proxy.start()


def fall_silent(scene):
    _freeze(scene.proxy.process, AWAY)


def truncate_file(scene):
    path = _a_unit_file(scene)
    os.truncate(path, scene.rng.randrange(path.stat().st_size))


def remove_file(scene):
    _a_unit_file(scene).unlink()


def flip_byte(scene):
    path = _a_unit_file(scene)
    content = bytearray(path.read_bytes())
    num_footer_bytes = int.from_bytes(content[-8:-4], "little") + 8
    content[scene.rng.randrange(4, len(content) - num_footer_bytes)] ^= 1 << scene.rng.randrange(8)
    with path.open("r+b") as file:
        file.write(content)


def link_file(scene):
    path, outside = _a_unit_file(scene), scene.folder / "outside"
    path.rename(outside)
    path.symlink_to(outside)


def remove_links(scene):
    for path in Path(scene.seen.path, "units").rglob("*"):
        if path.is_symlink():
            path.unlink()
    assert (scene.folder / "outside").exists()


def halve_row(scene):
    row = _a_row(scene)
    os.truncate(row, row.stat().st_size // 2)


def remove_row(scene):
    _a_row(scene).unlink()


def _a_busy_worker(scene):
    return scene.rng.choice(scene.wait_for(0, scene.machines.busy_workers))


def _signal(process, number):
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def _freeze(process, seconds):
    _signal(process, signal.SIGSTOP)
    time.sleep(seconds)
    _signal(process, signal.SIGCONT)


def _disturb(scene, mode, seconds):
    scene.proxy.mode(mode)
    time.sleep(seconds)
    scene.proxy.mode("pass")


def _ballast(scene):
    return Path(scene.seen.path) / "ballast"


def _a_row(scene):
    return Path(scene.rng.choice(sorted(scene.rows())))


def _a_unit_file(scene):
    tables = json.loads(_a_row(scene).read_bytes())["tables"]
    ref = tables[scene.rng.choice(sorted(tables))]
    path = Path(scene.seen.path, "units", ref["unit"], f"{ref['name']}.parquet")
    path.chmod(0o644)
    return path


_DISK_FULL = "No space left on device.*store=<path or URI>"
_DAMAGED = r"is damaged .* out of the ledger now|is missing: was it removed"

_LINKED = "is a symbolic link, which is followed neither in a store"

_ENDED_BY_RAY = (str(Path(__file__).with_name("driver.py")),)

FAULTS = {
    "worker killed": Fault(kill_worker, 6, num_deaths=1),
    "all workers killed": Fault(kill_all_workers, 2, num_deaths=2),
    "worker killed as it starts": Fault(kill_starting_worker, 2, num_deaths=1, at_start=True),
    "worker told to end": Fault(to_worker(signal.SIGTERM), 3, num_deaths=1),
    "worker frozen": Fault(freeze_worker, 2),
    "actor ended by Ray": Fault(to_driver(signal.SIGUSR1), 4, num_deaths=1, program=_ENDED_BY_RAY),
    "raylet killed": Fault(kill_raylet, 5, num_deaths=1),
    "raylet frozen": Fault(freeze_raylet, 1),
    "node removed": Fault(remove_node, 5, num_deaths=1),
    "all nodes replaced": Fault(replace_all_nodes, 2, num_deaths=2),
    "node cut off": Fault(cut_network, 3, num_deaths=1, cluster="networked"),
    "node cut off for 3 s": Fault(cut_network_shortly, 2, cluster="networked"),
    "head killed": Fault(kill_head, 1, says=KILLED),
    "driver killed": Fault(kill_driver, 6, says=KILLED),
    "driver interrupted": Fault(to_driver(signal.SIGINT), 2, says="interrupted; the same command goes on"),
    "driver terminated": Fault(to_driver(signal.SIGTERM), 2, says="interrupted by SIGTERM; the same command goes on"),
    "driver hung up": Fault(to_driver(signal.SIGHUP), 1, says="interrupted by SIGHUP; the same command goes on"),
    "driver quit": Fault(to_driver(signal.SIGQUIT), 1, says="interrupted by SIGQUIT; the same command goes on"),
    "disk full": Fault(fill_disk, 4, says=_DISK_FULL, remedy=empty_disk, store="small disk"),
    "store slow for 20 s": Fault(slow_down, 2, store="bucket"),
    "store away for 30 s": Fault(go_away, 3, store="bucket"),
    "store silent for 30 s": Fault(fall_silent, 2, store="bucket"),
    "store errors": Fault(answer_errors, 3, store="bucket"),
    "store cuts bodies": Fault(cut_bodies, 3, store="bucket"),
    "unit file truncated": Fault(truncate_file, 3, says=_DAMAGED, again=True, num_damaged=1),
    "unit file removed": Fault(remove_file, 2, says=_DAMAGED, again=True, num_damaged=1),
    "unit file damaged": Fault(flip_byte, 4, says=_DAMAGED, again=True, num_damaged=1),
    "unit file linked": Fault(link_file, 2, says=_LINKED, remedy=remove_links, again=True, num_damaged=1),
    "ledger row halved": Fault(halve_row, 2, again=True, num_damaged=1),
    "ledger row removed": Fault(remove_row, 1, again=True, num_damaged=1),
}

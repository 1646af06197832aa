"""``tiltmeter doctor [job] [key=value ...]``: what this machine has, what would not run on it, and what to do then.

It is tried as a run would do it: settings are composed, a file is written into the store, Ray is started.
"""

import os
import re
import resource
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from ray._private.utils import get_num_cpus

from tiltmeter.cluster.capacity import memory_warning, usual_request, workers_for
from tiltmeter.cluster.connection import connected, nodes
from tiltmeter.cluster.environment import processor
from tiltmeter.cluster.start import has_gpu_driver, nodes_before
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.composing import compose
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.runtime.subprocesses import find
from tiltmeter.jobs.runtime.wording import listed, plural
from tiltmeter.storage.errors import Refusal, WorkFailed
from tiltmeter.storage.files.filesystems import check_bucket
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import require_store
from tiltmeter.storage.store.probes import probe_in

_LEAST_GIGABYTES, _GIGABYTE = 2, 10**9
"""Free where the store lies: what the survey writes of its sample, several times over."""

_HANDLES, _HANDLES_OF_WORKER = 128, 16
"""Twice those that Ray's own process had open with two workers, and that each worker adds."""

_SHARED = Path("/dev/shm")  # noqa: S108 - Ray's, whose size is looked at
_PROGRAMS = {
    "chromium": ("exports.figures=true", "apt-get install chromium"),
    "apertium": ("translator=apertium", "apt-get install apertium apertium-eng-spa"),
}
"""Programs of others: what they are for, and the command that installs them."""


class Finding(NamedTuple):
    """What was seen of one thing.

    Attributes:
        remedy: a command, or what to set; empty where nothing is amiss.
        is_fatal: whether the job would not run.
    """

    subject: str
    text: str
    remedy: str = ""
    is_fatal: bool = False

    def __str__(self) -> str:
        """In a line, and the remedy in another one."""
        mark = "wrong" if self.is_fatal else "note" if self.remedy else "ok"
        return f"{mark:5}  {self.subject:12}  {self.text}" + (f"\n{'':21}-> {self.remedy}" if self.remedy else "")


def diagnose(words: Sequence[str]) -> str:
    """Look at this machine for a run of a job, and print what is found; returns that the job would run.

    Args:
        words: of the command line, after ``doctor``: a job and its settings, or none for the survey.

    Raises:
        Refusal: for settings that no run would take.
        WorkFailed: if the job would not run.
    """
    confine_composition(catalogue.settings_packages())
    config = compose(catalogue.with_job(words))
    fatal = []
    for finding in findings(config):
        print(finding, flush=True)
        fatal += [finding.subject] if finding.is_fatal else []
    if fatal:
        raise WorkFailed(f"job={config.job.name} would not run here, because of {listed(fatal)}")
    return f"job={config.job.name} would run here."


def findings(config: CommonConfig) -> Iterator[Finding]:
    """All that can be said of a run of a config on this machine."""
    for look in (_processor, _handles, _memory, _ray, _store, _gpu, _programs, _packages):
        yield from look(config)


def _processor(config: CommonConfig) -> Iterator[Finding]:
    cores, usable = os.cpu_count() or 1, min(int(get_num_cpus()), len(os.sched_getaffinity(0)))
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    vectors = next((name for name in ("avx512f", "avx2", "asimd") if name in flags), "no wide vectors")
    remedy = f"cluster.num_cpus={usable}: more workers would share them"
    is_short = usable < (config.cluster.num_cpus or cores)
    text = f"{processor()} with {vectors}, {plural(usable, 'core')} of {cores}"
    yield Finding("processor", text, remedy if is_short else "")


def _handles(config: CommonConfig) -> Iterator[Finding]:
    (soft, hard), needed = resource.getrlimit(resource.RLIMIT_NOFILE), _HANDLES
    needed += _HANDLES_OF_WORKER * (config.cluster.num_cpus or os.cpu_count() or 1)
    is_short = 0 <= soft < needed  # -1 is no limit
    remedy = f"ulimit -n {needed}" + (", which an administrator must allow" if 0 <= hard < needed else "")
    text = f"{soft:,} at most in a process, of which Ray needs up to {needed:,}"
    yield Finding("file handles", text, remedy if is_short else "", is_short)


def _memory(config: CommonConfig) -> Iterator[Finding]:
    if config.cluster.kind != "local":
        return
    there, request = nodes_before(config.cluster), usual_request(config.cluster)
    try:
        workers = workers_for(there, [request], config.cluster)
    except Refusal as error:
        text, *_, remedy = str(error).splitlines()
        yield Finding("memory", text, remedy, is_fatal=True)
        return
    text = (
        f"{there[0].free_megabytes:,} MB are free: {plural(workers.num_workers, 'worker')} of {request.megabytes:,} MB"
    )
    is_short = memory_warning(there, [request], workers, config.cluster)
    yield Finding("memory", text, "set cluster.worker_megabytes lower" if is_short else "")
    if _SHARED.is_dir():
        free, taken = shutil.disk_usage(_SHARED).free // 2**20, config.cluster.object_store_megabytes
        remedy = "" if free >= taken else "start the container with --shm-size=1g: Ray takes a slow disk in its place"
        yield Finding("shared", f"{free:,} MiB are free in {_SHARED}, of which Ray takes {taken:,}", remedy)


def _ray(config: CommonConfig) -> Iterator[Finding]:
    try:
        with connected(config.cluster):
            text = f"{version('ray')} started: {plural(len(nodes()), 'node')}"
    except Exception as error:  # of Ray, which has no common class: a run would end with it, whatever it is
        yield Finding("Ray", f"{version('ray')} does not start: {error}", "free what is short above", is_fatal=True)
        return
    yield Finding("Ray", text)


def _store(config: CommonConfig) -> Iterator[Finding]:
    try:
        store = Store(config.store)
        check_bucket(store.filesystem, store.path, store.name)
        require_store(store)
        place = store.local_path
        # A folder that is not there is made by the run, and not by whoever only asks.
        while place is not None and not place.exists():
            place = place.parent
        with probe_in(store.filesystem, str(place or store.path)):
            is_new = store.mark is None
    except Refusal as error:
        yield Finding("store", str(error), "store=<another path or URI>", is_fatal=True)
        return
    free = (store.free_bytes or 0) / _GIGABYTE
    is_short = place is not None and free < _LEAST_GIGABYTES
    text = f"{store.name} can be {'made' if is_new else 'written'}" + (f", {free:,.1f} GB are free" if place else "")
    yield Finding("store", text, "tiltmeter prune job.remove=true, or store=<another path>" if is_short else "")


def _gpu(_: CommonConfig) -> Iterator[Finding]:
    if not has_gpu_driver():
        yield Finding("GPU", "none, and none is needed")
    elif find_spec("torch") is None:
        yield Finding("GPU", "there is one, and no torch that could use it", "pip install torch")
    else:
        import torch

        is_seen = torch.cuda.is_available()
        text = torch.cuda.get_device_name(0) if is_seen else f"there is one, which torch {torch.__version__} can't use"
        yield Finding("GPU", text, "" if is_seen else "install the build of torch for its CUDA")


def _programs(_: CommonConfig) -> Iterator[Finding]:
    for name, (purpose, command) in _PROGRAMS.items():
        place = find(name)
        yield Finding(name, f"{place or 'not installed'}, for {purpose}", "" if place else command)


def _packages(config: CommonConfig) -> Iterator[Finding]:
    absent, lacking = absent_packages(), defaultdict[str, list[str]](list)
    for extra, names in absent.items():
        yield Finding("packages", f"{listed(names)} not installed", f"pip install 'tiltmeter[{extra}]'")
    for name in catalogue.names():
        try:
            extras = catalogue.job(name).extras
        except ImportError as error:
            lacking[error.name or str(error)].append(name)
        else:
            for extra in set(extras) & set(absent):
                lacking[f"tiltmeter[{extra}]"].append(name)
    num = len({*catalogue.names()}.difference(*lacking.values()))
    yield Finding("jobs", f"{num} of {len(catalogue.names())} would find their packages")
    for package, names in lacking.items():
        yield Finding("jobs", f"no {package} for {listed(names)}", f"pip install '{package}'", config.job.name in names)


def absent_packages() -> dict[str, list[str]]:
    """By each extra of the distribution, what it would install and is not there; not what development needs."""
    absent: dict[str, list[str]] = {}
    for requirement in map(Requirement, requires("tiltmeter") or []):
        match = re.search(r"""extra == ["']([\w-]+)""", marker := str(requirement.marker or ""))
        if match and match[1] != "dev" and Marker(marker).evaluate({"extra": match[1]}):
            try:
                version(requirement.name)
            except PackageNotFoundError:
                absent.setdefault(match[1], []).append(requirement.name)
    return absent

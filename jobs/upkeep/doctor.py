"""``tiltmeter doctor [job] [key=value ...]``: what this machine has, what would not run on it, and what to do about that.

Everything is tried as a run would do it: settings are composed, the store is written, Ray is started.
"""

import os
import resource
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import Requirement

from tiltmeter.cluster.capacity import memory_warning, usual_request, workers_for
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.environment import processor
from tiltmeter.cluster.start import has_gpu_driver, nodes_before
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.composing import compose
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.runtime.subprocesses import find
from tiltmeter.jobs.runtime.wording import listed, plural
from tiltmeter.storage.errors import Refusal
from tiltmeter.storage.files.filesystems import check_bucket
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import require_store
from tiltmeter.storage.store.probes import probe_in

_GIGABYTE = 1_000_000_000
_LEAST_BYTES = 2 * _GIGABYTE
"""Free where the store lies: what the main job writes of its sample, several times over."""

_HANDLES, _HANDLES_OF_WORKER = 128, 16
"""Of Ray's own process, which had 58 with two workers, and what each further worker takes of it; doubled."""

_SHARED = Path("/dev/shm")  # noqa: S108 - Ray's, whose size is looked at
_VECTORS = ("avx512f", "avx2", "asimd")
_CODE = ("NUMBA_CPU_NAME", "ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE")
_PROGRAMS = {
    ("chromium", "chromium-browser", "google-chrome"): ("exports.figures=true", "apt-get install chromium"),
    ("apertium",): ("translator=apertium", "apt-get install apertium apertium-eng-spa"),
    ("psql",): ("looking at what export.postgres=<URI> wrote", "apt-get install postgresql-client"),
}
"""Programs of others by the names that each may have: what they are for, and the command that installs them."""


class Finding(NamedTuple):
    """What was seen of one thing.

    Attributes:
        state: ``note``: something does not run, and the job does; ``wrong``: the job would not run.
        remedy: a command, or what to set; empty where nothing is amiss.
    """

    subject: str
    text: str
    state: Literal["ok", "note", "wrong"] = "ok"
    remedy: str = ""


class Diagnosis(NamedTuple):
    """All findings about a job on this machine."""

    job: str
    findings: Sequence[Finding]

    @property
    def is_well(self) -> bool:
        """Whether the job would run."""
        return all(finding.state != "wrong" for finding in self.findings)

    def __str__(self) -> str:
        """A line for each finding, and one below for what to do; at the end whether the job would run."""
        width = max(len(finding.subject) for finding in self.findings)
        lines = []
        for subject, text, state, remedy in self.findings:
            lines.append(f"{state:5}  {subject:{width}}  {text}")
            lines += [f"{'':{7 + width}}  -> {remedy}"] if remedy else []
        return "\n".join([*lines, f"job={self.job} {'would run' if self.is_well else 'would not run'} here."])


def diagnose(words: Sequence[str]) -> Diagnosis:
    """Look at this machine for a run of a job.

    Args:
        words: of the command line, after ``doctor``: a job and settings, or none for the survey.

    Raises:
        ConfigError: for settings that no run would take.
    """
    confine_composition(catalogue.settings_packages())
    config = compose(catalogue.with_job(words))
    checks: Sequence[Callable[[CommonConfig], Iterator[Finding]]] = (
        *(_processor, _memory, _file_handles, _shared_memory, _ray, _store, _disk, _gpu, _programs, _extras, _jobs),
    )
    return Diagnosis(config.job.name, [finding for check in checks for finding in check(config)])


# --- the machine ----------------------------------------------------------------------------------------------------


def _processor(config: CommonConfig) -> Iterator[Finding]:
    from ray._private.utils import get_num_cpus

    usable, cores = min(int(get_num_cpus()), len(os.sched_getaffinity(0))), os.cpu_count() or 1
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    vectors = next((name for name in _VECTORS if name in flags), "no wide vectors")
    forced = [f"{name}={os.environ[name]}" for name in _CODE if name in os.environ]
    code = f"kernels for {listed(forced)}" if forced else "kernels are compiled for it"
    text = f"{processor()}: {plural(usable, 'core')} of {cores}, {vectors}; {code}"
    if usable < (config.cluster.num_cpus or cores):
        yield Finding("processor", text, "note", f"set cluster.num_cpus={usable}: more workers would share these cores")
    else:
        yield Finding("processor", text)


def _memory(config: CommonConfig) -> Iterator[Finding]:
    if config.cluster.kind != "local":
        return
    nodes, request = nodes_before(config.cluster), usual_request(config.cluster)
    free = f"{sum(node.free_megabytes for node in nodes):,} MB are free for workers of {request.megabytes:,} MB"
    try:
        workers = workers_for(nodes, [request], config.cluster)
    except Refusal as error:
        yield Finding("memory", free, "wrong", str(error).splitlines()[-1])
        return
    warning = memory_warning(nodes, [request], workers, config.cluster)
    text = f"{free}: {plural(workers.num_workers, 'worker')}"
    yield Finding(
        "memory", text, "note" if warning else "ok", f"{warning}; set cluster.worker_megabytes lower" if warning else ""
    )


def _file_handles(config: CommonConfig) -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _HANDLES + _HANDLES_OF_WORKER * (config.cluster.num_cpus or os.cpu_count() or 1)
    is_enough = soft == resource.RLIM_INFINITY or soft >= needed
    remedy = f"ulimit -n {needed}" + (", which an administrator must allow" if needed > hard >= 0 else "")
    text = f"{soft:,} at most in a process; Ray's own needs up to {needed:,}"
    yield Finding("file handles", text, *(("ok", "") if is_enough else ("wrong", remedy)))


def _shared_memory(config: CommonConfig) -> Iterator[Finding]:
    if not _SHARED.is_dir() or config.cluster.kind != "local":
        return
    free, needed = shutil.disk_usage(_SHARED).free, config.cluster.object_store_megabytes * 2**20
    is_enough = free >= needed
    remedy = "" if is_enough else "in a container, start it with --shm-size=1g: Ray takes a slow disk in its place"
    text = f"{free // 2**20:,} MiB are free in {_SHARED}, of which Ray takes {needed // 2**20:,}"
    yield Finding("shared memory", text, "ok" if is_enough else "note", remedy)


def _ray(config: CommonConfig) -> Iterator[Finding]:
    from tiltmeter.cluster.connection import connected, nodes

    try:
        with connected(config.cluster):
            there = nodes()
    except Refusal as error:
        yield Finding("Ray", f"{version('ray')} can't be used: {error}", "wrong", _remedy_of(config.cluster))
        return
    except Exception as error:  # of Ray, which has no common class: whatever it is, the run would end with it
        yield Finding("Ray", f"{version('ray')} does not start: {error}", "wrong", _remedy_of(config.cluster))
        return
    where = "on the loopback alone" if config.cluster.kind == "local" else f"at {config.cluster.address}"
    yield Finding("Ray", f"{version('ray')} started with {plural(len(there), 'node')}, {where}")


def _remedy_of(cluster: ClusterConfig) -> str:
    return "see its logs in TMPDIR, or raise ulimit -n" if cluster.kind == "local" else "run here with cluster=local"


# --- the store ------------------------------------------------------------------------------------------------------


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
            pass
    except Refusal as error:
        yield Finding("store", str(error), "wrong", "set store=<path or URI>")
        return
    state = "has a mark, and can be written" if store.mark else "is to be made, and can be written"
    yield Finding("store", f"{store.name} {state}")


def _disk(config: CommonConfig) -> Iterator[Finding]:
    free = Store(config.store).free_bytes
    if free is not None:
        is_enough = free >= _LEAST_BYTES
        remedy = "" if is_enough else "tiltmeter prune job.remove=true, or set store=<path or URI>"
        text = f"{free / _GIGABYTE:,.1f} GB are free where the store lies; tiltmeter plan says what a job takes"
        yield Finding("disk", text, "ok" if is_enough else "note", remedy)


# --- what is installed ----------------------------------------------------------------------------------------------


def _gpu(config: CommonConfig) -> Iterator[Finding]:  # noqa: ARG001 - as all checks
    if not has_gpu_driver():
        yield Finding("GPU", "none: everything runs on the processor")
    elif find_spec("torch") is None:
        yield Finding("GPU", "there is one, and no torch that could use it", "note", "pip install torch")
    else:
        import torch

        is_seen = torch.cuda.is_available()
        text = (
            f"{torch.cuda.get_device_name(0)}"
            if is_seen
            else f"there is one, which torch {torch.__version__} can't use"
        )
        remedy = "" if is_seen else "install torch's build for its CUDA"
        yield Finding("GPU", text, "ok" if is_seen else "note", remedy)


def _programs(config: CommonConfig) -> Iterator[Finding]:  # noqa: ARG001
    for names, (purpose, command) in _PROGRAMS.items():
        if place := next(filter(None, map(find, names)), None):
            yield Finding(names[0], f"{place}, for {purpose}")
        else:
            yield Finding(names[0], f"is not installed; for {purpose} alone", "note", command)


def _extras(config: CommonConfig) -> Iterator[Finding]:  # noqa: ARG001
    for extra, names in absent_packages().items():
        yield Finding(f"[{extra}]", f"{listed(names)} not installed", "note", f"pip install 'tiltmeter[{extra}]'")


def absent_packages() -> dict[str, list[str]]:
    """By each extra of the distribution what it would install and is not there; none for what is needed to develop."""
    absent: dict[str, list[str]] = {}
    for requirement in map(Requirement, requires("tiltmeter") or []):
        marker = str(requirement.marker or "")
        extra = marker.rpartition("extra == ")[2].strip("\"' ")
        if "extra == " in marker and extra != "dev" and not _is_installed(requirement.name):
            absent.setdefault(extra, []).append(requirement.name)
    return absent


def _is_installed(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except ModuleNotFoundError:  # as importlib.metadata says it
        return False


def _jobs(config: CommonConfig) -> Iterator[Finding]:
    lacking: dict[str, list[str]] = {}
    for name in catalogue.names():
        try:
            catalogue.job(name)
        except ImportError as error:
            lacking.setdefault(error.name or str(error), []).append(name)
    broken = [name for names in lacking.values() for name in names]
    yield Finding("jobs", f"{len(catalogue.names()) - len(broken)} of {len(catalogue.names())} can be loaded")
    for package, names in lacking.items():
        state: Literal["note", "wrong"] = "wrong" if config.job.name in names else "note"
        yield Finding("jobs", f"{listed(names)} lack {package}", state, f"pip install {package}")

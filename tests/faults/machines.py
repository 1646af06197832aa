"""A Ray cluster of several nodes on this machine, whose parts can be lost and are made up for."""

import re

import psutil

from tests.fixtures.cluster import PatientCluster

_SMALL = {"object_store_memory": 80 * 2**20, "include_dashboard": False}
_HEAD = {"num_cpus": 0, "include_log_monitor": False, "no_monitor": True}


class Workers:
    """Finds the workers of nodes, whose raylets a subclass knows.

    Attributes:
        environment: what a command needs to join the cluster.
    """

    # A command gives a lost head up after seconds instead of a minute.
    environment = {"RAY_gcs_rpc_server_reconnect_timeout_s": "5"}  # noqa: RUF012

    def workers(self):
        """The processes of workers that have started, busy or not."""
        return self._processes(r"ray::_Worker")

    def busy_workers(self):
        """The processes that are at a unit right now."""
        return self._processes(r"ray::_Worker\S*\.run")

    def _processes(self, name):
        children = [child for node in self.nodes for child in _children(self.raylet(node))]
        return [child for child in children if re.match(name, _command(child))]


class Machines(Workers):
    """A head without CPUs, and nodes: two with two CPUs each take two runs of two workers."""

    def __init__(self, num_nodes=2, num_cpus=2):
        self._num_nodes, self._num_cpus = num_nodes, num_cpus
        self._start()

    def _start(self):
        self._cluster = PatientCluster(initialize_head=True, head_node_args=_HEAD | _SMALL)
        self.nodes = []
        self.repair()

    @property
    def address(self):
        return self._cluster.address

    def repair(self):
        """Replace the nodes that are not whole any more, and all of them if the head is not."""
        if not self._cluster.head_node.remaining_processes_alive():
            self.shutdown()
            self._start()
        for node in [node for node in self.nodes if not node.remaining_processes_alive()]:
            self.remove(node)
        while len(self.nodes) < self._num_nodes:
            self.nodes.append(self._cluster.add_node(num_cpus=self._num_cpus, memory=4 * 2**30, **_SMALL))

    def remove(self, node):
        """End all processes of a node at once."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def raylet(self, node):
        return _process(node, "raylet")

    def kill_head(self):
        """End the process that all nodes ask about each other."""
        _process(self._cluster.head_node, "gcs_server").kill()

    def shutdown(self):
        self._cluster.shutdown()


def _process(node, kind):
    return psutil.Process(node.all_processes[kind][0].process.pid)


def _children(process):
    try:
        return process.children()
    except (AttributeError, psutil.NoSuchProcess):
        return []


def _command(process):
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""

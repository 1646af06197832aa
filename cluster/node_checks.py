"""Asking every node at once whether it answers, works in the same store as this process, and with which versions."""

from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tiltmeter.cluster.capacity import Node
from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.environment import Environment, environment
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import SETTING, delete_file, read_bytes
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.probes import probe_in
from tiltmeter.storage.store.tables import write_bytes

_SECONDS_TO_ANSWER = 180.0
"""Longer than a node retries a store that is away, so that it can say so."""


def check_nodes(nodes: Sequence[Node], store: Store, packages: Sequence[str]) -> dict[str, Environment]:
    """What each node computes with, by its name.

    Args:
        nodes: busy ones answer as well.
        store: whose root, credentials included, they are given.
        packages: distributions whose versions they are asked.

    Raises:
        ClusterError: naming the nodes that do not answer, or do not reach the store, and why.
        StorageError: if this process can't write into the store.
    """
    with probe_in(store.filesystem, store.path) as probe:
        answers = _ask(nodes, store, probe, packages)
        # Ray takes a lost node for alive for a while, and fails what is sent to it then once it knows better.
        if broken := [node for node in nodes if isinstance(answers[node.name], _BrokenOff)]:
            answers |= _ask(broken, store, probe, packages)
    if wrong := [f"\n  node {name}: {answer}" for name, answer in answers.items() if isinstance(answer, str)]:
        raise ClusterError(
            f"{len(wrong)} of {len(nodes)} nodes can't take part:{''.join(wrong)}\nfix or remove them. {SETTING} is a "
            "place that all nodes share; the credentials of a bucket belong into the environment of every node"
        )
    return {name: answer for name, answer in answers.items() if isinstance(answer, Environment)}


def ask_nodes(nodes: Sequence[Node], question: Callable[[], str]) -> dict[str, str]:
    """What each node answers to a question of a job's own, by its name; what went wrong where one does not."""
    asked = {_question(node, question): node.name for node in nodes}
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=_SECONDS_TO_ANSWER)
    answers = {asked[ref]: str(_reply(ref)) for ref in ready}
    return answers | {asked[ref]: f"has not answered for {_SECONDS_TO_ANSWER:g} seconds" for ref in late}


def _question(node: Node, question: Callable[[], str]) -> Any:
    there = NodeAffinitySchedulingStrategy(node.id, soft=False)
    asking = ray.remote(_ask_here).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
    return asking.remote(question)


def _ask_here(question: Callable[[], str]) -> str:
    return question()


class _BrokenOff(str):
    """What Ray says of an answer that did not come to its end."""


def _ask(nodes: Sequence[Node], store: Store, probe: str, packages: Sequence[str]) -> dict[str, Environment | str]:
    asked = {_submit(node, store.root, probe, packages): node.name for node in nodes}
    ready, late = ray.wait(list(asked), num_returns=len(asked), timeout=_SECONDS_TO_ANSWER)
    answers = {asked[ref]: _reply(ref) for ref in ready}
    return answers | {asked[ref]: f"has not answered for {_SECONDS_TO_ANSWER:g} seconds" for ref in late}


def _submit(node: Node, root: str, probe: str, packages: Sequence[str]) -> Any:
    there = NodeAffinitySchedulingStrategy(node.id, soft=False)
    asking = ray.remote(_answer).options(num_cpus=0, max_retries=0, scheduling_strategy=there)
    return asking.remote(root, probe, node.id, packages)


def _answer(root: str, probe: str, node: str, packages: Sequence[str]) -> Environment | str:
    """Of a node: what it computes with, or why it can't work in the store."""
    return _store_error(root, probe, node) or environment(packages)


def _store_error(root: str, probe: str, node: str) -> str | None:
    try:
        store = Store(root)
        path = f"{store.path}/{probe}"
        # Nothing is written before it is known to be the same store.
        if read_bytes(store.filesystem, path) == probe.encode():
            write_bytes(store.filesystem, f"{path}-{node}", b"", setting=SETTING)
            delete_file(store.filesystem, f"{path}-{node}")
            return None
    except StorageError as error:
        return str(error)
    except FileNotFoundError:
        pass
    return f"store={store.name} differs there: it lacks the file that this process has just written"


def _reply(ref: Any) -> Environment | str:
    try:
        answer: Environment | str = ray.get(ref)
    except RayError as error:
        kind = str if isinstance(error, RayTaskError) else _BrokenOff
        return kind(f"does not run Tiltmeter: {str(error).strip().splitlines()[-1].strip()}")
    return answer

"""What the user asks of single records: which graphs have them, and whether the clusters are there."""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.jobs.resolution.config import Question
from tiltmeter.jobs.resolution.pairs import Graph
from tiltmeter.jobs.resolution.solving import Partition
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.streaming import pieces

Questions = Mapping[str, Sequence[Question]]
"""By graph."""


def questions_by_graph(store: Store, graphs: Mapping[str, Graph], questions: Sequence[Question]) -> Questions:
    """The questions about each graph, which are those whose records it has.

    Raises:
        ConfigError: if no graph has the records of a question.
    """
    if not questions:
        return {}
    names = sorted({name for question in questions for name in _records(question)})
    known = {name: _there(store, graph.records, names) for name, graph in graphs.items()}
    for question in questions:
        if not any(records.issuperset(_records(question)) for records in known.values()):
            raise ConfigError(f"explain: {_absence(question, known.values())}; ask about records of one graph")
    return {
        name: [question for question in dict.fromkeys(questions) if records.issuperset(_records(question))]
        for name, records in known.items()
    }


def check_clusters(store: Store, partitions: Mapping[str, Partition], questions: Questions) -> None:
    """Whether there are the clusters that are asked about.

    Raises:
        ConfigError: if no graph that a question is about has its cluster.
    """
    asked = {name: questions[name] for name in partitions if questions.get(name)}
    nums = {name: _num_clusters(store, partitions[name].clusters) for name in asked}
    for question in dict.fromkeys(question for about in asked.values() for question in about):
        largest = max(nums[name] for name, about in asked.items() if question in about) - 1
        if question.cluster is not None and question.cluster > largest:
            raise ConfigError(
                f"explain: record {question.record!r} is asked about with cluster {question.cluster}, but clusters are "
                f"numbered from 0 to {largest}, as in the table of this name"
            )


def _records(question: Question) -> list[str]:
    return [question.record, *([] if question.other is None else [question.other])]


def _there(store: Store, records: TableRef, names: Sequence[str]) -> set[str]:
    wanted = pa.array(names, pa.string())
    parts = (piece["record"].filter(pc.is_in(piece["record"], wanted)) for piece in pieces(store, [records]))
    return {name for part in parts for name in part.to_pylist()}


def _absence(question: Question, known: Collection[set[str]]) -> str:
    for name in _records(question):
        if not any(name in records for records in known):
            return f"there is no record {name!r}"
    return f"no graph has both {question.record!r} and {question.other!r}"


def _num_clusters(store: Store, clusters: TableRef) -> int:
    return max(int(pc.max(piece["cluster"]).as_py()) + 1 for piece in pieces(store, [clusters.select("cluster")]))

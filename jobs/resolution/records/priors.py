"""What a partition owes to the prior: the same pairs with the odds of a match halved and doubled, partitioned again."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.resolution.graphs import Graph, Resolution
from tiltmeter.jobs.resolution.partitions import partition
from tiltmeter.jobs.resolution.previous import Previous
from tiltmeter.jobs.resolution.tables import PriorSensitivity
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.resolution.lineage import VERSION, moves
from tiltmeter.operators.resolution.records import calibration
from tiltmeter.operators.resolution.records.calibration import with_odds
from tiltmeter.storage.store.ledger import Store, TableRef


class ShiftPrior(Work, unit=f"shifted_prior/{calibration.VERSION}", stage="shift the prior"):
    """Pairs of a graph, whose weights are 2 p - 1, with the odds of p multiplied; constraints stay what they are."""

    factor: float
    pairs: TableRef

    def tables(self, store: Store) -> Tables:
        """``pairs``."""
        pairs = store.read(self.pairs)
        weights = pairs["weight"].to_numpy()
        shifted = 2.0 * with_odds((np.clip(weights, -1.0, 1.0) + 1.0) / 2.0, self.factor) - 1.0
        column = pa.array(np.where(np.abs(weights) <= 1.0, shifted, weights))
        yield "pairs", pairs.set_column(pairs.schema.get_field_index("weight"), "weight", column)


class ComparePriors(Work, unit=f"prior_sensitivity/2/{VERSION}", stage="compare", makes=[PriorSensitivity]):
    """How far the partitions of other priors are from that of the run, whose clusters come first."""

    graph: str
    factors: Sequence[float]
    clusters: Sequence[TableRef]
    gold: TableRef | None

    def rows(self, store: Store) -> Iterator[PriorSensitivity]:
        """One for each factor, 1 among them, in their order."""
        labels = [store.read(ref)["cluster"].to_numpy() for ref in self.clusters]
        gold = None if self.gold is None else store.read(self.gold)["cluster"]
        for factor, after in sorted(zip((1.0, *self.factors), labels, strict=True), key=lambda row: row[0]):
            row = PriorSensitivity(graph=self.graph, factor=factor, **moves(labels[0], after)._asdict())
            row.num_clusters = int(after.max(initial=-1)) + 1
            if gold is not None and gold.null_count < len(gold):
                known = np.flatnonzero(gold.is_valid())
                row.f1_gold = moves(gold.drop_null().to_numpy(), after[known]).f1
            yield row


def compare_priors(run: Resolution, graphs: Mapping[str, Graph], factors: Sequence[float]) -> None:
    """Publish ``prior_sensitivity`` of graphs whose weights are of probabilities; the other clusters are not kept."""
    for name, graph in graphs.items() if factors else ():
        works = [
            ShiftPrior(label=f"{name}, odds times {factor:g}", group=name, factor=factor, pairs=graph["pairs"])
            for factor in factors
        ]
        shifted = {work.label: {**graph, **unit.tables} for work, unit in run.do(works, publish=False).pairs}
        solved = partition(run, shifted, Previous({}))
        if solved.keys() == shifted.keys():
            clusters = [one["clusters"].select("cluster") for one in (graph, *map(solved.__getitem__, shifted))]
            run.do([ComparePriors(group=name, graph=name, factors=factors, clusters=clusters, gold=graph.get("gold"))])

"""The public tables of `entity_resolution`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.embedding.tables import REASON, STATUS
from tiltmeter.storage.store.tables import column


def _text(name: str, sentence: str, *, key: bool = False) -> pa.Field:
    return column(name, pa.string(), sentence, key=key)


def _number(name: str, sentence: str, unit: str = "") -> pa.Field:
    return column(name, pa.float64(), sentence, unit)


def _count(name: str, sentence: str, unit: str = "", *, key: bool = False) -> pa.Field:
    return column(name, pa.int64(), sentence, unit, key=key)


def _component(*, key: bool = False) -> pa.Field:
    sentence = "connected component of the positive pairs, numbered by size, the largest first"
    return _count("component", sentence, "label", key=key)


GRAPH = _text("graph", "graph of records that was partitioned by itself: the file, or a case of a study", key=True)
RECORD = _text("record", "id of the record, as in the input", key=True)
CLUSTER = _count("cluster", "number of the cluster: records with the same one are taken for one entity", "label")

PAIR_COUNTS = pa.schema(
    [
        GRAPH,
        _count("num_records", "different records", "records"),
        _count("num_pairs", "pairs that were kept", "pairs"),
        _count("num_self_pairs", "pairs of a record with itself, left out", "pairs"),
        _count("num_repeated", "pairs that came again with the same weight, left out", "pairs"),
        _count("num_contradicting", "pairs that came again with another weight: the mean of all was taken", "pairs"),
        _count("num_below_threshold", "pairs under the threshold, taken for never scored", "pairs"),
        _text("missing", "what holds for pairs without a score: 'forbid' or 'zero'"),
        _number("threshold", "weight under which a pair counts as never scored; null if there is none"),
    ]
)

CLUSTERS = pa.schema([GRAPH, RECORD, CLUSTER, _component()])

COMPONENTS = pa.schema(
    [
        GRAPH,
        _component(key=True),
        _count("num_records", "records of the component", "records"),
        _count("num_pairs", "scored pairs within it", "pairs"),
        _count("num_clusters", "clusters that it was partitioned into", "clusters"),
        _text("solver", "what partitioned it"),
        _text("missing", "what holds for pairs without a score: 'forbid' or 'zero'"),
        _text("status", "'proven': no partition is better; 'feasible': not known to be; 'none': there is none"),
        _number("objective", "sum of the weights within clusters"),
        _number("bound", "no partition has more"),
        _number("gap", "distance of bound and objective, in units of the larger of 1 and the objective"),
        _number("seconds", "time that the solver took", "seconds"),
        _count("num_cuts", "constraints that were added to the first relaxation"),
        _count("num_branches", "subproblems beyond the first"),
    ]
)

METRICS = pa.schema(
    [
        GRAPH,
        _text("metric", "name of the measure of agreement with the gold clusters", key=True),
        _number("value", "from 0 to 1, and 1 if all agrees; the adjusted Rand index may be negative"),
        _count("num_records", "records that both have", "records"),
        STATUS,
        REASON,
    ]
)

EXPLANATIONS = pa.schema(
    [
        GRAPH,
        _component(),
        _text(
            "kind",
            "'merge', 'near_miss', 'split_pair' (positive, but apart) or 'joined_pair' (negative, but together)",
            key=True,
        ),
        _count(
            "cluster",
            "cluster of a merge or a joined pair, or that a near miss is about; null for a split pair",
            "label",
            key=True,
        ),
        _text(
            "record", "the record that was left out (near_miss), the weakest one (merge), or the pair's first", key=True
        ),
        _text("other", "the pair's second record; null for a merge or a near miss", key=True),
        _number("weight", "weight of the pair; of a merge that within it; of a near miss what the record would bring"),
        _number("held", "sum of the weights of the record's pairs in its own cluster; null for a pair"),
        _number("support", "sum of the positive weights between the record and the cluster; null but for a near miss"),
        _number("opposition", "sum of the negative weights between them"),
        _count("num_forbidden", "pairs between them that may not share a cluster", "pairs"),
        column("tipping_records", pa.list_(pa.string()), "records of the cluster that speak most against the record"),
        column("tipping_weights", pa.list_(pa.float64()), "their weights with it; null where the pair is forbidden"),
    ]
)

AGREEMENTS = pa.schema(
    [
        _text("field", "column of the records that is compared", key=True),
        _count("degree", "degree of agreement, from 0: different", key=True),
        _text("agreement", "what the degree means, in words"),
        _count("num_matches", "labelled pairs of one entity that agree so", "pairs"),
        _count("num_distinct", "labelled pairs of two entities that agree so", "pairs"),
        _number("m", "share of the pairs of one entity that agree so"),
        _number("u", "share of the pairs of two entities that agree so"),
        _number("match_weight", "log2 m / u: what the agreement speaks for a match", "bits"),
        _number("prior", "share of matches among all compared pairs, the same in every row"),
    ]
)

DRAWN_PAIRS = pa.schema(
    [
        GRAPH,
        _component(),
        _text("left", "a record of the pair", key=True),
        _text("right", "the other one", key=True),
        _number("weight", "score of the pair"),
    ]
)
"""All scored pairs of the components that the report draws."""

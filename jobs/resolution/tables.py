"""The public tables of `entity_resolution`: every column with its type, its unit and a sentence."""

import pyarrow as pa

from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, number, text
from tiltmeter.storage.store.tables import column


def _component(*, key: bool = False) -> pa.Field:
    sentence = (
        "connected component of the positive pairs (of all scored ones for centroid_linkage), numbered by size, the "
        "largest first"
    )
    return count("component", sentence, "label", key=key)


GRAPH = text("graph", "graph of records that was partitioned by itself: the file, or a case of a study", key=True)
RECORD = text("record", "id of the record, as in the input", key=True)
CLUSTER = count("cluster", "number of the cluster: records with the same one are taken for one entity", "label")

PAIR_COUNTS = pa.schema(
    [
        GRAPH,
        count("num_records", "different records", "records"),
        count("num_pairs", "pairs that were kept", "pairs"),
        count("num_self_pairs", "pairs of a record with itself, left out", "pairs"),
        count("num_repeated", "pairs that came again with the same weight, left out", "pairs"),
        count("num_contradicting", "pairs that came again with another weight: the mean of all was taken", "pairs"),
        count("num_below_threshold", "pairs under the threshold, taken for never scored", "pairs"),
        text("missing", "what holds for pairs without a score: 'forbid' or 'zero'"),
        number("threshold", "weight under which a pair counts as never scored; null if there is none"),
    ]
)

ID = count("id", "id of the cluster, which stays with it from run to run by previous=<run directory>", "label")

CLUSTERS = pa.schema([GRAPH, RECORD, CLUSTER, ID, _component()])

LEDGER = pa.schema(
    [
        GRAPH,
        count("before", "id in the previous run; null for records that it did not have", "label", key=True),
        count("after", "id in this run; null for records that are not there any more", "label", key=True),
        text(
            "event",
            "'kept': the same id; 'merged': the id before is no more; 'split': it lives on elsewhere; 'new': the "
            "records were not there before; 'vanished': they are not there any more",
        ),
        count("num_records", "records that went from the one to the other", "records"),
        count("num_before", "all records of the cluster before; 0 if there was none", "records"),
        count("num_after", "all records of the cluster now; 0 if there is none", "records"),
    ]
)

LEDGER_COUNTS = pa.schema(
    [
        GRAPH,
        count("num_kept", "clusters whose id is that of a cluster before", "clusters"),
        count("num_unchanged", "of these: with the same records", "clusters"),
        count("num_merged", "clusters before whose id ended, and whose records are in others", "clusters"),
        count("num_split", "clusters before whose id lives on, and some of whose records are in others", "clusters"),
        count("num_new", "clusters none of whose records was there before", "clusters"),
        count("num_vanished", "clusters before none of whose records is there any more", "clusters"),
        count("num_reused", "components that did not change, and were taken over", "components"),
        count("num_solved", "components that were solved", "components"),
        count("next_id", "the first id that was not given yet"),
    ]
)

MOVED_RECORDS = pa.schema(
    [
        GRAPH,
        text("record", "a record of both runs whose cluster has another id", key=True),
        count("before", "id in the previous run", "label"),
        count("after", "id in this run", "label"),
        text("event", "'merged' or 'split', as in ledger"),
    ]
)

_PACKED = "null where there was no set packing"

COMPONENTS = pa.schema(
    [
        GRAPH,
        _component(key=True),
        count("num_records", "records of the component", "records"),
        count("num_pairs", "scored pairs within it", "pairs"),
        count("num_clusters", "clusters that it was partitioned into", "clusters"),
        text("solver", "what partitioned it"),
        text("missing", "what holds for pairs without a score: 'forbid' or 'zero'"),
        text("status", "'proven': no partition is better; 'feasible': not known to be; 'none': there is none"),
        number("objective", "sum of the weights within clusters"),
        number("bound", "no partition has more"),
        number("gap", "distance of bound and objective, in units of the larger of 1 and the objective"),
        number("seconds", "time that the solver took, in the run that solved it", "seconds"),
        count("num_cuts", "constraints that were added to the first relaxation"),
        count("num_branches", "subproblems beyond the first"),
        count("num_cliques", f"cliques of two records or more that were listed: all, or the maximal ones; {_PACKED}"),
        number("clustering_coefficient", f"mean share of scored pairs among neighbours of a record; {_PACKED}"),
        number("listing_seconds", f"time until the cliques were listed, phase 1; {_PACKED}", "seconds"),
        number("packing_seconds", f"time of the packing after that, phase 2; {_PACKED}", "seconds"),
        column("is_reused", pa.bool_(), "whether it did not change since the previous run, and was taken over"),
        count("content", "number that stands for its pairs, constraints and solver: equal ones are the same"),
    ]
)

METRICS = pa.schema(
    [
        GRAPH,
        text("metric", "name of the measure of agreement with the gold clusters", key=True),
        number("value", "from 0 to 1, and 1 if all agrees; the adjusted Rand index may be negative"),
        count("num_records", "records that both have", "records"),
        STATUS,
        REASON,
    ]
)

EXPLANATIONS = pa.schema(
    [
        GRAPH,
        _component(),
        text(
            "kind",
            "'merge', 'near_miss', 'split_pair' (positive, but apart), 'joined_pair' (negative, but together), "
            "'false_merge' (together, but not in gold), 'false_split' (the reverse), 'asked' (a record and a cluster) "
            "or 'asked_pair'",
            key=True,
        ),
        count(
            "cluster",
            "cluster of a merge or of a pair that is together, or that a near miss or a question is about; null for a "
            "pair that is apart",
            "label",
            key=True,
        ),
        text(
            "record",
            "the record that was left out (near_miss) or asked about, the weakest one (merge), or the pair's first",
            key=True,
        ),
        text("other", "the pair's second record; null for what is about a cluster", key=True),
        number(
            "weight",
            "weight of the pair, null if it was never scored or may not be together; of a merge that within it; of a "
            "near miss or an asked record what it would bring, or brings",
        ),
        number("held", "sum of the weights of the record's pairs in its own cluster; null for a pair"),
        number(
            "support",
            "sum of the positive weights between the record and the cluster; null but for near misses and questions",
        ),
        number("opposition", "sum of the negative weights between them"),
        count("num_forbidden", "pairs between them that may not share a cluster", "pairs"),
        column("tipping_records", pa.list_(pa.string()), "records of the cluster that speak most against the record"),
        column("tipping_weights", pa.list_(pa.float64()), "their weights with it; null where the pair is forbidden"),
    ]
)

AGREEMENTS = pa.schema(
    [
        text("field", "column of the records that is compared", key=True),
        count("degree", "degree of agreement, from 0: different", key=True),
        text("agreement", "what the degree means, in words"),
        count("num_matches", "labelled pairs of one entity that agree so", "pairs"),
        count("num_distinct", "labelled pairs of two entities that agree so", "pairs"),
        number("m", "share of the pairs of one entity that agree so"),
        number("u", "share of the pairs of two entities that agree so"),
        number("match_weight", "log2 m / u: what the agreement speaks for a match", "bits"),
        number("prior", "share of matches among all compared pairs, the same in every row"),
    ]
)

CONSTRAINT_COUNTS = pa.schema(
    [
        GRAPH,
        text("constraint", "'must_link', 'cannot_link' or 'one_per_source'", key=True),
        count("num_given", "pairs, or records with a source", "pairs or records"),
        count("num_unknown", "of these: with a record that the graph does not have, left out", "pairs or records"),
        count("num_scored", "scored pairs that it keeps together, or apart", "pairs"),
        count("num_against", "of these: whose weight speaks for the reverse", "pairs"),
        number("weight_against", "sum of these weights, without their sign"),
    ]
)

DRAWN_PAIRS = pa.schema(
    [
        GRAPH,
        _component(),
        text("left", "a record of the pair", key=True),
        text("right", "the other one", key=True),
        number("weight", "score of the pair"),
    ]
)
"""All scored pairs of the components that the report draws."""

TABLES = {
    "agreements": AGREEMENTS,
    "pair_counts": PAIR_COUNTS,
    "constraint_counts": CONSTRAINT_COUNTS,
    "clusters": CLUSTERS,
    "components": COMPONENTS,
    "ledger": LEDGER,
    "ledger_counts": LEDGER_COUNTS,
    "moved_records": MOVED_RECORDS,
    "metrics": METRICS,
    "explanations": EXPLANATIONS,
    "drawn_pairs": DRAWN_PAIRS,
}

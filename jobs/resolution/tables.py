"""The tables of `entity_resolution`."""

from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, schemas

_KINDS = ("precision", "recall", "f1")
_FAMILIES = {
    "cluster": "cluster",
    "b_cubed": "B-cubed",
    "b_cubed_by_cluster": "B-cubed by cluster",
    "ceaf_entity": "CEAF-e",
    "ceaf_mention": "CEAF-m",
    "muc": "MUC",
    "blanc": "BLANC",
}
METRICS = {
    "f1": "pairwise F1",
    "precision": "precision",
    "recall": "recall",
    "homogeneity": "homogeneity",
    "completeness": "completeness",
    "v_measure": "V-measure",
    "adjusted_rand": "adjusted Rand index",
    "fowlkes_mallows": "Fowlkes–Mallows index",
    "lowest_precision": "precision at least, if gold’s clusters are whole",
    **{f"{name}_{kind}": f"{title} {kind.replace('f1', 'F1')}" for name, title in _FAMILIES.items() for kind in _KINDS},
    "conll_f1": "CoNLL F1",
    "name_variation": "gold clusters with several names",
    "homonymy": "gold clusters that share a name",
}
"""Of agreement with gold clusters, the most important first."""

TARGETS = {
    **{name: f"pairwise {METRICS[name].removeprefix('pairwise ')}" for name in ("precision", "recall", "f1")},
    **{name: METRICS[name] for name in ("cluster_precision", "cluster_recall", "b_cubed_precision", "b_cubed_recall")},
    "matching_rate": "records that share their true cluster",
    "mean_size": "records of a true cluster",
    "name_variation": "true clusters with several names",
    "homonymy": "true clusters that share a name",
}
"""Of estimates."""

_DESIGNS = {
    "by_record": "whole entities of drawn records",
    "by_cluster": "drawn entities",
    "sampled_pairs": "labelled pairs",
}

_CONSTRAINTS = {
    "must_link": "records that are one entity",
    "cannot_link": "records that are not",
    "one_per_source": "one record of each source",
}
_COMPONENT = (
    "connected component of the positive pairs (of all scored ones for centroid_linkage), numbered by size, the "
    "largest first"
)
_MISSING = "what holds for pairs without a score: 'forbid' or 'zero'"
_OVER_CLUSTERS = "its interval over true clusters, each left out in turn"
_PACKED = "null where there was no set packing"


class Agreements(Table, name="agreements", has_status=False):
    field: str = key("column of the records that is compared")
    degree: int = key("degree of agreement, from 0: different")
    agreement: str = doc("what the degree means, in words")
    num_matches: int = doc("labelled pairs of one entity that agree so", "pairs")
    num_distinct: int = doc("labelled pairs of two entities that agree so", "pairs")
    m: float = doc("share of the pairs of one entity that agree so")
    u: float = doc("share of the pairs of two entities that agree so")
    match_weight: float = doc("log2 m / u: what the agreement speaks for a match", "bits")
    prior: float = doc("share of matches among all compared pairs, the same in every row")


class TermFrequencies(Table, name="term_frequencies", has_status=False):
    field: str = key("column of the records that is compared")
    value: str | None = key("a value, as it is compared; null for any that no record has")
    share: float = doc("of the records with a value, those that have this one")


class Sessions(Table, name="sessions", has_status=False):
    session: str = key("blocking rule among whose pairs m was estimated without labels")
    field: str = key("column of the records that is compared")
    degree: int = key("degree of agreement, from 0: different")
    m: float = doc("share of the matches that agree so, by this session; null if no pair of it does")
    num_pairs: int = doc("pairs of the session, the same in each of its rows", "pairs")
    match_share: float = doc("share of matches among them, the same in each of its rows")


class Fits(Table, name="fits", has_status=False):
    session: str = key("blocking rule among whose pairs m was estimated without labels")
    field: str = key("a column of the records that is compared")
    other: str = key("another one", heading="other field")
    num_pairs: int = doc("pairs of the session with a value of both", "pairs")
    bits: float = doc("divergence of the model from how the two agree together: G^2 / (2 n ln 2)", "bits", digits=3)
    observed: float = doc("share of pairs that agree to the highest degree in both", show="percent")
    fitted: float = doc("what the model expects of it", show="percent")


class Blocking(Table, name="blocking", has_status=False):
    rule: str = key("columns that two records must share, with the number of their first characters")
    num_pairs: int = doc("pairs that the rule proposes", "pairs")
    num_new: int = doc("of these, pairs that no rule before it proposes", "pairs", heading="new")
    largest: str | None = doc("key of the block with the most pairs", heading="largest block")
    num_records: int | None = doc("records of this block", "records", heading="its records")


class Unlinkable(Table, name="unlinkable", has_status=False):
    threshold: float = key("match probability")
    share: float = doc("records that are no match even of themselves by this threshold: too little is in them")


class Thresholds(Table, name="thresholds", has_status=False):
    threshold: float = key("match probability from which on a pair counts as a match")
    num_true: int = doc("such pairs of one gold cluster, of records that the scorer did not learn from", "pairs")
    num_false: int = doc("such pairs of two", "pairs")
    precision: float = doc("share of these pairs that are of one gold cluster")
    recall: float = doc("of the pairs within gold clusters, proposed or not, those that count as a match")


class Scorers(Table, name="scorer", has_status=False):
    digest: str = key("stands for all that the score of a pair depends on but its records: equal ones score alike")
    settings: str = doc("how records are compared, as JSON")
    versions: str = doc("of what compares them")


class ScoredPairs(Table, name="scored_pairs", has_status=False):
    left: str = key("a record of the pair, the first by name")
    right: str = key("the other one")
    match_probability: float = doc("probability that they are one entity, as the scorer has it")


class RecordContents(Table, name="record_contents", has_status=False):
    record: str = key("id of the record")
    content: str = doc("what the scorer reads of it, by number of field and of blocking rule, as JSON")
    is_training: bool = doc("whether the scorer learnt from its cluster")


class NightCounts(Table, name="night_counts", has_status=False):
    num_records: int = key("records that there are now", "records")
    num_new: int = doc("records that were not there in the previous run", "records")
    num_changed: int = doc("records of which the scorer reads another value", "records")
    num_removed: int = doc("records that are not there any more", "records")
    num_kept: int = doc("scored pairs that were taken over from the previous run", "pairs")
    num_dropped: int = doc("scored pairs of the previous run that were not", "pairs")
    num_scored: int = doc("pairs that were scored in this run", "pairs")
    share_scored: float = doc("their share of all scored pairs that there are now", show="percent")


class GapPairs(ScoredPairs, name="gap_pairs", has_status=False):
    """Pairs that no rule proposes, of records that other pairs connect."""


class GapCounts(Table, name="gap_counts", has_status=False):
    most: int = key("records of a component, at most, whose pairs are all scored", "records")
    num_pairs: int = doc("pairs within such components that no rule proposes", "pairs")
    num_positive: int = doc("of these, those that the scorer takes for matches", "pairs", heading="matches")
    num_kept: int = doc("of these pairs, those with the score of the previous run", "pairs", heading="taken over")
    num_large: int = doc("larger components, which have the pairs that rules propose", "components", heading="larger")
    num_left: int = doc("records of these", "records", heading="their records")


class OfGraph(Table):
    graph: str = key("graph of records that was partitioned by itself: the file, or a case of a study")


class PairCounts(OfGraph, name="pair_counts", has_status=False):
    num_records: int = doc("different records", "records")
    num_pairs: int = doc("pairs that were kept", "pairs")
    num_self_pairs: int = doc("pairs of a record with itself, left out", "pairs")
    num_repeated: int = doc("pairs that came again with the same weight, left out", "pairs")
    num_contradicting: int = doc("pairs that came again with another weight: the mean of all was taken", "pairs")
    num_below_threshold: int = doc("pairs under the threshold, taken for never scored", "pairs")
    missing: str = doc(_MISSING)
    threshold: float | None = doc("weight under which a pair counts as never scored; null if there is none")


class ConstraintCounts(OfGraph, name="constraint_counts", has_status=False):
    constraint: str = key("'must_link', 'cannot_link' or 'one_per_source'", show=_CONSTRAINTS.__getitem__)
    num_given: int = doc("pairs, or records with a source", "pairs or records")
    num_unknown: int = doc(
        "of these: with a record that the graph does not have, left out",
        "pairs or records",
        heading="of records that are not here",
    )
    num_scored: int = doc("scored pairs that it keeps together, or apart", "pairs", heading="scored pairs decided")
    num_against: int = doc("of these: whose weight speaks for the reverse", "pairs", heading="overruled")
    weight_against: float = doc("sum of these weights, without their sign")


class Clusters(OfGraph, name="clusters", has_status=False):
    record: str = key("id of the record, as in the input")
    cluster: int = doc("number of the cluster: records with the same one are taken for one entity", "label")
    id: int = doc("id of the cluster, which stays with it from run to run by previous=<run directory>", "label")
    component: int = doc(_COMPONENT, "label")


class Components(OfGraph, name="components", has_status=False):
    component: int = key(_COMPONENT, "label")
    num_records: int = doc("records of the component", "records")
    num_pairs: int = doc("scored pairs within it", "pairs")
    num_clusters: int = doc("clusters that it was partitioned into", "clusters")
    solver: str = doc("what partitioned it")
    missing: str = doc(_MISSING)
    status: str = doc("'proven': no partition is better; 'feasible': not known to be; 'none': there is none")
    objective: float = doc("sum of the weights within clusters")
    bound: float = doc("no partition has more")
    gap: float = doc("distance of bound and objective, in units of the larger of 1 and the objective")
    seconds: float = doc("time that the solver took, in the run that solved it", "seconds")
    num_cuts: int = doc("constraints that were added to the first relaxation")
    num_branches: int = doc("subproblems beyond the first")
    num_cliques: int = doc(f"cliques of two records or more that were listed: all, or the maximal ones; {_PACKED}")
    clustering_coefficient: float = doc(f"mean share of scored pairs among neighbours of a record; {_PACKED}")
    listing_seconds: float = doc(f"time until the cliques were listed, phase 1; {_PACKED}", "seconds")
    packing_seconds: float = doc(f"time of the packing after that, phase 2; {_PACKED}", "seconds")
    is_reused: bool = doc("whether it did not change since the previous run, and was taken over")
    content: int = doc("number that stands for its pairs, constraints and solver: equal ones are the same")


class Ledger(OfGraph, name="ledger", has_status=False):
    before: int = key("id in the previous run; null for records that it did not have", "label")
    after: int = key("id in this run; null for records that are not there any more", "label")
    event: str = doc(
        "'kept': the same id; 'merged': the id before is no more; 'split': it lives on elsewhere; 'new': the records "
        "were not there before; 'vanished': they are not there any more"
    )
    num_records: int = doc("records that went from the one to the other", "records")
    num_before: int = doc("all records of the cluster before; 0 if there was none", "records")
    num_after: int = doc("all records of the cluster now; 0 if there is none", "records")


class LedgerCounts(OfGraph, name="ledger_counts", has_status=False):
    num_kept: int = doc("clusters whose id is that of a cluster before", "clusters")
    num_unchanged: int = doc("of these: with the same records", "clusters")
    num_merged: int = doc("clusters before whose id ended, and whose records are in others", "clusters")
    num_split: int = doc("clusters before whose id lives on, and some of whose records are in others", "clusters")
    num_new: int = doc("clusters none of whose records was there before", "clusters")
    num_vanished: int = doc("clusters before none of whose records is there any more", "clusters")
    num_reused: int = doc("components that did not change, and were taken over", "components")
    num_solved: int = doc("components that were solved", "components")
    next_id: int = doc("the first id that was not given yet")


class MovedRecords(OfGraph, name="moved_records", has_status=False):
    record: str = key("a record of both runs whose cluster has another id")
    before: int = doc("id in the previous run", "label")
    after: int = doc("id in this run", "label")
    event: str = doc("'merged' or 'split', as in ledger")


class LedgerPairs(OfGraph, name="ledger_pairs", has_status=False):
    before: int = key("id in the previous run", "label")
    after: int = key("id in this run of the cluster that records of it merged into, or that was split from it", "label")
    rank: int = key("1: the pair whose match probability changed most")
    left: str = doc("a record of the pair")
    right: str = doc("the other one", heading="other record")
    probability_before: float = doc("match probability in the previous run; null if the pair was not scored", digits=3)
    match_probability: float = doc("match probability in this run; null if the pair is not scored", digits=3)


class Metrics(OfGraph, name="metrics"):
    metric: str = key(
        "name of the measure of agreement with the gold clusters", heading="measure", show=METRICS.__getitem__
    )
    value: float = doc("from 0 to 1, and 1 if all agrees; the adjusted Rand index may be negative", digits=4)
    num_records: int = doc("records that both have", "records")
    num_absent: int = doc("of these, that the prediction lacks: each counts as a cluster of its own", "records")


class AbsentRecords(OfGraph, name="absent_records", has_status=False):
    record: str = key("a record of gold that no pair has, or no row of the records")
    num_others: int = doc("records of its gold cluster that are there", "records", heading="others of its cluster")


class Estimates(OfGraph, name="estimates"):
    target: str = key("what is estimated of all clusters", show=TARGETS.__getitem__)
    design: str = key("what was drawn: 'by_record', 'by_cluster' or 'sampled_pairs'", show=_DESIGNS.__getitem__)
    value: Estimate = doc("a share, or a number of records", interval="its interval over what was drawn")
    effective_number: float = doc("units of one weight that would be as uncertain", digits=0)
    num_clusters: int = doc("clusters that it rests on", "clusters")


class OfGroup(OfGraph):
    group: str = key("group of records")
    metric: str = key("name of the measure", heading="measure", show=TARGETS.__getitem__)


class GroupMetrics(OfGroup, name="group_metrics"):
    value: Estimate = doc("of its records, of pairs with one of them at least, or of clusters", interval=_OVER_CLUSTERS)
    num_records: int = doc("its records whose true cluster is known", "records")
    num_clusters: int = doc("true clusters that it rests on", "clusters")


class GroupDifferences(OfGroup, name="group_differences"):
    difference: Estimate = doc("of the group, less that of all other groups together", interval=_OVER_CLUSTERS)
    p: float = doc("two-sided, of the hypothesis that there is none", show="p_value")
    p_holm: float = doc("the same, adjusted by Holm for all groups of the measure", show="p_value")
    num_clusters: int = doc("true clusters in which the two sides differ", "clusters")


class PairsToLabel(OfGraph, name="pairs_to_label", has_status=False):
    left: str = key("a record of a pair that was drawn of all within clusters")
    right: str = key("the other one")
    cluster: int = doc("number of their cluster", "label")


class RecordsToLabel(OfGraph, name="records_to_label", has_status=False):
    record: str = key("a record that was drawn, whose whole entity is to be found")
    cluster: int = doc("number of its cluster", "label")


class ClusterStructure(OfGraph, name="cluster_structure", has_status=False):
    cluster: int = key("number of a cluster of three records or more", "label", show=str)
    num_records: int = doc("records of the cluster", "records")
    num_pairs: int = doc("positive pairs within it", "pairs")
    num_bridges: int = doc("of these: without which it falls apart", "pairs")
    density: float = doc("positive pairs, of all pairs of its records", show="percent")
    is_weak: bool = doc("whether it has a bridge and a density below one half: to be reviewed first")


class Explanations(OfGraph, name="explanations", has_status=False):
    component: int = doc(_COMPONENT, "label")
    kind: str = key(
        "'merge', 'near_miss', 'split_pair' (positive, but apart), 'joined_pair' (negative, but together), "
        "'false_merge' (together, but not in gold), 'false_split' (the reverse), 'asked' (a record and a cluster) or "
        "'asked_pair'"
    )
    cluster: int = key(
        "cluster of a merge or of a pair that is together, or that a near miss or a question is about; null for a pair "
        "that is apart",
        "label",
    )
    record: str = key(
        "the record that was left out (near_miss) or asked about, the weakest one (merge), or the pair's first"
    )
    other: str = key("the pair's second record; null for what is about a cluster", heading="other record")
    weight: float = doc(
        "weight of the pair, null if it was never scored or may not be together; of a merge that within it; of a near "
        "miss or an asked record what it would bring, or brings"
    )
    held: float = doc("sum of the weights of the record's pairs in its own cluster; null for a pair")
    support: float = doc(
        "sum of the positive weights between the record and the cluster; null but for near misses and questions"
    )
    opposition: float = doc("sum of the negative weights between them")
    num_forbidden: int = doc("pairs between them that may not share a cluster", "pairs")
    tipping_records: list[str] = doc("records of the cluster that speak most against the record")
    tipping_weights: list[float] = doc("their weights with it; null where the pair is forbidden")


class Reliability(Table, name="reliability", has_status=False):
    stage: str = key("'raw': scores as they are; 'calibrated': what became of them", heading="probabilities")
    bin: int = key("ten of equally many held-out pairs, as far as equal probabilities allow it, from 0, the lowest")
    mean: float = doc("mean probability", digits=4)
    share: Estimate = doc(
        "share of matches, over all pairs that these stand for",
        digits=4,
        interval="its 95 % interval over true clusters, or over groups of labelled pairs that share records",
    )
    num_pairs: int = doc("held-out pairs", "pairs")
    num_units: int = doc("clusters, or groups, that the share rests on", heading="clusters")


class Calibrations(Table, name="calibration", has_status=False):
    stage: str = key("as in reliability", heading="probabilities")
    method: str | None = doc("'platt', 'beta' or 'isotonic'; null of raw scores")
    parameters: list[float] | None = doc(
        "logit q = c + a logit p (platt) or c + a ln p - b ln(1 - p) (beta): c, a and b; the probability at each knot "
        "(isotonic)"
    )
    knots: list[float] | None = doc("scores p between which isotonic probabilities are straight lines; else empty")
    shift: float | None = doc("log odds of a match among all proposed pairs, less those among the labels", digits=2)
    num_fitted: int | None = doc("labelled pairs that it was fitted to", "pairs")
    num_judging: int = doc("labelled pairs that nothing was fitted to", "pairs", heading="held-out pairs")
    ece: float | None = doc(
        "mean distance of mean probability and share of matches in the bins, over all pairs",
        heading="calibration error",
        digits=4,
    )
    brier: float | None = doc("mean squared distance of probabilities from the truth", heading="Brier score", digits=4)
    log_loss: float | None = doc("mean of -ln of the probability of the truth", "nats", digits=4)
    true_share: float | None = doc(
        "share of matches among pairs of positive weight", heading="matches of positive pairs", show="percent"
    )


class PriorSensitivity(OfGraph, name="prior_sensitivity", has_status=False):
    factor: float = key("by which the odds of every pair are multiplied; 1: the clusters of this run", show="number")
    num_clusters: int = doc("clusters", "clusters")
    num_merges: int = doc("of these: with records of several clusters of this run", "clusters", heading="merges")
    num_splits: int = doc("clusters of this run whose records are in several of these", "clusters", heading="splits")
    num_pairs_moved: int = doc("pairs of records that are together in one of both partitions", "pairs")
    f1: float | None = doc(
        "pairwise F1 of the two partitions; null if no pair is together in either", heading="F1", digits=4
    )
    f1_gold: float | None = doc("pairwise F1 against gold clusters", heading="F1 against gold", digits=4)


class DrawnPairs(OfGraph, name="drawn_pairs", has_status=False):
    """All scored pairs of the components that the page draws."""

    component: int = doc(_COMPONENT, "label")
    left: str = key("a record of the pair")
    right: str = key("the other one")
    weight: float = doc("score of the pair")


class CanonicalCells(OfGraph, name="canonical_cells", has_status=False):
    id: int = key("id of the cluster, as in clusters", "label", heading="cluster id")
    field: str = key("column of the records", heading="column")
    value: str = doc("what the cluster's row has there, as text")
    record: str = doc("the record that it comes from")
    rule: str = doc("by which it was chosen")
    num_agreeing: int = doc("records of the cluster that have this value", "records", heading="agree")
    num_values: int = doc("records of the cluster that have any", "records", heading="of")


LEARNT = (Agreements, TermFrequencies, Sessions, Fits, Blocking, Unlinkable)

TABLES = schemas(
    *LEARNT,
    Thresholds,
    PairCounts,
    ConstraintCounts,
    Clusters,
    Components,
    Ledger,
    LedgerCounts,
    MovedRecords,
    Metrics,
    Explanations,
    DrawnPairs,
    AbsentRecords,
    Estimates,
    GroupMetrics,
    GroupDifferences,
    PairsToLabel,
    RecordsToLabel,
    ClusterStructure,
    CanonicalCells,
    Reliability,
    Calibrations,
    PriorSensitivity,
    Scorers,
    ScoredPairs,
    RecordContents,
    NightCounts,
    GapPairs,
    GapCounts,
    LedgerPairs,
)

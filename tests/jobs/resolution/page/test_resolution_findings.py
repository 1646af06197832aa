"""What the page says of a partition in sentences."""

import pytest

from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.resolution.page.words import explanation


def parts(partition, frames, kind):
    """The blocks of a kind in what was found, and in how sure it is."""
    _, found, sure = partition.body(frames).lead.parts
    return [[block for block in part.blocks if isinstance(block, kind)] for part in (found, sure)]


def sentences(partition, **changed):
    """What was found, and how sure it is."""
    (found,), (sure,) = parts(partition, partition.resolved() | changed, Bullets)
    return found.items, sure.items


def warnings(partition, frames):
    return [block.text for block in parts(partition, frames, Paragraph)[1] if block.tone == "warning"]


# --- one graph ------------------------------------------------------------------------------------------------------


def test_a_partition_that_is_proven_is_told_from_its_extent_to_what_disagrees(partition):
    found, sure = sentences(partition)
    assert sure == [
        (
            "Positive pairs connect the records into 1 component, besides 1 record without any; it is proven: no "
            "partition has more than the objective of 3.25."
        ),
        "Solving took 1.25 s in all; the slowest, component 0 (6 records, 8 pairs), took 1.25 s.",
    ]
    assert found == [
        "7 records fall into 4 clusters, the largest of 3 records; 2 records are alone in their own.",
        (
            "Against the gold clusters, over the 7 of 7 records that have one: pairwise F1 95.7%, precision 100.0% and "
            "recall 91.8%."
        ),
        (
            "3 near misses: a record has positive pairs with a cluster, but is not in it. Of these, 1 is outweighed by "
            "negative pairs with it; 2 may not join, as some pair with it was never scored."
        ),
        (
            "3 of 10 pairs (30.0%) disagree with the clusters: 2 positive but apart (+1.25 in all) and 1 negative but "
            "together (−0.25 in all). In a proven partition that is so where scores contradict each other, or pairs "
            "between were never scored."
        ),
    ]
    assert warnings(partition, partition.resolved()) == []


def test_without_gold_nothing_is_said_of_it(partition):
    frames = {name: rows for name, rows in partition.resolved().items() if name != "metrics"}
    (found,), _ = parts(partition, frames, Bullets)
    assert not any("gold" in text for text in found.items)


def test_measures_that_are_undefined_are_left_out(partition):
    rows = [partition.metric("f1", 1.0), partition.metric("precision", float("nan"))]
    found, _ = sentences(partition, metrics=partition.table("metrics", *rows))
    assert "Against the gold clusters, over the 7 of 7 records that have one: pairwise F1 100.0%." in found


def test_metrics_say_on_how_many_records_they_rest(partition, messy):
    few = partition.table("metrics", partition.metric("f1", 0.5) | {"num_records": 3})
    found, _ = sentences(partition, metrics=few)
    assert "Against the gold clusters, over the 3 of 7 records that have one: pairwise F1 50.0%." in found
    learnt = partition.body(partition.resolved() | {"metrics": few}, records=messy).lead.findings[0].items
    assert "3 of 7 records that have one and that the scorer did not learn from: pairwise F1 50.0%." in learnt[1]


def test_components_that_are_not_proven_have_their_gap_and_a_bound_for_all(partition):
    rows = [partition.component(number, 5, seconds=float(number)) for number in range(3)]
    rows.append(partition.component(3, 4, status="feasible", gap=0.0125, seconds=60.0))
    rows.append(partition.component(4, 4, status="feasible", gap=0.0105, seconds=60.0))
    _, sure = sentences(partition, components=partition.table("components", *rows))
    assert sure[0] == (
        "Positive pairs connect the records into 5 components; 2 are not proven, with a gap of up to 1.250% (component "
        "3). No partition has more than 50.23, which is 0.23 above the objective of 50.00."
    )
    assert sure[1] == "Solving took 123 s in all; the slowest, component 3 (4 records, 4 pairs), took 60.00 s."


def test_components_without_a_partition_are_a_warning_and_leave_no_bound(partition):
    rows = [
        partition.component(0, 5),
        partition.component(1, 4, status="none", objective=float("-inf"), gap=float("inf")),
    ]
    frames = partition.resolved() | {"components": partition.table("components", *rows)}
    (text,) = warnings(partition, frames)
    assert text.startswith("1 component was not partitioned in time: each of their records is left alone.")
    found, sure = sentences(partition, components=frames["components"])
    assert "1 is not proven." in sure[0]
    assert "bound" not in " ".join([*found, *sure])


def test_a_partition_that_all_pairs_agree_with_says_so(partition):
    merges = partition.table("explanations", partition.merge("a", 0, 1.0, 0.5))
    found, _ = sentences(partition, explanations=merges)
    assert found[-2:] == [
        "There are no near misses: no record has a positive pair with a cluster that it is not in.",
        "All 10 pairs agree with the clusters: positive ones are together, negative ones apart.",
    ]


@pytest.mark.parametrize(
    ("num_pairs", "text"),
    [
        (0, "No pair has a score, so that each record is alone."),
        (1, "The only pair agrees with the clusters: positive ones are together, negative ones apart."),
    ],
)
def test_few_pairs_are_told_as_such(partition, num_pairs, text):
    counts = partition.table("pair_counts", partition.counts(num_pairs=num_pairs))
    merges = partition.table("explanations", partition.merge("a", 0, 1.0, 0.5))
    found, _ = sentences(partition, pair_counts=counts, explanations=merges)
    assert found[-1] == text


def test_where_no_pair_is_positive_there_is_nothing_to_solve(partition):
    rows = [partition.component(number, 1, num_pairs=0, objective=0.0, bound=0.0) for number in range(3)]
    _, sure = sentences(partition, components=partition.table("components", *rows))
    assert sure == ["No pair is positive: no partition is better than to leave each record alone."]


# --- near misses in words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sums", "more", "text"),
    [
        ((0.8, 0.0), {"held": 1.2}, "it would bring +0.80, no more than the +1.20 that hold it where it is."),
        (
            (0.8, -0.2),
            {"held": 0.6},
            "it would bring +0.80 − 0.20 = +0.60, no more than the +0.60 that hold it where it is.",
        ),
        (
            (0.8, -0.2),
            {"held": 0.1},
            (
                "it would bring +0.80 − 0.20 = +0.60; moved there, it would raise the objective by 0.50, so this "
                "partition is not the best one."
            ),
        ),
        (
            (2.0, -0.5),
            {"num_forbidden": 2, "tipping": [("b", None), ("c", None), ("d", -0.5)]},
            (
                "it would bring +2.00 − 0.50 = +1.50, but may not: 2 pairs between them have no score. Against it: "
                "“b” no score, “c” no score, “d” −0.50."
            ),
        ),
        (
            (1.0, 0.0),
            {"num_forbidden": 1, "tipping": [("b", None)]},
            "it would bring +1.00, but may not: 1 pair between them has no score. Against it: “b” no score.",
        ),
    ],
)
def test_near_misses_have_their_reason(partition, sums, more, text):
    row = partition.near_miss("r", 3, *sums, **more)
    assert explanation(row, "3 (“a”)") == f"“r” was left out of cluster 3 (“a”): {text}"


# --- a study --------------------------------------------------------------------------------------------------------


def test_thresholds_that_are_alike_have_no_highest_and_lowest(partition):
    rows = [partition.metric("f1", 1.0, name) for name in ("A all", "B all", "A T", "B T")]
    _, found, _ = partition.body(partition.study() | {"metrics": partition.table("metrics", *rows)}).lead.parts
    assert "F1 against the gold clusters is on average 100.0% at each threshold; " in found.blocks[0].items[1]


def test_a_study_tells_of_all_its_graphs(partition):
    _, found, sure = partition.body(partition.study()).lead.parts
    warning, bullets = sure.blocks
    assert bullets.items == [
        (
            "Positive pairs connect the records into 4 components, besides 1 record without any; 2 are not proven, "
            "with a gap of up to 5.000% (component 0 of “B all”)."
        ),
        "Solving took 66.00 s in all; the slowest, component 0 of “B all” (6 records, 6 pairs), took 60.00 s.",
    ]
    assert found.blocks[0].items == [
        "4 graphs at 2 thresholds were partitioned: 21 records, counted in each, fall into 5 clusters.",
        (
            "F1 against the gold clusters is on average highest without a threshold (95.0%) and lowest at the "
            "threshold −0.3 (80.0%); it rests on 21 of the 21 records, counted in each graph."
        ),
    ]
    assert warning.tone == "warning"

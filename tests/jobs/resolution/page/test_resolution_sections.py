"""The sections of a page on a partition, and the page as a whole."""

import re
from functools import partial
from types import SimpleNamespace

import polars as pl
import pytest

from tests.fixtures.reports import reported
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Details, Grid, Page, Paragraph
from tiltmeter.jobs.report.page import write_report
from tiltmeter.jobs.report.wording import number
from tiltmeter.jobs.resolution.page.body import page as resolution_page
from tiltmeter.jobs.resolution.page.cluster_graphs import MAX_RECORDS
from tiltmeter.storage.store.runs import opened


def sections_of(partition, frames, drawn=()):
    return {section.anchor: section.blocks for section in partition.body(frames, drawn=drawn).sections}


def of_kind(blocks, kind):
    """Those that are shown, and those that a reader opens."""
    inner = [block for outer in blocks if isinstance(outer, Details) for block in of_kind(outer.blocks, kind)]
    return [block for block in blocks if isinstance(block, kind)] + inner


def texts(blocks):
    return " ".join(block.text for block in of_kind(blocks, Paragraph))


# --- which sections there are ---------------------------------------------------------------------------------------


def test_sections_follow_the_questions(partition):
    asked = ["components", "near-misses", "disagreements", "merges", "gold", "pairs"]
    assert list(sections_of(partition, partition.resolved())) == asked


def test_without_gold_or_disagreement_there_are_no_such_sections(partition):
    frames = {name: rows for name, rows in partition.resolved().items() if name != "metrics"}
    frames["explanations"] = frames["explanations"].filter(kind="merge")
    assert list(sections_of(partition, frames)) == ["components", "merges", "pairs"]


# --- components -----------------------------------------------------------------------------------------------------


def test_components_have_their_numbers(partition):
    (grid,) = of_kind(sections_of(partition, partition.resolved())["components"], Grid)
    assert grid.caption == "All components."
    assert grid.rows == [
        ["0", "6", "8", "3", "proven", "3.25", "3.25", "0", "1.25", "0", "0", "cutting plane"],
        ["1", "1", "0", "1", "proven", "0.00", "0.00", "0", "0.00", "0", "0", "all positive"],
    ]


def test_packings_have_their_cliques_and_phases(partition):
    phases = {"num_cliques": 12, "clustering_coefficient": 0.5125, "listing_seconds": 0.25, "packing_seconds": 1.0}
    rows = [partition.component(0, 6, solver="set_packing", **phases), partition.component(1, 2, solver="all_positive")]
    frames = partition.resolved() | {"components": partition.table("components", *rows)}
    (grid,) = of_kind(sections_of(partition, frames)["components"], Grid)
    assert grid.headings[-4:] == ["cliques", "clustering", "phase 1 (s)", "phase 2 (s)"]
    assert [row[-4:] for row in grid.rows] == [["12", "0.512", "0.25", "1.00"], ["–"] * 4]


def test_components_of_centroids_are_of_scored_pairs(partition):
    body = partition.body(partition.resolved(), solver="centroid_linkage")
    words = " ".join(text for block in body.lead.doubts if isinstance(block, Bullets) for text in block.items)
    assert "Scored pairs connect the records into 1 component" in words
    (section,) = [section for section in body.sections if section.anchor == "components"]
    assert "no chain of scores connects" in texts(section.blocks)
    frames = partition.resolved()
    frames["pair_counts"] = frames["pair_counts"].with_columns(missing=pl.lit("zero"))
    shown = partition.body(frames, solver="centroid_linkage", missing="zero")
    assert shown.facts["pairs without a score"] == "are at distance 1, as if their probability were 0"
    (grid,) = shown.sections[-1].blocks
    assert "Pairs without a score are at distance 1, as if their probability were 0 (missing=zero)" in grid.caption


def test_of_many_components_the_hardest_are_shown(partition):
    # By size 0 to 7; by time 90 to 97; the largest gaps from 50 to 57, and one without a partition.
    rows = [partition.component(number, 200 - number, seconds=0.1) for number in range(100)]
    rows = [row | ({"seconds": 9.0} if 90 <= row["component"] < 98 else {}) for row in rows]
    for at in range(50, 60):
        rows[at] |= {"status": "feasible", "gap": 0.1 - at / 1000, "bound": 11.0}
    rows[70] |= {"status": "none", "objective": float("-inf"), "gap": float("inf"), "bound": 12.0}
    frames = partition.resolved() | {"components": partition.table("components", *rows)}
    (grid,) = of_kind(sections_of(partition, frames)["components"], Grid)
    assert [int(row[0]) for row in grid.rows] == [*range(8), *range(50, 58), 70, *range(90, 98)]
    assert grid.caption.endswith("Shown: 25 of 100; the others are in the table components.")
    by_number = {int(row[0]): row for row in grid.rows}
    assert by_number[50][5:8] == ["10.00", "11.00", "5.000%"]
    assert by_number[70][4:8] == ["none", "−∞", "12.00", "∞"]


# --- explanations ---------------------------------------------------------------------------------------------------


def test_near_misses_come_with_reasons_those_that_would_bring_most_first(partition):
    (bullets,) = of_kind(sections_of(partition, partition.resolved())["near-misses"], Bullets)
    assert bullets.items == [
        (
            "“c” was left out of cluster 1 (“d” and “e”): it would bring +0.50, but may not: 1 pair between them has "
            "no score. Against it: “e” no score."
        ),
        "“d” was left out of cluster 0 (“a”, “b” and “c”): it would bring +0.50 − 1.00 = −0.50. Against it: “a” −1.00.",
        (
            f"“{partition.TAGGED}” was left out of cluster 0 (“a”, “b” and “c”): it would bring +0.75 − 1.50 = −0.75, "
            "but may not: 1 pair between them has no score. Against it: “c” no score, “a” −1.50."
        ),
    ]


def test_near_misses_of_messy_records_show_their_fields_beside_those_of_the_cluster(partition, messy):
    shown = {section.anchor: section.blocks for section in partition.body(partition.resolved(), records=messy).sections}
    (grid,) = of_kind(shown["near-misses"], Grid)
    assert grid.headings == ["record", "cluster", "name", "born"]
    assert grid.rows == [
        ["c", "left out of 1", "Cy", "1903"],
        ["d", "in 1", "Di", "–"],
        ["e", "in 1", "Ed", "1905"],
        ["d", "left out of 0", "Di", "–"],
        ["a", "in 0", "Al", "1901"],
        ["b", "in 0", "Bo", "1902"],
        ["c", "in 0", "Cy", "1903"],
        [partition.TAGGED, "left out of 0", "<i>", "1906"],
        ["a", "in 0", "Al", "1901"],
        ["b", "in 0", "Bo", "1902"],
        ["c", "in 0", "Cy", "1903"],
    ]
    assert of_kind(shown["merges"], Grid) == []


def test_merges_come_with_what_is_held_least(partition):
    (bullets,) = of_kind(sections_of(partition, partition.resolved())["merges"], Bullets)
    assert bullets.items == [
        "Cluster 0 (“a”, “b” and “c”): its pairs add up to +1.75; “c” is held least, by +0.75.",
        "Cluster 1 (“d” and “e”): its pairs add up to +1.50; “d” is held least, by +1.50.",
    ]


def test_disagreeing_pairs_stand_by_their_sign(partition):
    split, joined = of_kind(sections_of(partition, partition.resolved())["disagreements"], Grid)
    assert split.rows == [["b", partition.TAGGED, "+0.75", "0"], ["c", "d", "+0.50", "0"]]
    assert joined.rows == [["b", "c", "−0.25", "0"]]


def test_of_many_explanations_the_strongest_are_shown(partition):
    rows = [partition.near_miss(f"r{at:02}", 0, at / 10, 0.0) for at in range(40)]
    rows += [partition.merge(f"r{at:02}", 0, 9.0, at / 10) for at in range(40)]
    frames = partition.resolved() | {"explanations": partition.table("explanations", *rows)}
    frames["clusters"] = partition.clusters(one="abcdefg")
    shown = sections_of(partition, frames)
    (missed,), (merged,) = (of_kind(shown[name], Bullets) for name in ("near-misses", "merges"))
    assert [re.match("“(r..)”", item)[1] for item in missed.items] == [f"r{at}" for at in range(39, 24, -1)]
    assert [re.search("“(r..)”", item)[1] for item in merged.items] == [f"r{at:02}" for at in range(15)]
    assert "Those that would bring most; 25 more are in the table explanations." in texts(shown["near-misses"])
    assert "cluster 0 (“a”, “b”, “c”, “d” and 3 more)" in missed.items[0]


# --- drawings -------------------------------------------------------------------------------------------------------


def test_a_component_is_drawn_on_demand_with_its_explanations(partition):
    shown = sections_of(partition, partition.resolved(), drawn=[0])
    assert list(shown)[:2] == ["components", "component-0"]
    blocks = shown["component-0"]
    assert texts(blocks) == "6 records in 3 clusters, with an objective of 3.25, proven."
    assert len(of_kind(blocks, Chart)) == 1
    assert [len(bullets.items) for bullets in of_kind(blocks, Bullets)] == [3, 2]


def test_a_component_that_is_not_there_is_a_warning(partition):
    blocks = sections_of(partition, partition.resolved(), drawn=[7])["component-7"]
    assert texts(blocks) == "There is no component 7: leave it out of drawn."


@pytest.mark.parametrize("why", ["too large", "no pairs"])
def test_a_component_that_can_not_be_drawn_keeps_its_explanations(partition, why):
    frames = partition.resolved()
    if why == "too large":
        frames["components"] = partition.table("components", partition.component(0, MAX_RECORDS + 1))
    else:
        del frames["drawn_pairs"]
    blocks = sections_of(partition, frames, drawn=[0])["component-0"]
    assert of_kind(blocks, Chart) == []
    assert len(of_kind(blocks, Bullets)) == 2
    assert ("Too many to be drawn" in texts(blocks)) == (why == "too large")


# --- gold, pairs and studies ----------------------------------------------------------------------------------------


def test_metrics_have_f1_first(partition):
    (grid,) = sections_of(partition, partition.resolved())["gold"]
    assert grid.rows == [["pairwise F1", "0.9571"], ["precision", "1.0000"], ["recall", "0.9177"]]


def with_explanations(partition, *rows):
    frames = partition.resolved()
    return frames | {"explanations": frames["explanations"].vstack(partition.table("explanations", *rows))}


def test_scored_pairs_that_gold_contradicts_stand_by_what_is_to_blame(partition):
    rows = [
        partition.pair("false_merge", "a", "c", 1.0, cluster=0),
        partition.pair("false_merge", "b", "c", -0.25, cluster=0),
        partition.pair("false_split", "c", "d", 0.5),
    ]
    _, merged, split = sections_of(partition, with_explanations(partition, *rows))["gold"]
    assert merged.rows == [["a", "c", "+1.00", "0"], ["b", "c", "−0.25", "0"]]
    assert "All in all, 1 is together with a positive score and 1 with none above 0." in merged.caption
    assert split.rows == [["c", "d", "+0.50", "0"]]
    assert "All in all, 1 is apart with a positive score and 0 with none above 0." in split.caption


def test_what_was_asked_comes_first_with_an_answer(partition):
    rows = [
        partition.asked("e", 0, 0.0, -0.75, held=1.5, tipping=[("a", -0.5), ("b", -0.25)]),
        partition.asked("a", 0, 2.0, 0.0, held=2.0),
        partition.pair("asked_pair", "e", "a", -0.5),
        partition.pair("asked_pair", "e", "c", None),
        partition.pair("asked_pair", "a", "b", 1.0, cluster=0),
    ]
    shown = sections_of(partition, with_explanations(partition, *rows))
    assert next(iter(shown)) == "questions"
    (bullets,), (grid,) = (of_kind(shown["questions"], kind) for kind in (Bullets, Grid))
    assert bullets.items == [
        "“a” is in cluster 0 (“a”, “b” and “c”): it brings +2.00.",
        (
            "“e” was left out of cluster 0 (“a”, “b” and “c”): it would bring +0.00 − 0.75 = −0.75. "
            "Against it: “a” −0.50, “b” −0.25."
        ),
    ]
    assert sorted(grid.rows) == [
        ["a", "b", "+1.00", "yes"],
        ["e", "a", "−0.50", "no"],
        ["e", "c", "never scored", "no"],
    ]


def test_what_was_read_is_counted(partition):
    (grid,) = sections_of(partition, partition.resolved())["pairs"]
    assert [row[1] for row in grid.rows] == ["7", "10", "1", "2", "3", "4"]
    assert "Pairs without a score may not share a cluster (missing=forbid); threshold: none." in grid.caption


def test_a_study_has_thresholds_graphs_and_components(partition):
    thresholds, by_name, components = partition.body(partition.study()).sections
    (chart,), (grid,) = (of_kind(thresholds.blocks, kind) for kind in (Chart, Grid))
    assert list(chart.figures) == ["F1", "seconds", "gap"]
    # B T has no partition and no F1; that of B all is not proven.
    assert grid.rows == [
        ["none", "2", "14", "20", "2", "3", "1", "5.000%", "62.0", "95.0%"],
        ["−0.3", "2", "14", "20", "2", "2", "1", "–", "4.0", "80.0%"],
    ]
    rows = {row[0]: row[3:] for row in by_name.blocks[0].rows}
    assert list(rows) == ["B T", "B all", "A all", "A T"]
    assert rows["B all"] == ["1", "1", "1", "5.000%", "60.00", "90.0%"]
    assert rows["B T"] == ["1", "1", "1", "–", "3.00", "–"]
    (grid,) = of_kind(components.blocks, Grid)
    assert grid.headings[:2] == ["graph", "component"]


# --- the page -------------------------------------------------------------------------------------------------------


def test_every_name_is_escaped_and_no_number_is_nan(partition, html_of, figures_of):
    page = Page("", {}, [], partition.body(partition.resolved(), drawn=[0]).sections)
    html = html_of(page)
    assert partition.TAGGED not in html
    assert "&lt;b&gt;&amp;" in html
    assert not re.search("NaN|Infinity|None|null,", html + re.sub(r'"[xyz]":\[.*?\]', "", figures_of(page)))


def test_the_page_of_a_run_has_facts_and_the_columns_of_large_tables(partition, configured):
    settings = ("pairs=some/folder/pairs.csv", "drawn=[0]", "time_limit=30", "seed=7")
    config = configured("job=entity_resolution", *settings)
    frames = partition.resolved()
    published = {name: partition.arrow(name, rows) for name, rows in frames.items()}
    page = reported(partial(resolution_page, SimpleNamespace(config=config)), published)
    assert page.facts == {
        "job": "entity_resolution",
        "from": "pairs.csv",
        "records": "7",
        "pairs": "10",
        "pairs without a score": "may not share a cluster",
        "threshold": "none",
        "solver": "cutting plane",
        "time limit": "30 s",
        "seed": "7",
    }
    listed = {details.summary for details in page.sections[-1].blocks[-1].blocks}
    assert listed == set(partition.resolved())


@pytest.mark.parametrize("frames", ["resolved", "study"])
def test_the_report_is_written_from_the_files_of_a_run(partition, configured, tmp_path, frames):
    config = configured("job=entity_resolution", "pairs=pairs.csv")
    with opened(tmp_path / "run") as directory:
        directory.begin([*partition.resolved(), "absent"], job="entity_resolution", versions={})
        directory.write_text("config.yaml", "job: entity_resolution\n")
        for name, rows in getattr(partition, frames)().items():
            directory.write_table(name, partition.arrow(name, rows))
        runner = SimpleNamespace(records=[], failures={}, entry=None, store=None)
        write_report(SimpleNamespace(config=config, directory=directory, runner=runner), resolution_page)
        html = (tmp_path / "run" / "report.html").read_text()
    assert "<h1>Which records are one entity" in html
    assert number(-0.25, 2) in html or frames == "study"

"""The figures of a partition show the numbers of the tables."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.resolution.figures import MAX_LINES, by_threshold, cluster_graph, sizes


def pairs_of(weights):
    return pl.DataFrame(
        [(*pair, weight) for pair, weight in weights.items()], ["left", "right", "weight"], orient="row"
    )


@pytest.fixture(scope="module")
def graph(partition):
    clusters = {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, partition.TAGGED: 2}
    return drawn(cluster_graph(pairs_of(partition.PAIRS), clusters, seed=0))


def hovers(figure, name):
    """Of the dots at the middles of the lines of a kind, which follow them."""
    (at,) = [at for at, trace in enumerate(figure.data) if trace.name == name]
    return list(figure.data[at + 1].customdata)


# --- the graph of a component ---------------------------------------------------------------------------------------


def test_records_of_a_cluster_are_drawn_near_each_other(graph):
    x, y = (list(values) for values in (graph.data[-1].x, graph.data[-1].y))
    distance = {(a, b): (x[a] - x[b]) ** 2 + (y[a] - y[b]) ** 2 for a in range(5) for b in range(5)}
    assert max(distance[0, 1], distance[0, 2], distance[1, 2], distance[3, 4]) < min(distance[2, 3], distance[0, 4])


def test_the_same_seed_draws_the_same(partition, graph):
    clusters = {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, partition.TAGGED: 2}
    again, other = (drawn(cluster_graph(pairs_of(partition.PAIRS), clusters, seed)) for seed in (0, 1))
    assert again.to_json() == graph.to_json()
    assert other.to_json() != graph.to_json()


def test_of_many_pairs_those_of_most_weight_are_drawn_and_those_that_keep_a_cluster_whole():
    # Twenty records in one cluster; the last is held by its lightest pairs alone.
    names = [f"{at:02}" for at in range(20)]
    weights = {(a, b): 1.0 + int(b) / 100 for a in names for b in names if a < b < "19"}
    weights |= {(a, "19"): 0.01 for a in names[:19]}
    figure = drawn(cluster_graph(pairs_of(weights), dict.fromkeys(names, 0), seed=0))
    shown = hovers(figure, f"positive, together ({MAX_LINES} of {len(weights)})")
    assert len(shown) == MAX_LINES
    assert sum("– 19" in text for text in shown) == 1


# --- sizes and thresholds -------------------------------------------------------------------------------------------


def test_sizes_are_counted_by_powers_of_two():
    components = pl.DataFrame({"size": [1, 2, 3, 4, 9], "num": [5, 1, 2, 3, 1]})
    figure = drawn(sizes({"components": components, "clusters": pl.DataFrame({"size": [1], "num": [20]})}))
    first, second = figure.data
    assert list(first.x) == ["1", "2", "3–4", "5–8", "9–16"]
    assert list(first.y) == [5, 1, 5, 0, 1]
    assert list(second.y) == [20, 0, 0, 0, 0]


def test_thresholds_have_quartiles_ends_and_mean_and_none_comes_first():
    values = {None: [1.0, 0.5, 0.0], -0.3: [0.75, None], 0.2: [0.25]}
    rows = [(threshold, value) for threshold, of in values.items() for value in of]
    (box,) = drawn(by_threshold(pl.DataFrame(rows, ["threshold", "f1"], orient="row"), "f1", "F1 (%)", 100.0)).data
    assert list(box.x) == ["none", "−0.3", "0.2"]
    assert [list(part) for part in (box.lowerfence, box.q1, box.median, box.q3, box.upperfence, box.mean)] == [
        [0.0, 75.0, 25.0],
        [25.0, 75.0, 25.0],
        [50.0, 75.0, 25.0],
        [75.0, 75.0, 25.0],
        [100.0, 75.0, 25.0],
        [50.0, 75.0, 25.0],
    ]

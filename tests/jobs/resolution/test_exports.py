"""Records with their clusters, as a spreadsheet opens them."""

from datetime import timedelta

import polars as pl

from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.job import with_clusters

SCORER = RecordScorer(
    path="r.csv", id="id", fields={"name": {"kind": "string"}}, blocking=[{"name": 2}], clusters="c.csv"
)
CLUSTERS = pl.DataFrame({"graph": "records", "record": ["a", "b", "c"], "cluster": [1, 0, 1]})
CLUSTERS = CLUSTERS.with_columns(cluster_id=pl.Series([7, 5, 7]), component=pl.Series([0, 1, 0]))


def test_the_records_of_a_cluster_follow_each_other_beside_columns_of_the_same_names():
    records = pl.DataFrame({"id": ["a", "b", "c"], "cluster": ["x", None, "y"]})
    rows = [(0, 5, 1, "b", None), (1, 7, 0, "a", "x"), (1, 7, 0, "c", "y")]
    exported = with_clusters(records, CLUSTERS, SCORER)
    assert exported.columns == ["found_cluster", "cluster_id", "component", "id", "cluster"]
    assert exported.rows() == rows


def test_columns_that_a_csv_can_not_hold_are_left_out_and_ids_are_as_in_the_tables():
    columns = {
        "tags": [["x"], [], ["y"]],
        "raw": [b"\xff", b"", None],
        "age": [timedelta(1)] * 3,
        "size": [1.5, 2.0, None],
    }
    records = pl.DataFrame({"id": [b"c", b"a", b"b"], "name": ["Anne", "Ann", "Bea"], **columns})
    found = with_clusters(records, CLUSTERS, SCORER)
    assert found.write_csv().splitlines() == [
        "cluster,cluster_id,component,id,name,size",
        "0,5,1,b,Bea,",
        "1,7,0,c,Anne,1.5",
        "1,7,0,a,Ann,2.0",
    ]

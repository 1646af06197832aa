"""What a user may give to be resolved and gets back: every column once, every id one record, and a row at least."""

import dataclasses
import json
import shlex
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
import yaml

from tiltmeter.jobs.resolution.config import MentionStudy, RecordScorer
from tiltmeter.jobs.resolution.exports import with_clusters
from tiltmeter.jobs.resolution.graphs import ReadPairs, study_graphs
from tiltmeter.jobs.resolution.job import find_sources
from tiltmeter.jobs.resolution.previous import find_previous
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

MENTIONS = "topic,mention_id,mention_class,chain_id\n"
NAMED = {"name": {"kind": "string"}}


@pytest.fixture
def found(configured, tmp_path):
    """The files of a run; each is given as text, by the setting that names it."""

    def find(*settings, **texts):
        keys = {"records": "records.path", "labelled": "records.labelled", "clusters": "records.clusters"}
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text)
        keys |= {"mentions": "mentions.path"}
        paths = [f"{keys.get(name, name)}={tmp_path}/{name}.csv" for name in texts]
        groups = {"records": "+records=csv", "mentions": "+mentions=study"}
        config = configured(
            "job=entity_resolution", *(groups[name] for name in texts if name in groups), *paths, *settings
        )
        return config, find_sources(config).files

    return find


def read_pairs(files):
    return ReadPairs(files=files, threshold=None, missing="forbid").tables(None)


def graph(tmp_path, pairs, gold=None):
    """Tables by name of pairs, and of gold, given as columns of any type."""
    pl.DataFrame(pairs).write_parquet(tmp_path / "pairs.parquet")
    files = {"pairs": {"uri": str(tmp_path / "pairs.parquet")}}
    if gold is not None:
        pl.DataFrame(gold).write_parquet(tmp_path / "gold.parquet")
        files["gold"] = {"uri": str(tmp_path / "gold.parquet")}
    return {name: pl.DataFrame(table) for name, table in read_pairs(files)}


# --- before any work ------------------------------------------------------------------------------------------------


REFUSED = [line.split(" -> ") for line in Path(__file__).with_name("refused_inputs.txt").read_text().splitlines()]
"""Files by what they are to a run, with ` / ` between their lines, and settings; and the whole message."""


@pytest.mark.long
@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[given for given, _ in REFUSED])
def test_files_that_can_not_be_used_are_refused_with_what_is_wrong(found, tmp_path, given, message):
    texts = dict(part.split(": ", 1) for part in given.split(" | ") if ": " in part and "=" not in part)
    settings = [word for part in given.split(" | ") if "=" in part for word in shlex.split(part)]
    with pytest.raises((ConfigError, InputError)) as refusal:
        found(*settings, **{name: text.replace(" / ", "\n") + "\n" for name, text in texts.items()})
    assert str(refusal.value).replace(str(tmp_path), "") == message


def test_an_engine_that_is_not_there_is_refused(found):
    with pytest.raises(ConfigError, match=r"engine=abacus: PuLP finds no such engine .*HiGHS.*; set engine=<one of"):
        found("solver=set_packing", "engine=abacus", pairs="left,right,weight\na,b,1\n")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("none", "is no run directory: its run.json can't be read"),
        ({"job": "survey"}, "is a run of survey; name one of entity_resolution"),
        ({"status": "failed"}, "has the status 'failed'"),
        ({}, "has no ids in its table clusters"),
    ],
)
def test_a_previous_run_that_is_none_or_another_is_refused_with_the_key(configured, tmp_path, record, message):
    usual = {"job": "entity_resolution", "status": "succeeded", "tables": {}}
    if record != "none":
        (tmp_path / "run.json").write_text(json.dumps(usual | record))
    with pytest.raises(ConfigError, match=rf"previous=.*: {message}"):
        find_previous(configured("job=entity_resolution", "pairs=pairs.csv", f"previous={tmp_path}"))


@pytest.mark.parametrize(
    ("group", "record", "given"),
    [
        (
            "records/csv",
            RecordScorer,
            {"path": "r.csv", "fields": NAMED, "blocking": [{"name": 2}], "clusters": "c.csv"},
        ),
        ("mentions/study", MentionStudy, {"path": "mentions.csv"}),
    ],
)
def test_the_settings_of_the_group_are_the_defaults(group, record, given):
    settings = yaml.safe_load((Path(__file__).parents[3] / f"conf/{group}.yaml").read_text())
    assert record(**settings | given) == record(**given)
    assert set(settings) == {field.name for field in dataclasses.fields(record)}


def test_weights_and_probabilities_beside_each_other_must_agree(found):
    _, files = found(pairs="left,right,weight,match_probability\na,b,-0.5,0.25\na,c,0.702187,0.8510935\n")
    tables = dict(read_pairs({"pairs": files["pairs"].identity}))
    assert tables["pairs"]["weight"].to_pylist() == [-0.5, 0.702187]
    _, files = found(pairs="left,right,match_probability,weight\na,b,0.25,-0.5\na,c,0.75,-0.5\n")
    with pytest.raises(InputError, match=r"row 2 has weight -0.5, and a match_probability by which it would be 0.5"):
        dict(read_pairs({"pairs": files["pairs"].identity}))


@pytest.mark.parametrize("values", [[["x"], ["y"]], [{"x": 1}, {"x": 2}]])
def test_lists_and_structs_are_refused_before_any_work(configured, tmp_path, values):
    pl.DataFrame({"left": ["a", "b"], "right": values, "weight": [1.0, 1.0]}).write_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(InputError, match=r"^pairs: .* has lists or structs in column 'right'"):
        find_sources(configured("job=entity_resolution", f"pairs={tmp_path}/pairs.parquet"))


def test_columns_that_are_not_read_may_come_twice_or_have_no_name(found):
    _, files = found(pairs="left,right,weight,note,note,,\na,b,1,x,y,,\n")
    tables = dict(read_pairs({"pairs": files["pairs"].identity}))
    assert tables["pairs"].to_pydict() == {"left": [0], "right": [1], "weight": [1.0]}


# --- ids of pairs and gold ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "records"),
    [
        ([0.0, -0.0], ["0.0", "2.5"]),
        ([b"caf\xc3\xa9", b"caf\xc3\xa9"], ["2.5", "café"]),
        (["a", "b"], ["2.5", "a", "b"]),
    ],
)
def test_one_id_is_one_record_whatever_its_type(tmp_path, left, records):
    tables = graph(tmp_path, {"left": left, "right": [2.5, 2.5], "weight": [1.0, 1.0]})
    assert tables["records"]["record"].to_list() == records
    assert tables["pair_counts"]["num_repeated"].to_list() == [3 - len(records)]


@pytest.mark.parametrize(
    ("left", "message"),
    [
        ([b"a", b"\xff"], "column 'left' has bytes that are no text in UTF-8"),
        ([[1], [2]], "pairs.parquet: cannot be read as"),
        ([1, 2], "left is Int64 and right is Float64, so that 1 and 1.0 would be two records"),
    ],
)
def test_what_is_no_id_is_refused(tmp_path, left, message):
    with pytest.raises(InputError, match=message):
        graph(tmp_path, {"left": left, "right": [2.5, 2.5], "weight": [1.0, 1.0]})


def test_gold_clusters_are_told_apart_as_records_are(tmp_path):
    pairs = {"left": ["a", "b"], "right": ["b", "c"], "weight": [1.0, 1.0]}
    gold = graph(tmp_path, pairs, {"record": ["a", "b", "c"], "cluster": [0.0, -0.0, 1.0]})["gold"]
    assert gold["cluster"].to_list() == [1, 1, 2]
    for clusters in ([0, None, 1], [0.0, float("nan"), 1.0]):
        unknown = graph(tmp_path, pairs, {"record": ["a", "b", "c"], "cluster": clusters})["gold"]
        assert unknown["cluster"].to_list() == [1, None, 2]


def test_gold_of_other_records_and_weights_whose_sum_no_number_holds_are_refused(tmp_path):
    with pytest.raises(InputError, match="has none of the records of the pairs"):
        graph(tmp_path, {"left": ["a"], "right": ["b"], "weight": [1.0]}, {"record": ["other"], "cluster": [1]})
    with pytest.raises(InputError, match=r"weight 1e\+308 in row 1 of the pairs: all weights"):
        graph(tmp_path, {"left": ["a", "b"], "right": ["b", "c"], "weight": [1e308, 1e308]})


# --- studies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,m1,event,c1\n,m2,event,c1\n", "has no two mentions of one topic and class"),  # one lacks its topic
        ("a,m1,b c,c1\na,m2,b c,c1\na b,m1,c,c1\na b,m2,c,c1\n", "'topic a b c' names two graphs"),
        ("1,m1,event,c1\n2,m2,event,c1\n", "has no two mentions of one topic and class"),
        ("1,m1,event,c1\n" * 2, "has 1 ids twice in topic 1 event, such as m1; .* add a column 'document'"),
    ],
)
def test_mentions_of_which_no_graph_can_be_made_are_refused(found, rows, message):
    config, files = found(mentions=MENTIONS + rows)
    with pytest.raises(InputError, match=message):
        [dict(one.tables(None)) for one in study_graphs(config, config.mentions, files["mentions"])]


# --- what comes back ------------------------------------------------------------------------------------------------


CLUSTERED = pl.DataFrame({"graph": "records", "record": ["a", "b", "c"], "cluster": [1, 0, 1]})
CLUSTERED = CLUSTERED.with_columns(cluster_id=pl.Series([7, 5, 7]), component=pl.Series([0, 1, 0]))


def test_records_of_a_cluster_follow_each_other_beside_columns_of_the_same_names():
    """Columns that a CSV can not hold are left out, and ids are as in the tables."""
    scorer = RecordScorer(path="r.csv", id="id", fields=NAMED, blocking=[{"name": 2}], clusters="c.csv")
    records = pl.DataFrame({"id": ["a", "b", "c"], "cluster": ["x", None, "y"]})
    exported = with_clusters(records, CLUSTERED, scorer)
    assert exported.columns == ["found_cluster", "cluster_id", "component", "id", "cluster"]
    assert exported.rows() == [(0, 5, 1, "b", None), (1, 7, 0, "a", "x"), (1, 7, 0, "c", "y")]
    left_out = {"tags": [["x"], [], ["y"]], "raw": [b"\xff", b"", None], "age": [timedelta(1)] * 3}
    records = pl.DataFrame({"id": [b"c", b"a", b"b"], "name": ["Anne", "Ann", "Bea"], **left_out})
    found = with_clusters(records.with_columns(size=pl.Series([1.5, 2.0, None])), CLUSTERED, scorer)
    lines = ["cluster,cluster_id,component,id,name,size", "0,5,1,b,Bea,", "1,7,0,c,Anne,1.5", "1,7,0,a,Ann,2.0"]
    assert found.write_csv().splitlines() == lines

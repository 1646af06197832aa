"""The job `entity_resolution` on two files of people without labels, by every kind of field."""

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.fixtures.problems import pair_shares
from tests.jobs.test_layouts import kill
from tiltmeter.operators.resolution.records.columns import FILE, count_blocks, prepare
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, term_frequencies, unlinkable_records
from tiltmeter.operators.resolution.records.unlabelled import learn_unlabelled

FIELDS = {
    "given": {"kind": "forename_surname", "other": "family"},
    "nick": {"kind": "name", "term_frequency": True},
    "mail": {"kind": "email"},
    "zip": {"kind": "postcode"},
    "lat": {"kind": "distance", "other": "lon", "within": [1, 100]},
    "born": {"kind": "date_of_birth"},
    "tags": {"kind": "array", "at_least": [1, 2]},
    "vector": {"kind": "embedding"},
}
SETTINGS = {
    "fields": FIELDS,
    "blocking": [{"zip": None}, {"born": 7}],
    "unlabelled": {"rules": [{"zip": None, "born": 10}], "recall": 0.8, "sessions": [{"zip": None}, {"born": 10}]},
}


def _person(rng):
    given, family = (
        str(rng.choice(list(names))) for names in (["Ann", "Bo", "Cleo", "Dan"], ["Abel", "Berg", "Conti"])
    )
    return {
        "given": given,
        "family": family,
        "nick": str(rng.choice(["Ace", "Bee", "Cat"], p=[0.6, 0.3, 0.1])),
        "mail": f"{given}{rng.integers(99)}@a.org",
        "zip": f"N{rng.integers(1, 9)} {rng.integers(1, 5)}AA",
        "lat": f"{rng.integers(50, 60)}",
        "lon": f"{rng.integers(10)}",
        "born": f"19{rng.integers(60, 99)}-01-02",
        "tags": ";".join(map(str, rng.permutation(list("abcdef"))[:3])),
        "vector": ",".join(map(str, rng.normal(size=3).round(2))),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """80 people, and 50 of them in another file, where values are those of somebody else at a rate of 0.15."""
    rng, folder = np.random.default_rng(4), tmp_path_factory.mktemp("people")
    people = [_person(rng) for _ in range(80)]
    seen = [{k: v if rng.random() > 0.15 else _person(rng)[k] for k, v in person.items()} for person in people[:50]]
    for file, rows in {"a": people, "b": seen}.items():
        made = pl.DataFrame([{"id": f"{file}{number}", **row} for number, row in enumerate(rows)])
        made.write_csv(folder / f"{file}.csv")
    gold = [(f"{file}{number}", number) for file, num in (("a", 70), ("b", 50)) for number in range(num)]
    pl.DataFrame([*gold, ("a79", 0)], ["record", "cluster"], orient="row").write_csv(folder / "gold.csv")
    return folder


def _settings(files, folder):
    return [
        *("job=entity_resolution", "+records=csv", f"records.path={files}/a.csv", f"records.second={files}/b.csv"),
        *(f"records.{name}={json.dumps(value).replace(chr(34), '')}" for name, value in SETTINGS.items()),
        *(f"gold={files}/gold.csv", "missing=zero", "one_per_source=source_file", "seed=3", "records.num_parts=2"),
        *(f"store={folder}/store", f"run_dir={folder}/run"),
    ]


@pytest.fixture(scope="module")
def outcome(run_here, files):
    return run_here(*_settings(files, files))


def test_two_files_are_linked_without_labels(outcome, files):
    parts = [pl.read_csv(files / f"{file}.csv", infer_schema=False) for file in "ab"]
    records = pl.concat(
        part.with_columns(pl.lit(name).alias(FILE)) for part, name in zip(parts, ("first", "second"), strict=True)
    )
    config = Scorer(**SETTINGS)
    prepared = prepare(records, config)
    learnt, shares = learn_unlabelled(prepared, config, 3), term_frequencies(prepared, config)
    made = learnt._asdict() | {"term_frequencies": shares, "blocking": count_blocks(prepared, config)}
    made["unlinkable"] = unlinkable_records(prepared, learnt.agreements, config, shares)
    for name, expected in made.items():
        assert_frame_equal(pl.DataFrame(outcome.table(name)), expected, check_column_order=False)
    scored = score_pairs(records, learnt.agreements, config, 0, shares)
    assert (scored["left"].str.head(1) + scored["right"].str.head(1)).unique().to_list() == ["ab"]
    gold = dict(pl.read_csv(files / "gold.csv").rows())
    known = [(gold[left] == gold[right], p) for left, right, p in scored.rows() if left in gold and right in gold]
    for row in outcome.rows("thresholds"):
        taken = [is_match for is_match, p in known if p >= row["threshold"]]
        assert (row["num_true"], row["num_false"]) == (sum(taken), len(taken) - sum(taken))
        assert row["recall"] == pytest.approx(sum(taken) / 51)
    clusters = pl.DataFrame(outcome.rows("clusters")).group_by("cluster").agg(pl.col("record").str.head(1).sort())
    assert {tuple(ends) for ends in clusters["record"]} == {("a",), ("b",), ("a", "b")}
    found = {row["record"]: row["cluster"] for row in outcome.rows("clusters")}
    f1 = pair_shares([(found[record], cluster) for record, cluster in gold.items()])["f1"]
    assert outcome.rows("metrics", metric="f1")[0]["value"] == pytest.approx(f1)
    assert f1 > 0.8
    exported = pl.read_csv(outcome.path / "exports/clusters.csv")
    assert exported[FILE].value_counts(sort=True).rows() == [("first", 80), ("second", 50)]


def test_ids_of_both_files_and_a_column_that_tells_them_apart_are_refused(run_here, files, tmp_path):
    first = pl.read_csv(files / "a.csv", infer_schema=False)
    common = [
        "job=entity_resolution",
        "+records=csv",
        f"records.path={files}/a.csv",
        f"records.second={tmp_path}/b.csv",
    ]
    common += [
        "records.fields={nick: {kind: exact}}",
        "records.blocking=[{zip: null}]",
        f"records.clusters={files}/gold.csv",
    ]
    common += [f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    wanted = {
        "id='a0' names several records, of one file or of both: ids must be unique": first.head(3),
        "two files are told apart by a column 'source_file'; rename": first.select(pl.all(), x="id").rename(
            {"x": FILE}
        ),
    }
    for message, second in wanted.items():
        second.write_csv(tmp_path / "b.csv")
        settings = [*common, *(["one_per_source=source_file"] if FILE in second.columns else [])]
        with pytest.raises(Exception, match=message):
            run_here(*settings)


def _held(outcome):
    return {name: digest for name, digest in outcome.digests.items() if name not in ("components", "ledger_counts")}


@pytest.mark.slow
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
def test_workers_change_no_table(outcome, run_job, files, tmp_path, num_cpus):
    assert _held(run_job(*_settings(files, tmp_path), f"cluster.num_cpus={num_cpus}")) == _held(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1])
def test_a_kill_changes_no_table(outcome, tiltmeter, outcome_of, files, tmp_path, after):
    command = [*_settings(files, tmp_path), "cluster.num_cpus=2"]
    kill(tiltmeter(*command), "driver", tmp_path, after)
    assert outcome_of(tmp_path / "run").record["status"] == "running"
    process = tiltmeter(*command)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert _held(outcome_of(tmp_path / "run")) == _held(outcome)

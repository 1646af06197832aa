"""Messy records as canonical rows, in files and in databases, night after night."""

import json

import duckdb
import polars as pl
import pytest

from tests.fixtures.plans import contents
from tests.fixtures.postgres import PASSWORD
from tests.operators.resolution.records.test_canonical import MOMENTS, chosen
from tiltmeter.storage.errors import InputError, StorageError

RULES = {"most": "most_frequent", "long": "longest", "new": {"newest": "updated"}}
RULES |= {"mail": {"trusted": ["crm", "web"], "source": "origin"}, "size": "most_frequent"}
TIES = {"trusted": ["web", "crm"], "source": "origin"}
NIGHTS = {"first": "aaabbbccd", "second": "aaaaaaccd"}
"""Which entity each record is of; on the second night all of b are of a."""


def records(night):
    """Those of an entity agree in their code, and in little else."""
    moments = [*MOMENTS, None]
    rows = [
        {
            "id": f"{number}",
            "every": "1",
            "code": f"{entity}{entity}{entity}",
            "most": "xy"[number % 2],
            "long": "=" * (number % 3 + 1),
        }
        | {
            "new": f"n{number}",
            "mail": None if number % 4 == 1 else f"{number}@x",
            "size": [1.5, None, 2.0][number % 3],
        }
        | {"updated": moments[number % 4], "origin": ["web", "crm", "fair"][number % 3]}
        for number, entity in enumerate(NIGHTS[night])
    ]
    return pl.DataFrame(rows).with_columns(pl.col("new").str.tail(1).cast(pl.Int32))


@pytest.fixture(scope="module")
def resolve(run_here, tmp_path_factory, postgres):
    """Runs the job on the records of a night; all nights have one store, and one folder for databases."""
    folder = tmp_path_factory.mktemp("exports")

    def run(night, name, *settings):
        records(night).write_parquet(folder / f"{night}.parquet")
        same = [
            (str(one), str(other), NIGHTS[night][one] == NIGHTS[night][other])
            for one in range(9)
            for other in range(one)
        ]
        pl.DataFrame(same, ["left", "right", "is_match"], orient="row").write_csv(folder / f"{night}.csv")
        return run_here(
            *("job=entity_resolution", "+records=csv", f"records.path={folder}/{night}.parquet", "missing=zero"),
            *("records.fields={code: {kind: exact}}", "records.blocking=[{every: null}]"),
            *(
                f"records.labelled={folder}/{night}.csv",
                f"store={folder}/store",
                f"run_dir={folder}/{name}",
                *settings,
            ),
        )

    return run


def setting(name, value):
    return f"{name}={json.dumps(value).replace(chr(34), '')}"


@pytest.fixture(scope="module")
def nights(resolve, postgres, tmp_path_factory):
    """One with a tie-break, the same again, and another after it; with a password that no setting has."""
    duck = tmp_path_factory.mktemp("duck") / "night.duckdb"
    export = [f"export.duckdb={duck}", "export.postgres=postgresql://guarded@/postgres", "export.schema=linked"]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PASSWORD": PASSWORD, "HOST": "127.0.0.1", "PORT": postgres.port}.items():
            patch.setenv(f"PG{name}", str(value))
        first = resolve("first", "one", setting("canonical", {"columns": RULES, "ties": TIES}), *export)
        again = resolve("first", "two", setting("canonical", {"columns": RULES, "ties": TIES}), *export)
        last = resolve("second", "three", setting("canonical", {"columns": RULES}), f"previous={first.path}", *export)
    return {"first": first, "again": again, "second": last}, duck


def wanted(outcome, night, ties):
    """Cells of each cluster by its id, and the rows that they make."""
    ids = {row["record"]: row["id"] for row in outcome.rows("clusters")}
    rows = [row | {"cluster": ids[row["id"]]} for row in records(night).to_dicts()]
    clusters = sorted({*ids.values()})
    assert len(clusters) == len({*NIGHTS[night]})
    cells = {
        (id_, name): chosen([row for row in rows if row["cluster"] == id_], name, ties)
        for id_ in clusters
        for name in RULES
    }
    return cells, [(id_, *(cells[id_, name][0][0] if cells[id_, name] else None for name in RULES)) for id_ in clusters]


@pytest.mark.parametrize(("night", "ties"), [("first", True), ("second", False)])
def test_each_cluster_has_a_row_with_the_source_of_each_cell(nights, night, ties):
    outcome = nights[0][night]
    cells, rows = wanted(outcome, night, ties)
    names = ("value", "record", "num_agreeing", "num_values")
    found = {(row["id"], row["field"]): [tuple(row[name] for name in names)] for row in outcome.rows("canonical_cells")}
    assert found == {key: [(str(cell[0]), *cell[1:])] for key, [*of_key] in cells.items() for cell in of_key}
    wide = pl.read_parquet(outcome.path / "exports/canonical.parquet")
    assert (wide.rows(), wide.schema["new"]) == (rows, pl.Int32)
    text = pl.read_csv(outcome.path / "exports/canonical.csv", infer_schema=False)
    assert text["long"].to_list() == [f"'{row[2]}" for row in rows]


def test_databases_have_what_the_last_night_found_and_old_ids_lead_there(nights, postgres):
    outcomes, duck = nights
    counts = {
        name: [table["num_changed"] + table["num_removed"] for table in outcome.record["databases"]]
        for name, outcome in outcomes.items()
    }
    assert (min(counts["first"]), counts["again"]) == (4, [0] * 6)
    assert counts["second"] == counts["second"][:3] * 2
    _, rows = wanted(outcomes["second"], "second", False)
    ids = [(row["record"], row["id"]) for row in outcomes["second"].rows("clusters")]
    [(before, after)] = {(row["before"], row["after"]) for row in outcomes["second"].rows("ledger", event="merged")}
    current = sorted([*((id_, id_) for id_ in {id_ for _, id_ in ids}), (before, after)])
    moved = sorted(
        (row["before"], row["event"])
        for row in outcomes["second"].rows("ledger")
        if row["event"] != "kept" or row["num_before"] != row["num_after"]
    )
    with duckdb.connect(str(duck), read_only=True) as connection:
        for read in (lambda query: connection.sql(query).fetchall(), postgres.rows):
            assert read("select * from linked.canonical order by cluster_id") == rows
            assert read("select * from linked.clusters order by record") == ids
            assert read("select * from linked.current_ids order by id") == current
            assert sorted(read("select before, event from linked.ledger")) == moved
            cells = read("select cluster_id, field, value, record, num_agreeing from linked.cells order by 1, 2")
            keys = ("id", "field", "value", "record", "num_agreeing")
            assert cells == sorted(
                tuple(row[key] for key in keys) for row in outcomes["second"].rows("canonical_cells")
            )


def test_no_file_of_a_run_has_the_password_and_the_page_says_where_it_all_is(nights):
    for outcome in nights[0].values():
        assert not [path for path, content in contents(outcome.path.parent).items() if PASSWORD.encode() in content]
    page = (nights[0]["second"].path / "report.html").read_text()
    assert "night.duckdb" in page
    assert "Canonical rows" in page
    assert "guarded" not in page


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            ["canonical={columns: {nme: longest}}"],
            InputError,
            "canonical.columns: {folder}/first.parquet has no column 'nme'; ",
        ),
        (
            ["canonical={columns: {most: {newest: long}}}"],
            InputError,
            "canonical.columns: newest=long: '=' is neither a number nor a time such as 2021-12-31",
        ),
        (
            ["canonical={columns: {most: longest, Most: longest}}", "export.duckdb=a.duckdb"],
            InputError,
            "canonical.columns: ",
        ),
        (["export.postgres={tcp}"], StorageError, "export.postgres=postgresql://127.0.0.1:"),
    ],
)
def test_what_can_not_be_exported_is_refused_before_any_work(resolve, postgres, monkeypatch, settings, error, message):
    monkeypatch.setenv("PGPASSWORD", f"{PASSWORD} is wrong")
    with pytest.raises(error) as refusal:
        resolve("first", "refused", *(text.replace("{tcp}", postgres.tcp_uri()) for text in settings))
    start, _, end = message.partition("{folder}")
    assert str(refusal.value).startswith(start)
    assert end in str(refusal.value)
    assert PASSWORD not in str(refusal.value)

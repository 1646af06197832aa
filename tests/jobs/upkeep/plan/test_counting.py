"""How far a job is let plan its stages, and where it ends."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import each
from tiltmeter.jobs.upkeep.plan.counting import count_units
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Store, Unit

DONE, MISSING = (Unit("count/1", name, {"name": name}) for name in ("done", "missing"))


@pytest.fixture
def counted(tmp_path):
    """Counts the units of a job that does this, in a store that has one unit."""
    store = Store(str(tmp_path / "store"))
    store.commit(DONE, [("numbers", pa.table({"n": [1, 2]}))])

    def count(run):
        config = SimpleNamespace(store=store.root, job=SimpleNamespace(name="made_up"))
        return count_units(SimpleNamespace(run=run), config, None, {}, lambda: 0)

    return count


def work(_store, _unit):
    raise AssertionError("no unit is done")


def stage(runner, name, *units):
    return runner.run_whole(Stage(name, each(work), {"all": list(units)}))["all"]


def test_units_are_counted_stage_by_stage_and_reading_ends_where_tables_are_missing(counted):
    def run(run):
        one, other = stage(run.runner, "count", DONE, MISSING)
        assert run.runner.store.read(one.tables["numbers"])["n"].to_pylist() == [1, 2]
        [summed] = stage(
            run.runner, "sum", Unit("sum/1", "all", {}, {"numbers": [one.tables["numbers"], other.tables["n"]]})
        )
        run.publish("sums", [summed.tables["sums"]])
        run.runner.store.read(summed.tables["sums"])

    result = counted(run)
    assert [(row.name, row.num_done, row.num_missing, row.num_expected) for row in result.stages] == [
        ("count", 1, 1, 0),
        ("sum", 0, 1, 1),
    ]
    assert result.reason == "it depends on what will be in the table sums"


def test_a_unit_of_two_groups_is_missing_once_and_stages_of_one_name_are_one_row(counted):
    def run(run):
        run.runner.run(Stage("count", each(work), {"a": [MISSING], "b": [MISSING, DONE]}))
        stage(run.runner, "count", DONE)

    [row] = counted(run).stages
    assert (row.num_done, row.num_missing) == (2, 1)


def test_an_account_is_never_entered(counted, tmp_path):
    """Nor is anything else written that a job would write before its units."""

    def run(run):
        stage(run.runner, "count", DONE)
        accounts.enter(run.runner.store, "people", "first", {"epsilon": 1.0}, lambda _: True)
        raise AssertionError("it was entered")

    assert counted(run).reason.endswith("nothing may be written into a store that is only read")
    assert not (tmp_path / "store/accounts").exists()


def test_what_is_refused_is_refused_and_a_mistake_stays_one_unless_tables_are_missing(counted):
    def refused(run):
        stage(run.runner, "count", MISSING)
        raise InputError("path: can't be read")

    def mistaken(*units):
        def run(run):
            stage(run.runner, "count", *units)
            raise KeyError("n")

        return run

    with pytest.raises(InputError):
        counted(refused)
    with pytest.raises(KeyError):
        counted(mistaken(DONE))
    assert counted(mistaken(MISSING)).reason == "it depends on tables that are not there yet (KeyError: 'n')"

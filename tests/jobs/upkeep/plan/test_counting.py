"""How far a job is let plan its stages, and where it ends."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from tiltmeter.cluster.stages import Stage, UnitsFailed
from tiltmeter.cluster.work import Failure, each
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
        return count_units(SimpleNamespace(run=run), config, None, SimpleNamespace(num_gpus=0))

    return count


def work(_store, _unit):
    raise AssertionError("no unit is done")


def stage(runner, name, **groups):
    return runner.run_whole(
        Stage(name, each(work), {group.replace("_", "/"): units for group, units in groups.items()})
    )


def rows(counted):
    return [(row.name, row.num_done, row.num_missing, list(row.without)) for row in counted.stages]


def test_units_are_counted_stage_by_stage_until_one_reads_what_is_missing(counted):
    def run(run):
        [one] = stage(run.runner, "count", all=[DONE])["all"]
        assert run.runner.store.read(one.tables["numbers"])["n"].to_pylist() == [1, 2]
        run.publish("numbers", [one.tables["numbers"]])
        run.directory.write_table("rows", pa.table({"n": [1]}))
        stage(run.runner, "sum", all=[DONE, MISSING])
        raise AssertionError("the job goes on without a unit")

    result = counted(run)
    assert rows(result) == [("count", 1, 0, []), ("sum", 1, 1, [])]
    assert (result.reason, result.groups) == ("they read what sum has yet to make", ["all"])


def test_of_several_groups_those_count_of_which_all_is_there(counted):
    """So does a part of one, but nothing that may hold several against each other."""

    def run(run):
        stage(run.runner, "read", en=[DONE], de=[MISSING])
        assert list(stage(run.runner, "cut", en_1990=[DONE], en_2000=[MISSING])) == ["en/1990"]
        done = stage(run.runner, "train", en_1990=[DONE], en_2000=[DONE], de=[DONE], en=[DONE], english=[DONE])
        assert list(done) == ["en/1990"]
        stage(run.runner, "compare", languages=[DONE])

    result = counted(run)
    assert rows(result) == [
        ("read", 1, 1, []),
        ("cut", 1, 1, ["de"]),
        ("train", 1, 0, ["de", "en/2000"]),
        ("compare", 0, 0, ["de", "en", "en/2000", "english"]),
    ]
    assert result.reason == "they read what read and cut have yet to make"


def test_a_unit_of_two_groups_is_missing_once_and_stages_of_one_name_are_one_row(counted):
    def run(run):
        stage(run.runner, "count", all=[DONE])
        run.runner.run(Stage("count", each(work), {"a": [MISSING], "b": [MISSING, DONE]}))

    [row] = counted(run).stages
    assert (row.num_done, row.num_missing) == (2, 1)


def test_an_account_is_never_entered_and_no_file_begun(counted, tmp_path):
    """Nor is anything else written that a job would write before its units."""

    def enter(run):
        stage(run.runner, "count", all=[DONE])
        accounts.enter(run.runner.store, "people", "first", {"epsilon": 1.0}, lambda _: True)
        raise AssertionError("it was entered")

    def export(run):
        run.directory.export_bytes("key.csv", b"")
        run.directory.export("clusters.csv")
        raise AssertionError("it was begun")

    assert counted(enter).reason.endswith("nothing may be written into a store that is only read")
    assert (counted(export).reason, counted(export).groups) == (
        "clusters.csv is written first, of what was done",
        ["all"],
    )
    assert not (tmp_path / "store/accounts").exists()


def test_what_is_refused_is_refused_unless_units_are_missing(counted):
    def refused(*units):
        def run(run):
            stage(run.runner, "count", one=[DONE], other=units)
            raise InputError("corpus: two are needed")

        return run

    def failed(run):
        run.runner.failures["all"] = [Failure(DONE, "InputError: too few", "")]
        run.runner.check()

    with pytest.raises(InputError):
        counted(refused(DONE))
    assert counted(refused(MISSING)).reason == "corpus: two are needed"
    with pytest.raises(UnitsFailed, match="too few"):
        counted(failed)

"""A record that is a unit: its identity, how it is done, and what a stage of it gives; what a worker keeps loaded."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest
from rich.console import Console

from tests.fixtures.pools import PoolHere
from tiltmeter.cluster.progress import Display
from tiltmeter.cluster.stages import Runner, UnitsFailed
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key
from tiltmeter.jobs.runtime.work import Done, Subject, Work, aside, do
from tiltmeter.storage.store.ledger import TableRef, Unit

ONE, OTHER = (TableRef(f"made/1/{digit * 32}", "rows", 3, {"n": digit * 32}) for digit in "ab")


@dataclass(frozen=True)
class Model(Subject):
    name: str
    table: TableRef
    on_gpu: bool = False

    @property
    def identity(self):
        return {"model": self.name}

    @property
    def inputs(self):
        return {"weights": [self.table]}


class Squares(Table, name="squares"):
    n: int = key("a number")
    square: Estimate = doc("its square")


class Hidden(Table, name="hidden", public=False):
    n: int = key("a number")


class Square(Work, unit="square/1", stage="square", makes=[Squares, Hidden]):
    n: int

    @property
    def scheme(self):
        return {"seed": 5}

    def rows(self, _):
        if self.n < 0:
            raise ValueError(f"{self.n} is negative")
        yield Squares(n=self.n, square=Estimate(self.n**2.0, resamples=[1.0]))
        yield Hidden(n=self.n)


class Everything(Work, unit="everything/2"):
    model: Model
    texts: TableRef
    lines: Sequence[TableRef]
    words: TableRef | None = None
    kind: str
    size: int = 3
    path: str = aside(default="")


def everything(**changed):
    usually = {"model": Model("m", ONE), "texts": OTHER, "lines": [ONE, OTHER], "kind": "k"}
    return Everything(**usually | changed)


def by_hand(config, **inputs):
    usually = {"weights": [ONE], "texts": [OTHER], "lines": [ONE, OTHER]}
    return Unit("everything/2", "", {"model": "m", "kind": "k", "size": 3} | config, usually | inputs).place


def test_fields_are_settings_or_inputs_as_their_types_say():
    assert everything().unit().place == by_hand({})
    assert everything(words=ONE).unit().place == by_hand({}, words=[ONE])
    assert everything(size=4).unit().place == by_hand({"size": 4})
    assert everything(lines=[]).unit().place == by_hand({}, lines=[])
    same = everything(path="elsewhere", group="g", label="l", needs_gpu=True, model=Model("m", ONE, on_gpu=True))
    assert same.unit().place == by_hand({}), "where and how it is done is no part of what it is"
    assert (same.unit().name, everything().unit().name) == ("l", "")


@pytest.mark.parametrize(
    "changed", [{"kind": "j"}, {"texts": ONE}, {"lines": [OTHER, ONE]}, {"model": Model("n", ONE)}]
)
def test_another_setting_or_input_is_another_unit(changed):
    assert everything(**changed).unit().place != by_hand({})


def test_a_gpu_is_needed_where_a_subject_or_the_record_says_so():
    assert not everything().on_gpu
    assert everything(model=Model("m", ONE, on_gpu=True)).on_gpu
    assert everything(needs_gpu=True).on_gpu


def test_a_record_that_is_no_unit_is_refused():
    class Nameless(Square):
        pass

    class Twice(Work, unit="twice/1"):
        about: Model
        model: str

    class Untyped(Work, unit="untyped/1"):
        texts: object

    for work, message in [
        (Nameless(n=1), "Nameless has no unit="),
        (Twice(about=Model("m", ONE), model="n"), "Twice: model is said by two of its fields"),
        (Untyped(texts=ONE), "Untyped.texts is a table: annotate it as TableRef"),
    ]:
        with pytest.raises(TypeError, match=message):
            work.unit()
    with pytest.raises(TypeError, match="m"):
        Square(m=1)


@pytest.fixture
def runner(marked):
    return Runner(marked, PoolHere(marked), Display(Console(file=io.StringIO())))


def numbers(runner, done):
    return [row.n for ref in done.refs(Squares) for row in Squares.read(runner.store, ref)]


@pytest.mark.long
def test_a_stage_is_done_and_found_again(runner):
    works = [Square(n=n, group="even" if n % 2 == 0 else "odd") for n in (3, 2, 1)]
    done = do(runner, works)
    assert numbers(runner, done) == [3, 1, 2], "by group, each in its order"
    assert [work.n for work, _ in done.pairs] == [3, 1, 2]
    assert {group: numbers(runner, part) for group, part in done.groups.items()} == {"odd": [3, 1], "even": [2]}
    assert runner.store.read(done.groups["even"].one("draws"))["scheme"].to_pylist() == ['{"seed": 5}']
    do(runner, works, stage="again")
    assert [(record.name, record.num_done, record.num_reused) for record in runner.records] == [
        ("square", 3, 0),
        ("again", 0, 3),
    ]


@pytest.mark.parametrize("in_driver", [False, True])
def test_what_fails_in_a_group_leaves_the_others_alone(runner, in_driver):
    works = [Square(n=n, group=group) for group, n in (("a", 1), ("b", -1), ("b", 2), ("c", 3))]
    assert numbers(runner, do(runner, works, in_driver=in_driver)) == [1, 3]
    assert numbers(runner, do(runner, [Square(n=4, group="b"), Square(n=5, group="c")])) == [5], "b lacks a part"
    some = do(runner, [Square(n=6, group="b"), Square(n=-2, group="b")], complete=False)
    assert numbers(runner, some) == [6]
    errors = [failure.error for failure in runner.failures["b"]]
    assert [error.removeprefix("ValueError: ") for error in errors] == ["-1 is negative", "-2 is negative"]
    with pytest.raises(UnitsFailed, match="-1 is negative"):
        do(runner, [Square(n=7, group="b")])


def test_no_work_is_no_stage_and_work_that_all_failed_is_none_to_go_on_with(runner):
    assert do(runner, []) == Done([])
    assert runner.records == []
    do(runner, [Square(n=-1, group="a"), Square(n=1, group="b")])
    assert do(runner, []) == Done([]), "nothing was asked for"
    with pytest.raises(UnitsFailed):
        do(runner, [Square(n=2, group="a")])
    assert numbers(runner, do(runner, [Square(n=2, group="a")], complete=False)) == [2]


def test_the_driver_does_what_it_is_given_without_the_pool(runner):
    do(runner, [Square(n=1), Square(n=2)], in_driver=True)
    assert runner.pool.dealt == []
    [record] = runner.records
    assert (record.num_done, record.num_workers, record.num_threads) == (2, 1, 1)


class Shared(Work, unit="shared/1", stage="share"):
    """Tables by a preparation that a batch shares: how many units it had, and by how many threads."""

    n: int

    @classmethod
    def batch(cls, _, works, num_threads):
        for work in works:
            yield [("made", pa.table({"n": [work.n], "units": [len(works)], "threads": [num_threads]}))]


def test_a_batch_shares_what_it_prepares_and_knows_its_threads(runner):
    done = do(runner, [Shared(n=n) for n in range(3)], batch_size=None)
    made = [runner.store.read(ref).to_pylist()[0] for ref in done.refs("made")]
    assert made == [{"n": n, "units": 1, "threads": 1} for n in range(3)], "the pool of these tests takes one at a time"
    alone = do(runner, [Shared(n=7)], most_threads=3)
    [row] = runner.store.read(alone.one("made")).to_pylist()
    assert row == {"n": 7, "units": 1, "threads": 3}
    assert [record.num_threads for record in runner.records] == [1, 3]


def test_units_of_two_kinds_may_come_together(runner):
    done = do(runner, [Square(n=2), Shared(n=3), Square(n=4)])
    assert (numbers(runner, done), len(done.refs("made"))) == ([2, 4], 1)


# --- what a worker keeps loaded -------------------------------------------------------------------------------------


def test_it_is_loaded_once_and_closed_when_another_comes():
    events = []

    def use(name):
        def load(closing):
            events.append(f"load {name}")
            closing.callback(events.append, f"close {name}")
            return name.upper()

        return resident(name, load)

    for name in ("a", "a", "b"):
        with use(name) as loaded:
            assert loaded == name.upper()
    assert events == ["load a", "close a", "load b"]
    with pytest.raises(ZeroDivisionError), use("b"):
        _ = 1 / 0
    assert events[-1] == "close b"


def test_what_could_not_be_loaded_is_closed_and_forgotten():
    events = []

    def load(closing):
        closing.callback(events.append, "close half")
        raise OSError("no model")

    for _ in range(2):
        with pytest.raises(OSError, match="no model"), resident("broken", load):
            pass
    assert events == ["close half", "close half"]

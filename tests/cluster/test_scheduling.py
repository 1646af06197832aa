"""How units are dealt, by hand and in simulated runs whose workers only wait, on a clock that nobody waits for."""

import random
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.cluster.capacity import Room, num_wide_workers
from tiltmeter.cluster.scheduling import Queue, evenly, longest_first, simulate, threads_per_unit
from tiltmeter.storage.store.ledger import TableRef, Unit


def unit(name, num_rows=0):
    """A unit that takes as long as it has rows to read."""
    return Unit("wait/1", name, {}, {"rows": [TableRef("made/up", "rows", num_rows, {})]})


def seconds(unit):
    return unit.input("rows").num_rows


def group(name, *lengths):
    return [unit(f"{name}{number}", length) for number, length in enumerate(lengths)]


def names(batches):
    return [[unit.name for unit in batch] for batch in batches]


def dealt(queue, num_workers):
    """What workers get who ask in turn."""
    return [queue.take(num_workers) for _ in iter(lambda: len(queue), 0)]


def shares(queue, num_workers):
    """Of the time of each simulated worker, that in which it was busy."""
    total, busy = simulate(queue, num_workers, seconds)
    return [spent / total for spent in busy]


def test_units_that_take_longer_come_first():
    groups = [group("a", 1, 40, 5), group("b", 300, 10)]
    assert names(longest_first(groups, 1)) == [["b0"], ["a1"], ["b1"], ["a2"], ["a0"]]


def test_a_unit_is_as_long_as_all_that_it_reads():
    refs = [TableRef("made/up", "rows", num_rows, {}) for num_rows in (1, 40, 200)]
    inputs = [{"rows": refs[2:]}, {"rows": refs[:2], "more": refs[2:] * 2}, {"rows": refs[:1]}]
    units = [Unit("wait/1", str(number), {}, given) for number, given in enumerate(inputs)]
    assert names(longest_first([units], 1)) == [["1"], ["0"], ["2"]]
    several = [Unit("wait/1", "one", {}, {"rows": refs[1:2]}), Unit("wait/1", "three", {}, {"rows": refs})]
    assert names(longest_first([several], 1)) == [["three"], ["one"]]


def test_units_of_about_one_length_stay_with_their_group_and_in_their_order():
    groups = [group("a", 17, 16, 18), group("b", 19, 20, 16)]
    assert names(longest_first(groups, 1)) == [["b0"], ["b1"], ["b2"], ["a0"], ["a1"], ["a2"]]
    units = [Unit("read/1", str(number), {}) for number in range(3)]  # nothing is known of these
    assert longest_first([units[:2], [], units[2:]], 1) == [[unit] for unit in units]


def test_batches_of_a_group_are_even():
    assert [len(batch) for batch in longest_first([group("a", *[5] * 10), group("b", 1)], 4)] == [4, 3, 3, 1]
    assert evenly([], 4) == []


def test_batches_shrink_as_the_end_comes_near():
    queue = Queue(([unit] for unit in group("a", *[9] * 100)), joins=True)
    # An eighth of a half of 100 units are 6; of the 94 that are left 5, and so on down to one.
    sizes = [len(batch) for batch in dealt(queue, 2)]
    assert sizes[:6] == [6, 5, 5, 5, 4, 4]
    assert sizes[-16:] == [1] * 16
    assert sum(sizes) == 100
    many = Queue(([unit] for unit in group("a", *[1] * 10_000)), joins=True)
    assert max(map(len, dealt(many, 1))) == 16
    giant = Queue(longest_first([group("a", *[1] * 64, 10_000)], 1), joins=True)
    assert names([giant.take(2)]) == [["a64"]], "it has a worker of its own"


def test_what_belongs_together_is_neither_joined_nor_cut():
    batches = longest_first([group("a", *[1] * 9), group("b", 2)], 3)
    assert dealt(Queue(batches), 1) == batches


def test_what_is_given_back_is_dealt_last():
    queue = Queue([group("a", 1)])
    queue.add(group("b", 1, 1))
    queue.add([])
    assert (len(queue), names(dealt(queue, 1))) == (2, [["a0"], ["b0", "b1"]])


@given(
    st.lists(st.lists(st.integers(0, 1000), max_size=20), max_size=4),
    st.integers(1, 40),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_unit_is_dealt_once(lengths, num_workers, batch_size, joins):
    groups = [group(f"group {number} ", *numbers) for number, numbers in enumerate(lengths)]
    queue = Queue(longest_first(groups, batch_size), joins=joins)
    batches = dealt(queue, num_workers)
    assert sorted(chain(*names(batches))) == sorted(unit.name for unit in chain(*groups))
    assert all(batches)


@pytest.mark.parametrize(
    ("num_nodes", "num_replicas", "threads"),
    [(4, 33, 3), (5, 33, 2), (4, 8, 8), (4, 1, 16), (4, 40, 3), (4, 2000, 2)],
)
def test_replicas_share_the_cores_that_would_be_idle(num_nodes, num_replicas, threads):
    # Nodes of 16 cores whose memory is enough for 10 workers.
    rooms = [Room(16, 10)] * num_nodes
    assert threads_per_unit(num_replicas, lambda cpus: num_wide_workers(rooms, cpus), 99) == threads


@given(
    st.integers(1, 50), st.lists(st.builds(Room, st.integers(1, 8), st.integers(1, 8)), min_size=1), st.integers(0, 9)
)
def test_threads_that_are_no_use_are_not_taken(num_units, rooms, most_threads):
    threads = threads_per_unit(num_units, lambda cpus: num_wide_workers(rooms, cpus), most_threads)
    assert 1 <= threads <= max(1, most_threads)
    rounds = [-(-num_units // num_wide_workers(rooms, cpus)) / cpus for cpus in (1, threads)]
    assert threads == 1 or rounds[1] < rounds[0]


@pytest.mark.parametrize("joins", [False, True])
def test_sixteen_workers_are_busy_for_all_but_a_twentieth_of_the_time(joins):
    rng = random.Random(0)
    lengths = [round(10 * rng.lognormvariate(0, 1)) for _ in range(2000)]
    queue = Queue(longest_first([group("a", *lengths)], 1), joins=joins)
    assert min(shares(queue, 16)) > 0.95


def test_the_order_is_what_keeps_workers_busy():
    lengths = [1] * 300 + [100]
    in_order = Queue([unit] for unit in group("a", *lengths))
    first = Queue(longest_first([group("a", *lengths)], 1))
    assert simulate(in_order, 4, seconds).seconds == 175
    assert simulate(first, 4, seconds).seconds == 100

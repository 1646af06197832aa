"""Ids that clusters keep, and what became of those that they do not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.resolution.lineage import NOWHERE, flows, inherited_ids
from tiltmeter.operators.resolution.problem import canonical


@st.composite
def partitions_in_turn(draw):
    """Earlier ids and later clusters of records, some of which are in one of them only."""
    records = draw(st.lists(st.tuples(st.integers(-1, 6), st.integers(-1, 6)), min_size=1, max_size=24))
    before, after = np.array(records, dtype=np.int64).T
    return np.where(before < 0, NOWHERE, 10 * before + 3), numbered(after)


def numbered(labels):
    """Clusters in the order of their first records; -1 stays."""
    numbers = labels.copy()
    numbers[labels >= 0] = canonical(labels[labels >= 0])
    return numbers


def members(labels):
    return {label: frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NOWHERE}}


@given(partitions_in_turn())
def test_ids_are_kept_wherever_records_stay_together(turn):
    before, after = turn
    ids = inherited_ids(before, after, 1000)
    assert len(set(ids.tolist())) == ids.size
    earlier, later = members(before), members(after)
    overlaps = {(one, other): len(earlier[one] & later[other]) for one in earlier for other in later}
    for (one, other), num in overlaps.items():
        rivals = [count for (id_, cluster), count in overlaps.items() if (id_ == one) != (cluster == other)]
        if num > max(rivals, default=0):
            assert ids[other] == one
        if earlier[one] == later[other]:
            assert ids[other] == one
    for other, id_ in enumerate(ids.tolist()):
        assert id_ >= 1000 or overlaps[id_, other] > 0
    # None is given up in vain: of two that share records one has its id, or the other has another one.
    kept = {id_: other for other, id_ in enumerate(ids.tolist()) if id_ < 1000}
    assert all(one in kept or ids[other] < 1000 for (one, other), num in overlaps.items() if num)


@given(partitions_in_turn(), st.randoms(use_true_random=False))
def test_the_order_of_records_changes_no_id(turn, random):
    before, after = turn
    ids = inherited_ids(before, after, 1000)
    order = np.array(random.sample(range(before.size), before.size))
    # Records keep their clusters, whose numbers go by their first records; of clusters without an id that alone counts.
    again = inherited_ids(before[order], after[order], 1000)
    assert again.tolist() == ids.tolist()


@given(partitions_in_turn())
def test_flows_have_every_record_once_and_say_what_became_of_it(turn):
    before, after = turn
    present = after >= 0
    ids = np.full(after.size, NOWHERE)
    ids[present] = inherited_ids(before, after, 1000)[after[present]]
    moved = flows(before, ids)
    earlier, later = members(before), members(ids)
    assert moved.num_records.sum() == before.size
    events = zip(*(column.tolist() for column in moved), strict=True)
    for one, other, num, num_before, num_after, event in events:
        assert num == ((before == one) & (ids == other)).sum()
        assert (num_before, num_after) == (len(earlier.get(one, ())), len(later.get(other, ())))
        expected = (
            "new"
            if one == NOWHERE
            else "vanished"
            if other == NOWHERE
            else "kept"
            if one == other
            else "split"
            if one in later
            else "merged"
        )
        assert event == expected
